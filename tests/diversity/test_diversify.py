"""diversify: worked examples, laws of each method, recorded pairs."""

import itertools
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ragkit as rk
from ragkit.diversity import diversify, mmr
from ragkit.diversity.methods import cover_order
from ragkit.similarity import cosine_similarity

GOLDEN = Path(__file__).parents[1] / "golden" / "pyversity.json"
GREEDY = ["msd", "dpp", "cover", "xquad"]


def run_of(relevance, ids=None, query="q"):
    ids = [f"d{n:03}" for n in range(len(relevance))] if ids is None else ids
    return pd.DataFrame({"query_id": query, "doc_id": ids, "score": np.asarray(relevance, dtype=float)})


RUN = run_of([1.0, 0.8, 0.6, 0.0], ["a", "copy", "near", "other"])
VECTORS = {"a": [1, 0], "copy": [2, 0], "near": [0.8, 0.6], "other": [0, 1]}


# --- worked examples -------------------------------------------------------------------------------------


def test_msd_adds_up_the_distances_to_all_picks():
    # After "a": copy .5*.8 + .5*0 = .4, near .5*.6 + .5*(1 - .8) = .4, other .5*0 + .5*1 = .5.
    # After "other": copy .4 + .5*1 = .9, near .4 + .5*(1 - .6) = .6.
    picked = diversify(RUN, VECTORS, method="msd", top_k=3)
    assert picked["doc_id"].tolist() == ["a", "other", "copy"]
    assert picked["distance_sum"].round(12).tolist() == [0.0, 1.0, 1.0]
    assert picked["score"].round(12).tolist() == [0.5, 0.5, 0.9]
    assert picked["nearest_selected"].tolist()[1:] == ["a", "a"]


def test_dpp_takes_what_the_picks_do_not_span():
    # At lambda 0 all weights are 1: novelty after "a" is 1 - cos**2: copy 0, near .36, other 1.
    # After "other" nothing is new in two dimensions, so the previous rank decides.
    picked = diversify(RUN, VECTORS, method="dpp", lambda_=0, top_k=3)
    assert picked["doc_id"].tolist() == ["a", "other", "copy"]
    assert picked["novelty"].round(12).tolist() == [1.0, 1.0, 0.0]
    assert picked["dpp_weight"].tolist() == [1.0, 1.0, 1.0]


def test_cover_counts_what_the_pool_gains():
    # Gain of "a" at gamma 1: its cosines to the pool, 1 + 1 + .8 + 0 = 2.8; near: .8 + .8 + 1 + .6 = 3.2.
    picked = diversify(RUN, VECTORS, method="cover", lambda_=0, top_k=1, gamma=1)
    assert picked["doc_id"].tolist() == ["near"]
    assert picked["coverage_gain"].round(12).tolist() == [3.2]


def test_xquad_answers_the_aspect_that_is_still_open():
    # P(i|q) = 1/2. First a: .5*1 + .5*(.5*.9) = .725. Aspect 1 is then open to .1, so at lambda .5
    # copy .5*.8 + .5*(.5*.1*.9) = .4225 and other .5*0 + .5*(.5*1*1) = .25; at lambda .2 other wins.
    table = pd.DataFrame(
        {
            "query_id": "q",
            "aspect": ["river", "river", "money"],
            "doc_id": ["a", "copy", "other"],
            "probability": [0.9, 0.9, 1.0],
        }
    )
    run = run_of([1.0, 0.8, 0.0], ["a", "copy", "other"])
    picked = diversify(run, method="xquad", aspects=table, top_k=2)
    assert picked["doc_id"].tolist() == ["a", "copy"]
    assert picked["score"].round(12).tolist() == [0.725, 0.4225]
    picked = diversify(run, method="xquad", aspects=table, lambda_=0.2, top_k=2)
    assert picked["doc_id"].tolist() == ["a", "other"]
    assert picked["aspect"].tolist() == ["river", "money"]
    assert "nearest_selected" not in picked


def test_weights_of_aspects_are_shares():
    table = pd.DataFrame(
        {"query_id": "q", "aspect": ["x", "y"], "doc_id": ["a", "b"], "probability": 1.0, "weight": [1, 3]}
    )
    picked = diversify(run_of([1, 1, 0], ["a", "b", "c"]), method="xquad", aspects=table, lambda_=0, top_k=2)
    assert picked["doc_id"].tolist() == ["b", "a"]
    assert picked["aspect_gain"].tolist() == [0.75, 0.25]


def test_collapse_keeps_the_best_ranked_and_names_the_collapsed():
    picked = diversify(RUN, VECTORS, method="collapse", threshold=0.8)
    assert picked["doc_id"].tolist() == ["a", "other"]
    assert picked["collapsed"].tolist() == [("copy", "near"), ()]
    assert picked["n_collapsed"].tolist() == [2, 0]
    assert picked["score"].tolist() == picked["previous_score"].tolist() == [1.0, 0.0]
    assert picked["previous_rank"].tolist() == [1, 4]
    strict = diversify(RUN, VECTORS, method="collapse")
    assert strict["doc_id"].tolist() == ["a", "near", "other"]


def test_collapse_by_shingles_reads_texts_and_needs_no_vectors():
    # "the red fox runs far" and "The red fox runs home": 3 runs of three words each, 2 shared of 4: .5.
    docs = {"a": "the red fox runs far", "b": "The red fox runs home!", "c": "blue whales sing"}
    run = run_of([3, 2, 1], ["a", "b", "c"])
    assert diversify(run, method="collapse", docs=docs, threshold=0.5)["collapsed"].tolist() == [("b",), ()]
    assert len(diversify(run, method="collapse", docs=docs, threshold=0.51)) == 3


def test_mmr_is_one_of_the_methods():
    pd.testing.assert_frame_equal(
        diversify(RUN, VECTORS, method="mmr", lambda_=0.3, top_k=2), mmr(RUN, VECTORS, lambda_=0.3, top_k=2)
    )


def test_clusters_of_the_pool_serve_as_aspects():
    rng = np.random.default_rng(0)
    centres = np.eye(3) * 10
    vectors = np.repeat(centres, 5, axis=0) + rng.normal(size=(15, 3))
    run = run_of(np.linspace(1, 0.5, 15))
    picked = diversify(run, vectors, method="xquad", aspects=3, lambda_=0.1, top_k=3)
    assert {int(d[1:]) // 5 for d in picked["doc_id"]} == {0, 1, 2}
    assert sorted(picked["aspect"]) == ["cluster 1", "cluster 2", "cluster 3"]


def test_sub_queries_are_embedded_by_the_store():
    vectors = {"a": [1, 0], "copy": [1, 0], "other": [0, 1]}

    class Store:
        def vectors(self, ids):
            return np.array([vectors[i] for i in ids], dtype=float)

        def query_vectors(self, queries):
            return np.array([{"river bank": [1, 0], "money bank": [0, 1]}[t] for t in queries["text"]], float)

    subs = pd.DataFrame({"query_id": "q", "text": ["river bank", "money bank"]})
    run = run_of([1.0, 0.9, 0.5], ["a", "copy", "other"])
    picked = diversify(run, Store(), method="xquad", aspects=subs, lambda_=0.3, top_k=2)
    assert picked[["doc_id", "aspect"]].values.tolist() == [["a", "river bank"], ["other", "money bank"]]
    by_vector = diversify(run, vectors, method="xquad", aspects={"q": [[1, 0], [0, 1]]}, lambda_=0.3, top_k=2)
    assert by_vector["score"].tolist() == picked["score"].tolist()


# --- bad input -------------------------------------------------------------------------------------------


def every_gain(rel, X, lambda_, k, gamma):
    """Facility location as the formula says: each gain of each candidate, at each step."""
    S = np.clip(X @ X.T, 0, 1)
    S[S < 1e-12] = 0
    covered, picks = np.zeros(len(rel)), []
    for _ in range(k):
        gain = ((S + covered) ** gamma).sum(axis=1) - (covered**gamma).sum()
        values = np.where(np.isin(np.arange(len(rel)), picks), -np.inf, lambda_ * rel + (1 - lambda_) * gain)
        picks.append(int(np.argmax(values >= values.max() - 1e-12 * len(rel))))
        covered += S[picks[-1]]
    return picks


@given(st.integers(0, 2**32 - 1), st.integers(1, 70), st.sampled_from([0, 0.3, 0.9, 1]), st.data())
@settings(max_examples=60, deadline=None)
def test_cover_skips_only_gains_that_cannot_be_the_best(seed, n, lambda_, data):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, data.draw(st.integers(1, 6)))).round(data.draw(st.integers(0, 3)))
    X[(X == 0).all(axis=1), 0] = 1
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    rel = rng.random(n).round(data.draw(st.integers(1, 8)))
    gamma, k = data.draw(st.sampled_from([0.25, 0.5, 1.0])), data.draw(st.integers(1, n))
    picks, _, _ = cover_order(rel, X, lambda_, k, 1e-12, gamma)
    assert picks.tolist() == every_gain(rel, X, lambda_, k, gamma)


def test_unknown_methods_and_knobs_of_another_method_are_refused():
    with pytest.raises(ValueError, match="Did you mean 'cover'"):
        diversify(RUN, VECTORS, method="covers")
    with pytest.raises(ValueError, match="'msd' does not take 'gamma'; it takes none"):
        diversify(RUN, VECTORS, method="msd", gamma=0.5)
    with pytest.raises(ValueError, match="gamma must be"):
        diversify(RUN, VECTORS, method="cover", gamma=0)
    with pytest.raises(ValueError, match="threshold must be"):
        diversify(RUN, VECTORS, method="collapse", threshold=90)
    with pytest.raises(TypeError, match="vectors must be"):
        diversify(RUN, method="msd")


def test_aspects_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="aspects lacks 1 of the run's queries: 'q'"):
        diversify(RUN, VECTORS, method="xquad", aspects={"p": [[1, 0]]}, top_k=2)
    with pytest.raises(ValueError, match="3 numbers, the units' vectors 2"):
        diversify(RUN, VECTORS, method="xquad", aspects={"q": [[1, 0, 0]]}, top_k=2)
    with pytest.raises(ValueError, match=r"in \[0, 1\]; got 1.5"):
        table = pd.DataFrame({"query_id": "q", "aspect": "x", "doc_id": ["a"], "probability": 1.5})
        diversify(RUN, VECTORS, method="xquad", aspects=table, top_k=2)
    with pytest.raises(TypeError, match="need a VectorStore"):
        diversify(
            RUN, VECTORS, method="xquad", aspects=pd.DataFrame({"query_id": ["q"], "text": ["x"]}), top_k=2
        )
    with pytest.raises(ValueError, match="clusters >= 1"):
        diversify(RUN, VECTORS, method="xquad", aspects=0)


def test_texts_must_be_there_for_all_units():
    with pytest.raises(ValueError, match="docs lacks 3 of the run's units: 'copy'"):
        diversify(RUN, method="collapse", docs={"a": "text"})


# --- laws ------------------------------------------------------------------------------------------------

pools = st.tuples(st.integers(1, 20), st.integers(1, 6), st.integers(1, 10), st.integers(0, 2**32 - 1))


def random_pool(shape):
    n, d, k, seed = shape
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(n, d))
    vectors[rng.random(n) < 0.1] = 0
    return rk.rank_by_score(run_of(np.round(rng.random(n), 2))), vectors, min(k, max(n - 1, 1))


@pytest.mark.parametrize("method", GREEDY)
@given(shape=pools)
@settings(max_examples=20, deadline=None)
def test_at_lambda_one_the_order_is_that_of_relevance(method, shape):
    run, vectors, k = random_pool(shape)
    aspects = 2 if method == "xquad" else None
    picked = diversify(
        run, dict(zip(run["doc_id"], vectors)), method=method, lambda_=1, top_k=k, aspects=aspects
    )
    assert picked["doc_id"].tolist() == run["doc_id"].tolist()[:k]


@pytest.mark.parametrize("method", GREEDY)
@given(shape=pools, lambda_=st.sampled_from([0.0, 0.4, 0.9]))
@settings(max_examples=20, deadline=None)
def test_the_parts_give_the_score(method, shape, lambda_):
    run, vectors, k = random_pool(shape)
    if len(run) < 2:
        return
    aspects = 2 if method == "xquad" else None
    picked = diversify(run, vectors, method=method, lambda_=lambda_, top_k=k, aspects=aspects)
    assert picked["doc_id"].is_unique
    assert len(picked) == k
    if method == "dpp":
        parts = picked["dpp_weight"] ** 2 * picked["novelty"]
    else:
        part = {"msd": "distance_sum", "cover": "coverage_gain", "xquad": "aspect_gain"}[method]
        parts = lambda_ * picked[f"{method}_relevance"] + (1 - lambda_) * picked[part]
    assert picked["score"].tolist() == parts.tolist()


@given(pools)
@settings(max_examples=30, deadline=None)
def test_dpp_gains_multiply_to_the_determinant_of_the_picks(shape):
    run, vectors, k = random_pool(shape)
    if len(run) < 2:
        return
    vectors = np.hstack([vectors, np.eye(len(vectors)) * 0.7])  # no pick lies in the span of others
    picked = diversify(run, dict(zip(run["doc_id"], vectors)), method="dpp", lambda_=0.4, top_k=k)
    rows = [run["doc_id"].tolist().index(d) for d in picked["doc_id"]]
    w = picked["dpp_weight"].to_numpy()
    L = w[:, None] * cosine_similarity(vectors[rows], vectors[rows]) * w
    assert np.prod(picked["score"]) == pytest.approx(np.linalg.det(L), rel=1e-6)


@given(pools, st.floats(0.3, 1))
@settings(max_examples=40, deadline=None)
def test_no_two_kept_units_are_near_duplicates_and_none_is_lost(shape, threshold):
    run, vectors, _ = random_pool(shape)
    named = dict(zip(run["doc_id"], vectors))
    kept = diversify(run, named, method="collapse", threshold=threshold, top_k=None)
    for a, b in itertools.combinations(kept["doc_id"], 2):
        assert cosine_similarity(named[a], named[b]) < threshold
    for row in kept.itertuples():
        assert all(cosine_similarity(named[row.doc_id], named[d]) >= threshold - 1e-9 for d in row.collapsed)
    everyone = [*kept["doc_id"], *(d for ids in kept["collapsed"] for d in ids)]
    assert sorted(everyone) == sorted(run["doc_id"])


@pytest.mark.parametrize("method", [*GREEDY, "collapse"])
def test_empty_runs_and_top_k_zero_keep_the_columns(method):
    full = diversify(RUN, VECTORS, method=method, top_k=1)
    for frame in (
        diversify(run_of([]), {}, method=method),
        diversify(RUN, VECTORS, method=method, top_k=0),
    ):
        assert len(frame) == 0
        assert list(frame.columns) == list(full.columns)
        assert frame["score"].dtype == full["score"].dtype


@pytest.mark.parametrize("method", [*GREEDY, "collapse"])
def test_many_queries_give_what_each_gives_alone(method):
    rng = np.random.default_rng(3)
    vectors = {f"d{n:03}": rng.normal(size=5) for n in range(30)}
    runs = [run_of(rng.random(20), rng.choice(list(vectors), 20, replace=False), f"q{q}") for q in range(3)]
    together = diversify(pd.concat(runs), vectors, method=method, top_k=6)
    for run in runs:
        alone = diversify(run, vectors, method=method, top_k=6)
        same = together[together["query_id"] == run["query_id"].iloc[0]].reset_index(drop=True)
        pd.testing.assert_frame_equal(alone, same)


# --- parity ----------------------------------------------------------------------------------------------


def golden():
    for number, case in enumerate(json.loads(GOLDEN.read_text())["cases"]):
        for expect in case["expect"]:
            name = f"{number}-{expect['method']}-{expect['lambda_']}-{expect.get('gamma', '')}"
            yield pytest.param(case, expect, id=name)


@pytest.mark.filterwarnings("ignore::ragkit.RetrievalWarning")
@pytest.mark.parametrize(("case", "expect"), list(golden()))
def test_equals_the_recorded_picks_of_pyversity(case, expect):
    run = run_of(case["relevance"]).assign(rank=range(1, len(case["relevance"]) + 1))
    picked = diversify(
        run,
        np.array(case["vectors"]),
        method=expect["method"],
        lambda_=expect["lambda_"],
        gamma=expect.get("gamma"),
        top_k=case["top_k"],
        scale=None,
    )
    assert [int(d[1:]) for d in picked["doc_id"]] == expect["picks"]
    if expect["lambda_"] < 1:  # at 1 it reports relevance itself
        assert np.allclose(picked["score"], expect["scores"], rtol=2e-4, atol=2e-4)
