"""Maximal marginal relevance: relevant, and unlike what was picked before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ragkit.diversity.pool import (
    Pool,
    check_depths,
    make_pool,
    picked_frame,
    unit_names,
    warn_small_pool,
)
from ragkit.frames import check_number, warn
from ragkit.similarity import normalize_rows

_BLOCK = 256
_FEW = 4096  # up to this many candidates the plain loop is faster than the lazy one
_ROWS = 4096


def mmr(
    run: Any,
    vectors: Any,
    *,
    lambda_: float = 0.5,
    top_k: int | None = 10,
    fetch_k: int | None = None,
    scale: str | None = "minmax",
    relevance: str = "score",
    queries: Any = None,
) -> pd.DataFrame:
    r"""Rerank a run by maximal marginal relevance, with the whole story of each pick.

    The most relevant unit comes first, at every `lambda_`. Each next pick has the highest
    :math:`\lambda\,rel(d) - (1 - \lambda) \max_{s \in S} \cos(d, s)`, where S are the picks so far; ties go
    to the better previous rank. The scores need not fall: ``rank`` is the order.

    Parameters
    ----------
    run : DataFrame
        Any run, over documents or chunks, of one query or many.
    vectors : VectorStore, mapping of id to vector, or array_like of shape (n, d)
        The units' vectors; an array is aligned with the rows of `run`.
    lambda_ : float, default=0.5
        1 is relevance only, 0 is novelty only.
    top_k : int or None, default=10
        How many come back per query; None is all.
    fetch_k : int or None, default=None
        How many of the run's best are candidates; None is the whole run.
    scale : {"minmax", None}, default="minmax"
        ``"minmax"`` maps each query's relevance to [0, 1], so that `lambda_` means the same after every
        retriever; None takes it as it is, which is right for cosines only.
    relevance : {"score", "cosine"}, default="score"
        ``"score"`` is the run's own score; ``"cosine"`` is the cosine with the query's vector.
    queries : mapping of query_id to vector, array_like, or queries that a VectorStore embeds, optional
        Needed for ``relevance="cosine"``; an array is aligned with the queries of the run.

    Returns
    -------
    DataFrame
        A run with the ledger ``mmr_relevance, max_similarity, nearest_selected, previous_rank,
        previous_score``; ``score = lambda_ * mmr_relevance - (1 - lambda_) * max_similarity``. The first
        pick of a query has ``max_similarity`` 0 and no ``nearest_selected``.

    Raises
    ------
    ValueError
        If `lambda_` is outside [0, 1], `fetch_k` is below `top_k`, a unit has no vector, or a query lists
        a unit twice.

    Warns
    -----
    RetrievalWarning
        If the pool is no larger than `top_k`, or if, with ``scale=None``, relevance and similarity live on
        scales that cannot be mixed.

    See Also
    --------
    mmr_path : Every distinct selection over `lambda_`, with its exact interval.
    diversify : Other ways to diversify.

    References
    ----------
    .. [1] Carbonell, Goldstein. The use of MMR, diversity-based reranking for reordering documents and
       producing summaries. SIGIR 1998.

    Examples
    --------
    Two copies and something else: the copy waits.

    >>> run = pd.DataFrame({"query_id": "q", "doc_id": ["a", "copy", "other"], "score": [1.0, 0.9, 0.5]})
    >>> vectors = {"a": [1, 0], "copy": [1, 0], "other": [0, 1]}
    >>> picked = mmr(run, vectors, lambda_=0.5, top_k=2)
    >>> picked[["doc_id", "rank", "score", "max_similarity", "nearest_selected"]].values.tolist()
    [['a', 1, 0.5, 0.0, nan], ['other', 2, 0.0, 0.0, 'a']]
    """
    lambda_ = check_lambda(lambda_)
    top_k, fetch_k = check_depths(top_k, fetch_k)
    pool = make_pool(
        run, vectors, top_k=top_k, fetch_k=fetch_k, scale=scale, relevance=relevance, queries=queries
    )
    if lambda_ < 1:
        warn_small_pool(pool, top_k, "mmr")
    if scale is None and relevance == "score" and 0 < lambda_ < 1:
        warn_scales(pool)
    return _pick_all(pool, lambda_, top_k)


def check_lambda(lambda_: Any) -> float:
    """Check lambda: a number in [0, 1].

    Parameters
    ----------
    lambda_ : float
        The value given.

    Returns
    -------
    float
        The value.
    """
    return check_number("lambda_", lambda_, low=0, high=1, meaning="1 = relevance only, 0 = novelty only")


def _pick_all(pool: Pool, lambda_: float, top_k: int | None) -> pd.DataFrame:
    rows, scores, relevance, similarity, nearest = [], [], [], [], []
    for first, rel, X in pool.queries():
        picks, score, max_sim, near = mmr_order(rel, X, lambda_, top_k, tolerance=pool.tolerance)
        rows.append(first + picks)
        scores.append(score)
        relevance.append(rel[picks])
        similarity.append(max_sim)
        nearest.append(np.where(near < 0, -1, first + near))
    ledger = {
        "mmr_relevance": join(relevance),
        "max_similarity": join(similarity),
        "nearest_selected": unit_names(pool, join(nearest, np.int64)),
    }
    return picked_frame(pool, join(rows, np.int64), join(scores), ledger)


def join(parts: list[np.ndarray], dtype: Any = np.float64) -> np.ndarray:
    """Concatenate the queries' arrays; no query gives an empty one."""
    return np.concatenate(parts) if parts else np.empty(0, dtype=dtype)


def mmr_order(
    relevance: np.ndarray,
    vectors: np.ndarray,
    lambda_: float = 0.5,
    top_k: int | None = None,
    *,
    tolerance: float = 1e-12,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Order the candidates of one query by MMR: the arrays below :func:`mmr`.

    Parameters
    ----------
    relevance : ndarray of float, shape (n,)
        Relevance of each candidate, in the order of the ranking (ties go to the earlier row).
    vectors : ndarray of float, shape (n, d)
        Their vectors, of any length.
    lambda_ : float, default=0.5
        1 is relevance only, 0 is novelty only.
    top_k : int or None, default=None
        How many to pick; None is all.
    tolerance : float, default=1e-12
        Relative distance under which two scores are a tie.

    Returns
    -------
    picks : ndarray of int, shape (m,)
        Rows in the order in which they were picked.
    scores : ndarray of float, shape (m,)
        MMR value at the moment of picking.
    max_similarity : ndarray of float, shape (m,)
        Highest cosine with an earlier pick; 0 for the first.
    nearest : ndarray of int, shape (m,)
        Row of that earlier pick; -1 for the first.

    Examples
    --------
    >>> picks, scores, similarity, nearest = mmr_order(
    ...     np.array([1.0, 0.9, 0.5]), np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), 0.5, 2)
    >>> picks.tolist(), scores.tolist(), nearest.tolist()
    ([0, 2], [0.5, 0.25], [-1, 0])
    """
    inverse, V = _inverse_lengths(np.asarray(vectors))
    return _order(np.asarray(relevance, dtype=np.float64), V, inverse, lambda_, top_k, tolerance)


def mmr_of_query(
    query: np.ndarray, vectors: np.ndarray, lambda_: float = 0.5, top_k: int | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Order candidates by MMR with cosines on both sides: the textbook, from a query's vector.

    Parameters
    ----------
    query : ndarray of float, shape (d,)
        The query's vector.
    vectors : ndarray of float, shape (n, d)
        The candidates' vectors.
    lambda_ : float, default=0.5
        1 is relevance only, 0 is novelty only.
    top_k : int or None, default=None
        How many to pick; None is all.

    Returns
    -------
    picks, scores, max_similarity, nearest : ndarray, shape (m,)
        As :func:`mmr_order` gives them; a candidate's relevance is its cosine with the query.

    Examples
    --------
    >>> mmr_of_query(np.array([1.0, 0]), np.array([[0.0, 1], [1, 0.05], [-1, 0]]), 0.0)[0].tolist()
    [1, 2, 0]
    """
    inverse, V = _inverse_lengths(np.asarray(vectors))
    q = normalize_rows(np.asarray(query, dtype=np.float64)[None, :])
    relevance = _highest_cosine(V, inverse, np.arange(len(V)), q)
    return _order(relevance, V, inverse, lambda_, top_k, 1e-12)


def _inverse_lengths(V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Give 1 / length of each vector (0 for a zero vector), and the vectors, scaled if squares overflow."""
    squares = np.einsum("ij,ij->i", V, V, dtype=None if V.dtype == np.float64 else np.float64)
    if len(V) and not 1e-60 < squares.min() <= squares.max() < 1e60:
        V = normalize_rows(V.astype(np.float64))
        return np.asarray(V.any(axis=1), dtype=np.float64), V
    inverse: np.ndarray = 1.0 / np.sqrt(squares)
    return inverse, V


def _order(
    rel: np.ndarray, V: np.ndarray, inverse: np.ndarray, lambda_: float, top_k: int | None, tolerance: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Pick, then look up in one matrix product which earlier pick was nearest to each."""
    n = len(rel)
    k = n if top_k is None else min(top_k, n)
    if k == 0:
        none = np.empty(0)
        return none.astype(np.int64), none, none.copy(), none.astype(np.int64)
    slack = tolerance * max(1.0, float(np.abs(rel).max()))
    pick = _pick_from_few if n <= _FEW else _pick_from_many
    picks, P = pick(rel, V, inverse, lambda_, k, slack)
    similarity, place = nearest_before(P)
    return (
        picks,
        lambda_ * rel[picks] - (1 - lambda_) * similarity,
        similarity,
        np.where(place < 0, -1, picks[place]),
    )


class _Penalties:
    """Highest cosine of each candidate with the picks, in float64, brought up to date on demand."""

    def __init__(self, V: np.ndarray, inverse: np.ndarray, k: int) -> None:
        self.V, self.inverse = V, inverse
        self.picks = np.empty(k, dtype=np.int64)
        self.count = 0
        self._P = np.empty((k, V.shape[1]))
        self._made = 0
        self._highest = np.full(len(V), -np.inf)
        self._seen = np.zeros(len(V), dtype=np.int64)  # how many picks each row knows

    def pick(self, row: int) -> None:
        """Add a pick."""
        self.picks[self.count] = row
        self.count += 1

    def P(self) -> np.ndarray:
        """The picks' vectors, of length 1."""
        if self._made < self.count:
            new = self.picks[self._made : self.count]
            self._P[self._made : self.count] = self.V[new] * self.inverse[new, None]
            self._made = self.count
        return self._P[: self.count]

    def of(self, rows: np.ndarray) -> np.ndarray:
        """Bring `rows` up to date and give their penalties."""
        seen = self._seen[rows]
        stale = rows[seen < self.count]
        if len(stale):
            missed = self.P()[seen.min() :]
            cosines = _highest_cosine(self.V, self.inverse, stale, missed)
            self._highest[stale] = np.maximum(self._highest[stale], cosines)
            self._seen[stale] = self.count
        return self._highest[rows]


def _pick_from_few(
    rel: np.ndarray, V: np.ndarray, inverse: np.ndarray, lambda_: float, k: int, slack: float
) -> tuple[np.ndarray, np.ndarray]:
    """Pick k rows with a running minimum of all scores; give them and their vectors of length 1.

    The scores are kept in float32, which halves the memory to read; rows that lie within the rounding
    error of the best are compared in float64.
    """
    exact = _Penalties(V, inverse, k)
    X = np.multiply(V, inverse[:, None], dtype=np.float32, casting="same_kind")
    gain, score = lambda_ * rel, np.full(len(rel), np.inf, dtype=np.float32)
    rough, weight = gain.astype(np.float32), np.float32(lambda_ - 1)
    # Rounding of a product of d terms, twice, and of the sum that follows.
    error = 2.0**-23 * ((1 - lambda_) * (V.shape[1] + 16) + 4 * float(np.abs(gain).max()) + 4)
    i = int(np.argmax(rel >= rel.max() - slack))  # the most relevant, at lambda 0 too
    exact.pick(i)
    for _ in range(1, k):
        with np.errstate(invalid="ignore"):  # BLAS may raise the flag for lanes that it loads and never uses
            step = X @ (X[i] * weight)
        step += rough
        np.minimum(score, step, out=score)
        score[i] = -np.inf  # never again; an infinite similarity would be 0 * inf at lambda 1
        near = np.flatnonzero(score >= score.max() - error)
        i = int(near[0])
        if len(near) > 1:
            value = gain[near] - (1 - lambda_) * exact.of(near)
            i = int(near[np.argmax(value >= value.max() - slack)])  # the first among equals
        exact.pick(i)
    return exact.picks, exact.P()


def _pick_from_many(
    rel: np.ndarray, V: np.ndarray, inverse: np.ndarray, lambda_: float, k: int, slack: float
) -> tuple[np.ndarray, np.ndarray]:
    """Pick as `_pick_from_few` does, but update only rows that may win.

    A running maximum only grows, so a score that is out of date bounds the true one from above: rows whose
    bound lies below the best true score need no update (lazy greedy, Minoux 1978).
    """
    exact = _Penalties(V, inverse, k)
    gain, bound = lambda_ * rel, np.zeros(len(rel))
    i = int(np.argmax(rel >= rel.max() - slack))
    exact.pick(i)
    last, fall = 0.0, 0.0
    for j in range(1, k):
        bound[i] = -np.inf
        # Guess how far the best score falls; a wrong guess costs another round, never the result.
        level = last - fall - slack if j > 1 else -np.inf
        while True:
            rows = np.flatnonzero((bound >= level) & (bound > -np.inf))
            bound[rows] = value = gain[rows] - (1 - lambda_) * exact.of(rows)
            best = value.max(initial=-np.inf)
            if len(rows) and best - slack >= level:
                break
            level = (best if len(rows) else bound.max()) - slack
        i = int(rows[np.argmax(value >= best - slack)])
        exact.pick(i)
        fall = fall / 2 + max(last - best, 0.0) if j > 1 else 0.0
        last = best
    return exact.picks, exact.P()


def _highest_cosine(V: np.ndarray, inverse: np.ndarray, rows: np.ndarray, P: np.ndarray) -> np.ndarray:
    """Give the highest cosine of each of `rows` with the unit vectors P, in blocks and in float64."""
    out = np.empty(len(rows))
    for first in range(0, len(rows), _ROWS):
        part = slice(first, first + _ROWS)
        block = (V[part] if len(rows) == len(V) else V[rows[part]]).astype(np.float64, copy=False)
        out[part] = block @ P[0] if len(P) == 1 else (block @ P.T).max(axis=1)
    return out * inverse[rows]


def nearest_before(P: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Give each row's highest cosine with an earlier row, and which one that is; 0 and -1 for the first."""
    k = len(P)
    similarity, place = np.zeros(k), np.full(k, -1, dtype=np.int64)
    for first in range(0, k, _BLOCK):  # in blocks: no k-by-k matrix when all of a large pool is wanted
        last = min(first + _BLOCK, k)
        S = P[first:last] @ P[:last].T
        S[np.arange(first, last)[:, None] <= np.arange(last)] = -np.inf
        similarity[first:last] = best = S.max(axis=1)
        place[first:last] = np.argmax(best[:, None] - 1e-12 <= S, axis=1)
    similarity[:1], place[:1] = 0.0, -1
    return np.clip(similarity, -1.0, 1.0), place


def warn_scales(pool: Pool) -> None:
    """Warn when relevance is no cosine: too large beside similarities, or too small to matter.

    Parameters
    ----------
    pool : Pool
        The candidates.
    """
    largest = float(np.abs(pool.relevance).max(initial=0.0))
    if largest > 1 + 1e-6:
        which, effect = "far above", "the similarity penalty hardly counts"
    elif 0 < largest < 0.07 and (alike := _usual_similarity(pool)) > 5 * largest:
        which, effect = f"far below (here about {alike:.3g})", "relevance hardly counts"
    else:
        return
    warn(
        f"mmr with scale=None mixes scores up to {largest:.3g} with cosines, which lie in [-1, 1]: relevance "
        f'is {which} similarity, so {effect}; use scale="minmax", or relevance="cosine" with queries.'
    )


def _usual_similarity(pool: Pool) -> float:
    """Highest cosine with the best unit of a query, in the middle of all queries."""
    alike = [
        float(np.max(X[1:] @ X[0]))
        for X in (normalize_rows(V[:50].astype(np.float64)) for _, _, V in pool.queries())
        if len(X) > 1
    ]
    return float(np.median(alike)) if alike else 0.0
