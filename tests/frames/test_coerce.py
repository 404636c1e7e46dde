"""Coercion at the door: ids, texts, documents of other libraries, judgements and runs."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ragkit as rk
from ragkit.frames import as_ids, deep_copy, empty_run

# --- ids ---------------------------------------------------------------------------------------------


def test_ids_that_look_like_numbers_or_missing_values_stay_as_they_are():
    ids = ["001", "NA", "None", "nan", "1.0", " x "]
    assert as_ids(ids, "doc_id").tolist() == ids


def test_integer_ids_become_their_decimal_text():
    assert as_ids([7, np.int64(8), "9"], "doc_id").tolist() == ["7", "8", "9"]
    assert as_ids(pd.Series([2**62]), "doc_id").tolist() == [str(2**62)]


def test_categorical_ids_are_kept_categorical():
    ids = as_ids(pd.Categorical([1, 2, 1]), "doc_id")
    assert isinstance(ids.dtype, pd.CategoricalDtype)
    assert ids.tolist() == ["1", "2", "1"]


@pytest.mark.parametrize("bad", [None, float("nan"), pd.NA, ""])
def test_missing_and_empty_ids_are_refused_with_their_row(bad):
    with pytest.raises(ValueError, match=r"doc_id .*row 1"):
        as_ids(["a", bad], "doc_id")


@pytest.mark.parametrize("bad", [1.5, True, b"x", ("a",)])
def test_ids_of_other_types_are_refused(bad):
    with pytest.raises(TypeError, match="doc_id must hold strings or whole numbers"):
        as_ids(["a", bad], "doc_id")


@given(st.lists(st.text(min_size=1)))
def test_string_ids_round_trip(ids):
    assert as_ids(ids, "doc_id").tolist() == ids


# --- documents and queries -----------------------------------------------------------------------------


def test_every_form_of_documents_gives_the_same_frame():
    want = [["a", "red fox"], ["b", "blue whale"]]
    texts = {"a": "red fox", "b": "blue whale"}
    forms = [
        texts,
        pd.Series(texts),
        pd.DataFrame({"doc_id": list(texts), "text": list(texts.values())}, index=[5, 9]),
        [{"doc_id": k, "text": v} for k, v in texts.items()],
        [{"_id": k, "text": v} for k, v in texts.items()],
        {k: {"text": v} for k, v in texts.items()},
        [SimpleNamespace(page_content=v, metadata={}, id=k) for k, v in texts.items()],  # LangChain
        [SimpleNamespace(content=v, meta={}, id=k) for k, v in texts.items()],  # Haystack
        [SimpleNamespace(text=v, metadata={}, id_=k) for k, v in texts.items()],  # LlamaIndex
    ]
    for form in forms:
        frame = rk.as_docs(form)
        assert frame[["doc_id", "text"]].values.tolist() == want
        assert frame.index.tolist() == [0, 1]


def test_bare_strings_are_numbered_from_where_the_store_stands():
    assert rk.as_docs("one").values.tolist() == [["0", "one"]]
    assert rk.as_docs(["x", "y"], start=3)["doc_id"].tolist() == ["3", "4"]


def test_metadata_of_objects_becomes_columns_and_is_copied():
    tags = ["x"]
    docs = rk.as_docs([SimpleNamespace(page_content="t", metadata={"tags": tags, "text": "m"}, id=None)])
    docs.loc[0, "tags"].append("y")
    assert tags == ["x"]
    assert docs.loc[0, ["doc_id", "text", "metadata_text"]].tolist() == ["0", "t", "m"]


def test_the_given_frame_is_not_changed():
    frame = pd.DataFrame({"doc_id": [1, 2], "text": ["a", "b"]}, index=[4, 2])
    before = frame.copy()
    out = rk.as_docs(frame)
    out["text"] = "changed"
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize("bad", [None, float("nan"), pd.NA])
def test_a_document_without_text_is_named(bad):
    with pytest.raises(ValueError, match="'b'"):
        rk.as_docs({"a": "x", "b": bad})


def test_errors_say_who_needs_what_and_got_what():
    with pytest.raises(
        ValueError, match=r"docs needs columns .*missing \['text'\], found .*columns=\{'texts': 'text'\}"
    ):
        rk.as_docs(pd.DataFrame({"doc_id": ["a"], "texts": ["t"]}))
    with pytest.raises(ValueError, match=r"repeated doc_id row .*'a'"):
        rk.as_docs(pd.DataFrame({"doc_id": ["a", "a"], "text": ["t", "u"]}))
    with pytest.raises(TypeError, match="'a' has 3 of type int"):
        rk.as_docs(pd.DataFrame({"doc_id": ["a"], "text": [3]}))
    with pytest.raises(TypeError, match="got int"):
        rk.as_queries(3)
    with pytest.raises(TypeError, match="got bytes"):
        rk.as_docs(b"bytes")


def test_queries_may_be_blank_but_not_missing():
    assert rk.as_queries(["", "  "])["text"].tolist() == ["", "  "]
    with pytest.raises(ValueError, match="without text"):
        rk.as_queries([None])


def test_chunks_are_units_of_their_own():
    chunks = pd.DataFrame({"chunk_id": ["a#0", "a#1"], "doc_id": ["a", "a"], "text": ["x", "y"]})
    assert len(rk.as_docs(chunks)) == 2
    with pytest.raises(ValueError, match="repeated chunk_id"):
        rk.as_docs(chunks.assign(chunk_id="a#0"))


def test_cells_that_hold_lists_are_copied_deeply():
    frame = pd.DataFrame({"doc_id": ["a"], "text": ["t"], "tags": [["x"]]})
    copied = deep_copy(frame)
    copied.loc[0, "tags"].append("y")
    assert frame.loc[0, "tags"] == ["x"]


# --- judgements ------------------------------------------------------------------------------------------


def test_every_form_of_judgements_gives_the_same_frame():
    want = [["q", "a", 2], ["q", "b", -1]]
    forms = [
        {"q": {"a": 2, "b": -1}},
        [("q", "a", 2), ("q", "b", -1)],
        pd.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "relevance": [2.0, -1.0]}),
        pd.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "relevance": ["2", "-1"]}),
    ]
    for form in forms:
        qrels = rk.as_qrels(form)
        assert qrels.values.tolist() == want
        assert qrels["relevance"].dtype == np.int64


@pytest.mark.parametrize("grade", [2.5, float("nan"), float("inf"), "x", None])
def test_grades_must_be_whole_numbers(grade):
    with pytest.raises(ValueError, match="document 'a' has"):
        rk.as_qrels([("q", "a", grade)])


def test_a_pair_is_judged_once_for_each_subtopic():
    qrels = pd.DataFrame({"query_id": "q", "doc_id": ["a", "a"], "relevance": [1, 2]})
    with pytest.raises(ValueError, match="judges 1 pairs twice"):
        rk.as_qrels(qrels)
    assert len(rk.as_qrels(qrels.assign(subtopic=["s", "t"]))) == 2


# --- runs --------------------------------------------------------------------------------------------------


def test_ranks_that_are_there_decide_whatever_the_scores_say():
    run = pd.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "rank": [2, 1], "score": [9.0, 1.0]})
    assert rk.as_run(run)["doc_id"].tolist() == ["b", "a"]


def test_an_ordered_list_is_a_run_without_ties():
    run = rk.as_run({"q1": ["z", "a"], "q2": []})
    assert run.columns.tolist() == ["query_id", "doc_id", "rank", "score"]
    assert run[["query_id", "doc_id", "rank", "score"]].values.tolist() == [
        ["q1", "z", 1, 1.0],
        ["q1", "a", 2, 0.5],
    ]


@pytest.mark.parametrize("score", [float("nan"), float("inf"), None])
def test_scores_must_be_finite_and_the_culprit_is_named(score):
    with pytest.raises(ValueError, match="query 'q', unit 'b'"):
        rk.as_run(pd.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "score": [1.0, score]}))


@pytest.mark.parametrize("scores", [["1", "2"], [True, False]])
def test_scores_must_be_numbers(scores):
    with pytest.raises(TypeError, match="run's score must hold numbers"):
        rk.as_run(pd.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "score": scores}))


@pytest.mark.parametrize("ranks", [[1, 1], [0, 1], [1.5, 2], [1, None]])
def test_ranks_must_be_whole_numbers_used_once(ranks):
    with pytest.raises(ValueError, match=r"rank.*query 'q'"):
        rk.as_run(pd.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "rank": ranks, "score": [1.0, 2.0]}))


def test_an_empty_run_has_its_columns_and_dtypes():
    for unit in ("doc_id", "chunk_id"):
        run = rk.as_run(empty_run(unit))
        assert run["rank"].dtype == np.int64
        assert run["score"].dtype == np.float64
        assert unit in run.columns
        assert rk.best_per_doc(run).empty
    assert rk.as_run({}).columns.tolist() == ["query_id", "doc_id", "rank", "score"]


@pytest.mark.parametrize("grade", [1e300, 2**60 + 1, -(10**10)])
def test_grades_that_no_scale_has_are_refused(grade):
    with pytest.raises(ValueError, match="document 'a' has"):
        rk.as_qrels([("q", "a", grade)])


@pytest.mark.parametrize("make", [rk.as_docs, rk.as_queries, rk.as_qrels, rk.as_run, rk.KeywordIndex])
def test_a_column_that_stands_twice_is_named(make):
    frame = pd.DataFrame([["a", "q", "t", "u"]], columns=["doc_id", "query_id", "text", "text"])
    with pytest.raises(ValueError, match="stand twice: 'text'"):
        make(frame)


def test_a_missing_whole_number_is_no_id():
    ids = pd.Series([1, None], dtype="Int64")
    with pytest.raises(ValueError, match="doc_id is missing in row 1"):
        rk.as_docs(pd.DataFrame({"doc_id": ids, "text": ["x", "y"]}))
    assert as_ids(ids[:1], "doc_id").tolist() == ["1"]


def test_none_is_no_id():
    with pytest.raises(ValueError, match="key None"):
        rk.as_docs({None: "x", "a": "y"})


def test_ids_in_the_index_of_a_run_are_found():
    run = pd.DataFrame({"query_id": ["q"], "doc_id": ["a"], "score": [1.0]}).set_index(["query_id", "doc_id"])
    with pytest.raises(ValueError, match=r"use df\.reset_index\(\)"):
        rk.as_run(run)
