"""fuse: worked examples, the reported bad inputs, laws, and equality with other implementations."""

import json
from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ragkit as rk
from ragkit.fusion import align
from ragkit.fusion.methods import METHODS
from ragkit.fusion.normalize import NORMALIZERS

GOLDEN = Path(__file__).parents[1] / "golden"
SCORE_METHODS = [name for name, method in METHODS.items() if not method.by_rank]
RANK_METHODS = [name for name, method in METHODS.items() if method.by_rank]
LEDGER = ["rank", "score", "normalized", "contribution"]


def order(frame, query="q"):
    return frame.loc[frame["query_id"] == query, "doc_id"].tolist()


def scores(frame):
    return dict(zip(frame["doc_id"], frame["score"]))


def lists(*runs):
    return {f"r{n}": {"q": run} for n, run in enumerate(runs)}


# --- worked examples -------------------------------------------------------------------------------------


def test_rrf_adds_one_over_k_plus_rank():
    # FUS-06: d1 = 1/62 + 1/61, d3 = 1/61 + 1/63, d4 = 1/62, d2 = 1/63
    fused = rk.fuse(lists(["d3", "d1", "d2"], ["d1", "d4", "d3"]))
    assert order(fused) == ["d1", "d3", "d4", "d2"]
    expected = {"d1": 0.032522, "d3": 0.032266, "d4": 0.016129, "d2": 0.015873}
    assert scores(fused) == pytest.approx(expected, abs=1e-6)


def test_rrf_takes_its_constant_from_k():
    # FUS-07: z stands at 5 and 3; 1/65 + 1/63 > 1/61, but 1/6 + 1/4 < 1/2
    runs = lists(["p", "q", "r", "o", "z"], ["s", "t", "z", "u", "v"])
    default, small = rk.fuse(runs), rk.fuse(runs, k=1)
    assert order(default)[0] == "z" and scores(default)["z"] == pytest.approx(0.031258, abs=1e-6)
    assert set(order(small)[:2]) == {"p", "s"} and scores(small)["z"] == pytest.approx(0.416667, abs=1e-6)


def test_rrf_weights_multiply():
    # FUS-13: a at [4, 1] is 4/61 + 1/62
    runs = lists(["a", "b"], ["c", "a"])
    assert order(rk.fuse(runs, weights=[1, 1])) == ["a", "c", "b"]
    assert order(rk.fuse(runs, weights=[4, 1])) == ["a", "b", "c"]
    assert order(rk.fuse(runs, weights=[1, 4])) == ["a", "c", "b"]
    assert scores(rk.fuse(runs, weights={"r0": 4, "r1": 1}))["a"] == pytest.approx(0.081703, abs=1e-6)


def test_linear_with_minmax_keeps_the_weakest_hits_at_zero():
    # FUS-03: a = .5 * 1, b = .5 * (6-2)/(10-2) + .5 * 1, c and d are their lists' last
    fused = rk.fuse(
        lists({"a": 10.0, "b": 6.0, "c": 2.0}, {"b": 0.9, "d": 0.5}), method="linear", weights=[0.5, 0.5]
    )
    assert order(fused) == ["b", "a", "d", "c"]  # d before c: equal scores, larger id first
    assert scores(fused) == {"a": 0.5, "b": 0.75, "c": 0.0, "d": 0.0}


def test_minmax_stretches_a_tiny_lead_and_fixed_bounds_do_not():
    # FUS-25: min-max gives A .6 and B .4; with the cosine's range [-1, 1] as fixed bounds the lead stays tiny
    runs = {"bm25": {"q": {"A": 4.0, "B": 4.2}}, "cosine": {"q": {"A": 0.516, "B": 0.512}}}
    weights = {"bm25": 0.4, "cosine": 0.6}
    assert scores(rk.fuse(runs, method="linear", weights=weights)) == pytest.approx({"A": 0.6, "B": 0.4})
    fixed = rk.fuse(
        runs,
        method="linear",
        weights=weights,
        normalize={"cosine": lambda s: (s + 1) / 2},
    )
    assert scores(fixed) == pytest.approx({"A": 0.4548, "B": 0.8536})


def test_every_ledger_column_is_there_and_means_what_it_says():
    keyword = {"q": {"fox": 9.0, "hen": 4.0, "elk": 1.0}}
    vector = {"q": {"hen": 0.8, "owl": 0.5}}
    fused = rk.fuse({"keyword": keyword, "vector": vector}, method="linear", weights=[0.3, 0.7])
    assert list(fused.columns) == [
        "query_id", "doc_id", "rank", "score", "relative_score", "source",
        *(f"keyword_{c}" for c in LEDGER), *(f"vector_{c}" for c in LEDGER),
    ]  # fmt: skip
    hen = fused.iloc[0]
    # keyword (4-1)/(9-1) = .375, vector 1: .3 * .375 + .7 = .8125, of at most .3 + .7
    assert hen["doc_id"] == "hen" and hen["source"] == "keyword+vector"
    assert hen["keyword_rank"] == 2 and hen["keyword_score"] == 4 and hen["keyword_normalized"] == 0.375
    assert hen["keyword_contribution"] == pytest.approx(0.1125) and hen["vector_contribution"] == 0.7
    assert hen["score"] == pytest.approx(0.8125) and hen["relative_score"] == pytest.approx(0.8125)
    owl = fused[fused["doc_id"] == "owl"].iloc[0]
    assert owl["source"] == "vector" and np.isnan(owl["keyword_rank"]) and np.isnan(owl["keyword_score"])
    assert owl["keyword_normalized"] == 0 and owl["keyword_contribution"] == 0


def test_relative_score_divides_by_the_most_that_the_weights_allow():
    # first in both lists is 1, first in the heavier list alone is its share of the weights
    fused = rk.fuse({"a": {"q": ["x", "y"]}, "b": {"q": ["x", "z"]}}, weights={"a": 1, "b": 3})
    relative = dict(zip(fused["doc_id"], fused["relative_score"]))
    assert relative["x"] == 1.0
    assert relative["z"] == pytest.approx(0.75 * 61 / 62)
    lonely = rk.fuse({"a": {"q": ["x"]}, "b": {"q": ["y"]}}, weights={"a": 1, "b": 3})
    assert lonely["relative_score"].tolist() == [0.75, 0.25]


def test_isr_borda_condorcet_by_hand():
    runs = lists(["a", "b", "c"], ["b", "d"])
    # isr: b = 2 * (1/4 + 1) = 2.5, a = 1, d = 1/4, c = 1/9
    assert scores(rk.fuse(runs, method="isr")) == pytest.approx({"a": 1, "b": 2.5, "c": 1 / 9, "d": 0.25})
    # borda, c = 4: r0 gives 4, 3, 2 and (4 - 3 + 1)/2 = 1 to d; r1 gives b 4, d 3, and 1.5 to a and c
    assert scores(rk.fuse(runs, method="borda")) == {"a": 5.5, "b": 7.0, "c": 3.5, "d": 4.0}
    # duels: b beats c, d and draws with a (one vote each); a beats c (r0), draws with d; d draws with c
    assert scores(rk.fuse(runs, method="condorcet")) == {"a": 2.0, "b": 2.5, "c": 0.5, "d": 1.0}


def test_max_min_median_mnz_anz_by_hand():
    runs = {"a": {"q": {"x": 3.0, "y": 1.0}}, "b": {"q": {"x": 1.0, "z": 5.0}}, "c": {"q": {"x": 2.0}}}
    expected = {
        "max": {"x": 3, "y": 1, "z": 5},
        "min": {"x": 1, "y": 1, "z": 5},
        "median": {"x": 2, "y": 1, "z": 5},
        "mnz": {"x": 18, "y": 1, "z": 5},
        "anz": {"x": 2, "y": 1, "z": 5},
        "sum": {"x": 6, "y": 1, "z": 5},
    }
    for method, values in expected.items():
        assert scores(rk.fuse(runs, method=method, normalize="none")) == values, method


def test_the_column_of_the_deciding_run_holds_the_score():
    runs = {"a": {"q": {"x": 3.0, "y": 1.0}}, "b": {"q": {"x": 1.0, "y": 4.0}}}
    fused = rk.fuse(runs, method="max", normalize="none").set_index("doc_id")
    assert fused.loc["y", ["a_contribution", "b_contribution"]].tolist() == [0, 4]
    assert fused.loc["x", ["a_contribution", "b_contribution"]].tolist() == [3, 0]


def test_every_normaliser_by_hand():
    values = {"a": 6.0, "b": 2.0, "c": 1.0}  # sum 9, mean 3, population variance 14/3, sample 7
    sigma, sample = np.sqrt(14 / 3), np.sqrt(7)
    expected = {
        "none": [6, 2, 1],
        "minmax": [1, 0.2, 0],
        "max": [1, 1 / 3, 1 / 6],
        "sum": [5 / 6, 1 / 6, 0],
        "zscore": [3 / sigma, -1 / sigma, -2 / sigma],
        "rank": [1, 2 / 3, 1 / 3],
        "borda": [1, 2 / 3, 1 / 3],
        "l2": [6 / np.sqrt(41), 2 / np.sqrt(41), 1 / np.sqrt(41)],
        "theoretical_min": [1, 1 / 3, 1 / 6],
        "sigmoid": [1 / (1 + np.exp(-x)) for x in (6, 2, 1)],
        "dbsf": [0.5 + x / (6 * sample) for x in (3, -1, -2)],
        "dbsf_population": [0.5 + x / (6 * sigma) for x in (3, -1, -2)],
    }
    assert set(expected) == set(NORMALIZERS)
    for how, numbers in expected.items():
        fused = rk.fuse({"r": {"q": values}}, method="sum", normalize=how, missing="zero")
        assert fused["r_normalized"].tolist() == pytest.approx(numbers), how


@pytest.mark.parametrize(
    ("how", "lone", "equal"),
    [("minmax", 1, 1), ("max", 1, 1), ("sum", 1, 0.5), ("zscore", 0, 0), ("l2", 1, np.sqrt(0.5)),
     ("theoretical_min", 1, 1), ("dbsf", 0.5, 0.5), ("dbsf_population", 0.5, 0.5), ("rank", 1, None),
     ("borda", 1, None)],
)  # fmt: skip
def test_flat_lists_have_a_stated_value_whatever_their_scale(how, lone, equal):
    for scale in (1e-6, 14.2, 1e9):
        options = {"method": "sum", "normalize": how, "missing": "zero"}
        if how == "minmax":
            with pytest.warns(rk.RetrievalWarning, match="min-max of a single hit"):
                one = rk.fuse({"r": {"q": {"a": scale}}}, **options)
        else:
            one = rk.fuse({"r": {"q": {"a": scale}}}, **options)
        assert one["score"].tolist() == [pytest.approx(lone)]
        if equal is not None:
            two = rk.fuse({"r": {"q": {"a": scale, "b": scale}}}, **options)
            assert two["score"].tolist() == [pytest.approx(equal)] * 2


@pytest.mark.parametrize(
    ("policy", "absent"), [("zero", 0.0), ("ignore", 0.0), ("list_min", 0.25), ("theoretical_min", 0.0)]
)
def test_what_a_run_lacks_is_worth_what_the_policy_says(policy, absent):
    # normalised by its best, run b gives x 1 and y 2/8; z is missing there
    runs = {"a": {"q": {"z": 4.0}}, "b": {"q": {"x": 8.0, "y": 2.0}}}
    fused = rk.fuse(runs, method="linear", normalize="max", missing=policy).set_index("doc_id")
    assert fused.loc["z", "b_contribution"] == absent
    assert fused.loc["z", "score"] == 1.0 + absent
    assert np.isnan(fused.loc["z", "b_normalized"]) == (policy == "ignore")


def test_the_theoretical_minimum_is_told_by_run():
    # the cosine list spans [.2, .8], its floor is -1: (s + 1) / 1.8
    runs = {"bm25": {"q": {"a": 4.0, "b": 2.0}}, "cosine": {"q": {"c": 0.8, "a": 0.2}}}
    fused = rk.fuse(runs, method="tm2c2", minimum={"cosine": -1}).set_index("doc_id")
    assert fused.loc["a", "cosine_normalized"] == pytest.approx(1.2 / 1.8)
    assert fused.loc["b", "score"] == pytest.approx(0.5)
    with pytest.raises(ValueError, match="at or above the minimum 0"):
        rk.fuse({"cosine": {"q": {"a": -0.5}}}, method="tm2c2")


def test_a_callable_gives_exact_scores_of_what_a_run_lacks():
    asked = []

    def scorer(pairs):
        asked.append(pairs)
        return np.full(len(pairs), 2.0)

    runs = {"a": {"q": {"x": 8.0, "y": 4.0}}, "b": {"q": {"z": 1.0}}}
    fused = rk.fuse(runs, method="sum", normalize="none", missing={"a": scorer}).set_index("doc_id")
    assert asked[0][["query_id", "doc_id"]].values.tolist() == [["q", "z"]]
    assert fused.loc["z", "score"] == 3.0 and fused.loc["z", "a_score"] == 2.0
    assert np.isnan(fused.loc["z", "a_rank"]) and fused.loc["z", "source"] == "b"


def test_a_callable_method_gets_arrays_by_query_and_may_return_contributions():
    runs = {"a": {"q": {"x": 2.0, "y": 1.0}, "p": {"x": 5.0}}, "b": {"q": {"x": 3.0}}}
    seen = []

    def product(scores, ranks, weights):
        seen.append((scores, ranks, weights))
        return np.nanprod(scores, axis=1)

    fused = rk.fuse(runs, method=product, weights=[1, 2])
    assert scores(fused[fused["query_id"] == "q"]) == {"x": 6.0, "y": 1.0}
    assert np.isnan(seen[0][0]).tolist() == [[False, False], [False, True]]
    assert seen[0][1][0].tolist() == [1, 1] and seen[0][2].tolist() == [1, 2]
    parted = rk.fuse(runs, method=lambda s, r, w: np.nan_to_num(w * s))
    assert parted.loc[parted["query_id"] == "q", "b_contribution"].tolist() == [3.0, 0.0]
    with pytest.raises(ValueError, match="must return"):
        rk.fuse(runs, method=lambda s, r, w: s.sum())


# --- reported bad input ----------------------------------------------------------------------------------


def test_equal_scores_normalise_without_nan_or_warning():
    # FUS-01
    fused = rk.fuse(lists({"a": 3.0, "b": 3.0}, {"b": 0.9, "c": 0.1}), method="linear", weights=[0.5, 0.5])
    assert np.isfinite(fused["score"]).all() and order(fused)[0] == "b"
    assert fused["r0_normalized"].dropna().tolist()[:2] == [1.0, 1.0]


@pytest.mark.parametrize("method", sorted(METHODS))
def test_units_of_one_run_alone_stay(method):
    # FUS-04
    fused = rk.fuse(lists({"a": 2.0, "b": 1.0}, {"b": 4.0, "c": 3.0}), method=method)
    assert sorted(order(fused)) == ["a", "b", "c"]


def test_a_repeat_in_one_run_counts_once_and_the_ranks_close_up():
    # FUS-09: s2 has rank 2 and 1
    fused = rk.fuse(lists(["s1", "s1", "s1", "s2"], ["s2", "s3"]))
    assert order(fused) == ["s2", "s1", "s3"]
    assert scores(fused)["s2"] == pytest.approx(1 / 61 + 1 / 62) and scores(fused)["s1"] == 1 / 61
    assert fused.set_index("doc_id").loc["s2", "r0_rank"] == 2


def test_equal_texts_under_two_ids_stay_two():
    # FUS-11
    a = rk.as_run({"q": ["p1"]}).assign(text="See annex.", page=1)
    b = a.assign(doc_id="p9", page=9)
    fused = rk.fuse({"a": a, "b": b})
    assert sorted(order(fused)) == ["p1", "p9"] and fused["score"].tolist() == [1 / 61] * 2
    assert dict(zip(fused["doc_id"], fused["page"])) == {"p1": 1, "p9": 9}


@pytest.mark.parametrize(
    "weights",
    [[0.5], [0.3, 0.3, 0.4], [-1, 2], [float("nan"), 1], [0, 0], ["0.5", 0.5], [True, 1], [float("inf"), 1],
     {"r0": 1}, {"r0": 1, "r1": 1, "r2": 1}, "11", 0.5],
)  # fmt: skip
def test_invalid_weights_are_refused(weights):
    # FUS-15
    with pytest.raises((ValueError, TypeError), match="weight"):
        rk.fuse(lists(["a"], ["b"]), weights=weights)


def test_distances_are_noticed_where_scores_matter_and_harmless_by_rank():
    # FUS-17
    run = pd.DataFrame(
        {"query_id": "q", "doc_id": ["near", "mid", "far"], "rank": [1, 2, 3], "score": [0.1, 0.7, 1.9]}
    )
    with pytest.warns(rk.RetrievalWarning, match="rise with its ranks"):
        rk.fuse({"vector": run}, method="linear")
    assert order(rk.fuse({"vector": run})) == ["near", "mid", "far"]
    assert order(rk.fuse({"vector": run.assign(score=1 - run["score"])}, method="linear"))[0] == "near"


@pytest.mark.parametrize("method", ["linear", "max", "rrf"])
@pytest.mark.parametrize("bad", [None, float("nan"), float("inf")])
def test_scores_that_are_no_numbers_are_refused_by_run_and_unit(method, bad):
    # FUS-19
    with pytest.raises(ValueError, match=r"run 'r1'.*unit 'd'"):
        rk.fuse(lists({"a": 2.0}, {"a": 1.0, "d": bad}), method=method)


def test_any_number_of_runs_empty_ones_too():
    # FUS-21
    empty = {}
    assert order(rk.fuse({"r0": empty, "r1": {"q": ["a", "b"]}})) == ["a", "b"]
    assert order(rk.fuse(lists(["a", "b"]))) == ["a", "b"]
    assert len(rk.fuse({"r0": empty, "r1": empty})) == 0
    three = rk.fuse(lists(["a", "b"], ["b", "c"], ["c", "b"]))
    assert order(three) == ["b", "c", "a"] and scores(three)["b"] == pytest.approx(0.048652, abs=1e-6)
    with pytest.raises(ValueError, match="at least one run"):
        rk.fuse({})


def test_runs_are_cut_after_fusing():
    # FUS-23
    fused = rk.fuse(lists([f"v{i}" for i in range(1, 101)], ["kw1", "kw2"]), top_k=20)
    found = sorted(int(u[1:]) for u in order(fused) if u[0] == "v")
    assert len(fused) == 20 and found == list(range(1, len(found) + 1))


def test_a_list_of_runs_is_named_by_number():
    assert "run_2_rank" in rk.fuse([{"q": ["a"]}, {"q": ["b"]}]).columns


@pytest.mark.parametrize("name", ["relative", "previous", "rank", "score", "source", "doc_id", "a+b"])
def test_names_that_collide_with_the_ledger_are_refused(name):
    with pytest.raises(ValueError, match="name of a run"):
        rk.fuse({name: {"q": ["a"]}})


@pytest.mark.parametrize(
    ("options", "message"),
    [({"method": "rff"}, "Did you mean 'rrf'"), ({"method": "linear", "normalize": "min-max"}, "minmax"),
     ({"method": "linear", "missing": "nil"}, "unknown missing"), ({"normalize": "minmax"}, "ranks alone"),
     ({"missing": "zero"}, "ranks alone"), ({"k": -1}, "k must be"), ({"top_k": -1}, "top_k"),
     ({"top_k": True}, "top_k"), ({"top_k": 1.5}, "top_k"),
     ({"method": "linear", "missing": "score"}, "HybridSearch"),
     ({"method": "linear", "normalize": {"x": "max"}}, "normalize names 'x'")],
)  # fmt: skip
def test_options_out_of_range_say_what_is_valid(options, message):
    with pytest.raises(ValueError, match=message):
        rk.fuse(lists(["a", "b"], ["b"]), **options)


def test_chunks_and_documents_do_not_mix():
    chunks = rk.as_run({"q": ["a"]}).assign(chunk_id="a#0")
    with pytest.raises(ValueError, match="best_per_doc"):
        rk.fuse({"c": chunks, "d": {"q": ["a"]}})
    fused = rk.fuse({"c": chunks, "d": rk.as_run({})})  # an empty run fits either
    assert fused[["chunk_id", "doc_id"]].values.tolist() == [["a#0", "a"]]


def test_zscores_with_the_default_for_the_missing_warn():
    runs = lists({"a": 3.0, "b": 1.0}, {"a": 1.0, "c": 0.5})
    with pytest.warns(rk.RetrievalWarning, match="counts as its mean"):
        rk.fuse(runs, method="linear", normalize="zscore")
    rk.fuse(runs, method="linear", normalize="zscore", missing="zero")  # said on purpose: no warning


@pytest.mark.parametrize("method", sorted(METHODS))
def test_empty_runs_give_the_columns_and_dtypes_of_full_ones(method):
    full = rk.fuse(lists({"a": 2.0, "b": 1.0}, {"b": 2.0, "c": 1.0}), method=method)
    nothing = rk.fuse({"r0": rk.as_run({}), "r1": {}}, method=method)
    for empty in (
        nothing,
        rk.fuse(lists({"a": 2.0, "b": 1.0}, {"b": 2.0, "c": 1.0}), method=method, top_k=0),
    ):
        assert len(empty) == 0 and empty.dtypes.equals(full.dtypes)


def test_extra_columns_travel_with_the_best_ranked_row():
    a = rk.as_run({"q": ["x", "y"]}).assign(note=["ax", "ay"])
    b = rk.as_run({"q": ["y", "z"]}).assign(note=["by", "bz"])
    fused = rk.fuse({"a": a, "b": b}, top_k=3)
    assert dict(zip(fused["doc_id"], fused["note"])) == {"x": "ax", "y": "by", "z": "bz"}


@pytest.mark.parametrize("how", ["minmax", "max", "sum", "zscore", "l2", "dbsf", "theoretical_min"])
@pytest.mark.parametrize("size", [1e-250, 1e300])
def test_enormous_and_tiny_scores_normalise_as_ordinary_ones_do(how, size):
    def at(scale):
        runs = {"a": {"q": {"x": 1.5 * scale, "y": 1.0 * scale, "z": 0.25 * scale}}, "b": {"q": ["x"]}}
        return rk.fuse(runs, method="linear", normalize={"a": how, "b": "max"}, missing="theoretical_min")

    assert at(size)["a_normalized"].tolist() == pytest.approx(at(1.0)["a_normalized"].tolist())


def test_weights_may_be_a_series():
    fused = rk.fuse(lists(["a"], ["b"]), weights=pd.Series({"r0": 1.0, "r1": 2.0}))
    assert order(fused) == ["b", "a"]


def test_inputs_are_not_modified():
    a = pd.DataFrame({"query_id": "q", "doc_id": ["y", "x"], "rank": [2, 1], "score": [1.0, 2.0]})
    before = a.copy()
    rk.fuse({"a": a}, method="linear")
    pd.testing.assert_frame_equal(a, before)


# --- laws ------------------------------------------------------------------------------------------------

IDS = [f"d{n}" for n in range(8)]
RUN = st.dictionaries(
    st.sampled_from(["q1", "q2", "q3"]),
    st.dictionaries(st.sampled_from(IDS), st.integers(-20, 20).map(lambda n: n / 4), min_size=2, max_size=8),
    max_size=3,
)
RUNS = st.lists(RUN, min_size=1, max_size=4)
ADDITIVE = [m for m in METHODS if m not in ("tm2c2",)]


def quiet(runs, **options):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rk.RetrievalWarning)
        return rk.fuse(runs, **options)


@given(RUNS, st.sampled_from(ADDITIVE), st.lists(st.integers(1, 5), min_size=4, max_size=4))
def test_contributions_add_up_to_the_score(runs, method, weights):
    fused = quiet(runs, method=method, weights=weights[: len(runs)])
    parts = fused[[c for c in fused if c.endswith("_contribution")]].to_numpy()
    assert np.allclose(parts.sum(axis=1), fused["score"], rtol=0, atol=1e-12)
    assert fused["relative_score"].between(0, 1).all()


@given(RUNS, st.sampled_from(ADDITIVE))
def test_ranks_run_from_one_and_scores_fall(runs, method):
    fused = quiet(runs, method=method)
    for _, rows in fused.groupby("query_id"):
        assert rows["rank"].tolist() == list(range(1, len(rows) + 1))
        assert (np.diff(rows["score"]) <= 1e-12).all()
    pairs = {(q, d) for run in runs for q, found in run.items() for d in found}
    assert set(zip(fused["query_id"], fused["doc_id"])) == pairs


@given(RUNS, st.sampled_from([m for m in ADDITIVE if m != "median"]), st.randoms(use_true_random=False))
def test_the_order_of_runs_and_rows_changes_nothing(runs, method, random):
    named = {f"r{n}": rk.as_run(run) for n, run in enumerate(runs)}
    straight = quiet(named, method=method)
    mixed = list(named.items())
    random.shuffle(mixed)
    shuffled = {n: r.sample(frac=1, random_state=random.randrange(99)) for n, r in mixed}
    other = quiet(shuffled, method=method)
    key = ["query_id", "doc_id"]
    joined = straight.merge(other, on=key)
    assert len(joined) == len(straight) == len(other)
    assert np.allclose(joined["score_x"], joined["score_y"])
    assert (joined["rank_x"] == joined["rank_y"]).all()


@given(RUN, st.sampled_from(["rrf", "linear", "max", "borda", "isr", "condorcet", "mnz"]))
def test_one_run_keeps_its_order(run, method):
    fused = quiet({"a": run}, method=method, normalize=None)
    before = rk.as_run(run)
    for query, rows in before.groupby("query_id"):
        assert order(fused, query) == rows["doc_id"].tolist()


@given(RUNS, st.sampled_from(["linear", "max", "mnz", "dbsf"]), st.integers(1, 9), st.integers(-9, 9))
def test_minmax_and_dbsf_ignore_scale_and_shift(runs, method, factor, shift):
    moved = [{q: {d: s * factor + shift for d, s in f.items()} for q, f in run.items()} for run in runs]
    a, b = quiet(runs, method=method), quiet(moved, method=method)
    joined = a.merge(b, on=["query_id", "doc_id"])
    assert np.allclose(joined["score_x"], joined["score_y"])


@given(RUNS, st.sampled_from(sorted(METHODS)))
def test_weight_zero_is_the_run_left_out(runs, method):
    if method == "tm2c2":
        runs = [{q: {d: abs(s) for d, s in f.items()} for q, f in run.items()} for run in runs]
    named = {f"r{n}": run for n, run in enumerate(runs)}
    less = quiet(named | {"extra": {"q1": {"new": 1.0, "d1": 0.5}}}, method=method,
                 weights=dict.fromkeys(named, 2.0) | {"extra": 0})  # fmt: skip
    pd.testing.assert_frame_equal(less, quiet(named, method=method, weights=dict.fromkeys(named, 2.0)))


@given(RUNS, st.integers(0, 5))
def test_top_k_is_the_head_of_the_whole(runs, top_k):
    whole = quiet(runs, method="linear")
    cut = quiet(runs, method="linear", top_k=top_k)
    pd.testing.assert_frame_equal(cut, whole[whole["rank"] <= top_k].reset_index(drop=True))


def half_the_best(scores, ranks, weights):
    return np.nan_to_num(scores) * weights / 2


@given(RUNS, st.sampled_from([*ADDITIVE, half_the_best]), st.sampled_from([None, 0, 2]), st.integers(1, 9))
def test_fusing_a_few_queries_at_a_time_gives_what_all_at_once_gives(runs, method, top_k, slots):
    frames = {f"r{n}": rk.as_run(run) for n, run in enumerate(runs)}
    frames["r0"] = frames["r0"].assign(note=np.arange(len(frames["r0"])))
    by_rank = method in RANK_METHODS
    options = {"method": method, "top_k": top_k, "missing": None if by_rank else "list_min"}
    whole = quiet(frames, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(align, "_SLOTS", slots)
        patch.setattr(align, "_CELLS", slots)
        pd.testing.assert_frame_equal(quiet(frames, **options), whole, check_exact=True)


REPEATS = st.dictionaries(st.sampled_from(["q1", "q2", "q3"]), st.lists(st.sampled_from(IDS), min_size=1))


@given(st.lists(REPEATS, min_size=1, max_size=3))
def test_repeats_count_as_if_they_had_never_been_there(runs):
    once = [{query: list(dict.fromkeys(found)) for query, found in run.items()} for run in runs]
    kept = ["query_id", "doc_id", "rank", "score", "source"]
    kept += [f"run_{number}_rank" for number in range(1, len(runs) + 1)]
    pd.testing.assert_frame_equal(rk.fuse(runs)[kept], rk.fuse(once)[kept], check_exact=True)


@given(st.permutations([str(n) for n in range(200)]), st.lists(st.integers(0, 199), min_size=1))
def test_a_few_ids_sort_as_they_do_among_all(ids, numbers):
    held = pd.Index([*ids, *(f"other {n}" for n in range(600))])
    taken = [ids[number] for number in numbers]
    few, among_all = align._Order(), align._Order(asked=len(held))
    for order in (few.of(held, np.array(numbers)), among_all.of(held, np.array(numbers))):
        assert [taken[row] for row in np.argsort(order)] == sorted(taken)
        assert len(set(order.tolist())) == len(set(taken))
    assert (few.place is None) == (len(numbers) < 100) and among_all.place is not None


@given(RUNS)
def test_categorical_ids_give_the_same_and_stay_categorical(runs):
    frames = {f"r{n}": rk.as_run(run) for n, run in enumerate(runs)}
    coded = {n: f.astype({"query_id": "category", "doc_id": "category"}) for n, f in frames.items()}
    plain, other = quiet(frames), quiet(coded)
    assert isinstance(other["doc_id"].dtype, pd.CategoricalDtype)
    other = other.astype({"query_id": plain["query_id"].dtype, "doc_id": plain["doc_id"].dtype})
    pd.testing.assert_frame_equal(plain, other)


@given(RUNS, st.sampled_from(["linear", "mnz", "anz", "max", "min", "median"]),
       st.sampled_from(["minmax", "max", "sum", "zscore", "l2", "none", "dbsf"]),
       st.sampled_from(["zero", "ignore", "list_min"]))  # fmt: skip
def test_score_methods_equal_the_formula_written_out(runs, method, how, policy):
    fused = quiet(runs, method=method, normalize=how, missing=policy)
    got = {(q, d): s for q, d, s in zip(fused["query_id"], fused["doc_id"], fused["score"])}
    assert got == pytest.approx(by_the_book(runs, method, how, policy), abs=1e-9)


def by_the_book(runs, method, how, policy):
    """The definitions in plain Python."""
    out = {}
    queries = {q for run in runs for q in run}
    for q in queries:
        lists_of = [normal(run.get(q, {}), how) for run in runs]
        for d in {d for found in lists_of for d in found}:
            values = []
            for found in lists_of:
                low = min(found.values(), default=0.0)
                value = found.get(d, {"zero": 0.0, "ignore": None, "list_min": low}[policy])
                if value is not None:
                    values.append(value)
            hits = sum(d in found for found in lists_of)
            out[q, d] = {
                "linear": sum(values), "mnz": hits * sum(values), "anz": sum(values) / max(len(values), 1),
                "max": max(values), "min": min(values), "median": float(np.median(values)),
            }[method]  # fmt: skip
    return out


def normal(found, how):
    if not found:
        return {}
    x = np.array(list(found.values()))
    n, low, high = len(x), x.min(), x.max()
    flat = {"minmax": 1, "sum": 1 / n, "zscore": 0, "dbsf": 0.5, "max": 1}.get(how)
    if low == high and flat is not None:
        y = np.full(n, flat)
    elif how == "l2":
        y = x / np.sqrt((x**2).sum()) if x.any() else np.full(n, 1 / np.sqrt(n))
    elif how == "minmax" or (how == "max" and high <= 0):
        y = (x - low) / (high - low)
    else:
        y = {
            "max": lambda: x / high, "sum": lambda: (x - low) / (x - low).sum(),
            "zscore": lambda: (x - x.mean()) / x.std(), "none": lambda: x,
            "dbsf": lambda: (x - x.mean() + 3 * x.std(ddof=1)) / (6 * x.std(ddof=1)),
        }[how]()  # fmt: skip
    return dict(zip(found, y))


# --- parity ----------------------------------------------------------------------------------------------


def ensemble_cases():
    # Another count of weights, repeats, c=0, weight 0 and merging by text are meant to differ; a text called
    # "constructor" is a slip of the language that the recording was made in.
    skip = {
        "weights_wrong_length",
        "duplicate_in_one_list_counts_twice",
        "c_0_falls_back_to_60",
        "weights_zero",
        "same_text_different_metadata_collapsed",
        "text_named_constructor",
    }
    cases = json.loads((GOLDEN / "ensemble_rrf.json").read_text(encoding="utf-8"))["cases"]
    return [case for case in cases if case["name"] not in skip]


@pytest.mark.parametrize("case", ensemble_cases(), ids=lambda case: case["name"])
def test_rrf_agrees_with_langchains_ensemble(case):
    given_, expected = case["input"], [document["pageContent"] for document in case["output"]]
    runs = {f"r{n}": {"q": found} if found else {} for n, found in enumerate(given_["lists"])}
    fused = rk.fuse(runs, k=given_.get("c") or 60, weights=given_.get("weights"))
    assert_equal_up_to_ties(order(fused), scores(fused), expected)


def assert_equal_up_to_ties(got, score, expected):
    """Equal scores may stand in any order: recorded pairs that end in a tie are compared as sets."""
    groups = defaultdict(list)
    for place, unit in enumerate(got):
        groups[float(f"{score[unit]:.12g}")].append(place)
    for places in groups.values():
        assert {got[p] for p in places} == {expected[p] for p in places}
    assert len(got) == len(expected)


def test_runs_without_rows_fit_any_unit():
    chunks = pd.DataFrame({"query_id": [], "chunk_id": [], "doc_id": [], "score": []})
    docs = chunks.drop(columns="chunk_id")
    for runs in ({"a": chunks, "b": docs}, {"a": docs, "b": chunks}):
        assert rk.fuse(runs).columns[:3].tolist() == ["query_id", "chunk_id", "doc_id"]


@pytest.mark.parametrize("how", ["minmax", "max", "sum", "zscore", "l2", "dbsf"])
def test_the_smallest_scores_there_are_normalise_as_larger_ones(how):
    def fused(unit):
        scores = [3 * unit, 2 * unit, unit]
        run = pd.DataFrame({"query_id": "q", "doc_id": ["a", "b", "c"], "score": scores})
        return rk.fuse({"x": run}, method="linear", normalize=how, missing="list_min")["score"].to_numpy()

    np.testing.assert_allclose(fused(5e-324), fused(1.0), rtol=1e-12)


def test_a_score_below_the_theoretical_minimum_is_refused():
    runs = {"v": {"q": {"a": 0.9, "b": -0.2}}, "k": {"q": {"a": 3.0, "c": 1.0}}}
    with pytest.raises(ValueError, match=r"got -0\.2"):
        rk.fuse(runs, method="tm2c2")
    # (-0.2 + 1) / (0.9 + 1) = 0.42...; c, which v lacks, is at the minimum.
    fused = rk.fuse(runs, method="tm2c2", minimum={"v": -1, "k": 0}).set_index("doc_id")
    assert fused["v_normalized"].to_dict() == pytest.approx({"a": 1.0, "b": 0.8 / 1.9, "c": 0.0})


def test_ties_in_the_last_bit_are_no_distances():
    tied = rk.as_run({"q": {"b": 0.3, "a": 0.1 + 0.2}})  # the tie rule puts b first
    assert rk.fuse({"x": tied, "y": {"q": {"a": 1.0, "c": 0.5}}}, method="linear")["doc_id"].iloc[0] == "a"
