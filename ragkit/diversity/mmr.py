"""Maximal marginal relevance: relevant, and unlike what was picked before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ragkit.diversity.order import mmr_order
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
