"""score_chunks: how much gold retrieved chunks hold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragkit import RetrievalWarning
from ragkit.metrics.chunks import score_chunks
from tests.conftest import golden


def frame_of(rows, columns):
    return pd.DataFrame(rows, columns=columns)


def chunks_of(edges, doc_id="d"):
    rows = [(f"{doc_id}#{n}", doc_id, a, b) for n, (a, b) in enumerate(edges)]
    return frame_of(rows, ["chunk_id", "doc_id", "start", "end"])


def spans_of(edges, query_id="q", doc_id="d"):
    return frame_of([(query_id, doc_id, a, b) for a, b in edges], ["query_id", "doc_id", "start", "end"])


def run_of(numbers, query_id="q", doc_id="d"):
    rows = [(query_id, f"{doc_id}#{n}", doc_id, rank, 1.0) for rank, n in enumerate(numbers, 1)]
    return frame_of(rows, ["query_id", "chunk_id", "doc_id", "rank", "score"])


def values(*args, **kwargs):
    scores = score_chunks(*args, **kwargs)
    return dict(zip(scores["metric"], scores["value"]))


# Worked examples.


def test_overlap_counts_once_or_as_often_as_retrieved():
    # Gold 4..12 (8). Retrieved 0..10 and 6..20: all of gold; 20 characters once, 10 + 14 = 24 as a sum.
    chunks = chunks_of([(0, 10), (6, 20)])
    once = values(run_of([0, 1]), spans_of([(4, 12)]), chunks=chunks)
    summed = values(run_of([0, 1]), spans_of([(4, 12)]), chunks=chunks, overlap="sum")
    assert once == pytest.approx(
        {"span_recall": 1, "span_precision": 8 / 20, "span_iou": 8 / 20, "precision_omega": 8 / 20}
    )
    assert summed == pytest.approx(
        {"span_recall": 1, "span_precision": 8 / 24, "span_iou": 8 / 24, "precision_omega": 8 / 20}
    )


def test_unfound_gold_lowers_iou_and_recall_only():
    # Retrieved 0..10 holds 6 of gold's 8; 2 are unfound: 6 / (10 + 2).
    got = values(run_of([0]), spans_of([(4, 12)]), chunks=chunks_of([(0, 10), (10, 20)]))
    assert got == pytest.approx(
        {"span_recall": 6 / 8, "span_precision": 6 / 10, "span_iou": 6 / 12, "precision_omega": 8 / 20}
    )


def test_gold_outside_of_all_chunks_counts_in_omega():
    # Chunks 0..10; gold 5..10 and 30..35: touched 10 characters, 5 unfound.
    got = values(run_of([0]), spans_of([(5, 10), (30, 35)]), chunks=chunks_of([(0, 10)]))
    assert got["precision_omega"] == pytest.approx(5 / 15)


def test_chunks_of_other_documents_cost_precision():
    chunks = pd.concat([chunks_of([(0, 10)]), chunks_of([(0, 10)], "e")])
    run = frame_of(
        [("q", "e#0", "e", 1, 2.0), ("q", "d#0", "d", 2, 1.0)],
        ["query_id", "chunk_id", "doc_id", "rank", "score"],
    )
    assert values(run, spans_of([(0, 5)]), chunks=chunks)["span_precision"] == pytest.approx(5 / 20)


def test_top_k_counts_ranks_and_names_the_metric():
    chunks, spans = chunks_of([(0, 10), (10, 20)]), spans_of([(10, 15)])
    assert values(run_of([0, 1]), spans, chunks=chunks, top_k=1)["span_recall@1"] == 0
    assert values(run_of([0, 1]), spans, chunks=chunks, top_k=2)["span_recall@2"] == 1
    # One chunk touches gold, so the first rank alone counts.
    assert values(run_of([0, 1]), spans, chunks=chunks, top_k="gold")["span_recall"] == 0


def test_offsets_in_the_run_need_no_chunks():
    run = run_of([0]).assign(start=0, end=10)
    assert values(run, spans_of([(5, 15)])) == pytest.approx(
        {"span_recall": 0.5, "span_precision": 0.5, "span_iou": 5 / 15}
    )


def test_a_query_that_the_run_lacks_scores_zero():
    spans = pd.concat([spans_of([(0, 5)]), spans_of([(0, 5)], "lost")])
    scores = score_chunks(run_of([0]), spans, chunks=chunks_of([(0, 10)]))
    lost = scores[scores["query_id"] == "lost"].set_index("metric")["value"]
    assert lost.tolist() == [0, 0, 0, 0.5]
    assert scores["query_id"].unique().tolist() == ["q", "lost"]


def test_empty_frames_give_the_columns():
    spans = spans_of([])
    with pytest.warns(RetrievalWarning, match="no gold spans"):
        assert len(score_chunks(run_of([0]), spans, chunks=chunks_of([(0, 1)]))) == 0
    empty = score_chunks(run_of([]), spans, chunks=chunks_of([]))
    assert empty.columns.tolist() == ["query_id", "metric", "value"] and empty["value"].dtype == np.float64
    assert score_chunks(run_of([]), spans_of([(0, 5)]), chunks=chunks_of([]))["value"].tolist() == [
        0,
        0,
        0,
        0,
    ]


# Properties: equal to counting characters one by one.

EDGES = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 12)).map(lambda t: (t[0], t[0] + t[1])),
    min_size=1,
    max_size=6,
)


@given(EDGES, EDGES, st.data())
def test_union_equals_sets_of_characters(chunk_edges, gold_edges, data):
    got = data.draw(st.lists(st.sampled_from(range(len(chunk_edges))), unique=True))
    answer = values(run_of(got), spans_of(gold_edges), chunks=chunks_of(chunk_edges))
    gold = {c for a, b in gold_edges for c in range(a, b)}
    found = {c for n in got for c in range(*chunk_edges[n])}
    touching = {c for a, b in chunk_edges if gold & set(range(a, b)) for c in range(a, b)}
    hit = len(gold & found)
    assert answer["span_recall"] == pytest.approx(hit / len(gold))
    assert answer["span_precision"] == pytest.approx(hit / len(found) if found else 0)
    assert answer["span_iou"] == pytest.approx(hit / len(found | gold))
    assert answer["precision_omega"] == pytest.approx(len(gold & touching) / len(gold | touching))


@given(EDGES, EDGES)
def test_order_of_rows_and_queries_does_not_matter(chunk_edges, gold_edges):
    chunks = chunks_of(chunk_edges)
    run = pd.concat([run_of(range(len(chunk_edges)), q) for q in "ab"], ignore_index=True)
    spans = pd.concat([spans_of(gold_edges, q) for q in "ab"], ignore_index=True)
    whole = score_chunks(run, spans, chunks=chunks)
    mixed = score_chunks(run.sample(frac=1, random_state=1), spans, chunks=chunks.iloc[::-1])
    pd.testing.assert_frame_equal(whole, mixed)
    halves = [g["value"].tolist() for _, g in whole.groupby("query_id")]
    assert halves[0] == halves[1]


# Parity.


def test_sums_equal_the_original_evaluation():
    for case in golden("chunk_scores"):
        rows = [(f"c{n}", *chunk) for n, chunk in enumerate(case["chunks"])]
        chunks = frame_of(rows, ["chunk_id", "doc_id", "start", "end"])
        spans, runs = [], []
        for n, query in enumerate(case["queries"]):
            spans.append(spans_of(query["gold"], f"q{n}", "speech"))
            docs = [case["chunks"][k][0] for k in query["retrieved"]]
            runs += [
                (f"q{n}", f"c{k}", d, rank, 1.0)
                for rank, (k, d) in enumerate(zip(query["retrieved"], docs), 1)
            ]
        run = frame_of(runs, ["query_id", "chunk_id", "doc_id", "rank", "score"])
        scores = score_chunks(run, pd.concat(spans), chunks=chunks, overlap="sum")
        table = scores.pivot_table(index="query_id", columns="metric", values="value")
        for n, query in enumerate(case["queries"]):
            ours = table.loc[
                f"q{n}", ["span_recall", "span_precision", "span_iou", "precision_omega"]
            ].tolist()
            assert ours == pytest.approx([query[k] for k in ("recall", "precision", "iou", "omega")])


@pytest.mark.parametrize("case", range(3))
def test_all_questions_of_the_original_evaluation_come_out(case):
    # Five corpora, 472 questions, windows of 1,200 and 400 characters and of 400 that overlap by half.
    cases = golden("chunking_evaluation")
    questions, case = cases[0]["questions"], cases[case]
    spans, runs, places = [], [], {}
    for n, ((doc, gold), retrieved) in enumerate(zip(questions, case["retrieved"])):
        spans += [(f"q{n}", doc, start, end) for start, end in gold]
        runs += [(f"q{n}", f"{doc}#{k}", doc, rank, 1.0) for rank, k in enumerate(retrieved, 1)]
        places[doc] = max(places.get(doc, 0), *(end // case["step"] + 3 for _, end in gold))
    windows = [
        (f"{doc}#{k}", doc, k * case["step"], k * case["step"] + case["size"])
        for doc, count in places.items()
        for k in range(count)
    ]
    chunks = frame_of(windows, ["chunk_id", "doc_id", "start", "end"])
    spans = frame_of(spans, ["query_id", "doc_id", "start", "end"])
    run = frame_of(runs, ["query_id", "chunk_id", "doc_id", "rank", "score"])
    for top_k, suffix in (("gold", ""), (3, "@3")):
        scores = score_chunks(run, spans, chunks=chunks, overlap="sum", top_k=top_k)
        by_metric = scores.groupby("metric")["value"]
        for name in ("recall", "precision", "iou"):
            values = by_metric.get_group(f"span_{name}{suffix}")
            assert [values.mean(), values.std(ddof=0)] == pytest.approx(case[name + suffix], rel=1e-12)
        omega = by_metric.get_group("precision_omega")
        assert [omega.mean(), omega.std(ddof=0)] == pytest.approx(case["precision_omega"], rel=1e-12)


# Bad input.


def test_a_run_over_documents_is_refused():
    run = run_of([0]).drop(columns="chunk_id")
    with pytest.raises(ValueError, match="needs a run over chunks"):
        score_chunks(run, spans_of([(0, 5)]), chunks=chunks_of([(0, 10)]))


def test_a_chunk_that_is_not_there_is_named():
    with pytest.raises(ValueError, match="'d#7'"):
        score_chunks(run_of([7]), spans_of([(0, 5)]), chunks=chunks_of([(0, 10)]))


@pytest.mark.parametrize("edges", [(5, 5), (5, 3), (-1, 3), (0.5, 3), (float("nan"), 3)])
def test_spans_that_are_no_stretch_are_refused(edges):
    with pytest.raises(ValueError, match="spans"):
        score_chunks(run_of([0]), spans_of([edges]), chunks=chunks_of([(0, 10)]))


def test_offsets_must_come_from_somewhere():
    with pytest.raises(ValueError, match="run without chunks="):
        score_chunks(run_of([0]), spans_of([(0, 5)]))
    with pytest.raises(ValueError, match="give chunks="):
        score_chunks(run_of([0]).assign(start=0, end=9), spans_of([(0, 5)]), top_k="gold")
    with pytest.raises(ValueError, match="unknown overlap"):
        score_chunks(run_of([0]), spans_of([(0, 5)]), chunks=chunks_of([(0, 9)]), overlap="both")
