"""The classical metrics, one small function each: judged ranks in, one number per query out.

The letters are those of the papers: k the cutoff, R the number of relevant documents, a document is
relevant when its grade is at least `rel`. Negative grades count as judged and gain nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ragkit.frames import ranks_within
from ragkit.metrics.judged import Judged


def divide(a: np.ndarray, b: np.ndarray | float) -> np.ndarray:
    """Divide, with 0 where there is nothing to divide by."""
    b = np.broadcast_to(np.asarray(b, dtype=np.float64), np.shape(a))
    return np.divide(a, b, out=np.zeros(np.shape(a)), where=b > 0)


def precision(j: Judged, k: int | None, *, rel: int = 1) -> np.ndarray:
    """Share of the first k that is relevant; without k, of all that was returned."""
    return divide(j.total(j.found(k, rel)), j.retrieved if k is None else k)


def recall(j: Judged, k: int | None, *, rel: int = 1) -> np.ndarray:
    """Share of the relevant documents that stands in the first k."""
    return divide(j.total(j.found(k, rel)), j.total(j.grade >= rel))


def recall_capped(j: Judged, k: int | None, *, rel: int = 1) -> np.ndarray:
    """Recall with min(R, k) as its denominator, so that 1 can be reached."""
    relevant = j.total(j.grade >= rel)
    return divide(j.total(j.found(k, rel)), relevant if k is None else np.minimum(relevant, k))


def f1(j: Judged, k: int | None, *, rel: int = 1, beta: float = 1.0) -> np.ndarray:
    """Harmonic mean of precision and recall, in which recall weighs beta times as much."""
    p, r = precision(j, k, rel=rel), recall(j, k, rel=rel)
    return divide((1 + beta) * p * r, r + beta * p)


def hit(j: Judged, k: int | None, *, rel: int = 1) -> np.ndarray:
    """1 if any relevant document stands in the first k, else 0."""
    return (j.total(j.found(k, rel)) > 0).astype(np.float64)


def hits(j: Judged, k: int | None, *, rel: int = 1) -> np.ndarray:
    """How many relevant documents stand in the first k: a count, not a share."""
    return j.total(j.found(k, rel))


def rr(j: Judged, k: int | None, *, rel: int = 1) -> np.ndarray:
    """1 / rank of the first relevant document."""
    where = j.found(k, rel)
    query, first = np.unique(j.query[where], return_index=True)
    out = np.zeros(j.n)
    out[query] = 1.0 / j.rank[where[first]]
    return out


def ap(j: Judged, k: int | None, *, rel: int = 1) -> np.ndarray:
    """Sum of the precision at each relevant document's rank, divided by R, also with a cutoff."""
    where = j.found(k, rel)
    at_rank = ranks_within(j.query[where]) / j.rank[where]
    return divide(j.total(where, at_rank), j.total(j.grade >= rel))


def rprec(j: Judged, k: int | None, *, rel: int = 1) -> np.ndarray:
    """Precision at rank R."""
    relevant = j.total(j.grade >= rel)
    where = j.found(None, rel)
    return divide(j.total(where[j.rank[where] <= relevant[j.query[where]]]), relevant)


def dcg(j: Judged, k: int | None, *, gain: str = "linear") -> np.ndarray:
    """Discounted cumulative gain: sum of gain / log2(rank + 1)."""
    where = j.found(k, 1)
    return j.total(where, _gain(j.grade[where], gain) / np.log2(j.rank[where] + 1))


def ndcg(j: Judged, k: int | None, *, gain: str = "linear") -> np.ndarray:
    """DCG divided by that of the ideal list of all judged documents."""
    return divide(dcg(j, k, gain=gain), ideal_dcg(j, k, gain=gain))


def ideal_dcg(j: Judged, k: int | None, *, gain: str = "linear") -> np.ndarray:
    """DCG of the list that holds the relevant documents by falling grade."""
    where = np.flatnonzero(j.grade >= 1)
    grade = j.grade[where]
    if len(where) and (grade != grade[0]).any():
        where = where[np.lexsort((-grade, j.query[where]))]
    rank = ranks_within(j.query[where])
    if k is not None:
        where, rank = where[rank <= k], rank[rank <= k]
    return j.total(where, _gain(j.grade[where], gain) / np.log2(rank + 1))


def _gain(grade: np.ndarray, gain: str) -> np.ndarray:
    return grade.astype(np.float64) if gain == "linear" else _power(grade) - 1.0


def _power(grade: Any) -> Any:
    """Compute ``2**grade`` for grades that have one in floating point."""
    if np.max(grade, initial=0) > 1000:
        raise ValueError(
            f"2**grade is too large a number for the grade {int(np.max(grade))}; "
            "use gain='linear', or grades of a few steps."
        )
    return np.exp2(grade)


def rbp(j: Judged, k: int | None, *, p: float = 0.8, rel: int = 1) -> np.ndarray:
    """Rank-biased precision: (1 - p) times the sum of p ** (rank - 1) over the relevant documents."""
    where = j.found(k, rel)
    return (1 - p) * j.total(where, p ** (j.rank[where] - 1.0))


def err(j: Judged, k: int | None, *, max_rel: int | None = None) -> np.ndarray:
    """Expected reciprocal rank: a user stops at a document with probability (2**grade - 1) / 2**max_rel."""
    where = j.found(k, 1)
    top = max(j.max_grade if max_rel is None else max_rel, 1)
    stop = (_power(np.minimum(j.grade[where], top)) - 1) / _power(top)
    arrive = _product_before(j.query[where], 1 - stop)
    return j.total(where, stop * arrive / j.rank[where])


def _product_before(group: np.ndarray, factor: np.ndarray) -> np.ndarray:
    """Multiply the factors of all earlier rows of the same group."""
    place = ranks_within(group)
    table = np.ones((len(group) and int(group.max()) + 1, int(place.max(initial=0)) + 1))
    table[group, place] = factor
    return np.cumprod(table, axis=1)[group, place - 1] if len(group) else np.empty(0)


def bpref(j: Judged, k: int | None, *, rel: int = 1) -> np.ndarray:
    """Share of judged non-relevant documents ranked below each relevant one, as trec_eval counts it."""
    R = j.total(j.grade >= rel)
    N = j.total((j.grade >= 0) & (j.grade < rel))
    rows = j.by_rank
    query, relevant = j.query[rows], j.grade[rows] >= rel
    before = np.cumsum((j.grade[rows] >= 0) & ~relevant)
    above = (before - np.r_[0, before][np.searchsorted(query, query)])[relevant]
    where, query = rows[relevant], query[relevant]
    above = np.minimum(above, R[query])
    gain = 1.0 - divide(above, np.minimum(R, N)[query])
    return divide(j.total(where, gain), R)


def judged(j: Judged, k: int | None) -> np.ndarray:
    """Share of the first k documents that has a judgement, whatever its grade."""
    depth = j.retrieved if k is None else np.minimum(j.retrieved, k)
    return divide(j.total(j.found(k)), depth)
