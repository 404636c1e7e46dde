"""The one meaning of where= everywhere."""

from __future__ import annotations

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
    assert mask({"year": "2020"}) == [False, False, False]
    assert mask({"open": 1}) == [False, False, False]
    assert mask({"open": True}) == [True, False, True]
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
    with pytest.raises(ValueError, match="lacks 1 unit ids: 'c'"):
        mask(pd.Series({"a": True, "b": True}))
    with pytest.raises(TypeError, match="must hold booleans"):
        mask(pd.Series({"a": 1, "b": 0, "c": 1}))


@pytest.mark.parametrize("evil", ["year == 2020", "__import__('os').system('true')"])
def test_strings_are_never_evaluated(evil):
    with pytest.raises(TypeError, match="where must be a dict"):
        mask(evil)


def test_unknown_columns_are_named():
    with pytest.raises(KeyError, match="'yeer'"):
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
