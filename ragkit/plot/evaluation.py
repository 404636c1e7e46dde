"""What measuring found: changes by query, precision and recall, funnels, optimism."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ragkit.frames import check_choice, check_frame
from ragkit.plot.labels import shorten
from ragkit.plot.style import COLOURS, GREY, axes, look, note, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
    ax.set_xlabel(f"delta_{name}" + (f" ({left_out} queries in the middle left out)" if left_out else ""))
    tidy(ax, grid="x").tick_params(axis="y", length=0)
    return note(ax, "no queries") if not len(rows) else ax


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
        colour, marker, dash, _ = look(n)
        ax.plot(
            rows["recall"], rows["precision"], marker=marker, color=colour, linestyle=dash, markersize=5,
            label=str(name),
        )  # fmt: skip
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
