"""Chunks: worked examples, the laws that hold for every method, and bad input."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragkit.chunking import chunk
from ragkit.text.boundaries import sentence_spans
from tests.chunking.laws import LENGTHS, SIZES, TEXTS, check_laws

METHODS = ["fixed", "sentence", "paragraph", "recursive"]


def spans(*args, **kwargs):
    frame = chunk(*args, **kwargs)
    return list(zip(frame["start"].tolist(), frame["end"].tolist(), frame["text"]))


# Worked examples.


def test_fixed_windows_stop_at_the_end_of_the_text():
    # Step 6 - 2 = 4: starts 0, 4, 8; the third reaches the end.
    expected = [(0, 6, "KLMNOP"), (4, 10, "OPQRST"), (8, 13, "STUVW")]
    assert spans("KLMNOPQRSTUVW", method="fixed", size=6, overlap=2) == expected
    assert spans("KLMNOPQRSTUV", method="fixed", size=6, overlap=2)[-1] == (8, 12, "STUV")


def test_sentences_fill_the_size_and_the_overlap():
    # "One is small. Two is big." has 25 characters, with the third 42; "Two is big." has 11 <= 12.
    frame = chunk("One is small. Two is big. Three is bigger.", size=30, overlap=12)
    assert frame["text"].tolist() == ["One is small. Two is big.", "Two is big. Three is bigger."]
    assert frame["overlap"].tolist() == [0, 11]


@pytest.mark.parametrize(
    "knobs", [{"size": 14, "overlap": 9}, {"size": 3, "overlap": 2, "length": lambda t: t.count(".")}]
)
def test_no_chunk_is_only_overlap(knobs):
    assert chunk("one. two. six. ten.", **knobs)["text"].tolist() == ["one. two. six.", "two. six. ten."]


@pytest.mark.parametrize("method", METHODS)
def test_a_string_without_blanks_is_cut_with_overlap(method):
    # Step 10 - 3 = 7.
    expected = [(0, 10, "x" * 10), (7, 17, "x" * 10), (14, 24, "x" * 10), (21, 25, "x" * 4)]
    assert spans("x" * 25, method=method, size=10, overlap=3) == expected


@pytest.mark.parametrize("method", METHODS)
def test_text_without_blanks_in_another_script(method):
    # 160 characters, step 40.
    frame = chunk("山高水长风清月明" * 20, method=method, size=50, overlap=10)
    assert frame["start"].tolist() == [0, 40, 80, 120]


def test_chinese_is_cut_after_its_full_stops():
    assert chunk("山高。水长。风清月明。", size=7, overlap=0)["text"].tolist() == [
        "山高。水长。",
        "风清月明。",
    ]


def test_repeated_text_keeps_its_own_offsets():
    text = "tick tock tick tock tick tock"
    assert [s[:2] for s in spans(text, size=9, overlap=0)] == [(0, 9), (10, 19), (20, 29)]
    assert [s[0] for s in spans(text, size=9, overlap=4)] == [0, 5, 10, 15, 20]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\u2028"])
def test_blank_lines_of_every_convention_end_a_paragraph(end):
    text = f"Para one.{end}{end}Para two.{end}{end}Para three."
    gap = 2 * len(end)
    expected = [(0, 9), (9 + gap, 18 + gap), (18 + 2 * gap, 29 + 2 * gap)]
    assert [s[:2] for s in spans(text, method="paragraph", size=12)] == expected


def test_form_feed_ends_a_paragraph():
    assert [s[2] for s in spans("Para one.\fPara two.", method="paragraph", size=12)] == [
        "Para one.",
        "Para two.",
    ]


def test_a_sentence_longer_than_the_size_breaks_at_a_word_and_keeps_its_overlap():
    # 19 characters fit "alpha beta gamma"; 5 of overlap hold "gamma".
    frame = chunk("alpha beta gamma delta epsilon", size=19, overlap=5)
    assert frame["text"].tolist() == ["alpha beta gamma", "gamma delta epsilon"]


def test_overlap_gives_way_where_the_next_sentence_needs_the_room():
    # The second sentence has 18 characters: beside any word of the first it would not fit into 20.
    frame = chunk("Ab cd ef gh. Ij kl mn op qr st.", size=20, overlap=10)
    assert frame["text"].tolist() == ["Ab cd ef gh.", "Ij kl mn op qr st."]
    assert frame["overlap"].tolist() == [0, 0]


def test_chunk_is_a_slice_and_not_sentences_joined_anew():
    text = "First line.\n\nSecond   line.\n- item"
    assert spans(text, size=100) == [(0, len(text), text)]


def test_tabs_and_double_blanks_inside_stay_and_edges_are_trimmed():
    text = "  Alpha  beta\t\tgamma\n\n\ndelta   "
    assert spans(text, size=14, overlap=0) == [(2, 13, "Alpha  beta"), (15, 28, "gamma\n\n\ndelta")]


@pytest.mark.parametrize("method", METHODS)
def test_blank_documents_give_no_chunk(method):
    counts = [
        len(chunk(t, method=method, size=100))
        for t in ["", "   \n\t ", "word" + " " * 500 + "word", "\u00a0\u200b"]
    ]
    assert counts == [0, 0, 2, 0]


def test_length_in_words():
    frame = chunk("a b c. d e f. g h i j k l m n.", size=6, overlap=3, length=lambda t: len(t.split()))
    assert frame["text"].tolist() == ["a b c. d e f.", "d e f. g h i", "g h i j k l", "j k l m n."]


def test_ids_metadata_and_columns():
    docs = pd.DataFrame(
        {"doc_id": ["b", "a"], "text": ["one. two.", "six."], "title": ["B", "A"], "year": [1, 2]}
    )
    frame = chunk(docs, size=5, overlap=0)
    assert frame.columns.tolist() == [
        "chunk_id",
        "doc_id",
        "start",
        "end",
        "text",
        "overlap",
        "title",
        "year",
    ]
    assert frame["chunk_id"].tolist() == ["b#0", "b#1", "a#0"]
    assert frame["title"].tolist() == ["B", "B", "A"]
    assert frame["year"].dtype == docs["year"].dtype
    assert frame["start"].dtype == frame["end"].dtype == frame["overlap"].dtype == np.int64


def test_metadata_is_copied_for_every_chunk():
    doc = {"doc_id": "d", "text": "aaa bbb ccc ddd", "tags": ["x"], "src": {"p": 1}}
    frame = chunk([doc], size=7, overlap=0)
    frame["tags"][0].append("y")
    doc["src"]["p"] = 2
    assert frame["tags"][1] == doc["tags"] == ["x"]
    assert frame["src"].tolist() == [{"p": 1}, {"p": 1}]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("docs", [[], {}, ["", " "], pd.DataFrame({"doc_id": [], "text": [], "year": []})])
def test_no_documents_give_an_empty_frame_of_the_same_dtypes(docs, method):
    frame, full = chunk(docs, method=method), chunk("a")
    assert len(frame) == 0
    assert frame[full.columns].dtypes.astype(str).tolist() == full.dtypes.astype(str).tolist()


# Laws.


@settings(max_examples=300)
@given(TEXTS, SIZES, st.sampled_from(METHODS))
def test_laws_hold_for_every_method(text, size_overlap, method):
    size, overlap = size_overlap
    frame = chunk(text, method=method, size=size, overlap=overlap)
    check_laws(text, frame, size)
    assert (frame["overlap"] <= overlap).all()


@settings(max_examples=150)
@given(TEXTS, SIZES, st.sampled_from(METHODS), st.sampled_from(LENGTHS))
def test_laws_hold_for_every_length(text, size_overlap, method, length):
    size, overlap = size_overlap
    check_laws(text, chunk(text, method=method, size=size, overlap=overlap, length=length), size, length)


@settings(max_examples=100)
@given(TEXTS, SIZES, st.sampled_from(["sentence", "paragraph", "recursive"]))
def test_a_length_that_counts_characters_gives_the_same_chunks(text, size_overlap, method):
    # fixed is left out: it counts characters only with len itself; with other lengths it prefers whole words.
    size, overlap = size_overlap
    own = chunk(text, method=method, size=size, overlap=overlap)
    counted = chunk(text, method=method, size=size, overlap=overlap, length=lambda t: len(t))
    pd.testing.assert_frame_equal(own, counted)


@given(st.lists(TEXTS, min_size=1, max_size=5))
def test_documents_are_cut_one_by_one(texts):
    together = chunk(texts, size=20)
    alone = [chunk({str(n): text}, size=20) for n, text in enumerate(texts)]
    pd.testing.assert_frame_equal(together, pd.concat(alone, ignore_index=True))


@given(st.text(alphabet="ab .", max_size=60), SIZES)
def test_fixed_windows_are_the_slices_of_a_plain_loop(text, size_overlap):
    size, overlap = size_overlap
    text = text.rstrip()
    plain = []
    for at in range(0, len(text), size - overlap):
        plain.append(text[at : at + size].strip())
        if at + size >= len(text):
            break
    got = chunk(text, method="fixed", size=size, overlap=overlap)["text"].tolist()
    # Windows of white space, or that add nothing but white space to a neighbour, are left out.
    kept = iter(plain)
    assert all(piece in kept for piece in got)
    if " " not in text:
        assert got == plain


@given(st.text(alphabet="ab .", max_size=80), st.integers(1, 30))
def test_sentences_fill_greedily_as_a_brute_force_search_does(text, size):
    cuts = [end for _, end in sentence_spans(text)]
    words = [m.end() for m in re.finditer(r"\S+", text)]
    expected, at = [], skip(text, 0)
    while at < len(text.rstrip()):
        ends = [e for e in cuts if at < e <= at + size] or [e for e in words if at < e <= at + size]
        end = max(ends, default=min(at + size, len(text.rstrip())))
        expected.append(text[at:end])
        at = skip(text, end)
    assert chunk(text, size=size, overlap=0)["text"].tolist() == expected


def skip(text, at):
    return at + len(text[at:]) - len(text[at:].lstrip())


# Bad input.


@pytest.mark.parametrize(
    ("size", "overlap"), [(4, 4), (4, 7), (0, 0), (4, -1), (-3, 0), (4, 0.25), (4.5, 0), (True, 0)]
)
def test_a_size_and_overlap_that_cannot_be_names_both_numbers(size, overlap):
    with pytest.raises(ValueError, match=rf"got size={size!r}, overlap={overlap!r}"):
        chunk("zyxwvutsrq", size=size, overlap=overlap)


@pytest.mark.parametrize("size", [float("nan"), "100", None, np.float64(10), float("inf")])
def test_a_size_that_is_no_whole_number_is_refused(size):
    with pytest.raises(ValueError, match="size must be"):
        chunk("", size=size)


def test_a_misspelt_method_lists_the_valid_ones():
    with pytest.raises(ValueError, match=r"unknown method 'sentense'.*'sentence'.*Did you mean 'sentence'"):
        chunk("a", method="sentense")


@pytest.mark.parametrize("answer", [1.0, None, float("nan"), True, -1, "3"])
def test_a_length_that_counts_nothing_is_refused(answer):
    with pytest.raises(TypeError, match="length must return a whole number"):
        chunk("a b c d", size=3, length=lambda text: answer)


def test_a_length_that_is_no_function_is_refused():
    with pytest.raises(TypeError, match="length must be a function"):
        chunk("a", length="words")


@pytest.mark.parametrize("docs", [b"bytes", None, 3, [b"bytes"], [3]])
def test_documents_that_hold_no_text_are_refused(docs):
    with pytest.raises(TypeError):
        chunk(docs)


@pytest.mark.parametrize("text", [None, float("nan")])
def test_a_missing_text_is_refused(text):
    with pytest.raises(ValueError, match="without text"):
        chunk({"a": text})


def test_a_column_that_chunk_writes_is_not_overwritten():
    with pytest.raises(ValueError, match="start"):
        chunk(pd.DataFrame({"doc_id": ["a"], "text": ["b"], "start": [3]}))


def test_an_overlap_that_would_fill_the_memory_is_refused():
    with pytest.raises(ValueError, match="lower overlap"):
        chunk("x" * 10_000_000, size=1000, overlap=999)
