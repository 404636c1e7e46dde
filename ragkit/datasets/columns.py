"""Columns of other packages' files under our names, and the fields of a line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ragkit.datasets.archives import Readable
from ragkit.datasets.files import lines

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
    by_lower = {str(column).strip().lower(): column for column in reversed(list(frame.columns))}
    renames: dict[Any, str] = {}
    for name in needed:
        found = next((by_lower[s] for s in NAMES[name] if s in by_lower and by_lower[s] not in renames), None)
        if found is None and name == "text" and "title" in by_lower:
            continue
        if found is None:
            raise ValueError(
                f"{what} needs a field {name!r} (or {NAMES[name][1:]}); found {list(frame.columns)}."
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


def split_lines(path: Readable, encoding: str) -> list[tuple[int, list[str], str]]:
    """Cut each line at blanks and tabs; where that gives too many pieces, at tabs: ids may hold blanks."""
    out = []
    for number, text in lines(path, encoding):
        fields = text.split()
        if len(fields) > 4 and text.count("\t") in (2, 3):
            fields = [field.strip() for field in text.split("\t")]
        out.append((number, fields, text))
    return out


def finite(text: str, name: str, what: str, number: int, unit: str = "line") -> float:
    """Read a finite number of a line or a record."""
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise ValueError(f"{what}, {unit} {number}: {name} must be a finite number; got {text!r}.")
    return value


def words(values: pd.Series, name: str) -> list[str]:
    """Check that no value holds blanks, which separate TREC's columns."""
    listed = values.astype(object).tolist()
    for value in listed:
        if not value or len(value.split()) != 1 or value != value.strip():
            raise ValueError(f"{name} {value!r} holds blanks, which TREC's format cannot hold; rename it.")
    return listed
