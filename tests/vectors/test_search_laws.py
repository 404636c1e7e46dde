"""What must not matter to a vector search: order of rows, company, blocks, threads, the size of numbers."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ragkit as rk
from ragkit.similarity import cosine_similarity, dot_similarity, euclidean_distance

MATRIX = "ragkit.vectors.matrix"
METRICS = ["cosine", "dot", "euclidean"]


def store_of(rows, metric, order=None):
    order = np.arange(len(rows)) if order is None else order
    return rk.VectorStore({f"d{n:04}": "" for n in order}, vectors=rows[order], metric=metric)


def crowded(seed, n=60, d=6, dtype=np.float32):
    """Rows of which many are copies, multiples, near-copies or zero: orders are easily decided badly."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, d)).astype(dtype)
    like = rows[rng.integers(0, n, n)]
    kind = rng.integers(0, 6, n)[:, None]
    tiny = (1 + np.finfo(dtype).eps * rng.integers(-2, 3, size=(n, d))).astype(dtype)
    rows = np.select([kind == 0, kind == 1, kind == 2], [like, like * dtype(3), like * tiny], rows)
    rows[rng.random(n) < 0.05] = 0
    return rows, rng.normal(size=(7, d)).astype(dtype)


# ---------------------------------------------------------------- worked examples


def test_euclidean_similarity_is_right_on_every_scale():
    # 1 / (1 + 5e200) and, beside it, 1 / (1 + 5e-200), which is 1; the far document is further by a third.
    vectors = {"near": [3e-200, 0], "far": [3e200, 4e200], "farther": [0, 1e201], "same": [0, 0]}
    store = rk.VectorStore(dict.fromkeys(vectors, ""), vectors=vectors, metric="euclidean")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = store.search(vectors=[0, 0])
    assert run["doc_id"].tolist() == ["same", "near", "far", "farther"]
    assert run["score"].tolist() == pytest.approx([1, 1, 2e-201, 1e-201], rel=1e-12)
    assert store.similarity("far", "farther") == pytest.approx(1 / 6.708203932499369e200)


def test_a_dot_product_beyond_float64_is_refused_and_one_within_is_right():
    store = rk.VectorStore({"a": "", "b": ""}, vectors=[[1e200, 1e200], [1e200, -1e200]], metric="dot")
    # 1e200 * 1e100 + 1e200 * 1e100 = 2e300
    assert store.search(vectors=[1e100, 1e100])["score"].tolist() == pytest.approx([2e300, 0])
    with pytest.raises(ValueError, match=r"dot products must lie within float64.*metric='cosine'"):
        store.search(vectors=[1e200, 1e200])
    # Terms of 1e400 that cancel are no reason to refuse.
    only = rk.VectorStore({"b": ""}, vectors=[[1e200, -1e200]], metric="dot")
    assert only.search(vectors=[1e200, 1e200])["score"].tolist() == [0]


def test_the_order_is_that_of_the_scores_that_the_user_sees():
    # Vectors in float32, scores in float64: two that differ in the eighth digit are two scores, and to
    # rank the frame anew must not turn them round.
    rows = np.array([[1, 0.5], [1, 0.50000006], [1, 0.5]], np.float32)
    store = rk.VectorStore({"c": "", "a": "", "b": ""}, vectors=rows)
    run = store.search(vectors=[0.0, 1.0])
    assert run["doc_id"].tolist() == ["a", "c", "b"]  # c and b are copies: greater id first
    pd.testing.assert_frame_equal(rk.rank_by_score(run.drop(columns="rank")), run)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype, size", [(np.float64, 1.0), (np.float64, 1e-10), (np.float32, 1e-10)])
def test_similarities_that_agree_in_12_digits_are_ties_among_candidates_too(metric, dtype, size):
    # Each angle is a hair wider than the one before: similarities fall in digits past the 12th, ids rise.
    angles = 1 + np.r_[np.arange(40) * 1e-14, np.linspace(0.1, 0.5, 200)]
    rows = (size * np.c_[np.cos(angles), np.sin(angles)]).astype(dtype)
    store = store_of(rows, metric)
    query = size * np.array([1.0, 0.2])
    whole = store.search(vectors=query, top_k=None)["doc_id"].tolist()
    if metric == "cosine" and dtype == np.float64:
        assert whole[:2] == ["d0039", "d0038"]
    for k in (1, 5, 50):
        assert store.search(vectors=query, top_k=k)["doc_id"].tolist() == whole[:k]


# ---------------------------------------------------------------- laws


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("metric", METRICS)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 4, 13, None]))
@settings(max_examples=25, deadline=None)
def test_the_order_of_documents_does_not_matter(metric, dtype, seed, top_k):
    rows, queries = crowded(seed, dtype=dtype)
    order = np.random.default_rng(seed).permutation(len(rows))
    one = store_of(rows, metric).search(vectors=queries, top_k=top_k)
    other = store_of(rows, metric, order).search(vectors=queries, top_k=top_k)
    pd.testing.assert_frame_equal(one, other, check_exact=True)
    again = rk.rank_by_score(one.drop(columns="rank"))
    assert again["doc_id"].tolist() == one["doc_id"].tolist()


@pytest.mark.parametrize("metric", METRICS)
@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 5, 14]))
@settings(max_examples=25, deadline=None)
def test_each_query_finds_in_company_what_it_finds_alone(metric, seed, top_k):
    rows, queries = crowded(seed)
    store = store_of(rows, metric)
    order = np.random.default_rng(seed).permutation(len(queries))
    together = store.search(vectors=dict(zip(order.astype(str), queries[order])), top_k=top_k)
    alone = [store.search(vectors={str(n): queries[n]}, top_k=top_k) for n in order]
    pd.testing.assert_frame_equal(together, pd.concat(alone, ignore_index=True), check_exact=True)


@pytest.mark.parametrize("metric", METRICS)
@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 9]))
@settings(max_examples=25, deadline=None)
def test_the_size_of_blocks_does_not_matter(metric, seed, top_k):
    rows, queries = crowded(seed)
    plain = store_of(rows, metric).search(vectors=queries, top_k=top_k)
    for columns in (0, 1 << 29):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(f"{MATRIX}._COLUMNS", columns)
            patch.setattr(f"{MATRIX}._SCORES", 20)  # less than the ties found: queries are halved
            patch.setattr(f"{MATRIX}._NARROWEST", 16)
            patch.setattr(f"{MATRIX}._PAIRS", 3)
            patch.setattr(f"{MATRIX}._QUERIES", 5)
            blocks = store_of(rows, metric).search(vectors=queries, top_k=top_k)
        pd.testing.assert_frame_equal(plain, blocks, check_exact=True)


@pytest.mark.parametrize("metric", METRICS)
def test_the_number_of_threads_does_not_matter(metric):
    threadpoolctl = pytest.importorskip("threadpoolctl")
    rng = np.random.default_rng(4)
    rows = rng.normal(size=(30_000, 48)).astype(np.float32)
    rows[::7] = rows[0]
    runs = []
    for threads in (1, 2):
        with threadpoolctl.threadpool_limits(threads, "blas"):
            runs.append(store_of(rows, metric).search(vectors=rows[:40] + rows[1], top_k=20))
    pd.testing.assert_frame_equal(*runs, check_exact=True)


powers = st.lists(st.integers(-300, 250), min_size=12, max_size=12)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(powers, st.integers(-40, 40), st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_numbers_of_any_size_are_found_as_the_functions_say(metric, dtype, powers, scale, seed):
    rng = np.random.default_rng(seed)
    reach = 1.0 if dtype is np.float64 else 0.1
    factors = 10.0 ** (np.array(powers) * reach)[:, None]
    rows = (rng.normal(size=(12, 3)) * factors).astype(dtype)
    query = (rng.normal(size=3) * 10.0 ** (scale * reach)).astype(dtype)
    function = {"cosine": cosine_similarity, "dot": dot_similarity}.get(metric)
    want = function(query, rows) if function else 1 / (1 + euclidean_distance(query, rows))
    for top_k in (2, None):
        run = store_of(rows, metric).search(vectors=query, top_k=top_k)
        wanted = rk.rank_by_score(
            pd.DataFrame({"query_id": "0", "doc_id": [f"d{n:04}" for n in range(12)], "score": want})
        )
        np.testing.assert_allclose(
            run["score"], wanted["score"].head(len(run)), rtol=1e-12, atol=1e-15 if metric == "cosine" else 0
        )


def test_no_more_than_a_block_of_scores_is_held():
    rng = np.random.default_rng(5)
    rows, queries = rng.normal(size=(60_000, 4)).astype(np.float32), rng.normal(size=(1000, 4))
    store = store_of(rows, "cosine")
    store.search(vectors=queries[:1])
    tracemalloc.start()
    store.search(vectors=queries, top_k=5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6  # all scores would be 240e6 bytes; a block is 33e6, a table of what is high 8e6
