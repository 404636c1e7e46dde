"""The whole lambda axis: every selection that MMR can make, and the exact interval that yields it.

With the picks so far held fixed, each candidate's MMR score is a line in lambda, and the next pick is the
upper envelope of these lines. Splitting [0, 1] at the envelope's corners, pick by pick, finds every
selection; nothing is sampled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ragkit.diversity.mmr import warn_scales
from ragkit.diversity.order import small_products
from ragkit.diversity.pool import Pool, check_depths, make_pool, unit_names, warn_small_pool
from ragkit.frames import as_qrels, best_per_doc, id_array
from ragkit.similarity import normalize_rows

_ALL_PAIRS = 256  # up to this many candidates all cosines are made at once, else those of the picks
_THINNEST = 1e-12  # intervals thinner than this are rounding, not results


def mmr_path(
    run: Any,
    vectors: Any,
    *,
    top_k: int | None = 10,
    fetch_k: int | None = None,
    scale: str | None = "minmax",
    relevance: str = "score",
    queries: Any = None,
    qrels: Any = None,
    metrics: Any = (),
) -> pd.DataFrame:
    r"""Find every distinct MMR selection over lambda in [0, 1], each with its exact interval.

    For fixed earlier picks a candidate's score :math:`\lambda\,(rel + sim) - sim` is a line in lambda, so
    the next pick is the upper envelope of lines; the corners of the envelopes are the only values of lambda
    at which the result changes. The rows of a query are thus the exact trade-off between relevance and
    diversity, with no grid inside.

    Parameters
    ----------
    run : DataFrame
        Any run, over documents or chunks.
    vectors : VectorStore, mapping of id to vector, or array_like of shape (n, d)
        The units' vectors; an array is aligned with the rows of `run`.
    top_k : int or None, default=10
        How many are picked per query; None is all.
    fetch_k : int or None, default=None
        How many of the run's best are candidates; None is the whole run.
    scale : {"minmax", None}, default="minmax"
        As in :func:`mmr`.
    relevance : {"score", "cosine"}, default="score"
        As in :func:`mmr`.
    queries : mapping of query_id to vector, array_like, or queries that a VectorStore embeds, optional
        As in :func:`mmr`.
    qrels : DataFrame, optional
        Judgements, for `metrics`.
    metrics : str, callable or list of them, default=()
        What :func:`ragkit.evaluate` takes, such as ``"ndcg@10"``: one column each, NaN for queries without
        judgements. Chunks count as their documents.

    Returns
    -------
    DataFrame
        A path: ``query_id, lambda_from, lambda_to, unit_ids, relevance, diversity``, then the metrics. A
        query's intervals tile [0, 1]; at an edge itself (and at 1, where scores tie) two selections are
        equally good and the tie rule of :func:`mmr` decides; ``unit_ids`` are in the order of picking;
        ``relevance`` is their mean scaled relevance and ``diversity`` their intra-list distance, the mean of
        ``1 - cosine`` over pairs (0 for fewer than two).

    Raises
    ------
    ValueError
        If a unit has no vector, `fetch_k` is below `top_k`, or metrics need judgements and get none.

    See Also
    --------
    mmr : The selection at one lambda.
    lambda_for : When is one unit selected, and what keeps it out elsewhere?

    Examples
    --------
    The copy is picked second while ``.8 l - (1 - l) > 0``, that is for lambda above 1 / 1.8.

    >>> run = pd.DataFrame({"query_id": "q", "doc_id": ["a", "copy", "other"], "score": [1.0, 0.9, 0.5]})
    >>> vectors = {"a": [1, 0], "copy": [1, 0], "other": [0, 1]}
    >>> path = mmr_path(run, vectors, top_k=2)
    >>> path[["lambda_from", "lambda_to", "unit_ids", "diversity"]].round(4).values.tolist()
    [[0.0, 0.5556, ('a', 'other'), 1.0], [0.5556, 1.0, ('a', 'copy'), 0.0]]
    """
    top_k, fetch_k = check_depths(top_k, fetch_k)
    names = [metrics] if isinstance(metrics, str) or callable(metrics) else list(metrics)
    pool = make_pool(
        run, vectors, top_k=top_k, fetch_k=fetch_k, scale=scale, relevance=relevance, queries=queries
    )
    warn_small_pool(pool, top_k, "mmr_path")
    if scale is None and relevance == "score":
        warn_scales(pool)
    paths = [(first, rel, mmr_intervals(rel, X, top_k, pool.tolerance)) for first, rel, X in pool.queries()]
    frame = _path_frame(pool, paths)
    if not names:
        return frame
    found = [(first, intervals) for first, _, intervals in paths]
    return frame.assign(**score_intervals(pool, found, qrels, names))


class Intervals(NamedTuple):
    """All selections of one query.

    Attributes
    ----------
    edges : ndarray of float, shape (m + 1,)
        Interval ``i`` is ``edges[i]`` to ``edges[i + 1]``.
    picks : ndarray of int, shape (m, k)
        Rows picked in each interval, in order.
    diversity : ndarray of float, shape (m,)
        Mean of 1 - cosine over the pairs of picks.
    """

    edges: np.ndarray
    picks: np.ndarray
    diversity: np.ndarray


def mmr_intervals(
    relevance: np.ndarray, vectors: np.ndarray, top_k: int | None = None, tolerance: float = 1e-12
) -> Intervals:
    """Split [0, 1] into the intervals of lambda of one query: the arrays below :func:`mmr_path`.

    Parameters
    ----------
    relevance : ndarray of float, shape (n,)
        Relevance of each candidate, in the order of the ranking.
    vectors : ndarray of float, shape (n, d)
        Their vectors.
    top_k : int or None, default=None
        How many to pick; None is all.
    tolerance : float, default=1e-12
        Relative distance under which two scores are a tie.

    Returns
    -------
    Intervals
        Edges, picks and diversity.

    Examples
    --------
    >>> found = mmr_intervals(np.array([1.0, 0.8, 0.0]), np.array([[1.0, 0], [1, 0], [0, 1]]), 2)
    >>> found.edges.round(4).tolist(), found.picks.tolist()
    ([0.0, 0.5556, 1.0], [[0, 2], [0, 1]])
    """
    rel = np.asarray(relevance, dtype=np.float64)
    n = len(rel)
    k = n if top_k is None else min(top_k, n)
    tol = tolerance * max(1.0, np.abs(rel).max(initial=0.0))
    edges, picks = np.array([0.0, 1.0]), np.zeros((1, k), dtype=np.int64)
    if k == 0:
        return Intervals(edges, picks, np.zeros(1))
    cosines = _cosine_rows(normalize_rows(np.asarray(vectors, dtype=np.float64)))
    picks[:, 0] = np.argmax(rel >= rel.max() - tol)
    penalty, pair_sum = cosines(picks[:, 0]).copy(), np.zeros(1)
    for j in range(1, k):
        parent, edges, pick = _split(rel, penalty, picks[:, :j], edges, tol)
        picks = picks[parent]
        picks[:, j] = pick
        rows = cosines(pick)
        pair_sum = pair_sum[parent] + np.take_along_axis(rows, picks[:, :j], axis=1).sum(axis=1)
        if j + 1 < k:
            penalty = np.maximum(penalty[parent], rows)
    pairs = k * (k - 1) / 2
    return Intervals(edges, picks, 1.0 - pair_sum / pairs if pairs else np.zeros(len(picks)))


def mmr_sweep(
    relevance: np.ndarray,
    vectors: np.ndarray,
    lambdas: np.ndarray,
    top_k: int | None = None,
    tolerance: float = 1e-12,
) -> np.ndarray:
    """Pick by MMR at many lambdas at once; every cosine is computed once for all of them.

    Parameters
    ----------
    relevance : ndarray of float, shape (n,)
        Relevance of each candidate, in the order of the ranking.
    vectors : ndarray of float, shape (n, d)
        Their vectors.
    lambdas : ndarray of float, shape (m,)
        Values in [0, 1].
    top_k : int or None, default=None
        How many to pick; None is all.
    tolerance : float, default=1e-12
        Relative distance under which two scores are a tie.

    Returns
    -------
    ndarray of int, shape (m, k)
        Rows picked at each lambda, in order, as :func:`mmr_order` picks them.

    Examples
    --------
    >>> mmr_sweep(np.array([1.0, 0.8, 0.0]), np.array([[1.0, 0], [1, 0], [0, 1]]), [0, 0.5, 0.6], 2).tolist()
    [[0, 2], [0, 2], [0, 1]]
    """
    rel, at = np.asarray(relevance, dtype=np.float64), np.asarray(lambdas, dtype=np.float64)[:, None]
    n = len(rel)
    k = n if top_k is None else min(top_k, n)
    picks = np.zeros((len(at), k), dtype=np.int64)
    if k == 0 or not len(at):
        return picks
    cosines = _cosine_rows(normalize_rows(np.asarray(vectors, dtype=np.float64)))
    slack = tolerance * max(1.0, np.abs(rel).max())
    gain, score, each = at * rel, np.broadcast_to(rel, (len(at), n)), np.arange(len(at))
    penalty = np.full(gain.shape, -np.inf)
    for j in range(k):
        pick = np.argmax(score >= score.max(axis=1, keepdims=True) - slack, axis=1)
        picks[:, j] = pick
        gain[each, pick] = -np.inf
        np.maximum(penalty, cosines(pick), out=penalty)
        score = gain - (1 - at) * penalty
    return picks


def _cosine_rows(X: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Give a function from row numbers to their cosines with all rows, each made once."""
    if len(X) <= _ALL_PAIRS:
        G = np.clip(X @ X.T, -1.0, 1.0)
        return lambda rows: G[rows]
    place, count = np.full(len(X), -1), 0
    known = np.empty((64, len(X)))

    def rows_of(rows: np.ndarray) -> np.ndarray:
        nonlocal known, count
        new = np.unique(rows[place[rows] < 0])
        if len(new):
            P, first, count = X[new], count, count + len(new)
            if count > len(known):
                known = np.concatenate([known[:first], np.empty((count, len(X)))])
            for part in small_products(len(new), len(X)):
                np.matmul(P, X[part].T, out=known[first:count, part])
            np.clip(known[first:count], -1.0, 1.0, out=known[first:count])
            place[new] = np.arange(first, count)
        return known[place[rows]]

    return rows_of


def _split(
    rel: np.ndarray, penalty: np.ndarray, picks: np.ndarray, edges: np.ndarray, tol: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Find the next pick in every interval; give the parent of each new interval, its edges and its pick."""
    low, high = edges[:-1, None], edges[1:, None]
    at_low, at_high = low * rel - (1 - low) * penalty, high * rel - (1 - high) * penalty
    each = np.arange(len(picks))
    at_low[each[:, None], picks] = at_high[each[:, None], picks] = -np.inf
    # The winner just right of the lower edge: among equals there, the one that is best at the upper edge.
    level = np.where(at_low >= at_low.max(axis=1, keepdims=True) - tol, at_high, -np.inf)
    winner = np.argmax(level >= level.max(axis=1, keepdims=True) - tol, axis=1)
    # Lines are straight, so only one that ends above the winner can pass it.
    rival = at_high > at_high[each, winner][:, None] + tol
    parents: list[int] = []
    starts: list[float] = []
    pick: list[int] = []
    contested = rival.any(axis=1)
    for i in range(len(picks)):
        found = [(float(edges[i]), int(winner[i]))]
        if contested[i]:
            lines = np.r_[winner[i], np.flatnonzero(rival[i])]
            found = _envelope(rel[lines], penalty[i, lines], lines, float(edges[i]), float(edges[i + 1]), tol)
        parents += [i] * len(found)
        starts += [at for at, _ in found]
        pick += [line for _, line in found]
    return np.array(parents), np.array([*starts, 1.0]), np.array(pick)


def _envelope(
    rel: np.ndarray, penalty: np.ndarray, lines: np.ndarray, low: float, high: float, tol: float
) -> list[tuple[float, int]]:
    """Walk the upper envelope of ``l * (rel + penalty) - penalty`` over (low, high), beginning on line 0."""
    slope = rel + penalty
    at, current = low, 0
    found = [(low, int(lines[0]))]
    while True:
        steeper = np.flatnonzero(slope > slope[current] + tol)
        if not len(steeper):
            return found
        cross = (penalty[steeper] - penalty[current]) / (slope[steeper] - slope[current])
        cross = np.maximum(cross, at)
        at = float(cross.min())
        if at >= high - _THINNEST:
            return found
        # Several lines through one corner: the steepest is on top behind it; among equals the first.
        meeting = steeper[cross <= at + _THINNEST]
        steepest = meeting[slope[meeting] >= slope[meeting].max() - tol]
        current = int(steepest[np.argmin(lines[steepest])])
        if at <= found[-1][0] + _THINNEST:
            found[-1] = (found[-1][0], int(lines[current]))
        else:
            found.append((at, int(lines[current])))


def _path_frame(pool: Pool, paths: list[tuple[int, np.ndarray, Intervals]]) -> pd.DataFrame:
    """Put the intervals of all queries into one path frame."""
    counts = [len(found.picks) for _, _, found in paths]
    firsts = np.repeat(np.array([first for first, _, _ in paths], dtype=np.int64), counts)
    unit_ids = [
        tuple(names)
        for first, _, found in paths
        for names in id_array(unit_names(pool, (first + found.picks).ravel())).reshape(found.picks.shape)
    ]
    column = pd.Series([None] * len(unit_ids), dtype=object)
    column[:] = unit_ids

    def join(parts: list[np.ndarray]) -> np.ndarray:
        return np.concatenate([np.empty(0), *parts])

    return pd.DataFrame(
        {
            "query_id": pool.frame["query_id"].array.take(firsts),
            "lambda_from": join([found.edges[:-1] for _, _, found in paths]),
            "lambda_to": join([found.edges[1:] for _, _, found in paths]),
            "unit_ids": column,
            "relevance": join([_mean_relevance(rel, found.picks) for _, rel, found in paths]),
            "diversity": join([found.diversity for _, _, found in paths]),
        }
    )


def _mean_relevance(rel: np.ndarray, picks: np.ndarray) -> np.ndarray:
    return rel[picks].mean(axis=1) if picks.shape[1] else np.zeros(len(picks))


def score_intervals(
    pool: Pool, paths: list[tuple[int, Intervals]], qrels: Any, metrics: list[Any]
) -> dict[str, np.ndarray]:
    """Score every selection as if it were a query of its own; NaN where the query has no judgements.

    Parameters
    ----------
    pool : Pool
        The candidates.
    paths : list of (int, Intervals)
        Each query's first row and its selections.
    qrels : DataFrame or None
        Judgements.
    metrics : list
        What :func:`ragkit.evaluate` takes.

    Returns
    -------
    dict of str to ndarray
        One value per selection, by the metric's name.
    """
    from ragkit.metrics import evaluate

    counts = [len(found.picks) for _, found in paths]
    number = np.arange(sum(counts)).astype(str).astype(object)
    run, vectors = _selections_as_run(pool, paths, number)
    if qrels is not None:
        firsts = np.repeat(np.array([first for first, _ in paths], dtype=np.int64), counts)
        owner = pool.frame["query_id"].astype(object).to_numpy()[firsts]
        each = pd.DataFrame({"query_id": owner, "interval": number}, dtype=object)
        qrels = each.merge(as_qrels(qrels).astype({"query_id": object}), on="query_id")
        qrels = qrels.drop(columns="query_id").rename(columns={"interval": "query_id"})
        run = run[run["query_id"].isin(qrels["query_id"])]
    scores = evaluate(run, qrels, metrics=metrics, vectors=vectors)
    values = {
        str(name): rows.set_index("query_id")["value"].reindex(number).to_numpy()
        for name, rows in scores.groupby("metric", sort=False)
    }
    labels = [getattr(metric, "__name__", str(metric).strip()) for metric in metrics]
    return {label: values.get(label, np.full(len(number), np.nan)) for label in labels}


def _selections_as_run(
    pool: Pool, paths: list[tuple[int, Intervals]], number: np.ndarray
) -> tuple[pd.DataFrame, Any]:
    """Make a run in which every selection is a query, and the vectors of its units."""
    rows = [first + found.picks for first, found in paths]
    depth = [picks.shape[1] for picks in rows for _ in picks]
    flat = np.concatenate([np.empty(0, dtype=np.int64), *(picks.ravel() for picks in rows)])
    run = pool.frame[list(dict.fromkeys([pool.unit, "doc_id"]))].iloc[flat].reset_index(drop=True)
    run.insert(0, "query_id", np.repeat(number, depth))
    run = run.assign(rank=np.concatenate([np.empty(0, int), *(np.arange(1, k + 1) for k in depth)]))
    if pool.unit == "chunk_id":  # judgements are of documents
        return best_per_doc(run), None
    return run, dict(zip(pool.frame[pool.unit], pool.vectors[pool.codes]))
