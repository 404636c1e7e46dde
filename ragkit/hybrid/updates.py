"""Updates of several stores at once: all of them, or none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from ragkit.bm25 import KeywordIndex
from ragkit.frames import as_docs, as_ids, unit_column, warn, where_mask
from ragkit.frames.messages import warnings_kept
from ragkit.vectors import VectorStore


def add_to_all(stores: Sequence[Any], docs: Any, vectors: Any, replace_docs: bool) -> list[str]:
    """Add documents to every store; if one refuses, the others are put back as they were.

    Parameters
    ----------
    stores : sequence of KeywordIndex and VectorStore
        Where to add.
    docs : documents
        Whatever :func:`ragkit.as_docs` takes.
    vectors : array_like or dict, optional
        For the vector stores.
    replace_docs : bool
        Whether all chunks of these documents go first.

    Returns
    -------
    list of str
        The unit ids.
    """
    frame = _numbered(stores, docs)
    unit = unit_column(frame, "docs")
    gone = frame["doc_id"] if replace_docs else None
    # Vector stores first: they have more reasons to refuse.
    ordered = sorted(stores, key=lambda store: isinstance(store, KeywordIndex))
    undo: list[Callable[[], None]] = []
    try:
        for store in ordered:
            undo.append(_undo(store, frame, unit, gone))
            if gone is not None:
                store.remove(doc_ids=gone.tolist())
            options = {"vectors": vectors} if vectors is not None and isinstance(store, VectorStore) else {}
            store.add(frame, **options)
    except Exception:
        for put_back in reversed(undo):
            put_back()
        raise
    return frame[unit].tolist()


def _numbered(stores: Sequence[Any], docs: Any) -> pd.DataFrame:
    """Coerce documents once, so that bare strings get the same numbers in every store."""
    start = max((len(store) for store in stores), default=0)
    frame = as_docs(docs, start=start)
    if isinstance(docs, (str, list, tuple)):
        taken = {name for store in stores for name in frame["doc_id"] if name in store}
        numbers = [int(unit) for store in stores for unit in store.ids if unit.isascii() and unit.isdigit()]
        if taken and all(isinstance(item, str) for item in ([docs] if isinstance(docs, str) else docs)):
            frame = as_docs(docs, start=1 + max(numbers))
    return frame


def _undo(store: Any, frame: pd.DataFrame, unit: str, gone: pd.Series | None) -> Callable[[], None]:
    """Remember what an update may change, and return what puts it back."""
    here = [name for name in frame[unit] if name in store]
    if gone is not None:
        here = list(dict.fromkeys([*here, *_matching(store, None, gone, None)]))
    version, old = store.version, pd.DataFrame([store.get(name) for name in here])
    rows = store.vectors(here) if here and isinstance(store, VectorStore) else None

    def put_back() -> None:
        if store.version == version:  # it refused by itself, and changed nothing
            return
        store.remove([name for name in frame[unit] if name not in here])
        if here and rows is not None and not store.refits:
            store.add(old, vectors=rows)
        elif here:
            store.add(old)

    return put_back


def remove_from_all(stores: Sequence[Any], ids: Any, doc_ids: Any, where: Any) -> list[str]:
    """Remove documents from every store.

    Parameters
    ----------
    stores : sequence of KeywordIndex and VectorStore
        Where to remove.
    ids, doc_ids, where
        As in :meth:`ragkit.KeywordIndex.remove`.

    Returns
    -------
    list of str
        The unit ids that were in one of them.
    """
    if sum(given is not None for given in (ids, doc_ids, where)) != 1:
        raise ValueError(
            "remove needs exactly one of ids, doc_ids and where; use clear() to remove everything."
        )
    # Conditions are judged in every store before any is touched: a condition that fails removes nothing.
    with warnings_kept() as notes:  # each store has the same to say of a filter
        found = [_matching(store, ids, doc_ids, where) for store in stores]
    for note in dict.fromkeys(notes):
        warn(note)
    for store, names in zip(stores, found):
        store.remove(names)
    return list(dict.fromkeys(name for names in found for name in names))


def _matching(store: Any, ids: Any, doc_ids: Any, where: Any) -> list[str]:
    """Find the units of a store that are meant."""
    if ids is not None:
        return [
            name
            for name in as_ids([ids] if isinstance(ids, (str, int)) else list(ids), "ids")
            if name in store
        ]
    docs = store.docs
    units = docs[unit_column(docs, "docs")]
    if doc_ids is not None:
        wanted = as_ids([doc_ids] if isinstance(doc_ids, (str, int)) else list(doc_ids), "doc_ids")
        return units[docs["doc_id"].isin(wanted)].tolist()
    mask = where_mask(docs, where)
    return units.tolist() if mask is None else units[mask].tolist()
