"""The fused run as a frame: every score beside its parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ragkit.frames import ranks_within
from ragkit.fusion.align import SUFFIXES, Pool
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
        self._columns: dict[str, np.ndarray] = {}
        self._end = 0

    def write(
        self, block: Pool, score: np.ndarray, order: np.ndarray, columns: list[Column], parts: Parts
    ) -> None:
        """Write the rows of the next block."""
        slots = order if self.top_k is None else order[ranks_within(block.query) <= self.top_k]
        rows = _rows(block, score, slots, columns, parts)
        if self.travelling:
            rows["slot"] = slots + block.first
        start, self._end, n = self._end, self._end + len(slots), int(self.kept.sum())
        if len(slots) == n:
            self._columns = rows
            return
        self._columns = self._columns or _room(rows, n)
        for name, values in rows.items():
            self._columns[name][start : self._end] = values

    @property
    def score(self) -> np.ndarray:
        """Score of each row."""
        return self._columns["score"]

    def frame(self, bound: np.ndarray) -> pd.DataFrame:
        """Make the frame; `bound` is the highest possible score of each query."""
        pool, columns = self.pool, self._columns
        out: dict[str, Any] = {"query_id": _column(pool.query_ids).repeat(self.kept)}
        out[pool.unit] = _column(pool.unit_ids, columns.pop("unit"))
        if pool.docs is not None:
            out["doc_id"] = _column(pool.doc_ids, columns.pop("doc"))
        out["rank"], out["score"] = columns.pop("rank"), columns.pop("score")
        out["relative_score"] = _relative(out["score"], np.repeat(bound, self.kept))
        out["source"] = _named(pool.names, columns.pop("source"))
        slots = columns.pop("slot", None)
        frame = pd.DataFrame(out | columns, copy=False)
        return frame if slots is None else pd.concat([frame, _carried(pool, self.travelling, slots)], axis=1)


def _room(rows: dict[str, np.ndarray], n: int) -> dict[str, np.ndarray]:
    """Make columns of n rows; the floats share one array: memory in one piece comes far cheaper."""
    floats = [name for name, values in rows.items() if values.dtype == np.float64]
    shared = dict(zip(floats, np.empty((len(floats), n))))
    return {name: shared[name] if name in shared else np.empty(n, v.dtype) for name, v in rows.items()}


def _rows(
    block: Pool, score: np.ndarray, slots: np.ndarray, columns: list[Column], parts: Parts
) -> dict[str, np.ndarray]:
    """Write the columns of some slots: ids and sets of runs as numbers, which become texts all at once."""
    query = block.query.take(slots)
    out = {"unit": block.units.take(slots), "rank": ranks_within(query), "score": score.take(slots)}
    if block.docs is not None:
        out["doc"] = block.docs.take(slots)
    out["source"] = np.zeros(len(slots), dtype=np.uint8 if len(columns) <= 8 else np.int64)
    for number, (column, part) in enumerate(zip(columns, parts)):
        source, name = column.source, column.source.name
        row = np.full(len(block), len(source.slot))  # behind the run's own rows, where `_taken` has the fill
        row[source.slot] = np.arange(len(source.slot))
        at = row.take(slots)
        out[f"{name}_rank"] = rank = _taken(source.rank, np.nan, at, query)
        out[f"{name}_score"] = _taken(source.score, np.nan, at, query)
        out[f"{name}_normalized"] = _taken(column.values, column.fill, at, query)
        out[f"{name}_contribution"] = (
            _taken(part.values, part.fill, at, query) if isinstance(part, Column) else part.take(slots)
        )
        out["source"] |= (~np.isnan(rank)).astype(out["source"].dtype) << number
    return out


def _taken(values: np.ndarray, fill: Any, at: np.ndarray, query: np.ndarray) -> np.ndarray:
    """Take a run's values; where it has none, the fill, which is one number or one for each query."""
    if np.ndim(fill) == 0:
        return np.append(values, fill).take(at)
    return np.where(at == len(values), fill.take(query), np.append(values, np.nan).take(at))


def _column(ids: Any, numbers: np.ndarray | None = None) -> Any:
    """Make a column of ids by number; None for each once."""
    if numbers is not None and isinstance(ids, pd.CategoricalIndex):
        return pd.Categorical.from_codes(numbers, categories=ids.categories, validate=False)  # type: ignore[call-overload]
    # Texts are checked as a column while they are few.
    held = ids.array if isinstance(ids, pd.CategoricalIndex) else pd.Series(ids, dtype="str").array
    return held if numbers is None else held.take(numbers)


def _relative(score: np.ndarray, bound: np.ndarray) -> np.ndarray:
    out = np.divide(score, bound, out=np.zeros(len(score)), where=bound > 0)
    return np.clip(out, 0.0, 1.0, out=out)


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


def _carried(pool: Pool, extra: dict[str, list[str]], slots: np.ndarray) -> pd.DataFrame:
    """Bring along the runs' other columns; each unit's come from the run that ranks it best."""
    pieces = []
    for source in pool.sources:
        piece = source.frame[extra[source.name]]
        piece = piece if source.row is None else piece.iloc[source.row]
        pieces.append(piece.assign(_slot=source.slot, _rank=source.rank))
    stacked = pd.concat(pieces, ignore_index=True)
    best = (
        stacked.sort_values(["_slot", "_rank"], kind="stable").drop(columns="_rank").groupby("_slot").first()
    )
    return best.reindex(slots).reset_index(drop=True)
