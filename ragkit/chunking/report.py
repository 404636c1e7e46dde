"""What a chunking did to its documents: sizes, repetitions, gaps, sentences cut."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from ragkit.chunking.places import ByDocument
from ragkit.frames import as_docs
from ragkit.text.boundaries import sentence_spans

_SIZES = ["mean", "shortest", "quarter", "median", "three_quarters", "longest"]
_COUNTS = ["characters", "duplicated", "uncovered", "sentences", "sentences_cut", "not_slices"]


def chunk_report(chunks: pd.DataFrame, docs: Any, *, length: Callable[[str], int] = len) -> pd.DataFrame:
    """Measure what a chunking did, for all documents together and for each.

    Parameters
    ----------
    chunks : DataFrame
        Chunks as :func:`ragkit.chunk` gives them: ``chunk_id, doc_id, start, end, text``.
    docs : documents
        What was cut; whatever :func:`ragkit.as_docs` takes.
    length : callable, default=len
        ``str -> int``: the unit of the sizes.

    Returns
    -------
    DataFrame
        The first row is over all documents (``scope`` is ``"all"`` and ``doc_id`` empty), then one row per
        document. ``chunks``; sizes: ``mean, shortest, quarter, median, three_quarters, longest``;
        ``shortest_id, longest_id``; then numbers of characters: ``characters`` in the text, ``duplicated``
        beyond their first chunk, ``uncovered`` that are not white space and in no chunk; ``sentences`` and
        ``sentences_cut``, those that no chunk holds whole; ``not_slices``: chunks whose text is not
        ``document[start:end]``.

    Raises
    ------
    ValueError
        If a chunk's document is not in `docs`.

    See Also
    --------
    chunk : Cuts documents.
    show_chunks : Chunks marked in their text.

    Examples
    --------
    >>> import ragkit as rk
    >>> docs = {"d": "One is small. Two is big. Three is bigger."}
    >>> report = chunk_report(rk.chunk(docs, size=30, overlap=12), docs)
    >>> report[["scope", "chunks", "longest", "duplicated", "uncovered", "sentences_cut"]].values.tolist()
    [['all', 2, 28.0, 11, 0, 0], ['document', 2, 28.0, 11, 0, 0]]
    """
    frame = as_docs(docs)
    parts = ByDocument(chunks, frame)
    columns = [parts.frame[name].tolist() for name in ("chunk_id", "start", "end", "text")]
    edges = list(pairwise(parts.edges.tolist()))
    ids, starts, ends, texts = ([column[a:b] for a, b in edges] for column in columns)
    rows = [_measure(*one) for one in zip(frame["text"], starts, ends, texts)]
    sizes = [np.array([length(t) for t in some], dtype=np.float64) for some in texts]
    everything = _row(
        "all", "", np.concatenate([np.empty(0), *sizes]), [i for some_ids in ids for i in some_ids]
    )
    table = [everything | {name: sum(row[name] for row in rows) for name in _COUNTS}]
    for doc_id, size, names, row in zip(frame["doc_id"], sizes, ids, rows):
        table.append(_row("document", doc_id, size, names) | row)
    return pd.DataFrame(table)


def _row(scope: str, doc_id: str, sizes: np.ndarray, ids: list[str]) -> dict[str, Any]:
    n = len(sizes)
    quarters = np.interp(np.linspace(0, n - 1, 5), np.arange(n), np.sort(sizes)) if n else [np.nan] * 5
    shape = [sizes.mean() if n else np.nan, *quarters]
    return {
        "scope": scope,
        "doc_id": doc_id,
        "chunks": n,
        **dict(zip(_SIZES, map(float, shape))),
        "shortest_id": ids[int(np.argmin(sizes))] if n else "",
        "longest_id": ids[int(np.argmax(sizes))] if n else "",
    }


def _measure(text: str, first: list[int], last: list[int], texts: list[str]) -> dict[str, int]:
    """Count characters and sentences of one document, whose chunks go from `first` to `last`."""
    starts, ends = np.array(first, dtype=np.int64), np.array(last, dtype=np.int64)
    # How far the chunks up to each one reach; a gap opens where the next one starts beyond that.
    reach = np.maximum.accumulate(np.concatenate([[0], ends]))
    new = np.maximum(ends - np.maximum(starts, reach[:-1]), 0)
    gaps = zip(reach.tolist(), [*first, len(text)])
    sentences = np.array(sentence_spans(text), dtype=np.int64).reshape(-1, 2)
    holder = np.searchsorted(starts, sentences[:, 0], side="right")
    return {
        "characters": len(text),
        "duplicated": int((ends - starts).sum() - new.sum()),
        "uncovered": sum(len("".join(text[a:b].split())) for a, b in gaps if a < b),
        "sentences": len(sentences),
        "sentences_cut": int((reach[holder] < sentences[:, 1]).sum()),
        "not_slices": sum(t != text[a:b] for t, a, b in zip(texts, first, last)),
    }
