"""Checks of arguments at the public door: one sentence that says who, needs what, got what, what to do.

Every function here returns the checked value, so that a door reads ``k1 = check_number("k1", k1, low=0)``.
Inner functions trust their arguments and check nothing.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable
from typing import Any

import pandas as pd

from ragkit.frames.messages import guess, some
from ragkit.frames.mixups import renaming


def check_top_k(top_k: Any, name: str = "top_k", *, none: bool = True) -> int | None:
    """Check a number of rows: a whole number of at least 0, or None for all.

    Parameters
    ----------
    top_k : int or None
        The value given.
    name : str, default="top_k"
        The parameter's name, for the message.
    none : bool, default=True
        Whether None is allowed.

    Returns
    -------
    int or None
        The value as a plain int.
    """
    if type(top_k) is int and top_k >= 0:
        return top_k
    if top_k is None and none:
        return None
    allowed = "a whole number >= 0" + (", or None for all" if none else "")
    if isinstance(top_k, numbers.Real) and not isinstance(top_k, numbers.Integral):
        raise ValueError(f"{name} must be {allowed}; got {top_k!r}.")
    if is_bool(top_k) or (isinstance(top_k, numbers.Integral) and top_k < 0):
        raise ValueError(f"{name} must be {allowed}; got {top_k!r}.")
    if not isinstance(top_k, numbers.Integral):
        raise TypeError(f"{name} must be {allowed}; got {top_k!r} of type {type(top_k).__name__}.")
    return int(top_k)


def check_number(
    name: str,
    value: Any,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    open_low: bool = False,
    meaning: str = "",
) -> float:
    """Check a finite number in ``[low, high]``.

    Parameters
    ----------
    name : str
        The parameter's name, for the message.
    value : float
        The value given.
    low, high : float
        The bounds, both allowed.
    open_low : bool, default=False
        Whether `low` itself is excluded.
    meaning : str, default=""
        What the ends mean, said in the message: ``"1 = relevance only"``.

    Returns
    -------
    float
        The value as a plain float.
    """
    bounds = f"in [{low:g}, {high:g}]"
    if high == math.inf:
        bounds = "a finite number" if low == -math.inf else f"{'>' if open_low else '>='} {low:g} and finite"
    hint = f" ({meaning})" if meaning else ""
    if is_bool(value) or not isinstance(value, numbers.Real):
        raise TypeError(
            f"{name} must be a number {bounds}{hint}; got {value!r} of type {type(value).__name__}."
        )
    number = float(value)
    if not math.isfinite(number) or not low <= number <= high or (open_low and number == low):
        raise ValueError(f"{name} must be {bounds}{hint}; got {value!r}.")
    return number


def check_choice(name: str, value: Any, options: Iterable[str]) -> str:
    """Check that `value` is one of `options`; the message lists them and guesses what was meant.

    Parameters
    ----------
    name : str
        What is chosen, for the message: ``"method"``.
    value : str
        The value given.
    options : iterable of str
        The valid ones.

    Returns
    -------
    str
        The value.
    """
    names = list(options)
    if isinstance(value, str) and value in names:
        return value
    raise ValueError(f"unknown {name} {value!r}; choose one of {names}.{guess(value, names)}")


def check_frame(frame: Any, columns: Iterable[str], what: str) -> pd.DataFrame:
    """Check that `frame` is a DataFrame that has `columns`.

    Parameters
    ----------
    frame : DataFrame
        The frame given.
    columns : iterable of str
        The columns it needs.
    what : str
        Its name in the message: ``"run"``.

    Returns
    -------
    DataFrame
        The frame itself.
    """
    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"{what} must be a DataFrame; got {type(frame).__name__}.")
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()].unique()
        raise ValueError(f"{what} has columns that stand twice: {some(twice)}; rename or drop one of each.")
    needed = list(columns)
    missing = [column for column in needed if column not in frame.columns]
    if missing:
        found = [str(column) for column in frame.columns]
        hint = renaming(frame, missing, what)
        raise ValueError(f"{what} needs columns {needed}; missing {missing}, found {found}.{hint}")
    return frame


def is_bool(value: Any) -> bool:
    """Say whether `value` is a boolean, of Python's or of numpy's kind.

    Parameters
    ----------
    value : object
        Anything.

    Returns
    -------
    bool
        True for a boolean.
    """
    return type(value).__name__ in ("bool", "bool_")
