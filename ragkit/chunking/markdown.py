"""Markdown as CommonMark reads it: headings, code fences and tables, by line, with offsets."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

from ragkit.text.blanks import end_of_word
from ragkit.text.boundaries import Boundaries

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_ITEM = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])[ \t]+")
_HTML = re.compile(r" {0,3}<(?:!--|(?:pre|script|style|textarea)(?=[\s>]|$))", re.IGNORECASE)
_HTML_END = re.compile(r"</(?:pre|script|style|textarea)>", re.IGNORECASE)
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*$")
_TABLE_RULE = re.compile(r" {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")


@dataclass
class Outline:
    """What a Markdown text is made of.

    Parameters
    ----------
    sections : list of (start, path)
        Where each section begins, and its headings from the outermost in; the first has none.
    blocks : list of int
        Cuts after paragraphs, lists, fences and tables.
    whole : list of (start, end)
        Fences and tables, which are not to be cut.
    """

    sections: list[tuple[int, tuple[str, ...]]] = field(default_factory=lambda: [(0, ())])
    blocks: list[int] = field(default_factory=list)
    whole: list[tuple[int, int]] = field(default_factory=list)


def outline(text: str) -> Outline:
    """Read the structure of a Markdown text.

    Parameters
    ----------
    text : str
        Any text; without Markdown in it, it is one section.

    Returns
    -------
    Outline
        Sections, blocks, and what is to stay whole.
    """
    return _Reader(text).read()


class _Reader:
    """One pass over the lines; `block` is where the open paragraph began, -1 outside of one.

    `inside` is how far the content of the open list item is indented, 0 outside of one.
    """

    def __init__(self, text: str):
        self.text = text
        self.lines = [m.span() for m in _LINE.finditer(text) if m.end() > m.start()]
        self.out = Outline()
        self.path: list[tuple[int, str]] = []
        self.block, self.inside = -1, 0

    def line(self, n: int) -> str:
        start, end = self.lines[n]
        return self.text[start:end].rstrip("\r\n")

    def read(self) -> Outline:
        n = self._front_matter()
        while n < len(self.lines):
            n = self._step(n)
        self._close(len(self.text))
        return self.out

    def _front_matter(self) -> int:
        """Take a head of ``---`` lines as one block; give the line after it."""
        if not self.lines or self.line(0).rstrip() != "---":
            return 0
        for n in range(1, len(self.lines)):
            if self.line(n).rstrip() == "---":
                self._whole(0, n)
                return n + 1
        return 0

    def _step(self, n: int) -> int:
        line = self.line(n)
        fence, heading, html = _FENCE.match(self._content(line)), _HEADING.match(line), _HTML.match(line)
        if not line.strip():
            self._close(self.lines[n][0])
        elif fence:
            return self._fence(n, fence.group(1))
        elif html:
            return self._html(n, "-->" if html.group().endswith("!--") else _HTML_END)
        elif heading:
            self._head(self.lines[n][0], len(heading.group(1)), heading.group(2) or "")
        elif self.block >= 0 and _UNDERLINE.match(line) and not self._is_list():
            title = " ".join(self.text[self.block : self.lines[n][0]].split())
            self._head(self.block, 1 if "=" in line else 2, title)
        elif "|" in line and n + 1 < len(self.lines) and self._is_rule(self.line(n + 1)):
            return self._table(n)
        elif self.block < 0:
            self.block = self.lines[n][0]
        return n + 1

    def _content(self, line: str) -> str:
        """Take the marks and the indent of list items from a line."""
        if line.strip() and len(line) - len(line.lstrip()) < self.inside:
            self.inside = 0
        content = line[self.inside :]
        while item := _ITEM.match(content):
            self.inside += item.end()
            content = content[item.end() :]
        return content

    def _is_rule(self, line: str) -> bool:
        return "|" in line and _TABLE_RULE.match(line) is not None

    def _is_list(self) -> bool:
        return re.match(r" {0,3}(?:[-*+]|\d+[.)])[ \t]", self.text[self.block : self.block + 16]) is not None

    def _close(self, at: int) -> None:
        """End the open paragraph before `at`."""
        if self.block < 0:
            return
        end = end_of_word(self.text, self.block, at)
        if end > (self.out.blocks[-1] if self.out.blocks else 0):
            self.out.blocks.append(end)
        self.block = -1

    def _head(self, start: int, depth: int, title: str) -> None:
        if start != self.block:
            self._close(start)
        self.path = [item for item in self.path if item[0] < depth] + [(depth, title.strip())]
        section = (start, tuple(name for _, name in self.path))
        if self.out.sections[-1][0] == start:
            self.out.sections.pop()
        self.out.sections.append(section)
        self.block = -1 if start != self.block else self.block
        self._close(start)

    def _whole(self, first: int, last: int) -> None:
        """Take lines `first` to `last` as one block that stays whole."""
        start, end = self.lines[first][0], self.lines[last][1]
        self._close(start)
        end = end_of_word(self.text, start, end)
        self.out.whole.append((start, end))
        self.out.blocks.append(end)

    def _fence(self, n: int, mark: str) -> int:
        indent = "[ \t]*" if self.inside else " {0,3}"
        return self._until(n, n + 1, rf"^{indent}{re.escape(mark[0])}{{{len(mark)},}}[ \t]*$")

    def _html(self, n: int, end: str | re.Pattern[str]) -> int:
        """Take a comment, or what stands as it is typed: what looks like Markdown in it is none."""
        return self._until(n, n, end)

    def _until(self, n: int, first: int, end: str | re.Pattern[str]) -> int:
        """Take lines from `n` to the first that ends the block, or to the end of the text."""
        last, close = first, re.compile(end)
        while last < len(self.lines) and not close.search(self.line(last)):
            last += 1
        last = min(last, len(self.lines) - 1)
        self._whole(n, last)
        return last + 1

    def _table(self, n: int) -> int:
        last = n + 1
        while last + 1 < len(self.lines) and self.line(last + 1).strip() and "|" in self.line(last + 1):
            last += 1
        self._whole(n, last)
        return last + 1


class Outside(Boundaries):
    """The boundaries of another kind that do not lie inside given spans.

    Parameters
    ----------
    inner : Boundaries
        The other kind.
    spans : sequence of (start, end)
        In order, without overlap.
    """

    def __init__(self, inner: Boundaries, spans: Sequence[tuple[int, int]]):
        super().__init__(inner.text)
        self._inner, self._starts, self._ends = inner, [a for a, _ in spans], [b for _, b in spans]

    def _around(self, cut: int) -> tuple[int, int] | None:
        n = bisect_left(self._starts, cut) - 1
        return (self._starts[n], self._ends[n]) if n >= 0 and cut < self._ends[n] else None

    def last(self, low: int, high: int) -> int:
        """Find the last cut in ``(low, high]``; -1 if there is none."""
        cut = self._inner.last(low, high)
        while cut >= 0 and (span := self._around(cut)):
            cut = self._inner.last(low, span[0]) if span[0] > low else -1
        return cut

    def next(self, low: int, high: int) -> int:
        """Find the first cut in ``(low, high]``; -1 if there is none."""
        cut = self._inner.next(low, high)
        while cut >= 0 and (span := self._around(cut)):
            cut = self._inner.next(span[1] - 1, high) if span[1] <= high else -1
        return cut
