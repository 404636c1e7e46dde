"""Systems side by side: means with their intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ragkit.frames import check_choice, check_frame
from ragkit.plot.style import axes, look, note, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def compare(table: pd.DataFrame, *, metric: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw the means of systems with their confidence intervals, one line per system.

    Parameters
    ----------
    table : DataFrame
        The frame of :func:`ragkit.compare`: ``system, metric, mean, ci_low, ci_high, ...``.
    metric : str or None, default=None
        The metric to draw; None draws all of them, each with its own colour and marker.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        Systems from top to bottom as in the table; means are written beside the dots when there is room.

    Raises
    ------
    ValueError
        If a column is missing, or the metric is not in the table.

    See Also
    --------
    ragkit.compare : The frame that is drawn.

    Examples
    --------
    >>> table = pd.DataFrame({"system": ["bm25", "fused"], "metric": "ndcg@10", "mean": [0.5, 0.6],
    ...                       "ci_low": [0.4, 0.5], "ci_high": [0.6, 0.7]})
    >>> [tick.get_text() for tick in compare(table).get_yticklabels()]
    ['bm25', 'fused']
    """
    check_frame(table, ["system", "metric", "mean", "ci_low", "ci_high"], "table")
    metrics = list(dict.fromkeys(table["metric"].astype(str)))
    if metric is not None:
        metrics = [check_choice("metric", metric, metrics)]
    rows = table[table["metric"].astype(str).isin(metrics)]
    names = _row_names(rows)
    order = list(dict.fromkeys(names))
    ax = axes(ax, (6.4, 1.2 + max(0.34, 0.22 * len(metrics)) * max(len(order), 2)))
    for n, name in enumerate(metrics):
        _dots(ax, rows, names, order, name, n, len(metrics))
    ax.set_yticks(range(len(order)), order)
    ax.set_ylim(max(len(order), 1) - 0.4, -0.6)
    tidy(ax, grid="x").tick_params(axis="y", length=0)
    if len(metrics) == 1:
        ax.set_xlabel(metrics[0])
    elif metrics:
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=4, frameon=False, borderaxespad=0.2)
    if not len(rows):
        note(ax, "no results")
    return ax


def _row_names(rows: pd.DataFrame) -> pd.Series:
    """Name each row by its system, and by its group where the comparison was broken down."""
    known = {
        "system", "metric", "mean", "ci_low", "ci_high", "delta", "p", "p_corrected", "wins", "ties", "losses"
    }  # fmt: skip
    names = rows["system"].astype(str)
    # The groups of `compare(by=...)` are the text columns that the comparison frame does not have itself.
    groups = [c for c in rows.columns if c not in known and not pd.api.types.is_numeric_dtype(rows[c])]
    for column in groups:
        if len(rows[column].unique()) > 1:
            names = names + " · " + rows[column].astype(str)
    return names


def _dots(
    ax: Axes, rows: pd.DataFrame, names: pd.Series, order: list[str], metric: str, n: int, many: int
) -> None:
    """Draw one metric: a dot with its interval for each system, the value beside it."""
    mine = (rows["metric"].astype(str) == metric).to_numpy()
    at = np.array([order.index(name) for name in names[mine]], dtype=float)
    y = at + (n - (many - 1) / 2) * (0.7 / many)
    mean, low, high = (rows.loc[mine, c].to_numpy(dtype=float) for c in ("mean", "ci_low", "ci_high"))
    colour, marker, _, _ = look(n)
    ax.hlines(y, low, high, color=colour, linewidth=2.2, alpha=0.55)
    ax.plot(mean, y, marker, color=colour, markersize=7, markeredgecolor="white", label=metric)
    if many <= 2:
        for value, height in zip(mean, y):
            if np.isfinite(value):
                ax.annotate(
                    f"{value:.3f}",
                    (value, height),
                    xytext=(0, 5),
                    textcoords="offset points",
                    ha="center",
                    va="bottom",
                    fontsize=8,
                )
