"""explain: the parts of one score, by hand and against the run that it explains."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ragkit as rk
from ragkit.explain import explain

KEYWORD = {"q": {"fox": 9.0, "hen": 4.0, "elk": 1.0}}
VECTOR = {"q": {"hen": 0.8, "owl": 0.5}}


def fused(**options):
    return rk.fuse({"keyword": KEYWORD, "vector": VECTOR}, weights=[0.3, 0.7], **options)


def test_the_parts_of_a_fused_score():
    parts = explain(fused(method="linear"), "q", "hen")
    # keyword: (4 - 1) / (9 - 1) = .375, times .3; vector: 1, times .7
    assert parts["part"].tolist() == ["keyword", "vector"]
    assert parts["value"].tolist() == pytest.approx([0.1125, 0.7])
    assert parts["rank"].tolist() == [2, 1] and parts["score"].tolist() == [4, 0.8]
    assert parts["normalized"].tolist() == [0.375, 1] and parts["weight"].tolist() == pytest.approx(
        [0.3, 0.7]
    )
    assert parts["share"].sum() == pytest.approx(1)


def test_the_sentence_says_who_did_not_retrieve_it():
    sentence = explain(fused(), "q", "owl").attrs["sentence"]
    assert sentence.startswith("'owl' is 2nd for query 'q' with 0.01129: 0.01129 from vector (2nd there)")
    assert sentence.endswith("; keyword did not retrieve it.")


def test_the_parts_of_an_mmr_score_name_who_caused_the_penalty():
    run = rk.as_run({"q": {"a": 1.0, "copy": 0.9, "other": 0.5}})
    vectors = {"a": [1, 0], "copy": [1, 0], "other": [0, 1]}
    picked = rk.mmr(run, vectors, lambda_=0.7, top_k=2)
    parts = explain(picked, "q", "copy")
    # min-max relevance .8: .7 * .8 - .3 * 1
    assert parts["value"].tolist() == pytest.approx([0.56, -0.3])
    assert parts["weight"].tolist() == pytest.approx([0.7, -0.3])
    assert "being like 'a'" in parts.attrs["sentence"] and "(2nd before)" in parts.attrs["sentence"]


def test_a_run_without_a_ledger_gives_its_score():
    parts = explain(KEYWORD, "q", "fox")
    assert parts[["part", "value"]].values.tolist() == [["score", 9.0]]


@pytest.mark.parametrize(("query", "unit"), [("p", "hen"), ("q", "cow")])
def test_what_is_not_there_is_named(query, unit):
    with pytest.raises(ValueError, match="explain found no"):
        explain(fused(), query, unit)


@given(
    st.sampled_from(["rrf", "linear", "max", "min", "median", "mnz", "anz", "isr", "borda", "condorcet"]),
    st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 20), min_size=2),
    st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 20), min_size=2),
)
def test_the_values_add_up_to_the_score(method, one, two):
    run = rk.fuse({"one": {"q": one}, "two": {"q": two}}, method=method)
    for row in run.itertuples():
        parts = explain(run, "q", row.doc_id)
        assert parts["value"].sum() == pytest.approx(row.score, abs=1e-12)
    assert parts.dtypes.drop("part").eq(np.float64).all()


def test_chunks_are_asked_for_by_their_own_id():
    chunks = rk.as_run({"q": ["a"]}).assign(chunk_id="a#3")
    assert isinstance(explain(rk.fuse({"c": chunks}), "q", "a#3"), pd.DataFrame)
