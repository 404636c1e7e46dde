"""The one tie rule, and collapsing to documents."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ragkit as rk
from ragkit.frames import ranks_within, round_significant, tie_order


def run_of(scores: dict[str, float], query: str = "q") -> pd.DataFrame:
    return pd.DataFrame({"query_id": query, "doc_id": list(scores), "score": list(scores.values())})


# --- worked examples -----------------------------------------------------------------------------------


def test_ties_go_to_the_larger_id_as_in_trec_eval():
    ranked = rk.rank_by_score(run_of({"k": 5.0, "m": 5.0, "p": 5.0, "z": 6.0}))
    assert ranked["doc_id"].tolist() == ["z", "p", "m", "k"]
    assert ranked["rank"].tolist() == [1, 2, 3, 4]


def test_ids_are_compared_as_text_not_as_numbers():
    assert rk.rank_by_score(run_of({"10": 1.0, "9": 1.0, "é": 1.0}))["doc_id"].tolist() == ["é", "9", "10"]


def test_the_last_bits_of_a_float_do_not_decide():
    # 0.1 + 0.2 = 0.30000000000000004 equals 0.3 in twelve digits
    assert rk.rank_by_score(run_of({"a": 0.1 + 0.2, "b": 0.3}))["doc_id"].tolist() == ["b", "a"]
    assert rk.rank_by_score(run_of({"a": 0.3 + 1e-9, "b": 0.3}))["doc_id"].tolist() == ["a", "b"]


def test_float32_scores_are_compared_in_six_digits():
    scores = np.array([1.0000001, 1.0, 1.00002], dtype=np.float32)
    run = pd.DataFrame({"query_id": "q", "doc_id": ["a", "b", "c"], "score": scores})
    assert rk.rank_by_score(run)["doc_id"].tolist() == ["c", "b", "a"]


def test_queries_keep_the_order_in_which_they_came():
    run = pd.concat([run_of({"a": 1.0, "b": 2.0}, "q2"), run_of({"a": 3.0}, "q1")])
    ranked = rk.rank_by_score(run)
    assert ranked[["query_id", "doc_id", "rank"]].values.tolist() == [
        ["q2", "b", 1],
        ["q2", "a", 2],
        ["q1", "a", 1],
    ]


def test_a_document_keeps_its_best_chunk_and_ranks_close_up():
    run = pd.DataFrame(
        {
            "query_id": ["q", "q", "q", "p"],
            "chunk_id": ["a#1", "a#0", "b#0", "a#0"],
            "doc_id": ["a", "a", "b", "a"],
            "rank": [1, 2, 3, 1],
            "score": [3.0, 2.0, 1.0, 5.0],
        }
    )
    best = rk.best_per_doc(run)
    assert best[["query_id", "best_chunk_id", "rank"]].values.tolist() == [
        ["q", "a#1", 1],
        ["q", "b#0", 2],
        ["p", "a#0", 1],
    ]


@pytest.mark.parametrize("wide", [1, 10_000])
def test_one_wide_id_does_not_widen_all(wide):
    # An array of str would take four bytes for each character of the widest, for each id: 160 MB here.
    ids = [f"d{n:04}" for n in range(4000)] + ["d" * wide]
    tracemalloc.start()
    try:
        ranked = rk.rank_by_score(pd.DataFrame({"query_id": "q", "doc_id": ids, "score": 1.0}))
        index = rk.KeywordIndex(dict.fromkeys(ids, "fox"))
        found = index.hits("fox", top_k=None)[0]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert ranked["doc_id"].tolist() == found == sorted(ids, reverse=True)
    assert peak < 50e6


# --- properties -------------------------------------------------------------------------------------------

scores = st.lists(st.sampled_from([0.0, -1.5, 2.0, 0.3, 0.1 + 0.2, 1e-300, 1e300]), max_size=30)


@given(scores, st.randoms(use_true_random=False))
def test_the_order_does_not_depend_on_the_order_of_the_rows(values, random):
    run = run_of({f"d{n:02d}": value for n, value in enumerate(values)})
    shuffled = run.sample(frac=1.0, random_state=random.randrange(1000)) if len(run) else run
    pd.testing.assert_frame_equal(rk.rank_by_score(run), rk.rank_by_score(shuffled))


@given(scores)
def test_equals_python_sorted_by_rounded_score_and_id(values):
    run = run_of({f"d{n % 7}{n}": value for n, value in enumerate(values)})
    want = sorted(run["doc_id"], reverse=True)
    key = dict(zip(run["doc_id"], values))
    want = sorted(want, key=lambda d: float(f"{key[d]:.11e}"), reverse=True)
    assert rk.rank_by_score(run)["doc_id"].tolist() == want


magnitudes = st.floats(1e-280, 1e280) | st.just(0.0)


@given(st.lists(st.builds(lambda x, sign: sign * x, magnitudes, st.sampled_from([1.0, -1.0]))))
def test_rounding_equals_printing_twelve_digits(values):
    rounded = round_significant(np.array(values, dtype=np.float64))
    printed = np.array([float(f"{v:.11e}") for v in values])
    # Halves may round either way in binary; nothing else may differ.
    np.testing.assert_allclose(rounded, printed, rtol=1.1e-12, atol=0)
    assert (np.sign(rounded) == np.sign(printed)).all()


@given(st.lists(st.integers(0, 4)))
def test_ranks_count_up_inside_each_group(groups):
    groups = sorted(groups)
    want = [groups[: n + 1].count(g) for n, g in enumerate(groups)]
    assert ranks_within(np.array(groups)).tolist() == want


def test_order_on_nothing():
    assert tie_order(np.array([], int), np.array([], float), []).tolist() == []


def test_missing_columns_are_named():
    with pytest.raises(ValueError, match=r"missing \['score'\]"):
        rk.rank_by_score(pd.DataFrame({"query_id": ["q"], "doc_id": ["a"]}))


def test_warnings_point_at_the_users_own_line():
    run = rk.as_run({"q": ["x", "y"]})
    with pytest.warns(rk.RetrievalWarning) as caught:
        rk.mmr(run, {"x": [1.0, 0.0], "y": [0.0, 1.0]}, top_k=5)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("dtype", ["int64", "Int64", "object", "float32", "Float64"])
@pytest.mark.parametrize("by", [rk.rank_by_score, rk.as_run, rk.best_per_doc])
def test_scores_of_a_ranked_run_are_floats(by, dtype):
    run = pd.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "score": pd.Series([1, 2], dtype=dtype)})
    ranked = by(run)
    assert ranked["score"].dtype == (np.float32 if dtype == "float32" else np.float64)
    assert ranked[["doc_id", "score"]].values.tolist() == [["b", 2.0], ["a", 1.0]]
    assert run["score"].dtype == dtype


def test_whole_numbers_become_ids_when_ranked():
    ranked = rk.rank_by_score(pd.DataFrame({"query_id": [7], "doc_id": [1], "score": [1.0]}, index=[3]))
    assert ranked[["query_id", "doc_id"]].values.tolist() == [["7", "1"]]
