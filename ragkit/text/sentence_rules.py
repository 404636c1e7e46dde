"""Where a sentence ends: marks that are not part of a number or an abbreviation, blank lines, list items."""

from __future__ import annotations

import re

from ragkit.text.abbreviations import BEFORE_NUMBER, CALENDAR, CLOCK, NEVER_LAST, OPENERS, SELDOM_LAST
from ragkit.text.blanks import end_of_word, skip_blank
from ragkit.text.graphemes import is_boundary

# Marks that end a sentence when white space follows, and those of scripts that write none after them.
SPACED = ".!?…؟۔‼⁇⁈⁉"
UNSPACED = "。！？｡।॥။៕።"
MARKS = SPACED + UNSPACED
_UNSPACED = frozenset(UNSPACED)
CLOSERS = "\"'”’»›)]}」』）】》〉*_"
_OPENING = "\"'“‘«‹([{「『（【《〈*_"
_TAIL = re.compile(f"[{re.escape(MARKS + CLOSERS)}]{{0,32}}")
BREAKS = "\n\r\v\x85\u2028"
PARAGRAPH_MARKS = "\f\u2029\x1c\x1d"
_LIST_ITEM = re.compile(r"(?:[-*+•‣◦–]|\d{1,3}[.)]|#{1,6})[^\S\n\r]")
_ACRONYM = re.compile(r"(?:[^\W\d_]{1,2}\.)+[^\W\d_]{1,2}")
_WORD = re.compile(r"\w+")
_REST = 40  # characters looked at after a mark
_ABBREVIATIONS = NEVER_LAST | BEFORE_NUMBER | SELDOM_LAST | CLOCK
#: Abbreviations; of long ones the last four letters.
SUSPECT = frozenset(word[-4:] for word in _ABBREVIATIONS)


def surely_ends(text: str, at: int) -> bool:
    """Say whether the mark at `at`, if white space follows, surely ends a sentence: quick, for most.

    Question and exclamation marks do, and full stops after words of two letters or more, abbreviations apart.
    """
    mark = text[at]
    if mark != ".":
        return mark in "?!"
    word = text[at - 4 : at] if at > 3 else ""
    if not word.isalpha():
        word = word.rpartition(" ")[2]
        if len(word) < 2 or not word.isalpha():
            return False
    return word.lower() not in SUSPECT


def sentence_end(text: str, at: int) -> int:
    """Judge the mark at `at`: where its sentence is over, closing quotes included, or -1."""
    n, end = len(text), at + 1
    if end < n and not text[end].isspace():
        end = _TAIL.match(text, end).end()  # type: ignore[union-attr]  # it matches nothing as well
        hard = not _UNSPACED.isdisjoint(text[at:end])
        if end < n and not text[end].isspace() and not hard:
            return -1
        if hard:
            return end if is_boundary(text, end, end - 1) else -1
        at += len(text[at:end].rstrip(CLOSERS)) - 1  # judge by the last mark of a run
    mark = text[at]
    if mark in UNSPACED:
        return end
    following = text[end : end + _REST].lstrip()
    if mark in "!?" and end == at + 1:
        return end
    if following[:1].islower() and (end > at + 1 or mark == "…" or text[at - 1 : at] == "."):
        return -1  # '"Stop!" he said' and "well ... perhaps"
    if mark == "." and not surely_ends(text, at) and _is_abbreviation(text, at, following):
        return -1
    return end


def _is_abbreviation(text: str, dot: int, following: str) -> bool:
    """Judge the full stop at `dot` by the word before it and the text after it."""
    word = text[max(dot - 16, 0) : dot]
    if word[-1:] in ("", ".") or word[-1].isspace() or not following:
        return False
    word = word.rsplit(None, 1)[-1].lstrip(_OPENING)
    if len(word) > 8 or not word:
        return False
    key = word.lower()
    if key in NEVER_LAST:
        return True
    first = following.lstrip(_OPENING)[:1]
    if key in BEFORE_NUMBER and first.isdigit():
        return True
    if len(word) == 1 and word.isalpha():
        return _is_initial(word, following)
    if word.isdigit():
        return _is_ordinal(text, dot - len(word), following)
    if key in CLOCK:
        return not first.isupper() or _first_word(following) in CALENDAR
    if key in SELDOM_LAST or _ACRONYM.fullmatch(word):
        return not (first.isupper() and _first_word(following) in OPENERS)
    return False


def _is_initial(letter: str, following: str) -> bool:
    """Judge a single letter with a full stop: "J. R. Mori" and "z. B.", but not "vitamin C. The"."""
    if following[1:2] == "." and following[0].isalpha():
        return True
    opens = _first_word(following) in OPENERS
    return following[:1].islower() or (letter.isupper() and following[:1].isupper() and not opens)


def _is_ordinal(text: str, start: int, following: str) -> bool:
    """Judge a number with a full stop: "5. Mai", "the 3. try", and "1. First" where a line begins."""
    line = text[max(start - 8, 0) : start].rstrip(" \t")
    if not line or line[-1] in BREAKS:
        return True
    return following[:1].islower() or _first_word(following) in CALENDAR


def _first_word(following: str) -> str:
    found = _WORD.search(following)
    return found.group().lower() if found else ""


def block_end(text: str, at: int, low: int, *, items: bool) -> int:
    """Judge the line break at `at`: the cut before it where a blank line (or a list item) follows, or -1."""
    if text[at] == "\n":  # quick answers where only plain characters stand around one or two line feeds
        before, after = text[at - 1 : at], text[at + 1 : at + 2]
        if "!" <= before <= "~":
            if after == "\n":
                return at
            if "!" <= after <= "~":
                return at if items and at > low and _LIST_ITEM.match(text, at + 1) else -1
        elif before == "\n" and "!" <= text[at - 2 : at - 1] <= "~":
            return at - 1
    end, start = end_of_word(text, low, at), skip_blank(text, at)
    gap = text[end:start]
    breaks = len(gap.splitlines()) - (gap[-1] not in BREAKS and gap[-1] not in PARAGRAPH_MARKS)
    if breaks >= 2 or any(c in PARAGRAPH_MARKS for c in gap) or (items and _LIST_ITEM.match(text, start)):
        return end
    return -1
