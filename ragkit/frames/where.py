"""Filters: the one meaning of ``where=`` everywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ragkit.frames.checks import is_bool
from ragkit.frames.coerce import deep_copy
from ragkit.frames.ids import as_ids
from ragkit.frames.messages import guess, some, warn
from ragkit.frames.mixups import brief
from ragkit.frames.ranking import unit_column


def where_mask(docs: pd.DataFrame, where: Any) -> np.ndarray | None:
    """Say which documents pass a filter.

    Parameters
    ----------
    docs : DataFrame
        The documents or chunks of a store, in the store's order.
    where : dict, callable, Series or None
        A dict of equalities (``{"year": 2020, "lang": ["en", "de"]}``; several values mean one of), a
        callable ``docs -> boolean Series``, or a boolean Series indexed by unit id. What is missing does not
        pass. Strings are never evaluated.

    Returns
    -------
    ndarray of bool or None
        One flag per document; None when nothing is filtered.

    Raises
    ------
    KeyError
        If a dict names a column that is not there.
    ValueError
        If a Series lacks a unit or holds one twice.
    TypeError
        If the filter is of another kind, asks for more than equality, or does not give booleans.

    Warns
    -----
    RetrievalWarning
        If a dict lets no document pass because the value that it names stands nowhere in its column.

    Examples
    --------
    >>> docs = pd.DataFrame({"doc_id": ["a", "b"], "text": ["x", "y"], "year": [2020, 2021]})
    >>> where_mask(docs, {"year": [2021, 2022]}).tolist()
    [False, True]
    """
    if where is None or (isinstance(where, Mapping) and not where):
        return None
    if isinstance(where, Mapping):
        return _equalities(docs, where)
    if isinstance(where, pd.Series):
        return _aligned(docs, where)
    if isinstance(where, Callable):  # type: ignore[arg-type]
        answer = where(deep_copy(docs))
        if isinstance(answer, pd.Series):
            return _answered(docs, answer)
        if isinstance(answer, (np.ndarray, list)) and len(answer) == len(docs):
            return _booleans(np.asarray(answer), "the callable's answer")
        raise TypeError(
            f"where must return one boolean for each of the {len(docs)} documents; "
            f"got {type(answer).__name__}. Use a callable docs -> boolean Series."
        )
    raise TypeError(
        f"where must be a dict of equalities, a callable docs -> boolean Series or a boolean Series "
        f"by unit id; got {brief(where)}. "
        "Write where={'topic': 'music'}, or where=lambda docs: docs['year'] > 2000."
    )


def _equalities(docs: pd.DataFrame, where: Mapping) -> np.ndarray:
    missing = [name for name in where if name not in docs.columns]
    if missing:
        raise KeyError(
            f"where names columns that the documents lack: {some(missing)}; they have {list(docs.columns)}."
            f"{guess(missing[0], docs.columns)}"
        )
    keep = np.ones(len(docs), dtype=bool)
    unknown: dict[str, list] = {}  # what is asked of a column that has none of it
    for name, wanted in where.items():
        if callable(wanted) or isinstance(wanted, Mapping):
            raise TypeError(
                f"where={{{name!r}: ...}} asks for equality, and knows no operators; got {brief(wanted)}. "
                f"Write where=lambda docs: docs[{name!r}] > 2000, or give the values that may pass as a list."
            )
        several = isinstance(wanted, Iterable) and not isinstance(wanted, (str, bytes))
        options = list(wanted) if several else [wanted]
        if name in ("doc_id", "chunk_id") and isinstance(next(iter(docs[name]), None), str):
            options = as_ids(options, name).tolist()  # whole numbers are converted here as at the door
        passing = np.logical_or.reduce([_equal(docs[name], w) for w in options], initial=False, axis=0)
        keep &= passing
        if options and not np.any(passing):
            unknown[name] = options
    if unknown and len(docs):
        name, options = next(iter(unknown.items()))
        warn(_nowhere(name, options, docs[name]))
    return keep


def _nowhere(name: str, options: list, values: pd.Series) -> str:
    """Say that a column has none of the values asked for, and what it has instead."""
    what = some(options) if len(options) == 1 else f"any of {some(options)}"
    if pd.Series(options, dtype=object).isna().all():
        return (
            f"where: a missing value equals nothing, so {{{name!r}: ...}} lets no document pass. "
            f"Write where=lambda docs: docs[{name!r}].isna()."
        )
    there = _distinct(values)
    near = next((text for text in (guess(option, there) for option in options) if text), "")
    holds = near or (f" The column holds {some(there)}." if there else " The column holds no value at all.")
    return f"where: no document has {what} in column {name!r}, so none passes the filter.{holds}"


def _distinct(values: pd.Series) -> list:
    """List the values of a column once each; lists and dicts, which have no hash, are told apart by text."""
    present = [value.item() if isinstance(value, np.generic) else value for value in values.dropna()]
    try:
        return list(dict.fromkeys(present))
    except TypeError:
        return list({str(value): value for value in present}.values())


def _equal(values: pd.Series, wanted: Any) -> np.ndarray:
    """Compare a column with one value as Python does; True is not 1, and a missing value equals nothing."""
    if values.dtype == object:
        return np.fromiter((_same(value, wanted) for value in values), dtype=bool, count=len(values))
    if is_bool(wanted) != pd.api.types.is_bool_dtype(values.dtype):
        return np.zeros(len(values), dtype=bool)
    return (values == wanted).to_numpy(dtype=bool, na_value=False)


def _same(value: Any, wanted: Any) -> bool:
    if value is None or is_bool(value) != is_bool(wanted):
        return False
    answer = value == wanted
    return bool(answer) if np.ndim(answer) == 0 and answer is not pd.NA else False


def _answered(docs: pd.DataFrame, answer: pd.Series) -> np.ndarray:
    """Align a callable's answer by its index: that of the frame it was given, in any order, or unit ids."""
    if len(answer) == len(docs) and not answer.index.has_duplicates and answer.index.isin(docs.index).all():
        return _booleans(_plain(answer).reindex(docs.index).to_numpy(), "the callable's answer")
    return _aligned(docs, answer)


def _aligned(docs: pd.DataFrame, where: pd.Series) -> np.ndarray:
    units = docs[unit_column(docs, "docs")]
    if where.index.has_duplicates:
        raise ValueError("where is a Series whose index holds an id twice; give each unit id once.")
    by_id = _plain(where)
    by_id.index = by_id.index.map(str)
    missing = units[~units.isin(by_id.index)]
    if len(missing):
        raise ValueError(
            f"where is a Series that lacks {len(missing)} unit ids: {some(missing)}; index it by unit id, "
            "or write where=lambda docs: docs['year'] > 2000."
        )
    return _booleans(by_id.reindex(units.astype(object)).to_numpy(), "the Series")


def _plain(flags: pd.Series) -> pd.Series:
    """Copy flags; those of a nullable kind that are missing do not pass, as in pandas's own filters."""
    if not pd.api.types.is_bool_dtype(flags.dtype):
        return flags.copy()
    return pd.Series(flags.to_numpy(dtype=bool, na_value=False), index=flags.index)


def _booleans(values: np.ndarray, what: str) -> np.ndarray:
    if values.dtype != bool:
        if values.dtype != object or not all(isinstance(v, (bool, np.bool_)) for v in values):
            odd = next((v for v in values.tolist() if not isinstance(v, (bool, np.bool_))), None)
            raise TypeError(
                f"where: {what} must hold booleans; got {brief(odd)} of dtype {values.dtype}. "
                "Compare, and say what missing values are: docs['text'].str.contains('fox', na=False)."
            )
        values = values.astype(bool)
    return values
