"""Vectors by slot, and exact search over them in blocks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ragkit.frames.ranking import NEAR
from ragkit.similarity import normalize_rows, row_distances, row_lengths, row_products

#: Similarities by the name that ``metric=`` takes.
METRICS = ("cosine", "dot", "euclidean")

_SCORES = 8_000_000  # scores computed at a time: they should stay near the processor
_NARROWEST = 8192  # columns of one matrix product at least
_QUERIES = 1024  # queries of one matrix product
_PAIRS = 512  # pairs of vectors compared at a time
_COLUMNS = 1 << 29  # bytes up to which the vectors are kept transposed as well, which products read faster


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
        self.dim: int | None = None
        self._columns: np.ndarray | None = None  # made when first searched

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
        self.rows, self._columns = rows, None
        self.lengths = row_lengths(rows)
        self.plain = _all_plain(self.lengths, rows.dtype)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        transposed = 0 if self._columns is None else self._columns.nbytes
        return self.rows.nbytes + transposed + (self.lengths.nbytes if len(self.rows) else 0)

    @property
    def columns(self) -> np.ndarray | None:
        """The rows at length 1 and transposed, which products read fastest; None where they are too many."""
        if self._columns is None and self.rows.nbytes <= _COLUMNS:
            columns = np.empty(self.rows.shape[::-1], dtype=self.rows.dtype)
            for start in range(0, len(self.rows), _PAIRS):
                part = slice(start, start + _PAIRS)
                columns[:, part] = normalize_rows(self.rows[part]).T
            self._columns = columns  # whole, for a thread that searches meanwhile
        return self._columns

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
        order. No more than one block of scores is held at a time.
        """
        n = len(self.rows)
        count = n if allowed is None else int(np.count_nonzero(allowed))
        for start in range(0, len(queries), _QUERIES):
            block = queries[start : start + _QUERIES]
            if top_k is None or 4 * top_k >= count or not self._can_multiply(block, metric):
                every = np.arange(n) if allowed is None else np.flatnonzero(allowed)
                found: Iterator[tuple[np.ndarray, np.ndarray]] = (
                    (every, self.exact(query, every, metric)) for query in block
                )
            else:
                found = self._pairs(block, metric, top_k, allowed)
            for slots, scores in found:
                if min_score is not None:
                    good = scores >= min_score - 1e-9 * max(1.0, abs(min_score))
                    slots, scores = slots[good], scores[good]
                yield slots, scores

    def _can_multiply(self, queries: np.ndarray, metric: str) -> bool:
        """Say whether rough scores stay within the dtype; directions, of length 1, always do."""
        return metric == "cosine" or (self.plain and _all_plain(row_lengths(queries), self.rows.dtype))

    def _pairs(
        self, queries: np.ndarray, metric: str, top_k: int, allowed: np.ndarray | None
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Search one block of queries: candidates by product, then their exact similarities."""
        most = _SCORES if len(queries) > 1 else len(self.rows)
        rows, slots = self._candidates(queries, metric, top_k, allowed, most)
        if len(rows) > most:  # crowds of equals: fewer queries at a time
            half = len(queries) // 2
            yield from self._pairs(queries[:half], metric, top_k, allowed)
            yield from self._pairs(queries[half:], metric, top_k, allowed)
            return
        ends = np.cumsum(np.bincount(rows, minlength=len(queries)))  # _tighten has put rows in order
        scores = self.exact_pairs(queries, rows, slots, metric)
        yield from zip(np.split(slots, ends[:-1]), np.split(scores, ends[:-1]))

    def _candidates(
        self, queries: np.ndarray, metric: str, top_k: int, allowed: np.ndarray | None, most: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Pick pairs of query row and slot: all that may be among a query's best `top_k`.

        Each query keeps a threshold, a lower bound of its `top_k`-th best so far; only what reaches it is
        looked at, which after the first block of documents is little. More than `most` pairs end the search.
        """
        n, m = len(self.rows), len(queries)
        width = min(n, max(_SCORES // m, _NARROWEST, 16 * top_k))
        product = Product(self, queries, metric, width)
        lowest = np.finfo(self.rows.dtype).min  # -inf marks what may not be found
        floor = np.full(m, lowest, dtype=self.rows.dtype)
        kept: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        size = 0
        for start in range(0, n, width):
            scores = product.block(start, min(n, start + width))
            if allowed is not None:
                scores[:, ~allowed[start : start + width]] = -np.inf
            if start == 0:
                floor = np.maximum(_row_bounds(scores, top_k) - product.room, lowest)
            flat = np.flatnonzero(product.reaching(scores, floor))
            rows = flat // scores.shape[1]
            kept.append((rows, flat - rows * scores.shape[1] + start, scores.ravel()[flat]))
            size += len(flat)
            if size > 4 * m * top_k:
                floor, kept = _tighten(kept, floor, top_k, product.room)
                size = len(kept[0][0])
            if size > most:
                break
        _, kept = _tighten(kept, floor, top_k, product.room)
        return kept[0][0], kept[0][1]

    def exact(self, query: np.ndarray, slots: np.ndarray, metric: str) -> np.ndarray:
        """Compute the similarity of one vector with some slots, in float64, row by row."""
        return self.exact_pairs(query[None], np.zeros(len(slots), dtype=np.int64), slots, metric)

    def exact_pairs(
        self, queries: np.ndarray, rows: np.ndarray, slots: np.ndarray, metric: str
    ) -> np.ndarray:
        """Compute the similarity of pairs of query row and slot; each pair by itself, whatever the others."""
        q, lengths = queries.astype(np.float64), row_lengths(queries)
        plain = self.plain and _all_plain(lengths, queries.dtype)
        out = np.empty(len(slots))
        for start in range(0, len(slots), _PAIRS):
            part = slice(start, start + _PAIRS)
            a, x = q[rows[part]], self.rows[slots[part]].astype(np.float64)
            if metric == "euclidean":
                out[part] = 1 / (1 + row_distances(x, a))
            elif metric == "dot":
                out[part] = _finite(row_products(x, a))
            elif plain:
                norms = lengths[rows[part]] * self.lengths[slots[part]]
                dots = np.einsum("ij,ij->i", x, a)
                out[part] = np.divide(dots, norms, out=np.zeros(len(dots)), where=norms > 0)
            else:
                out[part] = np.einsum("ij,ij->i", normalize_rows(x), normalize_rows(a))
        return np.clip(out, -1, 1) if metric == "cosine" else out


class Product:
    """Rough scores of a block of queries: numbers that rise with the similarity, in the vectors' dtype.

    Attributes
    ----------
    room : ndarray, shape (m,)
        How far below another a score may lie that is no worse: a sum of d products is off by at most
        ``d eps |q| |x|``, and similarities that agree in 12 digits are ties, which ids decide.
    """

    def __init__(self, matrix: Matrix, queries: np.ndarray, metric: str, width: int):
        self.rows, self.columns, self.metric, dtype = matrix.rows, matrix.columns, metric, matrix.rows.dtype
        self.units = normalize_rows(queries.astype(np.float64)).astype(dtype)
        self.query_lengths, longest = row_lengths(queries), float(matrix.lengths.max())
        scale = tied = np.ones(len(queries)) if metric == "cosine" else np.full(len(queries), longest)
        if metric == "euclidean":
            farthest = self.query_lengths + longest
            # Where 1 / (1 + D) changes by a part t of itself, D^2 / 2 changes by t D (1 + D).
            scale, tied = longest * farthest, farthest * (1 + farthest)
            self.half = (0.5 * matrix.lengths**2).astype(dtype)
        rounding = 2 * (matrix.rows.shape[1] + 4) * np.finfo(dtype).eps
        self.room = (rounding * scale + NEAR * tied).astype(dtype)
        self.directions = self.columns is not None or (metric == "cosine" and not matrix.plain)
        self.factor = None  # from what is multiplied, the vector or its direction, to what is wanted
        if self.directions and metric != "cosine":
            self.factor = matrix.lengths.astype(dtype)
        elif metric == "cosine" and not self.directions:
            self.factor = (1 / np.where(matrix.lengths > 0, matrix.lengths, 1)).astype(dtype)
        # One block of scores, and of which are high, used again and again: new memory costs time.
        self.scores = np.empty(len(queries) * width, dtype=dtype)
        self.high = np.empty(len(queries) * width, dtype=bool)

    def block(self, start: int, end: int) -> np.ndarray:
        """Score the vectors from `start` to `end`; the next block takes the place of this one."""
        scores = self.scores[: len(self.units) * (end - start)].reshape(len(self.units), end - start)
        if self.columns is not None:
            columns = self.columns[:, start:end]
        else:
            rows = self.rows[start:end]
            columns = (normalize_rows(rows) if self.directions else rows).T
        np.matmul(self.units, columns, out=scores)
        if self.factor is not None:
            scores *= self.factor[start:end]
        if self.metric == "euclidean":  # |q - x|^2 = |q|^2 - 2 (q x - |x|^2 / 2)
            scores *= self.query_lengths[:, None].astype(scores.dtype)
            scores -= self.half[start:end]
        return scores

    def reaching(self, scores: np.ndarray, floor: np.ndarray) -> np.ndarray:
        """Say which scores of a block reach the threshold of their query."""
        high = self.high[: scores.size].reshape(scores.shape)
        return np.greater_equal(scores, floor[:, None], out=high)


def _all_plain(lengths: np.ndarray, dtype: np.dtype) -> bool:
    """Say whether products of rows of these lengths can neither overflow nor vanish in their own dtype."""
    low, high = (1e-15, 1e15) if dtype == np.float32 else (1e-120, 1e120)
    positive = lengths[lengths > 0]
    return bool(((positive > low) & (positive < high)).all())


def _finite(products: np.ndarray) -> np.ndarray:
    """Refuse dot products beyond float64: as scores they could not be ranked, fused or drawn."""
    if not np.isfinite(products).all():
        raise ValueError(
            "dot products must lie within float64, below 1.8e308, to be scores; these vectors are too long. "
            "Scale them, or use metric='cosine'."
        )
    return products


def _row_bounds(scores: np.ndarray, top_k: int) -> np.ndarray:
    """Bound each row's `top_k`-th best from below, by the maxima of interleaved groups of columns."""
    groups = max(128, 4 * top_k)
    depth = scores.shape[1] // groups
    if depth < 2:
        return np.partition(scores, scores.shape[1] - top_k, axis=1)[:, scores.shape[1] - top_k]
    maxima = scores[:, : depth * groups].reshape(len(scores), depth, groups).max(axis=1)
    return np.partition(maxima, groups - top_k, axis=1)[:, groups - top_k]


def _tighten(
    kept: list[tuple[np.ndarray, np.ndarray, np.ndarray]], floor: np.ndarray, top_k: int, room: np.ndarray
) -> tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray, np.ndarray]]]:
    """Raise each query's threshold to its `top_k`-th best so far, and drop what lies below."""
    rows, slots, scores = (np.concatenate(parts) for parts in zip(*kept))
    order = np.lexsort((-scores, rows))
    rows, slots, scores = rows[order], slots[order], scores[order]
    counts = np.bincount(rows, minlength=len(floor))
    last = np.cumsum(counts) - counts + top_k - 1  # where a query's top_k-th best stands
    full = counts >= top_k
    floor = floor.copy()
    floor[full] = np.maximum(floor[full], scores[last[full]] - room[full])
    keep = scores >= floor[rows]
    return floor, [(rows[keep], slots[keep], scores[keep])]
