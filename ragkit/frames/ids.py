"""Ids: strings, converted once at the door."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from ragkit.frames.checks import is_bool
from ragkit.frames.messages import count, some


def as_ids(values: Any, name: str) -> pd.Series:
    """Make ids of `values`: strings stay, integers become their decimal text, categoricals are kept.

    Parameters
    ----------
    values : sequence of str or int, or Series
        The ids. ``"001"`` stays ``"001"`` and ``"NA"`` is an id like any other.
    name : str
        The column's name, for the message.

    Returns
    -------
    Series
        Strings (or a categorical of strings) with a fresh index.

    Raises
    ------
    TypeError
        For floats, booleans, bytes and other objects.
    ValueError
        For missing and empty ids.

    Examples
    --------
    >>> as_ids(["001", "NA", 7], "doc_id").tolist()
    ['001', 'NA', '7']
    """
    series = pd.Series(values, copy=False).reset_index(drop=True)
    if series.isna().any():
        raise ValueError(_missing(series, name))
    if isinstance(series.dtype, pd.CategoricalDtype):
        categories = series.cat.categories
        if pd.api.types.infer_dtype(categories, skipna=False) != "string" or "" in categories:
            series = series.cat.rename_categories(_texts(list(categories), name))
        return series
    if pd.api.types.is_integer_dtype(series.dtype):
        return series.astype(str)
    if pd.api.types.infer_dtype(series, skipna=False) == "string":
        empty = series.to_numpy(dtype=object) == ""  # all strings: numpy need not look for missing ones
        if empty.any():
            raise ValueError(
                f"{name} holds an empty string in row {int(empty.argmax())}; give every row an id."
            )
        return series
    return pd.Series(_texts(series.tolist(), name), dtype="str")


def _texts(values: list, name: str) -> list[str]:
    """Turn mixed ids into strings, one by one; the slow road of :func:`as_ids`."""
    out = []
    for row, value in enumerate(values):
        if isinstance(value, str) and value:
            out.append(str(value))
        elif value == "":
            raise ValueError(f"{name} holds an empty string in row {row}; give every row an id.")
        elif isinstance(value, (int, np.integer)) and not is_bool(value):
            out.append(str(int(value)))
        else:
            raise TypeError(
                f"{name} must hold strings or whole numbers; row {row} holds {value!r} "
                f"of type {type(value).__name__}. Convert the column with .astype(str) or .astype(int)."
            )
    return out


def _missing(values: Any, name: str) -> str:
    rows = np.flatnonzero(pd.isna(pd.Series(values, dtype=object)))
    return f"{name} is missing in row {some(rows.tolist())}; give every row an id or drop it."


def check_unique(ids: pd.Series, what: str, name: str) -> None:
    """Raise if an id stands twice.

    Parameters
    ----------
    ids : Series of str
        The ids.
    what : str
        The frame's name, for the message.
    name : str
        The column's name.
    """
    repeated = ids.duplicated().to_numpy()
    if repeated.any():
        twice = ids[repeated]
        rows = count(len(twice), f"repeated {name} row")
        raise ValueError(
            f"{what} has {rows} ({some(pd.unique(twice.astype(object)))}); "
            f"ids must be unique: use drop_duplicates({name!r}) or give them other ids."
        )


def id_array(ids: Iterable[str]) -> np.ndarray:
    """Put ids into a 1-D object array, which `take` and indexing handle without copies of the strings.

    Parameters
    ----------
    ids : iterable of str
        The ids.

    Returns
    -------
    ndarray of object
        The same ids.
    """
    if isinstance(ids, pd.Series):
        return ids.to_numpy(dtype=object)
    listed = list(ids)
    out = np.empty(len(listed), dtype=object)
    out[:] = listed
    return out


_WIDE = 64  # characters; an array of str makes every id as wide as the longest, four bytes for each


def id_ranks(ids: Iterable[str]) -> np.ndarray:
    """Number ids as they sort, equal ones alike.

    Parameters
    ----------
    ids : iterable of str
        The ids.

    Returns
    -------
    ndarray of int64
        One number per id.

    Examples
    --------
    >>> id_ranks(["b", "a", "c", "a"]).tolist()
    [1, 0, 2, 0]
    """
    names = id_array(ids)
    if max(map(len, names.tolist()), default=0) > _WIDE:
        return pd.factorize(names, sort=True)[0]
    return np.unique(names.astype(str), return_inverse=True)[1].astype(np.int64, copy=False)
