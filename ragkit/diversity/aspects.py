"""Aspects of a query: how likely each candidate satisfies each of them, for xQuAD."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ragkit.diversity.pool import Pool
from ragkit.frames import as_ids, check_frame, some
from ragkit.similarity import as_matrix, normalize_rows

#: P(d|i) with one row per aspect, P(i|q), and the aspects' names.
Aspects = tuple[np.ndarray, np.ndarray, list[str]]


def aspects_by_query(
    pool: Pool, aspects: Any, vectors: Any, random_state: int
) -> Callable[[int, np.ndarray, np.ndarray], Aspects]:
    """Give a function from a query's first row, relevance and unit vectors to its aspects.

    Parameters
    ----------
    pool : Pool
        The candidates.
    aspects : int, mapping or DataFrame
        As in :func:`ragkit.diversify`.
    vectors : object
        The user's `vectors`; a store embeds sub-queries.
    random_state : int
        Seed of the clustering.

    Returns
    -------
    callable
        ``(first, rel, X) -> (P, weight, names)``.
    """
    if isinstance(aspects, (int, np.integer)) and not isinstance(aspects, bool):
        if aspects < 1:
            raise ValueError(f"aspects must be a number of clusters >= 1; got {aspects}.")
        return lambda first, rel, X: _from_clusters(rel, X, int(aspects), random_state)
    if isinstance(aspects, Mapping):
        return _from_vectors(pool, aspects)
    check_frame(aspects, ["query_id"], "aspects")
    if "probability" in aspects.columns:
        return _from_probabilities(pool, aspects)
    check_frame(aspects, ["query_id", "text"], "aspects without probabilities")
    return _from_sub_queries(pool, aspects, vectors)


def _from_clusters(rel: np.ndarray, X: np.ndarray, m: int, random_state: int) -> Aspects:
    """Cluster the pool: a unit satisfies its own cluster, as far as it lies near the centre."""
    from sklearn.cluster import KMeans

    m = min(m, len(np.unique(X, axis=0)))
    label = KMeans(m, n_init=4, random_state=random_state).fit_predict(X) if m > 1 else np.zeros(len(X), int)
    centres = normalize_rows(np.array([X[label == c].mean(axis=0) for c in range(m)]))
    member = label == np.arange(m)[:, None]
    P = np.where(member, np.clip(centres @ X.T, 0.0, 1.0), 0.0)
    weight = np.array([rel[label == c].clip(min=0).sum() for c in range(m)])
    order = np.argsort([np.flatnonzero(row)[0] for row in member])  # named by their best-ranked members
    return P[order], _shares(weight[order]), [f"cluster {c + 1}" for c in range(m)]


def _shares(weight: np.ndarray) -> np.ndarray:
    """Scale weights to sum 1; equal ones where all are 0."""
    total = weight.sum()
    return weight / total if total > 0 else np.full(len(weight), 1 / max(len(weight), 1))


def _from_vectors(pool: Pool, aspects: Mapping) -> Callable[[int, np.ndarray, np.ndarray], Aspects]:
    given = dict(zip(as_ids(list(aspects), "query_id"), aspects.values()))
    _check_queries(pool, set(given))

    def of(first: int, rel: np.ndarray, X: np.ndarray) -> Aspects:
        query = pool.frame["query_id"].iloc[first]
        A = as_matrix(given[query], f"aspects of query {query!r}").astype(np.float64)
        if A.shape[1] != X.shape[1]:
            raise ValueError(
                f"aspects of query {query!r} have {A.shape[1]} numbers, the units' vectors {X.shape[1]}; "
                "use the same embedder for both."
            )
        return _cosines(A, X), _shares(np.ones(len(A))), [f"aspect {n + 1}" for n in range(len(A))]

    return of


def _cosines(A: np.ndarray, X: np.ndarray) -> np.ndarray:
    return np.clip(normalize_rows(A) @ X.T, 0.0, 1.0)


def _from_sub_queries(
    pool: Pool, aspects: pd.DataFrame, vectors: Any
) -> Callable[[int, np.ndarray, np.ndarray], Aspects]:
    """Embed sub-queries with the store; P(d|i) is the cosine, at least 0."""
    if not callable(getattr(vectors, "query_vectors", None)):
        raise TypeError(
            "aspects given as text need a VectorStore with an embedder as vectors; "
            "give a dict of query_id to the sub-queries' vectors instead."
        )
    aspects = aspects.reset_index(drop=True).assign(query_id=as_ids(aspects["query_id"], "query_id"))
    _check_queries(pool, set(aspects["query_id"]))
    texts = pd.DataFrame({"query_id": aspects.index.astype(str), "text": aspects["text"].astype(object)})
    A = np.asarray(vectors.query_vectors(texts), dtype=np.float64)
    rows = {str(q): index.to_numpy() for q, index in aspects.groupby("query_id", sort=False).groups.items()}
    names = aspects["aspect" if "aspect" in aspects.columns else "text"].astype(str).to_numpy(dtype=object)
    weight = _weights(aspects)

    def of(first: int, rel: np.ndarray, X: np.ndarray) -> Aspects:
        mine = rows[pool.frame["query_id"].iloc[first]]
        return _cosines(A[mine], X), _shares(weight[mine]), list(names[mine])

    return of


def _from_probabilities(
    pool: Pool, aspects: pd.DataFrame
) -> Callable[[int, np.ndarray, np.ndarray], Aspects]:
    """Read P(d|i) from a table of ``query_id, aspect, unit, probability``."""
    check_frame(aspects, ["query_id", "aspect", pool.unit, "probability"], "aspects")
    p = aspects["probability"].to_numpy(dtype=np.float64)
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError(f"aspects' probability must lie in [0, 1]; got {p[~((p >= 0) & (p <= 1))][0]:g}.")
    table = pd.DataFrame(
        {
            "query_id": as_ids(aspects["query_id"], "query_id").astype(object),
            "aspect": aspects["aspect"].astype(object).map(str).to_numpy(),
            "unit": as_ids(aspects[pool.unit], pool.unit).astype(object),
            "p": p,
            "weight": _weights(aspects),
        }
    )
    _check_queries(pool, set(table["query_id"]))
    by_query = dict(iter(table.groupby("query_id", sort=False)))
    units = pool.frame[pool.unit].astype(object).to_numpy()

    def of(first: int, rel: np.ndarray, X: np.ndarray) -> Aspects:
        mine = by_query[pool.frame["query_id"].iloc[first]]
        codes, names = pd.factorize(mine["aspect"])
        column = pd.Index(units[first : first + len(rel)]).get_indexer(mine["unit"])
        P, weight = np.zeros((len(names), len(rel))), np.zeros(len(names))
        P[codes[column >= 0], column[column >= 0]] = mine["p"].to_numpy()[column >= 0]
        weight[codes] = mine["weight"]
        return P, _shares(weight), list(names)

    return of


def _weights(aspects: pd.DataFrame) -> np.ndarray:
    """Read P(i|q) from a column ``weight``; 1 without it."""
    if "weight" not in aspects.columns:
        return np.ones(len(aspects))
    weight = aspects["weight"].to_numpy(dtype=np.float64)
    if not (weight >= 0).all():
        raise ValueError("aspects' weight must be numbers >= 0.")
    return weight


def _check_queries(pool: Pool, known: set[str]) -> None:
    """Raise unless there are aspects for every query of the run."""
    wanted = pd.unique(pool.frame["query_id"].astype(object))
    missing = [query for query in wanted if query not in known]
    if missing:
        raise ValueError(
            f"aspects lacks {len(missing)} of the run's queries: {some(missing)}; add their aspects."
        )
