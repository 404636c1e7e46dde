"""VectorStore: exact nearest neighbours in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ragkit.diversity import mmr
from ragkit.frames import as_ids, as_queries, check_choice, check_number, check_top_k
from ragkit.frames.runs import best_first, query_rows, run_of_slots
from ragkit.frames.store import check_one_query
from ragkit.vectors.fallback import in_both_spaces
from ragkit.vectors.inputs import Embed
from ragkit.vectors.ledger import explain_similarity
from ragkit.vectors.retriever import Retriever, check_fetch_k, make_retriever
from ragkit.vectors.saving import SavedVectors


class VectorStore(SavedVectors):
    """Search documents by the similarity of vectors, exactly.

    Parameters
    ----------
    docs : documents, optional
        Whatever :func:`ragkit.as_docs` takes; None for an empty store.
    embed : callable, optional
        ``list of str -> array (n, d)``; ``LSAEmbedder()`` by default. One that has ``fit`` and is not
        fitted is cloned and fitted to the store's texts, anew after every change; one fitted beforehand
        stays as it is.
    metric : {"cosine", "dot", "euclidean"}, default="cosine"
        The similarity. ``"euclidean"`` is ``1 / (1 + distance)``, so that larger is nearer.
    vectors : array_like of shape (n, d) or dict of id to vector, optional
        Vectors of the documents, row by row; then nothing is embedded and the text is optional.
    query_embed : callable, optional
        An embedder for queries where theirs differs (a prefix, another model); None for
        ``embed.queries`` where there is such a thing, else `embed`.
    fallback : callable, optional
        An embedder with a space of its own, such as ``LSAEmbedder()``, for queries to which the store's
        embedder gives no vector (zeros): free text, where only the vectors of some queries are known. It
        embeds the documents too, when first needed; such a query is searched there and nowhere else. With a
        fallback, results have a column ``space``: ``"stored"``, or the fallback's name.

    See Also
    --------
    KeywordIndex : Search by words.

    Examples
    --------
    >>> store = VectorStore({"a": "x-axis", "b": "diagonal", "c": "y-axis"}, vectors=[[1, 0], [1, 1], [0, 2]])
    >>> store.search(vectors=[3, 0], top_k=2)[["doc_id", "rank", "score"]].round(4).values.tolist()
    [['a', 1, 1.0], ['b', 2, 0.7071]]
    """

    def __init__(
        self,
        docs: Any = None,
        *,
        embed: Embed | None = None,
        metric: str = "cosine",
        vectors: Any = None,
        query_embed: Embed | None = None,
        fallback: Embed | None = None,
    ):
        super().__init__(embed, metric, query_embed, fallback)
        if docs is not None or vectors is not None:
            self.add({} if docs is None else docs, vectors=vectors)

    def __repr__(self) -> str:
        other = "" if self._fallback is None else f", fallback={self._fallback!r}"
        return (
            f"VectorStore({len(self)} documents, metric={self._metric!r}, embed={self._given_embed!r}{other})"
        )

    # ---------------------------------------------------------------- search

    @in_both_spaces
    def search(
        self,
        queries: Any = None,
        *,
        top_k: int | None = 100,
        vectors: Any = None,
        min_score: float | None = None,
        where: Any = None,
    ) -> pd.DataFrame:
        """Rank documents by the similarity of their vectors to each query's.

        Parameters
        ----------
        queries : queries, optional
            Whatever :func:`ragkit.as_queries` takes; embedded, unless `vectors` are given.
        top_k : int or None, default=100
            How many come back for each query; None for all.
        vectors : array_like of shape (q, d) or (d,), or dict of query id to vector, optional
            The queries' vectors, in the order of `queries`; without `queries` they are numbered from 0.
        min_score : float, optional
            Keep documents of at least this similarity.
        where : dict, callable or Series, optional
            Which documents may be found; applied before ranking.

        Returns
        -------
        DataFrame
            A run, ``query_id, [chunk_id,] doc_id, rank, score``. The score is the similarity in float64,
            whatever the dtype of the vectors, and ties are judged on it: in 12 digits.

        Raises
        ------
        ValueError
            If a dot product lies beyond float64.

        Warns
        -----
        RetrievalWarning
            If a query has a zero vector: as a text it has no rows, as a vector it is equally far from all.
            If the fallback ranked for a query.

        Examples
        --------
        >>> store = VectorStore({"a": "red fox", "b": "red wine", "c": "blue whale"})
        >>> store.search("fox", top_k=1)["doc_id"].tolist()
        ['a']
        """
        top_k = check_top_k(top_k)
        floor = None if min_score is None else check_number("min_score", min_score)
        query_ids, matrix, asked = self._query_vectors(queries, vectors)
        allowed = self._table.slot_mask(where)
        empty = np.empty(0, dtype=np.int64), np.empty(0)
        found = [empty] * len(query_ids)
        if len(self) and top_k != 0 and len(asked):
            hits = self._matrix.nearest(matrix[asked], self._metric, top_k, allowed, floor)
            for row, hit in zip(asked, hits):
                found[row] = best_first(*hit, self._table, top_k)
        return run_of_slots(query_ids, found, self._table)

    @in_both_spaces
    def mmr(
        self,
        queries: Any = None,
        *,
        top_k: int | None = 4,
        fetch_k: int | None = 20,
        lambda_: float = 0.5,
        vectors: Any = None,
        where: Any = None,
    ) -> pd.DataFrame:
        """Search and diversify in one step: maximal marginal relevance on cosines.

        Parameters
        ----------
        queries : queries, optional
            Whatever :func:`ragkit.as_queries` takes; embedded, unless `vectors` are given.
        top_k : int or None, default=4
            How many come back for each query.
        fetch_k : int or None, default=20
            How many of the nearest are candidates, at least `top_k`; None for all.
        lambda_ : float, default=0.5
            1 is relevance only, 0 is novelty only.
        vectors : array_like or dict, optional
            The queries' vectors, as in :meth:`search`.
        where : dict, callable or Series, optional
            Which documents are candidates; applied before they are fetched.

        Returns
        -------
        DataFrame
            A run with the ledger of :func:`ragkit.mmr`; relevance is the cosine with the query.

        See Also
        --------
        ragkit.mmr : Diversifies any run.

        References
        ----------
        .. [1] Carbonell and Goldstein. The use of MMR, diversity-based reranking. SIGIR 1998.

        Examples
        --------
        >>> store = VectorStore(list("abcd"), vectors=[[9, 1], [9, 2], [1, 1], [1, 9]])
        >>> store.mmr(vectors=[1, 0], top_k=2, lambda_=0.3)["doc_id"].tolist()
        ['0', '3']
        """
        top_k = check_top_k(top_k)
        fetch_k = check_fetch_k(fetch_k, top_k)
        run = self.search(queries, top_k=fetch_k, vectors=vectors, where=where)
        if self._metric == "cosine":
            return mmr(run, self, lambda_=lambda_, top_k=top_k, scale=None)
        query_ids, matrix, _ = self._query_vectors(queries, vectors, quiet=True)
        named = dict(zip(query_ids, matrix))
        return mmr(run, self, lambda_=lambda_, top_k=top_k, scale=None, relevance="cosine", queries=named)

    def retriever(
        self,
        *,
        top_k: int | None = 4,
        search_type: str = "similarity",
        lambda_: float | None = None,
        fetch_k: int | None = None,
        min_score: float | None = None,
        where: Any = None,
        **unknown: Any,
    ) -> Retriever:
        """Make a function ``queries -> run`` of this store.

        Parameters
        ----------
        top_k : int or None, default=4
            How many come back for each query.
        search_type : {"similarity", "mmr", "score_threshold"}, default="similarity"
            Nearest first; diversified; or nearest of at least `min_score`.
        lambda_ : float, optional
            For ``"mmr"``: 1 is relevance only, 0 is novelty only; None for 0.5.
        fetch_k : int, optional
            For ``"mmr"``: how many of the nearest are candidates; None for 20.
        min_score : float, optional
            For ``"score_threshold"``: the least similarity.
        where : dict, callable or Series, optional
            Which documents may be found.
        **unknown
            Nothing else is taken: the error lists what is.

        Returns
        -------
        Retriever
            A callable that looks the store up when it is called, so later documents are found too.

        Raises
        ------
        ValueError
            If an option does not exist or does not belong to the search type.

        Examples
        --------
        >>> find = VectorStore({"a": "red fox", "b": "blue whale"}).retriever(top_k=1)
        >>> find
        Retriever(2 documents, top_k=1, search_type='similarity')
        >>> find("whale")["doc_id"].tolist()
        ['b']
        """
        if unknown:
            options = ["top_k", "search_type", "lambda_", "fetch_k", "min_score", "where"]
            check_choice("option of retriever", next(iter(unknown)), options)
        return make_retriever(
            self, top_k, search_type, min_score, where, {"lambda_": lambda_, "fetch_k": fetch_k}
        )

    @in_both_spaces
    def score_all(self, queries: Any = None, *, vectors: Any = None) -> pd.DataFrame:
        """Compute the similarity of every document to each query, in document order.

        Parameters
        ----------
        queries : queries, optional
            Whatever :func:`ragkit.as_queries` takes.
        vectors : array_like or dict, optional
            The queries' vectors, as in :meth:`search`.

        Returns
        -------
        DataFrame
            ``query_id, [chunk_id,] doc_id, score``: for each query one row per document, unranked.
        """
        query_ids, matrix, _ = self._query_vectors(queries, vectors)
        slots = self._table.slots
        found = [(slots, self._matrix.exact(q, slots, self._metric)) for q in matrix] if len(slots) else []
        return run_of_slots(query_ids, found, self._table, ranked=False)

    def score_pairs(self, pairs: pd.DataFrame, queries: Any = None, *, vectors: Any = None) -> np.ndarray:
        """Compute the similarity of given pairs of query and document.

        Parameters
        ----------
        pairs : DataFrame, n rows
            ``query_id`` and the unit's id column.
        queries : queries, optional
            The texts of the queries; whatever :func:`ragkit.as_queries` takes.
        vectors : array_like or dict, optional
            The queries' vectors, as in :meth:`search`.

        Returns
        -------
        ndarray of float64, shape (n,)
            The similarity of each pair.

        Raises
        ------
        ValueError
            If a document or a query is not there; it is named.
        """
        self._check_pairs(pairs)
        if self._fallback is not None and vectors is None and queries is not None:
            return self._score_pairs_apart(pairs, as_queries(queries))
        query_ids, matrix, _ = self._query_vectors(queries, vectors, quiet=True)
        asked, slots = self._rows_and_slots(pairs, query_ids)
        return self._matrix.exact_pairs(matrix, asked, slots, self._metric)

    def _score_pairs_apart(self, pairs: pd.DataFrame, frame: pd.DataFrame) -> np.ndarray:
        """Score each pair in the space of its query."""
        rows, own = self._own_rows(frame)
        mine = own[query_rows(as_ids(pairs["query_id"], "query_id"), frame["query_id"])]
        out = np.empty(len(pairs))
        out[mine] = self.score_pairs(pairs[mine], frame[own], vectors=rows[own])
        if not mine.all():
            out[~mine] = self._second.score_pairs(pairs[~mine], frame[~own])
        return out

    # ---------------------------------------------------------------- looking inside

    def explain(
        self, query: Any = None, unit_id: str = "", *, vectors: Any = None, top: int = 10
    ) -> pd.DataFrame:
        """Take the similarity of one document to one query apart.

        Parameters
        ----------
        query : str, optional
            The query's text; embedded, unless `vectors` is given.
        unit_id : str
            The document.
        vectors : array_like of shape (d,), optional
            The query's vector.
        top : int, default=10
            How many dimensions or words are listed; the rest is summed up.

        Returns
        -------
        DataFrame
            ``part, kind, value``. First the measures: ``dot, query_norm, unit_norm`` and the score. Then the
            strongest dimensions, or, where the embedder can say, the document's words with what each adds;
            these sum to the score (for ``"euclidean"`` to the squared distance).

        Examples
        --------
        >>> store = VectorStore({"a": "red fox", "b": "blue whale", "c": "fox and whale"})
        >>> ledger = store.explain("fox", "a")
        >>> ledger["part"].tolist()
        ['dot', 'query_norm', 'unit_norm', 'cosine', 'fox', 'red']
        """
        if query is not None:
            check_one_query(query)
            if (
                self._fallback is not None
                and vectors is None
                and not self._own_rows(as_queries(query))[1].all()
            ):
                return self._second.explain(query, unit_id, top=top)
        _, matrix, _ = self._query_vectors(query, None if vectors is None else [vectors], quiet=True)
        slot = self._slot_of(unit_id)
        words = None
        between = getattr(self.embed, "words_between", None)
        if callable(between) and query is not None and vectors is None and self._origin == "embedded":
            words = between(query, self._table.rows["text"].iloc[slot])
        return explain_similarity(matrix[0], self._matrix, slot, self._metric, words, top)
