"""Splitters of other libraries: their chunks are found where they are, or reported."""

from __future__ import annotations

import pytest

from ragkit.chunking import chunk


class Texts:
    """A splitter like langchain's: texts without offsets, and a known overlap."""

    def __init__(self, texts, overlap=0):
        self._texts, self._chunk_overlap = texts, overlap

    def split_text(self, text):
        return self._texts


class Piece:
    """A chunk like chonkie's."""

    def __init__(self, text, start_index):
        self.text, self.start_index = text, start_index


class Pieces:
    """A splitter like chonkie's: chunks that say where they start."""

    def __init__(self, *pieces):
        self._pieces = pieces

    def chunk(self, text):
        return [Piece(*piece) for piece in self._pieces]


class Indices:
    """A splitter like semantic-text-splitter's."""

    def chunk_indices(self, text):
        return [(0, "tick tock"), (10, "tick tock")]

    def chunks(self, text):
        raise AssertionError("offsets are better than texts")


TICK = "tick tock tick tock tick tock"


def edges(frame):
    return list(zip(frame["start"].tolist(), frame["end"].tolist()))


def test_repeated_text_is_found_copy_by_copy():
    assert edges(chunk(TICK, method=Texts(["tick tock"] * 3))) == [(0, 9), (10, 19), (20, 29)]
    overlapped = Texts(["tick tock", "tock tick", "tick tock", "tock tick", "tick tock"], overlap=4)
    assert edges(chunk(TICK, method=overlapped)) == [(0, 9), (5, 14), (10, 19), (15, 24), (20, 29)]


def test_an_unbroken_string_is_found_with_the_overlap_of_the_splitter():
    pieces = Texts(["x" * 10, "x" * 10, "x" * 10, "x" * 4], overlap=3)
    assert edges(chunk("x" * 25, method=pieces)) == [(0, 10), (7, 17), (14, 24), (21, 25)]


def test_offsets_that_are_true_are_believed_and_false_ones_are_not():
    assert edges(chunk(TICK, method=Pieces(("tick", 0), ("tick", 20)))) == [(0, 4), (20, 24)]
    assert edges(chunk(TICK, method=Pieces(("tick", 0), ("tock", 3)))) == [(0, 4), (5, 9)]
    assert edges(chunk(TICK, method=Indices())) == [(0, 9), (10, 19)]


def test_a_function_is_a_splitter_and_edges_are_trimmed():
    frame = chunk("One. Two.\n\n", method=lambda text: [text[:5], " ", "Two.\n"])
    assert frame["text"].tolist() == ["One.", "Two."]
    assert edges(frame) == [(0, 4), (5, 9)]


@pytest.mark.parametrize(
    "pieces", [["One two"], ["ONE"], ["Two.", "One."], ["One.", "One."], ["One. Two. Three."]]
)
def test_a_chunk_that_is_no_slice_is_reported(pieces):
    with pytest.raises(ValueError, match=r"chunk \d of document 'd' from Texts is not a slice"):
        chunk({"d": "One. Two."}, method=Texts(pieces))


def test_what_is_no_list_of_chunks_is_refused():
    with pytest.raises(TypeError, match="must give a list of chunks"):
        chunk("One.", method=lambda text: "One.")
    with pytest.raises(TypeError, match="strings or have a text"):
        chunk("One.", method=lambda text: [1])
    with pytest.raises(ValueError, match="unknown method 3"):
        chunk("One.", method=3)
    with pytest.raises(ValueError, match="does not take"):
        chunk("One.", method=Texts(["One."]), window=2)


def test_settings_that_a_splitter_would_not_read_are_refused():
    for knobs in ({"size": 10}, {"overlap": 0}, {"length": str.__len__}, {"on_long": "keep"}):
        with pytest.raises(ValueError, match=f"'Texts' cuts by its own settings; set {next(iter(knobs))} "):
            chunk("One.", method=Texts(["One."]), **knobs)


def test_a_class_in_place_of_a_splitter_says_so():
    with pytest.raises(TypeError, match=r"not its class Texts; make one: Texts\(\.\.\.\)"):
        chunk("One.", method=Texts)


def test_a_function_is_called_by_its_name():
    def shout(text):
        return [text.upper()]

    with pytest.raises(ValueError, match="from shout is not a slice"):
        chunk("One.", method=shout)


PROSE = "A first line. And more of it, e.g. this.\n\nAnother paragraph; of words\non two lines. End.  Last."


def check_located(frame):
    assert frame["text"].tolist() == [PROSE[a:b] for a, b in edges(frame)]
    assert frame["start"].is_monotonic_increasing and frame["end"].is_monotonic_increasing
    covered = {n for a, b in edges(frame) for n in range(a, b)}
    assert "".join(PROSE[n] for n in sorted(covered)).split() != []
    assert all(PROSE[n].isspace() for n in range(len(PROSE)) if n not in covered)


@pytest.mark.parametrize("overlap", [0, 10])
def test_langchain_splitters_are_located(overlap):
    splitters = pytest.importorskip("langchain_text_splitters")
    splitter = splitters.RecursiveCharacterTextSplitter(chunk_size=30, chunk_overlap=overlap)
    frame = chunk(PROSE, method=splitter)
    check_located(frame)
    assert frame["text"].tolist() == splitter.split_text(PROSE)


def test_semantic_text_splitter_is_located():
    splitters = pytest.importorskip("semantic_text_splitter")
    check_located(chunk(PROSE, method=splitters.TextSplitter(30)))


def test_chonkie_is_located():
    chonkie = pytest.importorskip("chonkie")
    check_located(chunk(PROSE, method=chonkie.RecursiveChunker(tokenizer="character", chunk_size=30)))
    check_located(
        chunk(PROSE, method=chonkie.SentenceChunker(tokenizer="character", chunk_size=60, chunk_overlap=0))
    )


def test_llama_index_is_located():
    parsers = pytest.importorskip("llama_index.core.node_parser")
    check_located(
        chunk(PROSE, method=parsers.SentenceSplitter(chunk_size=12, chunk_overlap=0, tokenizer=str.split))
    )


def test_node_parsers_that_take_documents_alone_are_located():
    parsers = pytest.importorskip("llama_index.core.node_parser")
    whole = parsers.SentenceWindowNodeParser.from_defaults(sentence_splitter=lambda text: text.split("\n\n"))
    check_located(chunk(PROSE, method=whole))
