"""Settings of a KeywordIndex are searched many at once: nothing else may change by that."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ragkit as rk
from tests.experiment.corpus import DOCS, QRELS, QUERIES

METRICS = ["rr", "ndcg@3", "bpref", "recall"]


@pytest.fixture
def index():
    return rk.KeywordIndex(DOCS)


@pytest.fixture
def asked(monkeypatch):
    """How many settings each search was asked for."""
    calls = []
    many, one = rk.KeywordIndex.search_settings, rk.KeywordIndex.search

    def search_settings(self, queries, settings, **more):
        calls.append(len(settings))
        return many(self, queries, settings, **more)

    def search(self, queries, **more):
        calls.append(1)
        return one(self, queries, **more)

    monkeypatch.setattr(rk.KeywordIndex, "search_settings", search_settings)
    monkeypatch.setattr(rk.KeywordIndex, "search", search)
    return calls


# Worked examples -------------------------------------------------------------------------------------


def test_a_grid_is_searched_in_blocks_and_scored_as_evaluate_would(index, asked):
    grid = {"k1": np.linspace(0, 3, 6).tolist(), "b": [0.0, 0.3, 1.0]}
    table = rk.sweep(index, grid, QRELS, queries=QUERIES, metrics=METRICS)
    assert asked == [16, 2]
    for (k1, b), part in table.groupby(["k1", "b"]):
        expected = rk.evaluate(index.search(QUERIES, k1=k1, b=b), QRELS, metrics=METRICS)
        pd.testing.assert_frame_equal(part[["query_id", "metric", "value"]].reset_index(drop=True), expected)
    assert table.groupby("setting")["seconds"].nunique().eq(1).all() and (table["seconds"] > 0).all()


def test_the_method_of_an_index_is_as_good_as_the_index(index, asked):
    for retriever in (index, index.search):
        table = rk.sweep(retriever, {"b": [0.0, 0.5, 1.0]}, QRELS, queries=QUERIES, metrics="rr")
        assert asked.pop() == 3 and not asked and len(table) == 3 * 4
    rk.sweep(
        lambda queries, b: index.search(queries, b=b), {"b": [0.0, 1.0]}, QRELS, queries=QUERIES, metrics="rr"
    )
    assert asked == [1, 1]


def test_settings_that_differ_in_depth_or_filter_are_searched_apart(index, asked):
    grid = {"top_k": [1, None], "where": [None, {"doc_id": ["a", "b"]}], "b": [0.0, 1.0]}
    table = rk.sweep(index, grid, QRELS, queries=QUERIES, metrics="recall")
    assert asked == [2, 2, 2, 2]
    for number, part in table.groupby("setting"):
        top_k, where = grid["top_k"][number // 4], grid["where"][number // 2 % 2]
        run = index.search(QUERIES, top_k=top_k, where=where, b=grid["b"][number % 2])
        assert part["value"].tolist() == rk.evaluate(run, QRELS, metrics="recall")["value"].tolist()


def test_one_wrong_setting_among_many_says_so_in_its_row(index, asked):
    table = rk.sweep(index, [{"b": 0.0}, {"b": 7.0}, {"b": 1.0}], QRELS, queries=QUERIES, metrics="rr")
    assert asked == [3, 1, 1, 1]  # together in vain, then each by itself
    wrong = table[table["error"].notna()]
    assert wrong["setting"].tolist() == [1] and "b must be" in wrong["error"].item()
    assert "setting 1" not in wrong["error"].item()
    right = rk.sweep(index, {"b": [0.0, 1.0]}, QRELS, queries=QUERIES, metrics="rr")
    assert table["value"].dropna().tolist() == right["value"].tolist()


def test_an_interruption_loses_one_block_and_the_file_has_the_rest(index, monkeypatch, tmp_path):
    real, calls = rk.KeywordIndex.search_settings, []

    def interrupted(self, queries, settings, **more):
        calls.append(len(settings))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(self, queries, settings, **more)

    monkeypatch.setattr(rk.KeywordIndex, "search_settings", interrupted)
    grid, path = {"b": np.linspace(0, 1, 40).tolist()}, tmp_path / "sweep.jsonl"
    with pytest.raises(KeyboardInterrupt):
        rk.sweep(index, grid, QRELS, queries=QUERIES, metrics="rr", path=path)
    assert len(path.read_text().splitlines()) == 1 + 16
    table = rk.sweep(index, grid, QRELS, queries=QUERIES, metrics="rr", path=path)
    assert calls == [16, 16, 16, 8]
    fresh = rk.sweep(index, grid, QRELS, queries=QUERIES, metrics="rr")
    pd.testing.assert_frame_equal(table.drop(columns="seconds"), fresh.drop(columns="seconds"))


def test_every_worker_has_something_to_do(index, asked):
    import joblib

    with joblib.parallel_config(backend="threading", n_jobs=4):
        rk.sweep(index, {"b": np.linspace(0, 1, 12).tolist()}, QRELS, queries=QUERIES, metrics="rr")
    assert asked == [3, 3, 3, 3]


def test_tuning_an_index_searches_in_blocks_too(index, asked):
    space = {"k1": [0.5, 1.5], "b": [0.0, 0.5, 1.0]}
    best = rk.tune(index, space, QRELS, queries=QUERIES, metric="ndcg@3", cv=2)
    assert asked == [6]
    one_by_one = rk.tune(
        lambda queries, k1, b: index.search(queries, k1=k1, b=b),
        space, QRELS, queries=QUERIES, metric="ndcg@3", cv=2,
    )  # fmt: skip
    assert best.params == one_by_one.params and best.held_out == one_by_one.held_out
    pd.testing.assert_frame_equal(best.scores, one_by_one.scores)


def test_an_index_of_chunks_is_collapsed_setting_by_setting():
    chunks = rk.chunk(DOCS, size=20, overlap=0)
    index, grid = rk.KeywordIndex(chunks), {"b": [0.0, 0.5, 1.0]}
    table = rk.sweep(index, grid, QRELS, queries=QUERIES, metrics="ndcg@3")
    for b, part in table.groupby("b"):
        run = rk.best_per_doc(index.search(QUERIES, b=b))
        assert part["value"].tolist() == rk.evaluate(run, QRELS, metrics="ndcg@3")["value"].tolist()


# Properties ------------------------------------------------------------------------------------------

SETTING = st.fixed_dictionaries(
    {},
    optional={
        "k1": st.one_of(st.none(), st.sampled_from([0.0, 0.9, 2.0])),
        "b": st.sampled_from([None, 0.0, 0.4, 1.0, 1.5]),
        "variant": st.sampled_from(["bm25", "bm25+", "dirichlet"]),
        "query_terms": st.sampled_from(["once", "counted"]),
        "top_k": st.sampled_from([1, 3, None, 0]),
    },
)


@given(st.lists(SETTING, min_size=1, max_size=12))
@settings(max_examples=40, deadline=None)
def test_at_once_equals_one_by_one_whatever_the_settings(listed):
    index = rk.KeywordIndex(DOCS)

    def one(queries, k1=None, b=None, variant=None, query_terms=None, top_k=100):
        return index.search(queries, k1=k1, b=b, variant=variant, query_terms=query_terms, top_k=top_k)

    def measured(retriever):
        try:
            table = rk.sweep(retriever, listed, QRELS, queries=QUERIES, metrics=METRICS)
        except ValueError as error:  # every setting failed
            return str(error)
        return table.drop(columns="seconds")

    ours, theirs = measured(index), measured(one)
    if isinstance(ours, str):
        assert ours == theirs
    else:
        pd.testing.assert_frame_equal(ours, theirs)
