"""Curves of a formula, with the documents at hand as points on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ragkit.frames import check_frame
from ragkit.plot.labels import cells, shorten
from ragkit.plot.style import COLOURS, GREY, axes, look, note, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def curves(
    lines: pd.DataFrame,
    points: pd.DataFrame | None = None,
    *,
    x: str,
    y: str,
    by: str | None = None,
    highlight: str | None = None,
    at: float | None = None,
    steps: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw one curve per group, and single points with their names.

    Parameters
    ----------
    lines : DataFrame
        Columns `x`, `y` and, for several curves, `by`.
    points : DataFrame, optional
        Columns `x`, `y` and ``label``.
    x, y : str
        The columns on the two axes.
    by : str, optional
        The column that tells the curves apart.
    highlight : str, optional
        The one curve that is drawn strong; the others become thin and grey.
    at : float, optional
        Where the current setting is: a vertical line.
    steps : bool, default=False
        Whether `y` holds from each `x` to the next, as for a function that jumps.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        Curves are named in a legend when there are several.

    Raises
    ------
    ValueError
        If a column is missing.

    Examples
    --------
    >>> lines = pd.DataFrame({"tf": [0, 1, 2], "weight": [0.0, 1.0, 1.4]})
    >>> curves(lines, x="tf", y="weight").get_ylabel()
    'weight'
    """
    check_frame(lines, [x, y, *([by] if by else [])], "lines")
    ax = axes(ax, (5.2, 3.4))
    groups = [("", lines)] if by is None else list(lines.groupby(by, sort=False))
    for n, (name, part) in enumerate(groups):
        _curve(ax, part[x], part[y], str(name), n, highlight, steps)
    if points is not None and len(points):
        _named_points(ax, check_frame(points, [x, y, "label"], "points"), x, y)
    if at is not None:
        ax.axvline(at, color=COLOURS[3], linewidth=1.4, linestyle="--", zorder=1)
    if by is not None and len(groups) > 1:
        ax.legend(
            loc="lower left", bbox_to_anchor=(0, 1.0), ncols=4, frameon=False, borderaxespad=0.2, fontsize=9
        )
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    if not len(lines):
        note(ax, "nothing to draw")
    return tidy(ax, grid="both")


def _curve(
    ax: Axes, x: pd.Series, y: pd.Series, name: str, n: int, highlight: str | None, steps: bool
) -> None:
    """Draw one curve: strong, or thin and grey where another one is highlighted."""
    strong = highlight is None or name == highlight
    colour, marker, dash, _ = look(n)
    few = max(len(x) // 5, 1)
    ax.plot(
        x.to_numpy(),
        y.to_numpy(),
        color=colour if strong else GREY,
        linestyle=dash if strong else ("--", ":", "-.")[n % 3],
        marker="" if strong else marker,
        markevery=(few // 2, few),
        markersize=4,
        linewidth=2.2 if strong else 1.0,
        drawstyle="steps-post" if steps else "default",
        label=name,
        zorder=2 if strong else 1,
    )


def _named_points(ax: Axes, points: pd.DataFrame, x: str, y: str) -> None:
    """Draw points with their names beside them, towards the middle, none on top of another."""
    xs, ys = points[x].to_numpy(dtype=float), points[y].to_numpy(dtype=float)
    names = [shorten(str(label), 24) for label in points["label"]]
    (left_end, right_end), (low, high) = ax.get_xlim(), ax.get_ylim()
    gap = (high - low) * 0.075
    figure: Any = ax.figure
    # About 4.4 points a cell at this size; the axes take about three quarters of the figure.
    cell = 4.4 * (right_end - left_end) / (54 * figure.figure.get_figwidth())
    taken: list[tuple[float, float, float]] = []
    for n in np.argsort(ys, kind="stable"):
        left = bool(xs[n] > (left_end + right_end) / 2)
        width = cell * (cells(names[n]) + 2)
        span = (xs[n] - width, xs[n]) if left else (xs[n], xs[n] + width)
        at = _free_height(taken, span, ys[n], gap)
        taken.append((*span, at))
        ax.plot(xs[n : n + 1], ys[n : n + 1], look(n).marker, color=look(n + 1).colour, ms=7, mec="white")
        ax.annotate(
            names[n],
            (xs[n], at),
            xytext=(-7 if left else 7, 0),
            textcoords="offset points",
            ha="right" if left else "left",
            va="center",
            fontsize=8,
        )


def _free_height(
    taken: list[tuple[float, float, float]], span: tuple[float, float], y: float, gap: float
) -> float:
    """The lowest height from `y` upwards at which a label of this span touches no other."""
    for _, _, other in sorted((t for t in taken if t[0] < span[1] and span[0] < t[1]), key=lambda t: t[2]):
        if abs(other - y) < gap * (1 - 1e-9):
            y = other + gap
    return y
