"""Options of LangChain's searches: checked once, named when they are unknown, and put in ragkit's terms."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from langchain_core.documents import Document

from ragkit.frames import check_number, check_top_k, some
from ragkit.frames.where import where_mask
from ragkit.integrations.langchain.documents import (
    documents_of,
    is_column,
    metadata_of,
    objects,
    records,
    unit_of,
)
from ragkit.similarity import as_matrix

SEARCH = ("k", "filter")
OPTIONS = {
    "similarity": SEARCH,
    "similarity_score_threshold": (*SEARCH, "score_threshold"),
    "mmr": (*SEARCH, "fetch_k", "lambda_mult"),
}
RETRIEVER = ("search_type", "search_kwargs", "tags", "metadata", "name")


class _Usual(int):
    """A default that can be told from the same number given by the caller."""


FETCH_K = _Usual(20)

#: How a similarity becomes a relevance in [0, 1]; each grows with the similarity.
RELEVANCE: Mapping[str, Callable[[float], float]] = {
    "cosine": lambda s: min(max((1.0 + s) / 2.0, 0.0), 1.0),
    "dot": lambda s: 1.0 / (1.0 + math.exp(-s)) if s >= 0 else math.exp(max(s, -745.0)) / (1.0 + math.exp(s)),
    "euclidean": lambda s: min(max(s, 0.0), 1.0),
}


def refuse(who: str, given: Mapping[str, Any], known: Sequence[str]) -> None:
    """Raise for a keyword that means nothing; LangChain itself passes ``verbose`` along."""
    unknown = [name for name in given if name not in known and name != "verbose"]
    if not unknown:
        return
    near = difflib.get_close_matches(unknown[0], known, n=1)
    guess = f" Did you mean {near[0]!r}?" if near else ""
    raise TypeError(f"{who} does not know {some(unknown)}; it takes {list(known)}.{guess}")


def checked(k: Any, filter: Any) -> tuple[int | None, Any]:
    """Check how many, and the filter."""
    return check_top_k(k, "k"), check_filter(filter)


def checked_mmr(k: Any, fetch_k: Any, lambda_mult: Any, filter: Any) -> tuple[Any, Any, float, Any]:
    """Check the options of a search by marginal relevance; a default `fetch_k` gives way to `k`."""
    k, filter = checked(k, filter)
    lambda_ = check_number(
        "lambda_mult", lambda_mult, low=0, high=1, meaning="1 = relevance only, 0 = novelty only"
    )
    if isinstance(fetch_k, _Usual):
        fetch_k = None if k is None else max(int(fetch_k), k)
    fetch_k = check_top_k(fetch_k, "fetch_k")
    if fetch_k is not None and (k is None or fetch_k < k):
        raise ValueError(f"fetch_k must be at least k; got fetch_k={fetch_k}, k={k}. Raise fetch_k.")
    return k, fetch_k, lambda_, filter


def check_filter(filter: Any) -> Any:
    """Check a filter's kind; what looks like another store's operators would match nothing, so it raises."""
    if filter is None or callable(filter):
        return filter
    if not isinstance(filter, Mapping):
        raise TypeError(
            f"filter must be a dict of equalities or a callable Document -> bool; "
            f"got {type(filter).__name__}."
        )
    for key, wanted in filter.items():
        inner = list(wanted) if isinstance(wanted, Mapping) else []
        operators = [name for name in [key, *inner] if isinstance(name, str) and name.startswith("$")]
        if operators:
            raise ValueError(
                f"filter knows no operators such as {operators[0]!r}; "
                "use a callable: lambda doc: doc.metadata['year'] > 2000."
            )
    return filter


def check_relevance(kwargs: dict[str, Any]) -> None:
    """Check the options of a search by relevance."""
    refuse("similarity_search_with_relevance_scores", kwargs, OPTIONS["similarity_score_threshold"])
    if kwargs.get("score_threshold") is not None:
        check_number("score_threshold", kwargs["score_threshold"], low=0, high=1)


def check_query(query: Any) -> None:
    """Check that a query is a text."""
    if not isinstance(query, str):
        raise TypeError(f"query must be a str; got {query!r} of type {type(query).__name__}.")


def check_vector(embedding: Any) -> np.ndarray:
    """Check a query's vector."""
    rows = as_matrix([embedding] if np.ndim(embedding) == 1 else embedding, "the query's vector")
    if len(rows) != 1:
        raise ValueError(f"the query's vector must be one vector; got {len(rows)}.")
    return rows[0]


def store_filter(filter: Any) -> Any:
    """Turn a LangChain filter into the store's."""
    if filter is None or (isinstance(filter, Mapping) and all(is_column(key) for key in filter)):
        return filter
    if isinstance(filter, Mapping):
        return _over_metadata(dict(filter))
    return _over_documents(filter)


def _over_metadata(wanted: dict[str, Any]) -> Callable[[pd.DataFrame], np.ndarray]:
    """Make a store's filter of equalities over keys that are no columns, such as ``text``."""

    def where(docs: pd.DataFrame) -> np.ndarray:
        metadatas = [metadata_of(row, unit_of(row)) for row in records(docs)]
        keys = dict.fromkeys(key for metadata in metadatas for key in metadata)
        table = pd.DataFrame({key: objects([m.get(key) for m in metadatas]) for key in keys})
        mask = where_mask(table, wanted)
        return np.ones(len(docs), dtype=bool) if mask is None else mask

    return where


def _over_documents(keep: Callable[[Document], Any]) -> Callable[[pd.DataFrame], np.ndarray]:
    """Make a store's filter of one over documents; an error in it names the document."""

    def where(docs: pd.DataFrame) -> np.ndarray:
        out = np.zeros(len(docs), dtype=bool)
        for n, document in enumerate(documents_of(docs)):
            try:
                out[n] = bool(keep(document))
            except Exception as error:
                error.add_note(f"raised by filter for document {document.id!r}")
                raise
        return out

    return where
