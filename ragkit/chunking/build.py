"""From documents to the chunks frame: the public door of chunking."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from ragkit.chunking.methods import METHODS, Plan
from ragkit.chunking.packing import Span
from ragkit.frames import as_docs, check_choice, deep_copy

_OWN = ["chunk_id", "doc_id", "start", "end", "text", "overlap"]
_ZERO_WIDTH = "\u200b\u200c\u200d\u2060\ufeff"
_MOST_CHARACTERS = 4e9


def chunk(
    docs: Any,
    *,
    method: str = "sentence",
    size: int = 1000,
    overlap: int | None = None,
    length: Callable[[str], int] = len,
) -> pd.DataFrame:
    """Cut documents into chunks that are exact slices of them.

    A chunk never begins or ends with white space, and never cuts a character that a reader sees as one.
    Starts and ends strictly increase, and every character that is not white space is covered.

    Parameters
    ----------
    docs : str, list of str, dict, DataFrame or documents
        Whatever :func:`ragkit.as_docs` takes.
    method : {"sentence", "fixed", "paragraph", "recursive"}, default="sentence"
        How to cut. ``"sentence"`` fills each chunk with whole sentences and breaks only those longer
        than `size`, at a word if it can; ``"fixed"`` cuts after `size` characters.
    size : int, default=1000
        The most that `length` may give for a chunk.
    overlap : int or None, default=None
        The most that a chunk repeats of the one before it, inside `size`; None is ``min(200, size // 5)``.
        It begins with a whole sentence or word where it can, so it may be less: the column ``overlap`` says
        how many characters there are.
    length : callable, default=len
        ``str -> int``: what `size` and `overlap` count.

    Returns
    -------
    DataFrame
        ``chunk_id, doc_id, start, end, text, overlap`` and the document's other columns;
        ``text == document[start:end]``. Blank documents give no chunk.

    Raises
    ------
    ValueError
        If `size` or `overlap` is not a whole number, `overlap` is not below `size`, or `method` is unknown.
    TypeError
        If a text is not a string, or `length` does not give whole numbers.

    Examples
    --------
    >>> chunks = chunk("One is small. Two is big. Three is bigger.", size=30, overlap=12)
    >>> chunks[["start", "end", "text", "overlap"]].values.tolist()
    [[0, 25, 'One is small. Two is big.', 0], [14, 42, 'Two is big. Three is bigger.', 11]]
    """
    size, overlap = _check_size(size, overlap)
    name = check_choice("method", method, METHODS)
    if not callable(length):
        raise TypeError(f"length must be a function str -> int; got {length!r}.")
    frame = _check_docs(docs)
    plan = Plan(size=size, overlap=overlap, length=length)
    _check_total(frame["text"], plan)
    cut = METHODS[name]
    spans = [_spans(text, plan, cut) for text in frame["text"]]
    return _frame(frame, spans)


def _spans(text: str, plan: Plan, cut: Callable[[str, Plan], list[Span]]) -> list[Span]:
    """Cut one text; one that fits is one chunk."""
    inner = text.strip()
    if not inner or not (inner.isascii() or inner.strip(_ZERO_WIDTH + " \t\n\r\u00a0")):
        return []
    if plan.length is len and len(inner) <= plan.size:
        start = len(text) - len(text.lstrip())
        return [(start, start + len(inner))]
    return cut(text, plan)


def _check_size(size: Any, overlap: Any) -> tuple[int, int]:
    given = f"got size={size!r}, overlap={overlap!r}"
    if not _is_whole(size) or size < 1:
        raise ValueError(f"size must be a whole number >= 1; {given}.")
    if overlap is None:
        return int(size), min(200, int(size) // 5)
    if not _is_whole(overlap) or not 0 <= overlap < size:
        raise ValueError(
            f"overlap must be a whole number in [0, size), or None for a fifth of size; {given}."
        )
    return int(size), int(overlap)


def _is_whole(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and type(value).__name__ not in ("bool", "bool_")


def _check_docs(docs: Any) -> pd.DataFrame:
    frame = as_docs(docs)
    taken = [name for name in _OWN if name in frame.columns and name not in ("doc_id", "text")]
    if taken:
        raise ValueError(
            f"chunk writes the columns {taken}, which docs has already; give documents that are not chunks, "
            "or rename those columns."
        )
    return frame


def _check_total(texts: pd.Series, plan: Plan) -> None:
    """Refuse an overlap so close to the size that the chunks would not fit into memory."""
    step = plan.size - plan.overlap
    if plan.length is not len or step * 100 > plan.size:
        return
    total = sum(len(text) / step * plan.size for text in texts if len(text) > plan.size)
    if total > _MOST_CHARACTERS:
        raise ValueError(
            f"size={plan.size} with overlap={plan.overlap} could make {total:.2g} characters of these texts; "
            "lower overlap."
        )


def _frame(docs: pd.DataFrame, spans: list[list[Span]]) -> pd.DataFrame:
    """Lay out the spans of all documents as the chunks frame."""
    counts = np.fromiter((len(s) for s in spans), dtype=np.int64, count=len(spans))
    rows = np.repeat(np.arange(len(spans)), counts)
    ids = docs["doc_id"].to_numpy(dtype=object)
    flat = np.array([edge for s in spans for span in s for edge in span], dtype=np.int64).reshape(-1, 2)
    starts, ends = flat[:, 0], flat[:, 1]
    texts = [text[a:b] for text, s in zip(docs["text"], spans) for a, b in s]
    chunk_ids = [f"{doc_id}#{n}" for doc_id, count in zip(ids, counts.tolist()) for n in range(count)]
    same = rows[1:] == rows[:-1]
    shared = np.zeros(len(rows), dtype=np.int64)
    shared[1:] = np.where(same, np.maximum(ends[:-1] - starts[1:], 0), 0)
    own = {
        "chunk_id": pd.Series(chunk_ids, dtype="str"),
        "doc_id": docs["doc_id"].take(rows).reset_index(drop=True),
        "start": starts,
        "end": ends,
        "text": pd.Series(texts, dtype="str"),
        "overlap": shared,
    }
    others = [name for name in docs.columns if name not in ("doc_id", "text")]
    out = pd.DataFrame(own)
    if others:
        out = pd.concat([out, deep_copy(docs[others].take(rows).reset_index(drop=True))], axis=1)
    return out
