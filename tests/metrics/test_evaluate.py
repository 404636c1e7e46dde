"""evaluate: worked examples, reported traps, laws, and equality with trec_eval."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ragkit as rk
from ragkit.metrics.evaluation import score_run
from ragkit.metrics.judged import code_judgements
from ragkit.metrics.names import SPECS, parse_metrics

NAMED = [n for n, s in SPECS.items() if s.reads == "judgements"]


def value(run, qrels, metric, **more):
    scores = rk.evaluate(run, qrels, metrics=metric, **more)
    assert list(scores.columns) == ["query_id", "metric", "value"]
    return scores["value"].item()


def means(run, qrels, metrics, **more):
    scores = rk.evaluate(run, qrels, metrics=metrics, **more)
    return scores.groupby("metric", sort=False)["value"].mean()


# Worked examples -------------------------------------------------------------------------------------

GRADES = {"q": {"a": 3, "b": 2, "c": 1}}


def test_ndcg_divides_by_the_ideal_of_all_judged_documents():  # EVL-07
    run = {"q": {"b": 9.0, "x": 8.0}}
    # 2 / (3 + 2 / log2(3) + 1 / 2) = 2 / 4.7619
    assert value(run, GRADES, "ndcg") == pytest.approx(0.420004, abs=1e-6)
    assert value(run, GRADES, "ndcg@2") == pytest.approx(2 / (3 + 2 / math.log2(3)), abs=1e-12)
    assert value(run, GRADES, "recall") == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("ndcg", 0.788377),
        ("ndcg(gain=exponential)", 0.714222),
        ("nDCG(dcg='exp-log2')", 0.714222),
        ("ndcg(gain='exp')@10", 0.714222),
    ],
)
def test_gain_is_linear_unless_asked(metric, expected):  # EVL-09
    assert value({"q": ["c", "a", "x", "b"]}, GRADES, metric) == pytest.approx(expected, abs=1e-6)


def test_discount_falls_from_the_second_rank_on():  # EVL-11
    got = [value({"q": [*"xyzw"[:n], "t"]}, {"q": {"t": 1}}, "ndcg") for n in range(4)]
    assert got == pytest.approx([1.0, 1 / math.log2(3), 0.5, 1 / math.log2(5)], abs=1e-12)


def test_threshold_also_changes_the_number_of_relevant_documents():  # EVL-14
    qrels, run = {"q": {"a": 1, "b": 2, "c": 3}}, {"q": ["a", "x", "b", "c"]}
    for rel, expected in {
        1: (1.0, 0.805556, 2 / 3, 2 / 3),
        2: (1 / 3, 0.416667, 1 / 3, 1 / 2),
        3: (1 / 4, 0.25, 0.0, 0.0),
    }.items():
        got = [
            value(run, qrels, f"{m}")
            for m in (f"rr(rel={rel})", f"AP(rel={rel})", f"P(rel={rel})@3", f"R(rel={rel})@3")
        ]
        assert got == pytest.approx(expected, abs=1e-6)


def test_negative_grades_gain_nothing_and_count_as_judged():  # EVL-16
    qrels, run = {"q": {"a": -2, "b": 1, "c": 2}}, {"q": {"a": 9.0, "c": 8.0, "b": 7.0}}
    # (2 / log2(3) + 1 / 2) / (2 + 1 / log2(3))
    assert value(run, qrels, "ndcg") == pytest.approx(0.669672, abs=1e-6)
    assert value(run, qrels, "rr") == 0.5
    assert value(run, qrels, "judged@3") == 1.0


def test_average_precision_divides_by_all_relevant_documents():  # EVL-20
    qrels, run = {"q": dict.fromkeys("abcd", 1)}, {"q": {"a": 9.0, "x": 8.0, "b": 7.0}}
    assert value(run, qrels, "ap") == pytest.approx((1 + 2 / 3) / 4)
    assert value(run, qrels, "ap@3") == pytest.approx((1 + 2 / 3) / 4)


def test_a_perfect_ranking_scores_exactly_one():  # EVL-21
    for grades in ({"a": 1, "b": 1, "c": 1}, {"a": 3, "b": 2, "c": 2, "d": 1}, dict.fromkeys("abcdefg", 1)):
        for metric in ("ap", "ndcg", "rr", "recall", "rprec", "ndcg@3", "ndcg(gain=exponential)"):
            assert value({"q": list(grades)}, {"q": grades}, metric) == 1.0, metric


def test_the_other_metrics_by_hand():
    qrels = {"q": {"a": 2, "b": 1, "n": 0, "m": 0}}
    run = {"q": ["n", "a", "x", "b", "y"]}
    expected = {
        "precision@4": 2 / 4,
        "precision": 2 / 5,
        "precision@10": 2 / 10,  # five results are judged as ten, as in trec_eval
        "recall@2": 1 / 2,
        "recall_capped@1": 0.0,
        "recall_capped@2": 1 / 2,
        "f1@4": 2 * 0.5 * 1 / 1.5,
        "hit@1": 0.0,
        "hit@2": 1.0,
        "rprec": 1 / 2,  # R = 2, one relevant among the first two
        "dcg@4": 2 / math.log2(3) + 1 / math.log2(5),
        "rbp(p=0.5)": 0.5 * (0.5**1 + 0.5**3),
        "rbp(p=0.5, rel=2)": 0.5 * 0.5,
        # stop at a with 3/4, at b with 1/4 of those who went on
        "err": (3 / 4) / 2 + (1 / 4) * (1 / 4) / 4,
        "err(max_rel=4)": (3 / 16) / 2 + (13 / 16) * (1 / 16) / 4,
        # one of two judged others above each relevant one: 1 - 1 / 2, twice, over R = 2
        "bpref": (0.5 + 0.5) / 2,
        "judged@3": 2 / 3,
        "judged": 3 / 5,
    }
    scores = rk.evaluate(run, qrels, metrics=list(expected))
    assert dict(zip(scores["metric"], scores["value"])) == pytest.approx(expected, abs=1e-12)


def test_ties_follow_the_rule_of_trec_eval_and_a_list_is_no_tie():  # EVL-01
    qrels = {"q": {"m": 1}}
    assert value({"q": {"k": 5.0, "m": 5.0, "p": 5.0}}, qrels, "rr") == 0.5
    assert value({"q": ["m", "p", "k"]}, qrels, "rr") == 1.0


def test_query_missing_from_the_run_scores_zero():  # EVL-03
    qrels = {"q1": {"a": 1}, "q2": {"b": 1}, "q3": {"c": 1}}
    run = {"q1": {"a": 1.0}, "q2": {"x": 2.0, "b": 1.0}}
    got = means(run, qrels, ["rr", "ndcg@10"])
    assert got.tolist() == pytest.approx([0.5, 0.543643], abs=1e-6)
    assert rk.evaluate(run, qrels, metrics="rr")["query_id"].tolist() == ["q1", "q2", "q3"]
    assert means(run, qrels, "rr", over="retrieved").item() == 0.75


def test_query_without_judgements_is_left_out_and_named():  # EVL-04
    with pytest.warns(rk.RetrievalWarning, match="'q9'"):
        scores = rk.evaluate({"q1": {"a": 1.0}, "q9": {"z": 1.0}}, {"q1": {"a": 1}}, metrics="rr")
    assert scores.values.tolist() == [["q1", "rr", 1.0]]


def test_empty_result_list_scores_zero_everywhere():  # EVL-06
    for run in ({"q": {}}, rk.as_run({}), {}):
        scores = rk.evaluate(run, {"q": {"a": 1}}, metrics=NAMED)
        assert len(scores) == len(NAMED) and (scores["value"] == 0).all()


def test_same_document_twice_is_refused():  # EVL-12
    with pytest.raises(ValueError, match=r"2 repeated .*best_per_doc"):
        rk.evaluate({"q": ["v", "v", "x", "v"]}, {"q": {"u": 1, "v": 1, "w": 1}}, metrics="recall@4")


def test_no_overlap_at_all_warns():  # EVL-18
    qrels = {"q": {"doc-aaaaaaaaaaaaaaaaaaaa-001": 1}}
    with pytest.warns(rk.RetrievalWarning, match="written the same way"):
        assert value({"q": {"doc-aaaaaaaaaaaaaaaa": 3.0}}, qrels, "rr") == 0.0


def test_relevant_document_outside_the_collection_lowers_recall():  # EVL-28
    assert value({"q": {"d1": 1.0}}, {"q": {"d1": 1, "ghost": 1}}, "recall") == 0.5


def test_integer_and_string_ids_meet():
    run = pd.DataFrame({"query_id": [1, 1], "doc_id": [7, 8], "score": [2.0, 1.0]})
    assert value(run, {"1": {"8": 1}}, "rr") == 0.5
    assert (
        value({"1": {"8": 1.0}}, pd.DataFrame({"query_id": [1], "doc_id": [8], "relevance": [1]}), "rr")
        == 1.0
    )


def test_a_query_without_relevant_documents_counts_zero_unless_left_out():
    qrels, run = {"q1": {"a": 1}, "q2": {"b": 0}}, {"q1": ["a"], "q2": ["b"]}
    assert means(run, qrels, "ndcg@10").item() == 0.5
    assert means(run, qrels, "ndcg@10", over="relevant").item() == 1.0
    assert means(run, qrels, "ndcg@10", over=["q2"]).item() == 0.0
    assert means(run, qrels, "ndcg@10", over=pd.DataFrame({"query_id": ["q1"]})).item() == 1.0


def test_rank_decides_and_not_the_score():
    run = pd.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "rank": [2, 1], "score": [9.0, 1.0]})
    assert value(run, {"q": {"a": 1}}, "rr") == 0.5


def test_a_document_with_several_subtopics_has_its_highest_grade():
    qrels = pd.DataFrame(
        {"query_id": "q", "doc_id": ["a", "a", "b"], "relevance": [1, 3, 2], "subtopic": ["s", "t", "s"]}
    )
    assert value({"q": ["a", "b"]}, qrels, "dcg") == pytest.approx(3 + 2 / math.log2(3))
    assert value({"q": ["a", "b"]}, qrels, "recall") == 1.0


def test_a_function_is_a_metric():
    def first_is_long(run, qrels):
        return float(len(run["doc_id"].iloc[0]) > 1) if len(run) else -1.0

    scores = rk.evaluate(
        {"q1": ["long", "b"]}, {"q1": {"b": 1}, "q2": {"b": 1}}, metrics=["rr", first_is_long]
    )
    assert scores.values.tolist() == [
        ["q1", "rr", 0.5],
        ["q1", "first_is_long", 1.0],
        ["q2", "rr", 0.0],
        ["q2", "first_is_long", -1.0],
    ]
    for wrong in ("much", None, [1.0]):
        with pytest.raises(TypeError, match=r"must return a number for each query; got .* for 'q1'"):
            rk.evaluate({"q1": ["a"]}, {"q1": {"a": 1}}, metrics=[lambda run, qrels, value=wrong: value])


def test_inputs_that_do_not_fit_say_what_to_do():
    run, qrels = {"q": ["a"]}, {"q": {"a": 1}}
    with pytest.raises(TypeError, match="metrics must be names"):
        rk.evaluate(run, qrels, metrics=3)
    with pytest.raises(ValueError, match="needs qrels"):
        rk.evaluate(run, metrics="rr")
    with pytest.raises(ValueError, match="needs vectors="):
        rk.evaluate(run, qrels, metrics="ild@10")
    with pytest.raises(ValueError, match="column 'subtopic'"):
        rk.evaluate(run, qrels, metrics="alpha_ndcg@10")
    with pytest.raises(ValueError, match="'judged', 'relevant', 'retrieved'"):
        rk.evaluate(run, qrels, metrics="rr", over="all")
    with pytest.raises(ValueError, match="does not judge: 'q7'"):
        rk.evaluate(run, qrels, metrics="rr", over=["q7"])
    chunks = pd.DataFrame(
        {"query_id": ["q"], "chunk_id": ["a#0"], "doc_id": ["a"], "rank": [1], "score": [1.0]}
    )
    with pytest.raises(ValueError, match="best_per_doc"):
        rk.evaluate(chunks, qrels, metrics="rr")
    assert value(rk.best_per_doc(chunks), qrels, "rr") == 1.0


def test_empty_frames_give_empty_scores():
    scores = rk.evaluate(rk.as_run({}), rk.as_qrels({}), metrics=NAMED)
    assert list(scores.columns) == ["query_id", "metric", "value"] and len(scores) == 0
    assert scores["value"].dtype == np.float64
    assert len(rk.evaluate({"q": {}}, {"q": {"a": 1}}, metrics=[])) == 0


# Laws ------------------------------------------------------------------------------------------------

grades = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(-1, 3), min_size=1)
rankings = st.lists(st.sampled_from("abcdefghxyz"), unique=True)
CASES = st.dictionaries(st.sampled_from(["q1", "q2", "q3"]), st.tuples(grades, rankings), min_size=1)


def split(cases):
    return {q: g for q, (g, _) in cases.items()}, {q: r for q, (_, r) in cases.items()}


@pytest.mark.filterwarnings("ignore::ragkit.RetrievalWarning")
@given(CASES)
@settings(max_examples=60, deadline=None)
def test_every_metric_but_dcg_and_counts_lies_between_zero_and_one(cases):
    qrels, run = split(cases)
    scores = rk.evaluate(run, qrels, metrics=[*NAMED, *(f"{n}@3" for n in NAMED if SPECS[n].cutoff)])
    bounded = scores[~scores["metric"].str.match("dcg|hits")]["value"]
    assert bounded.between(0, 1 + 1e-12).all() and scores["value"].notna().all()


@pytest.mark.filterwarnings("ignore::ragkit.RetrievalWarning")
@given(CASES, st.randoms())
@settings(max_examples=40, deadline=None)
def test_the_order_of_rows_does_not_matter_nor_do_categorical_ids(cases, random):
    qrels, run = split(cases)
    frame, judged = rk.as_run(run), rk.as_qrels(qrels)
    expected = rk.evaluate(frame, judged, metrics=NAMED).set_index(["query_id", "metric"])["value"]
    rows = list(range(len(frame)))
    random.shuffle(rows)
    shuffled = frame.iloc[rows]
    for variant in (shuffled, shuffled.astype({"query_id": "category", "doc_id": "category"})):
        got = rk.evaluate(variant, judged, metrics=NAMED).set_index(["query_id", "metric"])["value"]
        pd.testing.assert_series_equal(got, expected)
    categorical = judged.astype({"query_id": "category", "doc_id": "category"})
    got = rk.evaluate(frame, categorical, metrics=NAMED).set_index(["query_id", "metric"])["value"]
    pd.testing.assert_series_equal(got, expected)


@given(CASES, st.sampled_from([None, 1, 3]))
@settings(max_examples=60, deadline=None)
def test_the_short_way_for_runs_of_stores_finds_what_the_long_one_finds(cases, depth):
    qrels, run = split(cases)
    frame, judged = rk.as_run(run), rk.as_qrels(qrels)
    metrics = parse_metrics([f"{n}@{depth}" if depth else n for n in NAMED if SPECS[n].cutoff or not depth])
    known = code_judgements(judged, pd.Index([], dtype=object), "judged")
    for variant in (frame, frame.astype({"query_id": "category", "doc_id": "category"}), frame.iloc[:0]):
        slow = score_run(variant, judged, metrics)
        fast = score_run(variant, judged, metrics, known=known)
        assert fast.queries.equals(slow.queries) and fast.unjudged == slow.unjudged
        assert fast.strange == slow.strange
        np.testing.assert_array_equal(fast.values, slow.values)
    object.__setattr__(known, "_pair", None)  # too many pairs for a table
    np.testing.assert_array_equal(score_run(frame, judged, metrics, known=known).values,
                                  score_run(frame, judged, metrics).values)  # fmt: skip


def test_inputs_are_not_modified():
    run = pd.DataFrame({"query_id": [1, 1], "doc_id": [2, 1], "score": [1.0, 2.0]})
    qrels = pd.DataFrame({"query_id": [1], "doc_id": [1], "relevance": [1]})
    before = run.copy(), qrels.copy()
    rk.evaluate(run, qrels, metrics="ndcg@10")
    pd.testing.assert_frame_equal(run, before[0])
    pd.testing.assert_frame_equal(qrels, before[1])


# Parity with trec_eval -------------------------------------------------------------------------------

TREC = {
    "ndcg@5": "ndcg_cut_5",
    "ndcg": "ndcg",
    "ap": "map",
    "ap@7": "map_cut_7",
    "rr": "recip_rank",
    "p@5": "P_5",
    "recall@5": "recall_5",
    "hit@3": "success_3",
    "rprec": "Rprec",
    "bpref": "bpref",
    "precision": "set_P",
    "recall": "set_recall",
    "f1": "set_F",
}


@pytest.mark.filterwarnings("ignore::ragkit.RetrievalWarning")
def test_equal_to_trec_eval_with_ties_unjudged_graded_missing_and_extra_queries():
    pytrec_eval = pytest.importorskip("pytrec_eval")
    rng = np.random.default_rng(7)
    docs = [f"d{n}" for n in range(40)]
    pick = lambda most: rng.choice(docs, int(rng.integers(1, most)), replace=False)  # noqa: E731
    qrels = {f"q{n}": {d: int(rng.integers(0, 4)) for d in pick(20)} for n in range(120)}
    # coarse scores, so that ties abound; some queries missing, some not judged
    run = {
        f"q{n}": {d: float(rng.integers(0, 8)) for d in pick(35)} for n in range(130) if rng.random() < 0.85
    }
    wanted = {
        m.rsplit("_", 1)[0] + "." + m.rsplit("_", 1)[1] if m[-1].isdigit() else m for m in TREC.values()
    }
    theirs = pytrec_eval.RelevanceEvaluator(qrels, wanted).evaluate(run)
    ours = rk.evaluate(run, qrels, metrics=list(TREC)).set_index(["query_id", "metric"])["value"]
    for query in qrels:
        for metric, name in TREC.items():
            assert ours[query, metric] == pytest.approx(theirs.get(query, {}).get(name, 0.0), abs=1e-12)


@pytest.mark.parametrize("metric", ["ndcg(gain=exp)", "dcg(gain=exp)", "err"])
def test_grades_whose_powers_are_no_numbers_are_refused(metric):
    assert np.isfinite(rk.evaluate({"q": ["a"]}, {"q": {"a": 1000}}, metrics=[metric])["value"]).all()
    with pytest.raises(ValueError, match="the grade 1024"):
        rk.evaluate({"q": ["a"]}, {"q": {"a": 1024}}, metrics=[metric])
    assert rk.evaluate({"q": ["a"]}, {"q": {"a": 1024}}, metrics=["ndcg"])["value"].tolist() == [1.0]
