"""The app: the lab over a folder of somebody's own documents, for people who write no Python."""

from __future__ import annotations

import codecs
import importlib.util
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from ragkit.bm25 import KeywordIndex
from ragkit.chunking import chunk
from ragkit.datasets import load_dataset
from ragkit.datasets.archives import open_bytes
from ragkit.datasets.columns import tab_table
from ragkit.datasets.files import json_lines, suffix, table
from ragkit.frames import as_docs, check_top_k, some, warn
from ragkit.hybrid import HybridSearch
from ragkit.text.lsa import LSAEmbedder
from ragkit.vectors import VectorStore
from ragkit.widgets.lab import Lab, explore

TEXTS = (".txt", ".md", ".markdown", ".rst")
TABLES = (".csv", ".tsv")
LINES = (".jsonl", ".ndjson")
_TEXT_COLUMNS = ("text", "body", "content", "abstract", "description")
_ID_COLUMNS = ("_id", "doc_id", "id")
_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_NARROW = {"utf-8": "UTF-8", "cp1252": "Windows-1252", "latin-1": "Latin-1"}  # the last takes any byte


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
    ``body``, ``content``, ``abstract`` or ``description``. Files may be gzipped. Hidden ones are left out.

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
        If no document can be read there, or a table has no column of text or rows of another width than its
        header.

    Warns
    -----
    RetrievalWarning
        If a file is not UTF-8 (nor UTF-16 with its mark), or uses an id again, and what becomes of it.
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
    return as_docs(_told_apart(pd.DataFrame(rows)))


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
        known = suffix(file) in (*TEXTS, *TABLES, *LINES)
        if known and file.is_file() and not any(part.startswith(".") for part in parts):
            yield file


def _told_apart(docs: pd.DataFrame) -> pd.DataFrame:
    """Call documents that share an id by their file too, and by a number where one file repeats it."""
    shared = docs["doc_id"].duplicated(keep=False)
    ids = docs["doc_id"].where(~shared, docs["file"] + ":" + docs["doc_id"])
    again = ids.groupby(ids).cumcount()
    if again.any():
        warn(
            f"ids stand more than once in {some(docs['file'][again > 0].unique())}: "
            f"{some(docs['doc_id'][again > 0].unique())}; all documents are kept, with a number behind the "
            "id."
        )
    return docs.assign(doc_id=ids.where(again == 0, ids + " (" + (again + 1).astype(str) + ")"))


def _read(file: Path, name: str) -> Iterator[dict[str, Any]]:
    """Read one file as documents."""
    with open_bytes(file) as opened:
        data = opened.read()
    encoding = _encoding(data, name)
    if suffix(file) in TEXTS:
        text = data.decode(encoding, errors="replace").removeprefix("\ufeff")
        stem = Path(file.name.removesuffix(".gz")).stem
        yield {"doc_id": name, "title": _title(text, stem), "text": text, "file": name}
        return
    rows = _rows(file, encoding)
    columns = list(dict.fromkeys(column for row in rows for column in row))
    column, key = _named(columns, _TEXT_COLUMNS), _named(columns, _ID_COLUMNS)
    if rows and column is None:
        raise ValueError(
            f"{name} has no column of text; call one of {columns} 'text', or one of {list(_TEXT_COLUMNS)}."
        )
    for n, row in enumerate(rows, 1):
        text, own = _cell(row.get(column)), _cell(row.get(key)) or f"{name}:{n}"
        title = _cell(row.get("title")) or _title(text, own)
        rest = {str(c): v for c, v in row.items() if c not in (column, key, "title", "doc_id", "file")}
        yield {"title": title, **rest, "doc_id": own, "text": text, "file": name}


def _rows(file: Path, encoding: str) -> list[dict[Any, Any]]:
    """Read the rows of a table or of JSON lines; numbers of JSON stay what they are."""
    if suffix(file) in LINES:
        return [row for _, row in json_lines(file, encoding)]
    if suffix(file) == ".tsv":
        found = tab_table(file, encoding, ["id", "text"], lambda first: bool(_named(first, _TEXT_COLUMNS)))
    else:
        found = table(file, encoding)
    return found.to_dict("records")


def _cell(value: Any) -> str:
    """The text of a cell; "" of a missing one."""
    return "" if value is None or value != value else str(value)


def _named(columns: list[Any], names: tuple[str, ...]) -> Any:
    """Find a column by one of several names, whatever its case."""
    by_name = {str(c).strip().lower(): c for c in columns}
    return next((by_name[name] for name in names if name in by_name), None)


def _encoding(data: bytes, name: str) -> str:
    """Find a text's encoding: by its mark, UTF-8, or else a western code page, which is said."""
    encoding = next((wide for mark, wide in _MARKS.items() if data.startswith(mark)), None)
    if encoding is None:
        encoding = next(narrow for narrow in _NARROW if _fits(data, narrow))
        if encoding != "utf-8":
            warn(f"{name} is not UTF-8; read as {_NARROW[encoding]}.")
    return encoding


def _fits(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


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
