"""Chunks and passages by document: what the report, the marked text and the ruler share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ragkit.frames import as_ids, check_frame, some


def named_chunks(chunks: Any, who: str) -> dict[str, Any]:
    """Take one way of chunking or several by name; one alone has no name.

    Parameters
    ----------
    chunks : DataFrame or dict of name to DataFrame
        What the user gave.
    who : str
        The function, for the message.

    Returns
    -------
    dict of str to DataFrame
        At least one.
    """
    named = (
        {str(name): part for name, part in chunks.items()} if isinstance(chunks, Mapping) else {"": chunks}
    )
    if not named:
        raise ValueError(f"{who} needs chunks; got an empty dict.")
    return named


class ByDocument:
    """Chunks in the order of the documents and of their starts; the chunks of one document by its row.

    Parameters
    ----------
    chunks : DataFrame
        ``chunk_id, doc_id, start, end, text``.
    docs : DataFrame
        The documents.
    """

    def __init__(self, chunks: Any, docs: pd.DataFrame):
        check_frame(chunks, ["chunk_id", "doc_id", "start", "end", "text"], "chunks")
        ids = as_ids(chunks["doc_id"], "doc_id").astype(object).to_numpy()
        place = pd.Index(docs["doc_id"].astype(object)).get_indexer(pd.Index(ids))
        if (place < 0).any():
            raise ValueError(f"chunks are of documents that docs lacks: {some(pd.unique(ids[place < 0]))}.")
        order = np.lexsort((chunks["end"].to_numpy(), chunks["start"].to_numpy(), place))
        self.frame = chunks.iloc[order]
        self.edges = np.searchsorted(place[order], np.arange(len(docs) + 1))

    def __getitem__(self, row: int) -> pd.DataFrame:
        return self.frame.iloc[self.edges[row] : self.edges[row + 1]]


def choose_document(docs: pd.DataFrame, parts: ByDocument, doc_id: Any) -> int:
    """Find the row of the document to show: the one asked for, else the first with chunks.

    Parameters
    ----------
    docs : DataFrame
        The documents.
    parts : ByDocument
        The chunks of each.
    doc_id : str or None
        The one asked for.

    Returns
    -------
    int
        Its row.
    """
    ids = docs["doc_id"].astype(object).tolist()
    if not ids:
        raise ValueError("chunks cannot be shown without documents; docs is empty.")
    if doc_id is None:
        return int(np.argmax(np.diff(parts.edges) > 0))
    if str(doc_id) not in ids:
        raise ValueError(f"doc_id {doc_id!r} is not among the documents: {some(ids)}.")
    return ids.index(str(doc_id))


def gold_in(spans: Any, doc_id: str) -> list[tuple[int, int]]:
    """List the gold passages of one document.

    Parameters
    ----------
    spans : DataFrame or None
        ``doc_id, start, end``.
    doc_id : str
        The document.

    Returns
    -------
    list of (start, end)
        Its passages.
    """
    if spans is None:
        return []
    check_frame(spans, ["doc_id", "start", "end"], "spans")
    mine = spans[as_ids(spans["doc_id"], "doc_id").to_numpy() == doc_id]
    return list(zip(mine["start"].astype(int), mine["end"].astype(int)))
