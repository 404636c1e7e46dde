"""precision_recall: worked example, and equality with trec_eval's interpolated precision."""

import numpy as np
import pandas as pd
import pytest

import ragkit as rk


def test_the_best_precision_at_or_beyond_each_level():
    # relevant at ranks 2 and 3 of 3 known: precision 1/2 and 2/3, the third is never found
    table = rk.precision_recall({"q": ["x", "a", "b"]}, {"q": {"a": 1, "b": 1, "c": 1}}, levels=4)
    assert table["precision"].tolist() == pytest.approx([2 / 3, 2 / 3, 2 / 3, 0.0])


def test_dicts_of_runs_and_single_runs_are_told_apart():
    qrels = {"q": {"a": 1}}
    assert set(rk.precision_recall({"q": {"a": 1.0}}, qrels)["system"]) == {"run"}
    frame = rk.as_run({"q": ["a"]})
    assert set(rk.precision_recall({"one": frame, "two": {"q": ["a"]}}, qrels)["system"]) == {"one", "two"}
    assert len(rk.precision_recall(rk.as_run({}), rk.as_qrels({}), levels=3)) == 3
    with pytest.raises(ValueError, match="levels must be at least 2"):
        rk.precision_recall(frame, qrels, levels=1)
    chunks = pd.DataFrame([{"query_id": "q", "chunk_id": "a#0", "doc_id": "a", "rank": 1, "score": 1.0}])
    with pytest.raises(ValueError, match="best_per_doc"):
        rk.precision_recall(chunks, qrels)


def test_equal_to_trec_eval():
    pytrec_eval = pytest.importorskip("pytrec_eval")
    rng = np.random.default_rng(2)
    docs = [f"d{n}" for n in range(40)]
    qrels = {f"q{n}": {d: int(rng.integers(0, 2)) for d in rng.permutation(docs)[:15]} for n in range(30)}
    run = {q: {str(d): float(s) for d, s in zip(rng.permutation(docs)[:25], rng.random(25))} for q in qrels}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"iprec_at_recall"}).evaluate(run)
    ours = rk.precision_recall(run, qrels)["precision"]
    for n, level in enumerate(ours):
        name = f"iprec_at_recall_{n / 10:.2f}"
        assert level == pytest.approx(np.mean([theirs[q][name] for q in qrels]), abs=1e-12)
