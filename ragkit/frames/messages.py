"""What messages are made of: the warning that teaches, lists, counts and near names."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_MANY = 100_000  # among more names than these the nearest takes longer to find than the answer is worth
_kept: ContextVar[list[str] | None] = ContextVar("kept", default=None)


class RetrievalWarning(UserWarning):
    """A trap that spoils a result without an error; its text gives the way out."""


def warn(message: str) -> None:
    """Warn with a :class:`RetrievalWarning` that points at the caller's own line.

    Call it once per public call and kind of trap.

    Parameters
    ----------
    message : str
        What is wrong, and the way out.
    """
    import sys

    if (kept := _kept.get()) is not None:
        kept.append(message)
        return
    # The first frame outside the package is the line that the user wrote.
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("ragkit"):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, RetrievalWarning, stacklevel=level)


@contextmanager
def warnings_kept() -> Iterator[list[str]]:
    """Keep the warnings of a block instead of giving them, for work that is done many times or elsewhere.

    Yields
    ------
    list of str
        The messages so far; whoever kept them gives each once.
    """
    messages: list[str] = []
    token = _kept.set(messages)
    try:
        yield messages
    finally:
        _kept.reset(token)


def closest(value: Any, names: Iterable[str]) -> str | None:
    """Find the name that was meant, whatever its case: the only one that goes on so, else one spelt alike.

    Parameters
    ----------
    value : object
        What was written.
    names : iterable of str
        What there is.

    Returns
    -------
    str or None
        The nearest name; None if none is near, or if there are too many to look through.

    Examples
    --------
    >>> closest("BM25", ["bm25", "bm25+"])
    'bm25'
    >>> closest("lin", ["min", "linear"])
    'linear'
    """
    low: dict[str, str] = {}
    for name in names:
        low.setdefault(str(name).casefold(), name)
    written = str(value).casefold()
    if not written or len(low) > _MANY:
        return None
    longer = [name for name in low if name.startswith(written)]
    near = longer if len(longer) == 1 else difflib.get_close_matches(written, list(low), n=1)
    return low[near[0]] if near else None


def guess(value: Any, names: Iterable[str]) -> str:
    """Ask in a message whether the nearest name was meant.

    Parameters
    ----------
    value : object
        What was written.
    names : iterable of str
        What there is.

    Returns
    -------
    str
        A sentence with a leading blank, or nothing.

    Examples
    --------
    >>> guess("weights", ["top_k", "weight"])
    " Did you mean 'weight'?"
    """
    near = closest(value, names)
    return f" Did you mean {near!r}?" if near else ""


def count(n: int, noun: str) -> str:
    """Write a number with its noun, in the plural where it is not one.

    Parameters
    ----------
    n : int
        How many.
    noun : str
        In the singular; ``query`` and the like become ``queries``.

    Returns
    -------
    str
        The two words.

    Examples
    --------
    >>> count(1, "row"), count(2, "query")
    ('1 row', '2 queries')
    """
    if n == 1:
        return f"1 {noun}"
    return f"{n} {noun[:-1]}ies" if noun.endswith("y") else f"{n} {noun}s"


def some(items: Iterable[Any], limit: int = 5) -> str:
    """List the first few `items` for a message: ``'a', 'b' and 3 more``.

    Parameters
    ----------
    items : iterable
        What to list.
    limit : int, default=5
        How many to show.

    Returns
    -------
    str
        The text.
    """
    listed = list(items)
    shown = ", ".join(repr(item) for item in listed[:limit])
    return shown if len(listed) <= limit else f"{shown} and {len(listed) - limit} more"
