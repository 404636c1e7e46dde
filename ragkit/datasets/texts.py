"""Documents and queries in files: JSONL, CSV, TSV, parquet, and TREC's topics."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ragkit.datasets.archives import Readable
from ragkit.datasets.columns import NAMES, cells, named, tab_table
from ragkit.datasets.files import is_table, lines, need_file, refuse_table, suffix, table, write_atomic
from ragkit.frames import as_docs, as_queries
from ragkit.frames.mixups import brief


def read_docs(path: Any, *, encoding: str = "utf-8") -> pd.DataFrame:
    """Read documents from a JSONL, CSV, TSV or parquet file.

    Parameters
    ----------
    path : str or path
        May be gzipped. A TSV without a header holds ``id<TAB>text``; quotation marks in it are text.
    encoding : str, default="utf-8"
        A byte-order mark is skipped; bytes that do not fit raise.

    Returns
    -------
    DataFrame
        ``doc_id, text`` and every other field. A missing or null title or text is empty.

    Raises
    ------
    ValueError
        For a line that cannot be read; the message has the file and the line.

    See Also
    --------
    load_dataset : A whole folder.
    """
    found = need_file(path)
    return as_docs(_records(found, "doc_id", encoding))


def read_queries(path: Any, *, encoding: str = "utf-8") -> pd.DataFrame:
    """Read queries from a JSONL, CSV, TSV or parquet file, or from TREC topics.

    Parameters
    ----------
    path : str or path
        May be gzipped. A TSV without a header holds ``id<TAB>text``; a file that starts with ``<top>``
        is read as TREC topics, its title as the text.
    encoding : str, default="utf-8"
        A byte-order mark is skipped; bytes that do not fit raise.

    Returns
    -------
    DataFrame
        ``query_id, text`` and every other field (``description``, ``narrative`` of topics).

    Raises
    ------
    ValueError
        For a line that cannot be read; the message has the file and the line.

    See Also
    --------
    write_queries : The other way.
    """
    found = need_file(path)
    first = next((text for _, text in lines(found, encoding)), "") if suffix(found) != ".parquet" else ""
    if first.lstrip().lower().startswith(("<top", "<?xml", "<topics")):
        return as_queries(_topics("\n".join(text for _, text in lines(found, encoding)), found.name))
    return as_queries(_records(found, "query_id", encoding))


def _records(path: Readable, id_name: str, encoding: str) -> pd.DataFrame:
    """Read rows with an id and a text, whatever the file calls them."""
    if is_table(path):
        rows = table(path, encoding)
    else:
        rows = tab_table(path, encoding, [id_name, "text"], lambda first: _is_header(first[0], id_name))
    frame = named(rows, (id_name, "text"), path.name)
    for name in ("title", "text"):
        if name in frame.columns:
            values = frame[name].astype(object)
            texts = values.where(values.notna(), "").tolist()
            frame[name] = pd.Series(texts, dtype=None if texts else "str")
    if "metadata" in frame.columns and not any(frame["metadata"].astype(bool)):
        frame = frame.drop(columns="metadata")  # BEIR writes an empty one to each query
    return frame


def _is_header(first: str, id_name: str) -> bool:
    """Say whether a line of a TSV starts with the name of a column, not with an id."""
    return first.strip().lower() in (*NAMES[id_name], *NAMES["text"], "title")


def _topics(text: str, what: str) -> list[dict[str, str]]:
    """Read ``<top>`` blocks, whose tags need not be closed."""
    topics: list[dict[str, str]] = []
    for block in re.split(r"<top(?:ic)?\b", text, flags=re.I)[1:]:
        fields = {}
        attribute = re.match(r"[^>]*?\bnumber\s*=\s*[\"']?([^\"'\s>]+)", block)
        if attribute:
            fields["num"] = attribute[1]
        for tag, body in re.findall(
            r"<(num|title|query|desc|description|narr|narrative)\b[^>]*>([^<]*)", block, re.I
        ):
            label = re.sub(r"^\s*(?:number|topic|title|description|narrative)\s*:\s*", "", body, flags=re.I)
            fields.setdefault(tag.lower(), html.unescape(" ".join(label.split())))
        if not fields.get("num"):
            raise ValueError(f"{what}, topic {len(topics) + 1} has no <num>.")
        row = {"query_id": fields["num"], "text": fields.get("title") or fields.get("query") or ""}
        for name, tags in (("description", ("desc", "description")), ("narrative", ("narr", "narrative"))):
            value = next((fields[t] for t in tags if t in fields), None)
            if value is not None:
                row[name] = value
        topics.append(row)
    return topics


def write_queries(queries: Any, path: Any) -> None:
    """Write queries: with all columns to a file that ends in ``.jsonl``, to any other as ``id<TAB>text``.

    Parameters
    ----------
    queries : queries
        Whatever :func:`ragkit.as_queries` takes.
    path : str or path
        Where to; ``.gz`` packs.

    Raises
    ------
    ValueError
        If a text holds a tab or a line end, or an id has blanks at an edge, which the second form cannot
        hold; or the name ends as that of a table of another form (``.csv``).

    See Also
    --------
    read_queries : The other way.
    """
    frame = as_queries(queries)
    if suffix(Path(path)) == ".jsonl":
        write_atomic(path, json_rows(frame, "query_id"))
        return
    refuse_table(path, "write_queries", "'.jsonl' or '.tsv'")
    for q, text in zip(cells(frame["query_id"], "query_id"), frame["text"]):
        if any(c in text for c in "\t\n\r"):
            raise ValueError(f"the text of query {q!r} holds a tab or a line end; write it to a .jsonl file.")
    lines_ = [f"{q}\t{text}\n" for q, text in zip(frame["query_id"], frame["text"])]
    # A first query that is called like a column would be read as the header.
    header = ["query_id\ttext\n"] if len(frame) and _is_header(frame["query_id"].iloc[0], "query_id") else []
    write_atomic(path, [*header, *lines_])


def json_rows(frame: pd.DataFrame, id_name: str) -> Iterator[str]:
    """Give one line of JSON per row, with the id under BEIR's name ``_id``; missing cells are left out."""
    if "_id" in frame.columns:
        raise ValueError(f"the column '_id' is what BEIR's files call {id_name}; rename it or drop it.")
    for row in frame.to_dict("records"):
        item = {"_id": str(row.pop(id_name))}
        for name, value in row.items():
            if not (pd.api.types.is_scalar(value) and pd.isna(value)):
                item[str(name)] = value.item() if isinstance(value, np.generic) else value
        try:
            yield json.dumps(item, ensure_ascii=False) + "\n"
        except (TypeError, ValueError) as error:
            raise _not_json(item, error) from None


def _not_json(item: dict[str, Any], error: Exception) -> Exception:
    """Name the cell that JSON cannot hold."""
    for name, value in item.items():
        try:
            json.dumps(value)
        except (TypeError, ValueError):
            return ValueError(
                f"column {name!r} holds {brief(value)}, which JSON cannot hold; turn it into strings or "
                "numbers, or drop it."
            )
    return error
