"""run_diff and run_overlap: by hand, and against definitions and scipy."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ragkit as rk
from ragkit.fusion.diff import rank_biased_overlap


def test_a_diff_by_hand():
    diff = rk.run_diff({"old": {"q": ["a", "b", "c", "d"]}, "new": {"q": ["d", "b", "a", "e"]}}, top_k=4)
    row = diff.iloc[0]
    assert row["overlap"] == 0.75 and row["entered"] == ("e",) and row["left"] == ("c",)
    assert (row["moved"], row["rank_a"], row["rank_b"]) == ("d", 4, 1)
    assert row["tau"] == -1.0  # d b a stand as a b d before
    assert row["sentence"] == (
        "query 'q': new shares 3 of 4 with old; 'e' entered; 'c' left; 'd' moved most, from 4 to 1."
    )


def test_equal_runs_and_disjoint_runs_are_the_ends():
    same = rk.run_diff({"a": {"q": ["x", "y"]}, "b": {"q": ["x", "y"]}}).iloc[0]
    assert (same["overlap"], same["rbo"], same["tau"]) == (1, pytest.approx(1), 1) and same["entered"] == ()
    apart = rk.run_diff({"a": {"q": ["x"]}, "b": {"q": ["y"]}}).iloc[0]
    assert (apart["overlap"], apart["rbo"]) == (0, 0) and np.isnan(apart["tau"])


def test_each_run_is_compared_with_the_first_and_lost_queries_are_seen():
    diff = rk.run_diff({"a": {"q": ["x"], "p": ["y"]}, "b": {"q": ["x"]}, "c": {"r": ["z"]}})
    assert diff[["query_id", "run_b"]].values.tolist() == [
        ["q", "b"], ["q", "c"], ["p", "b"], ["p", "c"], ["r", "b"], ["r", "c"],
    ]  # fmt: skip
    with pytest.raises(ValueError, match="two runs or more"):
        rk.run_diff({"a": {"q": ["x"]}})
    assert rk.run_diff({"a": {}, "b": {}}).dtypes.equals(diff.dtypes)


def test_rbo_of_the_paper_for_uneven_lists():
    # a b c against a c: one unit in common at depths 1 and 2, two at depth 3
    p, X1, X2, X3 = 0.8, 1, 1, 2
    seen = (X1 / 1) * p + (X2 / 2) * p**2 + (X3 / 3) * p**3
    beyond = X2 * (3 - 2) / (2 * 3) * p**3
    expected = (1 - p) / p * (seen + beyond) + ((X3 - X2) / 3 + X2 / 2) * p**3
    assert rank_biased_overlap(list("abc"), list("ac"), p) == pytest.approx(expected)


def test_overlap_counts_what_exactly_these_runs_share():
    table = rk.run_overlap(
        {"a": {"q": ["x", "y", "z"]}, "b": {"q": ["y", "z"]}, "c": {"q": ["z"], "p": ["z"]}}
    )
    assert table.values.tolist() == [
        [True, True, True, 1], [True, True, False, 1], [True, False, False, 1], [False, False, True, 1],
    ]  # fmt: skip
    assert len(rk.run_overlap({"a": {}})) == 0


LIST = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=8)


@given(LIST, LIST, st.sampled_from([0.5, 0.9, 1.0]))
def test_rbo_is_symmetric_and_between_0_and_1(a, b, p):
    value = rank_biased_overlap(a, b, p)
    assert 0 <= value <= 1 and value == rank_biased_overlap(b, a, p)
    assert rank_biased_overlap(a, a, p) == pytest.approx(1)


@given(st.permutations(list("abcdef")), st.permutations(list("abcdef")))
def test_tau_agrees_with_scipy(a, b):
    from scipy.stats import kendalltau

    row = rk.run_diff({"a": {"q": a}, "b": {"q": b}}).iloc[0]
    expected = kendalltau([a.index(u) for u in "abcdef"], [b.index(u) for u in "abcdef"]).statistic
    assert row["tau"] == pytest.approx(expected)


@given(st.lists(LIST, min_size=1, max_size=4))
def test_the_counts_of_an_overlap_add_up_to_the_union(lists):
    table = rk.run_overlap({f"r{n}": {"q": found} if found else {} for n, found in enumerate(lists)})
    assert table["units"].sum() == len({unit for found in lists for unit in found})
    for n, found in enumerate(lists):
        assert table.loc[table[f"r{n}"], "units"].sum() == len(found)


def test_a_unit_that_stands_twice_counts_once():
    twice = pd.DataFrame({"query_id": "q", "doc_id": ["s1", "s1", "s2"], "rank": [1, 2, 3]})
    once = pd.DataFrame({"query_id": "q", "doc_id": ["s1", "s2"], "rank": [1, 2]})
    assert rk.run_diff({"twice": twice, "once": once})["overlap"].tolist() == [1.0]
