"""MMR on the arrays of one query: exact in float64, fast for large pools."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ragkit.similarity import normalize_rows, row_squares

_BLOCK = 256  # rows of a product at a time
_FEW = 256  # up to this many candidates nothing is gained by looking at some of them only
_ACTIVE = 256  # rows that are kept up to date, or a sixteenth of a large pool
_ROWS = 4096  # rows in float64 at a time
_HUGE = 1e30  # relevance beyond this leaves no room in float32
_SMALL = 1200  # results of a product up to which OpenBLAS takes its input as it lies


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
    V, inverse, _ = _measure(np.asarray(vectors))
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
    q = normalize_rows(np.asarray(query, dtype=np.float64)[None, :])[0]
    V, inverse, dots = _measure(np.asarray(vectors), q)
    return _order(dots * inverse, V, inverse, lambda_, top_k, 1e-12)


def _measure(V: np.ndarray, q: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Give the vectors, 1 / length of each (0 for a zero vector), and their products with `q`.

    Vectors whose squares would overflow or vanish in float32 come back scaled to length 1.
    """
    squares, dots = np.empty(len(V)), np.zeros(len(V))
    for first in range(0, len(V), _BLOCK):  # few enough rows for the cache: each is read from memory once
        rows = V[first : first + _BLOCK].astype(np.float64, copy=False)
        squares[first : first + _BLOCK] = row_squares(rows)
        if q is not None:
            dots[first : first + _BLOCK] = rows @ q
    if len(V) and not 1e-30 < squares.min() <= squares.max() < 1e30:
        V = normalize_rows(V.astype(np.float64))
        return V, np.asarray(V.any(axis=1), dtype=np.float64), dots if q is None else V @ q
    return V, 1.0 / np.sqrt(squares), dots


def _order(
    rel: np.ndarray, V: np.ndarray, inverse: np.ndarray, lambda_: float, top_k: int | None, tolerance: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Pick, then look up in one matrix product which earlier pick was nearest to each."""
    n = len(rel)
    k = n if top_k is None else min(top_k, n)
    if k == 0:
        none = np.empty(0)
        return none.astype(np.int64), none, none.copy(), none.astype(np.int64)
    largest = max(1.0, float(np.abs(rel).max()))
    pick = _pick_from_few if n <= _FEW or largest > _HUGE else _pick_from_many
    picks, P = pick(rel, V, inverse, lambda_, k, tolerance * largest)
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


class _Bounds:
    """Scores of all candidates in float32, true for the active rows, upper bounds for the others.

    A penalty only grows, so a score that is out of date bounds the true one from above. As long as the best
    active row beats all bounds, nothing else needs a look (lazy greedy, Minoux 1978); when it no longer
    does, one matrix product brings all rows up to date and the best become active.
    """

    def __init__(self, V: np.ndarray, inverse: np.ndarray, gain: np.ndarray, weight: float) -> None:
        self.V = V.astype(np.float32, copy=False)  # not of length 1: scaling it would copy it once more
        self.inverse, self.gain = inverse.astype(np.float32), gain.astype(np.float32)
        self.push = (-weight * inverse).astype(np.float32)
        self.bound = np.full(len(V), np.inf, dtype=np.float32)
        self.picks: list[int] = []
        self.known = 0  # picks that every row knows
        self.outside = np.inf  # the highest bound of an inactive row
        self.rows = np.empty(0, dtype=np.int64)
        size = min(len(V), max(_ACTIVE, len(V) // 16))
        self.active = np.empty((size, V.shape[1]), dtype=np.float32)  # their vectors, written over
        self.place = np.full(len(V), -1)  # of each active row among them
        self.score = np.empty(0, dtype=np.float32)

    def near_best(self, pick: int, error: float) -> np.ndarray:
        """Take in a pick, and give the rows whose score lies within `error` of the best."""
        self.picks.append(pick)
        best = -np.inf
        if len(self.rows):
            step = self.active @ (self.V[pick] * self.push[pick])
            step *= self.active_inverse
            step += self.active_gain
            np.minimum(self.score, step, out=self.score)
            if self.place[pick] >= 0:
                self.score[self.place[pick]] = -np.inf  # never again
            best = self.score[self.score.argmax()]  # a fifth of the time of max() on few rows
        if best - error < self.outside:
            self._refresh()
            best = self.score.max()
            if best - error < self.outside:  # a crowd of equals reaches beyond the active rows
                return np.flatnonzero(self.bound >= best - error)
        return self.rows[self.score >= best - error]

    def _refresh(self) -> None:
        """Bring all rows up to date and choose the active ones anew."""
        self.bound[self.rows] = self.score
        self.place[self.rows] = -1
        missed = self.picks[self.known :]
        P = self.V[missed] * self.push[missed, None]
        lowest = np.empty_like(self.bound)
        for part in small_products(len(missed), len(self.V)):
            (P @ self.V[part].T).min(axis=0, out=lowest[part])
        lowest *= self.inverse
        lowest += self.gain
        np.minimum(self.bound, lowest, out=self.bound)
        self.bound[self.picks] = -np.inf
        self.known = len(self.picks)
        size = len(self.active)
        order = np.argpartition(-self.bound, size - 1)
        self.rows = order[:size]
        self.outside = float(self.bound[order[size:]].max(initial=-np.inf))
        self.rows.sort()
        self.place[self.rows] = np.arange(size)
        np.take(self.V, self.rows, axis=0, out=self.active, mode="clip")
        self.score = self.bound[self.rows]
        self.active_inverse, self.active_gain = self.inverse[self.rows], self.gain[self.rows]


def _pick_from_few(
    rel: np.ndarray, V: np.ndarray, inverse: np.ndarray, lambda_: float, k: int, slack: float
) -> tuple[np.ndarray, np.ndarray]:
    """Pick k rows, the formula as it stands; give them and their vectors of length 1."""
    V = V.astype(np.float64, copy=False)
    push = (lambda_ - 1) * inverse
    picks = np.empty(k, dtype=np.int64)
    gain, score = lambda_ * rel, np.full(len(rel), np.inf)
    picks[0] = i = int(np.argmax(rel >= rel.max() - slack))  # the most relevant, at lambda 0 too
    for j in range(1, k):
        step = V @ (V[i] * push[i])
        step *= inverse
        step += gain
        np.minimum(score, step, out=score)
        score[i] = -np.inf  # never again; an infinite similarity would be 0 * inf at lambda 1
        i = int((score >= score[score.argmax()] - slack).argmax())  # the first among equals
        picks[j] = i
    return picks, V[picks] * inverse[picks, None]


def _pick_from_many(
    rel: np.ndarray, V: np.ndarray, inverse: np.ndarray, lambda_: float, k: int, slack: float
) -> tuple[np.ndarray, np.ndarray]:
    """Pick as `_pick_from_few` does.

    Scores are screened in float32, which halves the memory to read; rows that lie within the rounding
    error of the best are compared in float64.
    """
    exact = _Penalties(V, inverse, k)
    gain = lambda_ * rel
    bounds = _Bounds(V, inverse, gain, 1 - lambda_)
    # What counts as a tie, and the rounding of a product of d terms, twice, and of the sum that follows.
    rounding = (1 - lambda_) * (V.shape[1] + 16) + 4 * float(np.abs(gain).max()) + 4
    error = slack + 2.0**-23 * rounding
    i = int(np.argmax(rel >= rel.max() - slack))  # the most relevant, at lambda 0 too
    exact.pick(i)
    with np.errstate(invalid="ignore"):  # BLAS may raise the flag for lanes that it loads and never uses
        for _ in range(1, k):
            near = bounds.near_best(i, error)
            if len(near) > 1:
                value = gain[near] - (1 - lambda_) * exact.of(near)
                near = near[value >= value.max() - slack]
            i = int(near[0])  # the first among equals
            exact.pick(i)
    return exact.picks, exact.P()


def _highest_cosine(V: np.ndarray, inverse: np.ndarray, rows: np.ndarray, P: np.ndarray) -> np.ndarray:
    """Give the highest cosine of each of `rows` with the unit vectors P, in blocks and in float64."""
    out = np.empty(len(rows))
    for first in range(0, len(rows), _ROWS):
        part = slice(first, first + _ROWS)
        block = V[rows[part]].astype(np.float64, copy=False)
        out[part] = block @ P[0] if len(P) == 1 else (block @ P.T).max(axis=1)
    return out * inverse[rows]


def small_products(m: int, n: int) -> Iterator[slice]:
    """Cut n rows into blocks whose product with m others BLAS makes without rearranging its input first.

    Parameters
    ----------
    m, n : int
        Numbers of rows; for many rows the rearranging pays, and blocks are large.

    Returns
    -------
    iterator of slice
        The blocks of the n rows.
    """
    width = _SMALL // m if m < 32 else _ROWS
    return (slice(first, first + width) for first in range(0, n, width))


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
