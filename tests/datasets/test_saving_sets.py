"""Writing: what goes out comes back, or is refused by name; one folder holds one data set."""

import datetime
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ragkit as rk

DOCS = rk.as_docs({"a": "text here", "b": "more"})
QUERIES = rk.as_queries({"q": "x", "r": "y"})
QRELS = rk.as_qrels({"q": {"a": 1}, "r": {"b": 1}})
SPANS = pd.DataFrame({"query_id": ["q"], "doc_id": ["a"], "start": [0], "end": [4]})
VECTORS = (np.eye(2), np.eye(2))
WHOLE = rk.datasets.Dataset(DOCS, QUERIES, QRELS, SPANS, VECTORS)


def files(folder):
    return {f.relative_to(folder).as_posix(): f.read_bytes() for f in folder.rglob("*") if f.is_file()}


# What goes out comes back ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["topic", "qid", "docid", "docno", "corpus_id", "id", "title", "doc_id"])
def test_columns_called_like_ids_travel_along(tmp_path, name):
    docs = DOCS if name == "doc_id" else DOCS.assign(**{name: ["science", "music"]})
    queries = QUERIES.assign(**{name: ["science", "music"]})
    rk.save_dataset((docs, queries, QRELS, None, None), tmp_path)
    after = rk.load_dataset(tmp_path)
    for before, back in ((docs, after.docs), (queries, after.queries)):
        pd.testing.assert_frame_equal(back[list(before.columns)], before)


edges = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=4)


@given(st.lists(edges, min_size=2, max_size=4, unique=True))
def test_ids_come_back_from_every_file_or_are_refused_by_name(tmp_path_factory, ids):
    folder = tmp_path_factory.mktemp("ids")
    docs, queries = rk.as_docs(dict.fromkeys(ids, "a text")), rk.as_queries(dict.fromkeys(ids, "a text"))
    judged = pd.DataFrame({"query_id": ids, "doc_id": ids[::-1], "relevance": 1})
    spans = judged.drop(columns="relevance").assign(start=0, end=3)
    whole = rk.datasets.Dataset(docs, queries, rk.as_qrels(judged), spans)
    for parts in (whole._replace(spans=None), whole._replace(qrels=None)):
        target = folder / ("qrels" if parts.spans is None else "spans")
        try:
            rk.save_dataset(parts, target)
        except ValueError as error:
            assert "which TSV cannot hold" in str(error) and not files(target)
            assert any(i != i.strip() or set(i) & set("\t\n\r") for i in ids)
            continue
        for before, after in zip(parts, rk.load_dataset(target)):
            if before is not None:
                pd.testing.assert_frame_equal(after, before, check_dtype=False)
    try:
        rk.write_queries(queries, folder / "q.tsv")
    except ValueError:
        assert any(i != i.strip() or set(i) & set("\t\n\r") for i in ids)
    else:
        assert rk.read_queries(folder / "q.tsv")["query_id"].tolist() == ids


@pytest.mark.parametrize("first", ["id", "_id", "Query_ID", "topic", "text", "title"])
@pytest.mark.parametrize("name", ["q.tsv", "q.tsv.gz", "q.txt"])
def test_a_first_query_called_like_a_column_comes_back(tmp_path, first, name):
    rk.write_queries({first: "fox", "b": "y"}, tmp_path / name)
    assert rk.read_queries(tmp_path / name).values.tolist() == [[first, "fox"], ["b", "y"]]
    rk.write_queries({"b": "fox"}, tmp_path / name)
    if not name.endswith("gz"):
        assert (tmp_path / name).read_text() == "b\tfox\n"  # elsewhere there is no header


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_vectors_keep_their_numbers(tmp_path, dtype):
    docs = np.array([[1e-50, 1 / 3], [2.0, 3.0]]).astype(dtype)
    rk.save_dataset(WHOLE._replace(vectors=(docs, None)), tmp_path)
    back = rk.load_dataset(tmp_path).vectors
    assert back.docs.tolist() == docs.tolist() and back.queries is None
    assert back.docs.dtype == ("float64" if dtype == "float64" else "float32")


def test_vectors_need_a_row_for_each_text(tmp_path):
    for vectors in ((np.eye(3), None), (np.eye(2), np.ones((1, 2)))):
        with pytest.raises(
            ValueError, match=r"vectors.(docs|queries) needs a row for each of 2 \1; got (3|1)"
        ):
            rk.save_dataset(WHOLE._replace(vectors=vectors), tmp_path)
    assert not files(tmp_path)


@pytest.mark.parametrize(
    "cell", [datetime.date(2020, 1, 1), pd.Timestamp("2020"), np.ones(2), {1, 2}, b"x", [np.ones(1)]]
)
@pytest.mark.parametrize("where", ["docs", "queries"])
def test_what_json_cannot_hold_is_named_by_its_column(tmp_path, cell, where):
    frame = getattr(WHOLE, where)
    frame = frame.assign(when=pd.Series([None, cell], dtype=object))
    with pytest.raises(ValueError, match=r"column 'when' holds .*, which JSON cannot hold"):
        rk.save_dataset(WHOLE._replace(**{where: frame}), tmp_path)
    assert not files(tmp_path)


def test_a_column_with_the_name_of_the_id_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"the column '_id' is what BEIR's files call doc_id"):
        rk.save_dataset(WHOLE._replace(docs=DOCS.assign(_id=["1", "2"])), tmp_path)
    with pytest.raises(ValueError, match=r"the column '_id' is what BEIR's files call query_id"):
        rk.write_queries(QUERIES.assign(_id=1), tmp_path / "q.jsonl")


@pytest.mark.parametrize("name", ["x.csv", "x.jsonl", "x.JSON", "x.parquet", "x.csv.gz"])
def test_no_file_is_written_that_the_readers_would_take_for_another_kind(tmp_path, name):
    writers = [(rk.write_qrels, QRELS), (rk.write_run, {"q": ["a"]}), (rk.write_queries, QUERIES)]
    for writer, data in writers[: 2 if "jsonl" in name else 3]:
        with pytest.raises(
            ValueError, match=rf"{writer.__name__} writes no \.\w+, as the name '{name}' says"
        ):
            writer(data, tmp_path / name)
    assert not files(tmp_path)


@pytest.mark.parametrize("dtype", ["float64", "Int64", "object", "int32"])
def test_offsets_of_any_whole_numbers_come_back(tmp_path, dtype):
    rk.save_dataset(WHOLE._replace(spans=SPANS.astype({"start": dtype, "end": dtype})), tmp_path)
    assert rk.load_dataset(tmp_path).spans.values.tolist() == [["q", "a", 0, 4]]


@pytest.mark.parametrize("end", [1.5, -1, None, "x", float("inf")])
def test_offsets_that_are_no_whole_numbers_are_refused(tmp_path, end):
    with pytest.raises(ValueError, match="spans' end must hold whole numbers from 0; got"):
        rk.save_dataset(WHOLE._replace(spans=SPANS.assign(end=[end])), tmp_path)
    assert not files(tmp_path)


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(ValueError, match=r"folder must be a folder; .*file' is a file"):
        rk.save_dataset(WHOLE, tmp_path / "file")


# One folder holds one data set -----------------------------------------------------------------------


@pytest.mark.parametrize("part", ["queries", "qrels", "spans", "vectors"])
def test_parts_of_an_older_set_are_not_mixed_with_a_newer(tmp_path, part):
    rk.save_dataset(WHOLE, tmp_path)
    before = files(tmp_path)
    with pytest.raises(
        ValueError, match=rf"holds '.*{part}.*' of another data set, .*; choose another folder"
    ):
        rk.save_dataset(WHOLE._replace(**{part: None}), tmp_path)
    assert files(tmp_path) == before


def test_a_whole_set_takes_the_place_of_another(tmp_path):
    rk.save_dataset(WHOLE, tmp_path)
    newer = (rk.as_docs({"z": "other"}), rk.as_queries({"s": "o"}), rk.as_qrels({"s": {"z": 1}}))
    spans = pd.DataFrame({"query_id": ["s"], "doc_id": ["z"], "start": [0], "end": [5]})
    rk.save_dataset((*newer, spans, (np.ones((1, 3)), np.ones((1, 3)))), tmp_path)
    back = rk.load_dataset(tmp_path)
    assert [frame.values.tolist() for frame in back[:4]] == [f.values.tolist() for f in (*newer, spans)]
    assert back.vectors.docs.shape == back.vectors.queries.shape == (1, 3)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("queries.csv", "id,text\nq,old\n"),
        ("spans.tsv.gz", "q\ta\t0\t1\n"),
        ("qrels.tsv", "q\ta\t1\n"),
        ("qrels/test.txt", "q 0 a 1\n"),
        ("qrels/dev.tsv", "q\ta\t1\n"),
    ],
)
def test_parts_in_files_of_other_kinds_are_not_mixed_in(tmp_path, name, text):
    (tmp_path / "qrels").mkdir()
    (tmp_path / name).write_text(text)
    with pytest.raises(ValueError, match=f"holds '{name}' of another data set"):
        rk.save_dataset((DOCS, None, None), tmp_path)
    if name.startswith("qrels/test"):
        with pytest.raises(ValueError, match=f"holds '{name}' of another data set"):
            rk.save_dataset((DOCS, QUERIES, QRELS), tmp_path)


def test_splits_of_the_same_documents_stand_side_by_side(tmp_path):
    rk.save_dataset((DOCS, QUERIES, QRELS[:1]), tmp_path, split="train")
    rk.save_dataset((DOCS, QUERIES, QRELS[1:]), tmp_path)
    assert rk.load_dataset(tmp_path, split="train").qrels["query_id"].tolist() == ["q"]
    assert rk.load_dataset(tmp_path).qrels["query_id"].tolist() == ["r"]
    for other in ((DOCS, QUERIES[1:], QRELS[1:]), (rk.as_docs({"b": "new"}), QUERIES, QRELS[1:])):
        with pytest.raises(ValueError, match=r"holds 'qrels/train.tsv' of another data set"):
            rk.save_dataset(other, tmp_path)


def test_other_files_of_the_folder_are_left_alone(tmp_path):
    (tmp_path / "README.md").write_text("A card.")
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / ".hidden").write_text("")
    rk.save_dataset(WHOLE, tmp_path)
    assert {"README.md", "qrels/.hidden", "corpus.jsonl", "spans.tsv"} <= set(files(tmp_path))
    assert not [name for name in files(tmp_path) if name.startswith(".saving")]


# Dicts and tuples ------------------------------------------------------------------------------------


@pytest.mark.parametrize("convert", [rk.to_dict, rk.to_tuples])
def test_a_run_that_lists_a_document_twice_is_collapsed_first(convert):
    chunks = pd.DataFrame(
        {
            "query_id": "q",
            "chunk_id": ["a#0", "b#0", "a#1"],
            "doc_id": ["a", "b", "a"],
            "score": [9.0, 5.0, 1.0],
        }
    )
    with pytest.raises(
        ValueError, match=rf"over chunks. Collapse it first: rk.{convert.__name__}\(rk.best_per_doc"
    ):
        convert(chunks)
    with pytest.raises(ValueError, match=r"query 'q' lists 'a' again. Keep the best: rk.best_per_doc"):
        convert(chunks.drop(columns="chunk_id"))
    for run in (chunks, chunks.drop(columns="chunk_id")):
        assert rk.as_run(convert(rk.best_per_doc(run)))["score"].tolist() == [9.0, 5.0]


@pytest.mark.parametrize("convert", [rk.to_dict, rk.to_tuples])
def test_an_order_that_the_scores_would_undo_is_told(convert):
    run = pd.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "rank": [1, 2], "score": [1.0, 2.0]})
    with pytest.warns(
        rk.RetrievalWarning, match=rf"{convert.__name__}: the run's scores do not fall with its rank"
    ):
        assert rk.as_run(convert(run))["doc_id"].tolist() == ["b", "a"]
    kept = run.assign(score=1 / run["rank"])  # what the warning advises
    assert rk.as_run(convert(kept))["doc_id"].tolist() == ["a", "b"]


def test_judgements_by_subtopic_give_the_highest_grade():
    qrels = pd.DataFrame(
        {"query_id": "q", "doc_id": "a", "relevance": [1, 3, 2], "subtopic": ["s", "t", "u"]}
    )
    assert rk.to_dict(qrels) == {"q": {"a": 3}} and len(rk.to_tuples(qrels)) == 3
    json.dumps(rk.to_dict(qrels))  # plain numbers
