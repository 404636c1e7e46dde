"""How a RagkitVectorStore is searched: by similarity and by marginal relevance, by text and by vector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from langchain_core.documents import Document
from langchain_core.runnables.config import run_in_executor

from ragkit.diversity import mmr_of_query
from ragkit.frames.ranking import unit_column
from ragkit.integrations.langchain.contents import Contents
from ragkit.integrations.langchain.documents import LOCK
from ragkit.integrations.langchain.options import (
    FETCH_K,
    OPTIONS,
    SEARCH,
    check_query,
    check_relevance,
    check_vector,
    checked,
    checked_mmr,
    refuse,
    store_filter,
)


class Search(Contents):
    """The part of the store that searches."""

    # ---------------------------------------------------------------- by similarity

    def similarity_search(self, query: str, k: Any = 4, filter: Any = None, **kwargs: Any) -> list[Document]:
        """Search by a text.

        Parameters
        ----------
        query : str
            The text.
        k : int or None, default=4
            How many come back; None is all.
        filter : dict or callable, optional
            Applied before ranking: a dict of equalities over the metadata (a list means one of), or a
            callable ``Document -> bool``.
        **kwargs
            Nothing; a name that is not known raises.

        Returns
        -------
        list of Document
            The nearest, nearest first.

        Raises
        ------
        ValueError
            If `k` is negative or fractional.
        KeyError
            If a dict names a key that no document has.
        TypeError
            If a keyword is unknown.
        """
        refuse("similarity_search", kwargs, SEARCH)
        return [doc for doc, _ in self.similarity_search_with_score(query, k, filter)]

    def similarity_search_with_score(  # type: ignore[override]
        self, query: str, k: Any = 4, filter: Any = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Search by a text, with similarities.

        Parameters
        ----------
        query, k, filter, **kwargs
            As in :meth:`similarity_search`.

        Returns
        -------
        list of (Document, float)
            The nearest with their similarity: the cosine, the dot product, or ``1 / (1 + distance)``.
        """
        refuse("similarity_search_with_score", kwargs, SEARCH)
        options = checked(k, filter)
        return self._nearest(self._asked(query), *options)

    def similarity_search_by_vector(
        self, embedding: Sequence[float], k: Any = 4, filter: Any = None, **kwargs: Any
    ) -> list[Document]:
        """Search by a vector.

        Parameters
        ----------
        embedding : sequence of float
            The query's vector.
        k, filter, **kwargs
            As in :meth:`similarity_search`.

        Returns
        -------
        list of Document
            The nearest, nearest first.

        Raises
        ------
        ValueError
            If the vector is of another length than the store's, or holds NaN.
        """
        refuse("similarity_search_by_vector", kwargs, SEARCH)
        return [doc for doc, _ in self.similarity_search_with_score_by_vector(embedding, k, filter)]

    def similarity_search_with_score_by_vector(
        self, embedding: Sequence[float], k: Any = 4, filter: Any = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Search by a vector, with similarities.

        Parameters
        ----------
        embedding, k, filter, **kwargs
            As in :meth:`similarity_search_by_vector`.

        Returns
        -------
        list of (Document, float)
            As :meth:`similarity_search_with_score`.
        """
        refuse("similarity_search_with_score_by_vector", kwargs, SEARCH)
        return self._nearest(check_vector(embedding), *checked(k, filter))

    def similarity_search_with_relevance_scores(
        self, query: str, k: Any = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Search by a text, with relevances in [0, 1].

        Parameters
        ----------
        query, k
            As in :meth:`similarity_search`.
        **kwargs
            ``filter``, and ``score_threshold``: the least relevance, in [0, 1].

        Returns
        -------
        list of (Document, float)
            The nearest with their relevance; how it follows from the similarity is said of the class.
        """
        check_relevance(kwargs)
        return super().similarity_search_with_relevance_scores(query, k, **kwargs)

    async def asimilarity_search_with_relevance_scores(
        self, query: str, k: Any = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Search by a text, embedded asynchronously, with relevances in [0, 1].

        Parameters
        ----------
        query, k, **kwargs
            As in :meth:`similarity_search_with_relevance_scores`.

        Returns
        -------
        list of (Document, float)
            The nearest with their relevance.
        """
        check_relevance(kwargs)
        return await super().asimilarity_search_with_relevance_scores(query, k, **kwargs)

    async def asimilarity_search(
        self, query: str, k: Any = 4, filter: Any = None, **kwargs: Any
    ) -> list[Document]:
        """Search by a text, embedded asynchronously.

        Parameters
        ----------
        query, k, filter, **kwargs
            As in :meth:`similarity_search`.

        Returns
        -------
        list of Document
            The nearest, nearest first.
        """
        refuse("asimilarity_search", kwargs, SEARCH)
        return [doc for doc, _ in await self.asimilarity_search_with_score(query, k, filter)]

    async def asimilarity_search_with_score(  # type: ignore[override]
        self, query: str, k: Any = 4, filter: Any = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """Search by a text, embedded asynchronously, with similarities.

        Parameters
        ----------
        query, k, filter, **kwargs
            As in :meth:`similarity_search`.

        Returns
        -------
        list of (Document, float)
            As :meth:`similarity_search_with_score`.
        """
        refuse("asimilarity_search_with_score", kwargs, SEARCH)
        options = checked(k, filter)
        asked = await self._aasked(query)
        return await run_in_executor(None, self._nearest, asked, *options)

    # ---------------------------------------------------------------- by marginal relevance

    def max_marginal_relevance_search(
        self,
        query: str,
        k: Any = 4,
        fetch_k: Any = FETCH_K,
        lambda_mult: float = 0.5,
        filter: Any = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Search by a text for documents that are near it and unlike one another.

        Parameters
        ----------
        query : str
            The text.
        k : int or None, default=4
            How many come back; None is all that are fetched.
        fetch_k : int or None, default=20
            How many of the nearest are chosen from, after the filter; None is all. Left out, it is at
            least `k`.
        lambda_mult : float, default=0.5
            1 is relevance only, 0 is novelty only.
        filter : dict or callable, optional
            As in :meth:`similarity_search`.
        **kwargs
            Nothing; a name that is not known raises.

        Returns
        -------
        list of Document
            In the order in which they were picked; relevance and likeness are cosines.

        Raises
        ------
        ValueError
            If `fetch_k` is given and below `k`, or `lambda_mult` is outside [0, 1].
        TypeError
            If a keyword is unknown.
        """
        refuse("max_marginal_relevance_search", kwargs, OPTIONS["mmr"])
        options = checked_mmr(k, fetch_k, lambda_mult, filter)
        return self._marginal(self._asked(query), *options)

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: Sequence[float],
        k: Any = 4,
        fetch_k: Any = FETCH_K,
        lambda_mult: float = 0.5,
        filter: Any = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Search by a vector for documents that are near it and unlike one another.

        Parameters
        ----------
        embedding : sequence of float
            The query's vector.
        k, fetch_k, lambda_mult, filter, **kwargs
            As in :meth:`max_marginal_relevance_search`.

        Returns
        -------
        list of Document
            In the order in which they were picked.
        """
        refuse("max_marginal_relevance_search_by_vector", kwargs, OPTIONS["mmr"])
        return self._marginal(check_vector(embedding), *checked_mmr(k, fetch_k, lambda_mult, filter))

    async def amax_marginal_relevance_search(
        self,
        query: str,
        k: Any = 4,
        fetch_k: Any = FETCH_K,
        lambda_mult: float = 0.5,
        filter: Any = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Search by a text, embedded asynchronously, for documents unlike one another.

        Parameters
        ----------
        query, k, fetch_k, lambda_mult, filter, **kwargs
            As in :meth:`max_marginal_relevance_search`.

        Returns
        -------
        list of Document
            In the order in which they were picked.
        """
        refuse("amax_marginal_relevance_search", kwargs, OPTIONS["mmr"])
        options = checked_mmr(k, fetch_k, lambda_mult, filter)
        asked = await self._aasked(query)
        return await run_in_executor(None, self._marginal, asked, *options)

    async def amax_marginal_relevance_search_by_vector(
        self,
        embedding: Sequence[float],
        k: Any = 4,
        fetch_k: Any = FETCH_K,
        lambda_mult: float = 0.5,
        filter: Any = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Search by a vector for documents unlike one another, in a thread.

        Parameters
        ----------
        embedding, k, fetch_k, lambda_mult, filter, **kwargs
            As in :meth:`max_marginal_relevance_search_by_vector`.

        Returns
        -------
        list of Document
            In the order in which they were picked.
        """
        refuse("amax_marginal_relevance_search_by_vector", kwargs, OPTIONS["mmr"])
        options = checked_mmr(k, fetch_k, lambda_mult, filter)
        return await run_in_executor(None, self._marginal, check_vector(embedding), *options)

    # ---------------------------------------------------------------- inside

    def _asked(self, query: str) -> np.ndarray | str | None:
        """Embed a query; the text itself where the ragkit store embeds, None where nothing can be found."""
        check_query(query)
        if self._model is None:
            return query
        return check_vector(self._model.embed_query(query)) if len(self) else None

    async def _aasked(self, query: str) -> np.ndarray | str | None:
        """Embed a query asynchronously."""
        check_query(query)
        if self._model is None:
            return query
        return check_vector(await self._model.aembed_query(query)) if len(self) else None

    def _vector_of(self, asked: np.ndarray | str | None) -> np.ndarray | str | None:
        """Let the store embed a text, in the same turn as the search: another fit has another space.

        A store with a fallback is asked by the text itself, for it chooses the space.
        """
        if not isinstance(asked, str) or self._store.fallback is not None:
            return asked
        vector = self._store.query_vectors([asked])[0]
        return vector if vector.any() else None

    def _run(self, asked: np.ndarray | str | None, k: int | None, filter: Any) -> pd.DataFrame | None:
        """Search; None where nothing can be found."""
        if asked is None or not len(self._store) or k == 0:
            return None
        what: dict[str, Any] = {"queries": asked} if isinstance(asked, str) else {"vectors": asked[None, :]}
        return self._store.search(**what, top_k=k, where=store_filter(filter))

    def _nearest(self, asked: Any, k: int | None, filter: Any) -> list[tuple[Document, float]]:
        with LOCK:
            run = self._run(self._vector_of(asked), k, filter)
            if run is None:
                return []
            pairs = zip(run[unit_column(run)], run["score"])
            return [(self._document(unit), float(score)) for unit, score in pairs]  # type: ignore[misc]

    def _marginal(
        self, asked: Any, k: int | None, fetch_k: int | None, lambda_: float, filter: Any
    ) -> list[Document]:
        with LOCK:
            vector = self._vector_of(asked)
            if isinstance(vector, str):
                where = store_filter(filter)
                picked = self._store.mmr(vector, top_k=k, fetch_k=fetch_k, lambda_=lambda_, where=where)
                return [self._document(unit) for unit in picked[unit_column(picked)]]  # type: ignore[misc]
            run = self._run(vector, fetch_k, filter)
            if run is None or vector is None or k == 0 or not len(run):
                return []
            units = run[unit_column(run)].tolist()
            picks = mmr_of_query(vector, self._store.vectors(units), lambda_, k)[0]
            return [self._document(units[pick]) for pick in picks]  # type: ignore[misc]
