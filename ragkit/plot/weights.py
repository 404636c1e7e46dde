"""The weight axis: the mean metric as the step function it is, its optimum, and the triangle of three."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from ragkit.frames import check_choice, check_frame, check_number
from ragkit.hybrid import best_weight, mean_path
from ragkit.plot.style import COLOURS, GREY, axes, colour_bar, note, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def weight_path(
    path: pd.DataFrame,
    *,
    metric: str | None = None,
    tolerance: float = 0.0,
    weight: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the mean of a metric over the whole weight axis: every step, its optimum and its plateau.

    Parameters
    ----------
    path : DataFrame
        From :func:`ragkit.weight_path`, with metrics.
    metric : str or None, default=None
        Which metric; None takes the first.
    tolerance : float, default=0.0
        How far below the optimum the mean may lie on the plateau.
    weight : float or None, default=None
        The weight in force, marked with a line.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        The steps with their 95 % interval over the queries, the plateau shaded, the optimum marked.

    Raises
    ------
    ValueError
        If the path has no metric, or not this one.

    See Also
    --------
    weight_simplex : The same for three runs.

    Examples
    --------
    >>> path = pd.DataFrame({"query_id": "q", "weight_from": [0.0, 0.4], "weight_to": [0.4, 1.0],
    ...                      "rr": [0.5, 1.0]})
    >>> weight_path(path).get_ylabel()
    'mean rr'
    """
    check_frame(path, ["query_id", "weight_from", "weight_to"], "path")
    metrics = [c for c in path.columns if c not in ("query_id", "weight_from", "weight_to", "unit_ids")]
    if not metrics:
        raise ValueError("weight_path needs a path with metrics; give ragkit.weight_path the qrels.")
    metric = metrics[0] if metric is None else check_choice("metric of the path", metric, metrics)
    own = path[["query_id", "weight_from", "weight_to", metric]]
    ax = axes(ax, (6.4, 3.4))
    of = path.attrs.get("weight_of")
    if own[metric].notna().any():
        _steps(ax, mean_path(own), metric)
        _optimum(ax, best_weight(own, tolerance=tolerance).iloc[0])
        ax.legend(
            loc="lower left", bbox_to_anchor=(0, 1.0), ncols=2, frameon=False, borderaxespad=0.2, fontsize=9
        )
    else:
        note(ax, "no judged queries")
    if weight is not None:
        ax.axvline(check_number("weight", weight, low=0, high=1), color=COLOURS[3], linewidth=2.0)
    ax.set_xlim(0, 1)
    ax.set_xlabel(f"weight of {of} (the rest has 1 - w)" if of else "weight w (the rest has 1 - w)")
    ax.set_ylabel(f"mean {metric}")
    return tidy(ax)


def _steps(ax: Axes, means: pd.DataFrame, metric: str) -> None:
    edges = np.r_[means["weight_from"].to_numpy(), 1.0]
    low, high = means[f"{metric}_low"].to_numpy(), means[f"{metric}_high"].to_numpy()
    ax.fill_between(
        edges, np.r_[low, low[-1]], np.r_[high, high[-1]], step="post", color=COLOURS[0], alpha=0.13,
        linewidth=0, label="95 % over queries",
    )  # fmt: skip
    ax.stairs(means[metric].to_numpy(), edges, baseline=None, color=COLOURS[0], linewidth=1.8, label="mean")


def _optimum(ax: Axes, best: pd.Series) -> None:
    """Shade the plateau and mark the best interval."""
    ax.axvspan(best["plateau_from"], best["plateau_to"], color=COLOURS[2], alpha=0.12, linewidth=0)
    ends = [best["weight_from"], best["weight_to"]]
    low, high = (f"{end:.3f}" for end in ends)
    label = f"best {best['value']:.3f} " + (f"at w = {low}" if low == high else f"for w in [{low}, {high}]")
    # A dot at either end, so that an interval too narrow to see is one.
    ax.plot(ends, [best["value"]] * 2, "-o", color=COLOURS[2], linewidth=5, markersize=6, mew=0, label=label)


def weight_simplex(triangle: pd.DataFrame, *, metric: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw a metric over the triangle of three runs' weights.

    Parameters
    ----------
    triangle : DataFrame
        From :func:`ragkit.weight_simplex`: three weight columns, then the metric.
    metric : str or None, default=None
        The column of the metric; None takes the last.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        A corner is all weight on one run; the best point is marked.

    Raises
    ------
    ValueError
        If there are not three weight columns.

    See Also
    --------
    weight_path : Two runs, exactly.

    Examples
    --------
    >>> corners = pd.DataFrame([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]], columns=list("abc"))
    >>> triangle = corners.assign(rr=[0.2, 0.5, 0.3])
    >>> [text.get_text() for text in weight_simplex(triangle).texts][:3]
    ['a', 'b', 'c']
    """
    names = [str(c) for c in triangle.columns]
    metric = names[-1] if metric is None else check_choice("column of the triangle", metric, names)
    runs = [name for name in names if name != metric][:3]
    if len(runs) != 3:
        raise ValueError(f"weight_simplex needs three weight columns and a metric; got {names}.")
    ax = axes(ax, (5.2, 4.2))
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(3) / 2]])
    points = triangle[runs].to_numpy(dtype=float) @ corners
    values = triangle[metric].to_numpy(dtype=float)
    if len(points):
        drawn = ax.scatter(
            points[:, 0], points[:, 1], c=values, cmap="cividis", s=42, marker="h", linewidths=0
        )
        colour_bar(ax, drawn, metric)
        best = points[int(np.nanargmax(values))] if np.isfinite(values).any() else points[0]
        ax.plot(*best, "o", ms=13, mfc="none", mec=COLOURS[3], mew=2.2)
    else:
        note(ax, "no points")
    ax.plot(*corners[[0, 1, 2, 0]].T, color=GREY, linewidth=0.8, zorder=0)
    for name, corner, va in zip(runs, corners, ("top", "top", "bottom")):
        offset = (0, -6 if va == "top" else 6)
        ax.annotate(name, corner, xytext=offset, textcoords="offset points", ha="center", va=va)
    ax.set_aspect("equal")
    ax.set_xlim(-0.08, 1.08)
    ax.set_ylim(-0.1, 0.97)
    ax.set_axis_off()
    return ax
