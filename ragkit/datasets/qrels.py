"""Judgements in files: TREC's columns, BEIR's tables, JSONL, CSV and parquet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ragkit.datasets.archives import Readable
from ragkit.datasets.columns import NAMES, as_number, cells, named, words
from ragkit.datasets.files import (
    is_table,
    lines,
    need_file,
    refuse_table,
    suffix,
    table,
    with_header,
    write_atomic,
)
from ragkit.frames import as_qrels
from ragkit.frames.messages import count


def read_qrels(path: Any, *, subtopics: bool | None = None, encoding: str = "utf-8") -> pd.DataFrame:
    """Read judgements: TREC's four columns, BEIR's table with or without header, JSONL, CSV or parquet.

    Parameters
    ----------
    path : str or path
        May be gzipped; columns are separated by any blanks or tabs. Where tabs alone make three or four
        columns of every line, ids may hold blanks.
    subtopics : bool, optional
        Whether the second column of a TREC file is the subtopic; None says yes when a document occurs
        with several of them.
    encoding : str, default="utf-8"
        A byte-order mark is skipped; bytes that do not fit raise.

    Returns
    -------
    DataFrame
        ``query_id, doc_id, relevance`` (and ``subtopic``). A grade such as ``1.0`` is 1; 2.5 raises.

    Raises
    ------
    ValueError
        For a line that cannot be read; the message has the file and the line.

    See Also
    --------
    write_qrels : The other way.
    """
    found = need_file(path)
    if is_table(found):
        frame = named(table(found, encoding), ("query_id", "doc_id", "relevance"), found.name)
        grades = [_grade(v, found.name, n, "record") for n, v in enumerate(frame["relevance"], 1)]
        return as_qrels(frame.assign(relevance=grades))
    rows = list(lines(found, encoding))
    if not rows:
        return as_qrels({})
    header = _header(rows[0][1].split())
    if header:
        return as_qrels(_qrels_with_header(rows[1:], header, found.name))
    return as_qrels(_qrels_without_header(_cut(rows, found), found.name, subtopics))


def _header(fields: list[str]) -> list[str]:
    """Give the column names, if the first line holds names and no judgement."""
    lowered = [f.lower() for f in fields]
    known = {s for spellings in NAMES.values() for s in spellings} | {"subtopic", "iteration", "iter", "q0"}
    return lowered if len(lowered) > 2 and all(f in known for f in lowered) else []


def _qrels_with_header(rows: list[tuple[int, str]], header: list[str], what: str) -> pd.DataFrame:
    body = []
    for number, text in rows:
        # A subtopic may be empty or hold blanks, so a table with tabs is cut at its tabs.
        cells = text.split("\t") if "\t" in text else text.split()
        if not len(header) - ("subtopic" in header) <= len(cells) <= len(header):
            raise ValueError(
                f"{what}, line {number} has {count(len(cells), 'field')}; the header has {len(header)}."
            )
        cells = [cell.strip() for cell in cells]
        body.append([*cells, *[""] * (len(header) - len(cells))])
    frame = named(with_header(header, body, what), ("query_id", "doc_id", "relevance"), what)
    return frame.assign(relevance=[_grade(v, what, n) for v, (n, _) in zip(frame["relevance"], rows)])


def _cut(rows: list[tuple[int, str]], path: Readable) -> list[tuple[int, list[str]]]:
    """Cut lines into three or four columns: at tabs where these alone make a table, else at any blanks."""
    numbers, texts = zip(*rows)
    blank = [text.split() for text in texts]
    if not any("\t" in text for text in texts):
        return list(zip(numbers, blank))
    tabbed = [[cell.strip() for cell in text.split("\t")] for text in texts]
    if {len(cells) for cells in tabbed} in ({3}, {4}) and all(map(all, tabbed)):
        # TREC's columns may be separated by tabs here and blanks there; the iteration gives them away.
        trec = all(len(fields) == 4 and fields[1].upper() in ("0", "Q0") for fields in blank)
        return list(zip(numbers, blank if trec and suffix(path) != ".tsv" else tabbed))
    fields = (t if len(b) > 4 and len(t) in (3, 4) else b for b, t in zip(blank, tabbed))
    return list(zip(numbers, fields))


def _qrels_without_header(
    rows: list[tuple[int, list[str]]], what: str, subtopics: bool | None
) -> pd.DataFrame:
    width = len(rows[0][1])
    if width not in (3, 4):
        raise ValueError(
            f"{what}, line {rows[0][0]} has {count(width, 'field')}; judgements have 4 (query, iteration, "
            "document, grade), or 3 (query, document, grade)."
        )
    for number, fields in rows:
        if len(fields) != width:
            raise ValueError(
                f"{what}, line {number} has {count(len(fields), 'field')}; the first line has {width}."
            )
    table_ = pd.DataFrame(
        {
            "query_id": [f[0] for _, f in rows],
            "doc_id": [f[-2] for _, f in rows],
            "relevance": [_grade(f[-1], what, number) for number, f in rows],
        }
    )
    if width == 3 or subtopics is False:
        return table_
    with_topic = table_.assign(subtopic=[f[1] for _, f in rows])
    repeated = table_.duplicated(["query_id", "doc_id"]).any()
    distinct = not with_topic.duplicated(["query_id", "doc_id", "subtopic"]).any()
    return with_topic if subtopics or (subtopics is None and repeated and distinct) else table_


def _grade(value: Any, what: str, at: int, unit: str = "line") -> int:
    grade = as_number(str(value))
    if not np.isfinite(grade) or grade != np.floor(grade):
        raise ValueError(f"{what}, {unit} {at}: a grade must be a whole number; got {value!r}.")
    return int(grade)


def write_qrels(qrels: Any, path: Any) -> None:
    """Write judgements: a file that ends in ``.tsv`` in BEIR's form, any other in TREC's four columns.

    Parameters
    ----------
    qrels : judgements
        Whatever :func:`ragkit.as_qrels` takes. A subtopic becomes TREC's second column, or BEIR's fourth.
    path : str or path
        Where to; ``.gz`` packs.

    Raises
    ------
    ValueError
        If an id holds blanks (for BEIR's form: tabs, or blanks at an edge), which the format cannot hold, or
        the name ends as that of a table of another form (``.csv``, ``.jsonl``).

    See Also
    --------
    read_qrels : The other way.
    """
    frame = as_qrels(qrels)
    refuse_table(path, "write_qrels", "'.tsv' for BEIR's form or '.txt' for TREC's")
    topic = subtopic_texts(frame) if "subtopic" in frame.columns else None
    if suffix(Path(path)) == ".tsv":
        write_atomic(path, _beir_qrels(frame, topic))
        return
    query, docs = words(frame["query_id"], "query_id"), words(frame["doc_id"], "doc_id")
    iteration = ["0"] * len(frame) if topic is None else words(topic.replace("", "0"), "subtopic")
    rows = zip(query, iteration, docs, frame["relevance"].tolist())
    write_atomic(path, (f"{q} {i} {d} {r}\n" for q, i, d, r in rows))


def _beir_qrels(frame: pd.DataFrame, topic: pd.Series | None) -> Iterator[str]:
    yield "query-id\tcorpus-id\tscore" + ("" if topic is None else "\tsubtopic") + "\n"
    columns = [cells(frame["query_id"], "query_id"), cells(frame["doc_id"], "doc_id")]
    columns.append(frame["relevance"].astype(str).tolist())
    if topic is not None:
        columns.append(cells(topic, "subtopic"))
    yield from ("\t".join(row) + "\n" for row in zip(*columns))


def subtopic_texts(qrels: pd.DataFrame) -> pd.Series:
    """Give the subtopics as texts, '' where there is none."""
    texts = ["" if pd.isna(topic) else str(topic) for topic in qrels["subtopic"]]
    return pd.Series(texts, index=qrels.index, dtype=object)
