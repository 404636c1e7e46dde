"""mmr_path and lambda_for: the lambda axis, exactly."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ragkit as rk
from ragkit.diversity import lambda_for, mmr, mmr_intervals, mmr_order, mmr_path, mmr_sweep
from ragkit.similarity import cosine_similarity


def run_of(relevance, ids=None, query="q"):
    ids = [f"d{n:03}" for n in range(len(relevance))] if ids is None else ids
    return pd.DataFrame({"query_id": query, "doc_id": ids, "score": np.asarray(relevance, dtype=float)})


RUN = run_of([1.0, 0.9, 0.5], ["a", "copy", "other"])
VECTORS = {"a": [1, 0], "copy": [1, 0], "other": [0, 1]}
pools = st.tuples(st.integers(1, 25), st.integers(1, 6), st.integers(1, 12), st.integers(0, 2**32 - 1))


def random_pool(shape):
    """Pools with rounded relevance and copies, so that lines coincide and meet in one point."""
    n, d, k, seed = shape
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(n, d))
    if seed % 2:
        vectors = vectors[rng.integers(0, n, size=n)]
    return np.sort(np.round(rng.random(n), 1 if seed % 3 else 8))[::-1], vectors, k


# --- worked examples -------------------------------------------------------------------------------------


def test_the_corner_is_where_the_two_lines_cross():
    # After "a": copy .8 l - (1 - l) = 1.8 l - 1, other 0 l - 0 = 0; they cross at l = 1/1.8 = 5/9.
    path = mmr_path(RUN, VECTORS, top_k=2)
    assert path["lambda_from"].tolist() == pytest.approx([0, 5 / 9], abs=1e-15)
    assert path["lambda_to"].tolist() == pytest.approx([5 / 9, 1], abs=1e-15)
    assert path["unit_ids"].tolist() == [("a", "other"), ("a", "copy")]
    assert path["relevance"].round(12).tolist() == [0.5, 0.9]
    assert path["diversity"].tolist() == [1.0, 0.0]


def test_one_pick_never_changes():
    path = mmr_path(RUN, VECTORS, top_k=1)
    assert path[["lambda_from", "lambda_to", "unit_ids", "diversity"]].values.tolist() == [
        [0.0, 1.0, ("a",), 0.0]
    ]


def test_three_lines_through_one_corner_give_no_interval_between():
    # After d0: lines l*r - (1-l)*m with (r, m) = (1, 1), (.5, .5), (0, 0) all meet in l = .5, value 0.
    vectors = np.array([[1, 0], [1, 0], [0.5, np.sqrt(0.75)], [0, 1]])
    found = mmr_intervals(np.array([1, 1, 0.5, 0]), vectors, 2)
    assert found.edges.tolist() == pytest.approx([0, 0.5, 1])
    assert found.picks.tolist() == [[0, 3], [0, 1]]


def test_columns_are_metrics_by_name_and_nan_for_queries_without_judgements():
    run = pd.concat([RUN, RUN.assign(query_id="unjudged")])
    qrels = {"q": {"other": 1}}
    path = mmr_path(
        run, VECTORS, top_k=2, qrels=qrels, metrics=["recall@2", "rr"],
    )  # fmt: skip
    assert path["recall@2"].tolist()[:2] == [1.0, 0.0]
    assert path["rr"].tolist()[:2] == [0.5, 0.0]
    assert path["recall@2"].isna().tolist() == [False, False, True, True]


def test_diversity_is_the_metric_ild():
    rng = np.random.default_rng(0)
    path = mmr_path(run_of(rng.random(30)), rng.normal(size=(30, 4)), top_k=6, metrics="ild@6")
    assert np.allclose(path["diversity"], path["ild@6"], atol=1e-12)


def test_chunks_are_judged_as_their_documents():
    run = RUN.assign(chunk_id=["a#0", "a#1", "b#0"], doc_id=["a", "a", "b"])
    vectors = {"a#0": [1, 0], "a#1": [1, 0], "b#0": [0, 1]}
    path = mmr_path(run, vectors, top_k=2, qrels={"q": {"b": 1}}, metrics=["recall@2"])
    assert path["unit_ids"].tolist() == [("a#0", "b#0"), ("a#0", "a#1")]
    assert path["recall@2"].tolist() == [1.0, 0.0]


def test_lambda_for_names_the_one_that_blocks():
    story = lambda_for(RUN, VECTORS, "q", "copy", top_k=2)
    assert story["selected"].tolist() == [False, True]
    assert story["lambda_to"].iloc[0] == pytest.approx(5 / 9)
    assert story[["blocked_by", "reason", "similarity"]].iloc[0].tolist() == ["a", "similarity", 1.0]
    assert story["rank"].iloc[1] == 2
    other = lambda_for(RUN, VECTORS, "q", "other", top_k=2)
    assert other[["blocked_by", "reason", "similarity"]].iloc[1].tolist() == ["copy", "relevance", 0.0]


def test_lambda_for_says_when_a_unit_is_no_candidate_or_was_not_retrieved():
    story = lambda_for(RUN, VECTORS, "q", "other", top_k=1, fetch_k=2)
    assert story[["lambda_from", "lambda_to", "selected", "reason"]].values.tolist() == [
        [0.0, 1.0, False, "fetch_k"]
    ]
    with pytest.raises(ValueError, match="did not retrieve 'ghost'"):
        lambda_for(RUN, VECTORS, "q", "ghost", top_k=1)
    with pytest.raises(ValueError, match="no query 'p'; it has 'q'"):
        lambda_for(RUN, VECTORS, "p", "a", top_k=1)
    with pytest.raises(ValueError, match="Are query_id and unit_id swapped"):
        lambda_for(RUN, VECTORS, "a", "q", top_k=1)
    with pytest.raises(TypeError, match=r"unit_id must be one id; got \['a', 'copy'\]"):
        lambda_for(RUN, VECTORS, "q", ["a", "copy"], top_k=1)
    with pytest.raises(TypeError, match="unit_id must be one id; got None"):
        lambda_for(RUN, VECTORS, "q", None, top_k=1)


@pytest.mark.parametrize("top_k", [0, 3, None])
def test_an_empty_run_gives_an_empty_path_with_its_columns(top_k):
    path = mmr_path(run_of([]), {}, top_k=top_k, metrics=["recall@3"], qrels={"q": {"a": 1}})
    assert list(path.columns) == [
        "query_id", "lambda_from", "lambda_to", "unit_ids", "relevance", "diversity", "recall@3",
    ]  # fmt: skip
    assert len(path) == 0
    assert (path.dtypes[["lambda_from", "lambda_to", "relevance", "diversity"]] == np.float64).all()


def test_top_k_zero_is_one_interval_without_units():
    path = mmr_path(RUN, VECTORS, top_k=0)
    assert path["unit_ids"].tolist() == [()]
    assert lambda_for(RUN, VECTORS, "q", "a", top_k=0)["reason"].tolist() == ["top_k"]


def test_raw_scores_beside_cosines_warn():
    rng = np.random.default_rng(0)
    with pytest.warns(rk.RetrievalWarning, match='scale="minmax"'):
        mmr_path(run_of(20 * rng.random(20)), rng.normal(size=(20, 3)), scale=None)


# --- laws ------------------------------------------------------------------------------------------------


@given(pools)
@settings(max_examples=150, deadline=None)
def test_mmr_inside_an_interval_gives_its_selection_and_neighbours_differ(shape):
    relevance, vectors, k = random_pool(shape)
    found = mmr_intervals(relevance, vectors, k)
    assert found.edges[0] == 0
    assert found.edges[-1] == 1
    assert (np.diff(found.edges) > 0).all()
    for low, high, picks in zip(found.edges[:-1], found.edges[1:], found.picks):
        for share in (0.01, 0.5, 0.99):
            lambda_ = low + share * (high - low)
            if (high - low) > 1e-9:
                assert mmr_order(relevance, vectors, lambda_, k)[0].tolist() == picks.tolist()
    assert all(a.tolist() != b.tolist() for a, b in zip(found.picks, found.picks[1:]))


@given(pools, st.booleans())
@settings(max_examples=60, deadline=None)
def test_a_sweep_picks_what_each_lambda_picks(shape, few):
    relevance, vectors, k = random_pool(shape)
    lambdas = np.r_[0.0, np.random.default_rng(shape[3]).random(6), 1.0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ragkit.diversity.path._ALL_PAIRS", 256 if few else 0)
        swept = mmr_sweep(relevance, vectors, lambdas, k)
    assert swept.tolist() == [mmr_order(relevance, vectors, at, k)[0].tolist() for at in lambdas]


@given(pools)
@settings(max_examples=60, deadline=None)
def test_diversity_is_the_mean_over_the_pairs(shape):
    relevance, vectors, k = random_pool(shape)
    found = mmr_intervals(relevance, vectors, k)
    for picks, diversity in zip(found.picks, found.diversity):
        cosines = np.atleast_2d(cosine_similarity(vectors[picks], vectors[picks]))
        pairs = cosines[np.triu_indices(len(picks), 1)]
        assert diversity == pytest.approx(1 - pairs.mean() if len(pairs) else 0, abs=1e-12)


def test_large_pools_without_all_pairs_give_the_same_path(monkeypatch):
    rng = np.random.default_rng(4)
    relevance, vectors = np.sort(rng.random(60))[::-1], rng.normal(size=(60, 5))
    whole = mmr_intervals(relevance, vectors, 8)
    monkeypatch.setattr("ragkit.diversity.path._ALL_PAIRS", 10)
    lazy = mmr_intervals(relevance, vectors, 8)
    assert np.allclose(whole.edges, lazy.edges, atol=1e-12)
    assert whole.picks.tolist() == lazy.picks.tolist()


def test_the_path_of_many_queries_agrees_with_mmr_on_a_grid():
    rng = np.random.default_rng(2)
    vectors = {f"d{n:03}": rng.normal(size=6) for n in range(50)}
    run = pd.concat([run_of(rng.random(50), list(vectors), f"q{q}") for q in range(4)])
    run = run.sample(frac=1, random_state=1)
    path = mmr_path(run, vectors, top_k=7, fetch_k=30)
    for lambda_ in np.linspace(0.013, 0.987, 11):
        picked = mmr(run, vectors, lambda_=lambda_, top_k=7, fetch_k=30)
        inside = path[(path["lambda_from"] < lambda_) & (lambda_ < path["lambda_to"])]
        for query_id, rows in picked.groupby("query_id", sort=False):
            row = inside[inside["query_id"] == query_id].iloc[0]
            assert row["unit_ids"] == tuple(rows["doc_id"])
            assert row["relevance"] == pytest.approx(rows["mmr_relevance"].mean())


def test_lambda_for_agrees_with_the_path_for_every_unit():
    rng = np.random.default_rng(7)
    run, vectors = run_of(np.sort(rng.random(15))[::-1]), rng.normal(size=(15, 3))
    path = mmr_path(run, vectors, top_k=5)
    for unit in run["doc_id"]:
        story = lambda_for(run, vectors, "q", unit, top_k=5)
        assert story["lambda_from"].iloc[0] == 0
        assert story["lambda_to"].iloc[-1] == 1
        assert (story["lambda_to"].to_numpy()[:-1] == story["lambda_from"].to_numpy()[1:]).all()
        for row in path.itertuples():
            middle = (row.lambda_from + row.lambda_to) / 2
            said = story[(story["lambda_from"] < middle) & (middle < story["lambda_to"])].iloc[0]
            assert said["selected"] == (unit in row.unit_ids)
            if said["selected"]:
                assert row.unit_ids[said["rank"] - 1] == unit
            else:
                assert said["blocked_by"] in row.unit_ids
