"""RagkitSplitter and the program: start indexes that are right, and a script that runs."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("langchain_core", reason="needs langchain-core (the extra langchain)")

from langchain_core.documents import BaseDocumentTransformer, Document
from langchain_core.embeddings import DeterministicFakeEmbedding

import ragkit as rk
from ragkit.integrations.langchain import RagkitSplitter, RagkitVectorStore, script

TEXT = "One is small. Two is big. Three is bigger. Two is big. Two is big."


# ---------------------------------------------------------------------------- worked examples


def test_chunks_are_documents_with_metadata_of_their_own_and_ids_from_their_document():
    document = Document(TEXT, metadata={"page": 7, "tags": ["a"]}, id="doc")
    pieces = RagkitSplitter("sentence", size=30, overlap=0).split_documents([document])
    assert [piece.page_content for piece in pieces] == [
        "One is small. Two is big.",
        "Three is bigger. Two is big.",
        "Two is big.",
    ]
    assert [piece.metadata["start_index"] for piece in pieces] == [0, 26, 55]
    assert [piece.id for piece in pieces] == ["doc#0", "doc#1", "doc#2"]
    pieces[0].metadata["tags"].append("b")
    assert pieces[1].metadata["tags"] == document.metadata["tags"] == ["a"]
    assert document == Document(TEXT, metadata={"page": 7, "tags": ["a"]}, id="doc")


def test_documents_without_ids_or_with_the_same_id_are_split_too():
    splitter = RagkitSplitter(size=30, overlap=0, add_start_index=False)
    pieces = splitter.split_documents([Document("One.", metadata={"doc_id": "x"}), Document("Two.")])
    assert pieces == [Document("One.", metadata={"doc_id": "x"}), Document("Two.")]
    twice = splitter.split_documents([Document("One.", id="a"), Document("Two.", id="a")])
    assert [piece.id for piece in twice] == ["a#0", "a#0"]
    assert splitter.split_documents([]) == splitter.split_documents([Document("  ")]) == []


def test_every_door_of_a_langchain_splitter_gives_the_same():
    splitter = RagkitSplitter("sentence", size=30, overlap=12)
    documents = [Document(TEXT, metadata={"n": 1}), Document("Four.", metadata={"n": 2})]
    pieces = splitter.split_documents(documents)
    assert isinstance(splitter, BaseDocumentTransformer)
    assert list(splitter.transform_documents(documents)) == pieces
    assert list(asyncio.run(splitter.atransform_documents(documents))) == pieces
    assert splitter.create_documents([TEXT, "Four."], [{"n": 1}, {"n": 2}]) == pieces
    assert splitter.split_text(TEXT) == [piece.page_content for piece in pieces[:-1]]
    assert splitter.create_documents(["Four."]) == [Document("Four.", metadata={"start_index": 0})]


def test_what_a_method_says_of_a_chunk_is_in_its_metadata():
    [first, second] = RagkitSplitter("markdown", size=40, overlap=0).create_documents(
        ["# A\n\nOne.\n\n## B\n\nTwo."]
    )
    assert (first.metadata["section"], second.metadata["section"]) != ("", "")
    children = RagkitSplitter("parent_child", size=14, overlap=0, parent_size=30).create_documents([TEXT])
    assert all({"parent_start", "parent_end"} <= set(child.metadata) for child in children)


def test_a_splitter_may_embed_with_langchains_embeddings():
    splitter = RagkitSplitter("semantic", size=60, embed=DeterministicFakeEmbedding(size=8))
    assert "".join(splitter.split_text(TEXT)).replace(" ", "") == TEXT.replace(" ", "")


def test_pieces_go_straight_into_a_store_and_stay_citable():
    pieces = RagkitSplitter(size=30, overlap=0).split_documents([Document(TEXT, id="doc")])
    store = RagkitVectorStore.from_documents(pieces, rk.LSAEmbedder())
    [found] = store.similarity_search("bigger", k=1)
    start = found.metadata["start_index"]
    assert (found.id, TEXT[start : start + len(found.page_content)]) == ("doc#1", found.page_content)


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"method": "sentense"}, ValueError, "sentence"),
        ({"size": 0}, ValueError, "size"),
        ({"overlap": 1000}, ValueError, "overlap"),
        ({"chunk_size": 100}, ValueError, "unknown option of chunk 'chunk_size'"),
        ({"separators": ["x"]}, ValueError, "separators"),
    ],
)
def test_options_that_do_not_fit_are_refused_at_once(options, error, said):
    with pytest.raises(error, match=said):
        RagkitSplitter(**options)


def test_metadatas_of_another_number_and_options_of_a_transformation_raise():
    with pytest.raises(ValueError, match="got 1 for 2 texts"):
        RagkitSplitter().create_documents(["a", "b"], [{}])
    with pytest.raises(TypeError, match="takes no options"):
        RagkitSplitter().transform_documents([], size=3)
    with pytest.raises(TypeError, match="must be a string"):
        RagkitSplitter().split_text(3)


# ---------------------------------------------------------------------------- laws

WORDS = st.lists(
    st.sampled_from(["Two is big.", "yes", "a\n\n", "…", "é", "Two", "\t", "🙂", "3.14"]), max_size=40
)


@given(WORDS, st.integers(5, 40), st.sampled_from(["sentence", "paragraph", "fixed", "recursive"]))
def test_a_start_index_is_right_whatever_repeats(words, size, method):
    text = " ".join(words)
    for piece in RagkitSplitter(method, size=size, overlap=size // 3).create_documents([text]):
        start = piece.metadata["start_index"]
        assert text[start : start + len(piece.page_content)] == piece.page_content


@given(WORDS, st.integers(5, 40))
def test_a_splitter_cuts_as_chunk_does(words, size):
    text = " ".join(words)
    chunks = rk.chunk(text, size=size, overlap=0)
    pieces = RagkitSplitter(size=size, overlap=0).create_documents([text])
    assert [(p.metadata["start_index"], p.page_content) for p in pieces] == list(
        zip(chunks["start"].tolist(), chunks["text"].tolist())
    )


# ---------------------------------------------------------------------------- the program

SETUP = """
import ragkit as rk

docs = {"a": "red fox in the snow", "b": "the quick brown fox", "c": "a blue whale sings"}
hybrid = rk.HybridSearch(rk.KeywordIndex(docs), rk.VectorStore(docs))
"""
RUN = """
from langchain_core.language_models import FakeListChatModel
from langchain_core.runnables import RunnableLambda

seen = []
model = RunnableLambda(lambda prompt: seen.append(prompt.to_string()) or prompt) | FakeListChatModel(
    responses=["The fox [1]."]
)
print(make_chain(model).invoke("brown fox"))
print(seen[0])
want = hybrid.search("brown fox", **KNOBS)["doc_id"].tolist()
print([doc.id for doc in retriever.invoke("brown fox")] == want)
"""


def run(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_program_runs_with_a_chat_model_and_finds_what_the_tuned_search_finds():
    params = {
        "top_k": 2, "pool": 100, "fusion": "linear", "weights": {"keyword": 0.4, "vector": 0.6}, "k": 60,
        "normalize": None, "missing": None, "lambda_": 0.7, "fetch_k": 50, "scale": "minmax", "where": None,
    }  # fmt: skip
    program = script(SETUP, params, query="brown fox")
    out = run(f"{program}\nKNOBS = {params!r}\n{RUN}").splitlines()
    assert out[0] == "The fox [1]."
    assert "[1] the quick brown fox" in out and "Human: brown fox" in out
    assert out[-1] == "True"


def test_the_settings_of_a_panel_make_a_program_that_finds_what_the_panel_shows():
    names: dict = {}
    exec(SETUP, names)
    panel = rk.explore(names["hybrid"], {"q": "brown fox"}, top_k=2, lambda_=0.6)
    exec(script(SETUP, panel.params), names)
    found = names["retriever"].invoke("brown fox")
    assert [doc.id for doc in found] == panel.value["doc_id"].tolist()
    panel.close()


def test_a_program_may_take_a_filter_and_another_name_from_its_setup():
    setup = "\n".join(
        [
            "import ragkit as rk",
            "index = rk.KeywordIndex({'a': 'red fox', 'b': 'fox'})",
            "where = lambda docs: docs['doc_id'] == 'b'",
        ]
    )
    program = script(setup, {"k1": 0.9, "where": len}, source="index")
    assert run(f"{program}\nprint([doc.id for doc in retriever.invoke('fox')])").strip() == "['b']"


def test_a_program_without_a_setup_says_what_it_needs():
    assert script(None, {"where": len}).startswith(
        "# Needs `hybrid`, the search that was tuned and its filter `where`."
    )
    compile(script(), "program", "exec")
    compile(script(query="it's {braces} and \n lines"), "program", "exec")


def test_what_cannot_be_written_as_python_is_named():
    with pytest.raises(ValueError, match="knob 'fusion' cannot be written"):
        script(params={"fusion": len})
    with pytest.raises(ValueError, match="source must be the name of a variable"):
        script(source="a b")
    with pytest.raises(ValueError, match="top_k"):
        script(params={"top_k": -1})
