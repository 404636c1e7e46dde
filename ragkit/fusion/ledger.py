"""The fused run as a frame: every score beside its parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ragkit.frames import ranks_within
from ragkit.fusion.align import SUFFIXES, Pool, Source
from ragkit.fusion.methods import Column, Parts


def write_ledger(
    pool: Pool,
    score: np.ndarray,
    bound: np.ndarray,
    columns: list[Column],
    parts: Parts,
    order: np.ndarray,
    top_k: int | None,
) -> tuple[pd.DataFrame, np.ndarray]:
    """Write the fused run: one column at a time, straight into its final order."""
    ranks = ranks_within(pool.query)
    keep = None if top_k is None else np.flatnonzero(ranks <= top_k)
    rows = order if keep is None else order[keep]
    query = pool.query if keep is None else pool.query[keep]
    place = _Places(len(pool), rows)
    out: dict[str, Any] = {"query_id": _ids(pool.query_ids, query)}
    out[pool.unit] = _ids(pool.unit_ids, pool.units[rows])
    if pool.docs is not None:
        out["doc_id"] = _ids(pool.doc_ids, pool.docs[rows])
    out["rank"] = ranks if keep is None else ranks[keep]
    out["score"] = score[rows]
    out["relative_score"] = _relative(out["score"], bound[query])
    out["source"] = _sources(pool, place)
    for column, part in zip(columns, parts):
        source, name = column.source, column.source.name
        where = place.of(source)
        out[f"{name}_rank"] = place.put(where, source.rank)
        out[f"{name}_score"] = place.put(where, source.score)
        out[f"{name}_normalized"] = place.put(where, column.values, column.fill, query)
        if isinstance(part, Column):
            out[f"{name}_contribution"] = place.put(where, part.values, part.fill, query)
        else:
            out[f"{name}_contribution"] = part[rows]
    return pd.DataFrame(out, copy=False), rows


class _Places:
    """Where each slot of a pool stands in the frame, if it is in it."""

    def __init__(self, n: int, rows: np.ndarray):
        self.n = len(rows)
        self.all = n == len(rows)
        self.by_slot = np.full(n, -1, dtype=np.int64)
        self.by_slot[rows] = np.arange(len(rows))
        self._known: dict[str, tuple[np.ndarray, np.ndarray | None]] = {}

    def of(self, source: Source) -> tuple[np.ndarray, np.ndarray | None]:
        """Rows of the frame for a run's rows, and which of its rows are kept (None: all)."""
        if source.name not in self._known:
            place = self.by_slot[source.slot]
            kept = None if self.all else np.flatnonzero(place >= 0)
            self._known[source.name] = (place if kept is None else place[kept]), kept
        return self._known[source.name]

    def put(
        self,
        where: tuple[np.ndarray, np.ndarray | None],
        values: np.ndarray,
        fill: Any = np.nan,
        query: np.ndarray | None = None,
    ) -> np.ndarray:
        """Write a run's values into a column of the frame."""
        place, kept = where
        out = np.full(self.n, fill) if np.ndim(fill) == 0 else np.asarray(fill)[query]
        out[place] = values if kept is None else values[kept]
        return out


def _ids(uniques: Any, codes: np.ndarray) -> Any:
    if isinstance(uniques, pd.CategoricalIndex):
        own = np.asarray(uniques.codes)
        codes = codes if np.array_equal(own, np.arange(len(own))) else own[codes]
        return pd.Categorical.from_codes(codes, categories=uniques.categories, validate=False)  # type: ignore[call-overload]
    return pd.Series(np.asarray(uniques, dtype=object)[codes], dtype="str")


def _relative(score: np.ndarray, bound: np.ndarray) -> np.ndarray:
    return np.clip(np.divide(score, bound, out=np.zeros(len(score)), where=bound > 0), 0.0, 1.0)


def _sources(pool: Pool, place: _Places) -> pd.Series:
    """Name the runs that retrieved each unit: ``keyword+vector``."""
    bits = np.zeros(place.n, dtype=np.int64)
    for number, source in enumerate(pool.sources):
        where, kept = place.of(source)
        retrieved = ~np.isnan(source.rank if kept is None else source.rank[kept])
        bits[where[retrieved]] |= 1 << number
    kinds = list(range(1 << len(pool.sources))) if len(pool.sources) <= 10 else np.unique(bits).tolist()
    inverse = bits if len(pool.sources) <= 10 else np.searchsorted(kinds, bits)
    names = ["+".join(n for i, n in enumerate(pool.names) if kind >> i & 1) for kind in kinds]
    return pd.Series(np.array(names, dtype=object)[inverse], dtype="str")


def add_travelling(pool: Pool, frame: pd.DataFrame, rows: np.ndarray) -> pd.DataFrame:
    """Bring along the runs' other columns; each unit's come from the run that ranks it best."""
    taken = {"query_id", "chunk_id", "doc_id", "rank", "score", "source", "relative_score"}
    taken |= {f"{name}_{suffix}" for name in pool.names for suffix in SUFFIXES}
    extra = {s.name: [c for c in s.frame.columns if c not in taken] for s in pool.sources}
    if not any(extra.values()):
        return frame
    pieces = []
    for source in pool.sources:
        piece = source.frame[extra[source.name]]
        piece = piece if source.row is None else piece.iloc[source.row]
        pieces.append(piece.assign(_slot=source.slot, _rank=source.rank))
    stacked = pd.concat(pieces, ignore_index=True)
    best = (
        stacked.sort_values(["_slot", "_rank"], kind="stable").drop(columns="_rank").groupby("_slot").first()
    )
    best = best.reindex(rows).reset_index(drop=True)
    return pd.concat([frame, best], axis=1)
