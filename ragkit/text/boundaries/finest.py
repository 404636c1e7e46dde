"""Words, separators and characters: boundaries that need no judging."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragkit.text.blanks import end_of_word, skip_blank
from ragkit.text.boundaries.base import Boundaries
from ragkit.text.graphemes import boundary_after, boundary_before, is_boundary

_BLANK = re.compile(r"\s")
_BLANK_AFTER_WORD = re.compile(r"(?<=\S)(?=\s)")


class Words(Boundaries):
    """Ends of words: places before white space of any kind.

    Parameters
    ----------
    text : str
        Any text.
    """

    def last(self, low: int, high: int) -> int:
        """Find the last cut in ``(low, high]``; -1 if there is none."""
        text = self.text
        if high >= len(text) or text[high].isspace() or text[high - 1].isspace():
            cut = end_of_word(text, low, high)
            return cut if cut > low else -1
        # rsplit finds the last white space of any kind at the speed of C.
        parts = text[low:high].rsplit(None, 1)
        return low + len(parts[0]) if len(parts) == 2 else -1

    def next(self, low: int, high: int) -> int:
        """Find the first cut in ``(low, high]``; -1 if there is none."""
        found = _BLANK_AFTER_WORD.search(self.text, low + 1, min(high + 1, len(self.text)))
        if found:
            return found.start()
        n = len(self.text)
        return n if low < n <= high and not self.text[n - 1].isspace() else -1

    def start(self, low: int, high: int) -> int:
        """Find the first place in ``[low, high)`` where a piece begins, after white space; -1 if none."""
        text, at = self.text, low - 1 if low > 0 else 0
        if low > 0 and not text[at].isspace():
            found = _BLANK.search(text, low, high)
            at = found.start() if found else high
        start = skip_blank(text, at)
        return start if low <= start < high else -1


class Separator(Boundaries):
    """Places where a given string stands; the string stays with the piece before it, or after it.

    Parameters
    ----------
    text : str
        Any text.
    separator : str
        What to look for; not empty.
    keep : {"end", "start"}, default="end"
        Whether the separator ends the piece before it or begins the piece after it.
    """

    def __init__(self, text: str, separator: str, keep: str = "end"):
        super().__init__(text)
        self._separator = separator
        self._absent = separator not in text
        self._kept = len(separator.rstrip()) if keep == "end" else 0

    def _cut(self, at: int, low: int) -> int:
        """Give the cut that belongs to the separator at `at`; -1 if it would cut a character."""
        cut = at + self._kept if self._kept else end_of_word(self.text, low, at)
        return cut if is_boundary(self.text, cut, max(cut - 1, 0)) else -1

    def last(self, low: int, high: int) -> int:
        """Find the last cut in ``(low, high]``; -1 if there is none."""
        if self._absent:
            return -1
        rest = len(self._separator) - self._kept
        at = self.text.rfind(self._separator, max(low - self._kept, 0), high + rest)
        while at >= 0:
            cut = self._cut(at, min(low, at))
            if low < cut <= high:
                return cut
            if 0 <= cut <= low:
                return -1
            at = self.text.rfind(self._separator, max(low - self._kept, 0), at + len(self._separator) - 1)
        return -1

    def next(self, low: int, high: int) -> int:
        """Find the first cut in ``(low, high]``; -1 if there is none."""
        if self._absent:
            return -1
        rest = len(self._separator) - self._kept
        begin = max(low + 1 - self._kept, 0)
        at = self.text.find(self._separator, begin, high + rest)
        while at >= 0:
            cut = self._cut(at, max(low, 0))
            if low < cut <= high:
                return cut
            at = self.text.find(self._separator, at + 1, high + rest)
        return -1


class Characters(Boundaries):
    """Places between characters as readers see them: the last resort.

    Parameters
    ----------
    text : str
        Any text.
    """

    def __init__(self, text: str):
        super().__init__(text)
        # In plain text only CR LF must hold together.
        self._free = text.isascii() and "\r" not in text
        self._anchor = 0  # a safe place before those asked about next, from which flags are counted

    def last(self, low: int, high: int) -> int:
        """Find the last cut in ``(low, high]``; -1 if there is none."""
        cut = high if self._free else boundary_before(self.text, high, low)
        return cut if cut > low else -1

    def next(self, low: int, high: int) -> int:
        """Find the first cut in ``(low, high]``; -1 if there is none."""
        cut = low + 1 if self._free else boundary_after(self.text, low + 1, max(low, 0), high)
        return cut if low < cut <= high else -1

    def after(self, low: int) -> int:
        """Find the first cut after `low`, however far; the end of the text where there is none."""
        return low + 1 if self._free else boundary_after(self.text, low + 1, max(low, 0))

    def start(self, low: int, high: int) -> int:
        """Find the first place in ``[low, high)`` where a piece may begin; -1 if there is none."""
        at = low
        if not self._free:
            self._anchor = self._anchor if self._anchor <= low else 0
            at = self._anchor = boundary_after(self.text, low, self._anchor, high)
        at = skip_blank(self.text, at)
        return at if at < high else -1

    def positions(self) -> Sequence[int]:
        """List all cuts, in order."""
        n = len(self.text)
        return range(1, n + 1) if self._free else super().positions()
