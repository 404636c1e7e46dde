"""The documents of a store: upsert by unit id, removal, order, and a version that caches can key on."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from typing import Any

import numpy as np
import pandas as pd

from ragkit.frames.checks import is_bool
from ragkit.frames.coerce import as_docs, deep_copy
from ragkit.frames.ids import as_ids, id_array, id_ranks
from ragkit.frames.messages import guess, some
from ragkit.frames.ranking import unit_column
from ragkit.frames.where import where_mask


class DocTable:
    """Documents in the order in which their ids first came, each with a *slot* for what a store knows of it.

    Every row ever added gets the next slot number; overwriting a document gives it a new slot and keeps
    its place in the order. Stores hold their postings or vectors by slot, mark the dead slots, and close
    the gaps in one go with :meth:`compact`.

    Parameters
    ----------
    need_text : bool, default=True
        Whether documents must have a text.

    Examples
    --------
    >>> table = DocTable()
    >>> table.commit(table.prepare({"a": "red", "b": "blue"}))
    >>> table.commit(table.prepare({"a": "pink"}))
    >>> list(table), table.slots.tolist()
    (['a', 'b'], [2, 1])
    """

    def __init__(self, *, need_text: bool = True):
        self.need_text = need_text
        self.version = 0
        self.clear()

    def clear(self) -> None:
        """Drop every document; the version still counts on."""
        self._slot: dict[str, int] = {}  # dicts keep the place of a key that is overwritten
        self._log: list[pd.DataFrame] = []  # every row ever added, by slot
        self._size = 0
        self._unit: str | None = None
        self._changed()

    def touch(self) -> None:
        """Count a change that is not one of the documents themselves."""
        self._changed()

    def _changed(self) -> None:
        self.version += 1
        self._frame: pd.DataFrame | None = None
        self._forget()

    def _forget(self) -> None:
        self._slots: np.ndarray | None = None
        self._names: np.ndarray | None = None
        self._rank: np.ndarray | None = None  # place of each slot's id among all, sorted
        self._asked = 0

    def __len__(self) -> int:
        return len(self._slot)

    def __iter__(self) -> Iterator[str]:
        return iter(self._slot)

    def __contains__(self, unit: Any) -> bool:
        return _key(unit) in self._slot

    @property
    def unit(self) -> str:
        """The column that holds unit ids: ``"chunk_id"`` or ``"doc_id"``."""
        return self._unit or "doc_id"

    @property
    def n_slots(self) -> int:
        """How many slots there are, dead ones included."""
        return self._size

    @property
    def slots(self) -> np.ndarray:
        """Slot of each document, in document order."""
        if self._slots is None:
            self._slots = np.fromiter(self._slot.values(), dtype=np.int64, count=len(self._slot))
        return self._slots

    @property
    def rows(self) -> pd.DataFrame:
        """Every row by slot, dead ones included; not to be modified."""
        if len(self._log) > 1:
            self._log = [pd.concat(self._log, ignore_index=True)]
        return self._log[0] if self._log else _no_docs()

    @property
    def frame(self) -> pd.DataFrame:
        """The documents in order; not to be modified."""
        if self._frame is None:
            rows, slots = self.rows, self.slots
            straight = len(slots) == len(rows) and np.array_equal(slots, np.arange(len(rows)))
            self._frame = rows if straight else rows.iloc[slots].reset_index(drop=True)
        return self._frame

    @property
    def names(self) -> np.ndarray:
        """Unit id of each slot, as an array of objects."""
        if self._names is None:
            self._names = id_array(self.rows[self.unit].astype(object)) if self._size else np.empty(0, object)
        return self._names

    def copy(self) -> pd.DataFrame:
        """Copy the documents, in order, cells that hold lists and dicts too.

        Returns
        -------
        DataFrame
            What the user may do with as they please.
        """
        return deep_copy(self.frame)

    def ids_of(self, slots: np.ndarray, column: str | None = None) -> Any:
        """Look up ids by slot.

        Parameters
        ----------
        slots : ndarray of int
            Slots.
        column : str, optional
            ``"doc_id"`` or ``"chunk_id"``; None for the unit's own.

        Returns
        -------
        array of str
            One id per slot, categorical where the documents' ids are.
        """
        return self.rows[column or self.unit].array.take(slots)

    def slots_of(self, units: Iterable[str]) -> np.ndarray:
        """Look up slots by unit id.

        Parameters
        ----------
        units : iterable of str
            Unit ids; repeats are allowed.

        Returns
        -------
        ndarray of int64
            One slot per id.

        Raises
        ------
        ValueError
            If an id is not there; it is named.
        """
        names = [units] if isinstance(units, str) else list(units)
        found = [self._slot.get(name, -1) for name in names]
        if -1 in found:  # the slow road: whole numbers are ids too
            names = as_ids(names, self.unit).tolist()
            found = [self._slot.get(name, -1) for name in names]
        if -1 in found:
            missing = list(dict.fromkeys(n for n, slot in zip(names, found) if slot < 0))
            noun = "document" if self.unit == "doc_id" else "chunk"
            held = (
                f"ids here are strings such as {some(list(self)[:2])}" if len(self) else "there are none yet"
            )
            way_out = guess(missing[0], self) if len(missing) == 1 else ""
            way_out = way_out or " Add what is missing, or check how the ids are written."
            raise ValueError(f"no {noun} has the {self.unit} {some(missing)}; {held}.{way_out}")
        return np.array(found, dtype=np.int64)

    def prepare(self, docs: Any) -> pd.DataFrame:
        """Check documents without adding them.

        Parameters
        ----------
        docs : documents
            Whatever :func:`ragkit.as_docs` takes; bare strings are numbered from where the table stands.

        Returns
        -------
        DataFrame
            A copy, ready for :meth:`commit`.
        """
        docs = list(docs) if isinstance(docs, Iterator) else docs  # what is read once must be counted first
        frame = as_docs(docs, start=self._free_number(docs), need_text=self.need_text)
        unit = unit_column(frame, "docs")
        if self._slot and unit != self.unit:
            raise ValueError(
                f"the store holds units by {self.unit}, these documents come with {unit}; "
                "keep chunks and whole documents in stores of their own."
            )
        if unit == "chunk_id" and "doc_id" not in frame.columns:
            raise ValueError("docs with chunk_id need doc_id too; missing ['doc_id'].")
        return deep_copy(frame)

    def _free_number(self, docs: Any) -> int:
        """Find a number from which bare strings can be numbered without meeting an id that is there."""
        if not self._slot or isinstance(docs, (pd.DataFrame, pd.Series, Mapping)):
            return len(self)  # their ids come with them
        end = len(self) + (len(docs) if isinstance(docs, Sized) and not isinstance(docs, str) else 1)
        if not any(str(number) in self._slot for number in range(len(self), end)):
            return len(self)
        return 1 + max(int(unit) for unit in self._slot if unit.isascii() and unit.isdigit())

    def commit(self, frame: pd.DataFrame, *, replace_docs: bool = False) -> None:
        """Add documents that :meth:`prepare` has checked.

        Parameters
        ----------
        frame : DataFrame
            The documents.
        replace_docs : bool, default=False
            Whether all units of these documents go first, so that no chunk of an old version stays.
        """
        if not len(frame):
            return
        if replace_docs and self._slot:
            self.discard(self.find(doc_ids=frame["doc_id"].unique()))
        if not self._slot:
            self._log, self._unit = self._log if self._size else [], unit_column(frame, "docs")
        units = frame[self.unit].tolist()
        self._slot.update(zip(units, range(self._size, self._size + len(units))))
        self._log.append(frame)
        self._size += len(units)
        self._changed()

    def restore(self, frame: pd.DataFrame, slots: np.ndarray) -> None:
        """Take over documents in order together with their slots, as a saved store has them.

        Parameters
        ----------
        frame : DataFrame
            The documents in order.
        slots : ndarray of int, shape (n,)
            Their slots: each number below n once.
        """
        if not np.array_equal(np.sort(slots), np.arange(len(frame))):
            raise ValueError("slots must hold each number below the count of documents once.")
        if not len(frame):
            return
        checked = as_docs(frame, need_text=self.need_text)
        self._unit = unit_column(checked, "docs")
        self._log = [checked.iloc[np.argsort(slots)].reset_index(drop=True)]
        self._slot = dict(zip(checked[self._unit], slots.tolist()))
        self._size = len(checked)
        self._changed()

    def find(self, ids: Any = None, *, doc_ids: Any = None, where: Any = None) -> list[str]:
        """Find units by id (in the order given), by document or by condition (in document order).

        Parameters
        ----------
        ids : str or sequence of str, optional
            Unit ids.
        doc_ids : str or sequence of str, optional
            Documents, of which all chunks are meant.
        where : filter, optional
            As in search.

        Returns
        -------
        list of str
            The units that are there.

        Raises
        ------
        ValueError
            If nothing is given, or more than one.
        """
        if isinstance(where, Mapping) and not where:
            where = None  # an empty filter filters nothing, here as everywhere: it must not empty a store
        if sum(given is not None for given in (ids, doc_ids, where)) != 1:
            raise ValueError(
                "remove needs exactly one of ids, doc_ids and a where that says something; "
                "use clear() to remove everything."
            )
        if ids is not None:
            return [unit for unit in dict.fromkeys(_id_list(ids, "ids")) if unit in self._slot]
        if doc_ids is not None:
            mask = self.frame["doc_id"].isin(_id_list(doc_ids, "doc_ids")).to_numpy(dtype=bool)
        else:
            found = where_mask(self.frame, where)
            mask = np.ones(len(self), dtype=bool) if found is None else found
        return self.frame[self.unit][mask].tolist()

    def discard(self, units: Sequence[str]) -> None:
        """Drop units that are there.

        Parameters
        ----------
        units : sequence of str
            Unit ids.
        """
        for unit in units:
            del self._slot[unit]
        if len(units):
            self._changed()

    def compact(self) -> np.ndarray:
        """Close the gaps that dead slots leave; slots keep their order.

        Returns
        -------
        ndarray of int64
            The old slots that live on, ascending: the new slot of ``kept[i]`` is ``i``.
        """
        kept = np.sort(self.slots)
        if len(kept) < self._size:
            rows = self.rows.iloc[kept].reset_index(drop=True)
            new = np.full(self._size, -1, dtype=np.int64)
            new[kept] = np.arange(len(kept))
            self._slot = dict(zip(self._slot, new[self.slots].tolist()))
            self._log, self._size = [rows], len(kept)
            self._frame = None
            self._forget()
        return kept

    def slot_mask(self, where: Any) -> np.ndarray | None:
        """Say which slots pass a filter.

        Parameters
        ----------
        where : filter
            As in search.

        Returns
        -------
        ndarray of bool or None
            One flag per slot; None when nothing is filtered.
        """
        found = where_mask(self.frame, where)
        if found is None:
            return None
        mask = np.zeros(self._size, dtype=bool)
        mask[self.slots[found]] = True
        return mask

    def get(self, unit: str) -> dict[str, Any] | None:
        """Look up one document.

        Parameters
        ----------
        unit : str
            Its id.

        Returns
        -------
        dict or None
            Its columns, copied; None if it is not there.
        """
        slot = self._slot.get(_key(unit))
        if slot is None:
            return None
        rows = self.rows  # cell by cell: a frame of one row costs twenty times as much
        return {str(name): copy.deepcopy(rows[name].array[slot]) for name in rows.columns}

    def ranks_of(self, slots: np.ndarray) -> np.ndarray | None:
        """Look up numbers that sort as the unit ids do, where :meth:`order_key` has made them.

        Parameters
        ----------
        slots : ndarray of int
            Slots.

        Returns
        -------
        ndarray of int64 or None
            One number per slot; None where there are none yet.
        """
        return None if self._rank is None else self._rank[slots]

    def order_key(self, slots: np.ndarray) -> np.ndarray:
        """Look up unit ids by slot for :func:`ragkit.frames.tie_order`.

        Parameters
        ----------
        slots : ndarray of int
            Slots.

        Returns
        -------
        ndarray of object or int64
            Unit ids, or, where many are asked for, numbers that sort as the ids do.
        """
        self._asked += len(slots)
        if self._rank is None and 2 * self._asked >= self._size:  # from now on ranking all pays
            self._rank = id_ranks(self.names)
        return self.names[slots] if self._rank is None else self._rank[slots]


def _key(unit: Any) -> Any:
    """Give the decimal text of a whole number; anything else is its own key."""
    if isinstance(unit, str) or not isinstance(unit, (int, np.integer)) or is_bool(unit):
        return unit
    return str(int(unit))


def _id_list(ids: Any, name: str) -> list[str]:
    return as_ids([ids] if isinstance(ids, (str, int)) else list(ids), name).tolist()


def _no_docs() -> pd.DataFrame:
    return pd.DataFrame({"doc_id": pd.Series([], dtype="str"), "text": pd.Series([], dtype="str")})
