"""Stores and hostile input: filters are data, text is text, memory stays within bounds."""

from __future__ import annotations

import asyncio
import tracemalloc

import numpy as np
import pandas as pd
import pytest

import ragkit as rk

DOCS = pd.DataFrame({"doc_id": ["a", "b"], "text": ["red fox", "blue fox"], "year": [2020, 2021]})


def stores():
    return [rk.KeywordIndex(DOCS), rk.VectorStore(DOCS, embed=rk.HashingEmbedder(16))]


@pytest.mark.parametrize(
    "where", ["@pd.compat.os.system('touch pwned')", "__import__('os').system('touch pwned')"]
)
def test_a_filter_is_never_code(where, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for store in stores():
        with pytest.raises(TypeError, match="where must be a dict"):
            store.search("fox", where=where)
        with pytest.raises(TypeError, match="where must be a dict"):
            store.remove(where=where)
    assert not (tmp_path / "pwned").exists()


def test_fields_and_values_of_a_filter_are_compared_and_never_interpolated():
    for store in stores():
        with pytest.raises(KeyError, match="year` or 1==1"):
            store.search("fox", where={"year` or 1==1 or `x": 1})
        with pytest.warns(rk.RetrievalWarning, match="no document has \"2020' or '1'=='1\""):
            assert len(store.search("fox", where={"year": "2020' or '1'=='1"})) == 0
        assert store.search("fox", where={"year": 2020})["doc_id"].tolist() == ["a"]
        assert store.remove(where={"year": 2020}) == ["a"]


@pytest.mark.parametrize("shapes", [((3, 1), (1, 3)), ((1,), (1, 3)), ((2,), (1, 4))])
def test_vectors_are_never_cut_padded_or_broadcast(shapes):
    ours, theirs = shapes
    store = rk.VectorStore(["x"], vectors=np.ones(theirs))
    with pytest.raises(ValueError, match="numbers"):
        store.search(vectors=np.ones(ours))


def test_an_index_of_a_large_vocabulary_stays_sparse():
    # 5,000 documents of 40 words out of 20,000: a dense table would take 800 MB.
    rng = np.random.default_rng(1)
    texts = [" ".join(f"w{n}" for n in row) for row in rng.integers(0, 20_000, (5_000, 40))]
    tracemalloc.start()
    rk.KeywordIndex(texts).search("w1 w2 w3")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6


def test_searching_works_inside_a_running_event_loop():
    async def cell():
        return [len(store.search("fox")) for store in stores()]

    assert asyncio.run(cell()) == [2, 2]


def test_queries_do_not_grow_the_vocabulary():
    index = rk.KeywordIndex(DOCS)
    before = index.terms()
    with pytest.warns(rk.RetrievalWarning, match="zzz"):
        index.search("zzz")
    pd.testing.assert_frame_equal(index.terms(), before)


def test_categorical_ids_stay_categorical():
    docs = DOCS.assign(doc_id=pd.Categorical(["a", "b"]))
    run = rk.KeywordIndex(docs).search("fox")
    assert isinstance(run["doc_id"].dtype, pd.CategoricalDtype) and run["doc_id"].tolist() == ["b", "a"]


def test_a_million_scores_are_computed_in_blocks():
    # 40,000 documents x 500 queries are 20 million scores, 80 MB at once; a block is 32 MB.
    rows = np.random.default_rng(0).normal(size=(40_000, 8)).astype(np.float32)
    store = rk.VectorStore([""] * len(rows), vectors=rows)
    queries = rows[:500]
    store.search(vectors=queries[:1])
    tracemalloc.start()
    run = store.search(vectors=queries, top_k=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert run["doc_id"].tolist() == [str(n) for n in range(500)]
    assert peak < 75e6
