"""check: what would mislead is listed, and nothing else."""

import pandas as pd
import pytest

import ragkit as rk

QRELS = {"q1": {"a": 2, "b": 0}, "q2": {"a": 1}}


def traps(*args, **kwargs):
    found = rk.check(*args, **kwargs)
    assert list(found.columns) == ["trap", "count", "share", "where", "message"]
    return found.set_index("trap")


def test_a_clean_run_has_no_traps():
    run = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"a": 3.0}}
    found = traps(run, {"q1": {"a": 2, "b": 0}, "q2": {"a": 1, "c": 1}}, metrics="ap")
    assert found.index.tolist() == []


def test_unjudged_documents_in_the_head():
    run = {"q1": ["a", "x", "b"], "q2": ["a", "y"]}
    row = traps(run, QRELS, metrics=[]).loc["unjudged"]
    assert row["count"] == 2 and row["share"] == 2 / 5 and row["where"] == "'x', 'y'"
    assert "unjudged" not in traps(run, QRELS, metrics=[], top_k=1).index


def test_ties_give_the_range_of_the_metric():
    # three tied documents, one relevant: it may come first or last
    found = traps(
        {"q": {"a": 5.0, "x": 5.0, "y": 5.0}}, {"q": {"a": 1, "x": 0, "y": 0}}, metrics=["rr", "recall"]
    )
    assert found.loc["ties", "message"] == (
        "Scores tie; over the orders of tied documents rr lies between 0.3333 and 1."
    )
    same = traps({"q": {"x": 5.0, "y": 5.0}}, {"q": {"a": 1, "x": 0, "y": 0}}, metrics="rr")
    assert "no metric depends" in same.loc["ties", "message"]
    assert "ties" not in traps({"q": ["a", "x"]}, {"q": {"a": 1, "x": 0}}, metrics="rr").index


def test_metrics_that_cannot_move():
    run = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"a": 3.0}}
    found = traps(run, {"q1": {"a": 2, "b": 0}, "q2": {"a": 1}}, metrics=["rr", "recall@100"])
    assert found.loc["shallow", "where"] == "'recall@100'" and "at most 2" in found.loc["shallow", "message"]
    assert found.loc[["still"]]["where"].tolist() == ["rr", "recall@100"]


def test_queries_that_count_for_nothing():
    qrels = {"q1": {"a": 1}, "q2": {"a": 0}, "q3": {"a": 1}}
    found = traps({"q1": ["a"], "q2": ["a"], "q9": ["a"]}, qrels, metrics=[])
    assert found["where"].to_dict() == {"no relevant": "'q2'", "no judgements": "'q9'", "no results": "'q3'"}


def test_repeated_documents_and_texts():
    found = traps({"q1": ["a", "a", "b"]}, docs={"a": "Red  fox", "b": "red fox", "c": "whale"})
    assert found.loc["repeated", "where"] == "'q1'" and found.loc["same text", "where"] == "'a', 'b'"


def test_judged_documents_that_the_collection_lacks():
    found = traps({"q1": ["a"]}, {"q1": {"a": 1, "ghost": 1, "zero": 0}}, docs={"a": "x"}, metrics=[])
    assert found.loc["dangling", "where"] == "'ghost'"


def test_queries_that_chose_the_settings():
    run, qrels = {"q1": ["a"], "q2": ["a"]}, {"q1": {"a": 1}, "q2": {"a": 1}}
    by_id = traps(run, qrels, train={"q2": {"z": 1}}, metrics=[])
    assert by_id.loc["train overlap", "where"] == "'q2'"
    by_text = traps(run, qrels, queries={"q1": "Red Fox ", "q2": "hen"}, train={"t7": "red  fox"}, metrics=[])
    assert by_text.loc["train overlap", "where"] == "'q1'"


def test_a_hybrid_is_searched_and_its_pools_looked_at():
    docs = {"a": "red fox", "b": "red wine", "c": "blue whale"}
    hybrid = rk.HybridSearch(rk.KeywordIndex(docs))
    found = traps(hybrid, {"q": {"a": 1}}, queries={"q": "red"}, params={"pool": 5, "top_k": 5}, metrics=[])
    assert "pool" in found.index and "unjudged" in found.index
    with pytest.raises(ValueError, match="needs queries="):
        rk.check(hybrid)


def test_chunk_runs_are_collapsed_and_empty_ones_accepted():
    run = pd.DataFrame(
        {"query_id": "q1", "chunk_id": ["a#0", "a#1"], "doc_id": "a", "rank": [1, 2], "score": [2.0, 1.0]}
    )
    assert traps(run, {"q1": {"a": 1}}, metrics="rr").index.tolist() == []
    assert traps(rk.as_run({}), rk.as_qrels({})).index.tolist() == []
