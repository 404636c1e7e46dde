"""MMR, retrievers, explanations: by hand, as laws, against the recorded MemoryVectorStore."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import ragkit as rk
from tests.conftest import golden

TEXTS = {"a": "red fox in the snow", "b": "quick red fox", "c": "blue whale in the sea", "d": "whale and sea"}


def store_of(vectors, **options):
    return rk.VectorStore(dict.fromkeys(vectors, ""), vectors=vectors, **options)


# ---------------------------------------------------------------- worked examples


def test_mmr_by_hand():
    # Cosines with the query (1, 0): a 1, b 0.8, c 0. After a, at lambda 0.5: b 0.4 - 0.4 = 0, c 0 - 0 = 0.
    store = store_of({"a": [1, 0], "b": [0.8, 0.6], "c": [0, 1]})
    run = store.mmr(vectors=[1, 0], top_k=2, lambda_=0.6)
    assert run["doc_id"].tolist() == ["a", "b"]
    assert run["score"].tolist() == pytest.approx([0.6, 0.6 * 0.8 - 0.4 * 0.8])
    assert store.mmr(vectors=[1, 0], top_k=2, lambda_=0.4)["doc_id"].tolist() == ["a", "c"]


@pytest.mark.parametrize("metric", ["dot", "euclidean"])
def test_mmr_measures_cosines_whatever_the_metric(metric):
    store = store_of({"a": [1, 0], "b": [0.8, 0.6], "c": [0, 1], "e": [1, 1]}, metric=metric)
    cosine = store_of({"a": [1, 0], "b": [0.8, 0.6], "c": [0, 1], "e": [1, 1]})
    ours, theirs = (s.mmr(vectors=[1, 0.2], top_k=3, lambda_=0.5) for s in (store, cosine))
    assert ours["doc_id"].tolist() == theirs["doc_id"].tolist()
    assert ours["score"].tolist() == pytest.approx(theirs["score"].tolist())


def test_mmr_checks_depths_and_filters_before_it_fetches():
    store = store_of({"a": [1, 0], "b": [0.8, 0.6], "c": [0, 1], "d": [1, 1], "e": [0, 2]})
    with pytest.raises(ValueError, match="fetch_k must be at least top_k"):
        store.mmr(vectors=[1, 0], top_k=5, fetch_k=4)
    run = store.mmr(vectors=[1, 0], top_k=1, fetch_k=2, where=lambda d: d["doc_id"] > "b")
    assert run["doc_id"].tolist() == ["d"]
    assert len(rk.VectorStore().mmr("x")) == 0


def test_retriever_kinds():
    store = rk.VectorStore(TEXTS)
    assert store.retriever(top_k=2)("whale").equals(store.search("whale", top_k=2))
    near = store.retriever(search_type="score_threshold", min_score=0.3, top_k=None)
    assert near(["whale", "fox"]).equals(store.search(["whale", "fox"], top_k=None, min_score=0.3))
    where = {"doc_id": ["a", "b"]}
    diverse = store.retriever(search_type="mmr", top_k=1, lambda_=0.2, fetch_k=2, where=where)
    expected = store.mmr("fox", top_k=1, lambda_=0.2, fetch_k=2, where=where)
    pd.testing.assert_frame_equal(diverse("fox"), expected)
    shown = f"top_k=1, search_type='mmr', lambda_=0.2, fetch_k=2, where={where}"
    assert repr(diverse) == f"Retriever(4 documents, {shown})"
    store.add({"e": "fox fox fox"})
    assert "e" in store.retriever(top_k=None)("fox")["doc_id"].tolist()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"search_type": "similarity_score_threshold"}, "choose one of.*'score_threshold'"),
        ({"alpha": 0.5}, "choose one of.*'lambda_'"),
        ({"lambda": 0.5}, "Did you mean 'lambda_'"),
        ({"lambda_": 0.5}, "does not use"),
        ({"search_type": "mmr", "lambda_": 1.5}, "lambda_ must be in"),
        ({"search_type": "mmr", "top_k": 30}, "fetch_k must be at least top_k"),
        ({"search_type": "score_threshold"}, "belong together"),
        ({"min_score": 0.5}, "belong together"),
        ({"top_k": -1}, "top_k"),
    ],
)
def test_options_that_do_nothing_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        rk.VectorStore(TEXTS).retriever(**options)


def test_explain_by_hand():
    # (3, 4) and (4, 3): dot 24, lengths 5, cosine 0.96 = 0.48 + 0.48
    store = store_of({"a": [4, 3]})
    ledger = store.explain(unit_id="a", vectors=[3, 4]).set_index("part")["value"]
    assert ledger.to_dict() == pytest.approx(
        {"dot": 24, "query_norm": 5, "unit_norm": 5, "cosine": 0.96, "dimension 0": 0.48, "dimension 1": 0.48}
    )
    near = (
        store_of({"a": [4, 3]}, metric="euclidean")
        .explain(unit_id="a", vectors=[1, -1])
        .set_index("part")["value"]
    )
    assert near["distance"] == pytest.approx(5) and near["score"] == pytest.approx(1 / 6)
    assert near[["dimension 0", "dimension 1"]].tolist() == pytest.approx([9, 16])


def test_similarity_shapes_and_values():
    store = store_of({"a": [3, 4], "b": [4, 3], "z": [0, 0]})
    assert store.similarity("a", "b") == pytest.approx(0.96)
    assert store.similarity(["a", "z"], "b") == pytest.approx(np.array([0.96, 0]))
    assert store.similarity(["a", "b"]) == pytest.approx(np.array([[1, 0.96], [0.96, 1]]))
    assert store_of({"a": [3, 4], "b": [3, 3]}, metric="euclidean").similarity("a", "b") == 0.5
    with pytest.raises(ValueError, match="'x'"):
        store.similarity("a", "x")


def test_stats_and_replace_docs():
    store = rk.VectorStore(
        [{"chunk_id": f"a#{n}", "doc_id": "a", "text": ""} for n in range(3)],
        vectors=np.eye(3, dtype=np.float32),
    )
    assert store.stats() | {"memory": 0} == {"documents": 3, "dimension": 3, "metric": "cosine", "memory": 0}
    store.add([{"chunk_id": "a#9", "doc_id": "a", "text": ""}], vectors=[[1, 1, 1]], replace_docs=True)
    assert store.ids == ["a#9"] and store.search(vectors=[1, 1, 1])["score"].tolist() == pytest.approx([1])


# ---------------------------------------------------------------- properties


@pytest.mark.parametrize("metric", ["cosine", "dot"])
def test_explained_parts_sum_to_the_score(metric):
    store = rk.VectorStore(TEXTS, metric=metric)
    for query in ("fox", "red whale", "snow sea fox"):
        scores = store.score_all(query)
        for unit, score in zip(scores["doc_id"], scores["score"]):
            for top in (1, 10):
                ledger = store.explain(query, unit, top=top)
                parts = ledger[ledger["kind"] != "measure"]
                assert parts["value"].sum() == pytest.approx(score, rel=1e-6, abs=1e-7)
                assert len(parts) <= top + 1 and (parts["kind"] == "word").all()
                assert ledger[ledger["part"].isin(["cosine", "score"])]["value"].item() == score


# ---------------------------------------------------------------- parity


@pytest.mark.parametrize(
    "case",
    [c for c in golden("memory_vector_store") if c["input"].get("method") == "maxMarginalRelevanceSearch"],
    ids=lambda case: case["name"],
)
def test_mmr_equals_the_recorded_store(case):
    given = case["input"]
    options = given["args"][1]
    k, fetch_k = options.get("k", 4), options.get("fetchK", 20)
    if fetch_k < k:
        pytest.skip("ragkit refuses a pool smaller than top_k; tested above")
    if not any(given["embeddings"][given["args"][0]]):
        pytest.skip("a zero query has no order; reported above")
    docs = pd.DataFrame({"doc_id": given["texts"], "text": "", "cat": [m["cat"] for m in given["metadatas"]]})
    store = rk.VectorStore(docs, vectors=[given["embeddings"][text] for text in given["texts"]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rk.RetrievalWarning)  # these pools are tiny
        run = store.mmr(
            vectors=given["embeddings"][given["args"][0]],
            top_k=k,
            fetch_k=fetch_k,
            lambda_=options.get("lambda", 0.5),
            where={"cat": "A"} if given.get("filter") == "catA" else None,
        )
    assert run["doc_id"].tolist() == case["output"]
