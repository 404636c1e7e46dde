"""Loading whole data sets: BEIR folders and archives, and the corpora that come with the package."""

from __future__ import annotations

import difflib
import io
import os
import re
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ragkit.datasets.archives import Readable, TarPath, open_bytes
from ragkit.datasets.columns import NAMES
from ragkit.datasets.dataset import Dataset, Vectors, data_file, spans_file, split_files
from ragkit.datasets.files import as_path, lines
from ragkit.datasets.qrels import read_qrels
from ragkit.datasets.saving import save_once
from ragkit.datasets.texts import read_docs, read_queries
from ragkit.frames import check_choice, some, warn
from ragkit.frames.messages import count
from ragkit.frames.mixups import brief


def load_dataset(
    name: Any, *, split: str | None = None, join_title: bool = False, encoding: str = "utf-8"
) -> Dataset:
    """Load a teaching corpus by its name, or a BEIR folder or archive by its path.

    A folder holds ``corpus.jsonl`` and, where there are any, ``queries.jsonl``, ``qrels/<split>.tsv`` (or
    ``qrels.tsv``), ``spans.tsv`` (query-id, corpus-id, start, end) and ``vectors.npz`` (doc_ids, docs,
    query_ids, queries). Files may be gzipped, or CSV, TSV or parquet instead of JSONL. Of a zip or tar
    archive (``.tgz`` and the like too) nothing is unpacked to disk; one with names that lead out of it is
    refused.

    Parameters
    ----------
    name : str or path
        A name that :func:`list_datasets` gives, or a path.
    split : str, optional
        Which judgements; None is ``"test"``, or the only split there is. Queries without a judgement in
        the split are left out; without judgements all queries are there.
    join_title : bool, default=False
        Put the title before the text, separated by a blank, as BEIR does. Spans are moved along.
    encoding : str, default="utf-8"
        A byte-order mark is skipped; bytes that do not fit raise, naming the line.

    Returns
    -------
    Dataset
        A named tuple ``docs, queries, qrels, spans, vectors``; None where absent. ``vectors`` is a pair of
        arrays with one row per row of docs and queries.

    Raises
    ------
    ValueError
        For an unknown name or split, or a line that cannot be read.
    FileNotFoundError
        If the folder or its corpus is not there.

    Warns
    -----
    RetrievalWarning
        If a document judged relevant is not in the corpus, or a judged query has no text.

    See Also
    --------
    save_dataset : The other way.
    list_datasets : The names.
    drop_self : For ``"docstrings"``, whose queries are taken from documents.

    Notes
    -----
    ``"docstrings"`` is built when it is first asked for, from the docstrings of the numpy, scipy, pandas,
    scikit-learn and matplotlib that are installed, and kept in the user's cache folder by their versions. A
    query is the summary line of an object and has the object's name as its id; relevant are the objects
    that its "See Also" section names. The object itself is not judged: take it out of the ranking with
    :func:`drop_self` before evaluating.

    Ready vectors go into a store: the documents' by row, the queries' by text. A text that is not among the
    queries is embedded by the same model where that is installed, else ranked by the fallback::

        known = rk.TableEmbedder(data.queries["text"], data.vectors.queries, model=rk.installed_minilm())
        store = rk.VectorStore(
            data.docs, vectors=data.vectors.docs, query_embed=known, fallback=rk.LSAEmbedder()
        )

    Examples
    --------
    >>> data = load_dataset("toy")
    >>> len(data.docs), list(data.qrels.columns)
    (12, ['query_id', 'doc_id', 'relevance', 'subtopic'])
    """
    folder = _find(name)
    corpus = data_file(folder, "corpus")
    if corpus is None:
        raise FileNotFoundError(f"{folder} holds no corpus.jsonl; found {some(sorted(_names(folder)), 10)}.")
    docs = read_docs(corpus, encoding=encoding)
    queries_file, qrels_file = data_file(folder, "queries"), _qrels_file(folder, split)
    queries = None if queries_file is None else read_queries(queries_file, encoding=encoding)
    qrels = None if qrels_file is None else read_qrels(qrels_file, encoding=encoding)
    spans_path = spans_file(folder)
    spans = None if spans_path is None else _read_spans(spans_path, encoding)
    if spans is not None:
        _warn_of_lost_spans(docs, spans)
    if qrels is not None:
        _warn_of_dangling(docs, queries, qrels)
        if queries is not None:
            queries = queries[queries["query_id"].isin(qrels["query_id"])].reset_index(drop=True)
    vectors = _read_vectors(folder / "vectors.npz", docs, queries)
    if join_title and "title" in docs.columns:
        docs, spans = _with_titles(docs, spans)
    return Dataset(docs, queries, qrels, spans, vectors)


def list_datasets() -> pd.DataFrame:
    """List the data sets that :func:`load_dataset` knows by name.

    Returns
    -------
    DataFrame
        ``name, about``, one row per data set.

    Examples
    --------
    >>> "docstrings" in set(list_datasets()["name"])
    True
    """
    rows = [(name, _about(folder)) for name, folder in sorted(_corpora().items())]
    rows.append(("docstrings", "Docstrings of the installed scientific packages, judged by See Also."))
    return pd.DataFrame(rows, columns=["name", "about"])


def _about(folder: Path) -> str:
    """Give the first sentence of a corpus's card."""
    card = folder / "README.md"
    if not card.is_file():
        return ""
    prose = [line for line in card.read_text(encoding="utf-8").splitlines() if line and line[0] not in "#|-"]
    return re.split(r"(?<=[.:]) ", prose[0] if prose else "")[0].rstrip()


def _corpora() -> dict[str, Path]:
    """Find the corpora inside the package (a wheel) or beside it (the repository)."""
    package = Path(__file__).resolve().parent.parent
    for home in (package / "_corpora", package.parent / "datasets"):
        if home.is_dir():
            return {f.name: f for f in home.iterdir() if (f / "corpus.jsonl").is_file()}
    return {}


def _find(name: Any) -> Readable:
    """Turn a name or a path into the folder that holds ``corpus.*``."""
    known = _corpora()
    if isinstance(name, str) and name in known:
        return known[name]
    if name == "docstrings":
        return _docstrings()
    if not isinstance(name, (str, os.PathLike, zipfile.Path, TarPath)):
        raise TypeError(
            f"load_dataset needs the name of a data set, {sorted([*known, 'docstrings'])}, or a path; "
            f"got {brief(name)}."
        )
    path = as_path(name)
    if isinstance(path, (zipfile.Path, TarPath)):
        return _inside(path, str(name))
    if path.is_dir():
        return path
    if path.is_file():
        raise FileNotFoundError(
            f"{str(name)!r} is a file, neither a folder nor an archive; read_docs, read_queries, read_qrels "
            "and read_run read single files."
        )
    names = sorted([*known, "docstrings"])
    if isinstance(name, str) and not re.search(r"[\\/.]", name):
        near = difflib.get_close_matches(name, names, n=1)
        guess = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(
            f"unknown data set {name!r}; choose one of {names}, or give the path of a folder.{guess}"
        )
    raise FileNotFoundError(f"there is no folder or archive {str(name)!r}; the known data sets are {names}.")


def _docstrings() -> Path:
    """Give the cached corpus of the versions installed, made when it is first asked for."""
    from ragkit.datasets import docstrings

    versions = docstrings.installed_versions()
    folder = docstrings.cached_folder(versions)
    if not (folder / "corpus.jsonl").is_file():
        save_once(Dataset(*docstrings.docstring_frames(list(versions))), folder)
    return folder


def _inside(archive: Any, name: str) -> Readable:
    """Find the folder with the corpus in an archive: its root, or one not far below."""
    level = [archive]
    for _ in range(4):
        found = [folder for folder in level if data_file(folder, "corpus") is not None]
        if len(found) > 1:
            raise ValueError(
                f"{name} holds several data sets: {some([f.name for f in found], 20)}; unpack it, and give "
                "the folder of one."
            )
        if found:
            return found[0]
        level = [f for folder in level for f in sorted(folder.iterdir(), key=str) if f.is_dir()]
    raise FileNotFoundError(f"{name} holds no corpus.jsonl; found {some(sorted(_names(archive)), 10)}.")


def _names(folder: Readable) -> list[str]:
    return [f.name for f in folder.iterdir()]


def _qrels_file(folder: Readable, split: str | None) -> Readable | None:
    """Choose the judgements of a split."""
    found = split_files(folder)
    if split is not None:
        return found[check_choice("split", split, sorted(found))]
    if "test" in found or len(found) < 2:
        return found.get("test") or next(iter(found.values()), None)
    raise ValueError(f"the data set has the splits {sorted(found)}; choose one with split=.")


def _warn_of_dangling(docs: pd.DataFrame, queries: pd.DataFrame | None, qrels: pd.DataFrame) -> None:
    ghosts = qrels.loc[(qrels["relevance"] > 0) & ~qrels["doc_id"].isin(docs["doc_id"]), "doc_id"].unique()
    if len(ghosts):
        warn(
            f"the judgements name {len(ghosts)} relevant documents that the corpus lacks ({some(ghosts)}); "
            "no search can find them, so recall cannot reach 1. Drop those judgements, or mend the corpus."
        )
    if queries is not None:
        silent = qrels.loc[~qrels["query_id"].isin(queries["query_id"]), "query_id"].unique()
        if len(silent):
            warn(
                f"the judgements name {len(silent)} queries that have no text ({some(silent)}); they would "
                "count as 0. Drop those judgements, or add the queries."
            )


def _warn_of_lost_spans(docs: pd.DataFrame, spans: pd.DataFrame) -> None:
    length = spans["doc_id"].astype(object).map(dict(zip(docs["doc_id"], docs["text"].str.len())))
    beyond = spans[~(spans["end"] <= length.fillna(0))]
    if len(beyond):
        warn(
            f"{count(len(beyond), 'span')} of {len(spans)} lie beyond the text of their document, or name "
            f"one that the corpus lacks ({some(beyond['doc_id'].unique())}): no search can find them. Mend "
            "or drop them."
        )


def _read_spans(path: Readable, encoding: str) -> pd.DataFrame:
    names = ["query_id", "doc_id", "start", "end"]
    rows = [(number, text.split("\t")) for number, text in lines(path, encoding)]
    if rows and rows[0][1][0].strip().lower() in NAMES["query_id"]:
        rows = rows[1:]
    for number, row in rows:
        if len(row) != 4 or not all(re.fullmatch(r"\s*[0-9]+\s*", cell) for cell in row[2:]):
            raise ValueError(
                f"{path.name}, line {number} must hold query, document, start and end, separated by tabs."
            )
    table = {name: [row[n].strip() for _, row in rows] for n, name in enumerate(names)}
    frame = pd.DataFrame(table, columns=names)
    ids = {name: frame[name].astype("str") for name in names[:2]}
    return frame.assign(**ids, start=frame["start"].astype(np.int64), end=frame["end"].astype(np.int64))


def _read_vectors(path: Readable, docs: pd.DataFrame, queries: pd.DataFrame | None) -> Vectors | None:
    if not path.is_file():
        return None
    with open_bytes(path) as file:
        data = io.BytesIO(file.read())
    if not zipfile.is_zipfile(data):
        raise ValueError(f"{path.name} is damaged, or no npz archive; numpy.savez writes one.")
    with np.load(data, allow_pickle=False) as arrays:
        missing = {"doc_ids", "docs"} - set(arrays.files)
        if missing:
            raise ValueError(f"{path.name} lacks {sorted(missing)}; it holds {arrays.files}.")
        rows = _by_id(arrays["doc_ids"], arrays["docs"], docs["doc_id"], path.name)
        if queries is None or "queries" not in arrays.files:
            return Vectors(rows, None)
        return Vectors(rows, _by_id(arrays["query_ids"], arrays["queries"], queries["query_id"], path.name))


def _by_id(ids: np.ndarray, vectors: np.ndarray, wanted: pd.Series, what: str) -> np.ndarray:
    at = pd.Index(ids.astype(str).astype(object)).get_indexer(wanted.astype(object))
    if (at < 0).any():
        raise ValueError(f"{what} has no vector for {some(wanted[at < 0])}.")
    return vectors[at].astype(np.float64 if vectors.dtype == np.float64 else np.float32)


def _with_titles(docs: pd.DataFrame, spans: pd.DataFrame | None) -> tuple[pd.DataFrame, pd.DataFrame | None]:
    title = docs["title"].astype(object)
    odd = [n for n, value in enumerate(title) if not isinstance(value, str)]
    if odd:
        raise TypeError(
            f"join_title needs titles that are text; document {docs['doc_id'].iloc[odd[0]]!r} has "
            f"{brief(title.iloc[odd[0]])}. Write it in quotation marks, or load without join_title."
        )
    head = title.where(title == "", title + " ")
    joined = docs.assign(text=pd.Series((head + docs["text"].astype(object)).to_numpy(), dtype="str"))
    if spans is None:
        return joined, None
    moved = spans["doc_id"].astype(object).map(dict(zip(docs["doc_id"], head.map(len)))).fillna(0)
    shift = moved.to_numpy(dtype=np.int64)
    return joined, spans.assign(start=spans["start"] + shift, end=spans["end"] + shift)
