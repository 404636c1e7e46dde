"""Runs, judgements and topics in files: TREC's columns, BEIR's tables, JSONL, CSV and parquet."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ragkit.datasets.files import Readable, lines, need_file, suffix, table, write_atomic
from ragkit.frames import as_docs, as_qrels, as_queries, as_run, check_choice, rank_by_score, warn

_NAMES = {
    "query_id": ("query_id", "query-id", "qid", "queryid", "topic", "_id", "id"),
    "doc_id": ("doc_id", "corpus-id", "docid", "docno", "corpus_id", "_id", "id"),
    "relevance": ("relevance", "score", "label", "rel", "grade"),
    "score": ("score",),
    "text": ("text", "query", "contents", "body"),
}


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
    if suffix(path) in (".jsonl", ".json", ".ndjson", ".csv", ".parquet"):
        frame = _named(table(path, encoding), (id_name, "text"), path.name)
    else:
        frame = _tab_separated(path, id_name, encoding)
    for name in ("title", "text"):
        if name in frame.columns:
            values = frame[name].astype(object)
            frame[name] = pd.Series(values.where(values.notna(), ""), dtype="str" if not len(frame) else None)
    if "metadata" in frame.columns and not any(frame["metadata"].astype(bool)):
        frame = frame.drop(columns="metadata")  # BEIR writes an empty one to each query
    return frame


def _tab_separated(path: Readable, id_name: str, encoding: str) -> pd.DataFrame:
    rows = [(number, text.split("\t")) for number, text in lines(path, encoding)]
    header = bool(rows) and rows[0][1][0].strip().lower() in _NAMES[id_name]
    names = rows[0][1] if header else [id_name, "text"]
    for number, row in rows[header:]:
        if len(row) != len(names):
            raise ValueError(
                f"{path.name}, line {number} has {len(row)} fields, separated by tabs; expected {len(names)}."
            )
    return _named(
        pd.DataFrame([row for _, row in rows[header:]], columns=names), (id_name, "text"), path.name
    )


def _named(frame: pd.DataFrame, needed: tuple[str, ...], what: str) -> pd.DataFrame:
    """Rename columns to ours; the first spelling that is there counts."""
    if not len(frame.columns):
        return pd.DataFrame({name: pd.Series([], dtype="str") for name in needed})
    by_lower = {str(column).strip().lower(): column for column in reversed(list(frame.columns))}
    renames: dict[Any, str] = {}
    for name in needed:
        found = next(
            (by_lower[s] for s in _NAMES[name] if s in by_lower and by_lower[s] not in renames), None
        )
        if found is None and name == "text" and "title" in by_lower:
            continue
        if found is None:
            raise ValueError(
                f"{what} needs a field {name!r} (or {_NAMES[name][1:]}); found {list(frame.columns)}."
            )
        renames[found] = name
    frame = frame.rename(columns=renames)
    for name in needed:
        if name.endswith("_id"):
            bad = np.flatnonzero(frame[name].isna())
            if len(bad):
                raise ValueError(f"{what}, record {int(bad[0]) + 1} has no {name}; give every record an id.")
    if "text" in needed and "text" not in frame.columns:
        frame = frame.assign(text="")
    return frame[[*needed, *(column for column in frame.columns if column not in needed)]]


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


def read_qrels(path: Any, *, subtopics: bool | None = None, encoding: str = "utf-8") -> pd.DataFrame:
    """Read judgements: TREC's four columns, BEIR's table with or without header, JSONL, CSV or parquet.

    Parameters
    ----------
    path : str or path
        May be gzipped; columns are separated by any blanks or tabs.
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
    if suffix(found) in (".jsonl", ".json", ".ndjson", ".csv", ".parquet"):
        frame = _named(table(found, encoding), ("query_id", "doc_id", "relevance"), found.name)
        return as_qrels(frame)
    rows = _fields(found, encoding)
    if not rows:
        return as_qrels({})
    header = _header(rows[0][1])
    if header:
        frame = _qrels_with_header(rows, header, found.name)
    else:
        frame = _qrels_without_header(rows, found.name, subtopics)
    return as_qrels(frame)


def _fields(path: Readable, encoding: str) -> list[tuple[int, list[str], str]]:
    """Cut each line at blanks and tabs; where that gives too many pieces, at tabs: ids may hold blanks."""
    out = []
    for number, text in lines(path, encoding):
        fields = text.split()
        if len(fields) > 4 and text.count("\t") in (2, 3):
            fields = [field.strip() for field in text.split("\t")]
        out.append((number, fields, text))
    return out


def _header(fields: list[str]) -> list[str]:
    """Give the column names, if the first line holds names and no judgement."""
    lowered = [f.lower() for f in fields]
    known = {s for spellings in _NAMES.values() for s in spellings} | {"subtopic", "iteration", "iter", "q0"}
    return lowered if len(lowered) > 2 and all(f in known for f in lowered) else []


def _qrels_with_header(rows: list, header: list[str], what: str) -> pd.DataFrame:
    body = []
    for number, fields, text in rows[1:]:
        # A subtopic may be empty or hold blanks, so a table with tabs is cut at its tabs.
        cells = text.split("\t") if "\t" in text else fields
        if not len(header) - ("subtopic" in header) <= len(cells) <= len(header):
            raise ValueError(f"{what}, line {number} has {len(cells)} fields; the header has {len(header)}.")
        cells = [cell.strip() for cell in cells]
        body.append([*cells, *[""] * (len(header) - len(cells))])
    frame = _named(pd.DataFrame(body, columns=header), ("query_id", "doc_id", "relevance"), what)
    numbers = [number for number, _, _ in rows[1:]]
    return frame.assign(relevance=[_grade(v, what, n) for v, n in zip(frame["relevance"], numbers)])


def _qrels_without_header(rows: list, what: str, subtopics: bool | None) -> pd.DataFrame:
    width = len(rows[0][1])
    if width not in (3, 4):
        raise ValueError(
            f"{what}, line {rows[0][0]} has {width} fields; judgements have 4 (query, iteration, document, "
            "grade), or 3 (query, document, grade)."
        )
    for number, fields, _ in rows:
        if len(fields) != width:
            raise ValueError(f"{what}, line {number} has {len(fields)} fields; the first line has {width}.")
    table_ = pd.DataFrame(
        {
            "query_id": [f[0] for _, f, _ in rows],
            "doc_id": [f[-2] for _, f, _ in rows],
            "relevance": [_grade(f[-1], what, number) for number, f, _ in rows],
        }
    )
    if width == 3 or subtopics is False:
        return table_
    with_topic = table_.assign(subtopic=[f[1] for _, f, _ in rows])
    repeated = table_.duplicated(["query_id", "doc_id"]).any()
    distinct = not with_topic.duplicated(["query_id", "doc_id", "subtopic"]).any()
    return with_topic if subtopics or (subtopics is None and repeated and distinct) else table_


def _grade(text: str, what: str, number: int) -> int:
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not np.isfinite(value) or value != np.floor(value):
        raise ValueError(f"{what}, line {number}: a grade must be a whole number; got {text!r}.")
    return int(value)


def read_run(path: Any, *, order: str = "score", encoding: str = "utf-8") -> pd.DataFrame:
    """Read a run: TREC's six columns, JSONL, CSV or parquet.

    Parameters
    ----------
    path : str or path
        May be gzipped; TREC's columns are separated by any blanks or tabs.
    order : {"score", "rank"}, default="score"
        What ranks the documents of a TREC file: its scores, as in trec_eval (ties by document id, from
        the last), or its rank column, counted from 0 or 1.
    encoding : str, default="utf-8"
        A byte-order mark is skipped; bytes that do not fit raise.

    Returns
    -------
    DataFrame
        ``query_id, doc_id, rank, score``.

    Raises
    ------
    ValueError
        For a line that cannot be read; the message has the file and the line.

    See Also
    --------
    write_run : The other way.
    """
    check_choice("order", order, ["score", "rank"])
    found = need_file(path)
    if suffix(found) in (".jsonl", ".json", ".ndjson", ".csv", ".parquet"):
        return _run_table(table(found, encoding), found.name)
    rows = []
    for number, fields, _ in _fields(found, encoding):
        if len(fields) != 6:
            raise ValueError(
                f"{found.name}, line {number} has {len(fields)} fields; a run has 6: query, Q0, document, "
                "rank, score, tag (one word)."
            )
        rank = _number(fields[3], "rank", found.name, number) if order == "rank" else 0.0
        rows.append((fields[0], fields[2], rank, _number(fields[4], "score", found.name, number)))
    if not rows:
        return as_run({})
    query, doc, ranks, scores = zip(*rows, strict=True)
    frame = pd.DataFrame({"query_id": list(query), "doc_id": list(doc), "score": list(scores)})
    if order == "score":
        return as_run(rank_by_score(frame))
    first = min(ranks) if ranks else 1
    return as_run(frame.assign(rank=np.array(ranks) + (1 if first == 0 else 0)))


def _run_table(frame: pd.DataFrame, what: str) -> pd.DataFrame:
    if not len(frame.columns):
        return as_run({})
    frame = _named(frame, ("query_id", "doc_id"), what)
    for name in ("rank", "score"):
        if name in frame.columns:
            frame[name] = pd.to_numeric(frame[name])
    return as_run(frame)


def _number(text: str, name: str, what: str, number: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise ValueError(f"{what}, line {number}: {name} must be a finite number; got {text!r}.")
    return value


def write_run(run: Any, path: Any, *, tag: str = "ragkit", score: str = "score") -> None:
    """Write a run in TREC's six columns.

    Parameters
    ----------
    run : run
        A run over documents; of one over chunks, the chunks are written.
    path : str or path
        Where to; ``.gz`` packs. Written under another name first, then renamed.
    tag : str, default="ragkit"
        The last column, one word.
    score : {"score", "rank"}, default="score"
        ``"rank"`` writes 1 / rank, so that tools which sort by score keep the order.

    Raises
    ------
    ValueError
        If an id or the tag holds blanks, which the format cannot hold.

    Warns
    -----
    RetrievalWarning
        If scores do not fall with the rank (after MMR, say): trec_eval would order the run anew.

    See Also
    --------
    read_run : The other way.
    """
    check_choice("score", score, ["score", "rank"])
    frame = as_run(run)
    unit = "chunk_id" if "chunk_id" in frame.columns else "doc_id"
    query, docs = _words(frame["query_id"], "query_id"), _words(frame[unit], unit)
    _words(pd.Series([tag]), "tag")
    values = frame["score"] if score == "score" else 1.0 / frame["rank"]
    if score == "score" and not rank_by_score(frame)[unit].astype(object).equals(frame[unit].astype(object)):
        warn(
            "the run's scores do not fall with its rank, so trec_eval and read_run would order it anew; "
            "write_run(..., score='rank') keeps the order."
        )
    write_atomic(
        path,
        (
            f"{q} Q0 {d} {r} {s!r} {tag}\n"
            for q, d, r, s in zip(query, docs, frame["rank"].tolist(), values.astype(float).tolist())
        ),
    )


def _words(values: pd.Series, name: str) -> list[str]:
    """Check that no value holds blanks, which separate TREC's columns."""
    listed = values.astype(object).tolist()
    for value in listed:
        if not value or len(value.split()) != 1 or value != value.strip():
            raise ValueError(f"{name} {value!r} holds blanks, which TREC's format cannot hold; rename it.")
    return listed


def subtopic_texts(qrels: pd.DataFrame) -> pd.Series:
    """Give the subtopics as texts, '' where there is none."""
    texts = ["" if pd.isna(topic) else str(topic) for topic in qrels["subtopic"]]
    return pd.Series(texts, index=qrels.index, dtype=object)


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
        If an id holds blanks (tabs, for BEIR's form), which the format cannot hold.

    See Also
    --------
    read_qrels : The other way.
    """
    frame = as_qrels(qrels)
    topic = subtopic_texts(frame) if "subtopic" in frame.columns else None
    if suffix(Path(path)) == ".tsv":
        write_atomic(path, _beir_qrels(frame, topic))
        return
    query, docs = _words(frame["query_id"], "query_id"), _words(frame["doc_id"], "doc_id")
    iteration = ["0"] * len(frame) if topic is None else _words(topic.replace("", "0"), "subtopic")
    rows = zip(query, iteration, docs, frame["relevance"].tolist())
    write_atomic(path, (f"{q} {i} {d} {r}\n" for q, i, d, r in rows))


def _beir_qrels(frame: pd.DataFrame, topic: pd.Series | None) -> Iterator[str]:
    yield "query-id\tcorpus-id\tscore" + ("" if topic is None else "\tsubtopic") + "\n"
    topics = [""] * len(frame) if topic is None else topic.tolist()
    for q, d, r, t in zip(frame["query_id"], frame["doc_id"], frame["relevance"], topics):
        if any("\t" in cell or "\n" in cell for cell in (q, d, t)):
            raise ValueError(
                f"query {q!r}, document {d!r}: an id or subtopic holds a tab or a line end; rename it."
            )
        yield f"{q}\t{d}\t{r}" + ("" if topic is None else f"\t{t}") + "\n"


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
        If a text holds a tab or a line end, which the second form cannot hold.

    See Also
    --------
    read_queries : The other way.
    """
    from ragkit.datasets.folder import json_rows

    frame = as_queries(queries)
    if suffix(Path(path)) == ".jsonl":
        write_atomic(path, json_rows(frame, "query_id"))
        return
    for q, text in zip(frame["query_id"], frame["text"]):
        if any(c in q or c in text for c in "\t\n\r"):
            raise ValueError(f"query {q!r} holds a tab or a line end; write it to a .jsonl file.")
    write_atomic(path, (f"{q}\t{text}\n" for q, text in zip(frame["query_id"], frame["text"])))
