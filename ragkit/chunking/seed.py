"""The chunker of expo-ai-kit, kept for comparison: its chunks, with the offsets it does not give."""

from __future__ import annotations

import re

from ragkit.chunking.packing import Span

_SEGMENT = re.compile(r"[^.!?\n]+[.!?]*\n*|\n+")
# What ECMAScript's trim removes: with the byte order mark, without U+001C to U+001F and U+0085.
_TRIM = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)


def seed_spans(text: str, size: int, overlap: int) -> list[Span]:
    """Cut as ``chunkText`` of expo-ai-kit 0.14 does, in code points instead of UTF-16 units.

    Its marks are ``. ! ?`` wherever they stand; its overlap is a raw tail, which with the next segment may
    exceed `size`; its windows over a long segment run on until the last one starts at the end. A run of
    marks at the start of a text or line belongs to no segment: there it loses text, and so does this.
    Where such a run stands inside a chunk, ours is the slice and holds it.

    Parameters
    ----------
    text : str
        Any text.
    size, overlap : int
        Characters.

    Returns
    -------
    list of (start, end)
        Chunks in the order that it gives them.
    """
    low, high = _trimmed(text, 0, len(text))
    if high - low <= size:
        return [(low, high)] if high > low else []
    segments = [m.span() for m in _SEGMENT.finditer(text, low, high)] or [(low, high)]
    spans: list[Span] = []
    parts: list[Span] = []  # what the open chunk is made of, without the text that is lost between

    def flush() -> None:
        if parts:
            start, end = _trimmed(text, parts[0][0], parts[-1][1])
            if end > start:
                spans.append((start, end))

    for start, end in segments:
        if end - start > size:
            flush()
            parts = []
            windows = (_trimmed(text, a, min(a + size, end)) for a in range(start, end, size - overlap))
            spans += [(a, b) for a, b in windows if b > a]
            continue
        held = sum(b - a for a, b in parts)
        if held + end - start > size and any(text[a:b].strip(_TRIM) for a, b in parts):
            flush()
            parts = _tail(parts, overlap)
        parts.append((start, end))
    flush()
    return spans


def _trimmed(text: str, start: int, end: int) -> Span:
    piece = text[start:end]
    left = len(piece) - len(piece.lstrip(_TRIM))
    return start + left, start + max(len(piece.rstrip(_TRIM)), left)


def _tail(parts: list[Span], overlap: int) -> list[Span]:
    """Keep the last `overlap` characters of the parts."""
    kept: list[Span] = []
    for start, end in reversed(parts):
        if overlap <= 0:
            break
        kept.insert(0, (max(start, end - overlap), end))
        overlap -= end - start
    return kept
