"""Fusion methods: what each run adds to each unit of the pool, and the most that it could be.

A method is three choices: what a row is worth (its rank's points or its normalised score), what a unit
that the run lacks is worth, and how the weighted values of the runs combine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ragkit.fusion.align import Pool, Source


@dataclass
class Column:
    """One number for each slot: the rows of a run, and one value by query for all slots that it lacks."""

    source: Source
    values: np.ndarray
    fill: Any  # a number, or one for each query; NaN does not count
    over: np.ndarray | None = None  # values are 1 / over, so that w / over is rounded once, as papers have it

    def full(self, pool: Pool) -> np.ndarray:
        """Spread over the pool."""
        return pool.spread(self.source, self.values, self.fill)

    def cut(self, source: Source, queries: slice) -> Column:
        """Give the part of neighbouring queries, whose rows are `source`."""
        rows = self.source.rows(queries)
        return Column(
            source,
            self.values[rows],
            self.fill if np.ndim(self.fill) == 0 else self.fill[queries],
            None if self.over is None else self.over[rows],
        )

    def times(self, factor: float) -> Column:
        """Weighted; what does not count adds 0."""
        values = factor * self.values if self.over is None else factor / self.over
        return Column(self.source, values, np.nan_to_num(factor * np.asarray(self.fill)))


_CELLS = 1 << 20  # duels held in memory at a time

#: Contributions of each run: by row where the method is additive, else one array over the pool.
Parts = list


@dataclass(frozen=True)
class Method:
    """A fusion method by its parts."""

    combine: Callable[[Pool, list[Column], list[float]], tuple[np.ndarray, Parts]]
    bound: Callable[[np.ndarray], np.ndarray] | None  # highest values (runs, queries) -> score; None: unknown
    points: Callable[[Pool, Source, float], Column] | None = None  # rank methods: a rank's worth
    top: Callable[[Pool, float, float], np.ndarray] | None = None  # rank methods: weighted worth of rank 1
    normalize: str = "minmax"
    missing: str = "zero"

    @property
    def by_rank(self) -> bool:
        """Whether scores are never looked at."""
        return self.points is not None


# --- what a rank is worth ---------------------------------------------------------------------------


def _rrf_points(pool: Pool, source: Source, k: float) -> Column:
    over = k + source.rank
    return Column(source, 1.0 / over, np.nan, over)


def _isr_points(pool: Pool, source: Source, k: float) -> Column:
    return Column(source, 1.0 / source.rank**2, np.nan)


def _borda_points(pool: Pool, source: Source, k: float) -> Column:
    """Give c - r + 1 points of c candidates; what a run lacks shares the points that are left."""
    c = np.repeat(pool.sizes, source.sizes)
    return Column(source, c - source.rank + 1.0, (pool.sizes - source.sizes + 1) / 2.0)


def _rank_points(pool: Pool, source: Source, k: float) -> Column:
    return Column(source, source.rank, np.nan)


# --- how values combine -----------------------------------------------------------------------------


def _sum(pool: Pool, columns: list[Column], weights: list[float]) -> tuple[np.ndarray, Parts]:
    parts = [column.times(w) for column, w in zip(columns, weights)]
    score = parts[0].full(pool)
    for part in parts[1:]:
        if np.ndim(part.fill) == 0 and float(part.fill) == 0:
            score[part.source.slot] += part.values
        else:
            score += part.full(pool)
    return score, parts


def _weighted(pool: Pool, columns: list[Column], weights: list[float]) -> np.ndarray:
    """Stack the weighted values, NaN where a unit does not count: shape (runs, slots)."""
    return np.array([w * column.full(pool) for column, w in zip(columns, weights)])


def _add(parts: np.ndarray) -> tuple[np.ndarray, Parts]:
    score = parts[0].copy()
    for part in parts[1:]:
        score += part
    return score, list(parts)


def _mnz(pool: Pool, columns: list[Column], weights: list[float]) -> tuple[np.ndarray, Parts]:
    """Multiply the sum by the number of runs that retrieved the unit (Fox and Shaw)."""
    hits = sum(pool.spread(c.source, (c.source.rank == c.source.rank).astype(float), 0.0) for c in columns)
    return _add(hits * np.nan_to_num(_weighted(pool, columns, weights)))


def _anz(pool: Pool, columns: list[Column], weights: list[float]) -> tuple[np.ndarray, Parts]:
    """Average over the runs that count."""
    values = _weighted(pool, columns, weights)
    return _add(np.nan_to_num(values) / np.maximum((~np.isnan(values)).sum(axis=0), 1))


def _decided_by(values: np.ndarray, deciders: np.ndarray) -> tuple[np.ndarray, Parts]:
    """Give the score to the run that decided, and 0 to the others."""
    parts = np.zeros_like(values)
    slots = np.arange(values.shape[1])
    parts[deciders, slots] = values[deciders, slots]
    return _add(parts)


def _max(pool: Pool, columns: list[Column], weights: list[float]) -> tuple[np.ndarray, Parts]:
    values = _weighted(pool, columns, weights)
    return _decided_by(values, np.argmax(np.where(np.isnan(values), -np.inf, values), axis=0))


def _min(pool: Pool, columns: list[Column], weights: list[float]) -> tuple[np.ndarray, Parts]:
    values = _weighted(pool, columns, weights)
    return _decided_by(values, np.argmin(np.where(np.isnan(values), np.inf, values), axis=0))


def _median(pool: Pool, columns: list[Column], weights: list[float]) -> tuple[np.ndarray, Parts]:
    """Take the middle value; of an even number, each of the two in the middle decides half."""
    values = _weighted(pool, columns, weights)
    order = np.argsort(values, axis=0, kind="stable")  # NaN last
    count = (~np.isnan(values)).sum(axis=0)
    slots = np.arange(values.shape[1])
    parts = np.zeros_like(values)
    for middle in ((count - 1) // 2, count // 2):
        run = order[middle, slots]
        parts[run, slots] += 0.5 * values[run, slots]
    return _add(parts)


def _condorcet(pool: Pool, columns: list[Column], weights: list[float]) -> tuple[np.ndarray, Parts]:
    """Hold a duel of every two units; a win counts 1, a draw 1/2 (Copeland's rule, so no cycle matters).

    What a unit wins is credited to the runs that voted for it, by weight.
    """
    ranks = np.array([column.full(pool) for column in columns])
    ranks = np.where(np.isnan(ranks), np.inf, ranks)
    parts = np.zeros_like(ranks)
    w = np.asarray(weights)
    for start, size in zip(pool.starts, pool.sizes):
        parts[:, start : start + size] = _duels(ranks[:, start : start + size], w)
    return _add(parts)


def _duels(ranks: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Credit each run with its share of what every unit of one query wins."""
    n_runs, c = ranks.shape
    credit = np.zeros_like(ranks)
    block = max(1, _CELLS // max(n_runs * c, 1))
    for start in range(0, c, block):
        mine = ranks[:, start : start + block, None]
        votes = w[:, None, None] * (mine < ranks[:, None, :])
        for_it, against = votes.sum(axis=0), np.einsum("r,rab->ab", w, mine > ranks[:, None, :])
        # Equal in the digits in which scores are compared, or 0.1 + 0.2 would beat 0.3.
        drawn = np.abs(for_it - against) <= 1e-12 * against
        result = np.where(drawn, 0.5, for_it > against)
        rows = np.arange(len(result))
        result[rows, start + rows] = 0.0  # no duel with itself
        share = np.where(for_it > 0, votes / np.where(for_it > 0, for_it, 1.0), 1.0 / n_runs)
        credit[:, start : start + block] = (result * share).sum(axis=2)
    return credit


# --- the table --------------------------------------------------------------------------------------


def _of_sum(highest: np.ndarray) -> np.ndarray:
    return highest.sum(axis=0)


def _of_largest(highest: np.ndarray) -> np.ndarray:
    return highest.max(axis=0)


def _of_mnz(highest: np.ndarray) -> np.ndarray:
    return highest.sum(axis=0) * np.maximum((highest > 0).sum(axis=0), 1)


def _first(value: Callable[[float, float], float]) -> Callable[[Pool, float, float], np.ndarray]:
    return lambda pool, k, w: np.full(len(pool.sizes), value(k, w))


METHODS: dict[str, Method] = {
    "rrf": Method(_sum, _of_sum, _rrf_points, _first(lambda k, w: w / (k + 1.0))),
    "linear": Method(_sum, _of_sum),
    "sum": Method(_sum, _of_sum),
    "max": Method(_max, _of_largest, missing="ignore"),
    "min": Method(_min, _of_largest, missing="ignore"),
    "median": Method(_median, _of_largest, missing="ignore"),
    "mnz": Method(_mnz, _of_mnz),
    "anz": Method(_anz, _of_largest, missing="ignore"),
    "isr": Method(_mnz, _of_mnz, _isr_points, _first(lambda k, w: w)),
    "borda": Method(_sum, _of_sum, _borda_points, lambda pool, k, w: w * pool.sizes.astype(np.float64)),
    "condorcet": Method(
        _condorcet, _of_largest, _rank_points, lambda pool, k, w: np.maximum(pool.sizes - 1.0, 1.0)
    ),
    "dbsf": Method(_sum, _of_sum, normalize="dbsf"),
    "tm2c2": Method(_sum, _of_sum, normalize="theoretical_min"),
}
#: What a run's lack of a unit can mean.
MISSING = ("zero", "ignore", "list_min", "theoretical_min", "score")


def by_callable(function: Callable) -> Method:
    """Make a method of ``(scores, ranks, weights) -> scores or contributions``, called once per query."""

    def combine(pool: Pool, columns: list[Column], weights: list[float]) -> tuple[np.ndarray, Parts]:
        scores = np.array([column.full(pool) for column in columns]).T
        ranks = np.array([pool.spread(c.source, c.source.rank) for c in columns]).T
        w, out, parts = np.asarray(weights), np.empty(len(pool)), np.full(scores.shape, np.nan)
        for start, size in zip(pool.starts, pool.sizes):
            rows = slice(start, start + size)
            if size:
                given = function(scores[rows].copy(), ranks[rows].copy(), w.copy())
                out[rows], parts[rows] = _read_answer(given, int(size), len(w))
        return out, list(parts.T)

    return Method(combine, None, normalize="none", missing="ignore")


def _read_answer(given: Any, size: int, n_runs: int) -> tuple[np.ndarray, Any]:
    """Read scores, contributions, or both, of one query."""
    both = isinstance(given, tuple) and len(given) == 2
    answers = [np.asarray(answer, dtype=np.float64) for answer in (given if both else (given,))]
    shapes = [answer.shape for answer in answers]
    allowed = [[(size,), (size, n_runs)]] if both else [[(size,)], [(size, n_runs)]]
    if shapes not in allowed or not all(np.isfinite(answer).all() for answer in answers):
        raise ValueError(
            f"method must return {size} finite scores, contributions of shape {(size, n_runs)}, "
            f"or a tuple of both; got shape {', '.join(map(str, shapes))}."
        )
    if both:
        return answers[0], answers[1]
    return (answers[0], np.nan) if answers[0].ndim == 1 else (_add(answers[0].T)[0], answers[0])
