"""The app without a server: reading a folder of documents, and the lab over it."""

import json

import pandas as pd
import pytest

from ragkit.__main__ import main
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
