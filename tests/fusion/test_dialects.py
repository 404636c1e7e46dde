"""Dialects: the scores of the real packages, bit for bit; the documented ones by hand."""

import itertools
import json
import warnings
from collections import defaultdict
from pathlib import Path

import pandas as pd
import pytest

import ragkit as rk

RECORDED = json.loads((Path(__file__).parents[1] / "golden" / "dialects.json").read_text(encoding="utf-8"))


def fused(lists, weights, engine):
    runs = {}
    for number, found in enumerate(lists):
        units, scores = [u for u, _ in found], [s for _, s in found]
        ranks = range(1, len(found) + 1)
        run = pd.DataFrame({"query_id": "q", "doc_id": units, "rank": ranks, "score": scores})
        runs[f"r{number}"] = run if found else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rk.RetrievalWarning)
        return rk.fuse(runs, weights=weights, **rk.dialect(engine))


@pytest.mark.parametrize("engine", sorted(RECORDED["outputs"]))
def test_the_recorded_scores_are_reproduced_bit_for_bit(engine):
    compared = 0
    for given, expected in zip(RECORDED["inputs"], RECORDED["outputs"][engine]):
        if expected is None:
            continue
        compared += 1
        weights = None if engine == "ranx-rrf" else given["weights"]  # which takes none
        run = fused(given["lists"], weights, engine)
        mine = dict(zip(run["doc_id"], run["score"]))
        if engine == "langchain":  # it gives an order and no scores
            assert_same_order(run, [unit for unit, _ in expected])
            continue
        assert mine == dict(expected)
        assert_same_order(run, [unit for unit, _ in expected])
    assert compared >= 50


def assert_same_order(run, expected):
    """Units of equal score stand as ours do, by id, so ties are compared as sets."""
    groups = defaultdict(list)
    for place, score in enumerate(run["score"]):
        groups[float(f"{score:.11g}")].append(place)
    units = run["doc_id"].tolist()
    assert len(units) == len(expected)
    for places in groups.values():
        assert {units[p] for p in places} == {expected[p] for p in places}


def test_the_recorded_inputs_hold_ties_missing_documents_and_empty_lists():
    lists = [found for given in RECORDED["inputs"] for found in given["lists"]]
    assert any(not found for found in lists)
    assert any(len({s for _, s in found}) < len(found) for found in lists)
    assert any(len({u for u, _ in a} ^ {u for u, _ in b}) for a, b in itertools.pairwise(lists))


def test_contributions_still_add_up():
    for given in RECORDED["inputs"][:20]:
        for engine in ("haystack", "qdrant", "llamaindex-dbsf", "haystack-dbsf", "opensearch"):
            run = fused(given["lists"], given["weights"], engine)
            parts = run[[c for c in run if c.endswith("_contribution")]].sum(axis=1)
            assert parts.to_numpy() == pytest.approx(run["score"].to_numpy(), abs=1e-12)


def test_opensearch_by_its_documentation():
    # min-max: a 1, b 1/2, the last hit .001 instead of 0; the lone hit of the second list 1; halved
    run = fused([[("a", 3.0), ("b", 2.0), ("c", 1.0)], [("c", 5.0)]], [1, 1], "opensearch")
    assert dict(zip(run["doc_id"], run["score"])) == {"a": 0.5, "b": 0.25, "c": 0.5005}


@pytest.mark.parametrize("engine", ["elasticsearch", "mongodb", "weaviate-ranked"])
def test_documented_reciprocal_ranks(engine):
    run = fused([[("a", 3.0), ("b", 2.0)], [("b", 5.0)]], [0.25, 0.75], engine)
    assert dict(zip(run["doc_id"], run["score"])) == {"a": 0.25 / 61, "b": 0.25 / 62 + 0.75 / 61}


def test_weaviate_and_elastic_linear_by_their_documentation():
    for engine in ("weaviate", "elasticsearch-linear"):
        run = fused([[("a", 3.0), ("b", 1.0)], [("b", 5.0), ("c", 2.0)]], [0.25, 0.75], engine)
        assert dict(zip(run["doc_id"], run["score"])) == {"a": 0.25, "b": 0.75, "c": 0.0}


def test_five_dialects_of_rrf_disagree_and_the_comparison_says_so():
    runs = {"a": {"q": ["x", "o", "p", "both"]}, "b": {"q": ["y", "r", "s", "both"]}}
    table = rk.compare_dialects(runs, top_k=1).set_index("engine")
    assert table.loc["qdrant", "first"] in ("x", "y") and table.loc["mongodb", "first"] == "both"
    assert table["overlap"].between(0, 1).all()
    # of the 20 others, 6 have "both" first as MongoDB does
    same = (table["first"] == "both").sum() - 1
    assert table.loc["mongodb", "overlap"] == pytest.approx(same / (len(table) - 1))


def test_the_list_says_how_each_was_checked_and_misspelt_names_are_guessed():
    table = rk.dialects().set_index("engine")
    assert set(RECORDED["outputs"]) == set(table.index[table["checked"] == "recorded"])
    with pytest.raises(ValueError, match="Did you mean 'haystack'"):
        rk.dialect("haystak")
    options = rk.dialect("qdrant")
    options["method"] = None
    assert rk.dialect("qdrant")["method"] is not None  # a copy


def test_empty_runs_have_no_dialects_to_compare():
    assert len(rk.compare_dialects({"a": {}, "b": {}})) == 0
