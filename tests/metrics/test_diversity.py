"""Metrics that read vectors, and metrics that read subtopics."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ragkit as rk
from tests.conftest import golden

VECTORS = {"e": [1, 0], "n": [0, 2], "e2": [3, 0], "w": [-1, 0], "zero": [0, 0]}


def of_vectors(docs, metric, vectors=VECTORS):
    return rk.evaluate({"q": docs}, metrics=metric, vectors=vectors)["value"].item()


# Worked examples -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("docs", "metric", "expected"),
    [
        (["e", "n", "e2"], "ild@3", (1 + 0 + 1) / 3),  # cosines 0, 1, 0
        (["e", "n", "e2"], "ild@2", 1.0),
        (["e", "n", "e2"], "ild", 2 / 3),
        (["e", "w"], "ild", 2.0),
        (["e", "zero"], "ild", 1.0),  # a zero vector is like nothing
        (["e"], "ild@5", 0.0),
        (["e", "n", "e2"], "ild_min", 0.0),
        (["e", "n", "w"], "ild_min", 1.0),
        (["e", "n", "e2"], "crowding", 1 / 3),
        (["e", "n", "e2"], "crowding(threshold=0)", 1.0),
        (["e", "e2"], "vendi", 1.0),  # two of one direction count as one
        (["e", "n"], "vendi", 2.0),
        (["e", "zero"], "vendi", 2.0),
        (["e"], "vendi", 1.0),
        ([], "ild", None),
    ],
)
def test_metrics_of_vectors_by_hand(docs, metric, expected):
    if expected is None:
        assert len(rk.evaluate({"q": docs}, metrics=metric, vectors=VECTORS)) == 0
    else:
        assert of_vectors(docs, metric) == pytest.approx(expected, abs=1e-9)


def test_vectors_come_from_a_store_a_dict_or_an_array_by_row_of_the_run():
    run = pd.DataFrame({"query_id": "q", "doc_id": ["n", "e2", "e"], "score": [0.5, 0.1, 0.9]})
    array = np.array([VECTORS[d] for d in run["doc_id"]], dtype=float)
    store = rk.VectorStore(pd.DataFrame({"doc_id": list(VECTORS)}), vectors=list(VECTORS.values()))
    got = [
        rk.evaluate(run, {"q": {"e": 1}}, metrics=["ild@2", "rr"], vectors=v)["value"].tolist()
        for v in (VECTORS, array, store)
    ]
    assert got == [[1.0, 1.0]] * 3


def test_chunk_runs_have_a_diversity_without_collapsing():
    run = pd.DataFrame(
        {"query_id": "q", "chunk_id": ["d#0", "d#1"], "doc_id": "d", "rank": [1, 2], "score": [2.0, 1.0]}
    )
    assert rk.evaluate(run, metrics="ild", vectors={"d#0": [1, 0], "d#1": [0, 1]})["value"].item() == 1.0


def test_a_unit_without_a_vector_is_named():
    with pytest.raises(ValueError, match="'ghost'"):
        of_vectors(["e", "ghost"], "ild")


SUBTOPICS = {"a": [1, 2], "b": [1], "c": [3], "d": [1, 2]}


def judged(subtopics):
    rows = [("q", doc, 1, topic) for doc, topics in subtopics.items() for topic in topics]
    return pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance", "subtopic"])


@pytest.mark.parametrize(
    ("run", "half", "none", "full"),
    [
        (["a", "d", "c"], 1.0, 1.0, 0.950234),
        (["a", "c", "d"], 1.0, 0.965195, 1.0),
        (["b", "x", "c"], 0.479091, 0.398739, 0.57014),
    ],
)
def test_alpha_ndcg_against_the_greedy_ideal(run, half, none, full):  # EVL-24
    metrics = ["alpha_ndcg@3", "alpha_nDCG(alpha=0)@3", "alpha_ndcg(alpha=1)@3"]
    scores = rk.evaluate({"q": run}, judged(SUBTOPICS), metrics=metrics)
    assert scores["value"].tolist() == pytest.approx([half, none, full], abs=1e-6)


def test_subtopic_metrics_by_hand():
    run = {"q": ["b", "x", "c"]}
    expected = {
        "subtopic_recall@1": 1 / 3,
        "StRecall@3": 2 / 3,
        # topic 1 once in three, topic 2 never, topic 3 once in three
        "P_IA@3": (1 / 3 + 0 + 1 / 3) / 3,
        # gains 1 and 1/3 of at most 3 (1 + 1/4 + 1/12)
        "ERR_IA@3": (1 + 1 / 3) / (3 * (1 + 0.5 / 2 + 0.25 / 3)),
    }
    scores = rk.evaluate(run, judged(SUBTOPICS), metrics=list(expected))
    assert scores["value"].tolist() == pytest.approx(list(expected.values()))


def test_judgements_without_a_subtopic_share_one_unnamed():
    qrels = pd.DataFrame(
        {"query_id": "q", "doc_id": ["a", "b"], "relevance": 1, "subtopic": [None, ""]}, dtype=object
    ).assign(relevance=1)
    assert rk.evaluate({"q": ["b"]}, qrels, metrics="subtopic_recall@1")["value"].item() == 1.0


# Laws ------------------------------------------------------------------------------------------------


@given(st.lists(st.lists(st.integers(-3, 3), min_size=3, max_size=3), min_size=2, max_size=80))
def test_the_short_cut_for_long_lists_equals_the_mean_over_pairs(rows):
    vectors = {f"d{n}": row for n, row in enumerate(rows)}
    unit = np.array([np.array(r) / (np.linalg.norm(r) or 1) for r in rows])
    pairs = [1 - unit[i] @ unit[j] for i in range(len(rows)) for j in range(i)]
    assert of_vectors(list(vectors), "ild", vectors) == pytest.approx(np.mean(pairs), abs=1e-9)
    assert of_vectors(list(vectors), "ild_min", vectors) == pytest.approx(min(pairs), abs=1e-9)


@given(st.permutations(list(VECTORS)))
def test_the_order_inside_the_list_does_not_matter(docs):
    for metric in ("ild", "ild_min", "crowding", "vendi"):
        assert of_vectors(docs, metric) == pytest.approx(of_vectors(list(VECTORS), metric), abs=1e-9)


# Recorded pairs --------------------------------------------------------------------------------------

OURS = {
    "alpha-nDCG@3": "alpha_ndcg@3",
    "alpha-nDCG@5": "alpha_ndcg@5",
    "alpha-nDCG@10": "alpha_ndcg@10",
    "ERR-IA@3": "err_ia@3",
    "ERR-IA@5": "err_ia@5",
    "nERR-IA@5": "nerr_ia@5",
    "P-IA@5": "p_ia@5",
    "strec@3": "strecall@3",
    "strec@10": "strecall@10",
}


@pytest.mark.filterwarnings("ignore::ragkit.RetrievalWarning")
def test_equal_to_pyndeval():
    for case in golden("subtopic_metrics"):
        rows = [("q", doc, grade, topic) for doc, topic, grade in case["qrels"]]
        qrels = pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance", "subtopic"])
        for alpha, expected in case["expected"].items():
            with_alpha = {
                theirs: ours.replace("@", f"(alpha={alpha})@") if ours[0] in "aen" else ours
                for theirs, ours in OURS.items()
            }
            scores = rk.evaluate({"q": case["run"]}, qrels, metrics=list(with_alpha.values()))
            got = dict(zip(with_alpha, scores["value"]))
            assert got == pytest.approx({k: expected[k] for k in with_alpha}, abs=1e-9), case
