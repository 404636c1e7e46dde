"""Where the work is done changes nothing: threads, processes, clusters, backends that cannot stream."""

import contextlib
import warnings

import numpy as np
import pandas as pd
import pytest

import ragkit as rk

joblib = pytest.importorskip("joblib")
DATA = rk.load_dataset("toy")
GRID = {"k1": [0.5, 1.0, 2.0], "b": np.linspace(0, 1, 9).tolist()}


def everything(path=None):
    """All that hands work to joblib, on one small collection."""
    index = rk.KeywordIndex(DATA.docs)
    hybrid = rk.HybridSearch(index, rk.VectorStore(DATA.docs, embed=rk.LSAEmbedder(4)))
    asked = {"queries": DATA.queries, "metrics": ["rr", "ndcg@3"]}
    listed = [{"b": 0.2}, {"b": 9.0}, {"b": 0.4}]
    best = rk.tune(index, GRID, DATA.qrels, queries=DATA.queries, metric="ndcg@3", cv=3)
    tables = [
        rk.sweep(index, GRID, DATA.qrels, path=path, **asked),
        rk.sweep(hybrid, {"k": [1, 60], "lambda_": [None, 0.7]}, DATA.qrels, **asked),
        rk.sweep(lambda queries, b: index.search(queries, b=b), {"b": [0.0, 1.0]}, DATA.qrels, **asked),
        rk.sweep(index, listed, DATA.qrels, **asked),
    ]
    return [*(table.drop(columns="seconds") for table in tables), best.settings, best.folds, best.scores]


@pytest.fixture(scope="module")
def alone():
    return everything()


def assert_same(got, alone):
    assert len(got) == len(alone) == 7
    for ours, expected in zip(got, alone):
        pd.testing.assert_frame_equal(ours, expected)


@contextlib.contextmanager
def dask():
    distributed = pytest.importorskip("distributed")
    inside = {"processes": False, "dashboard_address": None}
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, **inside) as cluster,
        distributed.Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        yield


@contextlib.contextmanager
def without_streaming():
    """A backend that refuses return_as="generator" with a ValueError, as Ray's does."""
    from joblib.parallel import BACKENDS, ThreadingBackend

    class Whole(ThreadingBackend):
        supports_return_generator = False

    joblib.register_parallel_backend("whole", Whole)
    try:
        with joblib.parallel_config(backend="whole", n_jobs=2):
            with pytest.raises(ValueError, match="return_as"):
                joblib.Parallel(return_as="generator")
            yield
    finally:
        del BACKENDS["whole"]


@contextlib.contextmanager
def processes():
    with joblib.parallel_config(backend="loky", n_jobs=2):
        yield


@contextlib.contextmanager
def threads():
    with joblib.parallel_config(backend="threading", n_jobs=3):
        yield


@pytest.mark.parametrize("workers", [threads, processes, without_streaming, dask])
def test_the_numbers_are_those_of_one_process(workers, alone, tmp_path):
    with workers():
        got = everything(tmp_path / "sweep.jsonl")
    assert_same(got, alone)
    assert len((tmp_path / "sweep.jsonl").read_text().splitlines()) == 1 + 27


@pytest.mark.parametrize("workers", [contextlib.nullcontext, threads, processes, without_streaming, dask])
def test_what_searches_warn_of_is_said_once_wherever_they_run(workers):
    index = rk.KeywordIndex(DATA.docs)
    hybrid = rk.HybridSearch(index)
    known = DATA.docs["doc_id"][0]
    queries, qrels = {"q1": DATA.docs["text"][0], "q2": "zzzz"}, {"q1": {known: 1}, "q2": {known: 1}}
    with workers(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", rk.RetrievalWarning)
        rk.sweep(index, GRID, qrels, queries=queries, metrics="rr")
        rk.sweep(hybrid, {"k": [1, 60]}, qrels, queries=queries, metrics="rr")
        rk.sweep(
            lambda queries, b: index.search(queries, b=b), {"b": [0, 1]}, qrels, queries=queries, metrics="rr"
        )
    told = [str(w.message) for w in caught if issubclass(w.category, rk.RetrievalWarning)]
    unknown = [text for text in told if text.startswith("no document holds a word of 1 query")]
    assert len(unknown) == 3
    assert all(w.filename == __file__ for w in caught if issubclass(w.category, rk.RetrievalWarning))
