"""Runs in files: TREC's six columns, JSONL, CSV and parquet."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ragkit.datasets.columns import finite, named, words
from ragkit.datasets.files import is_table, lines, need_file, refuse_table, table, write_atomic
from ragkit.frames import as_run, check_choice, rank_by_score, unit_column, warn
from ragkit.frames.messages import count


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
    if is_table(found):
        return _run_table(table(found, encoding), found.name)
    rows = []
    for number, text in lines(found, encoding):
        fields = text.split()
        if len(fields) != 6:
            raise ValueError(
                f"{found.name}, line {number} has {count(len(fields), 'field')}; a run has 6: query, Q0, "
                "document, rank, score, tag (one word)."
            )
        rank = finite(fields[3], "rank", found.name, number) if order == "rank" else 0.0
        rows.append((fields[0], fields[2], rank, finite(fields[4], "score", found.name, number)))
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
    frame = named(frame, ("query_id", "doc_id"), what)
    for name in ("rank", "score"):
        if name in frame.columns:
            numbers = pd.to_numeric(frame[name], errors="coerce").to_numpy(np.float64, na_value=np.nan)
            for at in np.flatnonzero(~np.isfinite(numbers))[:1]:
                finite(str(frame[name].iloc[at]), name, what, int(at) + 1, "record")
            frame[name] = numbers
    return as_run(frame)


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
        If an id or the tag holds blanks, which the format cannot hold, or the name ends as that of a table
        (``.csv``, ``.jsonl``).

    Warns
    -----
    RetrievalWarning
        If scores do not fall with the rank (after MMR, say): trec_eval would order the run anew.

    See Also
    --------
    read_run : The other way.
    """
    check_choice("score", score, ["score", "rank"])
    refuse_table(path, "write_run", "'.txt' or '.run'")
    frame = as_run(run)
    unit = unit_column(frame)
    query, docs = words(frame["query_id"], "query_id"), words(frame[unit], unit)
    words(pd.Series([tag]), "tag")
    values = frame["score"] if score == "score" else 1.0 / frame["rank"]
    if score == "score":
        warn_of_order(frame, "write_run", "trec_eval and read_run", "write_run(..., score='rank')")
    write_atomic(
        path,
        (
            f"{q} Q0 {d} {r} {s!r} {tag}\n"
            for q, d, r, s in zip(query, docs, frame["rank"].tolist(), values.astype(float).tolist())
        ),
    )


def warn_of_order(run: pd.DataFrame, who: str, reader: str, remedy: str) -> None:
    """Warn if the scores order the run otherwise than its ranks, for what reads scores alone."""
    unit = unit_column(run)
    if not rank_by_score(run)[unit].astype(object).equals(run[unit].astype(object)):
        warn(
            f"{who}: the run's scores do not fall with its rank, so {reader} would order it anew; {remedy} "
            "keeps the order."
        )
