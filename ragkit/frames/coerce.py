"""Coercion at the door: whatever a user holds becomes one of the tidy frames of the data model.

Inputs are recognised by their shape, never by importing the library they come from.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ragkit.frames.checks import check_frame
from ragkit.frames.ids import as_ids, check_unique, id_array
from ragkit.frames.messages import count
from ragkit.frames.mixups import brief, hint_for_item, refuse_mixup, warn_of_path
from ragkit.frames.ranking import (
    check_ranks,
    check_scores,
    rank_by_score,
    rank_order,
    unit_column,
)

_TEXT_ATTRIBUTES = ("page_content", "content", "text")  # LangChain, Haystack, LlamaIndex
_META_ATTRIBUTES = ("metadata", "meta")
_ID_ATTRIBUTES = ("id", "id_", "node_id", "doc_id")


def as_docs(docs: Any, *, start: int = 0, need_text: bool = True) -> pd.DataFrame:
    """Make a documents frame of anything that holds documents.

    Parameters
    ----------
    docs : str, list of str, dict, Series, DataFrame, or objects with a text and metadata
        A dict maps id to text (or to a dict of columns). A list may hold strings, dicts of columns, or
        LangChain, LlamaIndex and Haystack documents, which are recognised by their attributes. A
        DataFrame needs ``doc_id, text``; with ``chunk_id`` its rows are chunks.
    start : int, default=0
        Number of the first document that comes without an id: bare strings are called ``"0", "1", ...``.
    need_text : bool, default=True
        Whether ``text`` must be there; stores of vectors do without.

    Returns
    -------
    DataFrame
        ``doc_id, text`` and whatever else came along, with a fresh index.

    Raises
    ------
    TypeError
        If documents of this type are not understood, or a text is not a string.
    ValueError
        If a column or a text is missing, or an id stands twice.

    See Also
    --------
    as_queries : The same for queries.

    Examples
    --------
    >>> as_docs(["red fox", "blue whale"])["doc_id"].tolist()
    ['0', '1']
    >>> as_docs({"fox": "red fox"}).values.tolist()
    [['fox', 'red fox']]
    """
    warn_of_path(docs)
    frame = _as_text_frame(docs, "doc_id", "docs", start, need_text)
    unit = unit_column(frame, "docs")
    if unit == "chunk_id":
        frame = frame.assign(chunk_id=as_ids(frame["chunk_id"], "chunk_id"))
    check_unique(frame[unit], "docs", unit)
    return frame


def as_queries(queries: Any) -> pd.DataFrame:
    """Make a queries frame of anything that holds queries.

    Parameters
    ----------
    queries : str, list of str, dict, Series or DataFrame
        A DataFrame needs ``query_id, text``; a dict maps id to text; bare strings are numbered from 0.

    Returns
    -------
    DataFrame
        ``query_id, text`` and whatever else came along, with a fresh index.

    Raises
    ------
    TypeError
        If queries of this type are not understood, or a text is not a string.
    ValueError
        If a column or a text is missing, or an id stands twice.

    See Also
    --------
    as_docs : The same for documents.

    Examples
    --------
    >>> as_queries("what do foxes eat?").values.tolist()
    [['0', 'what do foxes eat?']]
    """
    frame = _as_text_frame(queries, "query_id", "queries", 0, True)
    check_unique(frame["query_id"], "queries", "query_id")
    return frame


def as_qrels(qrels: Any) -> pd.DataFrame:
    """Make a judgements frame of anything that holds judgements.

    Parameters
    ----------
    qrels : DataFrame, dict or iterable of tuples
        A DataFrame needs ``query_id, doc_id, relevance`` (and may have ``subtopic``); a dict maps query
        to document to grade, as in BEIR and pytrec_eval; tuples are ``(query_id, doc_id, relevance)``,
        as in ir_measures.

    Returns
    -------
    DataFrame
        ``query_id, doc_id, relevance`` with whole-number grades; a grade above 0 is relevant.

    Raises
    ------
    ValueError
        If a column is missing, a grade is not a whole number, or a judgement stands twice.

    Examples
    --------
    >>> as_qrels({"q1": {"a": 2, "b": 0}}).values.tolist()
    [['q1', 'a', 2], ['q1', 'b', 0]]
    """
    columns = ["query_id", "doc_id", "relevance"]
    frame = _as_pairs(qrels, columns, "qrels")
    frame = frame.assign(
        query_id=as_ids(frame["query_id"], "query_id"), doc_id=as_ids(frame["doc_id"], "doc_id")
    )
    grades = pd.to_numeric(frame["relevance"], errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    bad = np.flatnonzero(~np.isfinite(grades) | (grades != np.floor(grades)) | (np.abs(grades) > 1e9))
    if len(bad):
        row = frame.iloc[bad[0]]
        raise ValueError(
            f"qrels' relevance must hold whole numbers; query {row['query_id']!r}, document "
            f"{row['doc_id']!r} has {brief(row['relevance'])}. Round or rescale the grades first."
        )
    frame = frame.assign(relevance=grades.astype(np.int64))
    key = ["query_id", "doc_id"] + (["subtopic"] if "subtopic" in frame.columns else [])
    twice = frame.duplicated(key)
    if twice.any():
        row = frame[twice].iloc[0]
        raise ValueError(
            f"qrels judges {int(twice.sum())} pairs twice, the first query {row['query_id']!r}, document "
            f"{row['doc_id']!r}; keep one row for each of {key}."
        )
    return frame


def as_run(run: Any) -> pd.DataFrame:
    """Make a run of anything that holds ranked results, sorted by query and rank.

    Parameters
    ----------
    run : DataFrame, dict or iterable of tuples
        A DataFrame needs ``query_id``, ``doc_id`` (or ``chunk_id, doc_id``) and ``rank`` or ``score``; a
        dict maps query to ``{document: score}`` or to an ordered list of documents; tuples are
        ``(query_id, doc_id, score)``, as in ir_measures.

    Returns
    -------
    DataFrame
        A run. Ranks that are there decide and are kept; otherwise :func:`rank_by_score` gives them.
        An ordered list without scores gets ``1 / rank`` as its score.

    Raises
    ------
    ValueError
        If a column is missing, a score is NaN or infinite, or a query uses a rank twice.

    See Also
    --------
    rank_by_score : The tie rule.

    Examples
    --------
    >>> as_run({"q1": {"a": 0.2, "b": 0.9}})[["doc_id", "rank"]].values.tolist()
    [['b', 1], ['a', 2]]
    >>> as_run({"q1": ["x", "y"]})[["doc_id", "rank", "score"]].values.tolist()
    [['x', 1, 1.0], ['y', 2, 0.5]]
    """
    if _is_ordered_lists(run):
        frame = _ordered_lists(run)
    else:
        frame = _as_pairs(run, ["query_id", "doc_id", "score"], "run")
    check_frame(frame, ["query_id"], "run")
    unit = unit_column(frame)
    check_frame(frame, ["query_id", unit, "doc_id"], "run")
    ids = dict.fromkeys(["query_id", unit, "doc_id"])
    frame = frame.assign(**{name: as_ids(frame[name], name) for name in ids})
    if "rank" not in frame.columns:
        check_frame(frame, ["query_id", unit, "score"], "run without ranks")
        return rank_by_score(frame)
    ranks = check_ranks(frame["rank"], frame["query_id"])
    order = rank_order(frame["query_id"], ranks)
    if frame["rank"].dtype != np.int64:
        frame = frame.assign(rank=ranks)
    scores = check_scores(frame["score"], frame["query_id"], frame[unit]) if "score" in frame else 1.0 / ranks
    if "score" not in frame or frame["score"].dtype != scores.dtype:  # a column that is right is not copied
        frame = frame.assign(score=scores)
    return frame if order is None else frame.iloc[order].reset_index(drop=True)


def empty_run(unit: str = "doc_id") -> pd.DataFrame:
    """Make a run without rows that has the right columns and dtypes.

    Parameters
    ----------
    unit : {"doc_id", "chunk_id"}, default="doc_id"
        What is retrieved.

    Returns
    -------
    DataFrame
        ``query_id, [chunk_id,] doc_id, rank, score``.
    """
    names = ["query_id", *(["chunk_id"] if unit == "chunk_id" else []), "doc_id"]
    columns: dict[str, pd.Series] = {name: pd.Series([], dtype="str") for name in names}
    return pd.DataFrame(
        columns | {"rank": pd.Series([], dtype=np.int64), "score": pd.Series([], dtype=np.float64)}
    )


def deep_copy(frame: pd.DataFrame) -> pd.DataFrame:
    """Copy a frame and the lists and dicts in its cells, so that nothing is shared with the caller.

    Parameters
    ----------
    frame : DataFrame
        Any frame.

    Returns
    -------
    DataFrame
        The copy.
    """
    out = frame.copy()
    for name in out.columns:
        if out[name].dtype == object and pd.api.types.infer_dtype(out[name], skipna=True) not in (
            "string",
            "empty",
        ):
            out[name] = pd.Series([copy.deepcopy(v) for v in out[name]], index=out.index, dtype=object)
    return out


def _as_text_frame(items: Any, id_name: str, what: str, start: int, need_text: bool) -> pd.DataFrame:
    """Build the frame ``id_name, text, ...`` of documents or queries."""
    if type(items) is str:
        items = [items]
    if type(items) is list and set(map(type, items)) == {str}:  # bare strings: there is nothing to check
        return pd.DataFrame({id_name: [str(start + n) for n in range(len(items))], "text": items})
    if isinstance(items, pd.DataFrame):
        needed = [id_name, "text"] if need_text else [id_name]
        frame = check_frame(items, needed, what).reset_index(drop=True)
    elif isinstance(items, pd.Series):
        frame = pd.DataFrame({id_name: items.index.to_numpy(), "text": items.to_numpy()})
    else:
        frame = _from_objects(items, id_name, what, start)
    ids = as_ids(frame[id_name], id_name)
    frame = frame.assign(**{id_name: ids})
    if not need_text and len(frame) and "text" in frame.columns and frame["text"].isna().all():
        frame = frame.drop(columns="text")
    if "text" in frame.columns:
        if not len(frame):  # an empty column is of any dtype; what follows relies on strings
            frame = frame.assign(text=frame["text"].astype("str"))
        _check_texts(frame["text"], ids, what)
    return frame


def _from_objects(items: Any, id_name: str, what: str, start: int) -> pd.DataFrame:
    refuse_mixup(items, what)
    if isinstance(items, str) or _is_document(items):
        items = [items]
    if isinstance(items, Mapping):
        pairs: list[tuple[Any, Any]] = list(items.items())
        if None in items:
            raise ValueError(f"{what} as a dict has the key None, which is no id; give every text an id.")
    elif isinstance(items, Iterable) and not isinstance(items, (bytes, bytearray)):
        pairs = [(None, item) for item in items]
    else:
        raise TypeError(
            f"{what} must be a str, a list of str, a dict of id to text, a Series or a DataFrame; "
            f"got {type(items).__name__}."
        )
    if pairs and {type(item) for _, item in pairs} == {str}:  # as most often: no row need be looked at
        ids = [str(start + n) if key is None else key for n, (key, _) in enumerate(pairs)]
        return pd.DataFrame({id_name: _column(ids), "text": [item for _, item in pairs]})
    rows = [_row(key, item, id_name, what, start + n) for n, (key, item) in enumerate(pairs)]
    if not rows:
        return pd.DataFrame({id_name: pd.Series([], dtype="str"), "text": pd.Series([], dtype="str")})
    names = list(dict.fromkeys([id_name, "text", *(name for row in rows for name in row)]))
    return pd.DataFrame({name: _column([row.get(name) for row in rows]) for name in names})


def _row(key: Any, item: Any, id_name: str, what: str, number: int) -> dict[str, Any]:
    """Turn one item, and its key in a dict, into a row."""
    if isinstance(item, str):
        row: dict[str, Any] = {"text": item}
    elif isinstance(item, Mapping):
        row = {str(name): value for name, value in item.items()}
        if id_name not in row and "_id" in row:  # BEIR's name
            row[id_name] = row.pop("_id")
    elif _is_document(item):
        meta: Mapping = next(
            (getattr(item, a) for a in _META_ATTRIBUTES if isinstance(getattr(item, a, None), Mapping)), {}
        )
        row = {
            f"metadata_{name}" if name == "text" else str(name): copy.deepcopy(v) for name, v in meta.items()
        }
        row["text"] = next(getattr(item, a) for a in _TEXT_ATTRIBUTES if hasattr(item, a))
        given = next((getattr(item, a) for a in _ID_ATTRIBUTES if getattr(item, a, None) is not None), None)
        if given is not None:
            row[id_name] = given
    elif item is None or item is pd.NA or (isinstance(item, float) and item != item):
        row = {"text": None}
    else:
        hint = hint_for_item(item, what) if key is None else ""
        raise TypeError(
            f"{what} item {number} must be a string, a dict or a document; "
            f"got {brief(item)} of type {type(item).__name__}.{hint}"
        )
    if key is not None:
        row[id_name] = key
    row.setdefault(id_name, str(number))
    return row


def _is_document(item: Any) -> bool:
    """Recognise a document of LangChain, LlamaIndex or Haystack by its attributes."""
    if isinstance(item, (str, Mapping, pd.DataFrame, pd.Series, np.ndarray)):
        return False
    return any(hasattr(item, a) for a in _TEXT_ATTRIBUTES) and any(hasattr(item, a) for a in _META_ATTRIBUTES)


def _column(values: list) -> Any:
    """Make a column of cells, where a cell that is a list or a dict stays one cell."""
    if any(isinstance(value, (list, tuple, dict, set, np.ndarray)) for value in values):
        return pd.Series(id_array(values), dtype=object)
    return values


def _check_texts(texts: pd.Series, ids: pd.Series, what: str) -> None:
    """Raise unless every text is a string; the message names the row."""
    absent = np.flatnonzero(texts.isna())
    if len(absent):
        raise ValueError(
            f"{what} has {count(len(absent), 'row')} without text, the first {ids.iloc[absent[0]]!r}; "
            "write '' for an empty text or drop the row."
        )
    if len(texts) and pd.api.types.infer_dtype(texts, skipna=False) != "string":
        row, value = next((n, v) for n, v in enumerate(texts) if not isinstance(v, str))
        raise TypeError(
            f"{what}' text must be a string; {ids.iloc[row]!r} has {value!r} of type {type(value).__name__}."
        )


def _as_pairs(data: Any, columns: list[str], what: str) -> pd.DataFrame:
    """Read a frame, a dict of dicts, or tuples as ``query, document, number``."""
    if isinstance(data, pd.DataFrame):
        check_frame(data, columns[:1] if what == "run" else columns, what)
        return data.reset_index(drop=True)
    refuse_mixup(data, what)
    query, doc, number = columns
    if isinstance(data, Mapping):
        _check_nested(data, what)
        rows = [(q, d, value) for q, inner in data.items() for d, value in inner.items()]
    elif isinstance(data, Iterable) and not isinstance(data, (str, bytes)):
        rows = [_triple(row, columns, what) for row in data]
    else:
        raise TypeError(
            f"{what} must be a DataFrame, a dict of dicts or tuples {tuple(columns)}; "
            f"got {type(data).__name__}."
        )
    if not rows:
        dtype = np.float64 if number == "score" else np.int64
        return pd.DataFrame(
            {
                query: pd.Series([], dtype="str"),
                doc: pd.Series([], dtype="str"),
                number: pd.Series([], dtype=dtype),
            }
        )
    q, d, values = zip(*rows, strict=True)
    return pd.DataFrame({query: list(q), doc: list(d), number: list(values)})


def _check_nested(data: Mapping, what: str) -> None:
    """Refuse a dict whose values are not dicts."""
    flat = next(((q, inner) for q, inner in data.items() if not isinstance(inner, Mapping)), None)
    if flat is None:
        return
    form = "{query_id: {doc_id: grade}}, such as {'q1': {'d1': 3}}"
    if what == "run":
        form = "{query_id: {doc_id: score}}, such as {'q1': {'d1': 0.9}}, or {query_id: [doc_id, ...]}"
    query, inner = flat
    raise TypeError(f"{what} as a dict must be {form}; got {{{query!r}: {brief(inner)}}}.")


def _triple(row: Any, columns: list[str], what: str) -> tuple:
    """Take the first three fields of a tuple."""
    fields = () if isinstance(row, (str, bytes, Mapping)) or not isinstance(row, Iterable) else tuple(row)
    if len(fields) < 3:
        raise ValueError(f"{what} must hold tuples of three, {tuple(columns)}; got {brief(row)}.")
    return fields[:3]


def _is_ordered_lists(run: Any) -> bool:
    return isinstance(run, Mapping) and bool(run) and all(isinstance(v, (list, tuple)) for v in run.values())


def _ordered_lists(run: Mapping) -> pd.DataFrame:
    rows = [(q, d, rank) for q, docs in run.items() for rank, d in enumerate(docs, 1)]
    if not rows:
        return empty_run()
    q, d, ranks = zip(*rows, strict=True)
    return pd.DataFrame({"query_id": list(q), "doc_id": list(d), "rank": list(ranks)})
