"""Reading and writing data: reported loader cases, round trips, refusals."""

import gzip
import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ragkit as rk


def write(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return folder


CORPUS = (
    '{"_id": "d1", "title": "T", "text": "one"}\n{"_id": "d2", "title": "", "text": "two", "year": 2020}\n'
)
QUERIES = '{"_id": "q1", "text": "find one", "kind": "lexical"}\n{"_id": "q2", "text": "unjudged"}\n'
QRELS = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\n"
FILES = {"corpus.jsonl": CORPUS, "queries.jsonl": QUERIES, "qrels/test.tsv": QRELS}


# Folders ---------------------------------------------------------------------------------------------


def test_a_beir_folder_becomes_tidy_frames(tmp_path):
    data = rk.load_dataset(
        write(tmp_path, FILES | {"spans.tsv": "query-id\tcorpus-id\tstart\tend\nq1\td1\t0\t3\n"})
    )
    assert data.docs[["doc_id", "title", "text"]].values.tolist() == [["d1", "T", "one"], ["d2", "", "two"]]
    assert data.docs["year"].tolist()[1] == 2020
    assert data.queries.values.tolist() == [["q1", "find one", "lexical"]]  # q2 has no judgement
    assert data.qrels.values.tolist() == [["q1", "d1", 2], ["q1", "d2", 0]]
    assert data.spans.values.tolist() == [["q1", "d1", 0, 3]]
    assert data.vectors is None and "2 rows of doc_id" in repr(data)


def test_what_is_absent_is_none_and_all_queries_are_there(tmp_path):
    data = rk.load_dataset(write(tmp_path, {"corpus.jsonl": CORPUS, "queries.jsonl": QUERIES}))
    assert data.qrels is None and data.spans is None and len(data.queries) == 2
    assert rk.load_dataset(write(tmp_path / "bare", {"corpus.jsonl": CORPUS})).queries is None


def test_splits(tmp_path):
    folder = write(tmp_path, FILES | {"qrels/train.tsv": QRELS.replace("\t2", "\t1")})
    assert rk.load_dataset(folder).qrels["relevance"].tolist() == [2, 0]
    assert rk.load_dataset(folder, split="train").qrels["relevance"].tolist() == [1, 0]
    with pytest.raises(ValueError, match=r"unknown split 'dev'.*'test', 'train'"):
        rk.load_dataset(folder, split="dev")
    (folder / "qrels/test.tsv").rename(folder / "qrels/dev.tsv")
    with pytest.raises(ValueError, match=r"choose one with split="):
        rk.load_dataset(folder)


def test_title_can_be_joined_and_spans_move_along(tmp_path):
    folder = write(tmp_path, FILES | {"spans.tsv": "q1\td1\t0\t3\nq1\td2\t1\t3\n"})
    plain, joined = rk.load_dataset(folder), rk.load_dataset(folder, join_title=True)
    assert joined.docs["text"].tolist() == ["T one", "two"]
    for data in (plain, joined):
        texts = data.docs.set_index("doc_id")["text"]
        assert [texts[r.doc_id][r.start : r.end] for r in data.spans.itertuples()] == ["one", "wo"]


def test_dangling_judgements_are_named(tmp_path):  # EVL-28
    with pytest.warns(rk.RetrievalWarning, match="'ghost'"):
        rk.load_dataset(write(tmp_path, FILES | {"qrels/test.tsv": QRELS + "q1\tghost\t1\n"}))
    with pytest.warns(rk.RetrievalWarning, match=r"1 queries that have no text \('q7'\)"):
        rk.load_dataset(write(tmp_path / "b", FILES | {"qrels/test.tsv": QRELS + "q7\td1\t1\n"}))


def test_names_are_listed_when_one_is_unknown(tmp_path):
    with pytest.raises(
        ValueError, match=r"unknown data set 'fieldgude'.*'docstrings'.*Did you mean 'fieldguide'"
    ):
        rk.load_dataset("fieldgude")
    with pytest.raises(FileNotFoundError, match="no folder or archive"):
        rk.load_dataset(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError, match=r"no corpus.jsonl; found 'a.txt'"):
        rk.load_dataset(write(tmp_path, {"a.txt": ""}))
    with pytest.raises(
        TypeError, match=r"load_dataset needs the name of a data set, .*'toy'\], or a path; got 3"
    ):
        rk.load_dataset(3)


@pytest.mark.parametrize("name", [n for n in rk.list_datasets()["name"] if n != "docstrings"])
def test_corpora_that_come_with_the_package_load(name):
    data = rk.load_dataset(name)
    assert data.qrels["doc_id"].isin(data.docs["doc_id"]).all()
    assert set(data.qrels["query_id"]) == set(data.queries["query_id"])
    if data.spans is not None:
        texts = data.docs.set_index("doc_id")["text"]
        assert all(texts[r.doc_id][r.start : r.end].strip() for r in data.spans.itertuples())


def test_vectors_come_in_the_order_of_the_rows_and_no_pickle_is_opened(tmp_path):  # SEC-01
    folder = write(tmp_path, FILES)
    arrays = {"doc_ids": np.array(["d2", "d1"]), "docs": np.array([[2, 0], [1, 0]], dtype=np.float16)}
    np.savez(folder / "vectors.npz", query_ids=np.array(["q1"]), queries=np.array([[5.0, 0]]), **arrays)
    data = rk.load_dataset(folder)
    assert data.vectors.docs.tolist() == [[1, 0], [2, 0]] and data.vectors.queries.tolist() == [[5, 0]]
    np.savez(folder / "vectors.npz", doc_ids=np.array(["d1", {}], dtype=object), docs=arrays["docs"])
    with pytest.raises(ValueError, match="allow_pickle"):
        rk.load_dataset(folder)
    np.savez(folder / "vectors.npz", doc_ids=np.array(["d1"]), docs=arrays["docs"][:1])
    with pytest.raises(ValueError, match="no vector for 'd2'"):
        rk.load_dataset(folder)


# Reported loader cases -------------------------------------------------------------------------------


def test_byte_order_mark_is_skipped(tmp_path):  # LOD-01
    bom = b"\xef\xbb\xbf"
    write(tmp_path, {n: bom + c.encode() for n, c in FILES.items()})
    data = rk.load_dataset(tmp_path)
    assert data.docs["doc_id"].tolist() == ["d1", "d2"] and data.qrels["query_id"].tolist() == ["q1", "q1"]
    for name, content in {
        "a.qrels": "q1 0 d1 1\n",
        "b.tsv": "q1\ttext\n",
        "c.csv": "query_id,text\nq1,text\n",
    }.items():
        write(tmp_path, {name: bom + content.encode()})
    assert rk.read_qrels(tmp_path / "a.qrels").values.tolist() == [["q1", "d1", 1]]
    assert rk.read_queries(tmp_path / "b.tsv").values.tolist() == [["q1", "text"]]
    assert rk.read_queries(tmp_path / "c.csv").values.tolist() == [["q1", "text"]]


def test_missing_or_null_title_and_text_are_empty(tmp_path):  # LOD-03
    corpus = (
        '{"_id": "1", "text": "body"}\n{"_id": "2", "title": null, "text": "b2"}\n'
        '{"_id": "3", "title": "", "text": null}\n'
    )
    data = rk.load_dataset(write(tmp_path, {"corpus.jsonl": corpus}), join_title=True)
    assert data.docs["title"].tolist() == ["", "", ""] and data.docs["text"].tolist() == ["body", "b2", ""]


def test_tabs_blanks_and_mixtures(tmp_path):  # LOD-05
    write(
        tmp_path,
        {
            "q": "q1 0 d1 1\nq1\t0\td2\t0\n\nq2  0   d3\t 2 \r\n",
            "r": "q1 Q0 d1 1 12.5 tag\nq2\tQ0\td3\t1\t1e-3\ttag\n",
        },
    )
    assert rk.to_dict(rk.read_qrels(tmp_path / "q")) == {"q1": {"d1": 1, "d2": 0}, "q2": {"d3": 2}}
    assert rk.to_dict(rk.read_run(tmp_path / "r")) == {"q1": {"d1": 12.5}, "q2": {"d3": 0.001}}


@pytest.mark.parametrize(
    "line", ["q1 Q0 d1 1 0.5", "q1 Q0 d1 1 0.5 two words", "q1 Q0 d1 1 x tag", "q1 Q0 d1 1 inf tag"]
)
def test_a_broken_line_of_a_run_is_named(tmp_path, line):  # LOD-05, LOD-14
    with pytest.raises(ValueError, match="r, line 2"):
        rk.read_run(write(tmp_path, {"r": f"q1 Q0 d0 1 0.7 tag\n{line}\n"}) / "r")


def test_quotation_marks_in_tsv_are_text(tmp_path):  # LOD-09
    tsv = '1\tsize 5" pipe\n2\tplain\n3\t"quoted" start\n4\t"unbalanced\n5\tlost?\n6\tends" here\n'
    docs = rk.read_docs(write(tmp_path, {"c.tsv": tsv}) / "c.tsv")
    assert len(docs) == 6 and docs["text"][3] == '"unbalanced' and docs["text"][2] == '"quoted" start'


def test_utf8_whatever_the_platform_says(tmp_path):  # LOD-10
    text = "Señor Müller — naïve?"
    path = (
        write(tmp_path, {"queries.jsonl": json.dumps({"_id": "1", "text": text}, ensure_ascii=False)})
        / "queries.jsonl"
    )
    code = f"import ragkit as rk; print(ascii(rk.read_queries({str(path)!r})['text'][0]))"
    env = os.environ | {"PYTHONUTF8": "0", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}
    out = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert out.stdout.strip() == ascii(text)


def test_bytes_that_are_not_utf8_are_refused_with_file_and_line(tmp_path):  # LOD-10
    write(tmp_path, {"q.tsv": b"1\tplain\n2\tcaf\xe9\n"})
    with pytest.raises(ValueError, match=r"q.tsv, line 2 is not utf-8.*encoding="):
        rk.read_queries(tmp_path / "q.tsv")
    assert rk.read_queries(tmp_path / "q.tsv", encoding="latin-1")["text"].tolist() == ["plain", "café"]


def test_gzip_by_content_with_several_members_and_text_ids(tmp_path):  # LOD-12
    def two_members(text):
        half = text.index("\n") + 1
        return gzip.compress(text[:half].encode()) + gzip.compress(text[half:].encode())

    queries = "".join(f'{{"_id": "{q}", "text": "t"}}\n' for q in ("PLAIN-12", "0042", "7"))
    qrels = "query-id\tcorpus-id\tscore\nPLAIN-12\td1\t1\n0042\td1\t1\n7\td2\t1\n"
    run = "PLAIN-12 Q0 d1 1 2.0 t\n0042 Q0 d2 1 1.5 t\n"
    plain = write(
        tmp_path / "p", {"corpus.jsonl": CORPUS, "queries.jsonl": queries, "qrels.tsv": qrels, "run.txt": run}
    )
    packed = write(tmp_path / "z", {f.name + ".gz": two_members(f.read_text()) for f in plain.iterdir()})
    for a, b in zip(rk.load_dataset(plain)[:3], rk.load_dataset(packed)[:3]):
        pd.testing.assert_frame_equal(a, b)
    assert rk.load_dataset(packed).queries["query_id"].tolist() == ["PLAIN-12", "0042", "7"]
    write(tmp_path, {"unnamed": two_members(run)})  # no ending tells
    for path in (packed / "run.txt.gz", tmp_path / "unnamed"):
        pd.testing.assert_frame_equal(rk.read_run(plain / "run.txt"), rk.read_run(path))
    write(tmp_path, {"cut.gz": gzip.compress(run.encode())[:-9]})
    with pytest.raises(ValueError, match="damaged gzip"):
        rk.read_run(tmp_path / "cut.gz")


@pytest.mark.parametrize(
    ("label", "grade"), [("1", 1), ("1.0", 1), ("-1", -1), ("2.5", None), ("x", None), ("inf", None)]
)
def test_grades_are_whole_numbers(tmp_path, label, grade):  # LOD-14
    path = write(tmp_path, {"q.txt": f"q 0 d0 1\nq 0 d {label}\n"}) / "q.txt"
    if grade is None:
        with pytest.raises(ValueError, match=r"q.txt, line 2: a grade must be a whole number"):
            rk.read_qrels(path)
    else:
        assert rk.read_qrels(path)["relevance"].tolist() == [1, grade]


@pytest.mark.parametrize(("text", "score"), [("3", 3.0), ("1e-05", 1e-5), ("-7.25", -7.25)])
def test_scores_are_real_numbers(tmp_path, text, score):  # LOD-14
    assert rk.read_run(write(tmp_path, {"r": f"q Q0 d 1 {text} t\n"}) / "r")["score"].tolist() == [score]


# More of the same kinds ------------------------------------------------------------------------------


def test_ids_that_look_like_numbers_or_nothing_stay(tmp_path):
    write(tmp_path, {"d.csv": 'doc_id,title,text\n001,NA,"a, b"\nNA,,null\n', "q.txt": "001 0 NA 1\n"})
    assert rk.read_docs(tmp_path / "d.csv").values.tolist() == [["001", "a, b", "NA"], ["NA", "null", ""]]
    assert rk.read_qrels(tmp_path / "q.txt").values.tolist() == [["001", "NA", 1]]


def test_line_separators_inside_a_text_do_not_cut_it(tmp_path):
    text = "a\u2028b\x85c\x0bd"
    docs = rk.read_docs(
        write(tmp_path, {"c.jsonl": json.dumps({"_id": "1", "text": text}, ensure_ascii=False)}) / "c.jsonl"
    )
    assert docs["text"].tolist() == [text]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("corpus.jsonl", '{"_id": "1", "text": "x"}\n{oops\n', r"corpus.jsonl, line 2 is not JSON"),
        ("corpus.jsonl", "[1]\n", "line 1 must be a JSON object"),
        ("corpus.jsonl", '{"text": "x"}\n', "'doc_id'"),
        ("corpus.jsonl", '{"_id": "1", "text": "x"}\n{"text": "y"}\n', "record 2 has no doc_id"),
        ("corpus.jsonl", '{"_id": "1", "text": "x"}\n{"_id": "1", "text": "y"}\n', "repeated doc_id"),
        ("corpus.csv", "doc_id,text\n1,x,y\n", "row 2 has 3 fields"),
        ("corpus.tsv", "1\tx\ty\n", "line 1 has 3 fields"),
    ],
)
def test_a_broken_corpus_says_where(tmp_path, name, content, message):
    with pytest.raises(ValueError, match=message):
        rk.read_docs(write(tmp_path, {name: content}) / name)


def test_qrels_with_and_without_header_and_in_other_order(tmp_path):
    write(tmp_path, {
        "a.tsv": "q1\td1\t1\n",
        "b.tsv": "corpus-id\tquery-id\tscore\nd1\tq1\t1\n",
        "c.csv": "query_id,doc_id,relevance\nq1,d1,1\n",
        "d.jsonl": '{"query_id": "q1", "doc_id": "d1", "relevance": 1}\n',
    })  # fmt: skip
    for file in tmp_path.iterdir():
        assert rk.read_qrels(file).values.tolist() == [["q1", "d1", 1]], file
    assert len(rk.read_qrels(write(tmp_path, {"e.txt": "\n"}) / "e.txt")) == 0


def test_json_lists_and_ids_with_blanks(tmp_path):
    write(tmp_path, {"d.json": '[{"_id": "1", "text": "x"},\n {"_id": "2", "text": "y"}]', "e.json": '["x"]'})
    assert rk.read_docs(tmp_path / "d.json")["doc_id"].tolist() == ["1", "2"]
    with pytest.raises(ValueError, match="must hold JSON objects"):
        rk.read_docs(tmp_path / "e.json")
    write(tmp_path, {"q.tsv": "a query\ta document\t1\n"})
    assert rk.read_qrels(tmp_path / "q.tsv").values.tolist() == [["a query", "a document", 1]]


def test_second_column_is_the_subtopic_when_documents_repeat(tmp_path):
    write(tmp_path, {"a": "q 1 d 1\nq 2 d 0\n", "b": "q 1 d 1\nq 2 e 0\n"})
    assert rk.read_qrels(tmp_path / "a")["subtopic"].tolist() == ["1", "2"]
    assert "subtopic" not in rk.read_qrels(tmp_path / "b").columns
    assert rk.read_qrels(tmp_path / "b", subtopics=True)["subtopic"].tolist() == ["1", "2"]


def test_topics_of_trec(tmp_path):
    text = (
        "<top>\n<num> Number: 301\n<title> International Organized Crime &amp; more\n\n"
        "<desc> Description:\nFind it.\n<narr> Narrative:\nLong\nstory.\n</top>\n"
        "<top><num>302</num><title>Polio</title></top>\n"
    )
    queries = rk.read_queries(write(tmp_path, {"t.xml": text}) / "t.xml")
    assert queries["query_id"].tolist() == ["301", "302"]
    assert queries["text"].tolist() == ["International Organized Crime & more", "Polio"]
    assert queries["description"][0] == "Find it." and queries["narrative"][0] == "Long story."
    modern = '<topics><topic number="1"><query>covid</query></topic></topics>'
    assert rk.read_queries(write(tmp_path, {"m.xml": modern}) / "m.xml").values.tolist() == [["1", "covid"]]


def test_run_files_rank_by_score_unless_asked(tmp_path):
    path = write(tmp_path, {"r": "q Q0 a 0 1.0 t\nq Q0 b 1 2.0 t\n"}) / "r"
    assert rk.read_run(path)["doc_id"].tolist() == ["b", "a"]
    by_rank = rk.read_run(path, order="rank")
    assert by_rank[["doc_id", "rank"]].values.tolist() == [["a", 1], ["b", 2]]


def test_a_run_that_score_would_order_anew_warns_when_written(tmp_path):
    run = pd.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "rank": [1, 2], "score": [1.0, 2.0]})
    with pytest.warns(rk.RetrievalWarning, match="score='rank'"):
        rk.write_run(run, tmp_path / "r")
    rk.write_run(run, tmp_path / "r", score="rank")
    assert rk.read_run(tmp_path / "r")["doc_id"].tolist() == ["a", "b"]


def test_ids_with_blanks_cannot_be_written_to_trec(tmp_path):
    with pytest.raises(ValueError, match="'a b' holds blanks"):
        rk.write_qrels({"q": {"a b": 1}}, tmp_path / "q.txt")
    assert not list(tmp_path.iterdir())  # nothing half-done stays behind
    rk.write_qrels({"q": {"a b": 1}}, tmp_path / "q.tsv")
    assert rk.read_qrels(tmp_path / "q.tsv")["doc_id"].tolist() == ["a b"]


# Round trips -----------------------------------------------------------------------------------------

ids = st.text(st.characters(codec="utf-8", exclude_categories=["Z", "C"]), min_size=1, max_size=6)
runs = st.dictionaries(
    ids, st.dictionaries(ids, st.floats(-1e9, 1e9), min_size=1, max_size=5), min_size=1, max_size=3
)


@given(runs)
def test_a_run_survives_trec_and_dicts_and_tuples(tmp_path_factory, run):
    path = tmp_path_factory.mktemp("run") / "run.gz"
    frame = rk.as_run(run)
    rk.write_run(frame, path)
    pd.testing.assert_frame_equal(rk.read_run(path)[["query_id", "doc_id", "rank", "score"]], frame)
    pd.testing.assert_frame_equal(rk.as_run(rk.to_dict(frame)), frame)
    pd.testing.assert_frame_equal(rk.as_run(rk.to_tuples(frame)), frame)


@pytest.mark.parametrize("name", ["q.txt", "q.tsv", "q.tsv.gz"])
@pytest.mark.parametrize("with_topics", [False, True])
def test_judgements_survive_both_forms(tmp_path, name, with_topics):
    qrels = pd.DataFrame({"query_id": ["q1", "q1", "q2"], "doc_id": ["a", "a", "b"], "relevance": [3, 1, -1]})
    qrels = (
        qrels.assign(subtopic=["s", "t", "s"]) if with_topics else qrels.drop(index=1).reset_index(drop=True)
    )
    rk.write_qrels(qrels, tmp_path / name)
    pd.testing.assert_frame_equal(rk.read_qrels(tmp_path / name), rk.as_qrels(qrels))


def test_a_data_set_survives(tmp_path):
    before = rk.load_dataset("toy")
    vectors = (np.arange(24.0).reshape(12, 2), np.ones((4, 2)))
    rk.save_dataset(before._replace(vectors=vectors), tmp_path / "copy")
    after = rk.load_dataset(tmp_path / "copy")
    for one, other in zip(before[:4], after[:4]):
        assert (one is None) == (other is None)
        if one is not None:
            pd.testing.assert_frame_equal(one, other)
    assert after.vectors.docs.tolist() == vectors[0].tolist()
    assert not [f for f in (tmp_path / "copy").rglob("*") if f.name.startswith(".")]


def test_parquet_where_pyarrow_is(tmp_path):
    pytest.importorskip("pyarrow")
    pd.DataFrame({"doc_id": ["1"], "text": ["x"]}).to_parquet(tmp_path / "c.parquet")
    assert rk.read_docs(tmp_path / "c.parquet").values.tolist() == [["1", "x"]]


def test_drop_self_counts_ranks_anew():
    run = pd.DataFrame(
        {"query_id": ["a", "a", "b"], "doc_id": ["a", "c", "c"], "rank": [1, 2, 1], "score": [3.0, 2, 1]}
    )
    assert rk.drop_self(run)[["query_id", "doc_id", "rank"]].values.tolist() == [["a", "c", 1], ["b", "c", 1]]
    assert len(rk.drop_self(rk.as_run({}))) == 0


# Docstrings ------------------------------------------------------------------------------------------


def test_docstring_corpus_is_built_once_and_is_worth_searching(tmp_path, monkeypatch):
    import ragkit.datasets.docstrings as docstrings

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(docstrings, "_PACKAGES", {"numpy": "numpy", "pandas": "pandas"})
    data = rk.load_dataset("docstrings")
    assert len(data.docs) > 800 and len(data.queries) > 300 and len(data.qrels) > 2 * len(data.queries)
    assert data.docs["doc_id"].is_unique and {"title", "package", "kind", "body"} <= set(data.docs.columns)
    assert data.qrels["doc_id"].isin(data.docs["doc_id"]).all()
    assert not (data.qrels["doc_id"] == data.qrels["query_id"]).any()
    relevant = data.qrels[data.qrels["query_id"] == "numpy.sort"]["doc_id"]
    assert {"numpy.argsort", "numpy.searchsorted"} <= set(relevant)
    monkeypatch.setattr(docstrings, "docstring_frames", None)  # a second time nothing is built
    for one, other in zip(data[:3], rk.load_dataset("docstrings")[:3]):
        pd.testing.assert_frame_equal(one, other)
    assert [f.name[:10] for f in (tmp_path / "ragkit").iterdir()] == ["docstrings"]


def test_see_also_is_read_as_numpydoc_means_it():
    from ragkit.datasets.docstrings import _parse

    doc = """Sort a list.

    More words about sorting, enough of them to make a document that is worth a place in the corpus of
    all docstrings, so twenty-five or so.

    Parameters
    ----------
    a : list
        To sort.

    See Also
    --------
    argsort, lexsort : Indirect sorts.
    :func:`numpy.partition` : Partial sort.
    ndarray.sort
    For details see the guide
    """
    entry = _parse("numpy.sort", "numpy", "function", doc)
    assert entry.summary == "Sort a list." and entry.see_also == [
        "argsort",
        "lexsort",
        "numpy.partition",
        "ndarray.sort",
    ]
    assert "To sort." in entry.body and "Indirect" not in entry.text + entry.body
