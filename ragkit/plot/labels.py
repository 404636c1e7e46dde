"""What a unit is called in a plot, and which query a plot shows."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Any

import pandas as pd

from ragkit.frames import as_docs, some, unit_column


def shorten(text: str, width: int) -> str:
    """Cut `text` to a width at a word where one is near, and say so with an ellipsis.

    Parameters
    ----------
    text : str
        Any text; line breaks become blanks.
    width : int
        The most characters kept, the ellipsis counted; wide ones (Han, kana, emoji) count twice.

    Returns
    -------
    str
        One line that fits.

    Examples
    --------
    >>> shorten("The red fox hunts at dawn", 14)
    'The red fox…'
    """
    line = " ".join(text.split())
    if cells(line) <= width:
        return line
    room, end = max(width - 1, 0), 0
    while end < len(line) and (room := room - cells(line[end])) >= 0:
        end += 1
    head = line[:end]
    at_word = head.rfind(" ")
    return (head[:at_word] if at_word > width // 2 else head).rstrip(" ,;:.") + "…"


def cells(text: str) -> int:
    """Count the character cells that `text` takes: two for a wide character.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    int
        Its width.
    """
    return len(text) + sum(unicodedata.east_asian_width(char) in "WF" for char in text)


def unit_labels(units: Iterable[str], docs: Any, width: int = 28) -> dict[str, str]:
    """Name units by title, else by the head of their text, else by id.

    Parameters
    ----------
    units : iterable of str
        Unit ids.
    docs : documents, chunks or None
        Where titles and texts come from.
    width : int, default=28
        The most characters of a label.

    Returns
    -------
    dict of str to str
        A label for each unit; two units that would share one keep their ids.
    """
    wanted = list(dict.fromkeys(units))
    if docs is None:
        return {unit: shorten(unit, width) for unit in wanted}
    names = _names(docs, set(wanted))
    labels = {unit: shorten(names.get(unit, "") or unit, width) for unit in wanted}
    twice = {label for label, n in pd.Series(list(labels.values())).value_counts().items() if n > 1}
    return {
        unit: shorten(f"{unit} {label}", width) if label in twice else label for unit, label in labels.items()
    }


def _names(docs: Any, wanted: set[str]) -> dict[str, str]:
    """Map unit (and document) id to title or text, for the wanted units only."""
    frame = docs if isinstance(docs, pd.DataFrame) else as_docs(docs)
    unit = unit_column(frame, "docs")
    ids = frame[unit].astype(str)
    some_docs = ids.isin(wanted) | frame["doc_id"].astype(str).isin(wanted)
    picked = as_docs(frame[some_docs])
    titles = picked["title"] if "title" in picked.columns else [""] * len(picked)
    names: dict[str, str] = {}
    for key, doc, title, text in zip(picked[unit], picked["doc_id"], titles, picked["text"]):
        name = title if isinstance(title, str) and title.strip() else text
        # A chunk needs its number beside the title, or all chunks of a document look alike.
        number = key[len(doc) :] if key.startswith(f"{doc}#") else ""
        names[key] = f"{number} {name}".strip()
        names.setdefault(doc, name)
    return names


def pick_query(frames: Iterable[pd.DataFrame], query_id: str | None, who: str) -> str | None:
    """Choose the query to draw: the one asked for, else the first there is.

    Parameters
    ----------
    frames : iterable of DataFrame
        Frames with a ``query_id`` column.
    query_id : str or None
        What the caller asked for.
    who : str
        The caller, for the message.

    Returns
    -------
    str or None
        The id; None when no frame has a row.
    """
    found = list(dict.fromkeys(str(q) for frame in frames for q in frame["query_id"].unique()))
    if query_id is None:
        return found[0] if found else None
    if str(query_id) not in found:
        raise ValueError(f"{who}: no run has query {str(query_id)!r}; the queries are {some(found)}.")
    return str(query_id)


def several_queries(frames: Iterable[pd.DataFrame]) -> bool:
    """Say whether more than one query stands in `frames`, so that a plot must name its own.

    Parameters
    ----------
    frames : iterable of DataFrame
        Frames with a ``query_id`` column.

    Returns
    -------
    bool
        True for two or more.
    """
    return len({q for frame in frames for q in frame["query_id"].unique()}) > 1
