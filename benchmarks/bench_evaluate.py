"""Evaluate runs side by side with ranx, pytrec_eval and ir-measures: equal results first, then ratios.

    python benchmarks/bench_evaluate.py [--quick]

Peers that are not installed are skipped. Their objects are ready before the clock starts (ranx's first,
compiling call is not counted); ragkit starts from a DataFrame with categorical ids. Times are CPU times, so
that other work on the machine counts little.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import statistics
import time
import warnings

import numpy as np
import pandas as pd

import ragkit as rk

STRINGS = {"query_id": "str", "doc_id": "str"}
METRICS = ("ndcg@10", "ap", "rr", "recall@100")


def make(queries: int, depth: int, judged: int = 20, docs: int = 100_000, seed: int = 0):
    """Make a run and judgements: a third of the judged documents are retrieved."""
    rng = np.random.default_rng(seed)
    found = np.argsort(rng.random((queries, 4 * depth)), axis=1)[:, :depth] + rng.integers(
        0, docs - 4 * depth, (queries, 1)
    )
    doc_ids = pd.Index([f"doc{n}" for n in range(docs)])
    query_ids = pd.Index([f"q{n}" for n in range(queries)])
    run = pd.DataFrame(
        {
            "query_id": pd.Categorical.from_codes(np.repeat(np.arange(queries), depth), query_ids),
            "doc_id": pd.Categorical.from_codes(found.ravel(), doc_ids),
            "rank": np.tile(np.arange(1, depth + 1), queries),
            "score": np.sort(rng.random((queries, depth)), axis=1)[:, ::-1].ravel(),
        }
    )
    some = np.argsort(rng.random((queries, depth)), axis=1)[:, : judged // 3]
    inside = np.take_along_axis(found, some, axis=1)
    outside = (found.max(axis=1, keepdims=True) + 1 + np.arange(judged - judged // 3)) % docs
    chosen = np.concatenate([inside, outside], axis=1)
    qrels = pd.DataFrame(
        {
            "query_id": pd.Categorical.from_codes(np.repeat(np.arange(queries), judged), query_ids),
            "doc_id": pd.Categorical.from_codes(chosen.ravel(), doc_ids),
            "relevance": rng.integers(0, 4, queries * judged),
        }
    )
    return run, qrels


def ours(run: pd.DataFrame, qrels: pd.DataFrame):
    def call():
        scores = rk.evaluate(run, qrels, metrics=METRICS)
        return scores["value"].to_numpy().reshape(-1, len(METRICS)).mean(axis=0)

    return call


def peers(run: pd.DataFrame, qrels: pd.DataFrame) -> dict:
    """Make a call for each peer that is installed."""
    calls = {}
    run_dict, qrels_dict = rk.to_dict(run), rk.to_dict(qrels)
    if importlib.util.find_spec("ranx"):
        import ranx

        ranx_names = ["ndcg@10", "map", "mrr", "recall@100"]
        ready = ranx.Qrels(qrels_dict), ranx.Run(run_dict)
        calls["ranx, objects ready"] = lambda: list(ranx.evaluate(*ready, ranx_names).values())
    if importlib.util.find_spec("pytrec_eval"):
        import pytrec_eval

        names = ["ndcg_cut_10", "map", "recip_rank", "recall_100"]
        wanted = {"ndcg_cut.10", "map", "recip_rank", "recall.100"}
        evaluator = pytrec_eval.RelevanceEvaluator(qrels_dict, wanted)

        def trec():
            results = evaluator.evaluate(run_dict)
            return [sum(r[n] for r in results.values()) / len(qrels_dict) for n in names]

        calls["pytrec_eval, dicts ready"] = trec
    if importlib.util.find_spec("ir_measures"):
        import ir_measures
        from ir_measures import AP, RR, R, nDCG

        measures = [nDCG @ 10, AP, RR, R @ 100]

        def irm(means):
            return [means[m] for m in measures]

        plain = [f.astype({"query_id": object, "doc_id": object}) for f in (qrels, run)]
        calls["ir-measures, frames"] = lambda: [
            ir_measures.calc_aggregate(measures, *plain)[m] for m in measures
        ]
    return calls


def race(calls: dict, rounds: int) -> dict[str, list[float]]:
    """Run all in turn, so that a busy moment hits all; what takes seconds is run twice at most."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for number in range(rounds):
        for name, call in calls.items():
            if number > 1 and min(times[name]) > 2000:
                continue
            start = time.process_time()
            call()
            times[name].append(1000 * (time.process_time() - start))
    return times


def sweeping(quick: bool) -> None:
    """Print what a sweep over k1 and b costs beside its bare searches."""
    from bench_keyword import corpus, queries_of, vocabulary

    words, chance = vocabulary()
    texts = corpus(2000 if quick else 20_000, words, chance)
    asked = queries_of(words, 30 if quick else 300, np.random.default_rng(1))["keyword"]
    queries = rk.as_queries({f"q{n}": text for n, text in enumerate(asked)})
    index = rk.KeywordIndex({f"doc{n}": text for n, text in enumerate(texts)})
    run = index.search(queries)
    qrels = run.loc[run["rank"] % 7 == 1, ["query_id", "doc_id"]].assign(relevance=1)
    grid = {"k1": np.linspace(0.5, 2.5, 3 if quick else 10), "b": np.linspace(0, 1, 3 if quick else 10)}
    pairs = [(float(k1), float(b)) for k1 in grid["k1"] for b in grid["b"]]
    settings = [{"k1": k1, "b": b} for k1, b in pairs]
    calls = {
        "searches one by one": lambda: [index.search(queries, **setting) for setting in settings],
        "all settings at once": lambda: index.search_settings(queries, settings),
        "sweep of a lambda": lambda: rk.sweep(
            lambda queries, k1, b: index.search(queries, k1=k1, b=b),
            grid, qrels, queries=queries, metrics=["ndcg@10", "recall@100"], progress=False,
        ),
    }  # fmt: skip
    for metrics in (["ndcg@10"], ["ndcg@10", "recall@100"]):
        calls[f"sweep of {', '.join(metrics)}"] = lambda metrics=metrics: rk.sweep(
            index, grid, qrels, queries=queries, metrics=metrics, progress=False
        )
    times = race(calls, 3)
    first = min(times["searches one by one"])
    print(f"\n{len(pairs)} settings of k1 and b, {len(queries)} queries, {len(texts):,} documents")
    for name, values in times.items():
        print(f"{name:30}{min(values):9.0f} ms{min(values) / first:10.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    options = parser.parse_args()
    warnings.simplefilter("ignore", rk.RetrievalWarning)  # these judgements are drawn at random
    sizes = ((100, 100), (300, 50)) if options.quick else ((1000, 1000), (10_000, 100))
    versions = f"numpy {np.__version__}, pandas {pd.__version__}"
    print(f"{os.cpu_count()} cores, Python {platform.python_version()}, {versions}")
    for queries, depth in sizes:
        run, qrels = make(queries, depth)
        shuffled = run.sample(frac=1, random_state=0)
        variants = {
            "ragkit, categorical ids": ours(run, qrels),
            "ragkit, string ids": ours(
                run.astype({"query_id": "str", "doc_id": "str"}),
                qrels.astype({"query_id": "str", "doc_id": "str"}),
            ),
            "ragkit, rows shuffled": ours(shuffled, qrels),
            "ragkit, shuffled, no ranks": ours(shuffled.drop(columns="rank"), qrels),
        }
        calls = variants | peers(run, qrels)
        expected = variants["ragkit, categorical ids"]()
        for name, call in calls.items():
            assert np.allclose(call(), expected, atol=1e-9), f"{name} gives other results"
        times = race(calls, 3 if options.quick else 7)
        first = min(times["ragkit, categorical ids"])
        print(f"\n{queries:,} queries x {depth:,} results, {', '.join(METRICS)}")
        print(f"{'':30}{'min ms':>9}{'median':>9}{'x ragkit':>10}")
        for name, values in times.items():
            print(f"{name:30}{min(values):9.1f}{statistics.median(values):9.1f}{min(values) / first:10.1f}")
    sweeping(options.quick)


if __name__ == "__main__":
    main()
