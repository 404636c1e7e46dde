"""KeywordIndex beside bm25s, tantivy and scikit-learn: build, search, parameter grid, memory.

OPENBLAS_NUM_THREADS=1 python benchmarks/bench_keyword.py [--docs 100000] [--rounds 3]

Runs alternate, equal scores are checked before anything is timed, and peers that are not installed are
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

TOKENIZER = rk.Tokenizer(stop_words=None, min_length=2)  # as bm25s's own pattern cuts


def corpus(n, seed=0):
    """Make texts of 60 to 150 words whose frequencies fall as in English (Zipf-Mandelbrot)."""
    rng = np.random.default_rng(seed)
    ranks = np.arange(1, 400_001)
    chance = np.cumsum(1 / (ranks + 2.7) ** 1.07)
    letters = np.array(list("etaoinshrdlucmfwypvbgkjqxz"))
    sizes = np.clip(rng.poisson(3 + np.log10(ranks)), 2, 18)
    words = np.array(["".join(letters[rng.integers(0, 26, size)]) for size in sizes], dtype=object)
    lengths = rng.integers(60, 151, n)
    drawn = np.searchsorted(chance / chance[-1], rng.random(lengths.sum()))
    flat, ends = words[np.minimum(drawn, len(words) - 1)].tolist(), np.cumsum(lengths).tolist()
    return [" ".join(flat[end - size : end]) for end, size in zip(ends, lengths.tolist())], words


def queries_of(words, n, rng):
    """Make keyword queries (2 to 6 rarer words) and whole questions (6 frequent and 6 rarer words)."""
    pick = lambda low, high, size: words[rng.integers(low, high, size)].tolist()  # noqa: E731
    keyword = [" ".join(pick(20, 5000, rng.integers(2, 7))) for _ in range(n)]
    natural = [" ".join(pick(0, 20, 6) + pick(20, 5000, 6)) for _ in range(n)]
    return {"keyword": keyword, "natural": natural}


def clock(work):
    """Take processor time: what a busy machine adds to wall-clock time would hide the ratios."""
    start = time.process_time()
    work()
    return time.process_time() - start


def race(title, contestants, rounds, per=1.0, unit="ms"):
    """Time the contestants in turn and print how many times longer than ragkit each takes."""
    times = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, work in contestants.items():
            times[name].append(clock(work))
    scale = {"ms": 1e3, "us": 1e6, "s": 1}[unit] / per
    best, middle = ({name: f(t) for name, t in times.items()} for f in (np.min, np.median))
    print(title)
    for name in times:
        shown = f"  {name:<22} {best[name] * scale:10.2f} {unit} min {middle[name] * scale:10.2f} median"
        if name != "ragkit":
            shown += (
                f"  {best[name] / best['ragkit']:6.2f}x min {middle[name] / middle['ragkit']:6.2f}x median"
            )
        print(shown, flush=True)


class BM25S:
    """bm25s with its own tokenizer and its compiled backend."""

    def __init__(self, texts):
        import bm25s

        self.lib = bm25s
        tokens = bm25s.tokenize(texts, stopwords=None, show_progress=False)
        self.tokens = tokens
        self.model = bm25s.BM25(method="lucene", k1=1.2, b=0.75, backend="numba")
        self.model.index(tokens, show_progress=False)

    def cut(self, queries):
        return [TOKENIZER(query) for query in queries]

    def search(self, tokens, k, threads=1):
        return self.model.retrieve(tokens, k=k, n_threads=threads, show_progress=False)


class Tantivy:
    """tantivy with one writing thread; it parses query text itself."""

    def __init__(self, texts):
        import tantivy

        schema = tantivy.SchemaBuilder()
        schema.add_text_field("text", stored=False)
        schema.add_integer_field("id", stored=True, fast=True)
        self.index = tantivy.Index(schema.build())
        writer = self.index.writer(heap_size=500_000_000, num_threads=1)
        for n, text in enumerate(texts):
            writer.add_document(tantivy.Document(text=text, id=n))
        writer.commit()
        writer.wait_merging_threads()
        self.index.reload()
        self.searcher = self.index.searcher()

    def search(self, query, k):
        return self.searcher.search(self.index.parse_query(query, ["text"]), k).hits


def check_equal(index, peer, queries):
    """Compare the best ten scores of some queries with bm25s's."""
    for query in queries[:20]:
        _, ours = index.hits(query, top_k=10)
        theirs = peer.search([TOKENIZER(query)], 10).scores[0]
        np.testing.assert_allclose(ours, theirs[: len(ours)], rtol=1e-4)
    print("equal: the best 10 scores of 20 queries agree with bm25s to 1e-4 (its scores are float32)")


def build(texts, peers, rounds):
    contestants = {"ragkit": lambda: rk.KeywordIndex(texts, tokenizer=TOKENIZER).hits("x")}
    if find_spec("sklearn"):
        from sklearn.feature_extraction.text import CountVectorizer

        contestants["CountVectorizer"] = lambda: CountVectorizer().fit_transform(texts)
    contestants |= {name: (lambda make=make: make(texts)) for name, make in peers.items()}
    race(f"build from {len(texts):,} texts", contestants, rounds, unit="s")


def search(index, made, queries, rounds):
    for kind, texts in queries.items():
        for k in (10, 100, 1000):
            single, batch = contestants(index, made, texts, k)
            race(f"{kind}, one at a time, top {k}", single, rounds, per=len(texts), unit="us")
            title = f"{kind}, one batch call, top {k} (ragkit's answer is a frame)"
            race(title, batch, rounds, per=len(texts), unit="us")


def contestants(index, made, texts, k):
    single = {"ragkit": lambda: [index.hits(text, top_k=k) for text in texts]}
    batch = {"ragkit": lambda: index.search(texts, top_k=k)}
    if "bm25s" in made:
        peer, tokens = made["bm25s"], made["bm25s"].cut(texts)  # it takes words, so it need not cut
        single["bm25s numba"] = lambda: [peer.search([t], k) for t in tokens]
        batch["bm25s numba"] = lambda: peer.search(tokens, k)
    if "tantivy" in made:
        single["tantivy"] = lambda: [made["tantivy"].search(text, k) for text in texts]
    return single, batch


def grid(index, made, texts, rounds):
    """Search with new parameters each time; bm25s must index again, so it is timed once for one setting."""
    settings = [(k1, b) for k1 in np.linspace(0.4, 2.2, 10) for b in np.linspace(0.1, 1.0, 10)]

    def sweep():
        for k1, b in settings[:: max(1, 100 // (5 * rounds))]:
            index.search(texts, top_k=100, k1=float(k1), b=float(b))

    n = len(settings[:: max(1, 100 // (5 * rounds))])
    ours = clock(sweep) / n
    print(f"{len(texts)} queries under a new (k1, b): ragkit {ours * 1e3:.1f} ms a setting")
    if "bm25s" in made:
        peer = made["bm25s"]
        tokens = peer.cut(texts)

        def again():
            model = peer.lib.BM25(method="lucene", k1=0.9, b=0.4, backend="numba")
            model.index(peer.tokens, show_progress=False)
            model.retrieve(tokens, k=100, n_threads=1, show_progress=False)

        theirs = clock(again)
        print(f"  bm25s, indexing again  {theirs * 1e3:.0f} ms a setting  {theirs / ours:.0f}x")


def memory(index, made):
    kept = index.stats()["memory"]
    print(f"memory of the arrays: ragkit {kept / 1e6:.1f} MB, kept weights included")
    if "bm25s" in made:
        theirs = sum(made["bm25s"].model.scores[part].nbytes for part in ("data", "indices", "indptr"))
        print(f"  bm25s {theirs / 1e6:.1f} MB  {theirs / kept:.2f}x")


def updates(index, texts):
    """Add 1,000 documents to the full index, and find one of them."""
    new = {f"new{n}": text for n, text in enumerate(texts[:1000])}
    seconds = clock(lambda: (index.add(new), index.hits(texts[0])))
    print(f"add 1,000 documents and search: {seconds * 1e3:.0f} ms")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--docs", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-build", action="store_true", help="skip the race of building")
    options = parser.parse_args()
    for name in ("numpy", "pandas", "scipy", "scikit-learn", "bm25s", "numba", "tantivy"):
        try:
            print(f"{name} {version(name)}", end="; ")
        except PackageNotFoundError:
            print(f"{name} is not installed and is skipped", end="; ")
    print(f"\nPython {platform.python_version()}, {os.cpu_count()} cores")
    texts, words = corpus(options.docs)
    queries = queries_of(words, 200, np.random.default_rng(1))
    peers = {}
    if find_spec("bm25s") and find_spec("numba"):
        peers["bm25s"] = BM25S
    if find_spec("tantivy"):
        peers["tantivy"] = Tantivy
    if not options.no_build:
        build(texts, peers, min(2, options.rounds))
    index = rk.KeywordIndex(texts, tokenizer=TOKENIZER, variant="lucene")
    made = {name: make(texts) for name, make in peers.items()}
    if "bm25s" in made:
        made["bm25s"].search(made["bm25s"].cut(queries["keyword"][:2]), 10)  # compiles
        check_equal(index, made["bm25s"], queries["keyword"] + queries["natural"])
    search(index, made, queries, options.rounds)
    memory(index, made)  # with the weights that these searches have left
    grid(index, made, queries["keyword"], options.rounds)
    updates(index, texts)


if __name__ == "__main__":
    main()
