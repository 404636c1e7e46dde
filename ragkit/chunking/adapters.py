"""Splitters of other libraries, recognised by their methods; their chunks are located, never guessed."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import Any

from ragkit.chunking.packing import Span

# Methods that cut one text, best first: those that give offsets, then those that give texts.
_METHODS = ("chunk_indices", "split_text", "get_nodes_from_documents", "chunks", "chunk", "__call__")
_STARTS = ("start_index", "start_char_idx", "start")
_TEXTS = ("text", "page_content", "content")
_OVERLAPS = ("_chunk_overlap", "chunk_overlap", "overlap")


def is_splitter(method: Any) -> bool:
    """Say whether `method` cuts texts: an object of another library, or a function.

    Parameters
    ----------
    method : object
        What the user gave.

    Returns
    -------
    bool
        True for splitters.

    Raises
    ------
    TypeError
        If it is a splitter's class.
    """
    found = not isinstance(method, (str, bytes)) and any(callable(getattr(method, n, None)) for n in _METHODS)
    if found and isinstance(method, type):
        name = method.__name__
        raise TypeError(f"method must be a splitter, not its class {name}; make one: {name}(...).")
    return found


def splitter_name(splitter: Any) -> str:
    """Name a splitter in messages: by its class, or a function by its own name.

    Parameters
    ----------
    splitter : object
        A splitter or a function.

    Returns
    -------
    str
        The name.
    """
    return getattr(splitter, "__name__", type(splitter).__name__)


def splitter_spans(splitter: Any, text: str, doc_id: str) -> list[Span]:
    """Cut `text` with another library's splitter and find each chunk in it.

    Parameters
    ----------
    splitter : object
        With ``chunk_indices``, ``split_text``, ``chunks`` or ``chunk``, or a function ``str -> list``.
    text : str
        The document.
    doc_id : str
        Its id, for the message.

    Returns
    -------
    list of (start, end)
        Chunks without the white space at their edges; blank ones are left out.

    Raises
    ------
    ValueError
        If a chunk is not a slice of the document, or comes out of order.
    TypeError
        If the splitter returns something else than chunks.
    """
    overlap = next((o for a in _OVERLAPS if isinstance(o := getattr(splitter, a, None), int)), 0)
    spans: list[Span] = []
    for n, item in enumerate(_pieces(splitter, text)):
        piece, start = _piece(item)
        inner = piece.strip()
        if not inner:
            continue
        if start is not None:
            start += len(piece) - len(piece.lstrip())
        at = _locate(text, inner, start, spans, overlap)
        if at < 0:
            raise ValueError(
                f"method: chunk {n} of document {doc_id!r} from {splitter_name(splitter)} is not a slice of "
                f"the text after the chunk before it: {inner[:40]!r}. Switch off what it changes in the "
                "text (white space, line ends, case, separators left out), or use a method of ragkit."
            )
        spans.append((at, at + len(inner)))
    return spans


def _pieces(splitter: Any, text: str) -> Iterable[Any]:
    name = next(n for n in _METHODS if callable(getattr(splitter, n, None)))
    cut: Callable[[Any], Any] = splitter if name == "__call__" else getattr(splitter, name)
    pieces = cut([_document(text)] if name == "get_nodes_from_documents" else text)
    if isinstance(pieces, (str, bytes)) or not isinstance(pieces, Iterable):
        raise TypeError(
            f"method must give a list of chunks for a text; {splitter_name(splitter)} gave "
            f"{type(pieces).__name__}."
        )
    return pieces


def _document(text: str) -> Any:
    """Wrap a text as those parsers of llama-index want it that cut no plain strings."""
    return importlib.import_module("llama_index.core.schema").Document(text=text)


def _piece(item: Any) -> tuple[str, int | None]:
    """Take a chunk apart: its text, and where it says that it starts."""
    if isinstance(item, str):
        return item, None
    if isinstance(item, tuple) and len(item) == 2 and isinstance(item[1], str):
        return item[1], int(item[0])
    text = next((t for name in _TEXTS if isinstance(t := getattr(item, name, None), str)), None)
    if text is None:
        raise TypeError(
            f"method must give chunks that are strings or have a text; got {type(item).__name__}."
        )
    start = next((s for name in _STARTS if isinstance(s := getattr(item, name, None), int)), None)
    return text, start


def _locate(text: str, piece: str, said: int | None, spans: list[Span], overlap: int) -> int:
    """Find where `piece` stands: where the splitter says, else nearest to the end of the chunk before it."""
    before, end = spans[-1] if spans else (-1, 0)
    if said is not None and said > before and text.startswith(piece, said):
        return said
    # A copy that adds nothing after the chunk before cannot be it.
    at = best = text.find(piece, max(before + 1, end - len(piece) + 1, 0))
    while at >= 0 and (at <= end or not text[end:at].strip()):
        # Among copies that leave no gap, the one whose overlap is nearest to what the splitter was asked for.
        if abs(max(end - at, 0) - overlap) < abs(max(end - best, 0) - overlap):
            best = at
        if at > end:
            break
        at = text.find(piece, at + 1)
    return best
