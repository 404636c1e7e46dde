"""Who resembles whom: the pool as a heat map and as a map, with what was picked."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ragkit.diversity.pool import Pool, make_pool, query_vectors
from ragkit.frames import as_run, check_top_k
from ragkit.plot.labels import pick_query, several_queries, unit_labels
from ragkit.plot.style import COLOURS, GREY, axes, colour_bar, note, tidy
from ragkit.similarity import normalize_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def similarity(
    run: Any,
    vectors: Any,
    *,
    picked: pd.DataFrame | None = None,
    query_id: str | None = None,
    top_k: int = 30,
    docs: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the cosine of each pair of candidates, picks first in the order of picking.

    Blocks on the diagonal are groups that repeat one another; a good selection has none in its corner.

    Parameters
    ----------
    run : DataFrame
        The pool: any run.
    vectors : VectorStore, mapping of id to vector, or array_like of shape (n, d)
        The units' vectors, as in :func:`ragkit.mmr`.
    picked : DataFrame, optional
        What MMR or another method picked from the pool; a line separates it from the rest.
    query_id : str or None, default=None
        The query to draw; None takes the first one, and the title names it when there are several.
    top_k : int, default=30
        The most units drawn: the picks, then the best ranked of the rest.
    docs : documents or chunks, optional
        Where titles for the labels come from.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        A heat map; the darkest cell is the lowest cosine drawn, the brightest is 1.

    Raises
    ------
    ValueError
        If a unit has no vector, the run has not the query, or `picked` holds a unit that the pool has not.

    Examples
    --------
    >>> run = pd.DataFrame({"query_id": "q", "doc_id": ["a", "copy", "other"], "score": [1.0, 0.9, 0.5]})
    >>> ax = similarity(run, {"a": [1, 0], "copy": [1, 0], "other": [0, 1]})
    >>> ax.images[0].get_array().tolist()
    [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    top_k = check_top_k(top_k, none=False) or 0
    pool, rows, picks, query = _one_pool(run, vectors, picked, query_id, "similarity")
    ax = axes(ax, (5.6, 4.8))
    rest = rows[~np.isin(rows, picks)]
    order = np.r_[picks, rest][:top_k].astype(np.int64)
    if not len(order):
        return note(ax, "no results")
    X = normalize_rows(pool.vectors[pool.codes[order]].astype(np.float64))
    S = np.clip(X @ X.T, -1.0, 1.0)
    image = ax.imshow(S, cmap="cividis", vmin=min(0.0, float(S.min())), vmax=1.0)
    colour_bar(ax, image, "cosine")
    if 0 < len(picks) < len(order):
        edge = len(picks) - 0.5
        ax.axhline(edge, color="white", linewidth=2)
        ax.axvline(edge, color="white", linewidth=2)
        ax.set_xlabel(f"{len(picks)} picks, then the rest of the pool")
    _name_cells(ax, pool, order, docs)
    if several_queries([pool.frame]):
        ax.set_title(f"query {query}", loc="right", fontsize=10)
    ax.spines[:].set_visible(False)
    return ax


def _name_cells(ax: Axes, pool: Pool, order: np.ndarray, docs: Any) -> None:
    """Label the rows by unit and the columns by number; many of them only now and then."""
    step = max(1, len(order) // 30 + (len(order) % 30 > 0)) if len(order) > 30 else 1
    units = pool.frame[pool.unit].astype(str).to_numpy(dtype=object)[order]
    labels = unit_labels(units, docs, 24)
    at = np.arange(0, len(order), step)
    ax.set_yticks(at, [labels[units[i]] for i in at], fontsize=8)
    ax.set_xticks(at, [str(i + 1) for i in at], fontsize=8)
    ax.tick_params(length=0)


def _one_pool(
    run: Any, vectors: Any, picked: Any, query_id: str | None, who: str
) -> tuple[Pool, np.ndarray, np.ndarray, str | None]:
    """Give the pool, the rows of one query, the rows that were picked in order, and the query."""
    pool = make_pool(run, vectors, top_k=None, fetch_k=None, scale=None, relevance="score", queries=None)
    query = pick_query([pool.frame], query_id, who)
    rows = np.flatnonzero(pool.frame["query_id"].astype(str) == query)
    if picked is None:
        return pool, rows, rows[:0], query
    chosen = as_run(picked)
    names = chosen.loc[chosen["query_id"].astype(str) == query, pool.unit].astype(str)
    at = pd.Index(pool.frame[pool.unit].iloc[rows].astype(str)).get_indexer(pd.Index(names))
    if (at < 0).any():
        raise ValueError(
            f"{who}: picked holds {names[at < 0].iloc[0]!r}, which the run has not for query {query!r}; "
            "give the run that it was picked from."
        )
    return pool, rows, rows[at], query


def map(
    run: Any,
    vectors: Any,
    *,
    picked: pd.DataFrame | None = None,
    queries: Any = None,
    query_id: str | None = None,
    neighbours: int = 2,
    project: Callable[[np.ndarray], np.ndarray] | None = None,
    docs: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the pool in two dimensions, with links between true neighbours and the picks numbered.

    A flat picture of many dimensions lies about distances; the links do not: they join each unit with
    those that have the highest cosine in all dimensions, the thicker the more alike.

    Parameters
    ----------
    run : DataFrame
        The pool: any run.
    vectors : VectorStore, mapping of id to vector, or array_like of shape (n, d)
        The units' vectors, as in :func:`ragkit.mmr`.
    picked : DataFrame, optional
        What MMR or another method picked from the pool, numbered in the order of picking.
    queries : mapping of query_id to vector, array_like, or queries that a VectorStore embeds, optional
        As in :func:`ragkit.mmr`; with it the query is drawn as a star.
    query_id : str or None, default=None
        The query to draw; None takes the first one, and the title names it when there are several.
    neighbours : int, default=2
        How many links leave each unit.
    project : callable, optional
        From unit vectors, shape (n, d), to places, shape (n, 2), such as a UMAP's ``fit_transform``; PCA
        by default, whose axes tell how much of the variance they show.
    docs : documents or chunks, optional
        Where titles of the picks come from, for a legend.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        Pool as dots, picks as numbers, the query as a star.

    Raises
    ------
    ValueError
        If a unit has no vector, the run has not the query, or `picked` holds a unit that the pool has not.

    Examples
    --------
    >>> run = pd.DataFrame({"query_id": "q", "doc_id": ["a", "copy", "other"], "score": [1.0, 0.9, 0.5]})
    >>> map(run, {"a": [1, 0], "copy": [1, 0], "other": [0, 1]}).get_xlabel()
    'PCA 1 (100 % of the variance)'
    """
    neighbours = check_top_k(neighbours, "neighbours", none=False) or 0
    pool, rows, picks, query = _one_pool(run, vectors, picked, query_id, "map")
    ax = axes(ax, (6.2, 4.6))
    if not len(rows):
        return note(ax, "no results")
    X = normalize_rows(pool.vectors[pool.codes[rows]].astype(np.float64))
    if queries is not None:
        names = list(dict.fromkeys(pool.frame["query_id"]))
        q = query_vectors(names, vectors, queries)[[str(n) for n in names].index(str(query))]
        X = np.vstack([X, normalize_rows(np.asarray(q, dtype=np.float64)[None, :])])
    places, shares = _pca(X) if project is None else (_checked_places(project(X), len(X)), None)
    _links(ax, X[: len(rows)], places, neighbours)
    _points(ax, places, len(rows), np.searchsorted(rows, picks))
    _name_picks(ax, pool, picks, docs)
    for name, axis, share in zip("12", ("x", "y"), shares if shares is not None else (None, None)):
        text = f"projection {name}" if share is None else f"PCA {name} ({share:.0%} of the variance)"
        getattr(ax, f"set_{axis}label")(text.replace("%", " %"))
    if several_queries([pool.frame]):
        ax.set_title(f"query {query}", loc="right", fontsize=10)
    ax.set_xticks([])
    ax.set_yticks([])
    return tidy(ax, grid=None)


def _pca(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Project on the two directions of most variance; signs are fixed, so that equal data look equal."""
    C = X - X.mean(axis=0)
    _, s, directions = np.linalg.svd(C, full_matrices=False)
    axes_ = np.zeros((2, X.shape[1]))
    axes_[: min(2, len(directions))] = directions[:2]
    axes_ *= np.where(axes_[np.arange(2), np.abs(axes_).argmax(axis=1)] < 0, -1.0, 1.0)[:, None]
    shares = np.zeros(2)
    shares[: min(2, len(s))] = (s**2)[:2]
    return C @ axes_.T, shares / max(float((s**2).sum()), 1e-300)


def _checked_places(places: Any, n: int) -> np.ndarray:
    out = np.asarray(places, dtype=np.float64)
    if out.shape != (n, 2):
        raise ValueError(f"map: project must give an array of shape {(n, 2)}; it gave {out.shape}.")
    return out


def _links(ax: Axes, X: np.ndarray, places: np.ndarray, neighbours: int) -> None:
    """Join each unit with its nearest by cosine in all dimensions."""
    from matplotlib.collections import LineCollection

    k = min(neighbours, len(X) - 1)
    if k < 1:
        return
    S = np.clip(X @ X.T, -1.0, 1.0)
    np.fill_diagonal(S, -np.inf)
    near = np.argsort(-S, axis=1, kind="stable")[:, :k]
    pairs = np.unique(
        np.sort(np.stack([np.repeat(np.arange(len(X)), k), near.ravel()], axis=1), axis=1), axis=0
    )
    alike = S[pairs[:, 0], pairs[:, 1]].clip(min=0)
    ax.add_collection(
        LineCollection(
            places[pairs].tolist(), colors=GREY, linewidths=0.3 + 2 * alike**2, alpha=0.45, zorder=1
        )
    )


def _points(ax: Axes, places: np.ndarray, n: int, picks: np.ndarray) -> None:
    """Draw pool, picks and query."""
    x, y = places.T
    rest = np.setdiff1d(np.arange(n), picks)
    edge: dict[str, Any] = {"edgecolors": "white"}
    ax.scatter(x[rest], y[rest], s=26, color=COLOURS[5], linewidths=0.6, zorder=2, **edge)
    ax.scatter(x[picks], y[picks], s=190, color=COLOURS[0], zorder=3, **edge)
    for number, at in enumerate(picks, 1):
        ax.annotate(str(number), places[at], ha="center", va="center", color="white", fontsize=8, zorder=4)
    ax.scatter(x[n:], y[n:], s=260, marker="*", color=COLOURS[3], zorder=5, **edge)
    ax.margins(0.08)


def _name_picks(ax: Axes, pool: Pool, picks: np.ndarray, docs: Any) -> None:
    """List the picks beside the picture, by number and title."""
    if docs is None or not len(picks):
        return
    units = pool.frame[pool.unit].astype(str).to_numpy(dtype=object)[picks]
    labels = unit_labels(units, docs)
    lines = [f"{number}  {labels[unit]}" for number, unit in enumerate(units[:20], 1)]
    beside = {"xycoords": "axes fraction", "va": "top", "fontsize": 8, "color": "#444444"}
    ax.annotate("\n".join(lines), (1.02, 1.0), **beside)  # type: ignore[arg-type]
