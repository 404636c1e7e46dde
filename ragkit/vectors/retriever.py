"""Retrievers: a store with its options set, as a function of the queries."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import pandas as pd

from ragkit.frames import check_choice, check_number, check_top_k

if TYPE_CHECKING:
    from ragkit.vectors.store import VectorStore

SEARCH_TYPES = ("similarity", "mmr", "score_threshold")
_DEFAULTS: dict[str, Any] = {"lambda_": 0.5, "fetch_k": 20}


@dataclass(frozen=True, repr=False)
class Retriever:
    """A function ``queries -> run`` made by :meth:`VectorStore.retriever`.

    Attributes
    ----------
    store : VectorStore
        Where it searches.
    top_k, search_type, lambda_, fetch_k, min_score, where
        The options, as given there; those that the search type does not use are None.
    """

    store: VectorStore
    top_k: int | None
    search_type: str
    lambda_: Any
    fetch_k: int | None
    min_score: float | None
    where: Any

    def __call__(self, queries: Any) -> pd.DataFrame:
        """Search for queries.

        Parameters
        ----------
        queries : queries
            Whatever :func:`ragkit.as_queries` takes.

        Returns
        -------
        DataFrame
            A run.
        """
        if self.search_type == "mmr":
            return self.store.mmr(
                queries, top_k=self.top_k, fetch_k=self.fetch_k, lambda_=self.lambda_, where=self.where
            )
        return self.store.search(queries, top_k=self.top_k, min_score=self.min_score, where=self.where)

    def __repr__(self) -> str:
        shown = [
            f"{field.name}={getattr(self, field.name)!r}"
            for field in fields(self)
            if field.name != "store" and getattr(self, field.name) is not None
        ]
        return f"Retriever({len(self.store)} documents, {', '.join(shown)})"


def make_retriever(
    store: VectorStore, top_k: Any, search_type: Any, min_score: Any, where: Any, of_mmr: dict[str, Any]
) -> Retriever:
    """Check options and make a retriever; an option that the search type does not use is refused."""
    check_choice("search_type", search_type, SEARCH_TYPES)
    top_k = check_top_k(top_k)
    given = [name for name, value in of_mmr.items() if value is not None]
    if search_type != "mmr" and given:
        raise ValueError(
            f"search_type {search_type!r} does not use {given}; leave them out or take search_type='mmr'."
        )
    if (search_type == "score_threshold") != (min_score is not None):
        raise ValueError(
            "min_score and search_type='score_threshold' belong together; "
            f"got search_type={search_type!r}, min_score={min_score!r}."
        )
    if search_type != "mmr":
        floor = None if min_score is None else check_number("min_score", min_score)
        return Retriever(store, top_k, search_type, None, None, floor, where)
    options = _DEFAULTS | {name: of_mmr[name] for name in given}
    lambda_ = check_number("lambda_", options["lambda_"], low=0, high=1, meaning="1 = relevance only")
    fetch_k = check_fetch_k(options["fetch_k"], top_k)
    return Retriever(store, top_k, search_type, lambda_, fetch_k, None, where)


def check_fetch_k(fetch_k: Any, top_k: int | None) -> int | None:
    """Check how many candidates MMR may choose from: no fewer than it is to return."""
    fetch_k = check_top_k(fetch_k, "fetch_k")
    if fetch_k is not None and (top_k is None or fetch_k < top_k):
        raise ValueError(f"fetch_k must be at least top_k; got fetch_k={fetch_k}, top_k={top_k}.")
    return fetch_k
