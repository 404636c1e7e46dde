"""Stepping over white space, forth and back."""

from __future__ import annotations

import re

from ragkit.text.graphemes import is_boundary

_NONBLANK = re.compile(r"\S")


def skip_blank(text: str, at: int) -> int:
    """Find the first character at or after `at` that is not white space, or white space with a mark on it.

    Parameters
    ----------
    text : str
        Any text.
    at : int
        Where to begin.

    Returns
    -------
    int
        Its offset; the length of the text where there is none.
    """
    # One blank or blank line between plain characters is what stands between most words and paragraphs.
    try:
        near = at + 1 if text[at] == " " else at + 2 if text[at] == "\n" == text[at + 1] else at
        if "!" <= text[near] <= "~":
            return near
    except IndexError:
        pass
    found = _NONBLANK.search(text, at)
    if found is None:
        return len(text)
    start = found.start()
    # A mark that combines with the blank before it takes that blank along.
    whole = start == at or text[start] < "\u0300" or is_boundary(text, start, start - 1)
    return start if whole else start - 1


def end_of_word(text: str, low: int, at: int) -> int:
    """Step back from `at` over white space, not beyond `low`.

    Parameters
    ----------
    text : str
        Any text.
    low, at : int
        The stretch.

    Returns
    -------
    int
        The offset after the last character in ``text[low:at]`` that is not white space; `low` if none.
    """
    if at > low and not text[at - 1].isspace():
        return at
    near = at - 256  # a long stretch is not copied to look at its end
    while near > low:
        end = near + len(text[near:at].rstrip())
        if end > near:
            return end
        near -= 4 * (at - near)
    return low + len(text[low:at].rstrip())
