"""Align runs: each (query, unit) of their union gets one slot, shared by every method and ledger column.

Alignment is the dear part of a fusion and depends on the runs alone, so moving a weight re-uses it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from ragkit.frames import as_run, id_array, some, unit_column
from ragkit.frames.ids import id_ranks

#: Ledger columns of each run, as ``<name>_<suffix>``.
SUFFIXES = ("rank", "score", "normalized", "contribution")
_RESERVED = frozenset(
    "query_id chunk_id doc_id rank score source relative_score "
    "mmr_relevance max_similarity nearest_selected previous_rank previous_score".split()
)
_CELLS = 1 << 18  # cells of the look-up table of one block of queries; small enough for the cache
_SLOTS = 1 << 16  # slots of a block; gathering from arrays that fit the cache is three times as fast


@dataclass
class _Order:
    """The order of some ids, found when it is first needed; blocks of a pool share it."""

    asked: int = 0
    place: np.ndarray | None = None  # of each id among all, sorted

    def of(self, ids: Any, numbers: np.ndarray) -> np.ndarray:
        """Give whole numbers that sort as the ids of these numbers do."""
        self.asked += len(numbers) + 100  # each question costs as much as a hundred ids
        if self.place is None and 4 * self.asked < len(ids):  # sorting all pays when so many are compared
            few, own = np.unique(numbers, return_inverse=True)
            return id_ranks(ids.take(few))[own]
        if self.place is None:
            self.place = id_ranks(ids).astype(np.int32)  # half as much to gather from
        return self.place[numbers]


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

    def own(self, column: np.ndarray) -> np.ndarray:
        """Take what belongs to the rows here from a column of `frame`."""
        return column if self.row is None else column[self.row]

    def rows(self, queries: slice) -> slice:
        """Find the rows of neighbouring queries."""
        ends = np.r_[0, np.cumsum(self.sizes)]
        return slice(int(ends[queries.start]), int(ends[queries.stop]))

    def cut(self, queries: slice, first: int) -> Source:
        """Give the rows of neighbouring queries, with slots counted from `first`."""
        rows = self.rows(queries)
        return replace(
            self,
            rank=self.rank[rows],
            score=self.score[rows],
            slot=self.slot[rows] - first,
            sizes=self.sizes[queries],
            absent=None if self.absent is None else self.absent[queries],
        )


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
    first: int = 0  # where this pool begins in the one that it is a block of
    order: _Order = field(default_factory=_Order, repr=False)

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
        return self.order.of(self.unit_ids, units)

    def blocks(self) -> Iterator[tuple[slice, Pool]]:
        """Cut into pools of neighbouring queries that fit the cache; a small pool is one block."""
        ends = np.r_[0, np.cumsum(self.sizes)]
        n = len(self.sizes)
        if len(self) <= _SLOTS:
            yield slice(0, n), self
            return
        low = 0
        while low < n:
            high = max(low + 1, int(np.searchsorted(ends, ends[low] + _SLOTS, side="right")) - 1)
            yield slice(low, high), self._cut(slice(low, high), slice(int(ends[low]), int(ends[high])))
            low = high

    def _cut(self, queries: slice, slots: slice) -> Pool:
        return replace(
            self,
            sources=[source.cut(queries, slots.start) for source in self.sources],
            query=self.query[slots] - queries.start,
            query_ids=self.query_ids[queries],
            units=self.units[slots],
            docs=None if self.docs is None else self.docs[slots],
            sizes=self.sizes[queries],
            first=slots.start,
        )


def named_runs(runs: Any) -> dict[str, Any]:
    """Name the runs: a dict's keys, or ``run_1, run_2, ...`` for a list.

    Parameters
    ----------
    runs : dict of str to run, or sequence of runs
        What the user gave.

    Returns
    -------
    dict of str to run
        The same runs by name, in order.

    Raises
    ------
    TypeError
        If it is neither, or a name is no string.
    ValueError
        If there are no runs, or a name would spoil the ledger.
    """
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
    """Refuse names of runs that would spoil the ledger.

    Parameters
    ----------
    names : iterable
        The names.

    Raises
    ------
    TypeError
        If one is no string, or empty.
    ValueError
        If one holds ``+``, or makes a column that the ledger has already.
    """
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
    heads = [_heads(frame["query_id"]) for frame in frames.values()]
    asked = [frame["query_id"].iloc[first] for frame, first in zip(frames.values(), heads)]
    if queries is None:
        numbers, query_ids = _by_appearance(*_shared_codes(asked))
    else:
        (_, *numbers), query_ids = _shared_codes([queries, *asked])
    units, unit_ids = _shared_codes([frame[unit] for frame in frames.values()])
    sources = [
        _source(name, frame, number, first, len(query_ids))
        for (name, frame), number, first in zip(frames.items(), numbers, heads)
    ]
    sizes = _place_once(sources, units, max(len(unit_ids), 1))
    query = np.repeat(np.arange(len(sizes)), sizes)
    slot_unit, slot_docs, doc_ids = _by_slot(sources, units, len(query)), None, None
    if unit == "chunk_id":
        docs, doc_ids = _shared_codes([frame["doc_id"] for frame in frames.values()])
        slot_docs = _by_slot(sources, docs, len(query))
    return Pool(sources, unit, query, query_ids, slot_unit, unit_ids, slot_docs, doc_ids, sizes)


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
            return codes, pd.CategoricalIndex(categories[0], categories=categories[0])
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
    seen = pd.unique(np.concatenate(codes))
    number = np.empty(len(ids), dtype=np.int64)
    number[seen] = np.arange(len(seen))
    return [number[c] for c in codes], ids.take(seen)


def _heads(queries: pd.Series) -> np.ndarray:
    """Find the first row of each query; the rows of a query stand together in a run."""
    categorical = isinstance(queries.dtype, pd.CategoricalDtype)
    ids = queries.cat.codes.to_numpy() if categorical else id_array(queries)
    return np.flatnonzero(np.r_[True, ids[1:] != ids[:-1]]) if len(ids) else np.empty(0, np.intp)


def _source(name: str, frame: pd.DataFrame, number: np.ndarray, heads: np.ndarray, n_queries: int) -> Source:
    """Make a source of a run, its queries in the order of the pool; `number` is that of each query."""
    own_sizes = np.diff(np.r_[heads, len(frame)])
    sizes = np.zeros(n_queries, dtype=np.int64)
    sizes[number] = own_sizes
    rank, score = (frame[column].to_numpy(dtype=np.float64) for column in ("rank", "score"))
    row = None
    if (number[1:] < number[:-1]).any():
        order = np.argsort(number)
        moved = heads[order] - np.cumsum(own_sizes[order]) + own_sizes[order]  # how far each query comes down
        row = np.repeat(moved, own_sizes[order]) + np.arange(len(frame))
        rank, score = rank[row], score[row]
    return Source(name, rank, score, np.empty(0, np.intp), sizes, frame, row)


def _by_slot(sources: list[Source], codes: list[np.ndarray], n_slots: int) -> np.ndarray:
    """Spread numbers of ids over the slots; the first run that has a slot has the say."""
    out = np.empty(n_slots, dtype=codes[0].dtype)
    for source, own in reversed(list(zip(sources, codes))):
        out[source.slot] = source.own(own)
    return out


def _place_once(sources: list[Source], units: list[np.ndarray], n_units: int) -> np.ndarray:
    """Place the rows of every source, each unit of a query once, at its best rank; gives `Pool.sizes`."""
    sizes = _place(sources, units, n_units)
    repeats = [_repeats(source, int(sizes.sum())) for source in sources]
    if not any(twice is not None for twice in repeats):
        return sizes
    for source, twice in zip(sources, repeats):
        if twice is not None:
            _drop(source, twice)
    return _place(sources, units, n_units)


def _repeats(source: Source, n_slots: int) -> np.ndarray | None:
    """Flag the rows whose slot an earlier row has; None when there are none."""
    seen = np.zeros(n_slots, dtype=bool)
    seen[source.slot] = True
    if np.count_nonzero(seen) == len(source.slot):
        return None
    return pd.Series(source.slot).duplicated().to_numpy()


def _drop(source: Source, twice: np.ndarray) -> None:
    """Drop rows from a source; the ranks below close up."""
    before = np.r_[0, np.cumsum(twice)]  # rows dropped before each row
    starts, ends = source.starts, np.cumsum(source.sizes)
    kept = np.flatnonzero(~twice)
    source.rank = (source.rank - before[:-1] + np.repeat(before[starts], source.sizes))[kept]
    source.score = source.score[kept]
    source.row = kept if source.row is None else source.row[kept]
    source.sizes = source.sizes - before[ends] + before[starts]


def _place(sources: list[Source], units: list[np.ndarray], n_units: int) -> np.ndarray:
    """Give each (query, unit) a slot: fills in every source's `slot`, and gives the slots of each query.

    Blocks of queries share a small dense table from (query, unit) to the unit's place in the query, which
    is far cheaper than hashing or sorting the pairs.
    """
    n_queries = len(sources[0].sizes)
    # Where units are many, still some queries at a time, in up to four times the cells.
    per_block = max(1, min(max(_CELLS // n_units, 8), 4 * _CELLS // n_units, n_queries))
    table = np.full(per_block * n_units, -1, dtype=np.int32)
    sizes = np.zeros(n_queries, dtype=np.int64)  # units found so far in each query
    own_units = [source.own(codes) for source, codes in zip(sources, units)]
    for source in sources:
        source.slot = np.empty(len(source.rank), dtype=np.intp)
    ends = [np.r_[0, np.cumsum(source.sizes)] for source in sources]
    for low in range(0, n_queries, per_block):
        high = min(low + per_block, n_queries)
        used = []
        for source, unit, end in zip(sources, own_units, ends):
            rows, own = slice(end[low], end[high]), source.sizes[low:high]
            cells = np.repeat(np.arange(high - low) * n_units, own) + unit[rows]
            source.slot[rows] = _places_of(table, cells, own, sizes[low:high])
            used.append(cells)
        for cells in used:
            table[cells] = -1
    starts = np.cumsum(sizes) - sizes
    for source in sources:
        source.slot += np.repeat(starts, source.sizes)
    return sizes


def _places_of(table: np.ndarray, cells: np.ndarray, own: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Look up where units stand in their queries; new ones are added at the end, in `table` and `sizes`."""
    new = np.flatnonzero(table.take(cells) < 0)
    ends = np.searchsorted(new, np.cumsum(own))
    added = np.diff(np.r_[0, ends])
    table[cells.take(new)] = np.arange(len(new)) + np.repeat(sizes - ends + added, added)
    sizes += added
    return table.take(cells)
