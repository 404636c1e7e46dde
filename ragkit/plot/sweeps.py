"""Sweeps: a line over one parameter, a heat map over two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ragkit.frames import check_choice, check_frame
from ragkit.plot.labels import shorten
from ragkit.plot.style import COLOURS, GREY, axes, colour_bar, look, note, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TIES = "ties with the best"
_NOT_PARAMETERS = ("setting", "query_id", "metric", "value", "seconds", "error")


def sweep(
    table: pd.DataFrame,
    *,
    x: str | None = None,
    y: str | None = None,
    by: str | None = None,
    metric: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a sweep: a line over one parameter, a heat map over two, or a line for each value of one.

    Parameters
    ----------
    table : DataFrame
        The frame of :func:`ragkit.sweep`, or ``settings`` of :func:`ragkit.tune` (which knows the tie zone).
    x : str, optional
        The parameter along the axis; None is the first that varies.
    y : str, optional
        A second parameter; None is the next that varies, if there is one.
    by : str, optional
        A parameter of which each value gets a line of its own over `x`, instead of a heat map: the method of
        chunking over its size.
    metric : str, optional
        Which metric; None is the first.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        The mean over queries (and over parameters that are not drawn). A line has a band of 1.96
        standard errors; the best setting is marked, and so is the tie zone where the frame knows it.

    Raises
    ------
    ValueError
        If a column is missing, or nothing varies.

    See Also
    --------
    ragkit.sweep : The frame that is drawn.

    Examples
    --------
    >>> table = pd.DataFrame({"setting": [0, 0, 1, 1], "b": [0.0, 0.0, 0.5, 0.5], "query_id": ["p", "q"] * 2,
    ...                       "metric": "rr", "value": [0.5, 0.7, 0.9, 1.0]})
    >>> sweep(table).lines[0].get_ydata().round(3).tolist()
    [0.6, 0.95]
    """
    rows, parameters, label = _sweep_rows(table, metric)
    varying = [p for p in parameters if len(rows[p].drop_duplicates()) > 1]
    if not len(rows):
        return note(tidy(axes(ax)), "no results")
    if not parameters:
        raise ValueError("sweep needs a frame with at least one parameter; found none.")
    if by is not None:
        check_choice("by", by, parameters)
        if y is not None:
            raise ValueError("sweep draws either y, as a heat map, or by, as lines; give one of them.")
    free = [p for p in varying or parameters if p != by] or parameters
    x = free[0] if x is None else check_choice("x", x, parameters)
    if by is not None:
        return _lines(axes(ax), rows, x, by, label)
    if y is None:
        y = next((p for p in varying if p != x and _free(rows, x, p)), None)
    else:
        check_choice("y", y, parameters)
    return _line(axes(ax), rows, x, label) if y is None else _heat(axes(ax, (5.6, 4.2)), rows, x, y, label)


def _free(rows: pd.DataFrame, x: str, other: str) -> bool:
    """Say whether a parameter varies where `x` stays: one of two weights that add up to 1 does not."""
    pairs = rows[[x, other]].drop_duplicates()
    return len(pairs) > len(pairs[[x]].drop_duplicates())


def _sweep_rows(table: pd.DataFrame, metric: str | None) -> tuple[pd.DataFrame, list[str], str]:
    """Give ``value`` per setting and query (or per setting), the parameters, and what is measured."""
    if "mean" in table.columns and "tie" in table.columns:  # the settings of a tuning
        own = ("setting", "mean", "delta", "delta_low", "delta_high", "p", "tie", "chosen")
        return table.assign(value=table["mean"]), [c for c in table.columns if c not in own], metric or "mean"
    check_frame(table, ["metric", "value"], "table")
    known = list(dict.fromkeys(table["metric"].dropna().astype(str)))
    label = check_choice("metric", metric, known) if metric is not None else (known or ["value"])[0]
    rows = table[table["metric"].astype(object) == label]
    return rows, [str(c) for c in table.columns if c not in _NOT_PARAMETERS], label


def _line(ax: Axes, rows: pd.DataFrame, x: str, label: str) -> Axes:
    groups = rows.groupby(x, sort=True, dropna=False)["value"]
    mean, error = groups.mean(), groups.sem().fillna(0.0)
    at = _places(ax, mean.index, x)
    value, width = mean.to_numpy(dtype=float), 1.96 * error.to_numpy(dtype=float)
    ax.plot(at, value, "-o", color=COLOURS[0], markersize=4)
    if (width > 0).any():
        ax.fill_between(at, value - width, value + width, color=COLOURS[0], alpha=0.15, linewidth=0)
    if "tie" in rows.columns:
        tied = rows.groupby(x, sort=True, dropna=False)["tie"].max().to_numpy(dtype=bool)
        ax.plot(
            at[tied], value[tied], "o", color=COLOURS[1], markersize=10, markerfacecolor="none", label=_TIES
        )
    best = int(np.argmax(value))
    ax.plot(at[best], value[best], "D", color=COLOURS[3], markersize=8, label=f"best: {mean.index[best]}")
    ax.set_ylabel(label)
    ax.legend(frameon=False, fontsize=8)
    return tidy(ax)


def _places(ax: Axes, values: pd.Index, x: str) -> np.ndarray:
    """Name the axis of a parameter; give the place of each value: numbers at their own, others in order."""
    ax.set_xlabel(x)
    if pd.api.types.is_numeric_dtype(values):
        return values.to_numpy(dtype=float)
    ax.set_xticks(range(len(values)), [shorten(str(name), 16) for name in values])
    return np.arange(len(values))


def _lines(ax: Axes, rows: pd.DataFrame, x: str, by: str, label: str) -> Axes:
    """Draw a line for each value of `by`, and mark the best point of all."""
    table = rows.pivot_table(index=x, columns=by, values="value", aggfunc="mean", dropna=False, sort=False)
    table = table.sort_index() if pd.api.types.is_numeric_dtype(table.index) else table
    at = _places(ax, table.index, x)
    for n, (name, line) in enumerate(table.items()):
        colour, marker, dash, _ = look(n)
        known = line.notna().to_numpy()
        ax.plot(
            at[known],
            line[known],
            marker=marker,
            color=colour,
            linestyle=dash,
            markersize=5,
            label=_short(name),
        )
    values = table.to_numpy(dtype=float)
    if np.isfinite(values).any():
        row, column = (int(n) for n in np.unravel_index(np.nanargmax(values), values.shape))
        best = f"best: {_short(table.columns[column])}, {_short(table.index[row])}"
        ax.plot(
            at[row], values[row, column], "D", color=GREY, markersize=11, markerfacecolor="none", label=best
        )
    ax.set_ylabel(label)
    ax.legend(frameon=False, fontsize=8, title=by)
    return tidy(ax)


def _heat(ax: Axes, rows: pd.DataFrame, x: str, y: str, label: str) -> Axes:
    grid = rows.pivot_table(index=y, columns=x, values="value", aggfunc="mean", dropna=False)
    values = grid.to_numpy(dtype=float)
    drawn = ax.imshow(values, origin="lower", aspect="auto", cmap="viridis")
    ax.set_xticks(range(len(grid.columns)), [_short(v) for v in grid.columns])
    ax.set_yticks(range(len(grid.index)), [_short(v) for v in grid.index])
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    if np.isfinite(values).any():
        row, column = np.unravel_index(np.nanargmax(values), values.shape)
        ax.plot(column, row, "D", color=COLOURS[3], markeredgecolor="white", markersize=9)
        if values.size <= 60:
            middle = np.nanmin(values) + 0.6 * np.ptp(values[np.isfinite(values)])
            for (r, c), v in np.ndenumerate(values):
                if np.isfinite(v):
                    ax.text(c, r - 0.25, f"{v:.3f}", ha="center", va="top", fontsize=7,
                            color="black" if v > middle else "white")  # fmt: skip
    colour_bar(ax, drawn, label)
    return tidy(ax, grid=None)


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, (float, np.floating)) else shorten(str(value), 14)
