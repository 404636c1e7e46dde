"""LangChain documents from the rows of ragkit's frames, and the rows from documents."""

from __future__ import annotations

import copy
import functools
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from langchain_core.documents import Document

from ragkit.bm25 import KeywordIndex
from ragkit.frames import as_docs, as_run, some
from ragkit.frames.ranking import unit_column
from ragkit.hybrid import HybridSearch
from ragkit.vectors import VectorStore

#: LangChain runs batches in threads; ragkit's stores settle updates on the next search, so one at a time.
LOCK = threading.RLock()

#: The column in which a store keeps a document's metadata as it was given.
METADATA = "langchain_metadata"
_NOT_FLAT = ("doc_id", "chunk_id", "text", METADATA)


def to_langchain(run: Any, docs: Any = None) -> list[Document]:
    """Make LangChain documents of a run, in its order.

    Parameters
    ----------
    run : DataFrame
        Any run, over documents or chunks, of one query or many.
    docs : documents or store, optional
        Where texts and metadata are: whatever :func:`ragkit.as_docs` takes, a ``KeywordIndex``, a
        ``VectorStore`` or a ``HybridSearch``. None if the run has the column ``text``.

    Returns
    -------
    list of Document
        One per row. ``id`` is the unit's id; ``metadata`` holds the document's columns and then the run's:
        ``query_id, rank, score`` and the ledger. Where both have a name, the run's is called
        ``retrieval_<name>``. Missing values of the ledger are None.

    Raises
    ------
    ValueError
        If a unit of the run is not in `docs`; it is named.

    See Also
    --------
    ragkit.as_docs : The way back.

    Examples
    --------
    >>> import ragkit as rk
    >>> docs = rk.as_docs({"a": "red fox", "b": "red wine"})
    >>> [doc] = to_langchain(rk.KeywordIndex(docs).search("wine"), docs)
    >>> doc.id, doc.page_content, doc.metadata["rank"]
    ('b', 'red wine', 1)
    """
    return documents_of_run(run, None if docs is None else readable(docs))


def documents_of_run(run: Any, where: Any, *, leave_out: Iterable[str] = ("text",)) -> list[Document]:
    """Make documents of a run.

    Parameters
    ----------
    run : DataFrame
        Any run.
    where : list of stores, DataFrame or None
        What :func:`readable` gave.
    leave_out : iterable of str, default=("text",)
        Columns of the run that do not go into the metadata.

    Returns
    -------
    list of Document
        One per row.
    """
    frame = as_run(run)
    unit = unit_column(frame)
    rows = _rows_of_run(frame) if where is None else look_up(where, frame[unit].tolist())
    ledgers = records(frame.drop(columns=list(leave_out), errors="ignore"))
    return [document_of(row, unit, ledger) for row, ledger in zip(rows, ledgers)]


def readable(docs: Any) -> Any:
    """Make documents of any kind something that :func:`look_up` can read.

    Parameters
    ----------
    docs : documents, store or list of stores
        Where texts and metadata are.

    Returns
    -------
    list of stores, or DataFrame
        The stores, or the documents with their metadata as it was.
    """
    stores = stores_of(docs)
    if stores:
        return stores
    frame = as_docs(docs)
    if isinstance(docs, (list, tuple)) and docs and all(isinstance(doc, Document) for doc in docs):
        frame = frame[list(dict.fromkeys([unit_column(frame, "docs"), "doc_id", "text"]))]
        return frame.assign(**{METADATA: objects([copied(doc.metadata) for doc in docs])})
    return frame


def look_up(where: Any, units: list[str]) -> list[dict[str, Any]]:
    """Find the rows of units; one that is not there, or has no text, raises.

    Parameters
    ----------
    where : list of stores, or DataFrame
        What :func:`readable` gave; a later store fills what an earlier one lacks.
    units : list of str
        Unit ids.

    Returns
    -------
    list of dict
        One row of columns per unit.
    """
    if isinstance(where, pd.DataFrame):
        place = {name: n for n, name in enumerate(where[unit_column(where, "docs")])}
        there = list(dict.fromkeys(unit for unit in units if unit in place))
        rows = dict(zip(there, records(where.iloc[[place[unit] for unit in there]])))
        found = [rows.get(unit, {}) for unit in units]
    else:
        found = [_merged(store.get(unit) for store in where) for unit in units]
    missing = [unit for unit, row in zip(units, found) if not row]
    if missing:
        raise ValueError(
            f"docs lacks {len(missing)} units of the run: {some(missing)}; give the documents it came from."
        )
    mute = [unit for unit, row in zip(units, found) if not isinstance(row.get("text"), str)]
    if mute:
        raise ValueError(f"docs holds no text of {some(mute)}; give docs= with the texts.")
    return found


def stores_of(source: Any) -> list[Any]:
    """Find the ragkit stores behind a store, a search, a bound method or a partial function.

    Parameters
    ----------
    source : object
        Anything.

    Returns
    -------
    list of KeywordIndex and VectorStore
        Empty when there are none.
    """
    if isinstance(source, (KeywordIndex, VectorStore)):
        return [source]
    if isinstance(source, HybridSearch):
        return [store for part in source.sources.values() for store in stores_of(part)]
    if isinstance(source, (list, tuple)):
        return [store for part in source for store in stores_of(part)]
    if isinstance(source, functools.partial):
        return stores_of(source.func)
    for name in ("__self__", "store"):  # a bound method; a store's retriever, or a RagkitVectorStore
        inner = getattr(source, name, None)
        if isinstance(inner, (KeywordIndex, VectorStore, HybridSearch)):
            return stores_of(inner)
    return []


def document_of(row: Mapping[str, Any], unit: str, ledger: Mapping[str, Any] | None = None) -> Document:
    """Make a document of a row.

    Parameters
    ----------
    row : mapping
        The document's columns.
    unit : str
        The column of its id.
    ledger : mapping, optional
        The columns of the run.

    Returns
    -------
    Document
        Sharing nothing with `row`.
    """
    metadata = metadata_of(row, unit)
    for name, value in (ledger or {}).items():
        if name in (unit, "doc_id"):
            metadata.setdefault("doc_id", value) if name != unit else None
        else:
            metadata[f"retrieval_{name}" if name in metadata else name] = _plain(value)
    text = row.get("text")
    return Document(page_content=text if isinstance(text, str) else "", metadata=metadata, id=str(row[unit]))


def documents_of(docs: pd.DataFrame) -> Iterator[Document]:
    """Make documents of a store's rows, one after the other.

    Parameters
    ----------
    docs : DataFrame
        The rows.

    Yields
    ------
    Document
        Sharing nothing with the store.
    """
    unit = unit_column(docs, "docs")
    if {METADATA, "text"} <= set(docs.columns) and all(isinstance(m, dict) for m in docs[METADATA]):
        for name, text, metadata in zip(docs[unit], docs["text"], docs[METADATA]):
            yield Document(page_content=text, metadata=copied(metadata), id=name)
    else:
        for row in records(docs):
            yield document_of(row, unit)


def metadata_of(row: Mapping[str, Any], unit: str) -> dict[str, Any]:
    """Read a document's metadata: as it was given where it was kept, else every column that has a value.

    Parameters
    ----------
    row : mapping
        The document's columns.
    unit : str
        The column of its id.

    Returns
    -------
    dict
        A copy.
    """
    kept = row.get(METADATA)
    if isinstance(kept, Mapping):
        return copied(kept)
    renamed = {"metadata_text": "text"}  # as ragkit.as_docs calls a metadata key named text
    return {
        renamed.get(name, name): copy.deepcopy(_plain(value))
        for name, value in row.items()
        if name not in ("text", unit) and not _is_missing(value)
    }


def copied(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Copy metadata, deeply where a value is not a plain one.

    Parameters
    ----------
    metadata : mapping
        Any metadata.

    Returns
    -------
    dict
        The copy.
    """
    if all(value is None or isinstance(value, (str, int, float)) for value in metadata.values()):
        return dict(metadata)
    return copy.deepcopy(dict(metadata))


def frame_of(
    ids: list[str], texts: list[str], metadatas: list[Mapping[str, Any]], *, chunks: bool = False
) -> pd.DataFrame:
    """Make the rows in which a store keeps documents.

    Metadata is kept twice: as it was given, so that it comes back exactly, and as columns, so that
    ``where=`` and tables can use it. Columns are of objects, so that a whole number stays one beside a gap.

    Parameters
    ----------
    ids : list of str
        Unit ids.
    texts : list of str
        Texts.
    metadatas : list of mapping
        Metadata, one each; copied.
    chunks : bool, default=False
        Whether the units are chunks, whose document is the metadata's ``doc_id``, or else their own id's.

    Returns
    -------
    DataFrame
        ``[chunk_id,] doc_id, text, metadata`` and a column per key of the metadata.
    """
    doc_ids = [m.get("doc_id", i) for m, i in zip(metadatas, ids)] if chunks else ids
    columns: dict[str, Any] = {"chunk_id": ids} if chunks else {}
    columns |= {"doc_id": doc_ids, "text": texts, METADATA: objects([copied(m) for m in metadatas])}
    keys = dict.fromkeys(key for metadata in metadatas for key in metadata)
    for key in keys:
        if isinstance(key, str) and key not in _NOT_FLAT:
            columns[key] = objects([m.get(key) for m in metadatas])
    return pd.DataFrame(columns)


def is_column(key: Any) -> bool:
    """Say whether a key of the metadata is a column of its own in :func:`frame_of`.

    Parameters
    ----------
    key : object
        The key.

    Returns
    -------
    bool
        False for those that mean something else in ragkit's frames.
    """
    return isinstance(key, str) and key not in _NOT_FLAT


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Give a frame's rows as dicts, in Python's own types.

    Parameters
    ----------
    frame : DataFrame
        Any frame.

    Returns
    -------
    list of dict
        One per row.
    """
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]


def unit_of(row: Mapping[str, Any]) -> str:
    """Name the column of a row that holds the unit's id.

    Parameters
    ----------
    row : mapping
        A document's or a chunk's columns.

    Returns
    -------
    str
        ``"chunk_id"`` or ``"doc_id"``.
    """
    return "chunk_id" if "chunk_id" in row else "doc_id"


def objects(values: list[Any]) -> pd.Series:
    """Make a column whose cells are just what they are.

    Parameters
    ----------
    values : list
        The cells.

    Returns
    -------
    Series of object
        The column.
    """
    cells = np.empty(len(values), dtype=object)
    for n, value in enumerate(values):  # a slice would unpack lists of one length
        cells[n] = value
    return pd.Series(cells, dtype=object)


def _rows_of_run(frame: pd.DataFrame) -> list[dict[str, Any]]:
    if "text" not in frame.columns:
        raise ValueError(
            "docs is needed, because the run has no column text; give the documents, or run.merge(docs)."
        )
    unit = unit_column(frame)
    names = dict.fromkeys([unit, "doc_id", "text"])
    return records(frame[list(names)])


def _merged(rows: Iterable[dict[str, Any] | None]) -> dict[str, Any]:
    """Put the rows of one unit together; the first that has a value says it."""
    merged: dict[str, Any] = {}
    for row in rows:
        for name, value in (row or {}).items():
            if _is_missing(merged.get(name)):
                merged[name] = value
    return merged


def _is_missing(value: Any) -> bool:
    return value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and value != value)


def _plain(value: Any) -> Any:
    """Make a value of Python's own types, so that it can be written as JSON; missing ones become None."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    return None if _is_missing(value) else value
