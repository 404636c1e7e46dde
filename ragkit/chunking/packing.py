"""The one packer behind the methods: from boundaries, a size and an overlap to spans of a text.

A chunk ends at the last cut of the coarsest kind of boundary that its room holds, and the next one begins at
the earliest piece that still lies within the overlap. Kinds that need a line break are passed over where
there is none. How much room there is, is asked of a ruler: one for characters, which only adds and
subtracts, and one that measures slices with any length function.
"""

from __future__ import annotations

import numbers
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence

from ragkit.text.blanks import end_of_word, skip_blank
from ragkit.text.boundaries import Boundaries, Characters
from ragkit.text.graphemes import boundary_after

Span = tuple[int, int]
_FAR = 1 << 16  # how far a stretch without line breaks is followed


class CharacterRuler:
    """Size and overlap in characters; `reach` and `lap` are the most that a chunk and an overlap may have.

    Parameters
    ----------
    text : str
        The text to be cut.
    size, overlap : int
        The most characters in a chunk, and shared by neighbours.
    """

    def __init__(self, text: str, size: int, overlap: int):
        self.text, self.size, self.overlap = text, size, overlap
        self.reach, self.lap = size, overlap

    def length(self, start: int, end: int) -> int:
        """Measure ``text[start:end]``."""
        return end - start

    def fits(self, start: int, end: int) -> bool:
        """Say whether ``text[start:end]`` is no longer than the size."""
        return end - start <= self.size

    def leaves_room(self, start: int, end: int, reach: int) -> bool:
        """Say whether a chunk from `start` shares at most the overlap up to `end` and can hold `reach`."""
        return end - start <= self.overlap and reach - start <= self.size

    def last_cut(self, level: Boundaries, start: int, floor: int, stop: int) -> int:
        """Find the last cut after `floor` that keeps a chunk from `start` within the size; -1 if none."""
        high = start + self.size
        return stop if high >= stop else level.last(floor, high)

    def first_cut(self, level: Boundaries, floor: int, stop: int) -> int:
        """Find the first cut after `floor` if a chunk from there can hold it; -1 if not."""
        high = floor + self.size
        cut = level.next(floor, high if high < stop else stop)
        return stop if cut < 0 and high >= stop else cut

    def step_back(self, levels: Sequence[Boundaries], after: int, end: int, reach: int) -> int:
        """Find where an overlap that leaves room for `reach` begins, coarsest kind first; -1 if none."""
        low = end - self.overlap
        if low <= after:
            low = after + 1
        if low < reach - self.size:
            low = reach - self.size
        for level in levels:
            start = level.start(low, end)
            if start >= 0:
                return start
        return -1


class MeasuringRuler:
    """Size and overlap in the units of a length function; every slice that is used has been measured.

    `reach` and `lap` are the most characters that a chunk and an overlap may have, which nobody knows.

    Parameters
    ----------
    text : str
        The text to be cut.
    size, overlap : int
        The most units in a chunk, and shared by neighbours.
    measure : callable
        ``str -> int``. It need not be additive; it should not shrink as a text grows.
    """

    def __init__(self, text: str, size: int, overlap: int, measure: Callable[[str], int]):
        self.text, self.size, self.overlap, self.measure = text, size, overlap, measure
        self.reach = self.lap = len(text)
        self._cuts: dict[int, Sequence[int]] = {}
        self._guess: dict[int, int] = {}

    def length(self, start: int, end: int) -> int:
        """Measure ``text[start:end]``."""
        value = self.measure(self.text[start:end])
        if isinstance(value, numbers.Integral) and type(value) is not bool and value >= 0:
            return int(value)
        raise TypeError(
            f"length must return a whole number >= 0; got {value!r} of type {type(value).__name__}. "
            "Give a function str -> int, for example len."
        )

    def fits(self, start: int, end: int) -> bool:
        """Say whether ``text[start:end]`` is no longer than the size."""
        return self.length(start, end) <= self.size

    def last_cut(self, level: Boundaries, start: int, floor: int, stop: int) -> int:
        """Find the last cut after `floor` that keeps a chunk from `start` within the size; -1 if none."""
        cuts = self._positions(level)
        first, n = bisect_right(cuts, floor), bisect_left(cuts, stop)

        def cut(k: int) -> int:
            return cuts[k] if k < n else stop

        def fits(k: int) -> bool:
            return self.fits(start, cut(k))

        # Gallop from where the last chunk ended, then halve: few measurements, each about a chunk long.
        low, high, step = first - 1, n + 1, 1
        k = min(first + self._guess.get(id(level), 0), n)
        while low < k < high:
            if fits(k):
                low, k = k, min(k + step, n)
                if low == n:
                    break
            else:
                high, k = k, max(k - step, first)
                if high == first:
                    break
            step *= 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if fits(middle) else (low, middle)
        if low < first:
            return -1
        self._guess[id(level)] = low - first
        return level.last(floor, cut(low)) if not isinstance(cuts, list) and low < n else cut(low)

    def first_cut(self, level: Boundaries, floor: int, stop: int) -> int:
        """Find the first cut after `floor` if a chunk from there can hold it; -1 if not."""
        cut = min(level.after(floor), stop)
        return cut if self.fits(floor, cut) else -1

    def step_back(self, levels: Sequence[Boundaries], after: int, end: int, reach: int) -> int:
        """Find where an overlap that leaves room for `reach` begins, coarsest kind first; -1 if none."""
        return next((s for level in levels if (s := self._first_start(level, after, end, reach)) >= 0), -1)

    def _first_start(self, level: Boundaries, after: int, end: int, reach: int) -> int:
        cuts = self._positions(level)
        low, high = bisect_left(cuts, after), bisect_left(cuts, end)
        while low < high:
            middle = (low + high) // 2
            start = skip_blank(self.text, cuts[middle])
            if start > after and self.leaves_room(start, end, reach):
                high = middle
            else:
                low = middle + 1
        start = skip_blank(self.text, cuts[low]) if low < len(cuts) else end
        return start if after < start < end and self.leaves_room(start, end, reach) else -1

    def leaves_room(self, start: int, end: int, reach: int) -> bool:
        """Say whether a chunk from `start` shares at most the overlap up to `end` and can hold `reach`."""
        return (start >= end or self.length(start, end) <= self.overlap) and (
            reach <= end or self.fits(start, reach)
        )

    def _positions(self, level: Boundaries) -> Sequence[int]:
        if id(level) not in self._cuts:
            self._cuts[id(level)] = level.positions()
        return self._cuts[id(level)]


Ruler = CharacterRuler | MeasuringRuler


def pack(
    text: str,
    levels: Sequence[Boundaries],
    ruler: Ruler,
    *,
    low: int = 0,
    high: int | None = None,
    least: int = 0,
    min_size: int = 0,
    soft: int = 1,
    natural: int | None = None,
) -> list[Span]:
    """Cut ``text[low:high]`` into chunks.

    Parameters
    ----------
    text : str
        The whole text; offsets refer to it.
    levels : sequence of Boundaries
        Kinds of boundaries, coarse to fine.
    ruler : CharacterRuler or MeasuringRuler
        The size and the overlap.
    low, high : int
        The stretch to cut; `high` of None is the end of the text.
    least : int, default=0
        The coarsest kind of boundary with a cut at or beyond this length is taken (a size with a minimum).
    min_size : int, default=0
        A last chunk shorter than this takes text from the one before it, or all of it where both fit;
        it stays where no boundary helps.
    soft : int, default=1
        An overlap begins at one of the first `soft` kinds, or of those up to the kind of the chunk's end.
    natural : int or None
        Where given, only the first `natural` kinds may cut: a piece longer than the size is kept whole.

    Returns
    -------
    list of (start, end)
        Starts and ends strictly increase; every character that is not white space is covered.
    """
    start = skip_blank(text, low)
    stop = end_of_word(text, start, len(text) if high is None else high)
    spans = _Packer(levels, ruler, least, soft, natural).spans(start, stop)
    if min_size and len(spans) > 1 and ruler.length(*spans[-1]) < min_size:
        spans[-2:] = _even_out(spans, levels, ruler, min_size)
    return spans


class _Packer:
    """The steps of :func:`pack`, with what they share."""

    def __init__(
        self, levels: Sequence[Boundaries], ruler: Ruler, least: int, soft: int, natural: int | None
    ):
        self.levels, self.ruler, self.least, self.soft = levels, ruler, least, soft
        self.usable = levels if natural is None else levels[:natural]
        self.back = levels[: max(soft, 1)]
        self.back_inside = [level for level in self.back if not level.breaks]  # where no line break is near
        # The kinds that come before this one need line breaks.
        self.inner = next((k for k, level in enumerate(self.usable) if not level.breaks), 0)

    def spans(self, start: int, stop: int) -> list[Span]:
        """Cut from `start` to `stop`, which are not white space."""
        text, ruler, usable, soft = self.ruler.text, self.ruler, self.usable, self.soft
        inner, least, finest, last_cut = self.inner, self.least, len(self.levels) - 1, ruler.last_cut
        overlap, reach, lap = ruler.overlap, ruler.reach, ruler.lap
        breaks = usable[0].breaks if inner else None
        unbroken = clear = -1  # from the one to the other no line break stands
        spans: list[Span] = []
        floor, kind = start, 0
        while floor < stop:
            if breaks and clear < floor:
                unbroken, clear = floor, breaks.next(floor, floor + _FAR)
            # Most chunks end at the coarsest kind of boundary, or the coarsest that needs no line break.
            first = inner if stop > floor + reach < clear else 0
            end, broken, kind = last_cut(usable[first], start, floor, stop), kind, first
            if end < 0 or (least and end < stop):
                start, end, kind = self._cut_one(start, floor, stop, broken, first)
            if kind == finest:
                end = end_of_word(text, floor, end)
            spans.append((start, end))
            if end >= stop:
                break
            before, start = start, skip_blank(text, end)
            floor = start
            if overlap:
                inside = unbroken < end - lap and end <= clear
                back = self.levels[: kind + 1] if kind >= soft else self.back_inside if inside else self.back
                begin = ruler.step_back(back, before, end, end)
                if begin >= 0:
                    start = begin
        return spans

    def _cut_one(self, start: int, floor: int, stop: int, broken: int, first: int) -> tuple[int, int, int]:
        """Find the next chunk and the kind of its end; it starts later where a smaller overlap makes room.

        `start` is where it should begin, `floor` that after which it must add text; `broken` is the kind of
        the cut before: coarser pieces are broken there anyway; `first` is the coarsest kind that may have a
        cut here, and has given none, or one that is too early.
        """
        best = (start, -1, 0)
        for kind in range(first, len(self.usable)):
            level, begin = self.usable[kind], start
            end = self.ruler.last_cut(level, start, floor, stop) if self.least or kind > first else -1
            if end < 0:
                if start == floor or kind < broken:
                    continue
                # The next piece does not fit beside the overlap: it comes before the overlap does.
                begin, end = self._make_room(level, start, floor, stop)
                if end < 0:
                    continue
            if not self.least or self.ruler.length(begin, end) >= self.least:
                return begin, end, kind
            if end > best[1]:
                best = (begin, end, kind)
        if best[1] >= 0:
            return best
        # Not even the finest piece fits: it is kept whole.
        return floor, min(self.usable[-1].after(floor), stop), len(self.usable) - 1

    def _make_room(self, level: Boundaries, start: int, floor: int, stop: int) -> Span:
        """Shorten the overlap so far that the next piece of a kind fits; (floor, -1) where it never does."""
        ruler = self.ruler
        reach = ruler.first_cut(level, floor, stop)
        if reach < 0:
            return floor, -1
        if ruler.fits(start, reach):  # a cut exactly at the limit, which is missed where blanks follow
            return start, reach
        begin = ruler.step_back(self.back, start, end_of_word(ruler.text, start, floor), reach)
        begin = floor if begin < 0 else begin
        end = ruler.last_cut(level, begin, floor, stop)
        return (begin, end) if end >= 0 else (floor, reach)


def _even_out(spans: list[Span], levels: Sequence[Boundaries], ruler: Ruler, min_size: int) -> list[Span]:
    """Join the last two chunks where they fit, else move the cut between them back."""
    (first, cut), (last, end) = spans[-2:]
    if ruler.fits(first, end):
        return [(first, end)]
    low = max(first, spans[-3][1] if len(spans) > 2 else 0)
    # Words are not cut for evenness, only where one is cut already.
    in_word = not ruler.text[cut - 1 : cut].isspace() and not ruler.text[cut : cut + 1].isspace()
    for level in levels if in_word else levels[:-1]:
        high = min(cut - 1, end - min_size) if isinstance(ruler, CharacterRuler) else cut - 1
        at = level.last(low, high) if high > low else -1
        while at >= 0:
            start = skip_blank(ruler.text, at)
            if not ruler.fits(start, end):
                break
            if start > first and ruler.length(start, end) >= min_size:
                return [(first, at), (start, end)]
            at = level.last(low, at - 1) if at - 1 > low else -1
    return [(first, cut), (last, end)]


def windows(text: str, size: int, overlap: int) -> list[Span]:
    """Slide a window of `size` characters over `text` in steps of ``size - overlap``.

    Parameters
    ----------
    text : str
        Any text.
    size, overlap : int
        Characters in a window, and shared by neighbours. A window edge inside a character that a reader
        sees as one moves: the end to the left, the next start to the right.

    Returns
    -------
    list of (start, end)
        The windows without the white space at their edges; those that add nothing are left out.
    """
    spans: list[Span] = []
    level, at, stop = Characters(text), 0, end_of_word(text, 0, len(text))
    step = size - overlap
    while at < stop:
        start = skip_blank(text, at)
        if start >= at + size:  # windows of white space alone are stepped over
            at += step * ((start - size - at) // step + 1)
            continue
        end = min(at + size, stop)
        cut = level.last(at, end)
        cut = cut if cut > 0 else level.after(at)
        end = end_of_word(text, at, cut)
        if spans and start <= spans[-1][0] < end:
            spans[-1] = (
                start,
                max(end, spans[-1][1]),
            )  # the one before held a part of this
        elif start < end and (not spans or end > spans[-1][1]):
            spans.append((start, end))
        if cut >= stop:
            break
        at = boundary_after(text, max(cut - overlap, at + 1), at)
    return spans
