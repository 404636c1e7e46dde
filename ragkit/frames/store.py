"""What both stores share: documents by unit id, their removal, look-ups for scoring, the way to a file."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import pandas as pd

from ragkit.frames.checks import check_frame
from ragkit.frames.folder import save_folder, to_snapshot
from ragkit.frames.ids import as_ids
from ragkit.frames.runs import query_rows
from ragkit.frames.table import DocTable


class Store:
    """Documents by unit id; a subclass adds what it knows of each, by slot, and the search.

    It says what it knows when there are no documents (:meth:`_reset`), what a removal changes besides
    (:meth:`_removed`), what goes to a file (:meth:`_packed`), and what a copy must not share
    (:meth:`_unshare`).

    Parameters
    ----------
    need_text : bool
        Whether documents must have a text.
    """

    _kind: ClassVar[str] = "Store"  # what a saved one calls itself

    def __init__(self, *, need_text: bool):
        self._table = DocTable(need_text=need_text)
        self._reset()

    def _reset(self) -> None:
        """Forget what is known of documents."""

    def _removed(self) -> None:
        """Take note that documents are gone; closing the gaps can wait for the next search."""

    def _unshare(self) -> None:
        """Part from the store of which this one is a copy."""

    def __copy__(self) -> Self:
        """Copy so that no update of one reaches the other; arrays, which nothing writes to, are shared."""
        new = unshared(self)
        new._table = unshared(self._table)
        new._unshare()
        return new

    def _packed(self, whole: bool) -> tuple[dict[str, Any], Mapping[str, np.ndarray]]:
        """Give settings and arrays; where not `whole`, arrays that can be made anew stay out."""
        raise NotImplementedError

    # ---------------------------------------------------------------- documents

    @property
    def version(self) -> int:
        """A counter that every change of the documents raises."""
        return self._table.version

    @property
    def docs(self) -> pd.DataFrame:
        """The documents in order, as a copy."""
        return self._table.copy()

    @property
    def ids(self) -> list[str]:
        """The unit ids in document order."""
        return list(self._table)

    @property
    def unit(self) -> str:
        """What is retrieved: ``"chunk_id"`` where chunks are held, else ``"doc_id"``."""
        return self._table.unit

    def __len__(self) -> int:
        return len(self._table)

    def __contains__(self, unit_id: Any) -> bool:
        return unit_id in self._table

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def get(self, unit_id: str) -> dict[str, Any] | None:
        """Look up one document.

        Parameters
        ----------
        unit_id : str
            Its id.

        Returns
        -------
        dict or None
            Its columns; None if it is not there.
        """
        return self._table.get(unit_id)

    def remove(self, ids: Any = None, *, doc_ids: Any = None, where: Any = None) -> list[str]:
        """Remove documents by id or by condition; ids that are not there are passed over.

        Parameters
        ----------
        ids : str or sequence of str, optional
            Unit ids.
        doc_ids : str or sequence of str, optional
            Documents, of which all chunks go.
        where : dict, callable or Series, optional
            As in :meth:`search`.

        Returns
        -------
        list of str
            The unit ids that were there.

        Raises
        ------
        ValueError
            If nothing is given, or more than one.
        """
        found = self._table.find(ids, doc_ids=doc_ids, where=where)
        self._table.discard(found)
        if found:
            self._removed()
        return found

    def clear(self) -> None:
        """Remove every document; settings stay, the length of vectors is free again."""
        self._table.clear()
        self._reset()

    # ---------------------------------------------------------------- saving

    def save(self, folder: Any) -> None:
        """Save documents, what is known of them, and settings to a folder, as npz and JSON.

        Parameters
        ----------
        folder : path
            A folder that is new, empty, or holds an earlier save, which is replaced in one step.

        Raises
        ------
        ValueError
            If the folder holds other files, or a column of the documents cannot be written as JSON.

        See Also
        --------
        load : The way back.
        """
        meta, arrays = self._packed(whole=True)
        save_folder(folder, self._kind, meta, self._table.frame, arrays)

    def to_json(self) -> str:
        """Write documents and settings as one JSON text, for small collections.

        Returns
        -------
        str
            JSON. Vectors come back to the last bit; counts of words are made anew when it is read.

        See Also
        --------
        from_json : The way back.
        """
        meta, arrays = self._packed(whole=False)
        return to_snapshot(self._kind, meta, self._table.frame, arrays)

    # ---------------------------------------------------------------- look-ups for scoring

    def _check_pairs(self, pairs: Any) -> None:
        check_frame(pairs, ["query_id", self._table.unit], "pairs")

    def _rows_and_slots(self, pairs: pd.DataFrame, query_ids: pd.Series) -> tuple[np.ndarray, np.ndarray]:
        """Find the row among the queries and the slot of each pair."""
        unit = self._table.unit
        slots = self._table.slots_of(as_ids(pairs[unit], unit))
        return query_rows(as_ids(pairs["query_id"], "query_id"), query_ids), slots

    def _slot_of(self, unit_id: Any) -> int:
        return int(self._table.slots_of(as_ids([unit_id], self._table.unit))[0])


T = TypeVar("T")


def unshared(part: T) -> T:
    """Copy an object and the lists and dicts that it holds; the rest, which is only ever replaced, is shared.

    Parameters
    ----------
    part : object
        Any that keeps its state in attributes.

    Returns
    -------
    object
        The copy.
    """
    new = object.__new__(type(part))
    for name, value in vars(part).items():
        setattr(new, name, copy.copy(value) if type(value) in (list, dict) else value)
    return new


def check_one_query(query: Any, hint: str = "") -> None:
    """Refuse what is not the text of a single query."""
    if not isinstance(query, str):
        raise TypeError(f"query must be a string; got {type(query).__name__}.{hint}")
