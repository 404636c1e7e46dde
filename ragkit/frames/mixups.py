"""Things given in the place of others: what they are, and what was meant."""

from __future__ import annotations

import difflib
import numbers
import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ragkit.frames.messages import some, warn

# What else people call the columns.
_ALSO = {
    "query_id": ("qid", "q_id", "query-id", "_id", "id", "topic", "topic_id"),
    "doc_id": ("docid", "docno", "did", "document_id", "corpus-id", "corpus_id", "_id", "id", "pid", "doc"),
    "chunk_id": ("_id", "id"),
    "text": ("content", "contents", "body", "page_content", "passage", "document", "query", "question"),
    "relevance": ("grade", "rel", "label", "judgement", "judgment"),
    "score": ("similarity", "sim", "relevance_score"),
}


def brief(value: Any, limit: int = 60) -> str:
    """Show a value in a message: short ones as they are, long ones cut, tables by their type."""
    if isinstance(value, (pd.DataFrame, pd.Series, np.ndarray)) or is_dataset(value):
        return f"a {type(value).__name__}"
    shown = repr(value.item() if isinstance(value, np.generic) else value)
    return shown if len(shown) <= limit else f"{shown[: limit - 3]}..."


def is_dataset(value: Any) -> bool:
    """Recognise what :func:`ragkit.load_dataset` returns."""
    return isinstance(value, tuple) and {"docs", "queries", "qrels"} <= set(getattr(value, "_fields", ()))


def is_store(value: Any) -> bool:
    """Recognise a store, or anything else that is searched."""
    return callable(getattr(value, "search", None)) and not isinstance(value, type)


def refuse_mixup(value: Any, what: str) -> None:
    """Raise if a data set, a store, or a collection of runs stands where one frame is meant.

    Parameters
    ----------
    value : object
        What was given for `what`.
    what : {"docs", "queries", "qrels", "run"}
        What it should be.
    """
    kind = type(value).__name__
    if is_dataset(value):
        meant = f"did you mean data.{what}?" if what != "run" else "search for data.queries first."
        raise TypeError(f"{what} got a {kind}; {meant}")
    if is_store(value):
        meant = {
            "docs": "pass its documents: store.docs.",
            "run": "a run is what its search returns: store.search(queries). Or are the arguments swapped?",
        }.get(what, "are the arguments swapped?")
        raise TypeError(f"{what} got a {kind}; {meant}")
    if isinstance(value, os.PathLike) or (
        isinstance(value, str) and what in ("qrels", "run") and {"/", "\\", "."} & set(value)
    ):
        raise TypeError(f"{what} got {brief(str(value))}; if that is a file, read it: read_{what}(path).")
    if what == "run" and (frames := _frames_in(value)):
        raise TypeError(
            f"run must be one run; got a {kind} of DataFrames, {some(frames, 3)}. Take one of them: "
            "evaluate and mmr take one run; compare and fuse take several."
        )


def hint_for_item(item: Any, what: str) -> str:
    """Say what was meant by an item that is no text: a vector, or a pair of id and text."""
    parts = item if isinstance(item, (list, tuple, np.ndarray)) else [item]
    if len(parts) and all(isinstance(part, numbers.Real) for part in parts):
        return " Vectors are given as vectors=."
    if len(parts) == 2 and all(isinstance(part, str) for part in parts):
        return f" Pairs of id and text are read as a dict: dict({what})."
    return ""


def _frames_in(value: Any) -> list[Any]:
    """List the keys of a dict, or the places of a list, that hold frames."""
    if isinstance(value, Mapping):
        return [key for key, item in value.items() if isinstance(item, pd.DataFrame)]
    if isinstance(value, (list, tuple)):
        return [n for n, item in enumerate(value) if isinstance(item, pd.DataFrame)]
    return []


def renaming(frame: pd.DataFrame, missing: Iterable[str], what: str) -> str:
    """Say how columns that are missing are had, where the frame has them under another name.

    Parameters
    ----------
    frame : DataFrame
        The frame that lacks columns.
    missing : iterable of str
        The columns it lacks.
    what : str
        What the frame is, in the caller's words.

    Returns
    -------
    str
        A sentence with a leading blank, or nothing.
    """
    missing = list(missing)
    names = [name for name in missing if name in frame.index.names]
    if names:
        return f" The index holds {some(names)}: use df.reset_index()."
    low = {str(c).casefold().replace(" ", "_"): str(c) for c in frame.columns}
    new: dict[str, str] = {}
    for find in (_alias, _near):  # a name that is surely another's comes before one that is spelt alike
        for name in missing:
            found = None if name in new.values() else find(name, low)
            if found:
                new[low.pop(found)] = name
    if new:
        return f" Rename first: df.rename(columns={new})."
    if what == "queries" and {"rank", "score"} <= set(frame.columns):
        return " This looks like a run; are the arguments swapped?"
    if what == "docs" and {"rank", "score"} <= set(frame.columns):
        return " This looks like a run, which carries no text: run.merge(docs, on='doc_id') adds it."
    if what == "docs" and "query_id" in frame.columns:
        return " These look like queries; are the arguments swapped?"
    if what.startswith("run") and "relevance" in frame.columns:
        return " These look like judgements; are the arguments swapped?"
    if what.startswith("qrels") and {"rank", "score"} & set(frame.columns):
        return " This looks like a run; are the arguments swapped?"
    if "text" in frame.columns and missing in (["doc_id"], ["query_id"]):
        return " Give every row an id, or pass the texts alone: df['text'].tolist() is numbered from 0."
    return ""


def _alias(name: str, low: Mapping[str, str]) -> str | None:
    """Find the column that is `name` in another case, or what others call it."""
    return next((other for other in (name, *_ALSO.get(name, ())) if other in low), None)


def _near(name: str, low: Mapping[str, str]) -> str | None:
    """Find a column that is spelt nearly like `name`; one that is a name in its own right is not it."""
    near = difflib.get_close_matches(name, [key for key in low if key not in _ALSO], n=1)
    return near[0] if near else None


def warn_of_path(items: Any) -> None:
    """Warn if a text given as a document is the path of a file or folder: it is not read.

    Parameters
    ----------
    items : object
        What was given as documents; a string, or a list that begins with one, is looked at.
    """
    text = items[0] if isinstance(items, (list, tuple)) and len(items) else items
    if not isinstance(text, str) or not 0 < len(text) < 256 or "\n" in text or "\0" in text:
        return
    if sum(map(str.isalnum, text)) < 2:  # ".", "/" and the like are paths everywhere, and texts first of all
        return
    if text is not items and not ("/" in text or "\\" in text or "." in text.strip(".")):
        return
    try:
        there = os.path.exists(os.path.expanduser(text))
    except (OSError, ValueError):
        return
    if there:
        warn(
            f"docs {text!r} is the path of a file or folder, but a string is taken as a document's text. "
            "Read the files first: {p.name: p.read_text() for p in pathlib.Path(folder).glob('*.txt')} is a "
            "dict of documents; read_docs(file) reads JSONL and CSV, load_dataset(folder) a BEIR folder."
        )
