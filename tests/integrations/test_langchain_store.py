"""RagkitVectorStore: by hand, as laws, and against the recorded store of the JavaScript package."""

from __future__ import annotations

import asyncio
import copy
import json
import logging
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("langchain_core", reason="needs langchain-core (the extra langchain)")

from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.indexing import InMemoryRecordManager, index
from langchain_core.vectorstores import InMemoryVectorStore

import ragkit as rk
from ragkit.integrations.langchain import EmbeddingsAdapter, RagkitVectorStore
from tests.conftest import golden
from tests.integrations.fakes import Table

WORDS = {
    "alpha": [1, 0], "beta": [0.8, 0.6], "gamma": [0, 1], "delta": [0.9, 0.1],
    "query": [1, 0.1], "other": [0, 1], "zero": [0, 0], "opposite": [-1, 0],
}  # fmt: skip


def filled(**options) -> RagkitVectorStore:
    """Four documents in the plane, two of category A and two of B."""
    return RagkitVectorStore.from_texts(
        ["alpha", "beta", "gamma", "delta"],
        Table(WORDS),
        [{"cat": "A"}, {"cat": "A"}, {"cat": "B"}, {"cat": "B"}],
        ids=["1", "2", "3", "4"],
        **options,
    )


def texts(documents) -> list[str]:
    return [doc.page_content for doc in documents]


# ---------------------------------------------------------------------------- worked examples


def test_a_search_gives_documents_and_cosines_nearest_first():
    # query (1, .1): with (.9, .1) the cosine is .91 / (sqrt(1.01) sqrt(.82)) = .999940, with (1, 0) .995037.
    found = filled().similarity_search_with_score("query", k=2)
    assert texts(doc for doc, _ in found) == ["delta", "alpha"]
    assert [score for _, score in found] == pytest.approx(
        [0.91 / math.sqrt(1.01 * 0.82), 1 / math.sqrt(1.01)]
    )
    assert found[0][0] == Document("delta", metadata={"cat": "B"}, id="4")


def test_k_is_four_by_default_zero_gives_nothing_none_gives_all_and_too_many_give_what_there_is():
    store = filled()
    store.add_texts(["opposite"], ids=["5"])
    assert len(store.similarity_search("query")) == 4
    assert store.similarity_search("query", k=0) == []
    assert len(store.similarity_search("query", k=None)) == 5
    assert len(store.similarity_search("query", k=99)) == 5


@pytest.mark.parametrize("k", [-1, 1.9, math.nan, True])
def test_a_k_that_is_no_number_of_documents_raises(k):
    with pytest.raises(ValueError, match="k must be a whole number"):
        filled().similarity_search("query", k=k)
    with pytest.raises(ValueError, match="k must be a whole number"):
        filled().max_marginal_relevance_search("query", k=k)


def test_a_filter_is_a_dict_or_a_callable_over_documents_and_comes_before_the_cut():
    store = filled()
    for wanted in ({"cat": "A"}, {"cat": ["A", "C"]}, lambda doc: doc.metadata["cat"] == "A"):
        assert texts(store.similarity_search("query", k=1, filter=wanted)) == ["alpha"]
        assert texts(store.max_marginal_relevance_search("query", k=2, fetch_k=2, filter=wanted)) == [
            "alpha",
            "beta",
        ]
    assert texts(store.similarity_search("query", filter=lambda doc: doc.id == "3")) == ["gamma"]
    assert store.similarity_search("query", filter=lambda doc: False) == []


def test_a_filter_may_name_a_key_that_is_no_column():
    store = RagkitVectorStore(Table(WORDS))
    store.add_texts(["alpha", "beta"], [{"text": "x", "doc_id": 1}, {"text": "y", "doc_id": 2}])
    assert texts(store.similarity_search("query", filter={"text": "y"})) == ["beta"]
    assert texts(store.similarity_search("query", filter={"doc_id": [1, 3]})) == ["alpha"]


def test_a_filter_that_raises_names_the_document():
    with pytest.raises(KeyError) as caught:
        filled().similarity_search("query", filter=lambda doc: doc.metadata["year"] > 2000)
    assert "raised by filter for document '1'" in caught.value.__notes__


@pytest.mark.parametrize("wanted", [{"cat": {"$in": ["A"]}}, {"$or": [{"cat": "A"}]}])
def test_operators_of_other_stores_raise_instead_of_matching_nothing(wanted):
    with pytest.raises(ValueError, match="filter knows no operators such as '\\$"):
        filled().similarity_search("query", filter=wanted)


def test_a_filter_of_another_kind_or_over_an_unknown_key_raises():
    with pytest.raises(TypeError, match="filter must be a dict"):
        filled().similarity_search("query", filter="cat == 'A'")
    with pytest.raises(KeyError, match="'catt'"):
        filled().similarity_search("query", filter={"catt": "A"})
    assert RagkitVectorStore(Table(WORDS)).similarity_search("query", filter={"catt": "A"}) == []


def test_a_filter_cannot_change_what_is_stored():
    store = filled()
    store.similarity_search("query", filter=lambda doc: doc.metadata.update(cat="C") or True)
    assert store.get_by_ids(["1"])[0].metadata == {"cat": "A"}


def test_metadata_comes_back_exactly_and_shares_nothing():
    given_ = [
        {"id": 1, "tags": ["a"], "none": None},
        {"score": 0.5, 3: "three", "text": "t", "doc_id": 9},
        {},
    ]
    before = copy.deepcopy(given_)
    store = RagkitVectorStore(Table(WORDS))
    store.add_texts(["alpha", "beta", "gamma"], given_)
    given_[0]["tags"].append("b")
    found = store.get_by_ids(["0", "1", "2"])
    assert [doc.metadata for doc in found] == before
    assert type(found[0].metadata["id"]) is int
    found[0].metadata["tags"].append("c")
    assert store.get_by_ids(["0"])[0].metadata == before[0]


def test_one_metadata_dict_serves_all_texts_as_copies():
    one = {"src": ["s"]}
    store = RagkitVectorStore.from_texts(["alpha", "beta"], Table(WORDS), one)
    first, second = store.get_by_ids(["0", "1"])
    assert first.metadata == second.metadata == {"src": ["s"]}
    assert first.metadata["src"] is not second.metadata["src"] and first.metadata["src"] is not one["src"]


def test_metadata_keys_are_columns_of_the_store_underneath():
    store = filled().store
    assert store.docs["cat"].tolist() == ["A", "A", "B", "B"]
    assert store.search("query", where={"cat": "A"})["doc_id"].tolist() == ["1", "2"]


def test_the_same_id_again_replaces_the_document_in_its_place():
    store = filled()
    assert store.add_documents([Document("opposite", id="1"), Document("other")]) == ["1", "0"]
    assert len(store) == 5
    assert store.get_by_ids(["1"]) == [Document("opposite", id="1")]
    assert store.store.ids == ["1", "2", "3", "4", "0"]


def test_numbers_given_to_documents_are_not_used_twice():
    store = RagkitVectorStore(Table(WORDS))
    assert store.add_texts(["alpha", "beta", "gamma"], ids=[None, "1", None]) == ["0", "1", "2"]
    store.delete(["2"])
    assert store.add_texts(["delta"]) == ["3"]


def test_get_by_ids_follows_the_order_asked_and_passes_over_what_is_not_there():
    assert [doc.id for doc in filled().get_by_ids(["3", "x", "1", "3"])] == ["3", "1"]


def test_embeddings_may_be_given_with_the_texts():
    store = RagkitVectorStore(Table(WORDS))
    assert store.add_embeddings([("east", [1.0, 0.0]), ("north", [0.0, 1.0])], [{"n": 1}, {"n": 2}]) == [
        "0",
        "1",
    ]
    assert texts(store.similarity_search_by_vector([0.1, 1.0], k=1)) == ["north"]
    assert texts(store.similarity_search("query", k=1)) == ["east"]


def test_delete_takes_ids_or_a_filter_or_everything_when_that_is_asked_for(caplog):
    store = filled()
    with caplog.at_level(logging.WARNING):
        assert store.delete(["1", "x", "y"]) is True
    assert "2 ids were not in the store: 'x', 'y'" in caplog.text
    assert store.store.ids == ["2", "3", "4"]
    assert store.delete(filter={"cat": "B"}) is True
    assert store.store.ids == ["2"]
    assert store.delete(delete_all=True) is True
    assert len(store) == 0
    assert store.delete([]) is True


@pytest.mark.parametrize("call", [{}, {"ids": None}, {"ids": ["1"], "delete_all": True}, {"filter": {}}])
def test_delete_without_a_clear_wish_raises_and_deletes_nothing(call):
    store = filled()
    with pytest.raises(ValueError, match="delete_all=True"):
        store.delete(**call)
    assert len(store) == 4


def test_lengths_that_differ_are_all_named_and_nothing_is_added():
    store = filled()
    with pytest.raises(ValueError, match="3 texts, 2 metadatas, 1 ids"):
        store.add_texts(["alpha", "beta", "gamma"], [{}, {}], ids=["a"])
    with pytest.raises(ValueError, match="2 texts, 0 metadatas, no ids"):
        store.add_texts(["alpha", "beta"], [])
    with pytest.raises(ValueError, match="2 texts, one for all metadatas, 1 ids"):
        store.add_texts(["alpha", "beta"], ids=["a"])
    assert len(store) == 4


@pytest.mark.parametrize(
    ("bad", "error", "said"),
    [
        ({"texts": "alpha"}, TypeError, "list of str"),
        ({"texts": ["alpha", None]}, ValueError, "without text"),
        ({"texts": ["alpha", 12]}, TypeError, "text must be a string"),
        ({"texts": ["alpha"], "metadatas": ["A"]}, TypeError, "metadatas must hold dicts"),
        ({"texts": ["alpha", "beta"], "ids": ["a", "a"]}, ValueError, "repeated"),
        ({"texts": ["alpha"], "ids": [""]}, ValueError, "empty string"),
        ({"texts": ["alpha"], "overwrite": True}, TypeError, "does not know 'overwrite'"),
    ],
)
def test_texts_that_cannot_be_added_say_so_and_nothing_is_added(bad, error, said):
    store = filled()
    with pytest.raises(error, match=said):
        store.add_texts(**bad)
    with pytest.raises(error, match=said):
        asyncio.run(store.aadd_texts(**bad))
    assert len(store) == 4


def test_a_document_without_a_text_is_refused():
    empty = Document.model_construct(page_content=None, metadata={}, id="7")
    with pytest.raises(ValueError, match="without text, the first '7'"):
        filled().add_documents([empty])


def test_embeddings_of_another_dimension_or_with_nan_are_refused_and_named():
    store = filled()
    with pytest.raises(ValueError, match="must have 2 numbers"):
        store.add_embeddings([("x", [1.0, 2.0, 3.0])])
    with pytest.raises(ValueError, match="'bad'"):
        store.add_embeddings([("x", [1.0, math.nan])], ids=["bad"])
    with pytest.raises(ValueError, match="must have 2 numbers"):
        store.similarity_search_by_vector([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match=r"NaN|nan"):
        store.max_marginal_relevance_search_by_vector([1.0, math.nan])
    with pytest.raises(ValueError, match="pairs of a text and its vector"):
        store.add_embeddings([("x", [1.0], 3)])
    assert len(store) == 4


@pytest.mark.parametrize("metric", ["cosine", "dot", "euclidean"])
def test_relevance_lies_in_0_1_grows_with_the_similarity_and_obeys_the_threshold(metric):
    words = WORDS | {f"far{n}": [n * 300.0, -n] for n in range(-3, 4)}
    store = RagkitVectorStore.from_texts(list(words), Table(words), metric=metric)
    found = store.similarity_search_with_relevance_scores("query", k=None)
    relevances = [relevance for _, relevance in found]
    assert all(0 <= r <= 1 for r in relevances)
    assert np.diff(relevances).max() <= 1e-12  # vectors on one line tie, up to the last bit
    assert texts(doc for doc, _ in found) == texts(store.similarity_search("query", k=None))
    half = store.similarity_search_with_relevance_scores("query", k=None, score_threshold=0.5)
    assert half == [pair for pair in found if pair[1] >= 0.5]


def test_relevance_is_as_documented_for_each_metric():
    # cosine c -> (1 + c) / 2: 1, .5 and 0; dot s -> 1 / (1 + e^-s); Euclidean 1 / (1 + distance) as it is.
    words = {"q": [1, 0], "same": [1, 0], "across": [0, 1], "opposite": [-1, 0]}
    want = {
        "cosine": [1.0, 0.5, 0.0],
        "dot": [1 / (1 + math.exp(-1)), 0.5, 1 / (1 + math.exp(1))],
        "euclidean": [1.0, 1 / (1 + math.sqrt(2)), 1 / 3],
    }
    for metric, values in want.items():
        store = RagkitVectorStore.from_texts(["same", "across", "opposite"], Table(words), metric=metric)
        assert [r for _, r in store.similarity_search_with_relevance_scores("q")] == pytest.approx(values)


def test_a_relevance_function_of_ones_own_is_used_and_a_threshold_outside_0_1_raises():
    store = filled(relevance_score_fn=lambda similarity: 0.25)
    assert {r for _, r in store.similarity_search_with_relevance_scores("query")} == {0.25}
    with pytest.raises(ValueError, match="score_threshold must be in"):
        store.similarity_search_with_relevance_scores("query", score_threshold=1.5)


def test_mmr_picks_for_relevance_and_novelty():
    # The first pick is delta. At lambda 0 the next is the one least like it, gamma (cosine .110).
    store = filled()
    assert texts(store.max_marginal_relevance_search("query", k=3)) == ["delta", "alpha", "beta"]
    assert texts(store.max_marginal_relevance_search("query", k=3, lambda_mult=0)) == [
        "delta",
        "gamma",
        "beta",
    ]
    assert texts(store.max_marginal_relevance_search_by_vector([1, 0.1], k=3, lambda_mult=1)) == texts(
        store.similarity_search("query", k=3)
    )


def test_fetch_k_left_out_never_hides_documents_and_given_below_k_raises():
    many = {f"d{n:02d}": [math.cos(n / 30), math.sin(n / 30)] for n in range(40)}
    store = RagkitVectorStore.from_texts(list(many), Table(many))
    assert len(store.max_marginal_relevance_search("d00", k=30)) == 30
    assert len(store.max_marginal_relevance_search("d00", k=None, fetch_k=None)) == 40
    with pytest.raises(ValueError, match="fetch_k must be at least k; got fetch_k=20, k=30"):
        store.max_marginal_relevance_search("d00", k=30, fetch_k=20)
    with pytest.raises(ValueError, match="fetch_k=2, k=4"):
        store.max_marginal_relevance_search("d00", fetch_k=2)


@pytest.mark.parametrize("lambda_mult", [-0.1, 1.1, math.nan])
def test_lambda_mult_outside_0_1_raises(lambda_mult):
    with pytest.raises(ValueError, match="lambda_mult must be in"):
        filled().max_marginal_relevance_search("query", lambda_mult=lambda_mult)


def test_an_unknown_keyword_raises_and_the_nearest_is_proposed():
    store = filled()
    with pytest.raises(TypeError, match=r"'lambda_mul'.*Did you mean 'lambda_mult'"):
        store.max_marginal_relevance_search("query", lambda_mul=0.1)
    with pytest.raises(TypeError, match="'fetch_k'"):
        store.similarity_search("query", fetch_k=3)
    with pytest.raises(TypeError, match="'where'"):
        asyncio.run(store.asimilarity_search("query", where={}))
    with pytest.raises(TypeError, match="'metrics'"):
        RagkitVectorStore.from_texts(["alpha"], Table(WORDS), metrics="dot")


def test_the_embeddings_are_the_ones_given_or_the_stores_own():
    table = Table(WORDS)
    assert RagkitVectorStore(table).embeddings is table
    store = RagkitVectorStore.from_texts(["red fox", "red wine", "blue whale"])  # LSAEmbedder
    assert isinstance(store.embeddings, Embeddings)
    assert store.embeddings.embed_query("wine") == pytest.approx(store.store.query_vectors("wine")[0])
    assert texts(store.similarity_search("wine", k=1)) == ["red wine"]


def test_a_store_that_fits_its_embedder_finds_nothing_for_a_query_it_does_not_know():
    store = RagkitVectorStore.from_texts(["red fox", "blue whale"], rk.LSAEmbedder(2))
    assert store.similarity_search("zzz") == store.max_marginal_relevance_search("zzz") == []


def test_a_query_that_is_no_text_raises():
    for search in (filled().similarity_search, filled().max_marginal_relevance_search):
        with pytest.raises(TypeError, match="query must be a str"):
            search(None)


def test_an_existing_store_of_ragkit_is_shared_with_its_columns_as_metadata():
    docs = [{"doc_id": "a", "text": "red fox", "year": 2020}, {"doc_id": "b", "text": "blue whale"}]
    store = rk.VectorStore(docs)
    wrapped = RagkitVectorStore(store=store)
    assert RagkitVectorStore(store).store is wrapped.store is store
    assert wrapped.similarity_search("whale", k=1) == [Document("blue whale", id="b")]
    assert wrapped.get_by_ids(["a"]) == [Document("red fox", metadata={"year": 2020}, id="a")]
    wrapped.add_texts(["green wine"], ids=["c"])
    assert "c" in store
    with pytest.raises(ValueError, match="has metric 'cosine'"):
        RagkitVectorStore(store=store, metric="dot")
    with pytest.raises(TypeError, match="store must be a ragkit VectorStore"):
        RagkitVectorStore(store={})
    with pytest.raises(TypeError, match="embedding must be LangChain Embeddings"):
        RagkitVectorStore("text-embedding-3-small")


def test_chunks_keep_their_document_in_the_metadata():
    chunks = rk.chunk({"a": "One is small. Two is big."}, size=15, overlap=0)
    wrapped = RagkitVectorStore(store=rk.VectorStore(chunks))
    [found] = wrapped.similarity_search("big", k=1)
    assert (found.id, found.metadata["doc_id"], found.metadata["start"]) == ("a#1", "a", 14)
    assert wrapped.add_texts(["Three is bigger."], {"doc_id": "a"}, ids=["a#2"]) == ["a#2"]
    assert wrapped.store.get("a#2")["doc_id"] == "a"


def test_a_saved_store_finds_what_the_first_one_found(tmp_path):
    store = filled(metric="dot")
    store.save_local(tmp_path / "store")
    assert not [path for path in (tmp_path / "store").iterdir() if path.suffix in (".pkl", ".pickle")]
    loaded = RagkitVectorStore.load_local(tmp_path / "store", Table(WORDS))
    assert loaded.similarity_search_with_score("query") == store.similarity_search_with_score("query")
    assert loaded.get_by_ids(["1"]) == store.get_by_ids(["1"])
    assert loaded.add_texts(["other"]) == ["0"]
    with pytest.raises(FileNotFoundError, match="no saved VectorStore"):
        RagkitVectorStore.load_local(tmp_path, Table(WORDS))


def test_a_saved_store_brings_its_own_embedder_back(tmp_path):
    store = RagkitVectorStore.from_texts(["red fox", "red wine", "blue whale"])
    store.save_local(tmp_path / "store")
    loaded = RagkitVectorStore.load_local(tmp_path / "store")
    assert loaded.similarity_search("wine") == store.similarity_search("wine")


def test_metadata_that_json_cannot_hold_is_refused_when_saving(tmp_path):
    store = RagkitVectorStore.from_texts(["alpha"], Table(WORDS), {"what": object()})
    with pytest.raises(ValueError, match="cannot be saved as JSON"):
        store.save_local(tmp_path / "store")


# ---------------------------------------------------------------------------- embeddings


def test_a_ragkit_embedder_serves_as_embeddings_and_embeddings_as_a_ragkit_embedder():
    lsa = rk.LSAEmbedder(2).fit(["red fox", "red wine", "blue whale"])
    embeddings = EmbeddingsAdapter(lsa)
    assert embeddings.embed_documents(["fox", "whale"]) == lsa(["fox", "whale"]).astype(float).tolist()
    assert (
        InMemoryVectorStore.from_texts(["red fox", "blue whale"], embeddings)
        .similarity_search("fox", k=1)[0]
        .page_content
        == "red fox"
    )
    adapter = EmbeddingsAdapter(Table(WORDS, query={"alpha": [0, 1]}))
    store = rk.VectorStore(["alpha", "gamma"], embed=adapter)
    assert store.search("alpha", top_k=1)["doc_id"].tolist() == ["1"]  # as a query, alpha points to gamma


def test_an_adapter_passes_the_asynchronous_forms_on_and_shows_no_secret():
    table = Table(WORDS)
    adapter = EmbeddingsAdapter(table)
    assert asyncio.run(adapter.aembed_query("alpha")) == [1, 0]
    assert asyncio.run(adapter.aembed_documents(["beta"])) == [[0.8, 0.6]]
    assert table.calls == ["aembed_query", "aembed_documents"]
    assert repr(adapter) == "EmbeddingsAdapter(Table)"
    ragkits = EmbeddingsAdapter(lambda texts: np.ones((len(texts), 2)))
    assert asyncio.run(ragkits.aembed_query("x")) == [1.0, 1.0]
    assert asyncio.run(ragkits.aembed_documents([])) == []


def test_an_adapter_embeds_queries_as_the_embedder_wants_them():
    class Prefixed:
        """Documents and queries differ, as models with prefixes want it."""

        def __init__(self, first=1.0):
            self.first = first

        @property
        def queries(self):
            return Prefixed(2.0)

        def __call__(self, texts):
            return [[self.first, 0.0] for _ in texts]

    adapter = EmbeddingsAdapter(Prefixed())
    assert (adapter.embed_documents(["x"]), adapter.embed_query("x")) == ([[1.0, 0.0]], [2.0, 0.0])
    own = EmbeddingsAdapter(Prefixed(), query_embed=Prefixed(3.0))
    assert own.embed_query("x") == [3.0, 0.0]


def test_an_adapter_refuses_what_it_cannot_use():
    with pytest.raises(TypeError, match="embed must be LangChain Embeddings or a callable"):
        EmbeddingsAdapter("model")
    with pytest.raises(ValueError, match="query_embed is for ragkit embedders"):
        EmbeddingsAdapter(Table(WORDS), query_embed=len)
    with pytest.raises(ValueError, match="must be fitted"):
        EmbeddingsAdapter(rk.LSAEmbedder()).embed_query("fox")
    with pytest.raises(ValueError, match="one vector per text; got 1 for 2"):
        EmbeddingsAdapter(lambda texts: [[1.0]]).embed_documents(["a", "b"])


# ---------------------------------------------------------------------------- laws

VECTORS = st.lists(st.lists(st.integers(-5, 5), min_size=3, max_size=3), min_size=1, max_size=8)


@given(VECTORS, st.integers(0, 9))
def test_every_form_of_a_search_gives_the_same(vectors, k):
    words = {f"t{n}": [*v, 1] for n, v in enumerate(vectors)} | {"q": [1, 2, 3, 1]}
    store = RagkitVectorStore.from_texts([w for w in words if w != "q"], Table(words))
    want = store.similarity_search_with_score("q", k)
    docs = [doc for doc, _ in want]
    assert store.similarity_search_with_score_by_vector(words["q"], k) == want
    assert store.similarity_search("q", k=k) == store.similarity_search_by_vector(words["q"], k) == docs
    assert store.search("q", "similarity", k=k) == docs
    assert [doc for doc, _ in store.similarity_search_with_relevance_scores("q", k)] == docs
    assert store.as_retriever(k=k).invoke("q") == docs
    marginal = store.max_marginal_relevance_search("q", k=k)
    assert store.max_marginal_relevance_search_by_vector(words["q"], k=k) == marginal
    assert store.as_retriever(search_type="mmr", k=k).invoke("q") == marginal

    async def forms():
        assert await store.asimilarity_search_with_score("q", k) == want
        assert await store.asimilarity_search("q", k=k) == docs
        assert await store.asimilarity_search_by_vector(words["q"], k) == docs
        assert [doc for doc, _ in await store.asimilarity_search_with_relevance_scores("q", k)] == docs
        assert await store.amax_marginal_relevance_search("q", k=k) == marginal
        assert await store.amax_marginal_relevance_search_by_vector(words["q"], k=k) == marginal
        assert await store.asearch("q", "mmr", k=k) == marginal

    asyncio.run(forms())


@given(VECTORS)
def test_a_store_filled_asynchronously_equals_one_filled_at_once(vectors):
    words = {f"t{n}": [*v, 1] for n, v in enumerate(vectors)} | {"q": [1, 2, 3, 1]}
    names = [w for w in words if w != "q"]
    documents = [Document(name, metadata={"n": n}, id=f"i{n}") for n, name in enumerate(names)]
    want = RagkitVectorStore.from_documents(documents, Table(words)).similarity_search_with_score("q", None)

    async def fill():
        one = await RagkitVectorStore.afrom_documents(documents, Table(words))
        other = RagkitVectorStore(Table(words))
        await other.aadd_documents(documents[:1])
        await other.aadd_texts(
            names[1:], [d.metadata for d in documents[1:]], ids=[d.id for d in documents[1:]]
        )
        third = RagkitVectorStore(Table(words))
        await third.as_retriever().aadd_documents(documents)
        found = [await store.asimilarity_search_with_score("q", None) for store in (one, other, third)]
        assert await third.adelete(["i0"]) is True
        assert await third.aget_by_ids(["i0"]) == []
        return found

    assert asyncio.run(fill()) == [want] * 3


# ---------------------------------------------------------------------------- parity


@given(VECTORS, st.integers(1, 8))
def test_scores_equal_those_of_langchains_store_in_memory(vectors, k):
    words = {f"t{n}": [*v, 1] for n, v in enumerate(vectors)} | {"q": [1, 2, 3, 1]}
    names = [w for w in words if w != "q"]
    ours = RagkitVectorStore.from_texts(names, Table(words))
    theirs = InMemoryVectorStore.from_texts(names, Table(words))
    mine = [score for _, score in ours.similarity_search_with_score("q", k)]
    assert mine == pytest.approx([score for _, score in theirs.similarity_search_with_score("q", k)])


@pytest.mark.parametrize("seed", range(20))
def test_mmr_picks_equal_those_of_langchains_store_in_memory(seed):
    rng = np.random.default_rng(seed)
    words = {f"t{n}": rng.normal(size=5).tolist() for n in range(25)} | {"q": rng.normal(size=5).tolist()}
    names = [w for w in words if w != "q"]
    ours = RagkitVectorStore.from_texts(names, Table(words))
    theirs = InMemoryVectorStore.from_texts(names, Table(words))
    for lambda_mult in (0.0, 0.3, 0.5, 0.9, 1.0):
        options = {"k": 6, "fetch_k": 15, "lambda_mult": lambda_mult}
        mine = texts(ours.max_marginal_relevance_search("q", **options))
        assert mine == texts(theirs.max_marginal_relevance_search("q", **options))


FILTERS = {
    "none": None,
    "catA": lambda doc: doc.metadata.get("cat") == "A",
    "reject": lambda doc: False,
    "hasId": lambda doc: doc.id in ("1", "2", "4"),  # here every document has an id
}
# Defects that are not repeated: fractions of k, NaN, prefixes, and pools smaller than k without a word.
# The documents of the inner product's case are not recorded.
LEFT_OUT = {
    "k_fraction",
    "query_longer_than_docs_nan",
    "query_shorter_than_docs_silently_truncated",
    "store_mmr_fetchk_2_limits_k",
    "store_mmr_fetchk_0_empty",
    "store_mmr_fetchk_1",
    "custom_similarity_inner_product",
}


def recorded(method: str) -> list:
    cases = [c for c in golden("memory_vector_store") if c["input"]["method"] == method]
    return [pytest.param(c, id=c["name"]) for c in cases if c["name"] not in LEFT_OUT and "error" not in c]


def of_case(case) -> RagkitVectorStore:
    """The store of a recorded case: vectors given with the documents, or a table of embeddings."""
    said = case["input"]
    if "docs" in said:
        store = RagkitVectorStore(Table({}))
        names = [d.get("id", f"n{place}") for place, d in enumerate(said["docs"])]
        metadatas = [d.get("metadata", {}) for d in said["docs"]]
        store.add_embeddings([(d["pageContent"], d["vector"]) for d in said["docs"]], metadatas, ids=names)
        return store
    return RagkitVectorStore.from_texts(said["texts"], Table(said["embeddings"]), said["metadatas"])


@pytest.mark.parametrize("case", recorded("similaritySearchVectorWithScore"))
def test_searches_by_vector_equal_the_recorded_ones(case):
    said = case["input"]
    found = of_case(case).similarity_search_with_score_by_vector(
        said["query"], said["k"], FILTERS[said["filter"]]
    )
    scores = [0.0 if score == "NaN" else score for _, score in case["output"]]  # a zero vector: 0, not NaN
    assert [score for _, score in found] == pytest.approx(sorted(scores, reverse=True), abs=1e-12)
    if len(set(scores)) == len(scores):
        want = [(doc["pageContent"], doc["metadata"]) for doc, _ in case["output"]]
        assert [(doc.page_content, doc.metadata) for doc, _ in found] == want


@pytest.mark.parametrize("case", [*recorded("similaritySearch"), *recorded("similaritySearchWithScore")])
def test_searches_by_text_equal_the_recorded_ones(case):
    query, *k = case["input"]["args"]
    wanted = FILTERS[case["input"].get("filter", "none")]
    found = of_case(case).similarity_search_with_score(query, *k, filter=wanted)
    pairs = [entry if isinstance(entry, list) else [entry, None] for entry in case["output"]]
    assert [(d.page_content, d.metadata) for d, _ in found] == [
        (d["pageContent"], d["metadata"]) for d, _ in pairs
    ]
    for (_, score), (_, want) in zip(found, pairs):
        assert want is None or score == pytest.approx(want, rel=1e-12)


@pytest.mark.parametrize("case", recorded("maxMarginalRelevanceSearch"))
def test_mmr_equals_the_recorded_one(case):
    query, options = case["input"]["args"]
    renamed = {{"lambda": "lambda_mult", "fetchK": "fetch_k"}.get(k, k): v for k, v in options.items()}
    search = of_case(case).max_marginal_relevance_search
    if query == "zero":  # all similarities are 0, so the first pick is the tie rule's
        with pytest.warns(rk.RetrievalWarning, match="all zeros"):
            assert len(search(query, **renamed)) == len(case["output"])
        return
    wanted = FILTERS[case["input"].get("filter", "none")]
    assert texts(search(query, filter=wanted, **renamed)) == case["output"]


def test_a_deterministic_embedding_is_enough():
    store = RagkitVectorStore.from_texts(["a", "b"], DeterministicFakeEmbedding(size=4))
    assert texts(store.similarity_search("a", k=1)) == ["a"]
    assert json.dumps(store.get_by_ids(["0"])[0].metadata) == "{}"


@pytest.mark.filterwarnings("ignore::langchain_core._api.LangChainBetaWarning")
def test_langchains_indexing_keeps_the_store_as_its_documents_are():
    names = {f"t{n}": [n, 1] for n in range(5)}
    store = RagkitVectorStore(Table(names))
    manager = InMemoryRecordManager(namespace="n")
    manager.create_schema()
    documents = [Document(name, metadata={"source": name}) for name in names]
    options = {"cleanup": "full", "source_id_key": "source", "key_encoder": "sha256"}
    assert index(documents, manager, store, **options)["num_added"] == 5
    assert index(documents, manager, store, **options)["num_skipped"] == 5
    done = index(documents[:2], manager, store, **options)
    assert (done["num_deleted"], len(store)) == (3, 2)
    store.delete(delete_all=True)  # the record manager does not know
    assert index(documents[:1], manager, store, **options)["num_deleted"] == 1


def test_texts_may_be_embedded_in_batches():
    table = Table(WORDS)
    store = RagkitVectorStore(table)
    store.add_texts(["alpha", "beta", "gamma"], batch_size=2)
    asyncio.run(store.aadd_texts(["alpha", "beta", "gamma"], batch_size=2))
    assert table.calls == ["embed_documents"] * 2 + ["aembed_documents"] * 2
    assert store.store.vectors(["2", "5"]).tolist() == [[0, 1], [0, 1]]
    with pytest.raises(ValueError, match="batch_size must be"):
        store.add_texts(["alpha"], batch_size=0)


def test_threads_may_add_and_search_at_once():
    store = RagkitVectorStore.from_texts(["word0 fox"])  # an LSAEmbedder, fitted anew after every change

    def add_and_find(n):
        [unit] = store.add_texts([f"word{n} fox"], {"n": n})
        found = store.similarity_search(f"word{n}", k=1)
        return unit, found[0].metadata["n"]

    with ThreadPoolExecutor(8) as pool:
        done = list(pool.map(add_and_find, range(1, 25)))
    assert [n for _, n in done] == list(range(1, 25))
    assert sorted(int(unit) for unit, _ in done) == list(range(1, 25))
    assert len(store) == 25


# ---------------------------------------------------------------------------- ready vectors and free text


def with_ready_vectors() -> RagkitVectorStore:
    docs = {"fox": "the red fox sleeps in the barn", "whale": "the blue whale sings in the sea"}
    known = rk.TableEmbedder(["animals"], [[1.0, 0.5]])
    store = rk.VectorStore(docs, vectors=[[1, 0], [0, 1]], query_embed=known, fallback=rk.LSAEmbedder())
    return RagkitVectorStore(store)


def test_a_text_without_a_ready_vector_is_ranked_by_the_fallback_of_the_ragkit_store():
    store = with_ready_vectors()
    assert texts(store.similarity_search("animals", k=1)) == ["the red fox sleeps in the barn"]
    for search in (store.similarity_search, store.max_marginal_relevance_search, store.as_retriever().invoke):
        with pytest.warns(rk.RetrievalWarning, match="ranked by LSA of these documents"):
            assert texts(search("who sings in the sea", k=1)) == ["the blue whale sings in the sea"]
    with pytest.warns(rk.RetrievalWarning, match="have no hits"):
        assert store.similarity_search("zzz") == []
    store.delete(["fox", "whale"])
    assert store.similarity_search("animals") == store.max_marginal_relevance_search("animals") == []
