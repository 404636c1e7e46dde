"""Many settings at once: each must equal a search of its own."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ragkit as rk
from ragkit.bm25 import gathered

WORDS = [f"w{n}" for n in range(60)]
NUMBERS = {"k1": [0.0, 0.5, 1.2, 3.0], "b": [0.0, 0.4, 1.0], "delta": [0.0, 0.5], "mu": [10.0, 2000.0]}
CHOICES = {
    "variant": ["bm25", "lucene", "robertson", "atire", "bm25l", "bm25+", "tfidf", "dirichlet"],
    "query_terms": ["once", "counted"],
}


def collection(seed, n, skew):
    rng = np.random.default_rng(seed)
    chance = 1 / np.arange(1, len(WORDS) + 1) ** skew
    texts = [
        " ".join(rng.choice(WORDS, size, p=chance / chance.sum())) for size in rng.integers(0, 15, n).tolist()
    ]
    ids = [f"d{i}" for i in rng.permutation(n)]
    return pd.DataFrame({"doc_id": ids, "text": texts, "title": texts[::-1], "kind": rng.integers(0, 3, n)})


# ---------------------------------------------------------------- worked examples


def test_runs_come_setting_by_setting_with_the_parameters_in_front():
    index = rk.KeywordIndex({"a": "red fox", "b": "red red wine and more wine"}, k1=0.9)
    runs = index.search_settings({"q1": "red", "q2": "fox"}, [{"b": 0.0}, {"b": 1.0, "k1": 2.0}])
    assert runs.columns.tolist() == ["setting", "b", "k1", "query_id", "doc_id", "rank", "score"]
    assert runs[["setting", "b", "k1", "query_id", "doc_id", "rank"]].values.tolist() == [
        [0, 0.0, 0.9, "q1", "b", 1],
        [0, 0.0, 0.9, "q1", "a", 2],
        [0, 0.0, 0.9, "q2", "a", 1],
        [1, 1.0, 2.0, "q1", "a", 1],
        [1, 1.0, 2.0, "q1", "b", 2],
        [1, 1.0, 2.0, "q2", "a", 1],
    ]
    assert runs["setting"].dtype == np.int64 and runs["b"].dtype == np.float64


def test_a_frame_gives_one_setting_per_row_and_its_gaps_are_the_index_s_own():
    index = rk.KeywordIndex({"a": "red fox", "b": "red red wine"}, variant="bm25+")
    frame = pd.DataFrame({"variant": ["lucene", None], "delta": [np.nan, 0.25]})
    runs = index.search_settings("red", frame)
    wanted = [{"variant": "lucene"}, {"delta": 0.25}]
    pd.testing.assert_frame_equal(runs, index.search_settings("red", wanted))
    assert runs[["setting", "variant", "delta"]].drop_duplicates().values.tolist() == [
        [0, "lucene", 0.0],
        [1, "bm25+", 0.25],
    ]


def test_a_parameter_of_the_fields_has_a_column_for_each():
    docs = pd.DataFrame({"doc_id": ["a", "b"], "title": ["fox", "hen"], "text": ["hen", "fox fox"]})
    index = rk.KeywordIndex(docs, fields={"title": 3.0, "text": 1.0})
    runs = index.search_settings(
        "fox", [{"fields": {"text": 1.0}}, {"b": {"title": 0.0, "text": 1.0}}, {"b": 0.5}], top_k=1
    )
    shown = runs[["fields.title", "fields.text", "b.title", "b.text", "doc_id"]].values.tolist()
    assert shown == [[0.0, 1.0, 0.75, 0.75, "b"], [3.0, 1.0, 0.0, 1.0, "a"], [3.0, 1.0, 0.5, 0.5, "a"]]


def test_no_settings_no_queries_and_no_documents_give_empty_runs_of_the_right_columns():
    index = rk.KeywordIndex({"a": "red fox"})
    for runs in (
        index.search_settings("red", []),
        index.search_settings([], [{"k1": 1}, {"k1": 2}]),
        rk.KeywordIndex().search_settings("red", [{"k1": 1}]),
        index.search_settings("red", [{"k1": 1}], top_k=0),
    ):
        assert len(runs) == 0
        assert [c for c in runs.columns if c != "k1"] == ["setting", "query_id", "doc_id", "rank", "score"]
        assert runs["setting"].dtype == runs["rank"].dtype == np.int64 and runs["score"].dtype == np.float64


def test_what_is_no_setting_is_refused_and_named():
    index = rk.KeywordIndex({"a": "red fox"})
    with pytest.raises(ValueError, match=r"unknown parameter of setting 0 'k'.*Did you mean 'k1'"):
        index.search_settings("red", [{"k": 1}])
    with pytest.raises(ValueError, match="setting 1: b must be"):
        index.search_settings("red", [{"b": 1}, {"b": 2}])
    with pytest.raises(TypeError, match="list of dicts"):
        index.search_settings("red", {"k1": [1, 2]})
    with pytest.raises(TypeError, match=r"setting 0 is 0\.5"):
        index.search_settings("red", [0.5])


def test_an_unknown_word_is_reported_once_for_all_settings():
    index = rk.KeywordIndex({"a": "red fox"})
    with pytest.warns(rk.RetrievalWarning, match="query '1' asks for 'zzz'") as caught:
        runs = index.search_settings(["red", "zzz"], [{"b": 0.0}, {"b": 1.0}])
    assert len(caught) == 1 and runs["query_id"].tolist() == ["0", "0"]


def test_settings_leave_the_index_s_own_alone():
    index = rk.KeywordIndex({"a": "red fox", "b": "red red wine and more wine"})
    before = index.search("red")
    index.search_settings("red", [{"b": 0.0, "variant": "lucene"}])
    pd.testing.assert_frame_equal(index.search("red"), before)


# ---------------------------------------------------------------- properties


@pytest.mark.filterwarnings("ignore::ragkit.RetrievalWarning")  # of queries without a known word
@settings(max_examples=40)
@given(
    st.integers(0, 10**6),
    st.sampled_from([30, 400, 1500]),
    st.sampled_from([0.3, 1.2, 1.8]),
    st.lists(st.lists(st.sampled_from([*WORDS, "unknown"]), max_size=7).map(" ".join), max_size=4),
    st.lists(
        st.fixed_dictionaries(
            {}, optional={name: st.sampled_from(v) for name, v in (NUMBERS | CHOICES).items()}
        ),
        max_size=4,
    ),
    st.sampled_from([None, 0, 1, 20, 400]),
    st.sampled_from([None, {"kind": 1}]),
    st.sampled_from(["counted", "once"]),
)
def test_each_setting_equals_a_search_of_its_own_bit_by_bit(
    seed, n, skew, queries, wanted, top_k, where, own
):
    docs = collection(seed, n, skew).drop(columns="title")
    index = rk.KeywordIndex(docs, tokenizer=str.split, query_terms=own)
    index.remove(index.ids[::7])
    runs = index.search_settings(queries, wanted, top_k=top_k, where=where)
    assert runs["setting"].is_monotonic_increasing
    for number, setting in enumerate(wanted):
        single = index.search(queries, **setting, top_k=top_k, where=where)
        mine = runs[runs["setting"] == number].reset_index(drop=True)[list(single.columns)]
        pd.testing.assert_frame_equal(mine, single, check_exact=True)


@pytest.mark.parametrize("most", [1, 100, 10**9])
def test_no_bound_on_what_is_gathered_changes_what_is_found(monkeypatch, most):
    monkeypatch.setattr(gathered, "_POSTINGS", most)
    index = rk.KeywordIndex(collection(2, 900, 1.2).drop(columns="title"), tokenizer=str.split)
    rng = np.random.default_rng(0)
    queries = [" ".join(rng.choice(WORDS, rng.integers(1, 6))) for _ in range(30)]
    wanted = [{"k1": 0.4, "b": 0.2}, {"k1": 2.0}, {"variant": "bm25+", "query_terms": "once"}]
    runs = index.search_settings(queries, wanted, top_k=15)
    for number, setting in enumerate(wanted):
        single = index.search(queries, **setting, top_k=15)
        mine = runs[runs["setting"] == number].reset_index(drop=True)[list(single.columns)]
        pd.testing.assert_frame_equal(mine, single, check_exact=True)
