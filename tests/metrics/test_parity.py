"""evaluate beside other implementations, query by query, on the collections that come with the project."""

from __future__ import annotations

import numpy as np
import pytest

import ragkit as rk
from tests.conftest import golden

CUTOFFS = (1, 3, 5, 10, 20, 100)
SAME = {"ndcg": "ndcg", "ap": "map", "rr": "recip_rank", "rprec": "Rprec", "bpref": "bpref"}
SAME |= {"precision": "set_P", "recall": "set_recall", "f1": "set_F"}
CUT = {"ndcg": "ndcg_cut", "ap": "map_cut", "recall": "recall", "precision": "P", "hit": "success"}
NAMES = SAME | {f"{ours}@{k}": f"{theirs}_{k}" for ours, theirs in CUT.items() for k in CUTOFFS}
WANTED = {*SAME.values(), *(f"{name}.{','.join(map(str, CUTOFFS))}" for name in CUT.values())}


@pytest.fixture(scope="module", params=["fieldguide", "helpdesk"])
def collection(request):
    """Judgements, and what keywords and vectors find: as it comes, and so coarse that most scores tie."""
    data = rk.load_dataset(request.param)
    index = rk.KeywordIndex(data.docs)
    store = rk.VectorStore(data.docs, vectors=data.vectors.docs)
    runs = {
        "keyword": index.search(data.queries),
        "dense": store.search(data.queries, vectors=data.vectors.queries),
    }
    for name in list(runs):
        coarse = runs[name].assign(score=runs[name]["score"].round(0 if name == "keyword" else 1))
        runs[f"{name} in steps"] = coarse.drop(columns="rank")
    return data.qrels, runs


def by_query(run):
    return {
        str(query): dict(zip(rows["doc_id"].astype(str), rows["score"]))
        for query, rows in run.groupby("query_id", observed=True)
    }


def assert_equal_to_trec_eval(run, qrels, level=1):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    judged: dict[str, dict[str, int]] = {}  # of a document with several subtopics the highest grade
    for query, doc, grade in qrels[["query_id", "doc_id", "relevance"]].itertuples(index=False):
        grades = judged.setdefault(query, {})
        grades[doc] = max(int(grade), grades.get(doc, int(grade)))
    theirs = pytrec_eval.RelevanceEvaluator(judged, WANTED, relevance_level=level).evaluate(by_query(run))
    names = {
        name if level == 1 or name.startswith("ndcg") else "@".join([f"{part}(rel={level})", *cutoff]): other
        for name, other in NAMES.items()
        for part, *cutoff in [name.split("@")]
    }
    ours = rk.evaluate(run, qrels, metrics=list(names)).set_index(["query_id", "metric"])["value"].to_dict()
    assert len(ours) == len(judged) * len(names)
    off = {
        (query, name): (ours[query, name], theirs.get(query, {}).get(other, 0.0))
        for query in judged
        for name, other in names.items()
        if abs(ours[query, name] - theirs.get(query, {}).get(other, 0.0)) > 1e-12
    }
    assert not off, f"{len(off)} differ, the first {list(off.items())[:5]}"


@pytest.mark.filterwarnings("ignore:no document holds a word")  # misspelt queries: not in the run
@pytest.mark.parametrize("level", [1, 2, 3])
def test_equal_to_trec_eval_on_real_collections(collection, level):
    qrels, runs = collection
    assert runs["keyword"].duplicated(["query_id", "score"]).any()  # ties as they occur
    assert runs["keyword in steps"].duplicated(["query_id", "score"]).mean() > 0.5
    for run in runs.values():
        assert_equal_to_trec_eval(run, qrels, level)


@pytest.mark.filterwarnings("ignore:no document holds a word")
def test_equal_to_trec_eval_with_missing_and_extra_queries_and_few_judgements(collection):
    qrels, runs = collection
    queries = qrels["query_id"].unique()
    missing, extra = queries[::7], queries[3::5]
    few = qrels[np.random.default_rng(4).random(len(qrels)) < 0.5]  # some queries without a relevant one
    few = few[~few["query_id"].isin(extra)]
    assert (few.groupby("query_id")["relevance"].max() == 0).any()
    for run in runs.values():
        gaps = run[~run["query_id"].isin(missing)]
        assert set(extra) & set(gaps["query_id"]) and set(missing) & set(few["query_id"])
        with pytest.warns(rk.RetrievalWarning, match="have no judgements"):
            assert_equal_to_trec_eval(gaps, few)


@pytest.mark.filterwarnings("ignore:only .* have a judgement")  # its judgements are drawn at random
def test_rbp_equals_a_second_implementation():
    """Pairs of cwl_eval, which walks the list as a user who goes on with probability p."""
    checked = 0
    for case in golden("rbp"):
        scores = rk.evaluate(case["run"], case["qrels"], metrics=case["metric"])
        got = dict(zip(scores["query_id"], scores["value"]))
        for query, value in case["values"].items():
            assert got[query] == pytest.approx(value, abs=1e-12)
            checked += value > 0
    assert checked > 60
