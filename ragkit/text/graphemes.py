"""What a reader sees as one character: places inside it where text is never cut.

The rules are those of Unicode's extended grapheme clusters, from the character data of the running Python.
Where that data does not tell (pictographs, conjuncts), the answer leans to "do not cut".
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

_ZWNJ, _ZWJ = "\u200c", "\u200d"
_VIRAMA = 9  # the combining class of the signs that join two consonants


def _in_ranges(char: str, *ranges: tuple[int, int]) -> bool:
    code = ord(char)
    return any(low <= code <= high for low, high in ranges)


def _extends(char: str) -> bool:
    """Say whether `char` belongs to the character before it."""
    return (
        unicodedata.category(char) in ("Mn", "Me", "Mc")
        or char in (_ZWNJ, _ZWJ, "\u0e33", "\u0eb3", "\uff9e", "\uff9f")
        or _in_ranges(char, (0x1F3FB, 0x1F3FF), (0xE0020, 0xE007F))  # skin tones, tags
    )


def _is_control(char: str) -> bool:
    return char not in (_ZWNJ, _ZWJ) and (
        unicodedata.category(char) in ("Cc", "Zl", "Zp")
        or (unicodedata.category(char) == "Cf" and not _extends(char) and not _is_prepended(char))
    )


def _is_prepended(char: str) -> bool:
    """Say whether `char` is a sign written around the digits that follow it."""
    return char in "\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd" or _in_ranges(char, (0x600, 0x605))


def _is_flag_half(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _hangul(char: str) -> str:
    """Name the part of a Korean syllable that `char` is: L, V, T, LV, LVT or nothing."""
    code = ord(char)
    if 0xAC00 <= code <= 0xD7A3:
        return "LV" if (code - 0xAC00) % 28 == 0 else "LVT"
    if 0x1100 <= code <= 0x115F or 0xA960 <= code <= 0xA97C:
        return "L"
    if 0x1160 <= code <= 0x11A7 or 0xD7B0 <= code <= 0xD7C6:
        return "V"
    return "T" if 0x11A8 <= code <= 0x11FF or 0xD7CB <= code <= 0xD7FB else ""


_SYLLABLES = {"L": ("L", "V", "LV", "LVT"), "V": ("V", "T"), "LV": ("V", "T"), "T": ("T",), "LVT": ("T",)}


def is_boundary(text: str, at: int, start: int = 0) -> bool:
    """Say whether `text` may be cut at `at` without cutting a character that a reader sees as one.

    Parameters
    ----------
    text : str
        Any text.
    at : int
        The place, before the character of that index.
    start : int, default=0
        A place at or before `at` where cutting is known to be safe; flags are counted in pairs from there.

    Returns
    -------
    bool
        False inside CR LF, before combining marks and joiners, inside emoji sequences, flags, Korean
        syllables and conjuncts.

    Examples
    --------
    >>> [is_boundary("e\u0301a", n) for n in range(4)]
    [True, False, True, True]
    """
    if at <= 0 or at >= len(text):
        return True
    before, after = text[at - 1], text[at]
    if before < "\u0300" and after < "\u0300":
        return not (before == "\r" and after == "\n")
    if _is_flag_half(before) and _is_flag_half(after):
        return _flag_halves_before(text, at, start) % 2 == 0
    return _part(before, after)


@lru_cache(maxsize=1 << 14)
def _part(before: str, after: str) -> bool:
    """Say whether a reader sees two neighbouring characters as two; flags apart, which come in pairs."""
    if _is_control(before) or _is_control(after):
        return True
    if _extends(after):
        return False
    if _is_prepended(before) or before == _ZWJ:
        return after.isspace()
    if unicodedata.combining(before) == _VIRAMA and unicodedata.category(after) == "Lo":
        return False
    return _hangul(after) not in _SYLLABLES.get(_hangul(before), ())


def _flag_halves_before(text: str, at: int, start: int) -> int:
    count = 0
    while at - count > start and _is_flag_half(text[at - count - 1]):
        count += 1
    return count


def boundary_before(text: str, at: int, start: int) -> int:
    """Find the last safe place at or before `at` and after `start`; `start` itself where there is none.

    Parameters
    ----------
    text : str
        Any text.
    at : int
        Where one would like to cut.
    start : int
        A safe place before it.

    Returns
    -------
    int
        The place.
    """
    while at > start and not is_boundary(text, at, start):
        at -= 1
    return at


def boundary_after(text: str, at: int, start: int, stop: int | None = None) -> int:
    """Find the first safe place at or after `at`.

    Parameters
    ----------
    text : str
        Any text.
    at : int
        Where one would like to cut.
    start : int
        A safe place before it.
    stop : int or None, default=None
        Where to give up; None is the end of the text.

    Returns
    -------
    int
        The place; one beyond `stop`, or the end of the text, where no other is.
    """
    stop = len(text) - 1 if stop is None else stop
    while at <= stop and not is_boundary(text, at, start):
        at += 1
    return min(at, len(text))
