"""score_chunks on chunks of one line: the definitions of Smith and Troynikov (2024), worked by hand."""

from __future__ import annotations

import pandas as pd
import pytest

from ragkit import score_chunks


def scored(edges, gold, retrieved, **knobs):
    """Score chunks `edges` of one document against `gold`, retrieved by number, best first."""
    chunks = pd.DataFrame(
        [(f"d#{n}", "d", *edge) for n, edge in enumerate(edges)],
        columns=["chunk_id", "doc_id", "start", "end"],
    )
    spans = pd.DataFrame([("q", "d", *edge) for edge in gold], columns=["query_id", "doc_id", "start", "end"])
    run = pd.DataFrame(
        [("q", f"d#{n}", "d", rank, 1.0 / rank) for rank, n in enumerate(retrieved, 1)],
        columns=["query_id", "chunk_id", "doc_id", "rank", "score"],
    )
    scores = score_chunks(run, spans, chunks=chunks, **knobs)
    return dict(zip(scores["metric"], scores["value"]))


def test_precision_omega_is_over_all_chunks_and_counts_overlap_and_uncovered_gold_once():
    # Chunks 0..10 and 5..15 touch gold 8..12 and make 15 characters together; gold 20..22 is in no chunk.
    # Covered gold: 4. Union of what touches, and gold that nothing covers: 15 + 2.
    edges, gold = [(0, 10), (5, 15), (30, 40)], [(8, 12), (20, 22)]
    for overlap in ("union", "sum"):
        got = scored(edges, gold, [2], overlap=overlap)
        assert got["precision_omega"] == pytest.approx(4 / 17)


def test_recall_divides_by_the_sum_of_gold_passages_in_the_original():
    # Gold 0..6 and 4..10 are 12 characters as a sum and 10 once; the chunk holds all of them.
    got = scored([(0, 10)], [(0, 6), (4, 10)], [0], overlap="sum")
    assert got["span_recall"] == pytest.approx(10 / 12)
    assert scored([(0, 10)], [(0, 6), (4, 10)], [0])["span_recall"] == pytest.approx(1)


def test_precision_divides_by_the_sum_of_retrieved_chunks_in_the_original():
    # Gold 4..8 lies in both; 10 + 12 characters were retrieved, 16 different ones.
    edges, gold = [(0, 10), (4, 16)], [(4, 8)]
    assert scored(edges, gold, [0, 1], overlap="sum")["span_precision"] == pytest.approx(4 / 22)
    assert scored(edges, gold, [0, 1])["span_precision"] == pytest.approx(4 / 16)


def test_iou_adds_the_gold_that_was_not_found_to_what_was_retrieved():
    # Found 4 of gold 6..16 in 0..10: 4 / (10 + 6); retrieved twice over, 4 + 6 more: all 10 / (10 + 14).
    edges, gold = [(0, 10), (6, 20)], [(6, 16)]
    assert scored(edges, gold, [0], overlap="sum")["span_iou"] == pytest.approx(4 / 16)
    assert scored(edges, gold, [0, 1], overlap="sum")["span_iou"] == pytest.approx(10 / 24)


def test_as_many_ranks_count_as_chunks_touch_gold():
    # Two chunks touch gold 8..14, so the first two ranks count, and the third, which holds gold, does not.
    edges, gold = [(0, 10), (10, 20), (20, 30), (30, 40)], [(8, 14)]
    got = scored(edges, gold, [3, 0, 1], top_k="gold", overlap="sum")
    assert got["span_recall"] == pytest.approx(2 / 6)
    assert got["span_precision"] == pytest.approx(2 / 20)
    assert got["span_iou"] == pytest.approx(2 / (20 + 4))


def test_a_chunk_that_only_meets_gold_touches_it_in_the_original_alone():
    # Gold 10..20 is one chunk; its neighbours end and begin at its edges.
    edges, gold = [(0, 10), (10, 20), (20, 30)], [(10, 20)]
    assert scored(edges, gold, [0, 1], overlap="sum")["precision_omega"] == pytest.approx(10 / 30)
    assert scored(edges, gold, [0, 1])["precision_omega"] == pytest.approx(1)
    # Three ranks count in the original, one with union.
    assert scored(edges, gold, [0, 1], top_k="gold", overlap="sum")["span_recall"] == pytest.approx(1)
    assert scored(edges, gold, [0, 1], top_k="gold")["span_recall"] == pytest.approx(0)
