"""The four promises of the first screen, on 100,000 documents of about 100 words.

``python benchmarks/bench_foundation.py [--documents 100000]``

- building the keyword index against scikit-learn's CountVectorizer on the same texts and the same words;
- a three-word search with k1 and b that were never used before;
- moving lambda, and moving a weight, in HybridSearch;
- ``import ragkit`` above ``import pandas, scipy.sparse``.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import subprocess
import sys
import time

import numpy as np

import ragkit as rk


def zipf_texts(n: int, *, vocabulary: int = 200_000, seed: int = 0) -> list[str]:
    """Make texts of 60 to 140 words whose frequencies follow Zipf and Mandelbrot."""
    rng = np.random.default_rng(seed)
    weights = 1.0 / (np.arange(1, vocabulary + 1) + 2.7) ** 1.07
    cumulative = np.cumsum(weights / weights.sum())
    letters = np.array(list("etaoinshrdlucmfwypvbgkjqxz"))
    lengths = np.minimum(2 + rng.poisson(2 + np.log10(np.arange(1, vocabulary + 1))), 14)
    words = ["".join(letters[rng.integers(0, 26, length)]) for length in lengths]
    sizes = rng.integers(60, 141, n)
    tokens = np.searchsorted(cumulative, rng.random(int(sizes.sum())))
    ends = np.cumsum(sizes)
    return [" ".join(map(words.__getitem__, tokens[end - size : end])) for size, end in zip(sizes, ends)]


def seconds(function, repeat: int) -> list[float]:
    """Time `repeat` calls; each gets its number, so that no call repeats another's arguments."""
    times = []
    for turn in range(repeat):
        start = time.perf_counter()
        function(turn)
        times.append(time.perf_counter() - start)
    return times


def show(name: str, times: list[float], unit: float = 1e3) -> float:
    middle = statistics.median(times)
    print(
        f"{name:<58} median {middle * unit:9.2f}  min {min(times) * unit:9.2f} {'ms' if unit == 1e3 else 's'}"
    )
    return middle


def bench_build(texts: list[str], repeat: int) -> rk.KeywordIndex:
    from sklearn.feature_extraction.text import CountVectorizer

    tokenizer = rk.Tokenizer(stop_words=None)
    peer = CountVectorizer(token_pattern=r"(?u)\b\w+\b")
    docs = {str(n): text for n, text in enumerate(texts)}
    index = rk.KeywordIndex(docs, tokenizer=tokenizer)
    counts = peer.fit_transform(texts)
    same = index.stats()["terms"] == counts.shape[1] and len(index) == counts.shape[0]
    total = round(index.stats()["average_length"] * len(index))
    print(f"equal vocabulary and word count: {bool(same and total == counts.sum())}")
    ours, theirs = [], []
    for _ in range(repeat):  # in turn, so that a change of the machine's speed hits both
        theirs += seconds(lambda _: CountVectorizer(token_pattern=r"(?u)\b\w+\b").fit_transform(texts), 1)
        ours += seconds(lambda _: rk.KeywordIndex(docs, tokenizer=tokenizer), 1)
    a, b = show("CountVectorizer.fit_transform", theirs, 1), show("KeywordIndex", ours, 1)
    print(f"{'ratio CountVectorizer / KeywordIndex':<58} {a / b:.2f}x")
    return index


def bench_search(index: rk.KeywordIndex, texts: list[str]) -> None:
    rng = np.random.default_rng(1)
    queries = [" ".join(rng.choice(texts[n].split(), 3)) for n in rng.integers(0, len(texts), 40)]
    show(
        "three-word search, top 10, new k1 and b each time",
        seconds(lambda n: index.search(queries[n], top_k=10, k1=0.5 + n / 40, b=n / 40), 40),
    )


def bench_knobs(index: rk.KeywordIndex, texts: list[str]) -> None:
    rng = np.random.default_rng(2)
    vectors = rng.standard_normal((len(texts), 384)).astype(np.float32)
    store = rk.VectorStore(index.docs, vectors=vectors)
    hybrid = rk.HybridSearch(index, store)
    query, vector = " ".join(texts[0].split()[:3]), vectors[1]

    def search(**knobs):
        return hybrid.search(query, vectors=vector, **knobs)

    search(lambda_=0.5)
    show("HybridSearch: moving lambda", seconds(lambda n: search(lambda_=0.4 + n / 100), 40))
    show(
        "HybridSearch: moving a weight (MMR on)",
        seconds(lambda n: search(lambda_=0.5, weights={"keyword": 0.3 + n / 100, "vector": 0.7}), 40),
    )
    show("HybridSearch: moving k1", seconds(lambda n: search(lambda_=0.5, k1=0.5 + n / 50), 40))


def bench_import(repeat: int) -> None:
    def run(statement: str) -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", statement], check=True)
        return time.perf_counter() - start

    base, ours = [], []
    for _ in range(repeat):
        base.append(run("import pandas, scipy.sparse"))
        ours.append(run("import ragkit"))
    a, b = show("import pandas, scipy.sparse", base), show("import ragkit", ours)
    print(f"{'import ragkit above that':<58} {(b - a) * 1e3:.0f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    print(f"Python {platform.python_version()}, numpy {np.__version__}, {options.documents} documents")
    texts = zipf_texts(options.documents)
    index = bench_build(texts, options.repeat)
    bench_search(index, texts)
    bench_knobs(index, texts)
    bench_import(9)


if __name__ == "__main__":
    main()
