"""Align runs: each (query, unit) of their union gets one slot, shared by every method and ledger column.

Alignment is the dear part of a fusion and depends on the runs alone, so moving a weight re-uses it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ragkit.frames import as_run, id_array, some, unit_column

#: Ledger columns of each run, as ``<name>_<suffix>``.
SUFFIXES = ("rank", "score", "normalized", "contribution")
_RESERVED = frozenset(
    "query_id chunk_id doc_id rank score source relative_score "
    "mmr_relevance max_similarity nearest_selected previous_rank previous_score".split()
)
_CELLS = 1 << 18  # cells of the look-up table of one block of queries; small enough for the cache


@dataclass
class Source:
    """One run inside a pool: its rows, grouped by query, and the slots they stand in."""

    name: str
    rank: np.ndarray  # float; NaN for a unit that was scored but not retrieved
    score: np.ndarray
    slot: np.ndarray  # place of each row in the pool
    sizes: np.ndarray  # rows for each query of the pool
    frame: pd.DataFrame  # the run itself, for columns that travel along
    row: np.ndarray | None  # row of `frame` behind each row here; None when they are the same
    absent: np.ndarray | None = None  # queries this side could not be asked, as flags

    @property
    def starts(self) -> np.ndarray:
        """First row of each query."""
        return np.cumsum(self.sizes) - self.sizes


@dataclass
class Pool:
    """The union of several runs: slots grouped by query, in order of first appearance."""

    sources: list[Source]
    unit: str
    query: np.ndarray  # query number of each slot, ascending
    query_ids: Any  # ids by number
    units: np.ndarray  # unit number of each slot
    unit_ids: Any
    docs: np.ndarray | None  # document number of each slot, for chunks
    doc_ids: Any
    sizes: np.ndarray  # slots of each query
    cache: dict = field(default_factory=dict, repr=False)

    @property
    def names(self) -> list[str]:
        """Names of the runs, in the order given."""
        return [source.name for source in self.sources]

    @property
    def starts(self) -> np.ndarray:
        """First slot of each query."""
        return np.cumsum(self.sizes) - self.sizes

    def __len__(self) -> int:
        return len(self.query)

    def spread(self, source: Source, values: np.ndarray, fill: Any = np.nan) -> np.ndarray:
        """Place a run's values into the slots; other slots get `fill` (one number, or one for each query)."""
        out = np.full(len(self), fill) if np.ndim(fill) == 0 else np.repeat(fill, self.sizes)
        out[source.slot] = values
        return out

    def unit_order(self, units: np.ndarray) -> np.ndarray:
        """Give whole numbers that sort as the ids of these unit numbers do."""
        asked = np.zeros(len(self.unit_ids), dtype=bool)
        asked[units] = True
        numbers = np.flatnonzero(asked)
        place = np.empty(len(asked), dtype=np.int64)
        place[numbers[np.argsort(id_array(self.unit_ids.take(numbers)).astype(str))]] = np.arange(
            len(numbers)
        )
        return place[units]


def named_runs(runs: Any) -> dict[str, Any]:
    """Name the runs: a dict's keys, or ``run_1, run_2, ...`` for a list."""
    if isinstance(runs, Mapping):
        named = dict(runs)
    elif isinstance(runs, Sequence) and not isinstance(runs, (str, bytes)):
        named = {f"run_{number}": run for number, run in enumerate(runs, 1)}
    else:
        raise TypeError(
            'fuse needs a dict of name to run, such as {"keyword": a, "vector": b}; '
            f"got {type(runs).__name__}."
        )
    if not named:
        raise ValueError("fuse needs at least one run; got none.")
    check_names(named)
    return named


def check_names(names: Iterable[Any]) -> None:
    """Refuse names of runs that would spoil the ledger."""
    for name in names:
        _check_name(name)


def _check_name(name: Any) -> None:
    if not isinstance(name, str) or not name:
        raise TypeError(f"names of runs must be non-empty strings; got {name!r}.")
    if "+" in name:
        raise ValueError(f"name of a run must not hold '+', which joins names in 'source'; got {name!r}.")
    taken = [c for c in (name, *(f"{name}_{suffix}" for suffix in SUFFIXES)) if c in _RESERVED]
    if taken:
        raise ValueError(
            f"name of a run must not collide with a column of the ledger; {name!r} would make {taken[0]!r}. "
            "Give the run another name."
        )


def align(runs: Mapping[str, Any], queries: pd.Series | None = None) -> Pool:
    """Align named runs into a pool.

    Parameters
    ----------
    runs : dict of str to run
        Checked by :func:`named_runs`; each value is whatever :func:`ragkit.as_run` takes.
    queries : Series of str, optional
        Ids of the queries, in the order wanted; None for order of first appearance.

    Returns
    -------
    Pool
        The union, with each run's rows placed in it.
    """
    frames = {name: _coerced(name, run) for name, run in runs.items()}
    unit = _one_unit(frames)
    columns = ["query_id", unit] + (["doc_id"] if unit == "chunk_id" else [])
    (query, query_ids), (units, unit_ids), *rest = (
        _shared_codes([frame[column] for frame in frames.values()]) for column in columns
    )
    if queries is not None:
        (_, *query), query_ids = _shared_codes([queries, *(frame["query_id"] for frame in frames.values())])
    else:
        query, query_ids = _by_appearance(query, query_ids)
    docs, doc_ids = rest[0] if rest else (None, None)
    sources, rows = [], []
    for number, (name, frame) in enumerate(frames.items()):
        source, keep = _source(name, frame, query[number], units[number], len(query_ids))
        sources.append(source)
        rows.append(keep)
    codes = [u if keep is None else u[keep] for u, keep in zip(units, rows)]
    slot_query, slot_unit, owner = _place(sources, codes, len(query_ids), max(len(unit_ids), 1))
    slot_docs = None
    if docs is not None:
        slot_docs = np.empty(len(slot_query), dtype=np.int64)
        # Backwards, so that the first run that has the chunk names its document.
        for source, d, keep in reversed(list(zip(sources, docs, rows))):
            slot_docs[source.slot] = d if keep is None else d[keep]
    return Pool(
        sources, unit, slot_query, query_ids, slot_unit, unit_ids, slot_docs, doc_ids, owner,
    )  # fmt: skip


def _coerced(name: str, run: Any) -> pd.DataFrame:
    try:
        return as_run(run)
    except (TypeError, ValueError) as error:
        raise type(error)(f"run {name!r}: {error}") from None


def _one_unit(frames: Mapping[str, pd.DataFrame]) -> str:
    """Name the unit that all runs share; runs without rows fit either."""
    units = {name: unit_column(frame) for name, frame in frames.items()}
    filled = {name: unit for name, unit in units.items() if len(frames[name])}
    if len(set(filled.values())) > 1:
        chunks = [name for name, unit in filled.items() if unit == "chunk_id"]
        others = [name for name in filled if name not in chunks]
        raise ValueError(
            f"fuse needs runs over one unit; chunks in {some(chunks)}, documents in {some(others)}. "
            "Collapse the chunk runs first: rk.best_per_doc(run)."
        )
    unit = max((filled or units).values(), key=lambda name: name == "chunk_id")
    for name, frame in list(frames.items()):
        if unit not in frame.columns:
            frames[name] = frame.assign(**{unit: frame["doc_id"]})  # type: ignore[index]
    return unit


def _shared_codes(columns: list[pd.Series]) -> tuple[list[np.ndarray], Any]:
    """Number the ids of several columns with one numbering; categoricals stay categorical."""
    if all(isinstance(column.dtype, pd.CategoricalDtype) for column in columns):
        categories = [column.cat.categories for column in columns]
        codes = [column.cat.codes.to_numpy() for column in columns]
        if all(c is categories[0] or c.equals(categories[0]) for c in categories[1:]):
            return [c.astype(np.int64) for c in codes], pd.CategoricalIndex(
                categories[0], categories=categories[0]
            )
        maps, pooled = _shared_codes([pd.Series(c.to_numpy(dtype=object)) for c in categories])
        union = pd.Index(pooled)
        return [m[c] for m, c in zip(maps, codes)], pd.CategoricalIndex(union, categories=union)
    values = np.concatenate([id_array(column) for column in columns])
    flat, uniques = pd.factorize(values)
    bounds = np.cumsum([len(column) for column in columns])[:-1]
    return np.split(flat.astype(np.int64), bounds), uniques


def _by_appearance(codes: list[np.ndarray], ids: Any) -> tuple[list[np.ndarray], Any]:
    """Number categories in order of first appearance, and leave out those that no row has."""
    if not isinstance(ids, pd.CategoricalIndex):
        return codes, ids
    heads = [c[np.r_[True, c[1:] != c[:-1]]] if len(c) else c for c in codes]
    seen = pd.unique(np.concatenate(heads))
    number = np.empty(len(ids), dtype=np.int64)
    number[seen] = np.arange(len(seen))
    return [number[c] for c in codes], ids.take(seen)


def _source(
    name: str, frame: pd.DataFrame, query: np.ndarray, units: np.ndarray, n_queries: int
) -> tuple[Source, np.ndarray | None]:
    """Make a source of a run: rows by ascending query and rank, each unit once, at its best rank."""
    rank = frame["rank"].to_numpy(dtype=np.float64)
    score = frame["score"].to_numpy(dtype=np.float64)
    keep = None
    if (query[1:] < query[:-1]).any():
        keep = np.argsort(query, kind="stable")
        query, units, rank, score = query[keep], units[keep], rank[keep], score[keep]
    key = query * (int(units.max(initial=0)) + 1) + units
    twice = pd.Series(key).duplicated().to_numpy() if _may_repeat(key, n_queries, units) else None
    if twice is not None and twice.any():
        rank = rank - _dropped_before(twice, query)
        first = np.flatnonzero(~twice)
        keep = first if keep is None else keep[first]
        query, rank, score = query[first], rank[first], score[first]
    sizes = np.bincount(query, minlength=n_queries)
    return Source(name, rank, score, np.empty(0, np.intp), sizes, frame, keep), keep


def _may_repeat(key: np.ndarray, n_queries: int, units: np.ndarray) -> bool:
    """Say whether a key may stand twice, by marking each in a table where that is cheap."""
    cells = n_queries * (int(units.max(initial=0)) + 1)
    if cells > 16 * max(len(key), 1 << 16):
        return True
    seen = np.zeros(cells, dtype=bool)
    seen[key] = True
    return int(np.count_nonzero(seen)) < len(key)


def _dropped_before(twice: np.ndarray, query: np.ndarray) -> np.ndarray:
    """Count, for each row, the repeats that stand before it in its query, so that ranks close up."""
    count = np.cumsum(twice)
    first = np.searchsorted(query, query)
    return count - np.where(first > 0, count[np.maximum(first - 1, 0)], 0)


def _place(
    sources: list[Source], units: list[np.ndarray], n_queries: int, n_units: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Give each (query, unit) a slot; fills in every source's `slot`.

    Blocks of queries share a small dense table from (query, unit) to the unit's place in the query, which
    is far cheaper than hashing or sorting the pairs.
    """
    per_block = max(1, min(_CELLS // n_units, n_queries))
    table = np.full(per_block * n_units, -1, dtype=np.int32)
    sizes = np.zeros(n_queries, dtype=np.int64)  # units found so far in each query
    ends = [np.concatenate([[0], np.cumsum(source.sizes)]) for source in sources]
    places = [np.empty(int(e[-1]), dtype=np.int64) for e in ends]
    for low in range(0, n_queries, per_block):
        high = min(low + per_block, n_queries)
        used = []
        for source, unit, e, place in zip(sources, units, ends, places):
            rows = slice(e[low], e[high])
            query = np.repeat(np.arange(high - low), source.sizes[low:high])
            cells = query * n_units + unit[rows]
            place[rows] = _places_of(table, cells, query, sizes[low:high])
            used.append(cells)
        for cells in used:
            table[cells] = -1
    starts = np.cumsum(sizes) - sizes
    slot_unit = np.empty(int(sizes.sum()), dtype=np.int64)
    for source, unit, place in zip(sources, units, places):
        source.slot = place + np.repeat(starts, source.sizes)
        slot_unit[source.slot] = unit
    return np.repeat(np.arange(n_queries), sizes), slot_unit, sizes


def _places_of(table: np.ndarray, cells: np.ndarray, query: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Look up where units stand in their queries; new ones are added at the end, in `table` and `sizes`."""
    place = table[cells].astype(np.int64)
    new = np.flatnonzero(place < 0)
    of = query[new]
    counts = np.bincount(of, minlength=len(sizes))
    place[new] = sizes[of] + np.arange(len(new)) - (np.cumsum(counts) - counts)[of]
    table[cells[new]] = place[new]
    sizes += counts
    return place
