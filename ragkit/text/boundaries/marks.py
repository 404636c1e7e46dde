"""Sentences, paragraphs and lines: boundaries that are found by their marks."""

from __future__ import annotations

from ragkit.text.blanks import end_of_word, skip_blank
from ragkit.text.boundaries.base import Boundaries, LineBreaks, marks_in
from ragkit.text.sentence_rules import (
    CLOSERS,
    MARKS,
    SPACED,
    UNSPACED,
    block_end,
    sentence_end,
    surely_ends,
)

_NEAR = 1 << 13  # how far back questions go from the farthest so far, most of the time
_TAILS = frozenset(MARKS + CLOSERS)
_UNSPACED = frozenset(UNSPACED)


class _Sought(Boundaries):
    """Boundaries found by looking for a mark and judging the place; cuts come in the order of their marks.

    A cut exactly at `high` is missed where blanks stand between it and the line break that makes it one.
    """

    def __init__(self, text: str, marks: str):
        super().__init__(text)
        self._mark, self._others = marks[:1] or "\n", marks[1:]
        # In a stretch of the text all marks are written as the first, so that one search finds any of them.
        self._near, self._from, self._to = ("", 0, 0) if self._others else (text, 0, len(text) + 2)

    def _look_at(self, low: int, high: int) -> None:
        """Write the stretch that holds ``text[low:high]`` and what will be asked about next."""
        self._from = low - _NEAR if low > _NEAR else 0
        self._to = max(high, low + 8 * _NEAR)
        near = self.text[self._from : self._to]
        for mark in self._others:
            near = near.replace(mark, self._mark)
        self._near = near

    def _cut_at(self, at: int, low: int) -> int:
        """Judge the mark at `at`: the cut that belongs to it, -1 if none; `low` bounds steps back."""
        raise NotImplementedError

    def last(self, low: int, high: int) -> int:
        """Find the last cut in ``(low, high]``; -1 if there is none."""
        if low < self._from or high >= self._to:
            self._look_at(low, high + 1)
        near, shift, mark = self._near, self._from, self._mark
        at = near.rfind(mark, low - shift, high + 1 - shift) + shift
        while at >= low:
            cut = self._cut_at(at, low)
            if low < cut <= high:
                return cut
            at = near.rfind(mark, low - shift, self._before(at, low) - shift) + shift
        return -1

    def next(self, low: int, high: int) -> int:
        """Find the first cut in ``(low, high]``; -1 if there is none."""
        return self._first(self._begin(low), low, high)

    def _first(self, begin: int, low: int, high: int) -> int:
        """Find the first cut in ``(low, high]``, of a mark at or after `begin`; -1 if there is none."""
        if begin < self._from or high >= self._to:
            self._look_at(begin, high + 1)
        near, shift, mark, cut_at = self._near, self._from, self._mark, self._cut_at
        at = near.find(mark, begin - shift, high + 1 - shift) + shift
        while at >= begin:
            cut = cut_at(at, begin)
            if cut > low:
                return cut if cut <= high else -1
            at = near.find(mark, at + 1 - shift, high + 1 - shift) + shift
        return -1

    def _begin(self, low: int) -> int:
        """Where to look from, so that no mark of a cut after `low` is missed."""
        return low if low > 0 else 0

    def _before(self, at: int, low: int) -> int:
        """Where to look on after the mark at `at` gave no cut."""
        return at


class Sentences(_Sought):
    """Ends of sentences: marks that are not part of a number or an abbreviation, blank lines, list items.

    Closing quotes and brackets belong to the sentence. Marks of scripts without blanks (``。！？``) end one
    wherever they stand; all others need white space or the end of the text after them.

    Parameters
    ----------
    text : str
        Any text.
    breaks : LineBreaks or None, default=None
        Its line breaks, where they are known already.
    """

    def __init__(self, text: str, breaks: LineBreaks | None = None):
        marks = marks_in(text, MARKS)
        super().__init__(text, marks + (breaks or LineBreaks(text)).marks)
        self._end = len(text) - 1

    def _cut_at(self, at: int, low: int) -> int:
        text = self.text
        if at < self._end and text[at + 1] in " \n" and surely_ends(text, at):
            return at + 1
        return sentence_end(text, at) if text[at] in MARKS else block_end(text, at, low, items=True)

    def start(self, low: int, high: int) -> int:
        """Find the first place in ``[low, high)`` where a piece begins, after white space; -1 if none."""
        text = self.text
        # Inside of a word, or where one begins after a word and a blank, nothing has ended just before.
        quick = low > 1 and (text[low - 1].isalnum() or text[low - 2 : low + 1].replace(" ", "", 1).isalnum())
        if not quick:
            return super().start(low, high)
        if low < self._from or high > self._to:
            self._look_at(low, high)
        shift = self._from
        at = self._near.find(self._mark, low - shift, high - shift) + shift
        if at < low:
            return -1
        start = at + 2  # the quick answer where one blank and a plain character follow
        if start < high and text[at + 1] == " " and "!" <= text[start] <= "~" and surely_ends(text, at):
            return start
        cut = self._cut_at(at, low - 1)
        if cut < low:
            cut = self._first(low - 1, low - 1, high - 1)
        start = skip_blank(text, cut) if cut >= 0 else high
        return start if start < high else -1

    def _begin(self, low: int) -> int:
        # Closing quotes may stand between a mark and its cut.
        if low <= 0 or self.text[low - 1] not in _TAILS:
            return low if low > 0 else 0
        edge = low - 32 if low > 32 else 0
        return edge + len(self.text[edge:low].rstrip(MARKS + CLOSERS))

    def _before(self, at: int, low: int) -> int:
        text = self.text
        inside = not text[at - 1 : at].isspace() and not text[at + 1 : at + 2].isspace()
        if inside and at < self._end and text[at] in SPACED:
            # No mark inside of "1.2.3" or "www.a.org" has white space after it: step over all of it.
            word = "".join(text[low:at].rsplit(None, 1)[-1:])
            return at - len(word) if _UNSPACED.isdisjoint(word) else at
        return at


class _ByLines(_Sought):
    """Boundaries at line breaks."""

    breaks: LineBreaks

    def __init__(self, text: str, breaks: LineBreaks | None = None):
        self.breaks = breaks or LineBreaks(text)
        super().__init__(text, self.breaks.marks)

    def start(self, low: int, high: int) -> int:
        """Find the first place in ``[low, high)`` where a piece begins, after white space; -1 if none."""
        return -1 if self.breaks.none_before(low, high) else super().start(low, high)


class Paragraphs(_ByLines):
    """Ends of paragraphs: blank lines in any convention of line ends, form feeds, paragraph separators.

    Parameters
    ----------
    text : str
        Any text.
    breaks : LineBreaks or None, default=None
        Its line breaks, where they are known already.
    """

    def _cut_at(self, at: int, low: int) -> int:
        text = self.text
        if at > 1 and text[at] == "\n":  # quick answers for the usual blank line and line end
            before = text[at - 1]
            if before == "\n" and not text[at - 2].isspace():
                return at - 1
            if not before.isspace() and not text[at + 1 : at + 2].isspace():
                return -1
        return block_end(text, at, low, items=False)


class Lines(_ByLines):
    """Ends of lines in any convention.

    Parameters
    ----------
    text : str
        Any text.
    breaks : LineBreaks or None, default=None
        Its line breaks, where they are known already.
    """

    def _cut_at(self, at: int, low: int) -> int:
        return end_of_word(self.text, low, at)
