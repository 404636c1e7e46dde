"""Record what the real packages fuse, for tests/fusion/test_dialects.py.

python tests/golden/make_dialects.py        # needs ranx, langchain-classic, llama-index-core,
                                            # haystack-ai and qdrant-client; writes dialects.json
"""

from __future__ import annotations

import copy
import json
import platform
import random
from importlib.metadata import version
from pathlib import Path

from haystack import Document
from haystack.components.joiners import DocumentJoiner
from langchain_classic.retrievers import EnsembleRetriever
from langchain_core.documents import Document as LCDocument
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import NodeWithScore, TextNode
from qdrant_client.http.models import ScoredPoint
from qdrant_client.hybrid.fusion import distribution_based_score_fusion, reciprocal_rank_fusion
from ranx import Run, fuse

PACKAGES = ["ranx", "langchain-classic", "llama-index-core", "haystack-ai", "qdrant-client"]


def make_inputs(n: int = 60) -> list[dict]:
    """Make lists of (id, score) with ties, missing documents, lone hits, flat lists and empty ones.

    All ids have one length: ranx cuts an id to the longest of a run before it looks it up there.
    """
    rng = random.Random(7)
    inputs = []
    for number in range(n):
        lists = []
        for _ in range(rng.choice([2, 2, 2, 3, 4])):
            ids = rng.sample([f"d{i:02}" for i in range(12)], rng.choice([1, 2, 3, 5, 8, 10]))
            kind = rng.choice(
                ["cosine", "bm25", "ties", "flat"] if number % 3 else ["cosine", "bm25", "ties"]
            )
            scores = [
                {"cosine": rng.uniform(-1, 1), "bm25": rng.uniform(0, 30), "ties": rng.randrange(1, 4) / 2,
                 "flat": 0.75}[kind]
                for _ in ids
            ]  # fmt: skip
            lists.append(sorted(zip(ids, scores), key=lambda pair: -pair[1]))
        if number % 10 == 9:
            lists[0] = []
        weights = [1.0] * len(lists) if number % 2 else [rng.choice([0.3, 0.5, 0.7, 1.0, 2.0]) for _ in lists]
        inputs.append({"lists": lists, "weights": weights})
    return inputs


def by_ranx(lists, weights, norm, method):
    if not all(lists):
        return None
    runs = [Run({"q": dict(found)}) for found in lists]
    for run, found in zip(runs, lists):
        if list(run.run["q"].keys()) != [unit for unit, _ in found]:
            raise RuntimeError("ranx has reordered an input")
    params = {"k": 60} if method == "rrf" else {"weights": list(weights)}
    fused = fuse(runs=runs, norm=norm, method=method, params=params)
    return [[str(unit), float(score)] for unit, score in fused.run["q"].items()]


def by_langchain(lists, weights):
    ensemble = EnsembleRetriever.model_construct(retrievers=[], weights=list(weights), c=60, id_key=None)
    documents = [[LCDocument(page_content=unit) for unit, _ in found] for found in lists]
    return [[document.page_content, None] for document in ensemble.weighted_reciprocal_rank(documents)]


def by_llamaindex(lists, weights, mode):
    retriever = QueryFusionRetriever(
        [None] * len(lists), llm=MockLLM(), num_queries=1, retriever_weights=list(weights)
    )
    nodes = {unit: TextNode(text=unit, id_=unit) for found in lists for unit, _ in found}
    results = {
        ("q", n): [NodeWithScore(node=nodes[u], score=s) for u, s in found] for n, found in enumerate(lists)
    }
    fused = {
        "rrf": lambda: retriever._reciprocal_rerank_fusion(results),
        "relative": lambda: retriever._relative_score_fusion(results),
        "dbsf": lambda: retriever._relative_score_fusion(results, dist_based=True),
    }[mode]()
    return [[found.node.node_id, float(found.score)] for found in fused]


def by_haystack(lists, weights, mode):
    joiner = DocumentJoiner(join_mode=mode, weights=list(weights), sort_by_score=True)
    documents = [[Document(id=unit, content=unit, score=score) for unit, score in found] for found in lists]
    return [[found.id, float(found.score)] for found in joiner.run(documents=documents)["documents"]]


def by_qdrant(lists, weights, mode):
    number = {unit: n for n, unit in enumerate(sorted({u for found in lists for u, _ in found}))}
    name = {n: unit for unit, n in number.items()}
    responses = [[ScoredPoint(id=number[u], version=0, score=s) for u, s in found] for found in lists]
    if mode == "rrf":
        fused = reciprocal_rank_fusion(responses, limit=100, weights=list(weights))
    else:
        fused = distribution_based_score_fusion(responses, limit=100)
    return [[name[point.id], float(point.score)] for point in fused]


RECORDERS = {
    "ranx-rrf": lambda lists, w: by_ranx(lists, w, None, "rrf"),
    "ranx": lambda lists, w: by_ranx(lists, w, "min-max", "wsum"),
    "ranx-max": lambda lists, w: by_ranx(lists, w, "max", "wsum"),
    "ranx-sum": lambda lists, w: by_ranx(lists, w, "sum", "wsum"),
    "ranx-zmuv": lambda lists, w: by_ranx(lists, w, "zmuv", "wsum"),
    "ranx-rank": lambda lists, w: by_ranx(lists, w, "rank", "wsum"),
    "ranx-borda": lambda lists, w: by_ranx(lists, w, "borda", "wsum"),
    "langchain": by_langchain,
    "llamaindex": lambda lists, w: by_llamaindex(lists, w, "rrf"),
    "llamaindex-relative": lambda lists, w: by_llamaindex(lists, w, "relative"),
    "llamaindex-dbsf": lambda lists, w: by_llamaindex(lists, w, "dbsf"),
    "haystack": lambda lists, w: by_haystack(lists, w, "reciprocal_rank_fusion"),
    "haystack-dbsf": lambda lists, w: by_haystack(lists, w, "distribution_based_rank_fusion"),
    "qdrant": lambda lists, w: by_qdrant(lists, w, "rrf"),
    "qdrant-dbsf": lambda lists, w: by_qdrant(lists, w, "dbsf"),
}


def main() -> None:
    inputs = make_inputs()
    outputs = {
        name: [record(copy.deepcopy(given["lists"]), given["weights"]) for given in inputs]
        for name, record in RECORDERS.items()
    }
    versions = {name: version(name) for name in PACKAGES} | {"python": platform.python_version()}
    lines = [f'"source": {json.dumps("recorded by make_dialects.py")}', f'"versions": {json.dumps(versions)}']
    rows = ",\n".join(json.dumps(given) for given in inputs)
    lines.append(f'"inputs": [\n{rows}\n]')
    kinds = ",\n".join(
        f"{json.dumps(name)}: [\n" + ",\n".join(map(json.dumps, out)) + "\n]" for name, out in outputs.items()
    )
    lines.append(f'"outputs": {{\n{kinds}\n}}')
    (Path(__file__).parent / "dialects.json").write_text(
        "{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
