"""Negative grades (spam, junk): judged, worth nothing, never a loss."""

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ragkit as rk
from ragkit.metrics.names import SPECS
from tests.conftest import golden

QRELS = {"q": {"a": -2, "b": 1, "c": 2, "d": 0, "e": -1}}
RUN = {"q": ["a", "c", "x", "e", "d", "b"]}


# Worked examples -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("dcg", 2 / 1.584962500721156 + 1 / 2.807354922057604),
        ("precision@3", 1 / 3),
        ("precision", 2 / 6),
        ("rr", 1 / 2),
        ("ap", (1 / 2 + 2 / 6) / 2),
        ("recall_capped@2", 1 / 2),
        ("rbp(p=0.5)", 0.5 * (0.5 + 0.5**5)),
        ("err", (3 / 4) / 2 + (1 / 4) * (1 / 4) / 6),
        # as in trec_eval, bpref passes over what is graded below 0: the one other document, d, is above b
        ("bpref", (1 + 0) / 2),
        ("judged@4", 3 / 4),
        ("rr(judged_only=True)", 1 / 2),
        ("ap(judged_only=True)", (1 / 2 + 2 / 5) / 2),
    ],
)
def test_a_negative_grade_takes_a_rank_and_gains_nothing(metric, expected):
    assert rk.evaluate(RUN, QRELS, metrics=metric)["value"].item() == pytest.approx(expected)


# Properties ------------------------------------------------------------------------------------------

GRADES = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(-3, 3), min_size=1)


@pytest.mark.filterwarnings("ignore::ragkit.RetrievalWarning")
@given(GRADES, st.lists(st.sampled_from("abcdefghxyz"), unique=True))
@settings(max_examples=80, deadline=None)
def test_all_metrics_but_bpref_take_a_negative_grade_for_0(grades, docs):
    names = [name for name, spec in SPECS.items() if spec.reads == "judgements" and name != "bpref"]
    clipped = {doc: max(grade, 0) for doc, grade in grades.items()}
    got = rk.evaluate({"q": docs}, {"q": grades}, metrics=names)
    expected = rk.evaluate({"q": docs}, {"q": clipped}, metrics=names)
    pd.testing.assert_frame_equal(got, expected)


@pytest.mark.filterwarnings("ignore::ragkit.RetrievalWarning")
@given(GRADES, st.lists(st.sampled_from("abcdefghxyz"), unique=True))
@settings(max_examples=40, deadline=None)
def test_bpref_takes_a_negative_grade_for_none(grades, docs):
    kept = {doc: grade for doc, grade in grades.items() if grade >= 0} or {"w": 1}
    got = rk.evaluate({"q": docs}, {"q": grades}, metrics="bpref")["value"].item()
    assert got == rk.evaluate({"q": docs}, {"q": kept}, metrics="bpref")["value"].item()


# Parity ----------------------------------------------------------------------------------------------

[CASE] = golden("negative_grades")


@pytest.mark.parametrize(
    ("package", "name"), [(p, name) for p in CASE["values"] for name in CASE["values"][p]]
)
def test_equal_to_other_packages_query_by_query(package, name):
    qrels = pd.DataFrame(CASE["qrels"], columns=["query_id", "doc_id", "relevance", "subtopic"])
    scores = rk.evaluate(CASE["run"], qrels, metrics=name)
    got = dict(zip(scores["query_id"], scores["value"]))
    expected = CASE["values"][package][name]
    assert len(expected) == 8 and got == pytest.approx(expected, abs=1e-12)


def test_equal_to_trec_eval_query_by_query():
    pytrec_eval = pytest.importorskip("pytrec_eval")
    qrels = pd.DataFrame(CASE["qrels"], columns=["query_id", "doc_id", "relevance", "subtopic"])
    best = qrels.sort_values("relevance", kind="stable").drop_duplicates(["query_id", "doc_id"], keep="last")
    judged = rk.to_dict(best.drop(columns="subtopic"))
    wanted = {
        "map",
        "recip_rank",
        "Rprec",
        "bpref",
        "ndcg",
        "set_P",
        "set_F",
        "P.5",
        "ndcg_cut.10",
        "recall.5",
    }
    theirs = pytrec_eval.RelevanceEvaluator(judged, wanted).evaluate(CASE["run"])
    for query, values in theirs.items():
        scores = rk.evaluate(
            CASE["run"],
            qrels,
            metrics=list(values),
            over=[query],
        )
        assert dict(zip(scores["metric"], scores["value"])) == pytest.approx(values, abs=1e-12)
