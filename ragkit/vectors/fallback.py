"""Queries that a store's own embedder cannot place: a second space, searched apart and labelled."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
import pandas as pd

from ragkit.frames import as_queries, some, warn
from ragkit.frames.runs import query_rows

Search = TypeVar("Search", bound=Callable[..., pd.DataFrame])

#: What the column ``space`` says of rows that were ranked by the store's own vectors.
STORED = "stored"


def space_name(embed: Any) -> str:
    """Name the space of an embedder: ``"LSA"`` for an LSAEmbedder."""
    name = getattr(embed, "__name__", None) or type(embed).__name__
    return name.removesuffix("Embedder") or name


def in_both_spaces(search: Search) -> Search:
    """Make a search of one space ask the fallback for the queries that its own space cannot place.

    Each query is searched whole in one space, since similarities of two cannot be compared.
    """

    @functools.wraps(search)
    def searched(self: Any, queries: Any = None, **options: Any) -> pd.DataFrame:
        if self._fallback is None:
            return search(self, queries, **options)
        if queries is None or options.get("vectors") is not None:
            return _labelled(search(self, queries, **options), STORED)
        frame = as_queries(queries)
        rows, own = self._own_rows(frame)
        found = _labelled(search(self, frame[own], **options | {"vectors": rows[own]}), STORED)
        if own.all():
            return found
        other = getattr(self._second, search.__name__)(frame[~own], **options)
        other = _labelled(other, space_name(self._fallback))
        note_free_text(other, frame["text"][frame["query_id"].isin(other["query_id"])])
        return _joined(found, other, frame["query_id"])

    return cast(Search, searched)


def _labelled(run: pd.DataFrame, name: str) -> pd.DataFrame:
    label = pd.Series([name] * len(run), index=run.index, dtype="str")
    return run.drop(columns="space", errors="ignore").assign(space=label)


def _joined(own: pd.DataFrame, other: pd.DataFrame, query_ids: pd.Series) -> pd.DataFrame:
    """Put the rows of two runs in the order of the queries."""
    parts = [part for part in (own, other) if len(part)]
    if len(parts) < 2:
        return parts[0] if parts else own
    both = pd.concat(parts, ignore_index=True)
    order = np.argsort(query_rows(both["query_id"], query_ids), kind="stable")
    return both.iloc[order].reset_index(drop=True)


def note_free_text(run: pd.DataFrame, texts: Any) -> None:
    """Warn that texts were ranked in the fallback's space, if the run says so."""
    spaces = set(run["space"].dropna()) - {STORED} if "space" in run.columns else set()
    if spaces:
        warn(
            f"free text {some(texts)}: ranked by {spaces.pop()} of these documents, not by the model that "
            "made their vectors; do not compare the scores of the two."
        )
