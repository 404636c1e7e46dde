"""MMR on the arrays of one query: exact in float64, fast for large pools."""

from __future__ import annotations

import numpy as np

from ragkit.similarity import normalize_rows

_BLOCK = 256  # rows of a product at a time
_FEW = 256  # up to this many candidates nothing is gained by looking at some of them only
_ACTIVE = 256  # rows that are kept up to date, or a sixteenth of a large pool
_ROWS = 4096  # rows in float64 at a time


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
    squares = np.empty(len(V))
    for first in range(0, len(V), _BLOCK):  # few enough rows for the cache, where float32 is widened
        rows = V[first : first + _BLOCK].astype(np.float64, copy=False)
        squares[first : first + _BLOCK] = np.einsum("ij,ij->i", rows, rows)
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


class _Bounds:
    """Scores of all candidates in float32, true for the active rows, upper bounds for the others.

    A penalty only grows, so a score that is out of date bounds the true one from above. As long as the best
    active row beats all bounds, nothing else needs a look (lazy greedy, Minoux 1978); when it no longer
    does, one matrix product brings all rows up to date and the best become active.
    """

    def __init__(self, X: np.ndarray, gain: np.ndarray, weight: float) -> None:
        self.X, self.gain, self.weight = X, gain.astype(np.float32), np.float32(weight)
        self.bound = np.full(len(X), np.inf, dtype=np.float32)
        self.picks: list[int] = []
        self.known = 0  # picks that every row knows
        self.outside = np.inf  # the highest bound of an inactive row
        self.rows = np.empty(0, dtype=np.int64)
        self.score = np.empty(0, dtype=np.float32)

    def near_best(self, pick: int, error: float) -> np.ndarray:
        """Take in a pick, and give the rows whose score lies within `error` of the best."""
        self.picks.append(pick)
        best = -np.inf
        if len(self.rows):
            step = self.active @ (self.X[pick] * self.weight)
            step += self.active_gain
            np.minimum(self.score, step, out=self.score)
            at = min(int(self.rows.searchsorted(pick)), len(self.rows) - 1)
            if self.rows[at] == pick:
                self.score[at] = -np.inf  # never again
            best = self.score[self.score.argmax()]  # twice as fast as max() on few rows
        if best - error < self.outside:
            self._refresh()
            best = self.score.max()
            if best - error < self.outside:  # a crowd of equals reaches beyond the active rows
                return np.flatnonzero(self.bound >= best - error)
        return self.rows[self.score >= best - error]

    def _refresh(self) -> None:
        """Bring all rows up to date and choose the active ones anew."""
        self.bound[self.rows] = self.score
        missed = (self.X[self.picks[self.known :]] * self.weight).T
        for first in range(0, len(self.X), _ROWS):
            part = slice(first, first + _ROWS)
            lowest = (self.X[part] @ missed).min(axis=1) + self.gain[part]
            self.bound[part] = np.minimum(self.bound[part], lowest)
        self.bound[self.picks] = -np.inf
        self.known = len(self.picks)
        size = max(_ACTIVE, len(self.X) // 16)
        if size >= len(self.X):
            self.rows, self.outside = np.arange(len(self.X)), -np.inf
            self.active, self.active_gain, self.score = self.X, self.gain, self.bound
            return
        order = np.argpartition(-self.bound, size)
        self.rows, self.outside = np.sort(order[:size]), float(self.bound[order[size]])
        self.active, self.active_gain = self.X[self.rows], self.gain[self.rows]
        self.score = self.bound[self.rows]


def _pick_from_few(
    rel: np.ndarray, V: np.ndarray, inverse: np.ndarray, lambda_: float, k: int, slack: float
) -> tuple[np.ndarray, np.ndarray]:
    """Pick k rows, the formula as it stands; give them and their vectors of length 1."""
    X = V * inverse[:, None]
    picks = np.empty(k, dtype=np.int64)
    gain, score = lambda_ * rel, np.full(len(rel), np.inf)
    picks[0] = i = int(np.argmax(rel >= rel.max() - slack))  # the most relevant, at lambda 0 too
    for j in range(1, k):
        step = X @ (X[i] * (lambda_ - 1))
        step += gain
        np.minimum(score, step, out=score)
        score[i] = -np.inf  # never again; an infinite similarity would be 0 * inf at lambda 1
        i = int((score >= score[score.argmax()] - slack).argmax())  # the first among equals
        picks[j] = i
    return picks, X[picks]


def _pick_from_many(
    rel: np.ndarray, V: np.ndarray, inverse: np.ndarray, lambda_: float, k: int, slack: float
) -> tuple[np.ndarray, np.ndarray]:
    """Pick as `_pick_from_few` does.

    Scores are screened in float32, which halves the memory to read; rows that lie within the rounding
    error of the best are compared in float64.
    """
    exact = _Penalties(V, inverse, k)
    X = np.multiply(V, inverse[:, None], dtype=np.float32, casting="same_kind")
    gain = lambda_ * rel
    bounds = _Bounds(X, gain, lambda_ - 1)
    # Rounding of a product of d terms, twice, and of the sum that follows.
    error = 2.0**-23 * ((1 - lambda_) * (V.shape[1] + 16) + 4 * float(np.abs(gain).max()) + 4)
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
