"""DocTable: order, upsert, slots."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragkit.frames.table import DocTable


def add(table, docs):
    table.commit(table.prepare(docs))


def test_overwriting_keeps_the_place_and_adding_again_goes_to_the_end():
    table = DocTable()
    add(table, {"a": "1", "b": "2", "c": "3"})
    add(table, {"a": "4"})
    assert list(table) == ["a", "b", "c"] and table.slots.tolist() == [3, 1, 2]
    table.discard(["b"])
    add(table, {"b": "5"})
    assert table.frame.values.tolist() == [["a", "4"], ["c", "3"], ["b", "5"]]


@pytest.mark.parametrize(
    "many",
    [
        list,
        tuple,
        iter,
        np.array,
        pd.Index,
        lambda texts: (t for t in texts),
        lambda ts: dict.fromkeys(ts).keys(),
    ],
    ids=["list", "tuple", "iterator", "array", "index", "generator", "keys"],
)
def test_bare_texts_never_take_an_id_that_is_there(many):
    # Two of "0", "1", "2" are left; a count of documents alone would call the next one "2" again.
    table = DocTable()
    add(table, ["x", "y", "z"])
    table.discard(["0"])
    add(table, many(["new", "newer"]))
    assert table.frame.values.tolist() == [["1", "y"], ["2", "z"], ["3", "new"], ["4", "newer"]]


def test_a_single_document_without_an_id_never_takes_one_that_is_there():
    table = DocTable()
    add(table, ["x", "y"])
    table.discard(["0"])
    add(table, SimpleNamespace(page_content="new", metadata={}))
    assert table.frame["doc_id"].tolist() == ["1", "2"]


def test_compact_closes_gaps_and_keeps_the_order():
    table = DocTable()
    add(table, {"a": "1", "b": "2", "c": "3"})
    add(table, {"a": "4"})
    table.discard(["b"])
    assert table.compact().tolist() == [2, 3]
    assert table.slots.tolist() == [1, 0] and table.n_slots == 2
    assert table.frame.values.tolist() == [["a", "4"], ["c", "3"]]


def test_the_version_counts_changes_and_nothing_else():
    table = DocTable()
    start = table.version
    table.prepare({"a": "1"})
    add(table, {})
    table.discard([])
    table.compact()
    assert table.version == start
    add(table, {"a": "1"})
    table.discard(["a"])
    table.clear()
    assert table.version == start + 3


def test_find_takes_ids_documents_or_a_condition_and_only_one_of_them():
    table = DocTable()
    add(table, [{"chunk_id": f"{d}#{n}", "doc_id": d, "text": "", "n": n} for d in "ab" for n in range(2)])
    assert table.find(["b#0", "x", "a#1", "b#0"]) == ["b#0", "a#1"]
    assert table.find("a#0") == ["a#0"]
    assert table.find(doc_ids=["b"]) == ["b#0", "b#1"]
    assert table.find(where={"n": 1}) == ["a#1", "b#1"]
    for wrong in ({}, {"where": {}}, {"ids": [], "where": {"n": 1}}):
        with pytest.raises(ValueError, match="exactly one"):
            table.find(**wrong)


def test_integer_ids_are_their_decimal_text():
    table = DocTable()
    add(table, {1: "one", 20: "twenty"})
    assert list(table) == ["1", "20"] and table.find([1]) == ["1"]


@given(
    st.lists(
        st.tuples(st.booleans(), st.dictionaries(st.sampled_from("abcde"), st.text(max_size=3))), max_size=10
    )
)
def test_a_table_behaves_as_a_dict(steps):
    table, truth = DocTable(), {}
    for adding, what in steps:
        if adding:
            add(table, what)
            truth |= what
        else:
            gone = table.find(list(what))
            table.discard(gone)
            truth = {unit: text for unit, text in truth.items() if unit not in what}
            table.compact()
    assert dict(zip(table, table.frame["text"])) == truth and list(table) == list(truth)
    assert [table.get(unit)["text"] for unit in truth] == list(truth.values())
