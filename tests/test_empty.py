"""Every function accepts frames without rows and gives back the right columns and dtypes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import ragkit as rk
from ragkit import plot
from ragkit.frames import empty_run

NO_QRELS = pd.DataFrame({"query_id": [], "doc_id": [], "relevance": []})
NO_QUERIES = pd.DataFrame({"query_id": [], "text": []})
NO_DOCS = pd.DataFrame({"doc_id": [], "text": []})
DOCS = {"a": "red fox", "b": "blue whale"}


def full_and_empty(search):
    """Run a search on something and on nothing."""
    return search({"q": "red whale"}), search(NO_QUERIES)


INDEX, STORE = rk.KeywordIndex(DOCS), rk.VectorStore(DOCS)
HYBRID = rk.HybridSearch(INDEX, STORE)

PAIRS = {
    "KeywordIndex.search": full_and_empty(lambda q: INDEX.search(q)),
    "VectorStore.search": full_and_empty(lambda q: STORE.search(q)),
    "HybridSearch.search": full_and_empty(lambda q: HYBRID.search(q)),
    "HybridSearch.search with lambda_": full_and_empty(lambda q: HYBRID.search(q, lambda_=0.5, top_k=1)),
    "fuse": full_and_empty(lambda q: rk.fuse({"a": INDEX.search(q), "b": STORE.search(q)})),
    "mmr": full_and_empty(lambda q: rk.mmr(INDEX.search(q), STORE, top_k=1)),
    "mmr_path": full_and_empty(lambda q: rk.mmr_path(STORE.search(q), STORE, top_k=1)),
    "best_per_doc": full_and_empty(lambda q: rk.best_per_doc(INDEX.search(q))),
    "rank_by_score": full_and_empty(lambda q: rk.rank_by_score(INDEX.search(q))),
    "as_run": full_and_empty(lambda q: rk.as_run(INDEX.search(q))),
    "chunk": (rk.chunk(DOCS), rk.chunk(NO_DOCS)),
    "as_docs": (rk.as_docs(DOCS), rk.as_docs(NO_DOCS)),
    "as_qrels": (rk.as_qrels({"q": {"a": 1}}), rk.as_qrels(NO_QRELS)),
}


@pytest.mark.parametrize("name", PAIRS)
def test_nothing_in_gives_the_columns_and_dtypes_of_something(name):
    something, nothing = PAIRS[name]
    assert len(something) and not len(nothing)
    assert nothing.columns.tolist() == something.columns.tolist()
    for column in something.columns:
        have, want = nothing[column].dtype, something[column].dtype
        text = {"str", "object", "string"}
        assert have == want or {str(have), str(want)} <= text, f"{column}: {have} instead of {want}"


def test_evaluating_nothing_scores_zero_for_every_judged_query():
    scores = rk.evaluate(
        empty_run(), {"q": {"a": 1}}, metrics=["ndcg@10", "recall", "rr", "ap", "p@5", "hit@1"]
    )
    assert scores["value"].tolist() == [0.0] * 6
    assert scores["value"].dtype == np.float64


def test_evaluating_without_judgements_gives_no_rows():
    with pytest.warns(rk.RetrievalWarning, match="no judgements"):
        scores = rk.evaluate(rk.as_run({"q": ["a"]}), NO_QRELS, metrics=["ndcg@10"])
    assert scores.empty and {"query_id", "metric", "value"} <= set(scores.columns)


def test_comparing_empty_runs_gives_zeros():
    table = rk.compare({"none": empty_run(), "one": rk.as_run({"q": ["a"]})}, {"q": {"a": 1}}, metrics=["rr"])
    assert dict(zip(table["system"], table["mean"])) == {"none": 0.0, "one": 1.0}


def test_empty_stores_answer_with_empty_runs():
    for store in (rk.KeywordIndex(), rk.VectorStore(), rk.HybridSearch(rk.KeywordIndex(), rk.VectorStore())):
        assert len(store) == 0
        assert store.search("anything").empty
        assert store.search("anything").columns.tolist()[:2] == ["query_id", "doc_id"]


def test_plots_of_nothing_are_drawn_and_say_so():
    run = rk.fuse({"a": empty_run(), "b": empty_run()})
    for axes in (plot.bump({"a": empty_run()}), plot.contributions(run)):
        assert axes.figure is not None
    assert plot.tradeoff(rk.mmr_path(empty_run(), STORE, top_k=1)).figure is not None
