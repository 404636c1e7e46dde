"""Relevance against diversity, and where lambda changes the result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ragkit.frames import check_frame, check_number, check_top_k
from ragkit.plot.labels import pick_query, several_queries
from ragkit.plot.style import COLOURS, GREY, axes, colour_bar, look, note, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def tradeoff(
    path: pd.DataFrame,
    *,
    query_id: str | None = None,
    lambda_: float | None = None,
    x: str = "diversity",
    y: str = "relevance",
    points: Mapping[str, tuple[float, float]] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw relevance against diversity over the whole lambda axis: every selection there is, none sampled.

    Parameters
    ----------
    path : DataFrame
        The frame of :func:`ragkit.mmr_path`: one row per interval of lambda in which nothing changes.
    query_id : str or None, default=None
        The query to draw; None takes the first one, and the title names it when there are several.
    lambda_ : float or None, default=None
        The current setting, marked with a ring.
    x, y : str
        Columns of the path on the two axes; any metric column will do.
    points : dict of name to (x, y), optional
        Other methods or settings, drawn as single points. For a run `p` that :func:`ragkit.diversify`
        picked by ``"msd"``: ``(rk.evaluate(p, metrics="ild", vectors=store)["value"].mean(),
        p["msd_relevance"].mean())``.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        One dot per selection, coloured from λ = 0 (dark) to 1 (light) and joined in the order of λ.
        Large dots are the frontier; for a small one another selection is better on one axis and no worse
        on the other.

    Raises
    ------
    ValueError
        If a column is missing, or the path has not the query.

    Examples
    --------
    >>> path = pd.DataFrame({"query_id": "q", "lambda_from": [0.0, 0.4], "lambda_to": [0.4, 1.0],
    ...                      "relevance": [0.5, 0.8], "diversity": [0.9, 0.6]})
    >>> tradeoff(path, lambda_=0.7).get_xlabel()
    'diversity'
    """
    check_frame(path, ["query_id", "lambda_from", "lambda_to", x, y], "path")
    query = pick_query([path], query_id, "tradeoff")
    rows = path[path["query_id"].astype(str) == query].sort_values("lambda_from")
    ax = axes(ax, (5.2, 3.8))
    if len(rows):
        _frontier(ax, rows, x, y)
    else:
        note(ax, "no results")
    if lambda_ is not None and len(rows):
        _mark(ax, rows, check_number("lambda_", lambda_, low=0, high=1), x, y)
    for n, (name, (px, py)) in enumerate((points or {}).items()):
        colour, marker, _, _ = look(n + 3)
        ax.plot([px], [py], marker, color=colour, markersize=9, markeredgecolor="white", label=name)
    if ax.get_legend_handles_labels()[1]:
        ax.legend(
            loc="lower left",
            bbox_to_anchor=(0, 1.0),
            ncols=4,
            frameon=False,
            borderaxespad=0.2,
            columnspacing=1.0,
            handletextpad=0.3,
            fontsize=9,
        )
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    if several_queries([path]):
        ax.set_title(f"query {query}", loc="right", fontsize=10)
    return tidy(ax, grid="both")


def _frontier(ax: Axes, rows: pd.DataFrame, x: str, y: str) -> None:
    """Draw the selections, joined in the order of lambda, and name the two ends."""
    xs, ys = rows[x].to_numpy(dtype=float), rows[y].to_numpy(dtype=float)
    middle = (rows["lambda_from"] + rows["lambda_to"]).to_numpy(dtype=float) / 2
    ax.plot(xs, ys, color=GREY, linewidth=1, zorder=1)
    sizes = np.where(on_frontier(xs, ys), 52, 20)
    dots = ax.scatter(xs, ys, c=middle, cmap="cividis", vmin=0, vmax=1, s=sizes, linewidths=0.7, zorder=2)
    dots.set_edgecolor("#444444")  # without a rim, dark dots are lost on a dark page
    _key(ax, bool((sizes == 20).any()))
    ax.margins(0.12, 0.16)
    ends = (
        {"λ = 1": -1} if len(rows) == 1 or (xs[0], ys[0]) == (xs[-1], ys[-1]) else {"λ = 0": 0, "λ = 1": -1}
    )
    for text, at in ends.items():
        # Towards the middle of the axes, so that no label leaves them, and off the side that the line takes.
        left = xs[at] > (np.nanmin(xs) + np.nanmax(xs)) / 2
        below = _goes_up(ys if at == 0 else ys[::-1])
        ax.annotate(
            text,
            (xs[at], ys[at]),
            xytext=(-7 if left else 7, -9 if below else 9),
            textcoords="offset points",
            ha="right" if left else "left",
            va="top" if below else "bottom",
            color="#444444",
        )


def _goes_up(ys: np.ndarray) -> bool:
    """Whether a line that starts at the first of `ys` first moves upwards."""
    steps = ys - ys[0]
    moved = steps[np.abs(steps) > 1e-12]
    return bool(len(moved) and moved[0] > 0)


def _key(ax: Axes, beaten: bool) -> None:
    """Name the two ends of the colours, and the small dots where there are any."""
    from matplotlib import colormaps

    dark, light = (colormaps["cividis"](at) for at in (0.0, 1.0))
    dots: list[tuple[str, Any, float]] = [("λ near 0", dark, 7.0), ("λ near 1", light, 7.0)]
    dots += [("small: beaten", GREY, 4.5)] if beaten else []
    for name, colour, size in dots:
        ax.plot([], [], "o", color=colour, ms=size, mec="#444444", mew=0.7, label=name)


def on_frontier(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Say which points no other point beats on one axis without losing on the other.

    Parameters
    ----------
    x, y : ndarray of float, shape (n,)
        Two things of which more is better.

    Returns
    -------
    ndarray of bool, shape (n,)
        True for the points of the Pareto frontier.

    Examples
    --------
    >>> on_frontier(np.array([0.9, 0.5, 0.4]), np.array([0.2, 0.8, 0.7])).tolist()
    [True, True, False]
    """
    as_good = (x >= x[:, None] - 1e-12) & (y >= y[:, None] - 1e-12)
    better = (x > x[:, None] + 1e-12) | (y > y[:, None] + 1e-12)
    beaten: np.ndarray = np.any(as_good & better, axis=1)
    return ~beaten


def _mark(ax: Axes, rows: pd.DataFrame, lambda_: float, x: str, y: str) -> None:
    """Ring the selection that holds at `lambda_`."""
    inside = np.flatnonzero(rows["lambda_from"].to_numpy(dtype=float) <= lambda_)
    row: Any = rows.iloc[int(inside[-1]) if len(inside) else 0]
    ax.plot(
        [row[x]],
        [row[y]],
        "o",
        markersize=14,
        markerfacecolor="none",
        markeredgecolor=COLOURS[3],
        markeredgewidth=2.2,
        label=f"λ = {lambda_:g}",
        zorder=3,
    )


def lambda_ruler(
    path: pd.DataFrame,
    *,
    query_id: str | None = None,
    lambda_: float | None = None,
    colour: str = "diversity",
    max_queries: int = 20,
    ax: Axes | None = None,
) -> Axes:
    """Draw where on the lambda axis the result changes: one stripe per query, one cell per selection.

    Parameters
    ----------
    path : DataFrame
        The frame of :func:`ragkit.mmr_path`.
    query_id : str or None, default=None
        The query to draw; None draws the first `max_queries`.
    lambda_ : float or None, default=None
        The current setting, marked with a line.
    colour : str, default="diversity"
        The column of the path that colours the cells; any metric column will do.
    max_queries : int, default=20
        The most stripes.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        Cells end exactly where another selection begins.

    Raises
    ------
    ValueError
        If a column is missing, or the path has not the query.

    Examples
    --------
    >>> path = pd.DataFrame({"query_id": "q", "lambda_from": [0.0, 0.4], "lambda_to": [0.4, 1.0],
    ...                      "diversity": [0.9, 0.6]})
    >>> lambda_ruler(path, lambda_=0.7).get_xlabel()
    'λ, from novelty only (0) to relevance only (1)'
    """
    check_frame(path, ["query_id", "lambda_from", "lambda_to", colour], "path")
    if lambda_ is not None:
        lambda_ = check_number("lambda_", lambda_, low=0, high=1)
    names = path["query_id"].astype(str)
    if query_id is None:
        shown = list(dict.fromkeys(names))[: check_top_k(max_queries, "max_queries", none=False)]
    else:
        shown = [str(pick_query([path], query_id, "lambda_ruler"))]
    ax = axes(ax, (6.4, 1.0 + 0.28 * max(len(shown), 1)))
    rows = path[names.isin(shown)]
    if len(rows):
        _stripes(ax, rows, shown, colour)
    else:
        note(ax, "no results")
    if lambda_ is not None:
        ax.axvline(lambda_, color=COLOURS[3], linewidth=2.2)
    ax.set_xlim(0, 1)
    ax.set_xlabel("λ, from novelty only (0) to relevance only (1)")
    return tidy(ax, grid=None)


def _stripes(ax: Axes, rows: pd.DataFrame, shown: list[str], colour: str) -> None:
    """Draw the cells of each query, and name the queries."""
    from matplotlib.collections import PolyCollection

    place = rows["query_id"].astype(str).map({name: n for n, name in enumerate(shown)}).to_numpy()
    low, high = rows["lambda_from"].to_numpy(dtype=float), rows["lambda_to"].to_numpy(dtype=float)
    top, bottom = place - 0.4, place + 0.4
    corners = np.array([[low, top], [high, top], [high, bottom], [low, bottom]]).transpose(2, 0, 1)
    cells = PolyCollection(list(corners), cmap="cividis", edgecolors="white", linewidths=0.7)
    cells.set_array(rows[colour].to_numpy(dtype=float))
    ax.add_collection(cells)
    ax.set_ylim(len(shown) - 0.5, -0.5)
    ax.set_yticks(range(len(shown)), shown)
    colour_bar(ax, cells, colour)
