"""Pieces between cuts, as offsets."""

from __future__ import annotations

from collections.abc import Sequence

from ragkit.text.blanks import end_of_word, skip_blank
from ragkit.text.boundaries.marks import Sentences


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Cut `text` into sentences, as offsets without the white space around them.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    list of (start, end)
        Every character that is not white space lies in exactly one of them.

    Examples
    --------
    >>> text = "Dr. Ng paid 3.50 euros. J. R. Mori came at 9 a.m. on foot."
    >>> [text[start:end] for start, end in sentence_spans(text)]
    ['Dr. Ng paid 3.50 euros.', 'J. R. Mori came at 9 a.m. on foot.']
    """
    return spans_between(text, Sentences(text).positions())


def spans_between(text: str, cuts: Sequence[int]) -> list[tuple[int, int]]:
    """Make spans of cuts: from each piece's first to its last character that is not white space.

    Parameters
    ----------
    text : str
        Any text.
    cuts : sequence of int
        Cuts in order; what follows the last one is a piece as well.

    Returns
    -------
    list of (start, end)
        Spans that are not blank.
    """
    spans, at, n = [], skip_blank(text, 0), len(text)
    for cut in [*cuts, n]:
        end = end_of_word(text, at, cut) if cut > at else at
        if end > at:
            spans.append((at, end))
            at = skip_blank(text, end)
    return spans
