"""Reading: which column is the id, where a line is cut, what is a number, how a file is encoded."""

import gzip
import json

import pytest

import ragkit as rk


@pytest.fixture
def write(tmp_path):
    def to_file(name, content):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return path

    return to_file


# Which column is the id ------------------------------------------------------------------------------


@pytest.mark.parametrize("other", ["topic", "qid", "query-id", "id"])
def test_a_query_is_called_by_its_id_whatever_else_it_has(write, other):
    path = write("q.jsonl", json.dumps({"_id": "q1", "text": "a", other: "science"}) + "\n")
    assert rk.read_queries(path)[["query_id", "text", other]].values.tolist() == [["q1", "a", "science"]]


@pytest.mark.parametrize("name", ["d.jsonl", "d.csv", "d.tsv"])
@pytest.mark.parametrize("key", ["_id", "id"])
@pytest.mark.parametrize("other", ["docid", "docno", "corpus_id", "corpus-id"])
def test_a_document_is_called_by_its_id_whatever_else_it_has(write, name, key, other):
    by_kind = {
        "d.jsonl": json.dumps({other: "PMC9", key: "1", "text": "a"}),
        "d.csv": f"{other},{key},text\nPMC9,1,a",
        "d.tsv": f"{other}\t{key}\ttext\nPMC9\t1\ta",
    }
    assert rk.read_docs(write(name, by_kind[name])).values.tolist() == [["1", "a", "PMC9"]]


def test_our_own_name_comes_before_id_and_beside_underscore_id_it_is_refused(write):
    both = write("d.jsonl", '{"id": 7, "doc_id": "a", "text": "x"}\n')
    assert rk.read_docs(both)["doc_id"].tolist() == ["a"]
    both = write("d.jsonl", '{"_id": "a-1", "doc_id": "a", "text": "x"}\n')
    with pytest.raises(ValueError, match=r"d.jsonl has both '_id' and 'doc_id', .*; rename one"):
        rk.read_docs(both)


def test_a_number_of_the_row_is_no_query_in_tables_of_pairs(write):
    row = {"_id": 1, "id": 2, "query_id": "q", "docno": "d", "relevance": 1}
    assert rk.read_qrels(write("q.jsonl", json.dumps(row)))[["query_id", "doc_id"]].values.tolist() == [
        ["q", "d"]
    ]


def test_the_exact_spelling_counts_before_another_case(write):
    docs = rk.read_docs(write("d.csv", "ID,id,Text,text\nA,b,C,d\n"))
    assert docs[["doc_id", "text"]].values.tolist() == [["b", "d"]]


@pytest.mark.parametrize("name", ["d.csv", "d.tsv", "q.qrels"])
def test_a_column_named_twice_is_refused(write, name):
    names = "query_id doc_id relevance relevance" if name == "q.qrels" else "id text text"
    rows = f"{names}\n{' '.join('1' * len(names.split()))}\n"
    path = write(name, rows.replace(" ", {"d.csv": ",", "d.tsv": "\t", "q.qrels": " "}[name]))
    with pytest.raises(ValueError, match=rf"{name} names the column '(text|relevance)' twice"):
        rk.read_qrels(path) if name == "q.qrels" else rk.read_docs(path)


@pytest.mark.parametrize(("name", "sep"), [("d.csv", ","), ("d.tsv", "\t")])
def test_columns_without_name_and_content_are_left_out(write, name, sep):
    rows = "id,text,,\n1,a,,\n2,b,,\n".replace(",", sep)
    assert rk.read_docs(write(name, rows)).columns.tolist() == ["doc_id", "text"]
    with pytest.raises(ValueError, match=rf"{name} names the column '' twice"):
        rk.read_docs(write(name, rows + f"3{sep}c{sep}x{sep}y\n"))


# Where a line is cut ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["q.tsv", "q.tsv.gz", "q"])
@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("q1\td 1\t1\nq2\td 2\t1\n", [["q1", "d 1", 1], ["q2", "d 2", 1]]),
        ("q 1\td1\t1\n", [["q 1", "d1", 1]]),
        ("q1\t0\td 1\t1\n", [["q1", "d 1", 1]]),
    ],
)
def test_three_or_four_cells_between_tabs_are_cells(write, name, lines, expected):
    path = write(name, gzip.compress(lines.encode()) if name.endswith(".gz") else lines)
    assert rk.read_qrels(path).values.tolist() == expected


@pytest.mark.parametrize(
    "line", ["q1 0\td1\t1", "q1\t0 d1\t1", "q1\t0\td1 1", "q1 0 d1\t1", "q1 \t0\t d1\t1 "]
)
def test_trecs_iteration_shows_that_blanks_separate_as_well(write, line):  # LOD-05
    for text in (line, f"{line}\nq2 0 d2 0"):
        assert rk.read_qrels(write("q.txt", text)).values.tolist()[0] == ["q1", "d1", 1]


@pytest.mark.parametrize("cuts", [" \t \t ", "\t\t\t  ", "\t \t\t\t", "  \t\t ", "\t\t\t\t\t", "     "])
def test_any_blanks_separate_the_fields_of_a_run(write, cuts):  # LOD-05
    fields = ["q1", "Q0", "d1", "1", "12.5", "tag"]
    line = fields[0] + "".join(cut + field for cut, field in zip(cuts.ljust(5), fields[1:]))
    assert rk.read_run(write("r.txt", line + "\n"))[["doc_id", "score"]].values.tolist() == [["d1", 12.5]]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_lone_carriage_returns_end_lines_where_nothing_else_does(write, encoding):
    qrels = write("q.txt", "q1 0 d1 1\rq1 0 d2 0".encode(encoding))
    assert rk.read_qrels(qrels, encoding=encoding)["doc_id"].tolist() == ["d1", "d2"]
    docs = write("d.jsonl", '{"_id": "1", "text": "x"}\r{"_id": "2", "text": "y"}\r'.encode(encoding))
    assert rk.read_docs(docs, encoding=encoding)["doc_id"].tolist() == ["1", "2"]
    inside = write("d.tsv", "1\tone\rtwo\n2\tthree\n".encode(encoding))
    assert rk.read_docs(inside, encoding=encoding)["text"].tolist() == ["one\rtwo", "three"]


def test_a_quotation_mark_that_is_never_closed_does_not_swallow_the_rows_of_a_csv(write):
    for rows in ('1,"open\n2,lost\n', '1,"quoted" start\n'):
        with pytest.raises(ValueError, match=r"d.csv, line \d cannot be read as CSV: .*written twice"):
            rk.read_docs(write("d.csv", "id,text\n" + rows))
    good = write("d.csv", 'id,text\n1,"say ""hi"",\nthen go"\n2,size 5" pipe\n')
    assert rk.read_docs(good)["text"].tolist() == ['say "hi",\nthen go', 'size 5" pipe']


# What is a number ------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["1_0", "１", "٣", "nan", "1e999", ""])
def test_only_plain_digits_are_numbers(write, text):  # LOD-14
    with pytest.raises(ValueError, match=r"q.jsonl, record 2: a grade must be a whole number"):
        rows = [{"query_id": "q", "doc_id": d, "relevance": r} for d, r in (("a", "1"), ("b", text))]
        rk.read_qrels(write("q.jsonl", "\n".join(map(json.dumps, rows))))
    with pytest.raises(ValueError, match=r"r.csv, record 1: score must be a finite number"):
        rk.read_run(write("r.csv", f"query_id,doc_id,score\nq,a,{text}\n"))
    if text:
        with pytest.raises(ValueError, match=r"q.txt, line 1: a grade must be a whole number"):
            rk.read_qrels(write("q.txt", f"q 0 d {text}\n"))
        with pytest.raises(ValueError, match=r"r.txt, line 1: score must be a finite number"):
            rk.read_run(write("r.txt", f"q Q0 d 1 {text} t\n"))
        write("corpus.jsonl", '{"_id": "d", "text": "some words"}\n')
        spans = write("spans.tsv", f"q\td\t0\t{text}\n")
        with pytest.raises(ValueError, match=r"spans.tsv, line 1 must hold"):
            rk.load_dataset(spans.parent)


@pytest.mark.parametrize(
    ("grade", "is_one"), [(1, True), (1.0, True), ("1.0", True), (2.5, False), (None, False)]
)
def test_grades_of_tables_are_checked_by_record(write, grade, is_one):
    path = write("q.jsonl", json.dumps({"query_id": "q", "doc_id": "d", "relevance": grade}))
    if is_one:
        assert rk.read_qrels(path)["relevance"].tolist() == [1]
    else:
        with pytest.raises(ValueError, match=r"q.jsonl, record 1: a grade must be a whole number; got"):
            rk.read_qrels(path)


# How a file is encoded -------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf8", "UTF-8", "utf_8", "U8", "utf-8-sig", "utf-8"])
@pytest.mark.parametrize("name", ["d.csv", "d.tsv", "d.jsonl", "d.json", "d.csv.gz"])
def test_a_mark_is_skipped_however_utf8_is_spelt(write, encoding, name):  # LOD-01
    rows = {"csv": "doc_id,text\n1,x\n", "tsv": "doc_id\ttext\n1\tx\n", "json": '[{"_id": "1", "text": "x"}]'}
    text = rows.get(name.split(".")[1], '{"_id": "1", "text": "x"}\n').encode("utf-8-sig")
    path = write(name, gzip.compress(text) if name.endswith(".gz") else text)
    assert rk.read_docs(path, encoding=encoding).values.tolist() == [["1", "x"]]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-7", "shift_jis"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_encodings_of_several_bytes_work_for_every_reader(write, encoding, pack):  # LOD-10
    def file(name, text):
        return write(name, pack(text.encode(encoding)))

    queries = file("q.jsonl", '{"_id": "1", "text": "上"}\n{"_id": "2", "text": "下"}\n')
    assert rk.read_queries(queries, encoding=encoding)["text"].tolist() == ["上", "下"]
    topics = file("t.txt", "<top><num>1</num><title>上</title></top>\n")
    assert rk.read_queries(topics, encoding=encoding)["text"].tolist() == ["上"]
    assert rk.read_docs(file("d.csv", "id,text\n1,上\n"), encoding=encoding)["text"].tolist() == ["上"]
    assert rk.read_qrels(file("q.txt", "q 0 上 1\r\n"), encoding=encoding)["doc_id"].tolist() == ["上"]
    assert rk.read_run(file("r.txt", "q Q0 上 1 2 t\n"), encoding=encoding)["doc_id"].tolist() == ["上"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("name", ["d.csv", "d.tsv", "d.jsonl.gz"])
def test_the_line_that_cannot_be_decoded_is_found_far_into_a_file(write, encoding, name):  # LOD-10
    rows = {"d.csv": "{n},some words\n", "d.tsv": "{n}\tsome words\n"}
    row = rows.get(name, '{{"_id": "{n}", "text": "some words"}}\n')
    good = "".join(row.format(n=n) for n in range(3_000)).encode(encoding)
    bad = b"\xe9\n" if encoding == "utf-8" else b"\x00\xd8a\x00"  # half of a surrogate pair
    path = write(name, gzip.compress(good + bad) if name.endswith(".gz") else good + bad)
    with pytest.raises(ValueError, match=rf"{name}, line 3001 is not {encoding}: .*; give encoding="):
        rk.read_docs(path, encoding=encoding)


@pytest.mark.parametrize("encoding", ["rot13", "base64", "latin_x", "locale"])
def test_what_is_no_encoding_of_text_is_refused(write, encoding):
    for name in ("d.csv", "d.tsv", "d.jsonl"):
        with pytest.raises(ValueError, match=rf"unknown encoding '{encoding}'"):
            rk.read_docs(write(name, "id,text\n"), encoding=encoding)
        with pytest.raises(TypeError, match="must be str, not None"):
            rk.read_docs(write(name, "id,text\n"), encoding=None)


def test_a_long_cell_is_read_and_the_limit_of_others_stays(write):
    import csv

    limit = csv.field_size_limit()
    text = "x" * 200_000
    assert rk.read_docs(write("d.csv", f'id,title,text\n1,a,"{text}"\n'))["text"].tolist() == [text]
    assert rk.read_queries(write("q.csv.gz", gzip.compress(f"id,text\n1,{text}".encode())))["text"][0] == text
    with pytest.raises(ValueError, match="row 2 has 1 field"):
        rk.read_docs(write("d.csv", f"id,text\n{text}\n"))
    assert csv.field_size_limit() == limit


# Folders ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["qrels.txt.gz", "qrels.csv", "qrels.jsonl", "qrels/test.txt.gz", "qrels/dev.jsonl"]
)
def test_judgements_are_found_in_every_form(write, tmp_path, name):
    text = {
        "txt": "q 0 d 1\n",
        "csv": "query_id,doc_id,relevance\nq,d,1\n",
        "jsonl": '{"query_id": "q", "doc_id": "d", "relevance": 1}\n',
    }[name.split(".")[1]]
    write(name, gzip.compress(text.encode()) if name.endswith(".gz") else text)
    write("corpus.csv", "id,text\nd,some words\n")
    write("spans.tsv.gz", gzip.compress(b"q\td\t0\t4\n"))
    data = rk.load_dataset(tmp_path)
    assert data.qrels.values.tolist() == [["q", "d", 1]] and data.spans.values.tolist() == [["q", "d", 0, 4]]


def test_a_title_that_is_no_text_cannot_be_joined(write, tmp_path):
    write("corpus.jsonl", '{"_id": "1", "title": "T", "text": "a"}\n{"_id": "2", "title": 5, "text": "b"}\n')
    assert rk.load_dataset(tmp_path).docs["title"].tolist() == ["T", 5]
    with pytest.raises(TypeError, match=r"join_title needs titles that are text; document '2' has 5"):
        rk.load_dataset(tmp_path, join_title=True)
