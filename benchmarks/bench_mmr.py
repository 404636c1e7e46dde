"""MMR beside langchain-core: equal picks first, then CPU time of alternating runs on one BLAS thread.

OPENBLAS_NUM_THREADS=1 python benchmarks/bench_mmr.py [--quick]
"""

from __future__ import annotations

import os
import sys
import time
import tracemalloc
from importlib.metadata import version

import numpy as np
import pandas as pd

import ragkit as rk
from ragkit.diversity import mmr_intervals, mmr_of_query, mmr_order, mmr_sweep
from ragkit.similarity import cosine_similarity

try:
    from langchain_core.vectorstores.utils import maximal_marginal_relevance as langchain_mmr
except ImportError:
    langchain_mmr = None

D = 384
RNG = np.random.default_rng(0)


def pool_of(n, dtype):
    """A query and candidates that lie in clusters around 30 subjects, some near the query."""
    centres = RNG.normal(size=(30, D))
    vectors = centres[RNG.integers(0, 30, n)] + RNG.normal(size=(n, D))
    return (centres[0] + centres[1] + RNG.normal(size=D)).astype(dtype), vectors.astype(dtype)


def cpu(work):
    start = time.process_time()
    work()
    return (time.process_time() - start) * 1000


def alternate(ours, theirs, times):
    """Time both in turn, so that a busy machine slows both."""
    pairs = [(cpu(ours), cpu(theirs)) for _ in range(times)]
    mine, peers = np.array(pairs).T
    return mine, peers


def line(what, mine, peers):
    print(
        f"{what:<44} ragkit {mine.min():9.2f} ms min {np.median(mine):9.2f} med | "
        f"langchain {peers.min():9.1f} min {np.median(peers):9.1f} med | "
        f"{peers.min() / mine.min():6.1f}x min {np.median(peers) / np.median(mine):6.1f}x med",
        flush=True,
    )


def single(n, k, times, dtype):
    q, V = pool_of(n, dtype)
    ours = mmr_of_query(q, V, 0.5, k)[0].tolist()
    theirs = [int(i) for i in langchain_mmr(q, V, 0.5, k)]
    assert ours == theirs, f"picks differ at {n}, {k}"
    mine, peers = alternate(lambda: mmr_of_query(q, V, 0.5, k), lambda: langchain_mmr(q, V, 0.5, k), times)
    line(f"{k} of {n}, {np.dtype(dtype).name}", mine, peers)


def sweep(n, k, times):
    q, V = pool_of(n, np.float64)
    lambdas = np.linspace(0, 1, 21)
    swept = mmr_sweep(cosine_similarity(q, V), V, lambdas, k)
    for at, picks in zip(lambdas, swept):
        assert picks.tolist() == [int(i) for i in langchain_mmr(q, V, at, k)], f"picks differ at {at}"
    mine, peers = alternate(
        lambda: mmr_sweep(cosine_similarity(q, V), V, lambdas, k),
        lambda: [langchain_mmr(q, V, at, k) for at in lambdas],
        times,
    )
    line(f"21 lambdas, {k} of {n}", mine, peers)


def batch(queries, n, k, times):
    """Many queries as one frame, from run to run: all of pandas is in our time, nothing of it in theirs."""
    Q, V = RNG.normal(size=(queries, D)), RNG.normal(size=(5000, D))
    cosines = cosine_similarity(Q, V)
    best = np.argsort(-cosines, axis=1)[:, :n]
    run = pd.DataFrame(
        {
            "query_id": np.repeat([f"q{i}" for i in range(queries)], n),
            "doc_id": np.char.add("d", best.ravel().astype(str)),
            "rank": np.tile(np.arange(1, n + 1), queries),
            "score": np.take_along_axis(cosines, best, axis=1).ravel(),
        }
    )
    store = rk.VectorStore({f"d{i}": "" for i in range(len(V))}, vectors=V)

    def ours():
        return rk.mmr(run, store, top_k=k, scale=None)

    def theirs():
        return [[f"d{best[i][j]}" for j in langchain_mmr(Q[i], V[best[i]], 0.5, k)] for i in range(queries)]

    assert ours()["doc_id"].tolist() == [d for picks in theirs() for d in picks], "picks differ in the batch"
    line(f"{queries} queries, {k} of {n}, frames included", *alternate(ours, theirs, times))


def path(n, k, times):
    q, V = pool_of(n, np.float64)
    rel = cosine_similarity(q, V)
    order = np.argsort(-rel)
    rel, V = (rel[order] - rel.min()) / np.ptp(rel), V[order]
    found = mmr_intervals(rel, V, k)
    for low, high, picks in zip(found.edges[:-1], found.edges[1:], found.picks):
        assert mmr_order(rel, V, (low + high) / 2, k)[0].tolist() == picks.tolist()
    taken = [cpu(lambda: mmr_intervals(rel, V, k)) for _ in range(times)]
    run = pd.DataFrame({"query_id": "q", "doc_id": [f"d{i}" for i in range(n)], "score": rel})
    frames = [cpu(lambda: rk.mmr_path(run, V, top_k=k)) for _ in range(times)]
    print(
        f"mmr_path {k} of {n}: {len(found.picks)} selections, {min(taken):.2f} ms min "
        f"{np.median(taken):.2f} med; as a frame {min(frames):.2f} min {np.median(frames):.2f} med",
        flush=True,
    )


def memory(n, k):
    for dtype in (np.float64, np.float32):
        q, V = pool_of(n, dtype)
        tracemalloc.start()
        mmr_of_query(q, V, 0.5, k)
        peak = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
        print(f"memory of {k} of {n}, {np.dtype(dtype).name}: {peak:.1f} MB above the input", flush=True)


def main():
    quick = "--quick" in sys.argv
    print(f"BLAS threads: {os.environ.get('OPENBLAS_NUM_THREADS', 'not set; set OPENBLAS_NUM_THREADS=1')}")
    print(f"numpy {np.__version__}, pandas {pd.__version__}, d = {D}, CPU time")
    path(100, 10, 15)
    path(1000, 10, 5)
    memory(10_000, 200)
    if langchain_mmr is None:
        print("langchain-core is not installed: no comparison")
        return
    print(f"langchain-core {version('langchain-core')}")
    for dtype in (np.float64, np.float32):
        single(100, 10, 25, dtype)
        single(1000, 50, 5, dtype)
        if not quick:
            single(10_000, 200, 2, dtype)
    sweep(100, 10, 7)
    sweep(1000, 50, 1)
    batch(300, 100, 10, 3)


if __name__ == "__main__":
    main()
