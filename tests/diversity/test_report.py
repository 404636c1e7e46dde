"""diversity_report and describe: is the head crowded, and what would MMR do about it?"""

import numpy as np
import pandas as pd
import pytest

import ragkit as rk
from ragkit.diversity import describe, diversity_report, mmr, mmr_path


def run_of(relevance, ids=None, query="q"):
    ids = [f"d{n:03}" for n in range(len(relevance))] if ids is None else ids
    return pd.DataFrame({"query_id": query, "doc_id": ids, "score": np.asarray(relevance, dtype=float)})


RUN = run_of([1.0, 0.9, 0.5], ["a", "copy", "other"])
VECTORS = {"a": [1, 0], "copy": [1, 0], "other": [0, 1]}


# --- worked example --------------------------------------------------------------------------------------


def test_a_copy_in_the_head_is_crowding_and_mmr_replaces_it():
    # Head {a, copy}: its one pair is a copy, so crowding 1 and diversity 0. Pool: 1 of 3 pairs is a copy,
    # distances 0, 1, 1. MMR swaps copy for other below 1/1.8; relevance falls from (1 + .8)/2 to (1 + 0)/2.
    report = diversity_report(RUN, VECTORS, {"q": {"other": 1}}, top_k=2, lambda_=0.5, metrics="recall@2")
    row = report.iloc[0]
    assert row[["top_k", "pool", "replaced"]].tolist() == [2, 3, 1]
    assert row["crowding"] == 1
    assert row["crowding_pool"] == pytest.approx(1 / 3)
    assert row["diversity"] == 0
    assert row["diversity_pool"] == pytest.approx(2 / 3)
    assert row["first_change"] == pytest.approx(5 / 9)
    assert row["diversity_mmr"] == 1
    assert row["relevance_cost"] == pytest.approx(0.4)
    assert row[["recall@2", "recall@2_mmr"]].tolist() == [0.0, 1.0]


def test_describe_says_it_in_two_sentences():
    report = diversity_report(RUN, VECTORS, {"q": {"other": 1}}, top_k=2, lambda_=0.5)
    text = describe(report)
    assert text.startswith("The top 2 repeats itself: 100.0% of its pairs are near-duplicates, against 33.3%")
    assert "below lambda 0.56; at 0.5 it replaces 1.0 of 2" in text
    assert "ndcg@2 from 0.000 to 0.631" in text
    assert text.count(". ") == 1
    assert text.endswith(".")


def test_a_head_that_does_not_repeat_itself_is_told_so():
    report = diversity_report(run_of([3, 2, 1]), np.eye(3), top_k=2)
    assert report["first_change"].isna().tolist() == [True]
    assert describe(report).startswith("The top 2 does not repeat itself: 0.0%")
    assert describe(report).endswith("can only reorder them.")


def test_queries_without_judgements_have_no_metric_and_describe_is_silent_about_it():
    report = diversity_report(RUN, VECTORS, {"other": {"a": 1}}, top_k=2, lambda_=0.5)
    assert report[["ndcg@2", "ndcg@2_mmr"]].isna().all(axis=None)
    assert "nan" not in describe(report)
    assert "ndcg" not in describe(report)


def test_subtopics_bring_their_own_metric():
    qrels = pd.DataFrame(
        {"query_id": "q", "doc_id": ["a", "copy", "other"], "relevance": 1, "subtopic": ["x", "x", "y"]}
    )
    report = diversity_report(RUN, VECTORS, qrels, top_k=2, lambda_=0.5)
    assert report[["subtopic_recall@2", "subtopic_recall@2_mmr"]].values.tolist() == [[0.5, 1.0]]


# --- laws ------------------------------------------------------------------------------------------------


def test_the_report_agrees_with_mmr_the_path_and_the_metrics():
    rng = np.random.default_rng(1)
    vectors = {f"d{n:03}": rng.normal(size=3) for n in range(40)}
    run = pd.concat([run_of(rng.random(40), list(vectors), f"q{q}") for q in range(5)])
    report = diversity_report(run, vectors, top_k=8, fetch_k=25, lambda_=0.4)
    plain = rk.rank_by_score(run).groupby("query_id").head(8)
    picked = mmr(run, vectors, top_k=8, fetch_k=25, lambda_=0.4)
    path = mmr_path(run, vectors, top_k=8, fetch_k=25)
    for frame, column, metric in (
        (plain, "diversity", "ild@8"),
        (picked, "diversity_mmr", "ild@8"),
        (plain, "crowding", "crowding@8"),
    ):
        wanted = rk.evaluate(frame, metrics=[metric], vectors=vectors).set_index("query_id")["value"]
        assert np.allclose(report.set_index("query_id")[column], wanted[report["query_id"]], atol=1e-12)
    for row in report.itertuples():
        before = set(plain.loc[plain["query_id"] == row.query_id, "doc_id"])
        after = picked[picked["query_id"] == row.query_id]
        assert row.replaced == len(before - set(after["doc_id"]))
        mine = path[path["query_id"] == row.query_id]
        changed = mine[[set(units) != before for units in mine["unit_ids"]]]
        assert row.first_change == changed["lambda_to"].max()


def test_crowding_of_a_large_pool_is_counted_in_blocks():
    rng = np.random.default_rng(2)
    V = rng.normal(size=(1100, 2))
    report = diversity_report(run_of(rng.random(1100)), V, top_k=5)
    X = V / np.linalg.norm(V, axis=1, keepdims=True)
    pairs = (X @ X.T)[np.triu_indices(1100, 1)]
    assert report["crowding_pool"].iloc[0] == pytest.approx((pairs >= 0.9).mean(), abs=1e-12)
    assert report["diversity_pool"].iloc[0] == pytest.approx(1 - pairs.mean(), abs=1e-9)


def test_an_empty_run_gives_an_empty_report_and_a_sentence():
    full = diversity_report(RUN, VECTORS, {"q": {"a": 1}}, top_k=2)
    report = diversity_report(run_of([]), {}, {"q": {"a": 1}}, top_k=2)
    assert list(report.columns) == list(full.columns)
    assert len(report) == 0
    assert "no query" in describe(report)
    assert len(diversity_report(RUN, VECTORS, top_k=0)) == 1


def test_describe_needs_a_report():
    with pytest.raises(ValueError, match=r"what diversity_report returns; got .*'score'.*Call describe"):
        describe(RUN)
    with pytest.raises(TypeError, match="report must be a DataFrame"):
        describe(None)


def test_a_pool_no_larger_than_the_head_is_warned_about():
    with pytest.warns(rk.RetrievalWarning, match="diversity_report has at most 3 candidates.*top_k=5"):
        diversity_report(RUN, VECTORS, top_k=5)


@pytest.mark.parametrize("top_k", [0, 1])
def test_a_head_without_a_pair_is_not_praised(top_k):
    assert "fewer than two" in describe(diversity_report(RUN, VECTORS, top_k=top_k))


def test_a_cost_too_small_to_be_shown_is_not_called_nothing():
    # Relevance of the swapped pair, scaled: .002 and 0; half of the difference is .001.
    run = run_of([1.0, 0.002, 0.0], ["a", "copy", "other"])
    assert "the cost of less than 0.01 of" in describe(diversity_report(run, VECTORS, top_k=2))
