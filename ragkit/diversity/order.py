"""MMR on the arrays of one query: exact in float64, fast for large pools."""

from __future__ import annotations

import numpy as np

from ragkit.similarity import normalize_rows

_BLOCK = 256  # rows of a product at a time
_FEW = 4096  # up to this many candidates the plain loop is faster than the lazy one
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
    squares = np.einsum("ij,ij->i", V, V, dtype=None if V.dtype == np.float64 else np.float64)
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


def _pick_from_few(
    rel: np.ndarray, V: np.ndarray, inverse: np.ndarray, lambda_: float, k: int, slack: float
) -> tuple[np.ndarray, np.ndarray]:
    """Pick k rows with a running minimum of all scores; give them and their vectors of length 1.

    The scores are kept in float32, which halves the memory to read; rows that lie within the rounding
    error of the best are compared in float64.
    """
    exact = _Penalties(V, inverse, k)
    X = np.multiply(V, inverse[:, None], dtype=np.float32, casting="same_kind")
    gain, score = lambda_ * rel, np.full(len(rel), np.inf, dtype=np.float32)
    rough, weight = gain.astype(np.float32), np.float32(lambda_ - 1)
    # Rounding of a product of d terms, twice, and of the sum that follows.
    error = 2.0**-23 * ((1 - lambda_) * (V.shape[1] + 16) + 4 * float(np.abs(gain).max()) + 4)
    i = int(np.argmax(rel >= rel.max() - slack))  # the most relevant, at lambda 0 too
    exact.pick(i)
    for _ in range(1, k):
        with np.errstate(invalid="ignore"):  # BLAS may raise the flag for lanes that it loads and never uses
            step = X @ (X[i] * weight)
        step += rough
        np.minimum(score, step, out=score)
        score[i] = -np.inf  # never again; an infinite similarity would be 0 * inf at lambda 1
        near = np.flatnonzero(score >= score.max() - error)
        i = int(near[0])
        if len(near) > 1:
            value = gain[near] - (1 - lambda_) * exact.of(near)
            i = int(near[np.argmax(value >= value.max() - slack)])  # the first among equals
        exact.pick(i)
    return exact.picks, exact.P()


def _pick_from_many(
    rel: np.ndarray, V: np.ndarray, inverse: np.ndarray, lambda_: float, k: int, slack: float
) -> tuple[np.ndarray, np.ndarray]:
    """Pick as `_pick_from_few` does, but update only rows that may win.

    A running maximum only grows, so a score that is out of date bounds the true one from above: rows whose
    bound lies below the best true score need no update (lazy greedy, Minoux 1978).
    """
    exact = _Penalties(V, inverse, k)
    gain, bound = lambda_ * rel, np.zeros(len(rel))
    i = int(np.argmax(rel >= rel.max() - slack))
    exact.pick(i)
    last, fall = 0.0, 0.0
    for j in range(1, k):
        bound[i] = -np.inf
        # Guess how far the best score falls; a wrong guess costs another round, never the result.
        level = last - fall - slack if j > 1 else -np.inf
        while True:
            rows = np.flatnonzero((bound >= level) & (bound > -np.inf))
            bound[rows] = value = gain[rows] - (1 - lambda_) * exact.of(rows)
            best = value.max(initial=-np.inf)
            if len(rows) and best - slack >= level:
                break
            level = (best if len(rows) else bound.max()) - slack
        i = int(rows[np.argmax(value >= best - slack)])
        exact.pick(i)
        fall = fall / 2 + max(last - best, 0.0) if j > 1 else 0.0
        last = best
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
