"""Metrics that read the subtopics of the judgements: do the first k cover every meaning of the query?"""

from __future__ import annotations

import numpy as np

from ragkit.frames import ranks_within
from ragkit.metrics.formulas import divide
from ragkit.metrics.judged import Judged


def subtopic_recall(j: Judged, k: int | None, *, rel: int = 1) -> np.ndarray:
    """Share of the query's subtopics that the first k cover."""
    rows = _rows(j, rel)
    found = rows[_in_list(j, rows, k)]
    return divide(_distinct_topics(j, found), _distinct_topics(j, rows))


def precision_ia(j: Judged, k: int | None, *, rel: int = 1) -> np.ndarray:
    """Precision for each subtopic by itself, averaged over the query's subtopics."""
    rows = _rows(j, rel)
    found = rows[_in_list(j, rows, k)]
    per_topic = divide(_per_query(j, found), _distinct_topics(j, rows))
    return divide(per_topic, j.retrieved if k is None else k)


def alpha_ndcg(j: Judged, k: int | None, *, alpha: float = 0.5, rel: int = 1) -> np.ndarray:
    """NDCG in which a subtopic seen t times before gains (1 - alpha) ** t, over the greedy ideal list."""
    return divide(*_gained_and_ideal(j, k, alpha, rel, lambda rank: 1 / np.log2(rank + 1)))


def nerr_ia(j: Judged, k: int | None, *, alpha: float = 0.5, rel: int = 1) -> np.ndarray:
    """Intent-aware expected reciprocal rank, divided by that of the greedy ideal list."""
    return divide(*_gained_and_ideal(j, k, alpha, rel, lambda rank: 1 / rank))


def err_ia(j: Judged, k: int | None, *, alpha: float = 0.5, rel: int = 1) -> np.ndarray:
    """Intent-aware expected reciprocal rank, 1 when each of the first k covers every subtopic."""
    rows = _rows(j, rel)
    topics = _distinct_topics(j, rows)
    depth = (j.retrieved.max(initial=1) if k is None else k) + 1
    best = np.cumsum((1 - alpha) ** np.arange(depth) / np.arange(1, depth + 1))
    at = (j.retrieved if k is None else np.full(j.n, k)) - 1
    return divide(_gained(j, rows, k, alpha, lambda rank: 1 / rank), topics * best[np.maximum(at, 0)])


def _in_list(j: Judged, rows: np.ndarray, k: int | None) -> np.ndarray:
    """Say whether the document of each judgement stands in the first k."""
    rank = j.rank[j.topic_pair[rows]]
    return (rank > 0) if k is None else (rank > 0) & (rank <= k)


def _rows(j: Judged, rel: int) -> np.ndarray:
    """List the judgements that make a document relevant to a subtopic, by query."""
    rows = np.flatnonzero(j.topic_grade >= rel)
    return rows[np.argsort(j.topic_pair[rows], kind="stable")]


def _per_query(j: Judged, rows: np.ndarray) -> np.ndarray:
    return np.bincount(j.query[j.topic_pair[rows]], minlength=j.n).astype(np.float64)


def _distinct_topics(j: Judged, rows: np.ndarray) -> np.ndarray:
    query = j.query[j.topic_pair[rows]]
    pairs = np.unique(np.stack([query, j.topic[rows]]), axis=1)
    return np.bincount(pairs[0], minlength=j.n).astype(np.float64)


def _gained_and_ideal(j: Judged, k: int | None, alpha: float, rel: int, discount) -> tuple:
    rows = _rows(j, rel)
    return _gained(j, rows, k, alpha, discount), _ideal(j, rows, k, alpha, discount)


def _gained(j: Judged, rows: np.ndarray, k: int | None, alpha: float, discount) -> np.ndarray:
    """Sum the discounted gains of the first k; a repeated subtopic gains less each time."""
    rows = rows[_in_list(j, rows, k)]
    pair = j.topic_pair[rows]
    order = np.lexsort((j.rank[pair], j.topic[rows], j.query[pair]))
    pair, topic = pair[order], j.topic[rows[order]]
    times_before = (
        ranks_within(np.unique(np.stack([j.query[pair], topic]), axis=1, return_inverse=True)[1]) - 1
    )
    gain = (1 - alpha) ** times_before * discount(j.rank[pair])
    in_rank_order = np.lexsort((j.rank[pair], j.query[pair]))
    return np.bincount(j.query[pair[in_rank_order]], gain[in_rank_order], j.n)


def _ideal(j: Judged, rows: np.ndarray, k: int | None, alpha: float, discount) -> np.ndarray:
    """Sum the same gains over a list that takes, at each rank, the document that gains most.

    Ties go to the greater document id, as in ndeval, so that the ideal does not depend on the run.
    """
    out = np.zeros(j.n)
    query = j.query[j.topic_pair[rows]]
    for part in np.split(rows, np.flatnonzero(np.diff(query)) + 1) if len(rows) else []:
        docs, doc = np.unique(j.topic_pair[part], return_inverse=True)
        topics, topic = np.unique(j.topic[part], return_inverse=True)
        covers = np.zeros((len(docs), len(topics)))
        covers[np.argsort(np.argsort(-j.name[docs]))[doc], topic] = 1.0
        out[j.query[j.topic_pair[part[0]]]] = _greedy(covers, k, alpha, discount)
    return out


def _greedy(covers: np.ndarray, k: int | None, alpha: float, discount) -> float:
    left = covers.copy()
    novelty, total = np.ones(covers.shape[1]), 0.0
    for rank in range(1, min(len(covers), len(covers) if k is None else k) + 1):
        gains = left @ novelty
        best = int(np.argmax(gains >= gains.max() - 1e-12))
        for worth in novelty[left[best] > 0]:
            total += worth * discount(rank)
        novelty[left[best] > 0] *= 1 - alpha
        left[best] = 0.0
    return total
