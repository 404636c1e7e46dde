"""Fusion side by side with ranx and LangChain: equal results first, then alternating runs.

    python benchmarks/bench_fusion.py            # everything
    python benchmarks/bench_fusion.py fuse       # one of: fuse, hybrid, path

Peers that are not installed are skipped with a note; nothing is installed.
"""

from __future__ import annotations

import gc
import os
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
import pandas as pd

import ragkit as rk

# On a machine that others share, CPU time is the steadier measure: BENCH_CLOCK=cpu.
CLOCK = time.process_time if os.environ.get("BENCH_CLOCK") == "cpu" else time.perf_counter


def alternate(jobs: dict[str, Callable], repeats: int = 5) -> dict[str, list[float]]:
    """Run the jobs in turns, so that a busy moment hits all of them.

    Each runs twice in a row and the second time counts. A virtual machine gives memory that stood free for
    a second back to its host, and getting it again can take longer than the work itself.
    """
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(repeats):
        for name, job in jobs.items():
            gc.collect()
            job()
            start = CLOCK()
            job()
            times[name].append(1000 * (CLOCK() - start))
    return times


middle = statistics.median


def report(title: str, times: dict[str, list[float]], ours: str = "ragkit") -> None:
    """Print least and median time of each, and the ratio to ours."""
    print(f"\n{title}")
    base = times[ours]
    for name, t in times.items():
        ratio = (
            "" if name == ours else f"  {min(t) / min(base):5.1f}x (median {middle(t) / middle(base):.1f}x)"
        )
        print(f"  {name:<28} min {min(t):9.1f} ms  median {middle(t):9.1f} ms{ratio}")


def make_runs(n_queries: int, depth: int, n_runs: int, n_docs: int, seed: int = 0) -> dict[str, pd.DataFrame]:
    """Make runs whose units are categorical, as ragkit keeps them between stages."""
    rng = np.random.default_rng(seed)
    queries = np.array([f"q{n}" for n in range(n_queries)], dtype=object)
    docs = np.array([f"d{n}" for n in range(n_docs)], dtype=object)
    runs = {}
    for number in range(n_runs):
        picked = np.concatenate([rng.choice(n_docs, depth, replace=False) for _ in range(n_queries)])
        scores = -np.sort(-rng.random((n_queries, depth)), axis=1)
        runs[f"r{number}"] = pd.DataFrame(
            {
                "query_id": pd.Categorical.from_codes(
                    np.repeat(np.arange(n_queries), depth), categories=queries
                ),
                "doc_id": pd.Categorical.from_codes(picked, categories=docs),
                "rank": np.tile(np.arange(1, depth + 1), n_queries),
                "score": scores.ravel(),
            }
        )
    return runs


def bench_fuse(queries: int = 1000, depth: int = 1000) -> None:
    """1,000 queries x 1,000 documents x 2 and 5 runs, the ledger included.

    Runs share half of their documents, as drawn from 2,000, or next to none, as drawn from 100,000.
    """
    for n_runs, n_docs in ((2, 2000), (2, 100_000), (5, 2000)):
        runs = make_runs(queries, depth, n_runs, n_docs)
        strings = {n: f.astype({"query_id": str, "doc_id": str}) for n, f in runs.items()}
        for method, ranx_method in (("rrf", "rrf"), ("linear", "wsum")):
            jobs = {
                "ragkit": lambda m=method, r=runs: rk.fuse(r, method=m),
                "ragkit, string ids": lambda m=method, r=strings: rk.fuse(r, method=m),
                "ragkit, top_k=100": lambda m=method, r=runs: rk.fuse(r, method=m, top_k=100),
            }
            peer = ranx_fuse(strings, ranx_method)
            if peer is not None:
                check_equal(jobs["ragkit"](), peer().to_dataframe())
                jobs["ranx (warm, runs made before)"] = peer
            title = f"{method}, {queries} queries x {depth} of {n_docs} documents x {n_runs} runs"
            report(title, alternate(jobs, 5))
    bench_langchain()


def ranx_fuse(runs: dict[str, pd.DataFrame], method: str) -> Callable | None:
    try:
        import ranx
    except ImportError:
        print("ranx is not installed: skipped")
        return None
    made = ranx_runs(runs)
    params = {"k": 60} if method == "rrf" else {"weights": [1.0] * len(made)}
    norm = None if method == "rrf" else "min-max"
    return lambda: ranx.fuse(runs=made, norm=norm, method=method, params=params)


def plain(frame: pd.DataFrame) -> pd.DataFrame:
    """Make the ids what ranx asks for."""
    return frame.astype({"query_id": object, "doc_id": object})


def ranx_runs(runs: dict[str, pd.DataFrame]) -> list:
    import ranx

    return [ranx.Run.from_df(plain(f), "query_id", "doc_id", "score") for f in runs.values()]


def check_equal(ours: pd.DataFrame, theirs: pd.DataFrame) -> None:
    """Compare the scores of every pair."""
    theirs = theirs.set_axis(["query_id", "doc_id", "score"], axis=1).astype({"query_id": str, "doc_id": str})
    mine = ours[["query_id", "doc_id", "score"]].astype({"query_id": str, "doc_id": str})
    both = mine.merge(theirs, on=["query_id", "doc_id"], suffixes=("", "_theirs"))
    if len(both) != len(ours) or not np.allclose(both["score"], both["score_theirs"], atol=1e-9):
        raise RuntimeError("results differ")


def bench_langchain(n_queries: int = 200, depth: int = 1000) -> None:
    """LangChain's weighted reciprocal rank, per query."""
    try:
        from langchain_classic.retrievers import EnsembleRetriever
        from langchain_core.documents import Document
    except ImportError:
        print("langchain is not installed: skipped")
        return
    runs = make_runs(n_queries, depth, 2, 2 * depth)
    ensemble = EnsembleRetriever.model_construct(retrievers=[], weights=[0.5, 0.5], c=60, id_key=None)
    groups = [f.groupby("query_id", observed=True)["doc_id"] for f in runs.values()]
    lists = [[[Document(page_content=str(d)) for d in docs] for _, docs in group] for group in groups]
    jobs = {
        "ragkit": lambda: rk.fuse(runs, weights=[0.5, 0.5]),
        "langchain (per query)": lambda: [
            ensemble.weighted_reciprocal_rank(list(pair)) for pair in zip(*lists)
        ],
    }
    report(f"weighted rrf, {n_queries} queries x {depth} documents x 2 runs", alternate(jobs, 5))


def bench_hybrid(n_docs: int = 100_000) -> None:
    """Moving lambda or a weight on 100,000 documents."""
    rng = np.random.default_rng(0)
    words = np.array([f"w{n}" for n in range(20_000)])
    zipf = np.minimum(rng.zipf(1.3, (n_docs, 30)) - 1, len(words) - 1)
    docs = pd.DataFrame(
        {"doc_id": [f"d{n}" for n in range(n_docs)], "text": [" ".join(words[row]) for row in zipf]}
    )
    vectors = rng.normal(size=(n_docs, 128)).astype(np.float32)
    hybrid = rk.HybridSearch(rk.KeywordIndex(docs), rk.VectorStore(docs, vectors=vectors))
    query = {"queries": {"q": "w5 w70 w900"}, "vectors": vectors[7]}
    hybrid.search(**query, lambda_=0.5)
    lambdas, weights = iter(np.linspace(0, 1, 1000)), iter(np.linspace(0.01, 0.99, 1000))

    def move_weight() -> pd.DataFrame:
        w = float(next(weights))
        return hybrid.search(**query, lambda_=0.5, weights={"keyword": 1 - w, "vector": w})

    jobs = {
        "moving lambda": lambda: hybrid.search(**query, lambda_=float(next(lambdas))),
        "moving a weight": move_weight,
        "a new k1": lambda: hybrid.search(**query, lambda_=0.5, k1=float(next(lambdas))),
    }
    report(f"HybridSearch, {n_docs} documents, pool 100", alternate(jobs, 20), "moving lambda")


def bench_path(n_queries: int = 1000, depth: int = 100, n_docs: int = 1000) -> None:
    """The exact optimum over all weights against ranx's grid of 11."""
    runs = make_runs(n_queries, depth, 2, n_docs)
    rng = np.random.default_rng(1)
    judged = pd.DataFrame(
        [
            {"query_id": f"q{q}", "doc_id": f"d{d}", "relevance": int(rng.integers(1, 4))}
            for q in range(n_queries)
            for d in rng.choice(n_docs, 10, replace=False)
        ]
    )

    def exact() -> pd.DataFrame:
        return rk.best_weight(rk.weight_path(runs, judged, method="linear", metrics="ndcg@10"))

    jobs: dict[str, Callable] = {"ragkit": exact}
    try:
        import ranx
    except ImportError:
        print("ranx is not installed: skipped")
    else:
        qrels = ranx.Qrels.from_df(plain(judged), "query_id", "doc_id", "relevance")
        made = ranx_runs(runs)
        options = {"norm": "min-max", "method": "wsum", "metric": "ndcg@10", "show_progress": False}

        def grid() -> object:
            return ranx.optimize_fusion(qrels=qrels, runs=made, return_optimization_report=True, **options)

        best = exact()["value"].iloc[0]
        means = rk.hybrid.mean_path(rk.weight_path(runs, judged, method="linear", metrics="ndcg@10"))
        inside = [
            means.loc[(means["weight_from"] <= w) & (means["weight_to"] > w), "ndcg@10"]
            for w in np.arange(1, 10) / 10
        ]
        coarse = max(float(found.iloc[0]) for found in inside)
        print(f"exact optimum {best:.6f}, best of the grid's inner weights {coarse:.6f}")
        jobs["ranx optimize_fusion, 11 weights"] = grid
    report(f"best weight for ndcg@10, {n_queries} queries x {depth} documents", alternate(jobs, 5))


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["fuse", "hybrid", "path"]
    for name in wanted:
        {"fuse": bench_fuse, "hybrid": bench_hybrid, "path": bench_path}[name]()
