"""chunk_report, show_chunks and plot.chunks: the same chunks in numbers, in the text and as a ruler."""

from __future__ import annotations

from html.parser import HTMLParser

import matplotlib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragkit.chunking import chunk, chunk_report, show_chunks
from ragkit.plot.chunks import chunks as plot_chunks
from tests.chunking.laws import SIZES, TEXTS, uncovered

matplotlib.use("Agg")

DOCS = {"a": "One is small. Two is big. Three is bigger.", "b": "Last.", "c": " "}
CHUNKS = chunk(DOCS, size=30, overlap=12)  # a: 0-25 and 14-42, sharing 11; b: 0-5
SPANS = pd.DataFrame({"query_id": ["q"], "doc_id": ["a"], "start": [20], "end": [30]})


# The report.


def test_report_counts_by_hand():
    report = chunk_report(CHUNKS, DOCS).set_index("doc_id")
    assert report.loc["", "scope"] == "all" and report.index.tolist() == ["", "a", "b", "c"]
    assert report["chunks"].tolist() == [3, 2, 1, 0]
    assert report.loc["a", ["mean", "shortest", "median", "longest"]].tolist() == [26.5, 25, 26.5, 28]
    assert report.loc["", ["shortest_id", "longest_id"]].tolist() == ["b#0", "a#1"]
    assert report["duplicated"].tolist() == [11, 11, 0, 0]
    assert report["characters"].tolist() == [48, 42, 5, 1]
    assert report["uncovered"].tolist() == [0, 0, 0, 0]
    assert np.isnan(report.loc["c", "mean"])


def test_report_finds_gaps_cut_sentences_and_false_texts():
    rows = [("x", "a", 0, 6, "One is"), ("y", "a", 14, 30, "not what it says")]
    bad = pd.DataFrame(rows, columns=["chunk_id", "doc_id", "start", "end", "text"])
    report = chunk_report(bad, DOCS).iloc[1]
    # 7-13 "small." and 31-42 "is bigger." are in no chunk, without their blank 6 + 1 + 8 characters ...
    assert report["uncovered"] == len("small.") + len("eisbigger.")
    # ... the first and the third sentence are cut, the second is whole.
    assert report["sentences"] == 3 and report["sentences_cut"] == 2
    assert report["not_slices"] == 1


def test_report_measures_in_any_unit():
    report = chunk_report(CHUNKS, DOCS, length=lambda t: len(t.split()))
    assert report["longest"].tolist()[:3] == [6, 6, 1]


@given(st.lists(TEXTS, max_size=3), SIZES)
def test_report_equals_counting_characters(texts, size_overlap):
    docs = {str(n): text for n, text in enumerate(texts)}
    frame = chunk(docs, method="fixed", size=size_overlap[0], overlap=size_overlap[1])
    report = chunk_report(frame, docs).set_index("doc_id")
    for doc_id, text in docs.items():
        mine = frame[frame["doc_id"] == doc_id]
        counts = np.zeros(len(text) + 1, dtype=int)
        for a, b in zip(mine["start"], mine["end"]):
            counts[a:b] += 1
        assert report.loc[doc_id, "duplicated"] == np.maximum(counts - 1, 0).sum()
        assert report.loc[doc_id, "uncovered"] == len(uncovered(text, mine["start"], mine["end"]))
    assert report.loc["", "chunks"] == len(frame)


def test_report_of_a_document_that_is_not_there_names_it():
    with pytest.raises(ValueError, match="'a'"):
        chunk_report(CHUNKS, {"b": "Last."})


# The marked text.


class Reader(HTMLParser):
    """Reads a page back: its text, tags, classes and titles."""

    def __init__(self):
        super().__init__()
        self.tags, self.text, self.titles, self._in_pre = [], "", [], False

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self._in_pre = self._in_pre or tag == "pre"
        self.titles += [v for k, v in attrs if k == "title"]

    def handle_endtag(self, tag):
        self._in_pre = self._in_pre and tag != "pre"

    def handle_data(self, data):
        self.text += data if self._in_pre else ""


def read(shown):
    reader = Reader()
    reader.feed(shown._repr_html_())
    return reader


def test_marked_text_names_chunks_overlap_and_gold():
    pieces = show_chunks(CHUNKS, DOCS, spans=SPANS).frame
    rows = pieces[["start", "end", "chunk_ids", "is_overlap", "is_gold"]].values.tolist()
    assert rows == [
        [0, 14, "a#0", False, False],
        [14, 20, "a#0 a#1", True, False],
        [20, 25, "a#0 a#1", True, True],
        [25, 30, "a#1", False, True],
        [30, 42, "a#1", False, False],
    ]


def test_hovering_tells_sizes():
    assert "a#0: 0-25, 25 characters | a#1: 14-42, 28 characters" in read(show_chunks(CHUNKS, DOCS)).titles


def test_text_names_and_ids_are_escaped():
    evil = "<img src=x onerror=alert(1)> & <b>bold</b> </td></tr></table><script>1</script>"
    docs = {evil: evil}
    spans = pd.DataFrame({"doc_id": [evil], "start": [2], "end": [9]})
    shown = show_chunks({evil: chunk(docs, size=20)}, docs, spans=spans)
    reader = read(shown)
    assert reader.text == evil
    assert set(reader.tags) <= {"style", "div", "h4", "b", "br", "span", "pre"}
    assert "&lt;img" in shown._repr_html_() and "<script" not in shown._repr_html_()


@given(TEXTS.filter(lambda t: "\r" not in t), SIZES)
def test_marked_text_is_the_whole_text(text, size_overlap):
    docs = {"d": text}
    shown = show_chunks(chunk(docs, size=size_overlap[0], overlap=size_overlap[1]), docs)
    assert "".join(shown.frame["text"]) == text
    assert read(shown).text == text


def test_several_ways_of_chunking_stand_side_by_side():
    shown = show_chunks({"small": chunk(DOCS, size=15, overlap=0), "large": CHUNKS}, DOCS, doc_id="a")
    assert shown.frame["name"].unique().tolist() == ["small", "large"]
    assert shown._repr_html_().count("<pre>") == 2
    assert "small" in repr(shown)


def test_long_texts_are_shown_up_to_a_limit():
    shown = show_chunks(CHUNKS, DOCS, limit=10)
    assert "".join(shown.frame["text"]) == DOCS["a"][:10]
    assert "the text goes on" in shown._repr_html_()


@pytest.mark.parametrize("see", [show_chunks, plot_chunks])
def test_what_cannot_be_shown_says_why(see):
    with pytest.raises(ValueError, match="'z' is not among the documents"):
        see(CHUNKS, DOCS, doc_id="z")
    with pytest.raises(ValueError, match="empty dict"):
        see({}, DOCS)
    with pytest.raises(ValueError, match="docs is empty"):
        see(CHUNKS.iloc[:0], [])
    with pytest.raises(ValueError, match="spans needs columns"):
        see(CHUNKS, DOCS, spans=pd.DataFrame({"doc_id": ["a"]}))


def test_no_chunks_leave_the_text_unmarked():
    shown = show_chunks(CHUNKS.iloc[:0], DOCS)
    assert shown.frame["chunk_ids"].tolist() == [""]
    assert read(shown).text == DOCS["a"]


# The ruler.


def test_ruler_draws_one_bar_per_chunk_where_it_lies():
    ax = plot_chunks(CHUNKS, DOCS, "a")
    assert [(bar.get_x(), bar.get_width()) for bar in ax.patches] == [(0, 25), (14, 28)]
    assert ax.get_xlim() == (0, 42)
    assert ax.patches[0].get_y() != ax.patches[1].get_y()


def test_ruler_draws_gold_below_and_systems_by_name():
    ax = plot_chunks({"one": CHUNKS, "two": chunk(DOCS, size=15, overlap=0)}, DOCS, "a", spans=SPANS)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["one", "two", "gold"]
    assert any((bar.get_x(), bar.get_width()) == (20, 10) for bar in ax.patches)


def test_ruler_draws_on_given_axes():
    from matplotlib.figure import Figure

    ax = Figure().subplots()
    assert plot_chunks(CHUNKS, DOCS, ax=ax) is ax
