"""VectorStore beside faiss and scikit-learn: exact nearest neighbours of 1, 32 and 1,000 queries.

OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 python benchmarks/bench_dense.py [--docs 100000] [--rounds 5]
OPENBLAS_NUM_THREADS=1 python benchmarks/bench_dense.py --large      (a million documents: 4 GB, no peers)

Runs alternate, equal results are checked before anything is timed, and peers that are not installed are
skipped. Times are of the processor, all threads together; the least and the median are printed.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

import numpy as np

import ragkit as rk


def clock(work):
    start = time.process_time()
    work()
    return time.process_time() - start


def race(title, contestants, rounds):
    """Time the contestants in turn and print how many times longer than ragkit each takes."""
    times = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, work in contestants.items():
            times[name].append(clock(work))
    best, middle = ({name: f(t) for name, t in times.items()} for f in (np.min, np.median))
    print(title)
    for name in times:
        shown = f"  {name:<22} {best[name] * 1e3:9.2f} ms min {middle[name] * 1e3:9.2f} median"
        if name != "ragkit":
            shown += (
                f"  {best[name] / best['ragkit']:6.2f}x min {middle[name] / middle['ragkit']:6.2f}x median"
            )
        print(shown, flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--docs", type=int, default=100_000)
    parser.add_argument("--dim", type=int, default=384)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--large", action="store_true", help="time and memory of a million documents")
    options = parser.parse_args()
    if options.large:
        return large(1_000_000, options.dim)
    for name in ("numpy", "pandas", "faiss-cpu", "scikit-learn"):
        try:
            print(f"{name} {version(name)}", end="; ")
        except PackageNotFoundError:
            print(f"{name} is not installed and is skipped", end="; ")
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores")
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(options.docs, options.dim)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    queries = rng.normal(size=(1000, options.dim)).astype(np.float32)
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    store = rk.VectorStore([""] * len(rows), vectors=rows)
    store.search(vectors=queries[:1], top_k=10)
    peers = {}
    if find_spec("faiss"):
        import faiss

        faiss.omp_set_num_threads(1)
        flat = faiss.IndexFlatIP(options.dim)
        flat.add(rows)
        peers["faiss flat"] = lambda q, k: flat.search(q, k)[1]
        check(store, flat, queries[:50])
    if find_spec("sklearn"):
        from sklearn.neighbors import NearestNeighbors

        brute = NearestNeighbors(metric="cosine", algorithm="brute").fit(rows)
        peers["scikit-learn brute"] = lambda q, k: brute.kneighbors(q, k)[1]
    for n in (1, 32, 1000):
        q = queries[:n]
        contestants = {"ragkit": lambda q=q: store.search(vectors=q, top_k=10)}
        contestants |= {name: (lambda q=q, work=work: work(q, 10)) for name, work in peers.items()}
        title = f"{len(rows):,} x {options.dim} float32, {n} queries, top 10 (ragkit's answer is a frame)"
        race(title, contestants, options.rounds if n > 1 else 4 * options.rounds)
    print(f"memory: vectors {rows.nbytes / 1e6:.0f} MB, store {store.stats()['memory'] / 1e6:.0f} MB")


def large(n, dim):
    """Print what a million documents cost: processor time, and memory above the store's own vectors."""
    import resource

    def peak():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3  # kilobytes, on Linux

    rng = np.random.default_rng(0)
    rows = np.empty((n, dim), dtype=np.float32)
    for start in range(0, n, 50_000):
        block = rng.standard_normal((50_000, dim), dtype=np.float32)
        rows[start : start + 50_000] = block / np.linalg.norm(block, axis=1, keepdims=True)
    queries = rng.standard_normal((1000, dim), dtype=np.float32)
    before = peak()
    start = time.process_time()
    store = rk.VectorStore([""] * n, vectors=rows)
    store.search(vectors=queries[:1], top_k=10)
    print(f"{n:,} x {dim} float32: built in {time.process_time() - start:.1f} s of the processor")
    print(
        f"  memory: {peak() - before - rows.nbytes / 1e6:.0f} MB above the copy of the vectors, ids included"
    )
    for many in (1, 32, 1000):
        before = peak()
        taken = clock(lambda many=many: store.search(vectors=queries[:many], top_k=10))
        print(f"  {many:>4} queries: {taken:6.2f} s, peak {peak() - before:.0f} MB higher", flush=True)


def check(store, flat, queries):
    run = store.search(vectors=queries, top_k=10)
    scores, found = flat.search(queries, 10)
    np.testing.assert_allclose(run["score"], scores.ravel(), atol=1e-5)
    same = np.mean(run["doc_id"].astype(int).to_numpy() == found.ravel())
    print(f"equal: scores agree with faiss to 1e-5, {same:.2%} of the places hold the same document")


if __name__ == "__main__":
    main()
