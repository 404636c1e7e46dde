"""What all kinds of boundaries share, and the line breaks that some of them need."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from ragkit.text.blanks import end_of_word, skip_blank
from ragkit.text.sentence_rules import BREAKS, PARAGRAPH_MARKS

BACK = 64  # white space before a piece that is looked over for the cut before it


class LineBreaks:
    """The line breaks of one text, of any convention: which of them it has, and where there are none.

    Parameters
    ----------
    text : str
        Any text.
    """

    def __init__(self, text: str):
        self.text = text
        self.marks = marks_in(text, BREAKS + PARAGRAPH_MARKS)

    def next(self, low: int, high: int) -> int:
        """Find the first line break in ``text[low:high]``; `high` if there is none."""
        for mark in self.marks:
            at = self.text.find(mark, low, high)
            if at >= 0:
                high = at
        return high

    def none_before(self, low: int, high: int) -> bool:
        """Say whether surely no line, and not the text, begins in ``[low, high)``, after white space."""
        return low > BACK and self.next(low - BACK, high) == high


def marks_in(text: str, marks: str) -> str:
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
        back = end_of_word(text, max(low - BACK, 0), low) if text[low - 1 : low].isspace() else low
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
