"""RagkitRetriever, to_langchain and as_docs: scores and ledger, text from the stores, bad input."""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import sys
import types

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("langchain_core", reason="needs langchain-core (the extra langchain)")

from langchain_core.documents import Document
from langchain_core.load import dumpd, dumps, load
from langchain_core.load.serializable import Serializable
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import ConfigurableField
from pydantic import ValidationError

import ragkit as rk
from ragkit.integrations.langchain import RagkitRetriever, RagkitVectorStore, to_langchain
from tests.integrations.fakes import Table

DOCS = pd.DataFrame(
    {
        "doc_id": ["a", "b", "c", "d", "e", "f"],
        "text": [
            "red fox in the snow",
            "the quick brown fox",
            "a blue whale sings",
            "whales and a fox",
            "snow on the mountain",
            "brown mountain",
        ],
        "year": [2020, 2021, 2020, 2022, 2021, 2020],
        "source": ["s1", "s2", "s3", "s4", "s5", "s6"],
    }
)


@pytest.fixture(scope="module")
def hybrid() -> rk.HybridSearch:
    return rk.HybridSearch(rk.KeywordIndex(DOCS), rk.VectorStore(DOCS))


# ---------------------------------------------------------------------------- worked examples


def test_documents_carry_their_text_their_metadata_and_where_they_stand():
    index = rk.KeywordIndex(DOCS)
    documents = RagkitRetriever(source=index, k=2).invoke("brown fox")
    run = index.search("brown fox", top_k=2)
    assert [doc.id for doc in documents] == run["doc_id"].tolist() == ["b", "f"]
    assert documents[0] == Document(
        "the quick brown fox",
        id="b",
        metadata={"year": 2021, "source": "s2", "rank": 1, "score": run["score"].iloc[0]},
    )


def test_a_ledger_column_that_the_document_uses_itself_gets_a_name_of_its_own(hybrid):
    [found] = RagkitRetriever(source=hybrid, k=1).invoke("brown fox")
    assert found.metadata["source"] == "s2"
    assert found.metadata["retrieval_source"] == "keyword+vector"


def test_the_ledger_of_a_tuned_hybrid_search_is_all_there(hybrid):
    params = {"top_k": 2, "fusion": "linear", "weights": {"keyword": 0.4, "vector": 0.6}, "lambda_": 0.7}
    documents = RagkitRetriever(source=hybrid, params=params).invoke("brown fox")
    run = hybrid.search("brown fox", **params)
    assert [doc.id for doc in documents] == run["doc_id"].tolist()
    for doc, row in zip(documents, run.to_dict("records")):
        for name, value in row.items():
            if name not in ("query_id", "doc_id", "source"):
                missing = value is None or value != value
                assert doc.metadata[name] == (None if missing else value), name
    assert json.loads(json.dumps([doc.metadata for doc in documents])) == [doc.metadata for doc in documents]


def test_any_function_of_queries_is_a_source():
    index, store = rk.KeywordIndex(DOCS), rk.VectorStore(DOCS)

    def diversified(queries):
        fused = rk.fuse({"keyword": index.search(queries), "vector": store.search(queries)})
        return rk.mmr(fused, store, lambda_=0.6, top_k=3)

    documents = RagkitRetriever(source=diversified, docs=DOCS, k=2).invoke("brown fox")
    want = diversified(rk.as_queries("brown fox")).head(2)
    assert [doc.id for doc in documents] == want["doc_id"].tolist()
    assert [doc.metadata["max_similarity"] for doc in documents] == want["max_similarity"].tolist()
    assert RagkitRetriever(source=diversified, docs=[index, store], k=2).invoke("brown fox") == documents


def test_bound_methods_partials_and_retrievers_of_a_store_know_their_documents(hybrid):
    want = RagkitRetriever(source=hybrid, params={"lambda_": 0.5}, k=2).invoke("brown fox")
    assert (
        RagkitRetriever(source=functools.partial(hybrid.search, lambda_=0.5), k=2).invoke("brown fox") == want
    )
    assert RagkitRetriever(source=hybrid.search, params={"lambda_": 0.5}, k=2).invoke("brown fox") == want
    near = hybrid.store.retriever(search_type="mmr", top_k=3, fetch_k=5)
    picked = RagkitRetriever(near, k=2).invoke("brown fox")
    assert [doc.id for doc in picked] == near("brown fox")["doc_id"].tolist()[:2]
    assert picked[1].page_content and "max_similarity" in picked[1].metadata


def test_a_search_that_is_filled_later_is_found_behind_its_method():
    empty = rk.HybridSearch(rk.KeywordIndex(), rk.VectorStore())
    retriever = RagkitRetriever(source=empty.search, k=1)
    empty.add({"a": "red fox", "b": "blue whale"})
    assert [doc.page_content for doc in retriever.invoke("fox")] == ["red fox"]


def test_a_run_with_texts_needs_no_documents():
    index = rk.KeywordIndex(DOCS)
    source = lambda queries: index.search(queries).merge(DOCS[["doc_id", "text"]], on="doc_id")  # noqa: E731
    assert RagkitRetriever(source=source, k=1).invoke("brown fox")[0].page_content == "the quick brown fox"
    bare = RagkitRetriever(source=lambda queries: index.search(queries))
    with pytest.raises(ValueError, match="docs is needed"):
        bare.invoke("brown fox")
    with pytest.warns(rk.RetrievalWarning, match="unheard"):
        assert bare.invoke("unheard") == []


def test_k_and_knobs_may_be_given_to_one_call(hybrid):
    retriever = RagkitRetriever(source=hybrid, k=3)
    assert len(retriever.invoke("brown fox", k=1)) == len(retriever.invoke("brown fox", top_k=1)) == 1
    only = retriever.invoke("brown fox", where={"year": 2020})
    assert {doc.metadata["year"] for doc in only} == {2020}
    assert len(retriever.invoke("brown fox", k=None)) == len(hybrid.search("brown fox", top_k=None))
    assert retriever.invoke("brown fox", k=0) == []
    assert len(retriever.invoke("brown fox")) == 3


def test_the_number_is_k_or_top_k_or_what_was_tuned(hybrid):
    assert RagkitRetriever(source=hybrid).k == 4
    assert RagkitRetriever(source=hybrid, top_k=2).k == 2
    assert RagkitRetriever(source=hybrid, params={"top_k": 7}).k == 7
    assert RagkitRetriever(source=hybrid, params={"top_k": 7}, k=1).k == 1
    with pytest.raises(ValidationError, match="two names of one number"):
        RagkitRetriever(source=hybrid, k=1, top_k=2)


def test_the_asynchronous_form_gives_the_same(hybrid):
    retriever = RagkitRetriever(source=hybrid, k=3)
    assert asyncio.run(retriever.ainvoke("brown fox")) == retriever.invoke("brown fox")


def test_chunks_are_documents_that_know_where_they_come_from():
    chunks = rk.chunk({"a": "One is small. Two is big. Three is bigger."}, size=16, overlap=0)
    [found] = RagkitRetriever(source=rk.KeywordIndex(chunks), k=1).invoke("bigger")
    assert (found.id, found.page_content) == ("a#2", "Three is bigger.")
    assert (found.metadata["doc_id"], found.metadata["start"], found.metadata["end"]) == ("a", 26, 42)


def test_the_text_may_be_in_one_store_and_more_metadata_in_another():
    index = rk.KeywordIndex({"a": "red fox", "b": "blue whale"})
    store = rk.VectorStore(pd.DataFrame({"doc_id": ["a", "b"], "year": [1, 2]}), vectors=[[1, 0], [0, 1]])
    hybrid = rk.HybridSearch(index, store)
    with pytest.warns(rk.RetrievalWarning, match="the vector side takes no part in 'fox'"):
        [found] = RagkitRetriever(source=hybrid, k=1).invoke("fox")
    assert (found.page_content, found.metadata["year"]) == ("red fox", 1)


def test_a_langchain_store_of_ours_is_a_source_too():
    store = RagkitVectorStore.from_texts(["x", "y"], Table({"x": [1, 0], "y": [0, 1], "q": [1, 1]}), {"n": 1})
    found = RagkitRetriever(source=store, k=2).invoke("q")
    assert [set(doc.metadata) for doc in found] == [{"n", "rank", "score"}] * 2


def test_a_langchain_store_over_given_vectors_embeds_the_query_with_its_embeddings():
    inner = rk.VectorStore({"a": "x", "b": "y"}, vectors=[[1, 0], [0, 1]])
    wrapped = RagkitVectorStore(Table({"q": [0.1, 1]}), store=inner)
    found = RagkitRetriever(source=wrapped, k=1).invoke("q")
    assert [doc.id for doc in found] == [doc.id for doc in wrapped.similarity_search("q", k=1)] == ["b"]


# ---------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"source": "index"}, "source must be a KeywordIndex"),
        ({"source": rk.KeywordIndex(), "k": -1}, "k must be a whole number"),
        ({"source": rk.KeywordIndex(), "k": 1.5}, "k must be a whole number"),
        ({"source": rk.KeywordIndex(), "params": {"lamda": 1}}, "unknown knob of the search 'lamda'"),
        ({"source": rk.KeywordIndex(), "param": {}}, "param"),
        ({}, "source"),
    ],
)
def test_what_cannot_work_is_refused_at_once(options, said):
    with pytest.raises(ValidationError, match=said):
        RagkitRetriever(**options)


def test_a_source_may_be_given_by_place_and_not_twice(hybrid):
    assert RagkitRetriever(hybrid, k=1) == RagkitRetriever(source=hybrid, k=1)
    with pytest.raises(TypeError, match="source"):
        RagkitRetriever(hybrid, source=hybrid)


def test_a_misspelt_knob_of_one_call_and_a_query_that_is_no_text_raise(hybrid):
    retriever = RagkitRetriever(source=hybrid)
    with pytest.raises(ValueError, match=r"'lambda'.*Did you mean 'lambda_'"):
        retriever.invoke("fox", **{"lambda": 0.5})
    with pytest.raises(TypeError, match="query must be a str"):
        retriever.invoke(["fox"])
    with pytest.raises(ValueError, match="k must be a whole number"):
        retriever.invoke("fox", k=-2)


def test_a_unit_that_the_documents_lack_is_named():
    retriever = RagkitRetriever(source=rk.KeywordIndex(DOCS), docs=DOCS.head(1))
    with pytest.raises(ValueError, match="docs lacks 1 units of the run: 'b'"):
        retriever.invoke("quick")


def test_an_empty_index_finds_nothing():
    assert RagkitRetriever(source=rk.KeywordIndex()).invoke("fox") == []
    assert RagkitRetriever(source=rk.HybridSearch(rk.KeywordIndex(), rk.VectorStore())).invoke("fox") == []


def test_a_retriever_without_its_method_fails_clearly():
    class Nothing(BaseRetriever):
        pass

    with pytest.raises(TypeError, match=r"abstract.*_get_relevant_documents"):
        Nothing()


# ---------------------------------------------------------------------------- writing


class Secretive:
    """An embedder whose repr shows what nobody may see."""

    def __call__(self, texts):
        return [[1.0, len(text)] for text in texts]

    def __repr__(self):
        return "Secretive(api_key='sk-secret')"


def test_what_is_written_names_the_class_and_its_settings_and_never_a_secret():
    store = rk.VectorStore(DOCS, embed=Secretive())
    retriever = RagkitRetriever(source=store, docs=DOCS, k=2, params={"min_score": 0.1}, tags=["t"])
    written = dumpd(retriever)
    assert written["id"] == ["ragkit", "integrations", "langchain", "RagkitRetriever"]
    assert written["type"] == "constructor" and RagkitRetriever.lc_name() == "RagkitRetriever"
    assert (written["kwargs"]["k"], written["kwargs"]["params"]) == (2, {"min_score": 0.1})
    assert written["kwargs"]["source"]["type"] == "not_implemented"
    assert written["kwargs"]["source"]["id"][-1] == "VectorStore"
    text = dumps(retriever) + dumps(RagkitVectorStore(store=store).as_retriever()) + repr(retriever)
    assert "sk-secret" not in text and "red fox" not in text


class Saved(Serializable):
    """A source that can be written: it says where a saved index is."""

    folder: str

    def __call__(self, queries):
        index = rk.KeywordIndex.load(self.folder)
        return index.search(queries).merge(index.docs[["doc_id", "text"]], on="doc_id")

    @classmethod
    def is_lc_serializable(cls):
        return True

    @classmethod
    def get_lc_namespace(cls):
        return ["ragkit_tests"]


ALLOWED: dict = {"valid_namespaces": ["ragkit", "ragkit_tests"]}
if "allowed_objects" in inspect.signature(load).parameters:  # not in the first of langchain-core 1
    ALLOWED["allowed_objects"] = [RagkitRetriever, Saved]


@pytest.mark.filterwarnings("ignore:The function `load` is in beta")
def test_langchain_reads_a_written_retriever_back_where_its_parts_can_be_read(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ragkit_tests", types.SimpleNamespace(Saved=Saved))
    rk.KeywordIndex(DOCS).save(tmp_path / "index")
    retriever = RagkitRetriever(source=Saved(folder=str(tmp_path / "index")), k=2, name="mine", tags=["t"])
    again = load(dumpd(retriever), **ALLOWED)
    assert (again.k, again.get_name(), again.tags) == (2, "mine", ["t"])
    assert again.invoke("brown fox") == retriever.invoke("brown fox")
    assert len(again.invoke("brown fox")) == 2


@pytest.mark.filterwarnings("ignore:The function `load` is in beta")
def test_a_retriever_whose_parts_cannot_be_written_says_so_when_it_is_read():
    with pytest.raises(NotImplementedError, match="doesn't implement serialization"):
        load(dumpd(RagkitRetriever(source=rk.KeywordIndex(DOCS))), **ALLOWED)


# ---------------------------------------------------------------------------- documents


def test_a_run_of_many_queries_gives_one_document_a_row_with_its_query():
    run = rk.KeywordIndex(DOCS).search({"q1": "fox", "q2": "whale"}, top_k=1)
    first, second = to_langchain(run, DOCS)
    assert (first.metadata["query_id"], second.metadata["query_id"]) == ("q1", "q2")
    assert (second.id, second.metadata["source"], second.metadata["rank"]) == ("c", "s3", 1)
    assert to_langchain(run.head(0), DOCS) == []


def test_documents_of_a_run_share_nothing_with_the_frame():
    docs = rk.as_docs([Document("red fox", metadata={"tags": ["a"]}, id="a")])
    [found] = to_langchain(rk.KeywordIndex(docs).search("fox"), docs)
    found.metadata["tags"].append("b")
    assert docs["tags"].iloc[0] == ["a"]


def test_documents_given_as_they_are_come_back_exactly_beside_gaps_none_and_names_of_columns():
    documents = [
        Document("red fox", metadata={"page": 1, "author": None, "metadata": {"x": 1}}, id="a"),
        Document("red wine", metadata={"query_id": "mine", "doc_id": 7, "text": "t"}, id="b"),
    ]
    run = rk.KeywordIndex(documents).search("red")
    back = {doc.id: doc.metadata for doc in to_langchain(run, documents)}
    assert {**documents[0].metadata, "query_id": "0"}.items() <= back["a"].items()
    assert {**documents[1].metadata, "retrieval_query_id": "0"}.items() <= back["b"].items()
    found = RagkitRetriever(source=rk.KeywordIndex(documents), docs=documents).invoke("wine")
    assert {k: v for k, v in found[0].metadata.items() if k not in ("rank", "score")} == documents[1].metadata


def test_a_column_that_is_called_metadata_is_one_like_any_other():
    docs = pd.DataFrame({"doc_id": ["a"], "text": ["fox"], "title": ["Fox"], "metadata": [{"x": 1}]})
    [found] = RagkitRetriever(source=rk.KeywordIndex(docs)).invoke("fox")
    assert (found.metadata["title"], found.metadata["metadata"]) == ("Fox", {"x": 1})


def test_a_unit_without_a_text_is_named():
    store = rk.VectorStore(
        pd.DataFrame({"doc_id": ["a"]}), vectors=[[1.0]], query_embed=lambda texts: [[1.0]]
    )
    with pytest.raises(ValueError, match="docs holds no text of 'a'"):
        RagkitRetriever(source=store).invoke("fox")
    [found] = RagkitRetriever(source=store, docs={"a": "fox"}).invoke("fox")
    assert found.page_content == "fox"


def test_a_field_can_be_left_to_the_configuration(hybrid):
    retriever = RagkitRetriever(source=hybrid, params={"top_k": 3}).configurable_fields(
        k=ConfigurableField(id="number"), params=ConfigurableField(id="knobs")
    )
    assert len(retriever.invoke("brown fox")) == 3
    assert len(retriever.with_config(configurable={"number": 1}).invoke("brown fox")) == 1
    config = {"configurable": {"knobs": {"fusion": "linear"}}}
    assert "retrieval_source" in retriever.invoke("brown fox", config)[0].metadata


class Node:
    """The shape of a LlamaIndex node."""

    def __init__(self, text, metadata, node_id):
        self.text, self.metadata, self.node_id = text, metadata, node_id


class Hay:
    """The shape of a Haystack document."""

    def __init__(self, content, meta, id):
        self.content, self.meta, self.id = content, meta, id


def test_as_docs_knows_documents_of_three_frameworks_by_their_shape():
    docs = rk.as_docs(
        [
            Document("red fox", metadata={"page": 1}, id="a"),
            Node("red wine", {"page": 2}, "b"),
            Hay("blue whale", {"page": 3}, "c"),
        ]
    )
    assert docs.values.tolist() == [["a", "red fox", 1], ["b", "red wine", 2], ["c", "blue whale", 3]]


METADATA = st.fixed_dictionaries({"page": st.integers(), "title": st.text(), "text": st.text()})


@given(st.lists(st.tuples(st.text(min_size=1), METADATA), min_size=1, max_size=5))
def test_documents_come_back_from_frames_as_they_went_in(contents):
    documents = [Document(text, metadata=meta, id=f"i{n}") for n, (text, meta) in enumerate(contents)]
    run = rk.as_run({"q": [doc.id for doc in documents]})
    back = to_langchain(run, rk.as_docs(documents))
    for doc in back:
        for name in ("query_id", "rank", "score"):
            doc.metadata.pop(name)
    assert back == documents


def test_numbers_of_numpy_become_pythons_own():
    docs = pd.DataFrame(
        {"doc_id": ["a"], "text": ["fox"], "n": np.array([3], dtype=np.int32), "v": [np.arange(2)]}
    )
    [found] = to_langchain(rk.KeywordIndex(docs).search("fox"), docs)
    assert (type(found.metadata["n"]), found.metadata["v"]) == (int, [0, 1])
