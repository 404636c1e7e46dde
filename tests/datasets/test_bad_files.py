"""Files that cannot be read say which, where and what to do; what can be read is."""

import numpy as np
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


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("r.csv", "query_id,doc_id,score\nq,a,1\nq,b,abc\n"),
        (
            "r.jsonl",
            '{"query_id": "q", "doc_id": "a", "score": 1}\n{"query_id": "q", "doc_id": "b", "score": "x"}\n',
        ),
        (
            "r.jsonl",
            '{"query_id": "q", "doc_id": "a", "score": 1}\n{"query_id": "q", "doc_id": "b", "score": null}\n',
        ),
    ],
)
def test_a_score_that_is_no_number_names_the_record(write, name, content):
    with pytest.raises(ValueError, match=rf"{name}, record 2: score must be a finite number; got"):
        rk.read_run(write(name, content))


@pytest.mark.parametrize("name", ["d.tsv", "d.csv", "d.jsonl"])
def test_other_bytes_name_the_line_in_every_kind_of_file(write, name):
    rows = {
        "d.tsv": b"1\tplain\n2\tcaf\xe9\n",
        "d.csv": b"_id,text\n2,caf\xe9\n",
        "d.jsonl": b'{"_id": "1", "text": "x"}\n{"_id": "2", "text": "caf\xe9"}\n',
    }
    path = write(name, rows[name])
    with pytest.raises(ValueError, match=rf"{name}, line 2 is not utf-8: .* at byte \d+; give encoding="):
        rk.read_docs(path)
    assert rk.read_docs(path, encoding="latin-1")["text"].tolist()[-1] == "café"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "utf-8-sig", "latin-1", "cp1252"])
@pytest.mark.parametrize("name", ["d.tsv", "d.csv"])
def test_every_encoding_of_python_can_be_named(write, encoding, name):
    text = "_id\ttext\r\n1\tSeñor ☃\r\n" if "utf" in encoding else "_id\ttext\r\n1\tSeñor\r\n"
    path = write(name, text.replace("\t", "," if name == "d.csv" else "\t").encode(encoding))
    assert rk.read_docs(path, encoding=encoding)["text"].tolist() == [text.split("\t")[-1].strip()]


def test_a_wide_encoding_is_guessed_and_an_unknown_one_named(write):
    path = write("d.tsv", "1\tx\n".encode("utf-16"))
    with pytest.raises(ValueError, match=r"give encoding=, for example encoding='utf-16'"):
        rk.read_docs(path)
    for reader in (rk.read_docs, rk.read_queries, rk.read_qrels, rk.read_run):
        with pytest.raises(ValueError, match="unknown encoding 'latin_x'"):
            reader(path, encoding="latin_x")


def test_a_long_text_in_csv_is_no_trouble(write):
    text = "word " * 40_000  # beyond what the csv module takes unasked
    assert rk.read_docs(write("d.csv", f"_id,text\n1,{text}\n"))["text"].item() == text


def test_folders_are_no_files_and_files_need_folders(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"there is no file .*; that is a folder, which load_dataset reads"
    ):
        rk.read_docs(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"there is no file '.*nothing.tsv'\.$"):
        rk.read_docs(tmp_path / "nothing.tsv")
    with pytest.raises(FileNotFoundError, match=r"there is no folder '.*no' to write 'run.txt' in"):
        rk.write_run({"q": ["a"]}, tmp_path / "no" / "run.txt")


def test_a_plain_text_is_no_table(write):
    with pytest.raises(ValueError, match="line 1 has 1 field; expected 2, separated by tabs: doc_id, text"):
        rk.read_docs(write("d.txt", "Just a text.\n"))


def test_parquet_that_is_none_is_refused(write):
    pytest.importorskip("pyarrow")
    with pytest.raises(ValueError, match=r"d.parquet cannot be read as parquet"):
        rk.read_docs(write("d.parquet", b"junk"))


def test_vectors_and_spans_of_a_folder_are_looked_at(write, tmp_path):
    write("corpus.jsonl", '{"_id": "1", "text": "red fox"}\n')
    write("vectors.npz", b"junk")
    with pytest.raises(ValueError, match=r"vectors.npz is damaged, or no npz archive"):
        rk.load_dataset(tmp_path)
    np.savez(tmp_path / "vectors.npz", docs=np.eye(1))
    with pytest.raises(ValueError, match=r"vectors.npz lacks \['doc_ids'\]"):
        rk.load_dataset(tmp_path)
    (tmp_path / "vectors.npz").unlink()
    write("spans.tsv", "q\t1\t0\tx\n")  # no header, and no offset
    with pytest.raises(ValueError, match=r"spans.tsv, line 1 must hold query, document, start and end"):
        rk.load_dataset(tmp_path)
    write("spans.tsv", "query-id\tcorpus-id\tstart\tend\nq\t1\t0\t3\nq\t1\t4\t8\nq\t2\t0\t1\n")
    with pytest.warns(rk.RetrievalWarning, match=r"2 spans of 3 lie beyond the text .*\('1', '2'\)"):
        assert len(rk.load_dataset(tmp_path).spans) == 3


def test_save_dataset_needs_a_data_set(tmp_path):
    with pytest.raises(
        TypeError, match=r"save_dataset needs a Dataset, or a tuple \('docs', .* got a DataFrame"
    ):
        rk.save_dataset(rk.as_docs({"a": "x"}), tmp_path)
