"""Where a text may be cut: sentences, blank lines, lines, words and separators, as offsets into the text.

Each class looks at one kind of boundary in one text and answers two questions: the last cut within a
stretch, and the next one. Both search near the place asked about, so that nobody lists the boundaries of a
long text to use a few of them.

A *cut* is the offset after the last character that belongs to the piece before it; white space after a cut
belongs to neither side.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

from ragkit.text.blanks import end_of_word, skip_blank
from ragkit.text.graphemes import boundary_after, boundary_before, is_boundary
from ragkit.text.sentence_rules import (
    BREAKS,
    CLOSERS,
    MARKS,
    PARAGRAPH_MARKS,
    SPACED,
    UNSPACED,
    block_end,
    sentence_end,
    surely_ends,
)

_BLANK = re.compile(r"\s")
_BLANK_AFTER_WORD = re.compile(r"(?<=\S)(?=\s)")
_BACK = 64  # white space before a piece that is looked over for the cut before it
_NEAR = 1 << 13  # how far back questions go from the farthest so far, most of the time
_TAILS = frozenset(MARKS + CLOSERS)
_UNSPACED = frozenset(UNSPACED)


class LineBreaks:
    """The line breaks of one text, of any convention: which of them it has, and where there are none.

    Parameters
    ----------
    text : str
        Any text.
    """

    def __init__(self, text: str):
        self.text = text
        self.marks = _present(text, BREAKS + PARAGRAPH_MARKS)

    def next(self, low: int, high: int) -> int:
        """Find the first line break in ``text[low:high]``; `high` if there is none."""
        for mark in self.marks:
            at = self.text.find(mark, low, high)
            if at >= 0:
                high = at
        return high

    def none_before(self, low: int, high: int) -> bool:
        """Say whether surely no line, and not the text, begins in ``[low, high)``, after white space."""
        return low > _BACK and self.next(low - _BACK, high) == high


def _present(text: str, marks: str) -> str:
    """Give those of `marks` that `text` holds."""
    plain = text.isascii()
    return "".join(m for m in marks if not (plain and m > "\x7f") and m in text)


class Boundaries:
    """One kind of boundary in one text; `last` and `next` are what the kinds differ in.

    `breaks` are the text's line breaks where a stretch without any holds no boundary of this kind, else None.
    """

    breaks: LineBreaks | None = None

    def __init__(self, text: str):
        self.text = text

    def last(self, low: int, high: int) -> int:
        """Find the last cut in ``(low, high]``; -1 if there is none."""
        raise NotImplementedError

    def next(self, low: int, high: int) -> int:
        """Find the first cut in ``(low, high]``; -1 if there is none."""
        raise NotImplementedError

    def after(self, low: int) -> int:
        """Find the first cut after `low`, however far; the end of the text where there is none."""
        n, reach = len(self.text), 256
        while low + reach < n:
            cut = self.next(low, low + reach)
            if cut >= 0:
                return cut
            reach *= 4
        cut = self.next(low, n)
        return cut if cut >= 0 else n

    def start(self, low: int, high: int) -> int:
        """Find the first place in ``[low, high)`` where a piece begins, after white space; -1 if none."""
        text = self.text
        back = end_of_word(text, max(low - _BACK, 0), low) if text[low - 1 : low].isspace() else low
        cut = self.next(back - 1, high - 1) if back else 0
        if cut < 0:
            return -1
        start = skip_blank(text, cut)
        return start if low <= start < high else -1

    def positions(self) -> Sequence[int]:
        """List all cuts, in order."""
        cuts, at, n = [], 0, len(self.text)
        while at < n:
            at = self.after(at)
            cuts.append(at)
        return cuts


class Listed(Boundaries):
    """Boundaries that somebody has found already."""

    def __init__(self, text: str, cuts: Sequence[int]):
        super().__init__(text)
        self._cuts = cuts

    def last(self, low: int, high: int) -> int:
        """Find the last cut in ``(low, high]``; -1 if there is none."""
        n = bisect_right(self._cuts, high)
        return self._cuts[n - 1] if n and self._cuts[n - 1] > low else -1

    def next(self, low: int, high: int) -> int:
        """Find the first cut in ``(low, high]``; -1 if there is none."""
        n = bisect_right(self._cuts, low)
        return self._cuts[n] if n < len(self._cuts) and self._cuts[n] <= high else -1

    def positions(self) -> Sequence[int]:
        """List all cuts, in order."""
        return self._cuts


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
        marks = _present(text, MARKS)
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
