"""weight_path, best_weight, flip: by hand, and against fusing at thousands of weights."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ragkit as rk
from ragkit.fusion.lines import Lines, rank_changes
from ragkit.hybrid import best_weight, best_weights, flip, mean_path, weight_path
from ragkit.hybrid.weights import LINEAR

RUNS = {"keyword": {"q": ["a", "b"]}, "vector": {"q": ["b", "c"]}}


def fused_at(runs, w, **options):
    first, second = runs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rk.RetrievalWarning)
        return rk.fuse(runs, weights={first: w, second: 1 - w}, **options)


def quiet_path(*args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rk.RetrievalWarning)
        return weight_path(*args, **options)


# --- worked examples -------------------------------------------------------------------------------------


def test_the_path_of_three_units_by_hand():
    # a passes c where w/61 = (1-w)/62, that is 61/123; and b where w/61 = w/62 + (1-w)/61, that is 62/63
    path = weight_path(RUNS, {"q": {"a": 1}}, metrics=["rr", "ndcg@1"])
    assert path["unit_ids"].tolist() == [("b", "c", "a"), ("b", "a", "c"), ("a", "b", "c")]
    assert path["weight_to"].tolist() == pytest.approx([61 / 123, 62 / 63, 1])
    assert path["weight_from"].tolist() == pytest.approx([0, 61 / 123, 62 / 63])
    assert path["rr"].tolist() == pytest.approx([1 / 3, 1 / 2, 1]) and path["ndcg@1"].tolist() == [0, 0, 1]
    assert path.attrs["weight_of"] == "keyword"


def test_the_optimum_is_an_interval_and_tolerance_widens_the_plateau():
    path = weight_path(RUNS, {"q": {"a": 1}}, metrics="rr")
    best = best_weight(path).iloc[0]
    assert best["value"] == 1 and best["weight_from"] == pytest.approx(62 / 63) and best["weight_to"] == 1
    assert best["weight"] == pytest.approx((62 / 63 + 1) / 2)
    wide = best_weight(path, tolerance=0.5).iloc[0]
    assert wide["plateau_from"] == pytest.approx(61 / 123) and wide["plateau_to"] == 1


def test_the_mean_adds_the_steps_of_all_judged_queries():
    runs = {"a": {"q1": ["x", "y"], "q2": ["y", "x"], "q3": ["x"]}, "b": {"q1": ["y", "x"], "q2": ["x", "y"]}}
    # x first where w > 1/2 in q1, where w < 1/2 in q2; q3 is not judged
    path = weight_path(runs, {"q1": {"x": 1}, "q2": {"x": 1}}, metrics="rr")
    assert path.loc[path["query_id"] == "q3", "rr"].isna().all()
    means = mean_path(path)
    assert means[["weight_from", "weight_to", "rr"]].values.tolist() == [[0.0, 1.0, 0.75]]
    # values .5 and 1: sample deviation .3536, standard error .25, and 1.96 times that on each side
    assert means[["rr_low", "rr_high"]].values.tolist() == [pytest.approx([0.26, 1.24])]
    assert best_weight(path)[["plateau_from", "plateau_to"]].values.tolist() == [[0.0, 1.0]]


def test_a_judged_query_that_no_run_answers_counts_zero():
    # As above, and q9: the best of q, 1 from 62/63 on, is halved.
    qrels = {"q": {"a": 1}, "q9": {"x": 2}}
    path = weight_path(RUNS, qrels, metrics=["rr", "bpref"])
    assert path[path["query_id"] == "q9"].values.tolist() == [["q9", 0.0, 1.0, (), 0.0, 0.0]]
    best = best_weight(path).iloc[0]
    assert best["value"] == 0.5 and best["weight_from"] == pytest.approx(62 / 63)
    retrieved = best_weight(weight_path(RUNS, qrels, metrics="rr", over="retrieved")).iloc[0]
    assert retrieved["value"] == 1.0
    assert best_weights(RUNS, qrels, metric="rr")["value"].tolist() == [0.5, 0.5]


def test_queries_that_are_written_another_way_are_pointed_out():
    with pytest.warns(rk.RetrievalWarning, match=r"no query_id of the runs \('q'\) is in qrels \('Q'\)"):
        path = weight_path(RUNS, {"Q": {"a": 1}}, metrics="rr")
    assert path.loc[path["query_id"] == "q", "rr"].isna().all() and path["query_id"].iloc[-1] == "Q"


def test_flip_by_hand():
    found = flip(RUNS, "q", "a", "b").iloc[0]
    assert found["weight_now"] == 0.5 and found["weight_from"] == pytest.approx(62 / 63)
    assert found["change"] == pytest.approx(62 / 63 - 0.5)
    assert flip(RUNS, "q", "b", "a")["change"].tolist() == [0.0]
    assert flip(RUNS, "q", "a", top_k=2, weights={"keyword": 0.2, "vector": 0.8})["change"].tolist() == [
        pytest.approx(61 / 123 - 0.2)
    ]
    assert len(flip({"a": {"q": ["x", "y"]}, "b": {"q": ["x", "y"]}}, "q", "y", "x")) == 0


def test_flip_moves_one_weight_of_three_and_keeps_the_others_proportions():
    runs = {"a": {"q": ["x", "y"]}, "b": {"q": ["y", "x"]}, "c": {"q": ["y", "x"]}}
    found = flip(runs, "q", "x", "y")
    assert found["run"].tolist() == ["a"] and found["weight_from"].tolist() == [pytest.approx(0.5)]
    assert found["change"].tolist() == [pytest.approx(0.5 - 1 / 3)]


# --- refusals --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [({"method": "max"}, "linear in the weights"), ({"of": "x"}, "unknown run"),
     ({"metrics": "ild@5"}, "read"), ({"metrics": "ndgc@5"}, "ndcg"), ({"top_k": -1}, "top_k")],
)  # fmt: skip
def test_what_has_no_path_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        weight_path(RUNS, {"q": {"a": 1}}, **options)


def test_one_run_chunk_runs_and_unknown_units_are_refused():
    with pytest.raises(ValueError, match="two runs or more"):
        weight_path({"a": {"q": ["x"]}})
    chunks = rk.as_run({"q": ["a"]}).assign(chunk_id="a#0")
    with pytest.raises(ValueError, match="best_per_doc"):
        weight_path({"a": chunks, "b": chunks}, {"q": {"a": 1}})
    assert weight_path({"a": chunks, "b": chunks})["unit_ids"].tolist() == [("a#0",)]
    with pytest.raises(ValueError, match="flip found no unit"):
        flip(RUNS, "q", "a", "z")
    with pytest.raises(ValueError, match="one of unit_b"):
        flip(RUNS, "q", "a")
    with pytest.raises(ValueError, match="qrels"):
        best_weight(weight_path(RUNS))


def test_empty_runs_give_an_empty_path():
    columns = ["query_id", "weight_from", "weight_to", "unit_ids"]
    for qrels, metrics in ((None, []), ({}, ["ndcg@10"])):
        path = weight_path({"a": {}, "b": {}}, qrels)
        assert len(path) == 0 and list(path.columns) == columns + metrics
    path = weight_path({"a": {}, "b": {}}, {"q": {"a": 1}})
    assert path.values.tolist() == [["q", 0.0, 1.0, (), 0.0]]  # as evaluate has it
    assert len(flip(RUNS, "q", "c", "b")) == 0  # b is above c at every weight


# --- laws, against brute force ---------------------------------------------------------------------------

IDS = [f"d{n}" for n in range(7)]
RUN = st.dictionaries(st.sampled_from(IDS), st.integers(-8, 8).map(lambda n: n / 2), min_size=2)
PAIR = st.tuples(RUN, RUN)
METHOD = st.sampled_from([m for m in LINEAR if m != "tm2c2"])


@given(PAIR, METHOD, st.integers(1, 4), st.dictionaries(st.sampled_from(IDS), st.integers(0, 3), min_size=1))
@settings(max_examples=25)
def test_the_path_is_what_fusing_at_any_weight_gives(pair, method, top_k, grades):
    runs = {"one": {"q": pair[0]}, "two": {"q": pair[1]}}
    metrics = ["ndcg@3", "ap", "rr@2", "recall@2", "judged@2"]
    path = quiet_path(runs, {"q": grades}, method=method, metrics=metrics, top_k=top_k)
    check_tiling(path)
    for row in path.itertuples(index=False):
        if row.weight_to - row.weight_from < 1e-4:
            continue
        for w in (row.weight_from + 1e-5, row.weight_to - 1e-5):
            assert tuple(fused_at(runs, w, method=method)["doc_id"][:top_k]) == row.unit_ids
        fused = fused_at(runs, (row.weight_from + row.weight_to) / 2, method=method)
        scores = quiet_scores(fused, {"q": grades}, metrics)
        assert scores == pytest.approx(list(row[4:]), abs=1e-12)


def quiet_scores(run, qrels, metrics):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rk.RetrievalWarning)
        return rk.evaluate(run, qrels, metrics=metrics)["value"].tolist()


def check_tiling(path):
    for _, rows in path.groupby("query_id"):
        assert rows["weight_from"].iloc[0] == 0 and rows["weight_to"].iloc[-1] == 1
        assert (rows["weight_from"].iloc[1:].to_numpy() == rows["weight_to"].iloc[:-1].to_numpy()).all()
        assert (rows["weight_from"] < rows["weight_to"]).all()
        told = rows.drop(columns=["weight_from", "weight_to"]).to_numpy().tolist()
        assert all(a != b for a, b in itertools.pairwise(told))  # neighbours differ


@given(st.lists(PAIR, min_size=1, max_size=3), st.sampled_from(["rrf", "linear", "borda"]))
@settings(max_examples=8)
def test_no_weight_on_a_fine_grid_beats_the_optimum_and_the_plateau_is_flat(pairs, method):
    runs = {
        "one": {f"q{n}": pair[0] for n, pair in enumerate(pairs)},
        "two": {f"q{n}": pair[1] for n, pair in enumerate(pairs)},
    }
    qrels = {f"q{n}": {"d1": 2, "d4": 1} for n in range(len(pairs))}
    path = quiet_path(runs, qrels, method=method, metrics="ndcg@3")
    best = best_weight(path).iloc[0]

    def mean_at(w):
        return np.mean(quiet_scores(fused_at(runs, w, method=method), qrels, "ndcg@3"))

    for w in np.linspace(0.0123, 0.9871, 11):
        assert mean_at(w) <= best["value"] + 1e-12
    assert mean_at(best["weight"]) == pytest.approx(best["value"], abs=1e-12)
    for w in np.linspace(best["plateau_from"], best["plateau_to"], 5)[1:-1]:
        assert mean_at(w) == pytest.approx(best["value"], abs=1e-9)


QUERIES = [f"q{n}" for n in range(4)]
GRADES = st.dictionaries(st.sampled_from(IDS), st.integers(0, 3), min_size=1)


@given(
    st.dictionaries(st.sampled_from(QUERIES), PAIR, min_size=1),
    st.dictionaries(st.sampled_from(QUERIES), GRADES, min_size=1),
    st.sampled_from(["rrf", "linear", "isr"]),
    st.sampled_from(["judged", "relevant", "retrieved"]),
)
@settings(max_examples=25)
def test_the_mean_at_any_weight_is_that_of_evaluate(pairs, qrels, method, over):
    runs = {name: {q: pair[n] for q, pair in pairs.items()} for n, name in enumerate(("one", "two"))}
    metrics = ["ndcg@3", "ap", "judged@2"]
    path = quiet_path(runs, qrels, method=method, metrics=metrics, top_k=0, over=over)
    means = mean_path(path)
    for row in means.itertuples(index=False):
        if row.weight_to - row.weight_from < 1e-4:
            continue
        fused = fused_at(runs, (row.weight_from + row.weight_to) / 2, method=method)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", rk.RetrievalWarning)
            scores = rk.evaluate(fused, qrels, metrics=metrics, over=over)
        expected = scores.groupby("metric", sort=False)["value"].mean().reindex(metrics).tolist()
        mine = list(means.loc[means["weight_from"] == row.weight_from, metrics].iloc[0])
        assert mine == pytest.approx(expected, abs=1e-12, nan_ok=True)


@given(PAIR, st.sampled_from(["rrf", "linear", "isr"]), st.floats(0.05, 0.95))
@settings(max_examples=8)
def test_flip_agrees_with_a_fine_grid(pair, method, now):
    runs = {"one": {"q": pair[0]}, "two": {"q": pair[1]}}
    units = sorted(set(pair[0]) | set(pair[1]))
    a, b = units[0], units[-1]
    if a == b:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rk.RetrievalWarning)
        found = flip(runs, "q", a, b, weights={"one": now, "two": 1 - now}, method=method)
    grid = np.linspace(0.0005, 0.9995, 60)
    order = [fused_at(runs, w, method=method)["doc_id"].tolist() for w in grid]
    good = np.array([o.index(a) < o.index(b) for o in order])
    if not len(found):
        assert not good.any()
        return
    row = found.iloc[0]
    inside = (grid > row["weight_from"] + 1e-9) & (grid < row["weight_to"] - 1e-9)
    assert good[inside].all()
    between = np.abs(grid - now) < abs(row["change"]) - 1e-9  # nothing nearer would have done
    assert not good[between].any()


def test_a_large_path_agrees_with_a_grid_on_every_query():
    rng = np.random.default_rng(3)
    docs = np.array([f"d{n:03}" for n in range(120)])

    def run():
        return {
            f"q{q}": dict(zip(rng.choice(docs, 60, replace=False), rng.normal(size=60))) for q in range(8)
        }

    runs = {"one": run(), "two": run()}
    qrels = {f"q{q}": dict.fromkeys(rng.choice(docs, 9, replace=False), 1) for q in range(8)}
    path = weight_path(runs, qrels, method="linear", metrics=["ndcg@10", "recall@50"])
    check_tiling(path)
    means = mean_path(path)
    for w in rng.random(6):
        fused = fused_at(runs, w, method="linear")
        scores = rk.evaluate(fused, qrels, metrics=["ndcg@10", "recall@50"])
        at = means[(means["weight_from"] < w) & (means["weight_to"] > w)].iloc[0]
        for metric in ("ndcg@10", "recall@50"):
            mean = scores.loc[scores["metric"] == metric, "value"].mean()
            assert at[metric] == pytest.approx(mean, abs=1e-12)
        for query, rows in path.groupby("query_id"):
            row = rows[(rows["weight_from"] < w) & (rows["weight_to"] > w)].iloc[0]
            assert row["unit_ids"] == tuple(fused.loc[fused["query_id"] == query, "doc_id"][:10])


def test_three_runs_move_one_weight_against_the_others_in_proportion():
    rng = np.random.default_rng(5)
    runs = {n: {"q": dict(zip("abcdefgh", rng.normal(size=8)))} for n in ("x", "y", "z")}
    shares = {"x": 1, "z": 3}
    path = weight_path(runs, of="y", weights=shares, method="linear", top_k=4)
    for row in path.itertuples():
        w = (row.weight_from + row.weight_to) / 2
        fused = rk.fuse(runs, method="linear", weights={"x": (1 - w) / 4, "y": w, "z": 3 * (1 - w) / 4})
        assert tuple(fused["doc_id"][:4]) == row.unit_ids


def test_the_weights_of_three_runs_reach_what_a_fine_simplex_reaches():
    rng = np.random.default_rng(2)
    docs = [f"d{n}" for n in range(12)]
    runs = {n: {f"q{q}": dict(zip(docs, rng.normal(size=12))) for q in range(4)} for n in ("x", "y", "z")}
    qrels = {f"q{q}": dict.fromkeys(rng.choice(docs, 3, replace=False), 1) for q in range(4)}
    options = {"metric": "ndcg@3", "method": "linear"}
    best = rk.best_weights(runs, qrels, **options)
    assert best["weight"].sum() == pytest.approx(1) and best["weight"].min() >= 0
    triangle = rk.weight_simplex(runs, qrels, steps=12, **options)
    assert len(triangle) == 91 and triangle[["x", "y", "z"]].sum(axis=1).to_numpy() == pytest.approx(1)
    assert best["value"].iloc[0] >= triangle["ndcg@3"].max() - 1e-12
    fused = rk.fuse(runs, method="linear", weights=dict(zip(best["run"], best["weight"])))
    assert np.mean(quiet_scores(fused, qrels, "ndcg@3")) == pytest.approx(best["value"].iloc[0])
    inner = triangle[(triangle[["x", "y", "z"]] > 0).all(axis=1)].iloc[7]
    fused = rk.fuse(runs, method="linear", weights=inner[["x", "y", "z"]].to_dict())
    assert np.mean(quiet_scores(fused, qrels, "ndcg@3")) == pytest.approx(inner["ndcg@3"])
    with pytest.raises(ValueError, match="three runs"):
        rk.weight_simplex(RUNS, qrels)


def test_what_the_run_order_is_called_does_not_matter():
    path = weight_path(RUNS)
    mirrored = weight_path(dict(reversed(RUNS.items())))
    assert path["unit_ids"].tolist() == mirrored["unit_ids"].tolist()[::-1]
    assert np.allclose(path["weight_from"], 1 - mirrored["weight_to"][::-1])
    assert isinstance(path, pd.DataFrame)


@pytest.mark.parametrize("tiny", [1e-13, 1e-11])
def test_what_swaps_at_the_very_end_of_the_axis_swaps_in_no_interval(tiny):
    # The second overtakes at w = 1 / (1 + tiny): not told from 1, or just.
    end = Lines(np.array([1.0, 1.0 + tiny]), np.array([1.0, 0.0]), np.array([1, 0]), np.array([0, 1]))
    # Here it overtakes at w = tiny: from the start, where that is not told from 0.
    start = Lines(np.array([0.0, 1.0]), np.array([1.0, 1.0 - tiny]), np.array([1, 0]), np.array([0, 1]))
    both = np.array([0, 1])
    told = tiny > 1e-12
    assert rank_changes(end, both, None)[1].tolist() == [[1, 2], *([[2, 1]] if told else [])]
    assert rank_changes(start, both, None)[1].tolist() == [*([[1, 2]] if told else []), [2, 1]]
