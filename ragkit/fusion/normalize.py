"""Normalisers: scores of one run and query onto a common scale, with a stated rule for flat lists.

Most are affine, ``(s - shift) / scale`` with one shift and one scale for each query; what is flat (a lone
hit, equal scores) gets a constant that never pushes it below what was not retrieved.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ragkit.frames import ranks_within, round_significant
from ragkit.fusion.align import Source


@dataclass
class Normalized:
    """Normalised scores of one run."""

    values: np.ndarray  # one for each row of the source
    highest: float  # the most that a value can be, for relative_score
    at: Callable[[float], np.ndarray]  # what a raw score would become, for each query


@dataclass
class _Groups:
    """Statistics of a source by query; queries without rows have no entry."""

    score: np.ndarray
    filled: np.ndarray  # numbers of the queries that have rows
    starts: np.ndarray
    sizes: np.ndarray

    def reduce(self, ufunc: np.ufunc, values: np.ndarray) -> np.ndarray:
        return ufunc.reduceat(values, self.starts) if len(self.starts) else np.empty(0)

    def each(self, by_query: np.ndarray) -> np.ndarray:
        return np.repeat(by_query, self.sizes)

    @property
    def low(self) -> np.ndarray:
        return self.reduce(np.minimum, self.score)

    @property
    def high(self) -> np.ndarray:
        return self.reduce(np.maximum, self.score)

    @property
    def mean(self) -> np.ndarray:
        return self.reduce(np.add, self.score) / self.sizes


def _none(g: _Groups, minimum: float) -> tuple:
    return 0.0, 1.0, None


def _minmax(g: _Groups, minimum: float) -> tuple:
    return g.low, g.high - g.low, 1.0


def _max(g: _Groups, minimum: float) -> tuple:
    # Dividing by a best score of 0 or less would turn the order around; min-max takes over there.
    low, high = g.low, g.high
    positive = high > 0
    shift = np.where(positive, 0.0, low)
    return shift, high - shift, np.where(positive, _safe(high, high), 1.0)


def _sum(g: _Groups, minimum: float) -> tuple:
    low = g.low
    return low, g.reduce(np.add, g.score - g.each(low)), 1.0 / g.sizes


def _zscore(g: _Groups, minimum: float) -> tuple:
    mean = g.mean
    variance = g.reduce(np.add, (g.score - g.each(mean)) ** 2) / g.sizes
    return mean, np.sqrt(variance), 0.0


def _l2(g: _Groups, minimum: float) -> tuple:
    largest = g.reduce(np.maximum, np.abs(g.score))
    scaled = g.score / g.each(np.where(largest == 0, 1, largest))
    norm = largest * np.sqrt(g.reduce(np.add, scaled**2))
    return 0.0, norm, np.where(norm == 0, 1 / np.sqrt(g.sizes), _safe(g.high, norm))


def _dbsf(g: _Groups, minimum: float, lost: int = 1) -> tuple:
    mean = g.mean
    squares = g.reduce(np.add, (g.score - g.each(mean)) ** 2)
    sigma = np.sqrt(squares / np.maximum(g.sizes - lost, 1))
    return mean - 3 * sigma, 6 * sigma, 0.5


def _dbsf_population(g: _Groups, minimum: float) -> tuple:
    return _dbsf(g, minimum, lost=0)


def _theoretical_min(g: _Groups, minimum: float) -> tuple:
    high = g.high
    if (g.score < minimum).any():
        raise ValueError(
            f"normalize='theoretical_min' needs scores at or above the minimum {minimum:g}; "
            f"got {g.score.min():g}. Give minimum=, such as -1 for cosines."
        )
    return np.full(len(high), float(minimum)), high - minimum, 1.0


_AFFINE: dict[str, Callable[[_Groups, float], tuple]] = {
    "none": _none,
    "minmax": _minmax,
    "max": _max,
    "sum": _sum,
    "zscore": _zscore,
    "l2": _l2,
    "dbsf": _dbsf,
    "dbsf_population": _dbsf_population,
    "theoretical_min": _theoretical_min,
}
#: Normalisers whose values have no highest possible one; what was seen stands in for it.
_UNBOUNDED = ("none", "zscore", "dbsf", "dbsf_population")
#: Every normaliser by name.
NORMALIZERS = (*_AFFINE, "rank", "borda", "sigmoid")


def normalize_source(source: Source, how: Any, minimum: float, pool_sizes: np.ndarray) -> Normalized:
    """Normalise one run's scores, query by query.

    Parameters
    ----------
    source : Source
        The run's rows.
    how : str or callable
        A name from `NORMALIZERS`, or a callable on one query's scores.
    minimum : float
        The lowest score that the run's retriever can give.
    pool_sizes : ndarray of int
        Units of each query's union, which Borda counts.

    Returns
    -------
    Normalized
        The values, their bound, and the map itself.
    """
    filled = np.flatnonzero(source.sizes)
    groups = _Groups(source.score, filled, source.starts[filled], source.sizes[filled])
    if callable(how):
        return _by_callable(groups, how, source.name)
    if how in ("rank", "borda"):
        return _by_place(groups, how, pool_sizes)
    if how == "sigmoid":
        return Normalized(_sigmoid(source.score), 1.0, lambda raw: np.full(len(source.sizes), _sigmoid(raw)))
    largest = float(np.abs(source.score).max(initial=0.0))
    if how == "none" or largest == 0 or 1e-100 < largest < 1e150:
        return _affine(groups, how, minimum, len(source.sizes))
    # Squares and differences of such scores would overflow or vanish; a power of two moves them exactly.
    factor = float(np.exp2(min(-np.floor(np.log2(largest)), 1000.0)))
    moved = replace(groups, score=groups.score * factor)
    normal = _affine(moved, how, minimum * factor, len(source.sizes))
    return replace(normal, at=lambda raw: normal.at(raw * factor))


def _affine(g: _Groups, how: str, minimum: float, n_queries: int) -> Normalized:
    shift, scale, flat = _AFFINE[how](g, minimum)
    if flat is None:
        return Normalized(g.score, _highest(g.score, how), lambda raw: np.full(n_queries, float(raw)))
    shift, flat = np.broadcast_to(shift, scale.shape), np.broadcast_to(flat, scale.shape)
    # Equal means equal in the digits in which scores are compared, or noise would be blown up to 0 and 1.
    level = (scale == 0) | (round_significant(g.low) == round_significant(g.high))
    safe = np.where(level, 1.0, scale)
    values = (g.score - g.each(shift)) / g.each(safe)
    if level.any():
        values = np.where(g.each(level), g.each(flat), values)

    def at(raw: float) -> np.ndarray:
        out = np.zeros(n_queries)
        out[g.filled] = np.where(level, 0.0, (raw - shift) / safe)
        return out

    return Normalized(values, _highest(values, how), at)


def _by_place(g: _Groups, how: str, pool_sizes: np.ndarray) -> Normalized:
    """Give 1 to the first place and fall evenly: over the list (rank) or over the union (Borda)."""
    place = ranks_within(g.each(g.filled))
    out_of = g.sizes if how == "rank" else pool_sizes[g.filled]
    values = 1.0 - (place - 1) / g.each(np.maximum(out_of, 1))
    return Normalized(values, 1.0, lambda raw: np.zeros(len(pool_sizes)))


def _by_callable(g: _Groups, how: Callable, name: str) -> Normalized:
    values = np.empty(len(g.score))
    for start, size in zip(g.starts, g.sizes):
        out = np.asarray(how(g.score[start : start + size].copy()), dtype=np.float64)
        if out.shape != (size,) or not np.isfinite(out).all():
            raise ValueError(
                f"normalize for run {name!r} must return {size} finite numbers for {size} scores; "
                f"got an array of shape {out.shape}."
            )
        values[start : start + size] = out

    def at(raw: float) -> np.ndarray:
        raise ValueError(
            f"missing='theoretical_min' for run {name!r} needs a named normaliser; a callable sees only "
            "the scores that are there. Use 'zero', 'ignore' or 'list_min'."
        )

    return Normalized(values, _highest(values, "none"), at)


def _highest(values: np.ndarray, how: str) -> float:
    if how not in _UNBOUNDED or not len(values):
        return 1.0
    return max(1.0, float(values.max()))


def _sigmoid(x: Any) -> Any:
    # Written with tanh, which does not overflow.
    return 0.5 * (1.0 + np.tanh(0.5 * np.asarray(x, dtype=np.float64)))


def _safe(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Divide, with 0 where the divisor is 0."""
    return np.divide(a, b, out=np.zeros(len(b)), where=b != 0)
