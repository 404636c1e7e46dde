"""Columns of other packages' files under our names, and the fields of a line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from ragkit.datasets.archives import Readable
from ragkit.datasets.files import lines, with_header
from ragkit.frames.messages import count

NAMES = {
    "query_id": ("query_id", "query-id", "qid", "queryid", "topic", "_id", "id"),
    "doc_id": ("doc_id", "corpus-id", "docid", "docno", "corpus_id", "_id", "id"),
    "relevance": ("relevance", "score", "label", "rel", "grade"),
    "score": ("score",),
    "text": ("text", "query", "contents", "body"),
}


def named(frame: pd.DataFrame, needed: tuple[str, ...], what: str) -> pd.DataFrame:
    """Rename columns to ours; the first spelling that is there counts."""
    if not len(frame.columns):
        return pd.DataFrame({name: pd.Series([], dtype="str") for name in needed})
    frame = _renamed(frame, needed, what)
    for name in needed:
        missing = frame[name].isna().to_numpy()
        if name.endswith("_id") and missing.any():
            record = int(missing.argmax()) + 1
            raise ValueError(f"{what}, record {record} has no {name}; give every record an id.")
    return frame[[*needed, *(column for column in frame.columns if column not in needed)]]


def _renamed(frame: pd.DataFrame, needed: tuple[str, ...], what: str) -> pd.DataFrame:
    by_lower = {str(column).strip().lower(): column for column in reversed(list(frame.columns))}
    by_lower |= {column: column for column in frame.columns}
    renames: dict[Any, str] = {}
    for name in needed:
        found = next(
            (by_lower[s] for s in _spellings(name, needed) if by_lower.get(s) not in (None, *renames)), None
        )
        if found is None and name == "text" and "title" in by_lower:
            frame = frame.assign(text="")
        elif found is None:
            raise ValueError(
                f"{what} needs a field {name!r} (or {NAMES[name][1:]}); found {list(frame.columns)}."
            )
        elif found != name and name in frame.columns:
            raise ValueError(f"{what} has both {found!r} and {name!r}, and either may be the id; rename one.")
        else:
            renames[found] = name
    return frame.rename(columns=renames)


def _spellings(name: str, needed: tuple[str, ...]) -> tuple[str, ...]:
    """Say what a column may be called, the likeliest first.

    A text is called by its ``_id``, as BEIR writes it: a topic or docno beside that is metadata. In a table
    of pairs an ``_id`` is the number of a row.
    """
    first = ("_id", name, "id") if name.endswith("_id") and "text" in needed else ()
    return (*first, *(spelling for spelling in NAMES[name] if spelling not in first))


def tab_table(
    path: Readable, encoding: str, otherwise: list[str], is_header: Callable[[list[str]], bool]
) -> pd.DataFrame:
    """Read lines cut at tabs, where quotation marks are text, under their header or the names given."""
    rows = [(number, text.split("\t")) for number, text in lines(path, encoding)]
    header = bool(rows) and is_header(rows[0][1])
    names = rows[0][1] if header else otherwise
    for number, row in rows[header:]:
        if len(row) != len(names):
            raise ValueError(
                f"{path.name}, line {number} has {count(len(row), 'field')}; expected {len(names)}, "
                f"separated by tabs: {', '.join(names)}."
            )
    return with_header(names, [row for _, row in rows[header:]], path.name)


def as_number(text: str) -> float:
    """Read a number as C does; what Python allows besides (``1_0``, digits of other scripts) is none."""
    try:
        return float(text) if text.isascii() and "_" not in text else np.nan
    except ValueError:
        return np.nan


def finite(text: str, name: str, what: str, at: int, unit: str = "line") -> float:
    """Read a finite number of a line or a record."""
    value = as_number(text)
    if not np.isfinite(value):
        raise ValueError(f"{what}, {unit} {at}: {name} must be a finite number; got {text!r}.")
    return value


def words(values: pd.Series, name: str) -> list[str]:
    """Check that no value holds blanks, which separate TREC's columns."""
    listed = values.astype(object).tolist()
    for value in listed:
        if not value or len(value.split()) != 1 or value != value.strip():
            raise ValueError(f"{name} {value!r} holds blanks, which TREC's format cannot hold; rename it.")
    return listed


def cells(values: pd.Series, name: str) -> list[str]:
    """Check that ids can be cells of a table cut at tabs, whose readers take blanks off the edges."""
    listed = values.astype(object).tolist()
    for value in listed:
        if value != value.strip() or any(c in value for c in "\t\n\r"):
            raise ValueError(
                f"{name} {value!r} holds a tab or a line end, or has blanks at an edge, which TSV cannot "
                "hold; rename it."
            )
    return listed
