"""KeywordIndex beside bm25s, tantivy, retriv and scikit-learn: build, search, parameter grid, memory.

OPENBLAS_NUM_THREADS=1 python benchmarks/bench_keyword.py [--docs 100000] [--rounds 3]
python benchmarks/bench_keyword.py --memory 1000000

Runs alternate, equal scores are checked before anything is timed, and peers that are not installed are
skipped. Times are of the processor, all threads together, and by the clock on the wall; of each the least
is printed, and how many times as long as ragkit a peer takes.
"""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
import time
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

import numpy as np

import ragkit as rk

TOKENIZER = rk.Tokenizer(stop_words=None, min_length=2)  # as bm25s's own pattern cuts


def vocabulary():
    """Make 400,000 words, and the chance that a word of a text is one of the first n of them."""
    rng = np.random.default_rng(0)
    ranks = np.arange(1, 400_001)
    chance = np.cumsum(1 / (ranks + 2.7) ** 1.07)
    letters = np.array(list("etaoinshrdlucmfwypvbgkjqxz"))
    sizes = np.clip(rng.poisson(3 + np.log10(ranks)), 2, 18)
    words = np.array(["".join(letters[rng.integers(0, 26, size)]) for size in sizes], dtype=object)
    return words, chance / chance[-1]


def corpus(n, words, chance, seed=0):
    """Make texts of 60 to 150 words whose frequencies fall as in English (Zipf-Mandelbrot)."""
    rng = np.random.default_rng((1, seed))
    lengths = rng.integers(60, 151, n)
    drawn = np.searchsorted(chance, rng.random(lengths.sum()))
    flat, ends = words[np.minimum(drawn, len(words) - 1)].tolist(), np.cumsum(lengths).tolist()
    return [" ".join(flat[end - size : end]) for end, size in zip(ends, lengths.tolist())]


def queries_of(words, n, rng):
    """Make keyword queries (2 to 6 rarer words) and whole questions (6 frequent and 6 rarer words)."""
    pick = lambda low, high, size: words[rng.integers(low, high, size)].tolist()  # noqa: E731
    keyword = [" ".join(pick(20, 5000, rng.integers(2, 7))) for _ in range(n)]
    natural = [" ".join(pick(0, 20, 6) + pick(20, 5000, 6)) for _ in range(n)]
    return {"keyword": keyword, "natural": natural}


def clock(work):
    """Time by the processor, which other work on the machine disturbs less, and by the wall."""
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - cpu, time.perf_counter() - wall


def settle(seconds=0.25):
    """Wait until a peer's threads have gone to sleep, which spin for a while; wait awake, as for the peer."""
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


def race(title, contestants, rounds, per=1.0, unit="ms", again=False):
    """Time the contestants in turn and print how many times as long as ragkit each takes.

    A contestant is a function, or a list of functions that are timed one by one: of each the least counts,
    so that one disturbance does not spoil the sum. With `again`, each runs twice in a row and the second
    time counts: a virtual machine gives memory that stood free for a second back to its host, and getting
    it again is dear.
    """
    parts = {name: work if isinstance(work, list) else [work] for name, work in contestants.items()}
    least = {name: np.full((len(works), 2), np.inf) for name, works in parts.items()}
    for _ in range(rounds):
        for name, works in parts.items():
            settle()
            for row, work in zip(least[name], works):
                if again:
                    work()
                row[:] = np.minimum(row, clock(work))
    print(title)
    best = {name: rows.sum(axis=0) for name, rows in least.items()}
    scale = {"ms": 1e3, "us": 1e6, "s": 1}[unit] / per
    for name, (cpu, wall) in best.items():
        shown = f"  {name:<29} {cpu * scale:10.2f} {unit} cpu {wall * scale:10.2f} wall"
        if name != "ragkit":
            shown += f"  {cpu / best['ragkit'][0]:6.2f}x cpu {wall / best['ragkit'][1]:6.2f}x wall"
        print(shown, flush=True)
    return {name: cpu for name, (cpu, _) in best.items()}


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

    def from_text(self, queries, k, threads=1):
        """Cut queries with its own tokenizer, then search: from text to documents, as the others do."""
        tokens = self.lib.tokenize(queries, stopwords=None, show_progress=False)
        return self.search(tokens, k, threads)


class Tantivy:
    """tantivy; it parses query text itself. Its own number of writing threads makes a segment for each."""

    def __init__(self, texts, threads=0):
        import tantivy

        schema = tantivy.SchemaBuilder()
        schema.add_text_field("text", stored=False)
        schema.add_integer_field("id", stored=True, fast=True)
        self.index = tantivy.Index(schema.build())
        writer = self.index.writer(heap_size=500_000_000, num_threads=threads)
        for n, text in enumerate(texts):
            writer.add_document(tantivy.Document(text=text, id=n))
        writer.commit()
        writer.wait_merging_threads()
        self.index.reload()
        self.searcher = self.index.searcher()

    def search(self, query, k):
        """Give documents, as the others do: a fast column turns the addresses it finds into numbers."""
        return self.searcher.fast_field_values("id", [address for _, address in self.addresses(query, k)])

    def addresses(self, query, k):
        return self.searcher.search(self.index.parse_query(query, ["text"]), k).hits


def check_equal(index, peer, queries):
    """Compare the best ten scores of some queries with bm25s's."""
    for query in queries[:20]:
        _, ours = index.hits(query, top_k=10)
        for theirs in (peer.search([TOKENIZER(query)], 10), peer.from_text([query], 10)):
            np.testing.assert_allclose(ours, theirs.scores[0][: len(ours)], rtol=1e-4)
    print("equal: the best 10 scores of 20 queries agree with bm25s to 1e-4 (its scores are float32)")


def build(texts, peers, rounds):
    contestants = {"ragkit": lambda: rk.KeywordIndex(texts, tokenizer=TOKENIZER).hits("x")}
    if find_spec("sklearn"):
        from sklearn.feature_extraction.text import CountVectorizer

        contestants["CountVectorizer"] = lambda: CountVectorizer().fit_transform(texts)
    contestants |= {name: (lambda make=make: make(texts)) for name, make in peers.items()}
    race(f"build from {len(texts):,} texts", contestants, rounds, unit="s", again=True)


class Retriv:
    """retriv, which takes k1 and b when it searches; it cuts texts itself."""

    def __init__(self, texts, folder):
        os.environ["RETRIV_BASE_PATH"] = str(folder)
        from retriv import SparseRetriever

        self.made = SparseRetriever("bench", tokenizer="whitespace", stemmer=None, stopwords=None)
        collection = [{"id": str(n), "text": text} for n, text in enumerate(texts)]
        self.made.index(collection, show_progress=False)

    def search(self, queries, k, k1, b):
        self.made.hyperparams = {"b": b, "k1": k1}
        return self.made.msearch([{"id": str(n), "text": text} for n, text in enumerate(queries)], cutoff=k)


def search(index, made, queries, rounds):
    for kind, texts in queries.items():
        for k in (10, 100, 1000):
            single, batch = contestants(index, made, texts, k)
            race(f"{kind}, one at a time, top {k}", single, rounds, per=len(texts), unit="us")
            title = f"{kind}, one batch call, top {k} (ragkit's answer is a frame)"
            race(title, batch, rounds, per=len(texts), unit="us")


def contestants(index, made, texts, k):
    """Give the functions to time: of single searches 20 at a time, of batches the whole."""
    tens = [texts[start : start + 20] for start in range(0, len(texts), 20)]
    one_by_one = lambda find: [lambda ten=ten: [find(text) for text in ten] for ten in tens]  # noqa: E731
    single = {"ragkit": one_by_one(lambda text: index.hits(text, top_k=k))}
    batch = {"ragkit": lambda: index.search(texts, top_k=k)}
    if "bm25s" in made:
        peer, tokens = made["bm25s"], made["bm25s"].cut(texts)
        words = dict(zip(texts, tokens))
        single["bm25s numba"] = one_by_one(lambda text: peer.from_text([text], k))
        single["bm25s, given words"] = one_by_one(lambda text: peer.search([words[text]], k))
        batch["bm25s numba"] = lambda: peer.from_text(texts, k)
        batch["bm25s, given words"] = lambda: peer.search(tokens, k)
        batch["bm25s numba, 2 threads"] = lambda: peer.from_text(texts, k, 2)
        batch["bm25s, words, 2 threads"] = lambda: peer.search(tokens, k, 2)
    for name in [name for name in made if "tantivy" in name]:
        single[name] = one_by_one(lambda text, peer=made[name]: peer.search(text, k))
        single[name + ", addresses"] = one_by_one(lambda text, peer=made[name]: peer.addresses(text, k))
    return single, batch


def grid(index, made, queries, rounds):
    """Search under many (k1, b); bm25s must index again, so it is timed once for one setting."""
    pairs = [(k1, b) for k1 in np.linspace(0.4, 2.2, 10).tolist() for b in np.linspace(0.1, 1, 10).tolist()]
    settings = [{"k1": k1, "b": b} for k1, b in pairs]
    for kind, texts in queries.items():
        works = {
            "ragkit": lambda texts=texts: index.search_settings(texts, settings, top_k=100),
            "ragkit, search by search": lambda texts=texts: [
                index.search(texts, top_k=100, **setting) for setting in settings
            ],
        }
        title = f"100 (k1, b) x {len(texts)} {kind} queries, top 100; a setting"
        ours = race(title, works, max(1, rounds // 3), per=len(settings))["ragkit"] / len(settings)
        if "retriv" in made:
            made["retriv"].search(texts[:2], 100, 0.9, 0.4)  # compiles
            cpu, wall = clock(lambda texts=texts: made["retriv"].search(texts, 100, 0.9, 0.4))
            print(f"  retriv {cpu * 1e3:26.0f} ms cpu {wall * 1e3:10.0f} wall  {cpu / ours:.1f}x cpu")
        if "bm25s" in made:
            peer, tokens = made["bm25s"], made["bm25s"].cut(texts)

            def again(peer=peer, tokens=tokens):
                model = peer.lib.BM25(method="lucene", k1=0.9, b=0.4, backend="numba")
                model.index(peer.tokens, show_progress=False)
                model.retrieve(tokens, k=100, n_threads=1, show_progress=False)

            cpu, wall = clock(again)
            print(f"  bm25s, again {cpu * 1e3:20.0f} ms cpu {wall * 1e3:10.0f} wall  {cpu / ours:.0f}x cpu")


def memory(index, made):
    kept = index.stats()["memory"]
    print(f"memory of the arrays: ragkit {kept / 1e6:.1f} MB, kept weights included")
    if "bm25s" in made:
        theirs = sum(made["bm25s"].model.scores[part].nbytes for part in ("data", "indices", "indptr"))
        print(f"  bm25s {theirs / 1e6:.1f} MB  {theirs / kept:.2f}x")


def updates(index, texts):
    """Add 1,000 documents to the full index, and find one of them."""
    new = {f"new{n}": text for n, text in enumerate(texts[:1000])}
    seconds, _ = clock(lambda: (index.add(new), index.hits(texts[0])))
    print(f"add 1,000 documents and search: {seconds * 1e3:.0f} ms")


def peak_memory(n):
    """Index many different texts, and print how much memory the process held before and at most."""
    import resource

    def peak():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6

    (words, chance), texts = vocabulary(), []
    for block in range(0, n, 10_000):
        texts += corpus(min(10_000, n - block), words, chance, seed=block)
    del words, chance
    size = sum(map(len, texts)) / 1e9
    print(f"{n:,} texts, {size:.2f} GB of characters: {peak():.2f} GB at most when they are made")
    cpu, wall = clock(lambda: rk.KeywordIndex(texts, tokenizer=TOKENIZER).hits("x"))
    print(f"indexed in {cpu:.1f} s cpu, {wall:.1f} wall: {peak():.2f} GB at most")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--docs", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-build", action="store_true", help="skip the race of building")
    parser.add_argument("--memory", type=int, metavar="N", help="only index N texts and print the peak")
    options = parser.parse_args()
    if options.memory:
        peak_memory(options.memory)
        return
    for name in ("numpy", "pandas", "scipy", "scikit-learn", "bm25s", "numba", "tantivy", "retriv"):
        try:
            print(f"{name} {version(name)}", end="; ")
        except PackageNotFoundError:
            print(f"{name} is not installed and is skipped", end="; ")
    print(f"\nPython {platform.python_version()}, {os.cpu_count()} cores")
    words, chance = vocabulary()
    texts = corpus(options.docs, words, chance)
    queries = queries_of(words, 200, np.random.default_rng(1))
    peers = {}
    if find_spec("bm25s") and find_spec("numba"):
        peers["bm25s"] = BM25S
    if find_spec("tantivy"):
        peers["tantivy"] = Tantivy
        peers["tantivy, 1 thread"] = lambda texts: Tantivy(texts, threads=1)
    if not options.no_build:
        build(texts, peers, min(3, options.rounds))
    index = rk.KeywordIndex(texts, tokenizer=TOKENIZER, variant="lucene")
    made = {name: make(texts) for name, make in peers.items()}
    if "bm25s" in made:
        made["bm25s"].search(made["bm25s"].cut(queries["keyword"][:2]), 10)  # compiles
        check_equal(index, made["bm25s"], queries["keyword"] + queries["natural"])
    search(index, made, queries, options.rounds)
    memory(index, made)  # with the weights that these searches have left
    more = queries_of(words, 300, np.random.default_rng(2))
    with tempfile.TemporaryDirectory() as folder:
        if find_spec("retriv"):
            made["retriv"] = Retriv(texts, folder)
        grid(index, made, more, options.rounds)
    updates(index, texts)


if __name__ == "__main__":
    main()
