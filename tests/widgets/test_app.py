"""The app without a server: reading a folder of documents, and the lab over it."""

import gzip
import json

import pandas as pd
import pytest

from ragkit.__main__ import main
from ragkit.frames import RetrievalWarning
from ragkit.widgets.app import app, read_documents, serve


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / ".git").mkdir()
    (tmp_path / "crane.md").write_text("# Cranes\n\nThe crane dances.", encoding="utf-8")
    (tmp_path / "sub" / "tower.txt").write_text("\ufeffA tower crane.", encoding="utf-8")
    (tmp_path / "sub" / "blank.txt").write_text("  \n", encoding="utf-8")
    (tmp_path / "table.csv").write_text(
        'id,title,Text\n001,Tea,"Mint, tea"\nNA,Coin,A coin\n', encoding="utf-8"
    )
    (tmp_path / "rows.jsonl").write_text(
        json.dumps({"_id": "owl", "body": "The owl."}) + "\n", encoding="utf-8"
    )
    (tmp_path / ".git" / "x.txt").write_text("hidden", encoding="utf-8")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    return tmp_path


def test_a_folder_is_read_with_its_subfolders_ids_and_titles(folder):
    docs = read_documents(folder)
    found = {row.doc_id: (row.title, row.text) for row in docs.itertuples()}
    assert found == {
        "crane.md": ("Cranes", "# Cranes\n\nThe crane dances."),
        "sub/tower.txt": ("tower", "A tower crane."),
        "001": ("Tea", "Mint, tea"),
        "NA": ("Coin", "A coin"),
        "owl": ("owl", "The owl."),
    }


def test_one_file_is_enough(folder):
    assert read_documents(folder / "crane.md")["doc_id"].tolist() == ["crane.md"]


def test_ids_that_two_files_share_are_told_apart(tmp_path):
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("id,text\n1,red fox\n", encoding="utf-8")
    assert read_documents(tmp_path)["doc_id"].tolist() == ["a.csv:1", "b.csv:1"]


def test_another_encoding_is_read_and_said(tmp_path):
    (tmp_path / "old.txt").write_bytes("Zürich".encode("cp1252"))
    with pytest.warns(UserWarning, match=r"old\.txt is not UTF-8"):
        assert read_documents(tmp_path)["text"].tolist() == ["Zürich"]


def test_nothing_to_read_says_what_can_be_read(tmp_path):
    with pytest.raises(ValueError, match=r"no document was found .* \.txt, \.md"):
        read_documents(tmp_path)
    with pytest.raises(FileNotFoundError, match="no file or folder"):
        read_documents(tmp_path / "nope")
    (tmp_path / "bad.jsonl").write_text('{"text": "fine"}\n{"text": \n', encoding="utf-8")
    with pytest.raises(ValueError, match=r"bad\.jsonl, line 2 is not JSON"):
        read_documents(tmp_path / "bad.jsonl")
    (tmp_path / "bad.jsonl").unlink()
    (tmp_path / "t.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"t\.csv has no column of text; call one of \['a', 'b'\] 'text'"):
        read_documents(tmp_path)


def test_long_documents_are_cut_into_chunks_and_short_ones_are_not(folder):
    panel = app(folder)
    assert "chunk_id" not in panel.value
    panel.close()
    panel = app(folder, chunk_size=12)
    assert "chunk_id" in panel.value
    panel.close()


def test_a_data_set_brings_its_queries_and_judgements(tmp_path):
    (tmp_path / "corpus.jsonl").write_text(
        "".join(
            json.dumps({"_id": i, "title": "", "text": t}) + "\n" for i, t in (("a", "red fox"), ("b", "hen"))
        ),
        encoding="utf-8",
    )
    (tmp_path / "queries.jsonl").write_text(json.dumps({"_id": "q", "text": "fox"}) + "\n", encoding="utf-8")
    (tmp_path / "qrels").mkdir()
    pd.DataFrame({"query-id": ["q"], "corpus-id": ["a"], "score": [1]}).to_csv(
        tmp_path / "qrels" / "test.tsv", sep="\t", index=False
    )
    panel = app(tmp_path)
    assert panel.query == "q" and panel._result.scores is not None
    panel.close()


def test_the_command_line_says_what_is_missing(tmp_path, capsys, monkeypatch):
    with pytest.raises(SystemExit) as stop:
        main([str(tmp_path / "nope")])
    assert stop.value.code == 2 and "no file or folder" in capsys.readouterr().err
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match="pip install voila"):
        serve(tmp_path)


def test_tsv_is_cut_at_tabs_and_quotation_marks_are_text(tmp_path):  # LOD-09
    rows = '1\tok\n3\t"quoted" start\n4\t"unbalanced\n5\tlost?\n6\tends" here\n'
    for header in ("id\ttext\n", ""):
        (tmp_path / "a.tsv").write_text(header + rows, encoding="utf-8")
        docs = read_documents(tmp_path / "a.tsv")
        assert docs[["doc_id", "text"]].values.tolist() == [line.split("\t") for line in rows.splitlines()]


def test_an_id_that_one_file_repeats_is_said_and_nothing_is_lost(tmp_path):
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("id,text\n1,first\n1,second\n2,third\n", encoding="utf-8")
    with pytest.warns(RetrievalWarning, match=r"more than once in 'a.csv': '1'; all documents are kept"):
        docs = read_documents(tmp_path / "a.csv")
    assert docs["doc_id"].tolist() == ["a.csv:1", "a.csv:1 (2)", "2"]
    with pytest.warns(RetrievalWarning, match=r"more than once in 'a.csv', 'b.csv': '1'"):
        docs = read_documents(tmp_path)
    assert docs["text"].tolist() == ["first", "second", "third"] * 2 and docs["doc_id"].is_unique


def test_numbers_as_ids_stay_what_they_are_beside_rows_without(tmp_path):
    lines = [{"id": 1, "text": "a"}, {"text": "b"}, {"id": None, "text": "c"}, {"id": 2**53 + 1, "text": "d"}]
    (tmp_path / "r.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    ids = ["1", "r.jsonl:2", "r.jsonl:3", str(2**53 + 1)]
    assert read_documents(tmp_path)["doc_id"].tolist() == ids
    (tmp_path / "r.jsonl").unlink()
    (tmp_path / "r.csv").write_text("id,text\n1,a\n,b\n", encoding="utf-8")
    assert read_documents(tmp_path)["doc_id"].tolist() == ["1", "r.csv:2"]


@pytest.mark.parametrize("row", ["1,a,b,c", "1"])
def test_a_row_of_another_width_is_refused(tmp_path, row):
    (tmp_path / "a.csv").write_text(f"id,text\n0,fine\n{row}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"a\.csv, row 3 has \d fields?; the header has 2"):
        read_documents(tmp_path)
    (tmp_path / "a.csv").rename(tmp_path / "a.tsv")
    (tmp_path / "a.tsv").write_text(f"id\ttext\n0\tfine\n{row}\n".replace(",", "\t"), encoding="utf-8")
    with pytest.raises(ValueError, match=r"a\.tsv, line 3 has \d fields?; expected 2"):
        read_documents(tmp_path)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-8-sig"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_wide_encodings_are_known_by_their_mark(tmp_path, encoding, pack):
    contents = {
        "a.txt": "Zürich ☃",
        "b.csv": "id,text\n1,Zürich ☃\n",
        "c.tsv": "id\ttext\n2\tZürich ☃\n",
        "d.jsonl": '{"text": "Zürich ☃"}\n',
    }
    for name, text in contents.items():
        packed = name + (".gz" if pack is gzip.compress else "")
        (tmp_path / packed).write_bytes(pack(text.encode(encoding)))
    docs = read_documents(tmp_path)
    assert docs["text"].tolist() == ["Zürich ☃"] * 4 and docs["title"][0] == "a"


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.jsonl", "a.txt"])
def test_tables_in_another_encoding_are_read_and_said(tmp_path, name):
    row = {"a.csv": "id,text\n1,caf\xe9\n", "a.tsv": "id\ttext\n1\tcaf\xe9\n", "a.txt": "caf\xe9"}
    text = row.get(name, '{"text": "caf\xe9"}')
    for encoding, called, tail in (("cp1252", "Windows-1252", ""), ("latin-1", "Latin-1", "\x81")):
        (tmp_path / name).write_bytes(text.replace("\xe9", "\xe9" + tail).encode(encoding))
        with pytest.warns(RetrievalWarning, match=rf"{name} is not UTF-8; read as {called}"):
            assert read_documents(tmp_path)["text"].tolist() == ["caf\xe9" + tail]


def test_empty_tables_and_titles_that_are_missing_do_no_harm(tmp_path):
    for name in ("a.csv", "a.tsv", "a.jsonl"):
        (tmp_path / name).write_bytes(b"")
        with pytest.raises(ValueError, match=r"no document was found"):
            read_documents(tmp_path / name)
    (tmp_path / "b.jsonl").write_text(
        '{"text": "a", "title": null}\n{"text": 7, "title": 1917}\n{"text": null}\n'
    )
    docs = read_documents(tmp_path)
    assert docs[["title", "text"]].values.tolist() == [["b.jsonl:1", "a"], ["1917", "7"]]


def test_a_long_cell_is_read(tmp_path):
    (tmp_path / "a.csv").write_text("id,text\n1," + "x" * 200_000 + "\n", encoding="utf-8")
    assert read_documents(tmp_path)["text"].str.len().tolist() == [200_000]
