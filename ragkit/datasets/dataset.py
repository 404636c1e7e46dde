"""What a data set is, and where its parts lie in a folder."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ragkit.datasets.archives import Readable

_TABLES = (".jsonl", ".jsonl.gz", ".json", ".ndjson", ".tsv", ".tsv.gz", ".csv", ".csv.gz", ".parquet")
_JUDGEMENTS = re.compile(r"\.(tsv|txt|csv|jsonl|qrels|parquet)(\.gz)?$")


class Vectors(NamedTuple):
    """Ready vectors of a data set: one row per row of its documents and of its queries."""

    docs: np.ndarray
    queries: np.ndarray | None


class Dataset(NamedTuple):
    """Documents with queries and judgements; what a data set lacks is None."""

    docs: pd.DataFrame
    queries: pd.DataFrame | None = None
    qrels: pd.DataFrame | None = None
    spans: pd.DataFrame | None = None
    vectors: Vectors | None = None

    def __repr__(self) -> str:
        parts = []
        for name, part in zip(self._fields, self):
            if isinstance(part, pd.DataFrame):
                parts.append(f"{name}: {len(part):,} rows of {', '.join(map(str, part.columns))}")
            elif part is not None:
                parts.append(f"{name}: {part.docs.shape[1]} dimensions")
        return "Dataset(" + "; ".join(parts) + ")"


def data_file(folder: Readable, stem: str, endings: tuple[str, ...] = _TABLES) -> Readable | None:
    """Find the file with one part; the first ending that is there counts."""
    return next((folder / (stem + e) for e in endings if (folder / (stem + e)).is_file()), None)


def spans_file(folder: Readable) -> Readable | None:
    """Find the gold passages."""
    return data_file(folder, "spans", (".tsv", ".tsv.gz"))


def split_files(folder: Readable) -> dict[str, Readable]:
    """Find the judgements by split: in ``qrels/``, and those beside the corpus, which are the test's."""
    found: dict[str, Readable] = {}
    inside = folder / "qrels"
    files: list[Any] = sorted(inside.iterdir(), key=lambda f: f.name) if inside.is_dir() else []
    for file in files:
        if file.is_file() and not file.name.startswith("."):
            found[_JUDGEMENTS.sub("", file.name)] = file
    alone = data_file(folder, "qrels", (".tsv", ".tsv.gz", ".txt", ".txt.gz", ".csv", ".jsonl", ".parquet"))
    if alone is not None:
        found.setdefault("test", alone)
    return found
