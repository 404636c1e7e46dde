"""The one meaning of where= everywhere."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import ragkit as rk
from ragkit.frames import where_mask

DOCS = pd.DataFrame(
    {
        "doc_id": ["a", "b", "c"],
        "text": ["x", "y", "z"],
        "year": [2020, 2021, 2020],
        "lang": ["en", None, "de"],
        "open": [True, False, True],
        "tags": [["p"], ["q"], None],
    }
)


def mask(where):
    answer = where_mask(DOCS, where)
    return None if answer is None else answer.tolist()


def test_none_and_the_empty_dict_filter_nothing():
    assert mask(None) is None
    assert mask({}) is None


def test_equalities_and_one_of():
    assert mask({"year": 2020}) == [True, False, True]
    assert mask({"year": [2021, 2022]}) == [False, True, False]
    assert mask({"year": 2020, "lang": ["de", "fr"]}) == [False, False, True]
    assert mask({"year": []}) == [False, False, False]


def test_equality_is_pythons_without_coercion():
    with pytest.warns(rk.RetrievalWarning, match=r"no document has '2020' in column 'year'.*mean 2020\?"):
        assert mask({"year": "2020"}) == [False, False, False]
    with pytest.warns(rk.RetrievalWarning, match=r"no document has 1 in column 'open'.*holds True, False\."):
        assert mask({"open": 1}) == [False, False, False]
    assert mask({"open": True}) == [True, False, True]
    with pytest.warns(rk.RetrievalWarning, match=r"equals nothing.*docs\['lang'\]\.isna\(\)"):
        assert mask({"lang": None}) == [False, False, False]
    assert mask({"tags": [["p"]]}) == [True, False, False]


def test_callables_see_a_copy():
    def drop(docs):
        docs["year"] = 0
        return docs["lang"] == "en"

    assert mask(drop) == [True, False, False]
    assert DOCS["year"].tolist() == [2020, 2021, 2020]


def test_a_series_is_aligned_by_unit_id():
    assert mask(pd.Series({"c": True, "a": False, "b": True, "other": True})) == [False, True, True]
    with pytest.raises(ValueError, match=r"lacks 1 unit ids: 'c'; .*lambda docs"):
        mask(pd.Series({"a": True, "b": True}))
    with pytest.raises(TypeError, match="must hold booleans"):
        mask(pd.Series({"a": 1, "b": 0, "c": 1}))


@pytest.mark.parametrize("evil", ["year == 2020", "__import__('os').system('true')"])
def test_strings_are_never_evaluated(evil):
    with pytest.raises(TypeError, match="where must be a dict"):
        mask(evil)


def test_unknown_columns_are_named():
    with pytest.raises(KeyError, match=r"'yeer'.*Did you mean 'year'\?"):
        mask({"yeer": 2020})
    with pytest.raises(KeyError, match="or 1==1"):
        mask({"year` or 1==1 or `x": 1})


def test_a_callable_must_answer_for_every_document():
    with pytest.raises(TypeError, match="one boolean for each of the 3 documents"):
        mask(lambda docs: True)


def test_a_callables_answer_is_read_by_its_index_not_by_its_place():
    assert mask(lambda docs: docs.sort_values("year", ascending=False)["year"] == 2021) == [
        False,
        True,
        False,
    ]
    by_id = mask(lambda docs: (docs.set_index("doc_id")["year"] == 2021).sort_index(ascending=False))
    assert by_id == [False, True, False]
    with pytest.raises(ValueError, match="lacks"):
        mask(lambda docs: docs[docs["year"] == 2020]["open"])


@pytest.mark.parametrize("wanted", [{"$gt": 2020}, {"in": [2020]}, lambda year: year > 2020])
def test_a_dict_knows_no_operators_and_says_what_does(wanted):
    with pytest.raises(TypeError, match=r"knows no operators.*where=lambda docs: docs\['year'\]"):
        mask({"year": wanted})


@pytest.mark.parametrize("make", [list, tuple, set, iter, pd.Index, pd.Series, np.array, "keys"])
def test_any_collection_means_one_of(make):
    wanted = dict.fromkeys([2020, 2022]).keys() if make == "keys" else make([2020, 2022])
    assert mask({"year": wanted}) == mask({"year": [2020, 2022]})
    assert mask({"year": range(2021, 2023)}) == mask({"year": [2021, 2022]})


def test_missing_flags_do_not_pass():
    docs = pd.DataFrame({"doc_id": ["a", "b"], "year": pd.array([2021, None], dtype="Int64")})
    assert where_mask(docs, lambda docs: docs["year"] > 2000).tolist() == [True, False]
    flags = pd.Series([None, True], index=["b", "a"], dtype="boolean")
    assert where_mask(docs, flags).tolist() == [True, False]


def test_ids_are_compared_as_the_strings_they_became():
    docs = pd.DataFrame({"doc_id": ["1", "2"]})
    assert where_mask(docs, {"doc_id": 1}).tolist() == [True, False]
    assert where_mask(docs, {"doc_id": [2, "1"]}).tolist() == [True, True]


def test_a_function_cannot_change_the_cells_of_a_store():
    index = rk.KeywordIndex(pd.DataFrame({"doc_id": ["a"], "text": ["fox"], "tags": [["x"]]}))
    index.search("fox", where=lambda docs: docs["tags"].iloc[0].append("y") or [True])
    assert index.get("a")["tags"] == ["x"]


# --- a value that stands nowhere ------------------------------------------------------------------------

TOPICS = pd.DataFrame(
    {"doc_id": ["a", "b", "c"], "text": ["a fox", "a hen", "an owl"], "topic": ["finance", "music", "sport"]}
)


def said(call):
    """What a call warns of, all of it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return [str(warning.message) for warning in caught]


def test_a_value_that_stands_nowhere_is_named_with_the_nearest():
    assert said(lambda: where_mask(TOPICS, {"topic": "fiance"})) == [
        "where: no document has 'fiance' in column 'topic', so none passes the filter. "
        "Did you mean 'finance'?"
    ]
    assert said(lambda: where_mask(TOPICS, {"topic": ["zebra", "sprot"], "doc_id": "a"})) == [
        "where: no document has any of 'zebra', 'sprot' in column 'topic', so none passes the filter. "
        "Did you mean 'sport'?"
    ]
    assert said(lambda: where_mask(TOPICS, {"topic": 7})) == [
        "where: no document has 7 in column 'topic', so none passes the filter. "
        "The column holds 'finance', 'music', 'sport'."
    ]


def test_a_column_of_lists_or_of_nothing_is_named_too():
    (text,) = said(lambda: where_mask(DOCS, {"tags": [["z"]]}))
    assert "no document has ['z'] in column 'tags'" in text
    (text,) = said(lambda: where_mask(TOPICS.assign(topic=None), {"topic": "music"}))
    assert text.endswith("The column holds no value at all.")


@pytest.mark.parametrize(
    "where",
    [
        {"topic": ["music", "fiance"]},  # one of them is there
        {"topic": "music", "doc_id": "a"},  # both are there, in no one document
        {"topic": []},  # nothing is named
        {"doc_id": "a"},
        lambda docs: docs["topic"] == "fiance",  # what a function asks is its own affair
        pd.Series({"a": False, "b": False, "c": False}),
    ],
)
def test_an_empty_answer_that_may_be_meant_gives_no_warning(where):
    assert said(lambda: where_mask(TOPICS, where)) == []


def test_an_empty_store_gives_no_warning():
    assert said(lambda: where_mask(TOPICS.iloc[:0], {"topic": "fiance"})) == []


@pytest.mark.parametrize("values", [["finance", "music", "sport"], ["finance", "music", "finance"]])
def test_the_filter_warns_once_in_every_call(values):
    docs = TOPICS.assign(topic=pd.Categorical(values))
    index, store = rk.KeywordIndex(docs), rk.VectorStore(docs, vectors=np.eye(3))
    hybrid = rk.HybridSearch(index, store)
    ask = {"vectors": {"q1": [1, 0, 0], "q2": [0, 1, 0]}, "where": {"topic": "fiance"}}
    queries = {"q1": "fox", "q2": "hen"}
    for call in (
        lambda: index.search(queries, where=ask["where"]),
        lambda: store.search(**ask),
        lambda: hybrid.search(queries, **ask),
        lambda: hybrid.search(queries, **ask),  # remembered, and said again
        lambda: hybrid.search(queries, **ask, top_k=1, missing="score", fusion="linear"),
        lambda: hybrid.remove(where=ask["where"]),
        lambda: rk.funnel(
            hybrid,
            {"q": "fox"},
            {"q": {"a": 1}},
            params={"where": ask["where"], "weights": {"keyword": 1, "vector": 0}},
        ),
    ):
        (text,) = said(call)
        assert "no document has 'fiance' in column 'topic'" in text and "'finance'" in text
    assert len(index) == len(store) == 3
