"""The weight axis of one query: units are lines ``y + w (x - y)``, and only their crossings matter.

At weight 0 the order is that of y, at weight 1 that of x, and two units that stand the other way round at
the two ends cross exactly once between them.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

_THINNEST = 1e-12  # crossings closer than this are one
_CELLS = 1 << 22


@dataclass(frozen=True)
class Lines:
    """The units of one query as lines, in their order just above weight 0.

    Parameters
    ----------
    x, y : ndarray of float, shape (n,)
        Score at weight 1 and at weight 0.
    last : ndarray of int, shape (n,)
        Place of each in the order just below weight 1.
    slot : ndarray of int, shape (n,)
        Which unit each line is.
    """

    x: np.ndarray
    y: np.ndarray
    last: np.ndarray
    slot: np.ndarray

    @property
    def slope(self) -> np.ndarray:
        """Change of the score by weight."""
        return self.x - self.y


def make_lines(x: np.ndarray, y: np.ndarray, key: np.ndarray) -> Lines:
    """Order the units of one query by the tie rule at both ends.

    Parameters
    ----------
    x, y : ndarray of float, shape (n,)
        Score at weight 1 and at weight 0, rounded to the digits in which scores are compared.
    key : ndarray of int, shape (n,)
        Sorts as the unit ids do.

    Returns
    -------
    Lines
        The lines; equal ones stay in the order of the tie rule.
    """
    first = np.lexsort((-key, -x, -y))
    last = np.empty(len(x), dtype=np.int64)
    last[np.lexsort((-key, -y, -x))] = np.arange(len(x))
    return Lines(x[first], y[first], last[first], first)


def list_changes(lines: Lines, top_k: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Find every weight at which the first `top_k` change, and the lists between.

    Parameters
    ----------
    lines : Lines
        One query.
    top_k : int or None
        How many are looked at; None is all.

    Returns
    -------
    edges : ndarray of float, shape (m,)
        The weights, ascending, inside (0, 1).
    lists : ndarray of int, shape (m + 1, k)
        Positions in `lines` before, between and after them.
    """
    k = len(lines.x) if top_k is None else min(top_k, len(lines.x))
    if k == 0:
        return np.empty(0), np.empty((1, 0), dtype=np.int64)
    kept = _ever_among(lines.last, k)
    x, y, last = lines.x[kept], lines.y[kept], lines.last[kept]
    a, b = np.nonzero(np.triu(last[:, None] > last))
    edges = _distinct(_crossing(x, y, a, b)[_within(x, y, a, b, k)])
    middles = _middles(edges)
    lists = np.empty((len(middles), k), dtype=np.int64)
    block = max(1, _CELLS // len(x))
    for start in range(0, len(middles), block):
        w = middles[start : start + block, None]
        # A stable sort leaves equal lines in the order of the tie rule.
        lists[start : start + block] = np.argsort(-(y + w * (x - y)), axis=1, kind="stable")[:, :k]
    changed = (lists[1:] != lists[:-1]).any(axis=1)
    return edges[changed], kept[lists[np.r_[True, changed]]]


def rank_changes(lines: Lines, units: np.ndarray, depth: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Find every weight at which the rank of one of `units` changes, and their ranks between.

    Only crossings that involve one of them count: r units among n give at most r n crossings, not n squared.

    Parameters
    ----------
    lines : Lines
        One query.
    units : ndarray of int, shape (r,)
        Positions in `lines`.
    depth : int or None
        Ranks beyond this are all the same; None tells all apart.

    Returns
    -------
    edges : ndarray of float, shape (m,)
        The weights, ascending.
    ranks : ndarray of int, shape (m + 1, r)
        Ranks from 1.
    """
    n = len(lines.x)
    place = np.arange(n)
    before = place < units[:, None]
    ahead_last = lines.last < lines.last[units, None]
    j, other = np.nonzero(before != ahead_last)
    falls = before[j, other]  # what stood before falls behind: the unit gains a rank
    upper, lower = np.where(falls, other, units[j]), np.where(falls, units[j], other)
    w = _crossing(lines.x, lines.y, upper, lower)
    order = np.argsort(w, kind="stable")
    order = order[w[order] < 1 - _THINNEST]  # what swaps at the very end swaps in no interval
    w, j, step = w[order], j[order], np.where(falls[order], -1, 1)
    edges = _distinct(w)
    ranks = np.zeros((len(edges) + 1, len(units)), dtype=np.int64)
    np.add.at(ranks, (np.searchsorted(edges, w, side="right"), j), step)
    ranks = np.cumsum(ranks, axis=0) + units + 1
    seen = ranks if depth is None else np.minimum(ranks, depth + 1)
    changed = (seen[1:] != seen[:-1]).any(axis=1)
    return edges[changed], ranks[np.r_[True, changed]]


def _ever_among(last: np.ndarray, k: int) -> np.ndarray:
    """Find the lines that can be among the first `k` at some weight.

    A line with k lines before it at both ends is below those k everywhere.
    """
    if len(last) <= k:
        return np.arange(len(last))
    kept: list[int] = []
    best: list[int] = []  # the k smallest final places so far, as a heap with the largest first
    for place, final in enumerate(last.tolist()):
        if len(best) < k:
            heapq.heappush(best, -final)
        elif final < -best[0]:
            heapq.heapreplace(best, -final)
        else:
            continue
        kept.append(place)
    return np.array(kept, dtype=np.int64)


def _crossing(x: np.ndarray, y: np.ndarray, upper: np.ndarray, lower: np.ndarray) -> np.ndarray:
    """Give the weight at which `lower` overtakes `upper`."""
    dy, dx = y[upper] - y[lower], x[lower] - x[upper]
    return dy / (dy + dx)


def _within(x: np.ndarray, y: np.ndarray, a: np.ndarray, b: np.ndarray, k: int) -> np.ndarray:
    """Say which crossings happen within the first `k` places: fewer than k lines pass above."""
    out = np.empty(len(a), dtype=bool)
    slope = x - y
    block = max(1, _CELLS // max(len(x), 1))
    for start in range(0, len(a), block):
        rows = slice(start, start + block)
        w = _crossing(x, y, a[rows], b[rows])
        height = y[a[rows]] + w * slope[a[rows]]
        margin = height + 1e-9 * np.abs(height)
        out[rows] = ((y + w[:, None] * slope) > margin[:, None]).sum(axis=1) < k
    return out


def _distinct(w: np.ndarray) -> np.ndarray:
    """Sort weights and merge those that are one but for rounding."""
    w = np.sort(w)
    w = w[(w > _THINNEST) & (w < 1 - _THINNEST)]
    return w[np.r_[True, np.diff(w) > _THINNEST]] if len(w) else w


def _middles(edges: np.ndarray) -> np.ndarray:
    bounds = np.r_[0.0, edges, 1.0]
    return (bounds[:-1] + bounds[1:]) / 2
