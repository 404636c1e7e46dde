"""The fused run as a frame: every score beside its parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ragkit.frames import ranks_within
from ragkit.fusion.align import SUFFIXES, Pool, Source
from ragkit.fusion.methods import Column, Parts


class Ledger:
    """The fused run, written block by block, while what belongs to a block is still in the cache.

    Parameters
    ----------
    pool : Pool
        What is fused.
    top_k : int or None
        How many rows each query keeps.
    """

    def __init__(self, pool: Pool, top_k: int | None):
        self.pool, self.top_k = pool, top_k
        self.kept = pool.sizes if top_k is None else np.minimum(pool.sizes, top_k)
        self.travelling = _travelling(pool)
        self._end, n = 0, int(self.kept.sum())
        names = ["score", "relative_score"]
        names += [f"{name}_{suffix}" for name in pool.names for suffix in SUFFIXES]
        # Memory in one piece comes far cheaper than column by column.
        self._numbers = dict(zip(names, np.zeros((len(names), n))))
        self._rank = np.empty(n, dtype=np.int64)
        self._unit = np.empty(n, dtype=pool.units.dtype)
        self._doc = None if pool.docs is None else np.empty(n, dtype=pool.docs.dtype)
        self._runs = np.zeros(n, dtype=np.min_scalar_type((1 << len(pool.names)) - 1))  # a bit for each run
        self._slot = np.empty(n if self.travelling else 0, dtype=np.intp)

    @property
    def score(self) -> np.ndarray:
        """Score of each row."""
        return self._numbers["score"]

    def write(
        self, block: Pool, score: np.ndarray, order: np.ndarray, columns: list[Column], parts: Parts
    ) -> None:
        """Write the rows of the next block."""
        slots = order if self.top_k is None else order[ranks_within(block.query) <= self.top_k]
        rows = slice(self._end, self._end + len(slots))
        self._end = rows.stop
        query = block.query.take(slots)
        self._rank[rows] = ranks_within(query)
        self._unit[rows] = block.units.take(slots)
        if self._doc is not None and block.docs is not None:
            self._doc[rows] = block.docs.take(slots)
        if self.travelling:
            self._slot[rows] = slots + block.first
        score.take(slots, out=self.score[rows], mode="clip")
        for number, (column, part) in enumerate(zip(columns, parts)):
            source = column.source
            at = _rows_behind(slots, source, len(block))
            rank, raw, normalized, contribution = (
                self._numbers[f"{source.name}_{suffix}"][rows] for suffix in SUFFIXES
            )
            _put(rank, Column(source, source.rank, np.nan), at, query)
            _put(raw, Column(source, source.score, np.nan), at, query)
            _put(normalized, column, at, query)
            if isinstance(part, Column):
                _put(contribution, part, at, query)
            else:
                part.take(slots, out=contribution, mode="clip")
            self._runs[rows] |= (~np.isnan(rank)).astype(self._runs.dtype) << number

    def frame(self, bound: np.ndarray) -> pd.DataFrame:
        """Make the frame; `bound` is the highest possible score of each query."""
        pool = self.pool
        out: dict[str, Any] = {"query_id": _column(pool.query_ids).repeat(self.kept)}
        out[pool.unit] = _column(pool.unit_ids, self._unit)
        if self._doc is not None:
            out["doc_id"] = _column(pool.doc_ids, self._doc)
        out["rank"], out["score"] = self._rank, self.score
        out["relative_score"] = self._relative(np.repeat(bound, self.kept))
        out["source"] = _named(pool.names, self._runs)
        frame = pd.DataFrame(out | self._numbers, copy=False)
        return pd.concat([frame, self._carried()], axis=1) if self.travelling else frame

    def _relative(self, bound: np.ndarray) -> np.ndarray:
        """Divide the scores by the highest possible ones; what is not above 0 stays 0."""
        out = self._numbers["relative_score"]
        np.divide(self.score, bound, out=out, where=bound > 0)
        return np.clip(out, 0.0, 1.0, out=out)

    def _carried(self) -> pd.DataFrame:
        """Bring along the runs' other columns; each unit's come from the run that ranks it best."""
        pieces = []
        for source in self.pool.sources:
            piece = source.frame[self.travelling[source.name]]
            piece = piece if source.row is None else piece.iloc[source.row]
            pieces.append(piece.assign(_slot=source.slot, _rank=source.rank))
        ranked = pd.concat(pieces, ignore_index=True).sort_values(["_slot", "_rank"], kind="stable")
        best = ranked.drop(columns="_rank").groupby("_slot").first()
        return best.reindex(self._slot).reset_index(drop=True)


def _rows_behind(slots: np.ndarray, source: Source, n_slots: int) -> np.ndarray:
    """Find the row of a run behind each slot; the number of its rows where it has none."""
    row = np.full(n_slots, len(source.slot))
    row[source.slot] = np.arange(len(source.slot))
    return row.take(slots)


def _put(out: np.ndarray, column: Column, at: np.ndarray, query: np.ndarray) -> None:
    """Write a run's values at its rows, and its fill where it has none."""
    one = np.ndim(column.fill) == 0
    np.append(column.values, column.fill if one else np.nan).take(at, out=out, mode="clip")
    if not one:
        np.copyto(out, column.fill.take(query), where=at == len(column.values))


def _column(ids: Any, numbers: np.ndarray | None = None) -> Any:
    """Make a column of ids by number; None for each once."""
    if numbers is not None and isinstance(ids, pd.CategoricalIndex):
        return pd.Categorical.from_codes(numbers, categories=ids.categories, validate=False)  # type: ignore[call-overload]
    # Texts are checked as a column while they are few.
    held = ids.array if isinstance(ids, pd.CategoricalIndex) else pd.Series(ids, dtype="str").array
    return held if numbers is None else held.take(numbers)


def _named(names: list[str], sets: np.ndarray) -> Any:
    """Name the runs that retrieved each unit, whose bits are set: ``keyword+vector``."""
    few = len(names) <= 8
    kinds = np.arange(1 << len(names)) if few else np.unique(sets)
    joined = ["+".join(n for i, n in enumerate(names) if kind >> i & 1) for kind in kinds.tolist()]
    return _column(joined, sets if few else np.searchsorted(kinds, sets))


def _travelling(pool: Pool) -> dict[str, list[str]]:
    """List the runs' other columns, which come along; nothing where no run has any."""
    taken = {"query_id", "chunk_id", "doc_id", "rank", "score", "source", "relative_score"}
    taken |= {f"{name}_{suffix}" for name in pool.names for suffix in SUFFIXES}
    extra = {s.name: [c for c in s.frame.columns if c not in taken] for s in pool.sources}
    return extra if any(extra.values()) else {}
