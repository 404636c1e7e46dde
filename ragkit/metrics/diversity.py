"""Metrics that read vectors: how different are the first k of each query from one another?

They need no judgements. A query with fewer than two units has no pair, and scores 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Lists:
    """The vectors of each query's results, in the order of rank.

    Parameters
    ----------
    bounds : ndarray of int, shape (n + 1,)
        Rows ``bounds[q]:bounds[q + 1]`` belong to query q.
    vectors : ndarray of float64, shape (rows, d)
        Rows of length 1, or 0 for a zero vector.
    """

    bounds: np.ndarray
    vectors: np.ndarray

    def heads(self, k: int | None) -> Iterator[np.ndarray]:
        """Give the vectors of the first k of one query after another."""
        for start, stop in zip(self.bounds[:-1], self.bounds[1:]):
            yield self.vectors[start : stop if k is None else min(stop, start + k)]


def ild(lists: Lists, k: int | None) -> np.ndarray:
    """Intra-list distance: mean of 1 - cosine over the pairs of the first k."""
    return _each(lists, k, _mean_distance)


def ild_min(lists: Lists, k: int | None) -> np.ndarray:
    """Smallest 1 - cosine among the pairs of the first k: how near the nearest two are."""
    return _each(lists, k, lambda v: float(1 - _pairs(v).max()) if len(v) > 1 else 0.0)


def crowding(lists: Lists, k: int | None, *, threshold: float = 0.9) -> np.ndarray:
    """Share of the pairs of the first k whose cosine reaches the threshold: near-duplicates."""
    return _each(lists, k, lambda v: float((_pairs(v) >= threshold).mean()) if len(v) > 1 else 0.0)


def vendi(lists: Lists, k: int | None) -> np.ndarray:
    """Vendi score, the effective number of different units: exp of the entropy of the eigenvalues."""
    return _each(lists, k, _vendi)


def _each(lists: Lists, k: int | None, value: Callable[[np.ndarray], float]) -> np.ndarray:
    return np.array([value(head) for head in lists.heads(k)], dtype=np.float64)


def _cosines(v: np.ndarray) -> np.ndarray:
    return np.clip(v @ v.T, -1.0, 1.0)


def _pairs(v: np.ndarray) -> np.ndarray:
    return _cosines(v)[np.triu_indices(len(v), 1)]


def _mean_distance(v: np.ndarray) -> float:
    n = len(v)
    if n < 2:
        return 0.0
    if n <= 64:
        return float(1 - _pairs(v).mean())
    # sum over i != j of cos = |sum of v|^2 - sum of |v|^2: no n-by-n matrix for long lists
    total = v.sum(axis=0)
    return float(1 - (total @ total - np.einsum("ij,ij->", v, v)) / (n * (n - 1)))


def _vendi(v: np.ndarray) -> float:
    n = len(v)
    if n == 0:
        return 0.0
    K = _cosines(v)
    np.fill_diagonal(K, 1.0)
    share = np.linalg.eigvalsh(K / n)
    share = share[share > 1e-12]
    return float(np.exp(-(share * np.log(share)).sum()))
