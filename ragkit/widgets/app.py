"""The app: the lab over a folder of somebody's own documents, for people who write no Python."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from ragkit.bm25 import KeywordIndex
from ragkit.chunking import chunk
from ragkit.datasets import load_dataset
from ragkit.frames import as_docs, check_top_k
from ragkit.hybrid import HybridSearch
from ragkit.text.lsa import LSAEmbedder
from ragkit.vectors import VectorStore
from ragkit.widgets.lab import Lab, explore

TEXTS = (".txt", ".md", ".markdown", ".rst")
TABLES = {".csv": ",", ".tsv": "\t"}
LINES = (".jsonl", ".ndjson")
_TEXT_COLUMNS = ("text", "body", "content", "abstract", "description")
_ID_COLUMNS = ("doc_id", "_id", "id")


def app(path: str | Path, *, chunk_size: int = 1000) -> Lab:
    """Open the lab over a folder or file of documents.

    Parameters
    ----------
    path : str or Path
        A folder of text, Markdown, CSV, TSV and JSONL files, one such file, or a data set in BEIR's layout,
        whose queries and judgements are used as well.
    chunk_size : int, default=1000
        Documents longer than this are cut into chunks of at most so many characters; 0 keeps them whole.

    Returns
    -------
    Lab
        The panel.

    Raises
    ------
    FileNotFoundError
        If there is nothing at `path`.
    ValueError
        If no document can be read there.

    See Also
    --------
    ragkit.explore : The lab over stores that were built in Python.
    """
    size = check_top_k(chunk_size, "chunk_size", none=False) or 0
    folder, queries, qrels = Path(path), None, None
    if any((folder / name).exists() for name in ("corpus.jsonl", "corpus.jsonl.gz")):
        data = load_dataset(folder)
        docs, queries, qrels = data.docs, data.queries, data.qrels
    else:
        docs = read_documents(folder)
    units = docs
    if size and (docs["text"].str.len() > size).any():
        units = chunk(docs, method="sentence", size=size)
    hybrid = HybridSearch(KeywordIndex(units), VectorStore(units, embed=LSAEmbedder()))
    start = None if queries is not None else _first_words(docs)
    return explore(hybrid, queries, qrels, query=start)


def read_documents(path: str | Path) -> pd.DataFrame:
    """Read documents from a folder, subfolders included, or from one file.

    Text and Markdown files are one document each, called by their path, titled by their first heading or
    their name. Of tables and JSON lines every row is a document; its text is in a column called ``text``,
    ``body``, ``content``, ``abstract`` or ``description``. Hidden files are left out.

    Parameters
    ----------
    path : str or Path
        A folder or a file.

    Returns
    -------
    DataFrame
        ``doc_id, title, text, file`` and the columns of the tables.

    Raises
    ------
    FileNotFoundError
        If there is nothing at `path`.
    ValueError
        If no document can be read there, or a table has no column of text.
    """
    root = Path(path)
    if not root.exists():
        raise FileNotFoundError(f"there is no file or folder {str(root)!r}; give the path of your documents.")
    files = [root] if root.is_file() else sorted(_visible(root))
    rows: list[dict[str, Any]] = []
    for file in files:
        name = file.name if root.is_file() else file.relative_to(root).as_posix()
        rows += list(_read(file, name))
    rows = [row for row in rows if row["text"].strip()]
    if not rows:
        kinds = ", ".join([*TEXTS, *TABLES, *LINES])
        raise ValueError(f"no document was found in {str(root)!r}; files may end in {kinds}.")
    frame = pd.DataFrame(rows)
    twice = frame["doc_id"].duplicated(keep=False)
    frame.loc[twice, "doc_id"] = frame["file"] + ":" + frame["doc_id"]
    return as_docs(frame.drop_duplicates("doc_id"))


def serve(path: str | Path, *, port: int = 8866, chunk_size: int = 1000, browser: bool = True) -> int:
    """Serve the app with Voila on this machine until it is interrupted.

    Parameters
    ----------
    path : str or Path
        As in :func:`app`.
    port : int, default=8866
        Where the page is: ``http://127.0.0.1:8866``.
    chunk_size : int, default=1000
        As in :func:`app`.
    browser : bool, default=True
        Whether to open the page.

    Returns
    -------
    int
        The server's exit code.

    Raises
    ------
    ImportError
        If voila is not installed.
    """
    where = Path(path).resolve()
    if not where.exists():
        raise FileNotFoundError(f"there is no file or folder {str(path)!r}; give the path of your documents.")
    if importlib.util.find_spec("voila") is None:
        raise ImportError('the app needs voila: pip install voila, or install ragkit with "[app]".')
    with tempfile.TemporaryDirectory(prefix="ragkit-app-") as folder:
        notebook = Path(folder) / "ragkit.ipynb"
        notebook.write_text(_notebook(where, chunk_size), encoding="utf-8")
        command = [
            sys.executable, "-m", "voila", str(notebook), "--Voila.ip=127.0.0.1", f"--port={port}",
            f"--Voila.connection_dir_root={folder}", *([] if browser else ["--no-browser"]),
        ]  # fmt: skip
        server = subprocess.Popen(command)
        try:
            return server.wait()
        except KeyboardInterrupt:
            server.terminate()
            return server.wait()


def _notebook(path: Path, chunk_size: int) -> str:
    """The one-cell notebook that Voila runs for each visitor."""
    code = f"from ragkit.widgets.app import app\napp({str(path)!r}, chunk_size={chunk_size})"
    cell: dict[str, Any] = {
        "cell_type": "code", "execution_count": None, "id": "c000", "metadata": {}, "outputs": [],
        "source": code,
    }  # fmt: skip
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return json.dumps(
        {
            "cells": [cell],
            "metadata": {"kernelspec": kernel, "title": "ragkit"},
            "nbformat": 4,
            "nbformat_minor": 5,
        }
    )


def _visible(root: Path) -> Iterator[Path]:
    for file in root.rglob("*"):
        parts = file.relative_to(root).parts
        known = file.suffix.lower() in (*TEXTS, *TABLES, *LINES)
        if known and file.is_file() and not any(part.startswith(".") for part in parts):
            yield file


def _read(file: Path, name: str) -> Iterator[dict[str, Any]]:
    """Read one file as documents."""
    kind = file.suffix.lower()
    if kind in TEXTS:
        text = _decode(file)
        yield {"doc_id": name, "title": _title(text, file.stem), "text": text, "file": name}
    elif kind in TABLES or kind in LINES:
        table = _table(file, kind)
        column = _named(table, _TEXT_COLUMNS)
        if column is None:
            raise ValueError(
                f"{name} has no column of text; call one of {list(table.columns)} 'text', or one of "
                f"{list(_TEXT_COLUMNS)}."
            )
        key = _named(table, _ID_COLUMNS)
        for n, row in enumerate(table.to_dict("records"), 1):
            text = row[column] if isinstance(row[column], str) else ""
            own = str(row[key]) if key is not None and row[key] == row[key] else f"{name}:{n}"
            rest = {str(c): v for c, v in row.items() if c not in (column, key, "doc_id", "file")}
            yield {"title": _title(text, own), **rest, "doc_id": own, "text": text, "file": name}


def _table(file: Path, kind: str) -> pd.DataFrame:
    if kind in LINES:
        return pd.DataFrame(
            [_parsed(line, file, n) for n, line in enumerate(_lines(file), 1) if line.strip()]
        )
    return pd.read_csv(file, sep=TABLES[kind], dtype=str, keep_default_na=False, encoding="utf-8-sig")


def _lines(file: Path) -> list[str]:
    # Not splitlines: a text may hold line separators that JSON does not escape.
    return _decode(file).split("\n")


def _parsed(line: str, file: Path, n: int) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise ValueError(
            f"{file.name}, line {n} is not JSON: {error}; one object per line is needed."
        ) from None
    if not isinstance(row, dict):
        raise ValueError(f'{file.name}, line {n} is not an object; write {{"text": ...}} on each line.')
    return row


def _named(table: pd.DataFrame, names: tuple[str, ...]) -> Any:
    """Find a column by one of several names, whatever its case."""
    by_name = {str(c).strip().lower(): c for c in table.columns}
    return next((by_name[name] for name in names if name in by_name), None)


def _decode(file: Path) -> str:
    """Read a text file: UTF-8, else Windows' western code page, and say so."""
    data = file.read_bytes()
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        warnings.warn(f"{file.name} is not UTF-8; read as Windows-1252.", stacklevel=2)
        return data.decode("cp1252", errors="replace")


def _title(text: str, otherwise: str) -> str:
    """The first heading of a Markdown text, else the name given."""
    for line in text.splitlines()[:20]:
        if line.startswith("# ") and line[2:].strip():
            return line[2:].strip()
    return otherwise


def _first_words(docs: pd.DataFrame) -> str:
    """Something to search for at first: the title of the first document."""
    title = docs["title"].iloc[0] if "title" in docs.columns and len(docs) else ""
    return title if isinstance(title, str) else ""
