"""The LangChain store beside langchain-core's own in memory: equal results first, then alternating runs.

OPENBLAS_NUM_THREADS=1 python benchmarks/bench_langchain.py [--quick]
"""

from __future__ import annotations

import sys
import time
from importlib.metadata import version

import numpy as np

try:
    from langchain_core.embeddings import Embeddings
    from langchain_core.vectorstores import InMemoryVectorStore
except ImportError:
    sys.exit("langchain-core is not installed: nothing to compare (pip install langchain-core)")

from ragkit.integrations.langchain import RagkitVectorStore

QUICK = "--quick" in sys.argv
N, D, TIMES = (2000, 128, 5) if QUICK else (10_000, 384, 9)
RNG = np.random.default_rng(0)


class Random(Embeddings):
    """One vector per text, made once."""

    def __init__(self, texts):
        self.vectors = dict(zip(texts, RNG.normal(size=(len(texts), D)).tolist()))

    def embed_documents(self, texts):
        return [self.vectors[text] for text in texts]

    def embed_query(self, text):
        return self.vectors[text]


def cpu(work):
    start = time.process_time()
    work()
    return (time.process_time() - start) * 1000


def compare(what, ours, theirs):
    """Check that both give the same texts, then time them in turn."""
    mine, peers = ours(), theirs()
    if mine is not None and [d.page_content for d in mine] != [d.page_content for d in peers]:
        sys.exit(f"{what}: the results differ")
    ours_ms, theirs_ms = np.array([(cpu(ours), cpu(theirs)) for _ in range(TIMES)]).T
    print(
        f"{what:<34} ragkit {ours_ms.min():8.2f} ms min {np.median(ours_ms):8.2f} med | "
        f"in-memory {theirs_ms.min():8.1f} min {np.median(theirs_ms):8.1f} med | "
        f"{theirs_ms.min() / ours_ms.min():6.1f}x min {np.median(theirs_ms) / np.median(ours_ms):6.1f}x med",
        flush=True,
    )


def main():
    texts = [f"text {n}" for n in range(N)]
    metadatas = [{"n": n, "cat": "AB"[n % 2]} for n in range(N)]
    embed = Random([*texts, "query"])
    print(f"langchain-core {version('langchain-core')}, {N} documents, {D} dimensions, CPU time")
    compare(
        "from_texts",
        lambda: RagkitVectorStore.from_texts(texts, embed, metadatas) and None,
        lambda: InMemoryVectorStore.from_texts(texts, embed, metadatas) and None,
    )
    ours = RagkitVectorStore.from_texts(texts, embed, metadatas)
    theirs = InMemoryVectorStore.from_texts(texts, embed, metadatas)

    def both(what, call):
        compare(what, lambda: call(ours), lambda: call(theirs))

    both("similarity_search, k=4", lambda s: s.similarity_search("query"))
    both("similarity_search, k=100", lambda s: s.similarity_search("query", k=100))
    keep = lambda doc: doc.metadata["cat"] == "A"  # noqa: E731
    both("similarity_search, callable filter", lambda s: s.similarity_search("query", filter=keep))
    compare(
        "similarity_search, dict filter",
        lambda: ours.similarity_search("query", filter={"cat": "A"}),
        lambda: theirs.similarity_search("query", filter=keep),
    )
    both("mmr, k=10, fetch_k=100", lambda s: s.max_marginal_relevance_search("query", k=10, fetch_k=100))


if __name__ == "__main__":
    main()
