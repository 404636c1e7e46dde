"""What measuring found: changes by query, sweeps, precision and recall, funnels, optimism."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ragkit.frames import check_choice, check_frame
from ragkit.plot.labels import shorten
from ragkit.plot.style import COLOURS, GREY, MARKERS, axes, colour_bar, note, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TIES = "ties with the best"
_NOT_PARAMETERS = ("setting", "query_id", "metric", "value", "seconds", "error")


def per_query(
    table: pd.DataFrame, *, system: str | None = None, most: int = 40, ax: Axes | None = None
) -> Axes:
    """Draw each query's change as a bar, from the largest gain to the largest loss.

    Parameters
    ----------
    table : DataFrame
        The frame of :func:`ragkit.per_query`.
    system : str, optional
        Whose change; None is the first that has one.
    most : int, default=40
        With more queries than this, those in the middle are left out, and the plot says so.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        Gains to the right, losses hatched to the left; the text or id of each query beside its bar.

    Raises
    ------
    ValueError
        If the frame holds no change, or not that of `system`.

    See Also
    --------
    ragkit.per_query : The frame that is drawn.

    Examples
    --------
    >>> table = pd.DataFrame({"query_id": ["q1", "q2"], "old": [0.5, 1.0], "new": [1.0, 0.9],
    ...                       "delta_new": [0.5, -0.1]})
    >>> [float(bar.get_width()) for bar in per_query(table).patches]
    [0.5, -0.1]
    """
    check_frame(table, ["query_id"], "table")
    systems = [str(c)[len("delta_") :] for c in table.columns if str(c).startswith("delta_")]
    if not systems:
        raise ValueError(
            "per_query needs a frame with a change (delta_<system>); compare at least two systems."
        )
    name = systems[0] if system is None else check_choice("system", system, systems)
    rows = table.sort_values(f"delta_{name}", ascending=False, kind="stable").reset_index(drop=True)
    left_out = max(len(rows) - most, 0)
    if left_out:
        rows = pd.concat([rows.head(most - most // 2), rows.tail(most // 2)], ignore_index=True)
    change = rows[f"delta_{name}"].to_numpy(dtype=float)
    ax = axes(ax, (6.4, 1.0 + 0.24 * max(len(rows), 2)))
    for up, colour, hatch in ((True, COLOURS[0], ""), (False, COLOURS[3], "///")):
        at = np.flatnonzero((change >= 0) == up)
        ax.barh(at, change[at], color=colour, hatch=hatch, edgecolor="white", height=0.75)
    labels = rows["text"].where(rows["text"] != "", rows["query_id"]) if "text" in rows else rows["query_id"]
    ax.set_yticks(range(len(rows)), [shorten(str(label), 34) for label in labels], fontsize=8)
    ax.set_ylim(max(len(rows), 1) - 0.4, -0.6)
    ax.axvline(0, color=GREY, linewidth=0.8)
    ax.set_xlabel(f"change of {name}" + (f" ({left_out} queries in the middle left out)" if left_out else ""))
    tidy(ax, grid="x").tick_params(axis="y", length=0)
    return note(ax, "no queries") if not len(rows) else ax


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
    numeric = pd.api.types.is_numeric_dtype(rows[x])
    at = mean.index.to_numpy(dtype=float) if numeric else np.arange(len(mean))
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
    if not numeric:
        ax.set_xticks(at, [shorten(str(name), 16) for name in mean.index])
    ax.set_xlabel(x)
    ax.set_ylabel(label)
    ax.legend(frameon=False, fontsize=8)
    return tidy(ax)


def _lines(ax: Axes, rows: pd.DataFrame, x: str, by: str, label: str) -> Axes:
    """Draw a line for each value of `by`, and mark the best point of all."""
    table = rows.pivot_table(index=x, columns=by, values="value", aggfunc="mean", dropna=False, sort=False)
    numeric = pd.api.types.is_numeric_dtype(rows[x])
    table = table.sort_index() if numeric else table
    at = table.index.to_numpy(dtype=float) if numeric else np.arange(len(table))
    for n, (name, line) in enumerate(table.items()):
        colour, marker = COLOURS[n % len(COLOURS)], MARKERS[n % len(MARKERS)]
        known = line.notna().to_numpy()
        ax.plot(at[known], line[known], marker=marker, color=colour, markersize=5, label=_short(name))
    values = table.to_numpy(dtype=float)
    if np.isfinite(values).any():
        row, column = (int(n) for n in np.unravel_index(np.nanargmax(values), values.shape))
        best = f"best: {_short(table.columns[column])}, {_short(table.index[row])}"
        ax.plot(
            at[row], values[row, column], "D", color=GREY, markersize=11, markerfacecolor="none", label=best
        )
    if not numeric:
        ax.set_xticks(at, [shorten(str(name), 16) for name in table.index])
    ax.set_xlabel(x)
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


def precision_recall(table: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw precision against recall, one line per system.

    Parameters
    ----------
    table : DataFrame
        The frame of :func:`ragkit.precision_recall`.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        Both axes from 0 to 1.

    Raises
    ------
    ValueError
        If a column is missing.

    See Also
    --------
    ragkit.precision_recall : The frame that is drawn.

    Examples
    --------
    >>> table = pd.DataFrame({"system": "bm25", "recall": [0.0, 1.0], "precision": [1.0, 0.5]})
    >>> len(precision_recall(table).lines)
    1
    """
    check_frame(table, ["system", "recall", "precision"], "table")
    ax = axes(ax, (5.2, 4.2))
    for n, (name, rows) in enumerate(table.groupby("system", sort=False)):
        colour, marker = COLOURS[n % len(COLOURS)], MARKERS[n % len(MARKERS)]
        ax.plot(rows["recall"], rows["precision"], marker=marker, color=colour, markersize=5, label=str(name))
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.02)
    ax.set_xlabel("recall")
    ax.set_ylabel("precision")
    if len(table):
        ax.legend(frameon=False)
    else:
        note(ax, "no results")
    return tidy(ax, grid="both")


def funnel(stages: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw what recall is left after each stage, and what each stage took.

    Parameters
    ----------
    stages : DataFrame
        The frame of :func:`ragkit.funnel_stages`.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        One bar per stage that lost something, from the first down to what was found.

    Raises
    ------
    ValueError
        If a column is missing.

    See Also
    --------
    ragkit.funnel : Which documents, and why.

    Examples
    --------
    >>> stages = pd.DataFrame({"stage": ["pool", "mmr"], "lost": [1, 0], "left": [1, 1],
    ...                        "recall": [0.5, 0.5], "recall_lost": [0.5, 0.0]})
    >>> [tick.get_text() for tick in funnel(stages).get_yticklabels()]
    ['relevant', 'pool', 'found']
    """
    check_frame(stages, ["stage", "lost", "left", "recall", "recall_lost"], "stages")
    rows = stages[stages["lost"] > 0]
    left = np.r_[1.0, rows["recall"].to_numpy(dtype=float)] if len(stages) else np.empty(0)
    lost = np.r_[0.0, rows["recall_lost"].to_numpy(dtype=float)] if len(stages) else np.empty(0)
    names = ["relevant", *rows["stage"].astype(str)]
    ax = axes(ax, (6.4, 1.2 + 0.4 * (len(rows) + 2)))
    if len(left):
        names, left, lost = [*names, "found"], np.r_[left, left[-1]], np.r_[lost, 0.0]
    y = np.arange(len(left))
    ax.barh(y, left, color=COLOURS[0], height=0.7, label="left")
    ax.barh(
        y, lost, left=left, color=COLOURS[3], hatch="///", edgecolor="white", height=0.7, label="lost here"
    )
    counts = [0, *rows["lost"].astype(int), 0]
    for place, (kept, taken, count) in enumerate(zip(left, lost, counts)):
        text = f"{kept:.0%}" + (f"  (-{count})" if count else "")
        ax.annotate(
            text, (kept + taken, place), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8
        )
    ax.set_yticks(y, names[: len(y)])
    ax.set_ylim(max(len(y), 1) - 0.4, -0.6)
    ax.set_xlim(0, 1.18)
    ax.set_xlabel("recall, mean over queries")
    if not len(left):
        note(ax, "no relevant documents")
    return tidy(ax, grid="x")


def optimism(tuned: Any, *, ax: Axes | None = None) -> Axes:
    """Draw, fold by fold, the score on the queries that chose against that on the others.

    Parameters
    ----------
    tuned : Tuned, or its ``folds`` frame
        From :func:`ragkit.tune`.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        A line per fold from where the setting was chosen to where it was not, and the means: the drop is
        the optimism of a score that was tuned on its own queries.

    Raises
    ------
    ValueError
        If a column is missing.

    See Also
    --------
    ragkit.tune : What is drawn.

    Examples
    --------
    >>> folds = pd.DataFrame({"fold": [0, 1], "train": [0.8, 0.9], "held_out": [0.6, 0.7], "queries": [5, 5]})
    >>> len(optimism(folds).lines)
    3
    """
    folds = check_frame(
        tuned if isinstance(tuned, pd.DataFrame) else tuned.folds, ["train", "held_out"], "folds"
    )
    label = "score" if isinstance(tuned, pd.DataFrame) else tuned.metric
    ax = axes(ax, (4.2, 3.6))
    for train, held in zip(folds["train"], folds["held_out"]):
        ax.plot([0, 1], [train, held], "-o", color=GREY, alpha=0.55, markersize=4)
    if len(folds):
        weights = folds["queries"] if "queries" in folds.columns else np.ones(len(folds))
        ends = [folds["train"].mean(), float(np.average(folds["held_out"], weights=weights))]
        ax.plot([0, 1], ends, "-D", color=COLOURS[3], linewidth=2.4, markersize=8)
        for place, value in enumerate(ends):
            offset, side = ((-8, "right"), (8, "left"))[place]
            ax.annotate(f"{value:.3f}", (place, value), xytext=(offset, 0), textcoords="offset points",
                        ha=side, va="center")  # fmt: skip
    else:
        note(ax, "no folds")
    ax.set_xticks([0, 1], ["chosen on", "held out"])
    ax.set_xlim(-0.45, 1.45)
    ax.set_ylabel(label)
    return tidy(ax)
