"""Vectors by slot, and exact search over them in blocks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ragkit.frames.topk import top_candidates
from ragkit.similarity import normalize_rows

#: Similarities by the name that ``metric=`` takes.
METRICS = ("cosine", "dot", "euclidean")

_BLOCK = 16_000_000  # scores computed at a time


class Matrix:
    """Rows by slot, with room for rows that wait to be joined.

    Attributes
    ----------
    rows : ndarray of float32 or float64, shape (n, d)
        The vectors as they were given.
    """

    def __init__(self) -> None:
        self.rows = np.empty((0, 0))
        self._waiting: list[np.ndarray] = []
        self.dtype: np.dtype | None = None
        self.dim: int | None = None

    def append(self, rows: np.ndarray) -> None:
        """Give the next slots to rows; a copy is kept."""
        if not len(rows):
            return
        self.dim = rows.shape[1]
        self._waiting.append(rows.copy())

    def settle(self, kept: np.ndarray) -> None:
        """Join what waits and drop the slots that are not in `kept` (ascending)."""
        if self._waiting:
            parts = ([self.rows] if len(self.rows) else []) + self._waiting
            self._waiting = []
            self._set(parts[0] if len(parts) == 1 else np.concatenate(parts))
        if len(kept) < len(self.rows):
            self._set(self.rows[kept])

    def _set(self, rows: np.ndarray) -> None:
        self.rows = rows
        lengths = row_lengths(rows)
        self._inverse = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        # Products of plain rows can neither overflow nor vanish in their own dtype.
        low, high = (1e-15, 1e15) if rows.dtype == np.float32 else (1e-150, 1e150)
        positive = lengths[lengths > 0]
        self._plain = bool(((positive > low) & (positive < high)).all())

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.rows.nbytes + (self._inverse.nbytes if len(self.rows) else 0)

    def nearest(
        self,
        queries: np.ndarray,
        metric: str,
        top_k: int | None,
        allowed: np.ndarray | None,
        min_score: float | None,
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Find for each query the slots that may be among its nearest, with their exact similarities.

        A matrix product in the vectors' own dtype picks the candidates with room for its rounding; their
        similarities are then computed row by row in float64, so no blocking of the product can decide an
        order.
        """
        n = len(self.rows)
        step = max(1, _BLOCK // max(n, 1))
        for start in range(0, len(queries), step):
            block = queries[start : start + step]
            for query, rough in zip(block, self._rough(block, metric)):
                if allowed is not None:
                    rough = np.where(allowed, rough, -np.inf)
                slots = self._candidates(rough, metric, top_k)
                scores = similarities(query, self.rows[slots], metric)
                if min_score is not None:
                    good = scores >= min_score - 1e-9 * max(1.0, abs(min_score))
                    slots, scores = slots[good], scores[good]
                yield slots, scores

    def _rough(self, queries: np.ndarray, metric: str) -> np.ndarray:
        """Score every slot roughly: any number that rises with the similarity of one query."""
        unit = normalize_rows(queries.astype(np.float64))
        rows, inverse = self.rows, self._inverse
        if not self._plain and metric == "cosine":
            rows, inverse = normalize_rows(rows.astype(np.float64)), np.ones(len(rows))
        elif not self._plain:
            rows = rows.astype(np.float64)
        scores = unit.astype(rows.dtype) @ rows.T
        if metric == "cosine":
            scores *= inverse.astype(rows.dtype)
        elif metric == "euclidean":  # |q - x|^2 = |q|^2 - 2 (q x - |x|^2 / 2)
            lengths = row_lengths(queries)[:, None]
            half = 0.5 * np.divide(1.0, inverse, out=np.zeros_like(inverse), where=inverse > 0) ** 2
            scores = scores * lengths.astype(rows.dtype) - half.astype(rows.dtype)
        return scores

    def _candidates(self, rough: np.ndarray, metric: str, top_k: int | None) -> np.ndarray:
        if top_k is None or top_k >= len(rough):
            return np.flatnonzero(rough > -np.inf)
        # The rounding of a product of d numbers is at most d eps |q| |x|.
        room = 4 * self.rows.shape[1] * np.finfo(rough.dtype).eps
        top = top_candidates(rough, top_k)
        if not len(top):
            return top
        cut = np.partition(rough[top], max(0, len(top) - top_k))[max(0, len(top) - top_k)]
        largest = float(np.abs(rough[rough > -np.inf]).max(initial=0.0)) if metric != "cosine" else 1.0
        return np.flatnonzero(rough >= cut - room * largest)


def row_lengths(rows: np.ndarray) -> np.ndarray:
    """Compute the Euclidean length of each row in float64, safe from overflow."""
    largest = np.abs(rows).max(axis=1, initial=0.0).astype(np.float64)
    out = np.zeros(len(rows))
    for start in range(0, len(rows), 65536):  # in blocks, so that no second matrix is made
        part = slice(start, start + 65536)
        scale = np.where(largest[part] > 0, largest[part], 1.0)
        scaled = rows[part] / scale[:, None]
        out[part] = np.sqrt(np.einsum("ij,ij->i", scaled, scaled)) * scale
    return out


def similarities(query: np.ndarray, rows: np.ndarray, metric: str) -> np.ndarray:
    """Compute the similarity of one vector with each row, in float64, row by row."""
    q, x = query.astype(np.float64)[None, :], rows.astype(np.float64)
    if metric == "cosine":
        return np.clip(
            np.einsum("ij,ij->i", normalize_rows(x), np.broadcast_to(normalize_rows(q), x.shape)), -1, 1
        )
    if metric == "dot":
        return np.einsum("ij,ij->i", x, np.broadcast_to(q, x.shape))
    return 1 / (1 + row_lengths(x - q))
