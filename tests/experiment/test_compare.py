"""compare and per_query: what a statistician would check."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ragkit as rk
from ragkit.experiment import statistics as stats

COLUMNS = [
    "system",
    "metric",
    "mean",
    "ci_low",
    "ci_high",
    "delta",
    "p",
    "p_corrected",
    "wins",
    "ties",
    "losses",
]


def ranked(ranks):
    """A run that puts the relevant document of query n at ranks[n] (0: not at all)."""
    return {f"q{n}": [*(f"x{i}" for i in range(r - 1)), "a"] if r else ["x"] for n, r in enumerate(ranks)}


def qrels_of(n):
    return {f"q{i}": {"a": 1} for i in range(n)}


# Worked examples -------------------------------------------------------------------------------------


def test_means_differences_wins_and_the_exact_p():
    runs = {"old": ranked([2, 1, 2, 4, 2]), "new": ranked([1, 1, 1, 1, 4])}
    table = rk.compare(runs, qrels_of(5), metrics="rr", baseline="old")
    assert list(table.columns[: len(COLUMNS)]) == COLUMNS
    new = table.set_index("system").loc["new"]
    assert new["mean"] == pytest.approx((1 + 1 + 1 + 1 + 1 / 4) / 5)
    # differences 1/2, 0, 1/2, 3/4, -1/4: of the 16 sign patterns of the four, the sums that reach 3/2 are
    # +2 (all plus), 3/2 (minus on 1/4, observed), and their mirrors
    assert new["delta"] == pytest.approx(1.5 / 5)
    assert new["p"] == 4 / 16
    assert (new["wins"], new["ties"], new["losses"]) == (3, 1, 1)
    assert new["p_min"] == 2 / 2**4 and new["queries"] == 5  # four queries differ
    old = table.set_index("system").loc["old"]
    assert old["delta"] == 0 and np.isnan(old["p"]) and old["wins"] is pd.NA


def test_without_a_baseline_the_columns_are_there_and_empty():
    table = rk.compare({"a": ranked([1, 2])}, qrels_of(2), metrics=["rr", "hit@1"])
    assert list(table.columns[: len(COLUMNS)]) == COLUMNS
    assert table[["delta", "p", "p_corrected", "wins"]].isna().all(axis=None)


def test_a_metric_of_zeros_and_ones_has_the_exact_binomial_interval():
    # Clopper and Pearson, 8 of 10
    table = rk.compare({"a": ranked([1] * 8 + [2] * 2)}, qrels_of(10), metrics="hit@1")
    assert table[["ci_low", "ci_high"]].values.tolist() == [pytest.approx([0.443904, 0.974789], abs=1e-6)]


def test_holm_and_benjamini_hochberg_by_hand():
    p = np.array([0.01, 0.04, 0.03, np.nan])
    # Holm: 3 * .01, then 2 * .03, then max(.06, 1 * .04)
    assert stats.correct(p, "holm")[:3].tolist() == pytest.approx([0.03, 0.06, 0.06])
    # BH: .01 * 3 / 1, then .04 * 3 / 3, min(.04, .03 * 3 / 2)
    assert stats.correct(p, "bh")[:3].tolist() == pytest.approx([0.03, 0.04, 0.04])
    assert np.isnan(stats.correct(p, "holm")[3]) and stats.correct(p, None)[1] == 0.04


def test_by_breaks_the_table_down():
    queries = pd.DataFrame({"query_id": ["q0", "q1", "q2"], "text": "t", "kind": ["x", "y", "x"]})
    runs = {"old": ranked([2, 1, 2]), "new": ranked([1, 2, 1])}
    table = rk.compare(runs, qrels_of(3), metrics="rr", baseline="old", by="kind", queries=queries)
    means = table.set_index(["kind", "system"])["mean"]
    assert means.to_dict() == {("x", "old"): 0.5, ("x", "new"): 1.0, ("y", "old"): 1.0, ("y", "new"): 0.5}
    assert table["queries"].tolist() == [2, 2, 1, 1]
    with pytest.raises(
        ValueError, match=r"^by='colour' is no column of the queries; choose one of \['kind'\].$"
    ):
        rk.compare(runs, qrels_of(3), metrics="rr", by="colour", queries=queries)
    with pytest.raises(
        ValueError, match=r"^by='kind' needs queries=data.queries, a frame of queries with a column 'kind'.$"
    ):
        rk.compare(runs, qrels_of(3), metrics="rr", by="kind")


def test_per_query_puts_the_largest_change_first():
    runs = {"old": ranked([1, 2, 4]), "new": ranked([1, 1, 1])}
    queries = {"q0": "same", "q1": "better", "q2": "much better"}
    table = rk.per_query(runs, qrels_of(3), "rr", queries=queries)
    assert list(table.columns) == ["query_id", "text", "old", "new", "delta_new"]
    assert table["text"].tolist() == ["much better", "better", "same"]
    assert table["delta_new"].tolist() == [0.75, 0.5, 0.0]
    other = rk.per_query(runs, qrels_of(3), "rr", baseline="new")
    assert other["delta_old"].tolist() == [-0.75, -0.5, 0.0]


def scores_of(metric, **by_query):
    return pd.DataFrame({"query_id": list(by_query), "metric": metric, "value": list(by_query.values())})


def test_scores_are_compared_as_runs_are_and_need_no_judgements():
    small = scores_of("span_iou", a=0.2, b=0.5, c=0.4)
    large = scores_of("span_iou", c=0.4, b=0.75, a=0.4)  # another order of queries
    table = rk.compare({200: small, 500: large}, baseline="200")
    assert list(table.columns[: len(COLUMNS)]) == COLUMNS
    row = table.set_index("system").loc["500"]
    # differences .2, .25, 0: of the four sign patterns two, all plus and all minus, reach .45
    assert (row["mean"], row["delta"], row["p"]) == pytest.approx(((0.4 + 0.75 + 0.4) / 3, 0.45 / 3, 2 / 4))
    assert (row["wins"], row["ties"], row["losses"], row["metric"]) == (2, 1, 0, "span_iou")
    kinds = pd.DataFrame({"query_id": [*"abc"], "text": "t", "kind": ["x", "y", "y"]})
    by = rk.compare({"s": small, "l": large}, baseline="s", by="kind", queries=kinds)
    assert by[by["system"] == "l"]["delta"].tolist() == pytest.approx([0.2, 0.125])
    with pytest.raises(ValueError, match=r"needs queries=data\.queries"):
        rk.compare({"s": small, "l": large}, by="kind")


def test_scores_of_runs_give_the_table_of_the_runs():
    runs = {"old": ranked([2, 1, 2, 4, 0]), "new": ranked([1, 1, 3, 1, 4])}
    wanted = {"metrics": ["rr", "ndcg@3"], "baseline": "old"}
    direct = rk.compare(runs, qrels_of(5), **wanted)
    scores = {
        name: rk.evaluate(run, qrels_of(5), metrics=["ap", "rr", "ndcg@3"]) for name, run in runs.items()
    }
    pd.testing.assert_frame_equal(rk.compare(scores, **wanted), direct)
    mixed = rk.compare({"old": runs["old"], "new": scores["new"]}, qrels_of(5), **wanted)
    pd.testing.assert_frame_equal(mixed, direct)
    pd.testing.assert_frame_equal(rk.per_query(scores, metric="rr"), rk.per_query(runs, qrels_of(5), "rr"))
    assert rk.compare(scores)["metric"].unique().tolist() == ["ap", "rr", "ndcg@3"]


def test_metrics_that_not_all_scores_have_are_left_out_unless_asked_for():
    both = pd.concat([scores_of("span_iou", a=0.5), scores_of("precision_omega", a=0.75)])
    table = rk.compare({"with": both, "without": scores_of("span_iou", a=0.25)})
    assert table[["metric", "mean"]].values.tolist() == [["span_iou", 0.5], ["span_iou", 0.25]]
    with pytest.raises(ValueError, match=r"'without' lack metric 'precision_omega'.*span_iou"):
        rk.compare({"with": both, "without": scores_of("span_iou", a=0.25)}, metrics="precision_omega")
    assert rk.per_query({"x": scores_of("m", a=1)})["x"].tolist() == [1.0]


def test_queries_that_some_scores_lack_are_left_out_and_named():
    one, two = scores_of("m", a=0.0, b=1.0, c=0.5), scores_of("m", a=1.0, c=0.5, d=1.0)
    with pytest.warns(rk.RetrievalWarning, match=r"2 queries.*'b' and 'd'|2 queries.*'b', 'd'"):
        table = rk.compare({"one": one, "two": two})
    assert table["mean"].tolist() == [0.25, 0.75] and table["queries"].tolist() == [2, 2]
    # asked for, it is no trap
    assert rk.compare({"one": one, "two": two}, over="retrieved")["mean"].tolist() == [0.25, 0.75]
    assert rk.compare({"one": one, "two": two}, over=["c"])["mean"].tolist() == [0.5, 0.5]
    qrels = {"a": {"d": 0}, "c": {"d": 1}}
    assert rk.compare({"one": one, "two": two}, qrels, over="relevant")["mean"].tolist() == [0.5, 0.5]


@pytest.mark.parametrize(
    ("runs", "options", "message"),
    [
        ({"a": scores_of("m", q=np.nan)}, {}, "1 values that are no finite number.*'q'"),
        ({"a": pd.concat([scores_of("m", q=0.5)] * 2)}, {}, "twice; give each system a frame"),
        ({"a": scores_of("m", q=1), "b": scores_of("n", q=1)}, {}, "no metric in common"),
        ({"a": pd.concat([scores_of("m", q=1, p=1), scores_of("n", q=1)])}, {}, "'n' for 1 of 2.*'p'"),
        ({"a": scores_of("m", q=1)}, {"metrics": ["m", "m"]}, "twice"),
        ({"a": scores_of("m", q=1)}, {"over": "relevant"}, "needs qrels"),
        ({"a": scores_of("m", q=1)}, {"over": "juged"}, "Did you mean 'judged'"),
        ({"a": scores_of("m", q=1)}, {"over": ["x"]}, "over names 1 query that not every system has: 'x'"),
        ({"a": scores_of("m", q=1), "run": {"q": ["d"]}}, {}, "needs metrics= for run 'run'"),
        ({"a": scores_of("rr", q=1), "run": {"q": ["d"]}}, {"metrics": "rr"}, "'rr' needs qrels"),
        ({1: scores_of("m", q=1), "1": scores_of("m", q=1)}, {}, "two systems of one name"),
    ],
)  # fmt: skip
def test_bad_scores_say_what_to_do(runs, options, message):
    with pytest.raises(ValueError, match=message):
        rk.compare(runs, **options)


def test_per_query_says_that_it_needs_a_metric():
    with pytest.raises(ValueError, match=r"per_query needs metric= for run 'a', such as metric='ndcg@10'"):
        rk.per_query({"a": {"q": ["d"]}}, {"q": {"d": 1}})


def test_per_query_wants_one_metric():
    two = pd.concat([scores_of("m", q=1), scores_of("n", q=1)])
    for options in ({}, {"metric": ["m", "n"]}):
        with pytest.raises(ValueError, match="metric must be one metric"):
            rk.per_query({"a": two}, **options)
    assert rk.per_query({"a": two}, metric="n")["a"].tolist() == [1.0]


def test_scores_without_rows_give_a_table_without_numbers():
    empty = rk.evaluate({}, {}, metrics="rr")
    table = rk.compare({"a": empty, "b": empty}, metrics="rr", baseline="a")
    assert table["queries"].tolist() == [0, 0] and table["mean"].isna().all()


def test_systems_that_agree_everywhere_have_p_one():
    runs = {"a": ranked([1, 2, 3]), "b": ranked([1, 2, 3])}
    for test in stats.TESTS:
        row = rk.compare(runs, qrels_of(3), metrics="rr", baseline="a", test=test).iloc[1]
        assert row["p"] == 1.0 and row["ties"] == 3


def test_one_query_has_no_interval_and_no_p_below_one():
    row = rk.compare({"a": ranked([2]), "b": ranked([1])}, qrels_of(1), metrics="ndcg@5", baseline="a").iloc[
        0
    ]
    assert np.isnan(row["ci_low"]) and row["p_min"] == 1.0


def test_show_sets_a_comparison_for_reading():
    runs = {"<b>old</b>": ranked([2, 1, 2]), "new": ranked([1, 1, 4])}
    shown = rk.show(rk.compare(runs, qrels_of(3), metrics="ndcg@5", baseline="<b>old</b>"))
    assert shown.frame["won/tied/lost"].tolist() == ["–", "1/1/1"]
    assert shown.frame["mean"][1].startswith("0.810 [") and shown.frame["p"].tolist() == ["–", "1.0000"]
    assert "<b>" not in shown._repr_html_() and "&lt;b&gt;old" in shown._repr_html_()


def test_a_query_that_a_run_lacks_counts_zero_for_it():
    runs = {"all": ranked([1, 1]), "half": {"q0": ["a"]}}
    table = rk.compare(runs, qrels_of(2), metrics="rr")
    assert table["mean"].tolist() == [1.0, 0.5]
    assert rk.compare(runs, qrels_of(2), metrics="rr", over="retrieved")["queries"].tolist() == [1, 1]


def test_warnings_come_once_and_name_the_run():
    runs = {"good": ranked([1]), "odd": {"q0": ["A"], "q9": ["a"]}}
    with pytest.warns(rk.RetrievalWarning) as caught:
        rk.compare(runs, qrels_of(1), metrics="rr")
    assert len(caught) == 2 and all("'odd'" in str(w.message) for w in caught)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"runs": ranked([1]), "baseline": None}, TypeError, None),
        ({"runs": {}}, TypeError, "dict of name to run"),
        ({"runs": [ranked([1])]}, TypeError, "dict of name to run"),
        ({"baseline": "nwe"}, ValueError, "Did you mean 'new'"),
        ({"test": "anova"}, ValueError, "unknown test"),
        ({"correction": "bonferroni"}, ValueError, "unknown correction"),
        ({"ci": 95}, ValueError, "ci must be"),
        ({"ci": 1}, ValueError, "below 1"),
        ({"resamples": -1}, ValueError, "resamples"),
    ],
)
def test_bad_input_says_what_to_do(change, error, message):
    good = {"runs": {"old": ranked([1]), "new": ranked([2])}, "baseline": "old"}
    call = good | change
    if message is None:  # one run that looks like a dict of runs
        with pytest.raises((TypeError, ValueError)):
            rk.compare(call["runs"], qrels_of(1), metrics="rr")
        return
    with pytest.raises(error, match=message):
        rk.compare(call.pop("runs"), qrels_of(1), metrics="rr", **call)


# Laws ------------------------------------------------------------------------------------------------

differences = st.lists(st.sampled_from([-0.5, -1 / 3, 0.0, 0.1, 0.3, 0.3, 1.0]), min_size=1, max_size=10)


@given(differences)
def test_exact_p_equals_the_count_over_all_sign_patterns(d):
    d = np.array(d)
    sums = [abs(sum(s * x for s, x in zip(signs, d))) for signs in itertools.product([1, -1], repeat=len(d))]
    expected = np.mean([s >= abs(d.sum()) - 1e-12 for s in sums])
    assert stats.exact_randomization(d) == pytest.approx(expected, abs=1e-12)


@given(differences)
def test_p_does_not_depend_on_the_sign_or_the_unit(d):
    d = np.array(d)[:, None]
    for test in ("randomization", "wilcoxon"):
        p = stats.p_values(d, test, resamples=99, random_state=0)
        for other in (-d, 4 * d):
            assert stats.p_values(other, test, resamples=99, random_state=0) == pytest.approx(p)


def test_sampled_p_is_near_the_exact_one_and_never_zero():
    rng = np.random.default_rng(3)
    d = rng.normal(0.1, 0.4, (30, 1))
    exact = stats.exact_randomization(d[:, 0])
    sampled = stats._sampled_randomization(d, 20_000, 0)[0]
    assert sampled == pytest.approx(exact, abs=0.01)
    assert stats._sampled_randomization(np.ones((60, 1)), 999, 0)[0] == 1 / 1000


def test_intervals_cover_the_mean_about_as_often_as_they_say():
    rng = np.random.default_rng(11)
    x = rng.beta(0.6, 0.9, (40, 300))  # 300 experiments of 40 queries each, skewed as metrics are
    low, high = stats.bca(x, ci=0.9, resamples=1000, random_state=0)
    covered = np.mean((low <= 0.4) & (high >= 0.4))
    assert 0.84 <= covered <= 0.95


def test_results_repeat_and_do_not_depend_on_other_systems():
    runs = {"a": ranked([1, 2, 3, 0] * 12), "b": ranked([2, 1, 1, 0] * 12), "c": ranked([4, 0, 1, 1] * 12)}
    kwargs = {"metrics": ["rr", "ndcg@3"], "baseline": "a", "correction": None}
    all_three = rk.compare(runs, qrels_of(48), **kwargs)
    pd.testing.assert_frame_equal(all_three, rk.compare(runs, qrels_of(48), **kwargs))
    two = rk.compare({"a": runs["a"], "c": runs["c"]}, qrels_of(48), **kwargs)
    rest = all_three[all_three["system"] != "b"].reset_index(drop=True)
    pd.testing.assert_frame_equal(two, rest)


# Parity with scipy -----------------------------------------------------------------------------------


def test_equal_to_scipy():
    from scipy import stats as scipy_stats

    rng = np.random.default_rng(1)
    x = rng.exponential(1.0, 50)
    ours = stats.bca(x[:, None], ci=0.9, resamples=20_000, random_state=0)
    theirs = scipy_stats.bootstrap(
        (x,), np.mean, confidence_level=0.9, n_resamples=20_000, method="BCa", rng=np.random.default_rng(5)
    ).confidence_interval
    assert [ours[0][0], ours[1][0]] == pytest.approx(list(theirs), rel=0.02)
    d = rng.choice([-0.5, 0.1, 0.3, 0.0], 11)
    exact = scipy_stats.permutation_test(
        (d,), lambda v, axis: v.sum(axis), permutation_type="samples", vectorized=True, n_resamples=np.inf
    )
    assert stats.exact_randomization(d) == pytest.approx(exact.pvalue)
    d = rng.normal(0.1, 1, (20, 3))
    assert stats.p_values(d, "t", resamples=9, random_state=0) == pytest.approx(
        scipy_stats.ttest_1samp(d, 0).pvalue
    )
