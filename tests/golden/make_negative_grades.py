"""Record what other packages make of negative grades, for tests/metrics/test_negative_grades.py.

python tests/golden/make_negative_grades.py     # needs ir-measures and any of ranx, pyndeval and cwl-eval;
                                                # adds what is installed to negative_grades.json
"""

from __future__ import annotations

import json
import random
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import ir_measures
from ir_measures import Qrel, ScoredDoc

FILE = Path(__file__).with_name("negative_grades.json")
RANX = ["precision@5", "precision@5-l2", "recall@5", "map", "map@10", "mrr", "r-precision", "hit_rate@5"]
RANX += ["hits@5", "f1@5", "ndcg", "ndcg@10", "ndcg_burges@10"]
CWL = ["P(rel=1)@5", "P(rel=2)@5", "RR(rel=1)", "AP(rel=1)", "RBP(rel=1)", "RBP(rel=2,p=0.5)"]
NDEVAL = ["alpha_nDCG@10", "alpha_nDCG(rel=2)@10", "ERR_IA@10", "nERR_IA@10", "P_IA@10", "StRecall@10"]


def make_inputs(n: int = 8) -> dict:
    """Grades from -2 to 3, by subtopic; a run with unjudged documents, no ties."""
    rng, run, judged = random.Random(5), {}, []
    for query in (f"q{i}" for i in range(n)):
        docs = [f"d{i:02d}" for i in range(16)]
        scores = rng.sample(range(100), len(docs))
        run[query] = {doc: float(score) for doc, score in zip(docs, scores)}
        for doc in docs[:10]:
            topics = rng.sample("1234", rng.randint(1, 2))
            judged.extend([query, doc, rng.randint(-2, 3), topic] for topic in topics)
    return {"run": run, "qrels": judged}


def of_ranx(case: dict) -> dict:
    """Ask ranx, which knows no subtopics: a document has its highest grade."""
    from ranx import Qrels, Run, evaluate

    grades: dict[str, dict[str, int]] = {}
    for query, doc, grade, _ in case["qrels"]:
        own = grades.setdefault(query, {})
        own[doc] = max(grade, own.get(doc, grade))
    out = {}
    for name in RANX:
        run = Run.from_dict(case["run"])
        evaluate(Qrels.from_dict(grades), run, name)
        out[name] = {query: float(value) for query, value in run.scores[name].items()}
    return out


def of_provider(case: dict, provider: str, names: list[str], subtopics: bool) -> dict:
    """Ask a provider of ir_measures, one measure at a time."""
    qrels = [Qrel(*row) for row in case["qrels"]]
    if not subtopics:
        best = {(q.query_id, q.doc_id): q for q in sorted(qrels, key=lambda q: q.relevance)}
        qrels = list(best.values())
    run = [ScoredDoc(q, doc, score) for q, docs in case["run"].items() for doc, score in docs.items()]
    out = {}
    for name in names:
        found = ir_measures.providers.registry[provider].iter_calc(
            [ir_measures.parse_measure(name)], qrels, run
        )
        out[name] = {m.query_id: float(m.value) for m in found}
    return out


def main() -> None:
    """Add the values of each package that is installed."""
    case = make_inputs()
    kept = json.loads(FILE.read_text()) if FILE.exists() else {"source": {}, "cases": []}
    values = kept["cases"][0]["values"] if kept["cases"] else {}
    makers = {
        "ranx": lambda: of_ranx(case),
        "cwl-eval": lambda: of_provider(case, "cwl_eval", CWL, subtopics=False),
        "pyndeval": lambda: of_provider(case, "pyndeval", NDEVAL, subtopics=True),
        "ir-measures": lambda: of_provider(case, "judged", ["Judged@5", "Judged@10"], subtopics=False),
    }
    for package, make in makers.items():
        try:
            kept["source"][package] = f"recorded from {package} {version(package)}"
        except PackageNotFoundError:
            continue
        values[package] = make()
    kept["cases"] = [case | {"values": values}]
    FILE.write_text(json.dumps(kept) + "\n")


if __name__ == "__main__":
    main()
