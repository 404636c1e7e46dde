"""Sentences, paragraphs, words and graphemes: where text may be cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragkit.text.blanks import skip_blank
from ragkit.text.boundaries import (
    Characters,
    LineBreaks,
    Lines,
    Listed,
    Paragraphs,
    Sentences,
    Separator,
    Words,
    sentence_spans,
    spans_between,
)
from ragkit.text.graphemes import is_boundary
from tests.conftest import golden


def sentences(text):
    return [text[a:b] for a, b in sentence_spans(text)]


# Worked examples.


@pytest.mark.parametrize(
    "expected",
    [
        [
            "Dr. Ng paid 3.50 euros, e.g. for tea.",
            "J. R. Mori came at 9 a.m. on 5. Mai.",
            "U.S. prices fell 2.5 %.",
            "See Fig. 3.",
        ],
        ["Install v1.2.3 from https://a.org/b.c?d=1 first.", "Then run it."],
        ["He said no.", "See No. 5 and pp. 3-7."],
        ["In the U.S.", "The man rose."],
        ["They sell tea, coffee, etc. and cake.", "Acme Inc. makes it."],
        ["Vitamin C.", "The rest is known."],
        ["Is it?", "Yes!", "Well ... perhaps.", "Sure…"],
        ['"Stop!" he said.', '"Go."', "She went (at last.)", "“Why?”", "Because."],
        ["one.", "two.", "six."],
        ["Er kam z. B. am 3. Mai vorbei.", "Gut."],
    ],
)
def test_sentences_end_where_a_reader_ends_them(expected):
    assert sentences(" ".join(expected)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("山高。水长！风清？月明", ["山高。", "水长！", "风清？", "月明"]),
        ("他说：“去吧。”然后走了。", ["他说：“去吧。”", "然后走了。"]),
        ("नमस्ते। आप कैसे हैं? ठीक।", ["नमस्ते।", "आप कैसे हैं?", "ठीक।"]),
        ("كيف حالك؟ بخير.", ["كيف حالك؟", "بخير."]),
    ],
)
def test_sentences_of_other_scripts(text, expected):
    assert sentences(text) == expected


def test_blank_lines_and_list_items_end_sentences_and_line_ends_do_not():
    text = "A heading\n\nOne line\nand its rest.\n- first\n- second\n1. Third. Fourth\n## Next"
    expected = [
        "A heading",
        "One line\nand its rest.",
        "- first",
        "- second",
        "1. Third.",
        "Fourth",
        "## Next",
    ]
    assert sentences(text) == expected


def test_marks_without_words_lose_nothing():
    text = ".NET is old.\n.gitignore\n![alt](x)\n...\n???\n!!!"
    joined = "".join("".join(s.split()) for s in sentences(text))
    assert joined == "".join(text.split())


def test_graphemes_hold_together():
    for cluster in [
        "e\u0301",
        "👩‍👩‍👧‍👦",
        "👍🏽",
        "🇫🇷",
        "각",
        "\u1112\u1161\u11ab",
        "\r\n",
        "ก\u0e33",
        "क्ष",
        "🏴\U000e0067\U000e0062\U000e007f",
        "☂️",
    ]:
        text = f"a{cluster}b"
        inside = [is_boundary(text, n) for n in range(2, 1 + len(cluster))]
        assert not any(inside), cluster
        assert is_boundary(text, 1) and is_boundary(text, 1 + len(cluster))


def test_flags_are_counted_in_pairs():
    text = "🇫🇷🇩🇪🇮🇹"
    assert [n for n in range(7) if is_boundary(text, n)] == [0, 2, 4, 6]


def test_a_mark_that_begins_a_word_hides_no_sentence_before_it():
    # Looking back from the end, "?class" is stepped over as one word; the word before it is not.
    text = "\u201cWhy?\u201d ?class"
    assert Sentences(text).positions() == [6, 13]
    assert Sentences(text).last(0, 12) == 6


# Properties: near searches agree with the list of all cuts.

PIECES = [
    *(
        "ab",
        "c",
        ". ",
        "? ",
        "! ",
        ".",
        "...",
        "3.1",
        "e.g. ",
        "Dr. ",
        '." ',
        "The ",
        ")",
        "- x",
        "1. ",
        ",",
        ", ",
        "?d",
    ),
    *("\n", "\n\n", "\r\n", " ", "\t", "\f", "\u2028", "\u00a0", "。", "」", "e\u0301", "🇫🇷"),
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)
KINDS = [
    Sentences,
    Paragraphs,
    Lines,
    Words,
    Characters,
    lambda t: Separator(t, ","),
    lambda t: Separator(t, ", "),
    lambda t: Separator(t, "\n\n", "start"),
    lambda t: Separator(t, "ab", "start"),
]


@settings(max_examples=150, deadline=None)
@given(TEXTS, st.sampled_from(KINDS), st.data())
def test_searches_near_a_place_agree_with_the_whole_list(text, kind, data):
    level = kind(text)
    cuts = list(level.positions())
    assert all(a < b for a, b in pairwise(cuts))
    low = data.draw(st.sampled_from([0, *cuts]))
    high = data.draw(st.integers(low, len(text)))
    listed = Listed(text, cuts)
    # A cut exactly at `high` is known by what follows, which may lie beyond the stretch: it may be missed.
    following = listed.next(low, high)
    assert level.next(low, high) in (following, -1 if following == high else following)
    assert level.last(low, high) in (listed.last(low, high), listed.last(low, high - 1))


@settings(max_examples=300, deadline=None)
@given(TEXTS.filter(bool), st.sampled_from([Sentences, Paragraphs, Lines, Words]), st.data())
def test_the_first_start_in_a_stretch_is_the_first_of_all_starts_in_it(text, kind, data):
    level = kind(text)
    starts = [skip_blank(text, cut) for cut in [0, *level.positions()]]
    low = data.draw(st.integers(1, len(text)))
    high = data.draw(st.integers(low, len(text)))
    assert level.start(low, high) == next((at for at in starts if low <= at < high), -1)


@settings(max_examples=30, deadline=None)
@given(
    TEXTS.filter(bool),
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 90_000)), min_size=2, max_size=8),
)
def test_answers_in_a_long_text_do_not_depend_on_what_was_asked_before(piece, places):
    text = piece * (200_000 // len(piece))
    level = Sentences(text)
    for share, length in places:
        low = int(share * len(text))
        high = min(low + length, len(text))
        for ask in ("last", "next", "start"):
            assert getattr(level, ask)(low, high) == getattr(Sentences(text), ask)(low, high)


@settings(max_examples=150, deadline=None)
@given(TEXTS, st.data())
def test_line_breaks_are_found_in_any_convention(text, data):
    breaks = LineBreaks(text)
    low = data.draw(st.integers(0, len(text)))
    high = data.draw(st.integers(low, len(text)))
    assert breaks.next(low, high) == next((n for n in range(low, high) if text[n] in "\n\r\f\u2028"), high)
    lines = [skip_blank(text, cut) for cut in Lines(text).positions()]
    if breaks.none_before(low, high):
        assert not any(low <= at < high for at in lines if at < len(text))


@settings(max_examples=150, deadline=None)
@given(TEXTS, st.sampled_from(KINDS))
def test_pieces_cover_the_text(text, kind):
    spans = spans_between(text, list(kind(text).positions()))
    assert all(a < b <= c < d for (a, b), (c, d) in pairwise(spans))
    assert "".join("".join(text[a:b].split()) for a, b in spans) == "".join(text.split())


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=40))
def test_cutting_at_every_boundary_is_stable(text):
    pieces, at = [], 0
    for n in range(1, len(text) + 1):
        if is_boundary(text, n):
            pieces.append(text[at:n])
            at = n
    assert "".join(pieces) == text
    assert all(not any(is_boundary(p, n) for n in range(1, len(p))) for p in pieces if p[:1] < "\U0001f1e6")


# Parity.


def test_no_cut_lies_inside_a_grapheme_of_another_implementation():
    leaning = 0
    for case in golden("graphemes"):
        text = case["text"]
        ours = {n for n in range(1, len(text) + 1) if is_boundary(text, n)}
        inside = ours - set(case["cuts"])
        assert all(text[n].isspace() for n in inside), ascii(text)
        leaning += len(set(case["cuts"]) - ours)
    # Joiners and viramas that join nothing: there ours leans to "do not cut".
    assert leaning < 50
