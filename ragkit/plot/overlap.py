"""What several runs have in common: set sizes in the manner of UpSet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ragkit.frames import check_top_k
from ragkit.fusion import run_overlap
from ragkit.plot.style import COLOURS, GREY, axes, note, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def overlap(runs: Any, *, top_k: int | None = 10, most: int = 15, ax: Axes | None = None) -> Axes:
    """Draw how many units exactly these runs have in common: one bar per combination.

    Parameters
    ----------
    runs : dict of str to run
        Two runs or more; five still read well.
    top_k : int or None, default=10
        How deep is looked; None is all.
    most : int, default=15
        The most combinations shown, largest first.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        Bars count (query, unit) pairs; filled dots below name the runs that have them.

    See Also
    --------
    bump : The ranks of one query.

    Examples
    --------
    >>> ax = overlap({"a": {"q": ["x", "y"]}, "b": {"q": ["y", "z"]}})
    >>> [int(bar.get_height()) for bar in ax.patches]
    [1, 1, 1]
    """
    table = run_overlap(runs, top_k=top_k).head(check_top_k(most, "most", none=False) or 0)
    names = [str(c) for c in table.columns[:-1]]
    ax = axes(ax, (1.6 + 0.42 * max(len(table), 4), 2.4 + 0.3 * len(names)))
    places = np.arange(len(table))
    bars = ax.bar(places, table["units"], color=COLOURS[0], width=0.62)
    ax.bar_label(bars, fontsize=8, padding=1)
    ax.set_ylabel("units")
    ax.set_xlim(-0.6, max(len(table), 1) - 0.4)
    _dots(ax, table[names].to_numpy(dtype=bool), names)
    if not len(table):
        note(ax, "no results")
    return tidy(ax)


def _dots(ax: Axes, member: np.ndarray, names: list[str]) -> None:
    """Draw the matrix of runs below the bars, as rows of ticks under one axis."""
    ax.set_xticks(range(len(member)), [""] * len(member))
    ax.tick_params(bottom=False)
    # In fractions of the axes' height, so that the rows stay apart at any scale of the bars.
    place = ax.get_xaxis_transform()
    step = 0.13
    for row, name in enumerate(names):
        y = -0.1 - step * row
        ax.text(-0.75, y, name, transform=place, ha="right", va="center", fontsize=9, clip_on=False)
        x = np.arange(len(member))
        ax.plot(x, np.full(len(x), y), "o", color="#dddddd", ms=6, transform=place, clip_on=False)
        inside = np.flatnonzero(member[:, row]) if len(member) else x
        ax.plot(inside, np.full(len(inside), y), "o", color=COLOURS[0], ms=7, transform=place, clip_on=False)
    for n, flags in enumerate(member):
        rows = np.flatnonzero(flags)
        if len(rows) > 1:
            ends = -0.1 - step * rows[[0, -1]]
            ax.plot([n, n], ends, color=GREY, lw=1.4, zorder=1.5, transform=place, clip_on=False)
    # An empty label keeps room for the rows when the figure is laid out.
    ax.set_xlabel("\n" * len(names))
