"""Saving a whole data set as a BEIR folder."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ragkit.datasets.columns import cells
from ragkit.datasets.dataset import Dataset, Vectors, data_file, spans_file, split_files
from ragkit.datasets.files import write_atomic
from ragkit.datasets.qrels import read_qrels, write_qrels
from ragkit.datasets.texts import json_rows, read_docs, read_queries, write_queries
from ragkit.frames import as_docs, as_ids, as_qrels, as_queries, check_frame, some
from ragkit.frames.mixups import brief

_SPANS = ["query_id", "doc_id", "start", "end"]


def save_dataset(data: Dataset, folder: Any, *, split: str = "test") -> None:
    """Write a data set as a BEIR folder, with what :func:`load_dataset` reads.

    Parameters
    ----------
    data : Dataset, or tuple (docs, queries, qrels, spans, vectors)
        None where there is nothing.
    folder : str or path
        Made if it is not there; nothing in it changes unless all can be written.
    split : str, default="test"
        Name of the judgements' file. Other splits of the same documents may stand beside it, as long as the
        queries that they judge are among those saved.

    Raises
    ------
    ValueError
        If the folder holds parts of another data set that the new one lacks, which :func:`load_dataset`
        would mix with it; or for what the files cannot hold: a column called ``_id``, cells that are no
        JSON, ids with tabs or with blanks at an edge in judgements and spans.

    See Also
    --------
    load_dataset : The other way.
    """
    if not isinstance(data, tuple) or len(data) > len(Dataset._fields):
        raise TypeError(f"save_dataset needs a Dataset, or a tuple {Dataset._fields}; got {brief(data)}.")
    if not re.fullmatch(r"[\w.-]+", split) or split.startswith("."):
        raise ValueError(f"split must be a plain file name; got {split!r}.")
    parts = _checked(Dataset(*data))
    home = Path(folder).expanduser()
    if home.exists() and not home.is_dir():
        raise ValueError(f"folder must be a folder; {str(home)!r} is a file.")
    home.mkdir(parents=True, exist_ok=True)
    _refuse_mixture(home, parts, split)
    with tempfile.TemporaryDirectory(dir=home, prefix=".saving-") as made:
        _write(parts, Path(made), split)
        for file in sorted(f for f in Path(made).rglob("*") if f.is_file()):
            target = home / file.relative_to(made)
            target.parent.mkdir(exist_ok=True)
            os.replace(file, target)


def save_once(data: Dataset, folder: Path) -> None:
    """Write a new data set beside its place, then rename the whole folder into it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}-"))
    try:
        save_dataset(data, temporary)
        os.chmod(temporary, 0o755)
        os.rename(temporary, folder)
    except OSError:
        # Another process was faster: its folder is as good.
        if not (folder / "corpus.jsonl").is_file():
            raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _checked(parts: Dataset) -> Dataset:
    """Bring every part into its own form."""
    docs = as_docs(parts.docs)
    queries = None if parts.queries is None else as_queries(parts.queries)
    qrels = None if parts.qrels is None else as_qrels(parts.qrels)
    spans = None if parts.spans is None else check_frame(parts.spans, _SPANS, "spans")[_SPANS]
    if parts.vectors is None:
        return Dataset(docs, queries, qrels, spans)
    of_docs, of_queries = parts.vectors
    rows = [("docs", of_docs, docs), ("queries", of_queries, queries)]
    for name, vectors, frame in rows:
        if vectors is not None and frame is not None and np.shape(vectors)[0] != len(frame):
            raise ValueError(
                f"vectors.{name} needs a row for each of {len(frame)} {name}; got {np.shape(vectors)[0]}."
            )
    return Dataset(docs, queries, qrels, spans, Vectors(of_docs, None if queries is None else of_queries))


def _refuse_mixture(home: Path, parts: Dataset, split: str) -> None:
    """Refuse a folder where parts of another data set would be read with the new one."""
    old: dict[str, Any] = {
        "queries": data_file(home, "queries"),
        "spans": spans_file(home),
        "vectors": data_file(home, "vectors", (".npz",)),
    }
    left = [file for name, file in old.items() if file is not None and getattr(parts, name) is None]
    splits: dict[str, Any] = dict(split_files(home))
    own = home / "qrels" / f"{split}.tsv"
    if parts.qrels is not None and splits.get(split) == own:
        del splits[split]
    if split in splits or not _belong(list(splits.values()), home, parts):
        left += splits.values()
    if left:
        names = some(file.relative_to(home).as_posix() for file in left)
        raise ValueError(
            f"{str(home)!r} holds {names} of another data set, which load_dataset would mix with the new "
            "one; choose another folder, or remove them first."
        )


def _belong(others: list[Any], home: Path, parts: Dataset) -> bool:
    """Say whether other splits judge the same documents, and queries that are still there."""
    corpus, queries = data_file(home, "corpus"), data_file(home, "queries")
    if not others or corpus is None or parts.qrels is None:
        return not others
    same = (
        read_docs(corpus)[["doc_id", "text"]].values.tolist()
        == parts.docs[["doc_id", "text"]].values.tolist()
    )
    if not same or queries is None or parts.queries is None:
        return same
    judged = {query for file in others for query in read_qrels(file)["query_id"]}
    return judged & set(read_queries(queries)["query_id"]) <= set(parts.queries["query_id"])


def _write(parts: Dataset, home: Path, split: str) -> None:
    write_atomic(home / "corpus.jsonl", json_rows(parts.docs, "doc_id"))
    if parts.queries is not None:
        write_queries(parts.queries, home / "queries.jsonl")
    if parts.qrels is not None:
        (home / "qrels").mkdir()
        write_qrels(parts.qrels, home / "qrels" / f"{split}.tsv")
    if parts.spans is not None:
        write_atomic(home / "spans.tsv", _span_lines(parts.spans))
    if parts.vectors is not None:
        _write_vectors(home / "vectors.npz", parts, parts.vectors)


def _span_lines(spans: pd.DataFrame) -> list[str]:
    ids = (cells(as_ids(spans[name], name), name) for name in _SPANS[:2])
    rows = zip(*ids, *(_offsets(spans[name], name) for name in _SPANS[2:]))
    return ["query-id\tcorpus-id\tstart\tend\n", *(f"{q}\t{d}\t{s}\t{e}\n" for q, d, s, e in rows)]


def _offsets(values: pd.Series, name: str) -> list[int]:
    numbers = pd.to_numeric(values, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    bad = ~((numbers >= 0) & np.isfinite(numbers) & (numbers == np.floor(numbers)))
    if bad.any():
        raise ValueError(
            f"spans' {name} must hold whole numbers from 0; got {brief(values.iloc[int(bad.argmax())])}."
        )
    return numbers.astype(np.int64).tolist()


def _write_vectors(path: Path, parts: Dataset, vectors: Vectors) -> None:
    arrays = {"doc_ids": np.array(list(parts.docs["doc_id"]), dtype=str), "docs": vectors.docs}
    if vectors.queries is not None and parts.queries is not None:
        arrays["query_ids"] = np.array(list(parts.queries["query_id"]), dtype=str)
        arrays["queries"] = vectors.queries
    np.savez_compressed(path, allow_pickle=False, **arrays)  # type: ignore[arg-type]
