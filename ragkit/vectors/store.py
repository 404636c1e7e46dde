"""VectorStore: exact nearest neighbours in memory."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ragkit.diversity import mmr
from ragkit.frames import (
    as_ids,
    as_queries,
    check_choice,
    check_frame,
    check_number,
    check_top_k,
    some,
    warn,
)
from ragkit.frames.folder import from_snapshot, load_folder, save_folder, to_snapshot
from ragkit.frames.runs import best_first, query_rows, run_of_slots
from ragkit.frames.table import DocTable
from ragkit.similarity import as_matrix, cosine_similarity, dot_similarity, euclidean_distance
from ragkit.vectors.ledger import explain_similarity
from ragkit.vectors.matrix import METRICS, Matrix
from ragkit.vectors.retriever import Retriever, make_retriever


class VectorStore:
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
        embed: Callable[[list[str]], Any] | None = None,
        metric: str = "cosine",
        vectors: Any = None,
        query_embed: Callable[[list[str]], Any] | None = None,
    ):
        for name, given in (("embed", embed), ("query_embed", query_embed)):
            if given is not None and not callable(given):
                raise TypeError(f"{name} must be a callable list of str -> array (n, d); got {given!r}.")
        self._metric = check_choice("metric", metric, METRICS)
        self._given_embed = _default_embedder() if embed is None else embed
        self._query_embed = query_embed
        self._refits = hasattr(self._given_embed, "fit") and not _is_fitted(self._given_embed)
        self._table = DocTable(need_text=False)
        self._matrix = Matrix()
        self._fitted: Any = None  # the clone that is fitted to the store's texts
        self._stale = False  # whether it must be fitted again
        self._settled = -1  # the version to which the matrix belongs
        self._origin: str | None = None  # whether the vectors were "given" or "embedded"
        if docs is not None or vectors is not None:
            self.add({} if docs is None else docs, vectors=vectors)

    # ---------------------------------------------------------------- what it is set to and holds

    @property
    def embed(self) -> Callable[[list[str]], Any]:
        """The embedder in force: the fitted clone where the store fits its own."""
        self._settle()
        return self._fitted if self._fitted is not None else self._given_embed

    @property
    def metric(self) -> str:
        """The similarity."""
        return self._metric

    @property
    def dim(self) -> int | None:
        """Length of a vector; None while there is none."""
        self._settle()
        return self._matrix.dim

    @property
    def version(self) -> int:
        """A counter that every change of the documents raises."""
        return self._table.version

    @property
    def docs(self) -> pd.DataFrame:
        """The documents in order, as a copy."""
        return self._table.copy()

    @property
    def ids(self) -> list[str]:
        """The unit ids in document order."""
        return list(self._table)

    def __len__(self) -> int:
        return len(self._table)

    def __contains__(self, unit_id: Any) -> bool:
        return unit_id in self._table

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __repr__(self) -> str:
        return f"VectorStore({len(self)} documents, metric={self._metric!r}, embed={self._given_embed!r})"

    def get(self, unit_id: str) -> dict[str, Any] | None:
        """Look up one document.

        Parameters
        ----------
        unit_id : str
            Its id.

        Returns
        -------
        dict or None
            Its columns; None if it is not there.
        """
        return self._table.get(unit_id)

    def vectors(self, ids: Sequence[str] | None = None) -> np.ndarray:
        """Look up vectors by unit id.

        Parameters
        ----------
        ids : sequence of str, shape (n,), optional
            Unit ids; repeats are allowed; None for all, in document order.

        Returns
        -------
        ndarray of float32 or float64, shape (n, d)
            A copy, as they were given or embedded.

        Raises
        ------
        ValueError
            If an id is not there; it is named.

        Examples
        --------
        >>> VectorStore({"a": "", "b": ""}, vectors=[[1, 0], [0, 1]]).vectors(["b"]).tolist()
        [[0.0, 1.0]]
        """
        self._settle()
        slots = self._table.slots if ids is None else self._table.slots_of(ids)
        return self._matrix.rows[slots]

    @property
    def can_embed(self) -> bool:
        """Whether the store can embed a query's text; one that was given its vectors may lack the model."""
        return not (self._origin == "given" and self._refits and self._query_embed is None)

    def query_vectors(self, queries: Any) -> np.ndarray:
        """Embed queries as a search does.

        Parameters
        ----------
        queries : queries
            Whatever :func:`ragkit.as_queries` takes.

        Returns
        -------
        ndarray of float, shape (q, d)
            One row per query; zeros where a text is blank or means nothing to the embedder.

        Examples
        --------
        >>> VectorStore(["red fox", "blue whale"]).query_vectors(["fox", ""]).any(axis=1).tolist()
        [True, False]
        """
        return self._query_vectors(queries, None, quiet=True)[1]

    # ---------------------------------------------------------------- updates

    def add(self, docs: Any, *, vectors: Any = None, replace_docs: bool = False) -> list[str]:
        """Add documents; one whose id is there replaces the old one in its place.

        Parameters
        ----------
        docs : documents
            Whatever :func:`ragkit.as_docs` takes; bare strings are numbered from where the store stands.
        vectors : array_like of shape (n, d) or dict of id to vector, optional
            Their vectors, row by row; then the text is optional. None to embed the texts.
        replace_docs : bool, default=False
            Whether all chunks of the documents at hand go first, so that none of an old version stays.

        Returns
        -------
        list of str
            The unit ids added.

        Raises
        ------
        ValueError
            If an id stands twice, a vector is of another length or holds NaN; then nothing is added.
        """
        frame = self._table.prepare(docs)
        units = frame[frame.columns[0]].tolist() if not len(frame) else frame[_unit(frame)].tolist()
        if len(frame):
            self._check_origin(vectors is not None)
        if vectors is not None:
            rows = self._checked(_rows_of(vectors, units), units)
        elif self._refits or not len(frame):
            self._texts_of(frame)
            rows = None
        else:
            rows = self._checked(call_embedder(self._given_embed, self._texts_of(frame)), units)
        before = self._table.n_slots
        self._table.commit(frame, replace_docs=replace_docs)
        if rows is not None and len(rows):
            if self._matrix.dim not in (None, rows.shape[1]):  # every old vector is overwritten or gone
                self._matrix = Matrix()
                self._matrix.append(np.zeros((before, rows.shape[1]), dtype=rows.dtype))
            self._matrix.append(rows)
        if len(frame):
            self._origin = "given" if vectors is not None else "embedded"
            self._stale = self._origin == "embedded" and self._refits
        return units

    def remove(self, ids: Any = None, *, doc_ids: Any = None, where: Any = None) -> list[str]:
        """Remove documents by id or by condition; ids that are not there are passed over.

        Parameters
        ----------
        ids : str or sequence of str, optional
            Unit ids.
        doc_ids : str or sequence of str, optional
            Documents, of which all chunks go.
        where : dict, callable or Series, optional
            As in :meth:`search`.

        Returns
        -------
        list of str
            The unit ids that were there.
        """
        found = self._table.find(ids, doc_ids=doc_ids, where=where)
        self._table.discard(found)
        if found and self._origin == "embedded" and self._refits:
            self._stale = True
        return found

    def clear(self) -> None:
        """Remove every document; the length of vectors is free again."""
        self._table.clear()
        self._matrix, self._fitted, self._stale, self._origin = Matrix(), None, False, None

    # ---------------------------------------------------------------- search

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
            A run, ``query_id, [chunk_id,] doc_id, rank, score``; the score is the similarity in float64.

        Warns
        -----
        RetrievalWarning
            If a query has a zero vector: as a text it has no rows, as a vector it is equally far from all.

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
        top_k, fetch_k = check_top_k(top_k), check_top_k(fetch_k, "fetch_k")
        if fetch_k is not None and (top_k is None or fetch_k < top_k):
            raise ValueError(f"fetch_k must be at least top_k; got fetch_k={fetch_k}, top_k={top_k}.")
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
        check_frame(pairs, ["query_id", self._table.unit], "pairs")
        query_ids, matrix, _ = self._query_vectors(queries, vectors, quiet=True)
        slots = self._table.slots_of(as_ids(pairs[self._table.unit], self._table.unit))
        asked = query_rows(as_ids(pairs["query_id"], "query_id"), query_ids)
        return self._matrix.exact_pairs(matrix, asked, slots, self._metric)

    # ---------------------------------------------------------------- looking inside

    def similarity(self, ids_a: Any, ids_b: Any = None) -> Any:
        """Compute the similarity between units of the store.

        Parameters
        ----------
        ids_a : str or sequence of str, shape (n,)
            Unit ids.
        ids_b : str or sequence of str, shape (m,), optional
            Unit ids; None for `ids_a`.

        Returns
        -------
        float, or ndarray of shape (n,), (m,) or (n, m)
            Similarities by the store's metric; an axis is there for each list.

        Examples
        --------
        >>> store = VectorStore(["", "", ""], vectors=[[1, 0], [0, 1], [1, 1]])
        >>> store.similarity("0", ["1", "2"]).round(3).tolist()
        [0.0, 0.707]
        """
        ids_b = ids_a if ids_b is None else ids_b
        a, b = (self.vectors([ids] if isinstance(ids, str) else ids) for ids in (ids_a, ids_b))
        if self._metric == "euclidean":
            table = 1 / (1 + euclidean_distance(a, b))
        else:
            table = (cosine_similarity if self._metric == "cosine" else dot_similarity)(a, b)
        one_a, one_b = isinstance(ids_a, str), isinstance(ids_b, str)
        if one_a and one_b:
            return float(table[0, 0])
        return table[0] if one_a else table[:, 0] if one_b else table

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
        if query is not None and not isinstance(query, str):
            raise TypeError(f"query must be a string; got {type(query).__name__}.")
        _, matrix, _ = self._query_vectors(query, None if vectors is None else [vectors], quiet=True)
        slot = self._table.slots_of([str(unit_id)])[0]
        words = None
        between = getattr(self.embed, "words_between", None)
        if callable(between) and query is not None and vectors is None and self._origin == "embedded":
            words = between(query, self._table.rows["text"].iloc[slot])
        return explain_similarity(matrix[0], self._matrix, slot, self._metric, words, top)

    def stats(self) -> dict[str, Any]:
        """Describe the store in numbers.

        Returns
        -------
        dict
            ``documents, dimension, metric, memory`` (bytes of the vectors).

        Examples
        --------
        >>> VectorStore(["", ""], vectors=[[1.0, 0.0], [0.0, 1.0]]).stats()["dimension"]
        2
        """
        self._settle()
        return {
            "documents": len(self),
            "dimension": self._matrix.dim,
            "metric": self._metric,
            "memory": self._matrix.nbytes,
        }

    # ---------------------------------------------------------------- saving

    def save(self, folder: Any) -> None:
        """Save the store to a folder: vectors, documents and settings, as npz and JSON.

        Parameters
        ----------
        folder : path
            A folder that is new, empty, or holds an earlier save, which is replaced in one step.

        Raises
        ------
        ValueError
            If the folder holds other files, or a column of the documents cannot be written as JSON.

        See Also
        --------
        VectorStore.load : The way back.
        """
        save_folder(folder, "VectorStore", *self._packed())

    @classmethod
    def load(
        cls,
        folder: Any,
        *,
        embed: Callable[[list[str]], Any] | None = None,
        query_embed: Callable[[list[str]], Any] | None = None,
    ) -> VectorStore:
        """Load a store from a folder.

        Parameters
        ----------
        folder : path
            What :meth:`save` wrote.
        embed : callable, optional
            The embedder, to search by text; an LSAEmbedder of the store's own comes back by itself. One that
            is given is tried on a document: its vector must be the saved one.
        query_embed : callable, optional
            The queries' own embedder, if there was one.

        Returns
        -------
        VectorStore
            It finds what the one that was saved found.

        Raises
        ------
        ValueError
            If the folder is damaged or foreign, or the embedder is another one.
        FileNotFoundError
            If there is nothing.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     VectorStore({"a": "red fox", "b": "blue whale"}).save(folder)
        ...     VectorStore.load(folder).search("fox", top_k=1)["doc_id"].tolist()
        ['a']
        """
        return cls._unpacked(*load_folder(folder, "VectorStore"), embed, query_embed)

    def to_json(self) -> str:
        """Write the store as one JSON text, for small collections; numbers come back to the last bit.

        Returns
        -------
        str
            JSON.

        Examples
        --------
        >>> store = VectorStore({"a": ""}, vectors=[[0.1, 1e-300]])
        >>> VectorStore.from_json(store.to_json()).vectors().tolist()
        [[0.1, 1e-300]]
        """
        return to_snapshot("VectorStore", *self._packed())

    @classmethod
    def from_json(
        cls,
        text: str,
        *,
        embed: Callable[[list[str]], Any] | None = None,
        query_embed: Callable[[list[str]], Any] | None = None,
    ) -> VectorStore:
        """Make a store of what :meth:`to_json` wrote.

        Parameters
        ----------
        text : str
            JSON.
        embed, query_embed : callable, optional
            As in :meth:`load`.

        Returns
        -------
        VectorStore
            It finds what the one that was written found.

        Raises
        ------
        ValueError
            If the text is damaged or foreign, or the embedder is another one.
        """
        return cls._unpacked(*from_snapshot(text, "VectorStore"), embed, query_embed)

    def _packed(self) -> tuple[dict[str, Any], pd.DataFrame, dict[str, np.ndarray]]:
        """Give settings, documents and arrays, all in document order."""
        self._settle()
        arrays = {"vectors": self._matrix.rows[self._table.slots]}
        of_lsa = None
        lsa = self._fitted if self._fitted is not None else self._given_embed
        if hasattr(lsa, "state") and hasattr(lsa, "from_state"):
            of_lsa, learned = lsa.state()
            arrays |= learned
        meta = {"metric": self._metric, "origin": self._origin, "refits": self._refits, "lsa": of_lsa}
        return meta | {"embed": repr(self._given_embed)}, self._table.frame, arrays

    @classmethod
    def _unpacked(
        cls, meta: Any, docs: pd.DataFrame, arrays: Any, embed: Any, query_embed: Any
    ) -> VectorStore:
        try:
            metric, origin, refits, of_lsa = (meta[k] for k in ("metric", "origin", "refits", "lsa"))
            rows = arrays["vectors"]
        except (KeyError, TypeError) as error:
            raise ValueError(f"the saved VectorStore is damaged: {error!r}.") from None
        own = None
        if embed is None and of_lsa is not None and of_lsa["tokenizer"]["options"] is not None:
            own = saved_lsa(of_lsa, arrays)
        if embed is None:
            embed = (
                own
                if own is not None and not refits
                else None
                if own is not None
                else _Absent(meta.get("embed"))
            )
        store = cls(embed=embed, metric=metric, query_embed=query_embed)
        if own is not None and refits:
            store._given_embed = unfitted_lsa(own)
        rows = as_matrix(rows, "the saved vectors") if len(docs) else np.empty((0, 0))
        if len(rows) != len(docs):
            raise ValueError(
                f"the saved VectorStore is damaged: {len(rows)} vectors for {len(docs)} documents."
            )
        store._table.restore(docs, np.arange(len(docs)))
        store._matrix.append(rows)
        store._origin = origin if len(docs) else None
        store._fitted = own if refits else None
        store._check_same_embedder(embed)
        return store

    def _check_same_embedder(self, embed: Any) -> None:
        """Refuse an embedder that does not give a saved document its saved vector."""
        if self._origin != "embedded" or embed is None or isinstance(embed, _Absent):
            return
        if self._refits:  # it will be fitted to these texts anyway
            self._stale = True
            return
        self._settle()
        texts = self._table.rows["text"]
        tried = np.flatnonzero(texts.str.strip().ne("").to_numpy(dtype=bool))[:1]
        if not len(tried):
            return
        now, then = call_embedder(embed, texts.iloc[tried].tolist())[0], self._matrix.rows[tried[0]]
        if len(now) != len(then):
            raise ValueError(
                f"the embedder gives vectors of {len(now)} numbers, the saved ones have {len(then)}; "
                "give the one that made them."
            )
        if not np.allclose(now, then, rtol=0, atol=1e-3 * max(1e-30, float(np.abs(then).max()))):
            raise ValueError(
                "the embedder gives another vector than the saved one; give the one that made them."
            )

    # ---------------------------------------------------------------- inside

    def _settle(self) -> None:
        """Embed what must be embedded and close gaps."""
        if self._settled == self._table.version and not self._stale:
            return
        if self._stale:
            texts = self._texts_of(self._table.frame)
            fitted = copy.deepcopy(self._given_embed)
            fitted.fit(texts)  # type: ignore[attr-defined]
            rows = as_matrix(call_embedder(fitted, texts), "vectors", self.ids) if texts else np.empty((0, 0))
            self._table.compact()
            order = np.argsort(self._table.slots, kind="stable")  # slots keep the order of adding
            self._matrix = Matrix()
            self._matrix.append(rows[order])
            self._fitted, self._stale = fitted, False
        self._matrix.settle(self._table.compact())
        self._settled = self._table.version

    def _query_vectors(
        self, queries: Any, vectors: Any, quiet: bool = False
    ) -> tuple[pd.Series, np.ndarray, np.ndarray]:
        """Give the queries' ids, their vectors, and the rows of those that are to be searched."""
        if vectors is None and queries is None:
            raise TypeError("search needs queries or vectors; got neither.")
        self._settle()
        if vectors is None:
            return self._embedded(as_queries(queries), quiet)
        frame = None if queries is None else as_queries(queries)
        query_ids, matrix = _given_queries(frame, vectors)
        if self._matrix.dim is not None and len(matrix) and matrix.shape[1] != self._matrix.dim:
            raise ValueError(
                f"query vectors must have {self._matrix.dim} numbers, as the store's; got {matrix.shape[1]}. "
                "Do both come from the same embedder?"
            )
        zero = np.flatnonzero(~matrix.any(axis=1))
        if len(zero) and not quiet and self._metric == "cosine":
            warn(
                f"the vectors of queries {some(query_ids.iloc[zero])} are all zeros: their similarity to "
                "everything is 0 and the order of their rows means nothing; check what made them."
            )
        return query_ids, matrix, np.arange(len(matrix))

    def _embedded(self, frame: pd.DataFrame, quiet: bool) -> tuple[pd.Series, np.ndarray, np.ndarray]:
        dim = self._matrix.dim
        if not len(self) or dim is None:
            return frame["query_id"], np.zeros((len(frame), 0)), np.empty(0, dtype=np.int64)
        if not self.can_embed:
            raise ValueError(
                "this store holds vectors that were given, so it cannot embed a query by itself; "
                "search(vectors=...), or build it with embed= the model that made them."
            )
        written = np.array([bool(text.strip()) for text in frame["text"]], dtype=bool)
        embed = self._query_embed or self._fitted
        if embed is None:
            embed = getattr(self._given_embed, "queries", None) or self._given_embed
        matrix = np.zeros((len(frame), dim))
        if written.any():
            rows = call_embedder(embed, frame["text"][written].tolist())
            if rows.shape[1] != dim:
                raise ValueError(
                    f"the embedder gives vectors of {rows.shape[1]} numbers, the store's have {dim}; "
                    "use the one that made them."
                )
            matrix = matrix.astype(rows.dtype)
            matrix[written] = rows
        nonzero = matrix.any(axis=1)
        if (written & ~nonzero).any() and not quiet:
            warn(
                f"no word of queries {some(frame['text'][written & ~nonzero])} is known to the embedder, "
                "so they have no hits; check spelling and language."
            )
        return frame["query_id"], matrix, np.flatnonzero(nonzero)

    def _check_origin(self, given: bool) -> None:
        if self._origin is None or not self._refits or (self._origin == "given") == given:
            return
        raise ValueError(
            "the store's embedder is fitted to its texts, so its vectors must be all given or all embedded; "
            f"it holds {self._origin} ones. Give vectors= for every document, or an embedder that is fitted."
        )

    def _checked(self, rows: np.ndarray, units: list[str]) -> np.ndarray:
        """Check new vectors against their documents and the store."""
        if len(rows) != len(units):
            raise ValueError(
                f"vectors must have one row per document; got {len(rows)} for {len(units)} documents."
            )
        others = len(self) - sum(unit in self._table for unit in units)  # a store overwritten whole is free
        if len(rows) and rows.shape[1] == 0:
            raise ValueError("vectors must hold at least one number; got rows of length 0.")
        if others and self._matrix.dim is not None and len(rows) and rows.shape[1] != self._matrix.dim:
            raise ValueError(
                f"vectors must have {self._matrix.dim} numbers, as the store's first; those of "
                f"{some(units)} have {rows.shape[1]}."
            )
        return rows

    def _texts_of(self, frame: pd.DataFrame) -> list[str]:
        if "text" not in frame.columns or (len(frame) and frame["text"].isna().any()):
            if not len(frame):
                return []
            raise ValueError("docs needs a text column to be embedded; give one, or vectors=.")
        return frame["text"].tolist()


def _unit(frame: pd.DataFrame) -> str:
    return "chunk_id" if "chunk_id" in frame.columns else "doc_id"


def call_embedder(embed: Callable[[list[str]], Any], texts: list[str]) -> np.ndarray:
    """Embed texts and check what comes back."""
    rows = as_matrix(embed(texts), "the embedder's vectors") if texts else np.empty((0, 0))
    if len(rows) != len(texts):
        raise ValueError(f"embed must return one vector per text; got {len(rows)} for {len(texts)} texts.")
    return rows


def _rows_of(vectors: Any, units: list[str]) -> np.ndarray:
    """Put given vectors in the order of the documents."""
    if isinstance(vectors, Mapping):
        missing = [unit for unit in units if unit not in vectors]
        if missing:
            raise ValueError(f"vectors lacks {len(missing)} of the documents: {some(missing)}.")
        vectors = [vectors[unit] for unit in units]
    if len(vectors) != len(units):
        raise ValueError(
            f"vectors must have one row per document; got {len(vectors)} for {len(units)} documents."
        )
    return as_matrix(vectors, "vectors", units) if units else np.empty((0, 0))


def _given_queries(frame: pd.DataFrame | None, vectors: Any) -> tuple[pd.Series, np.ndarray]:
    """Match query vectors with query ids."""
    if isinstance(vectors, Mapping):
        names = as_ids(list(vectors), "query_id")
        matrix = (
            as_matrix(list(vectors.values()), "query vectors", names.tolist())
            if len(names)
            else np.empty((0, 0))
        )
        if frame is None:
            return names, matrix
        return frame["query_id"], matrix[query_rows(frame["query_id"], names)]
    matrix = as_matrix(vectors, "query vectors") if np.size(vectors) else np.empty((0, 0))
    if frame is None:
        return pd.Series([str(n) for n in range(len(matrix))], dtype="str"), matrix
    if len(frame) != len(matrix):
        raise ValueError(f"vectors must have one row per query; got {len(matrix)} for {len(frame)} queries.")
    return frame["query_id"], matrix


class _Absent:
    """Stands for the embedder of a loaded store that was not given."""

    fitted = True

    def __init__(self, name: Any):
        self.name = name

    def __repr__(self) -> str:
        return f"(not given: {self.name})"

    def __call__(self, texts: list[str]) -> Any:
        raise ValueError(
            f"this store was saved with embed={self.name}; give it to load(folder, embed=...) to embed texts."
        )


def saved_lsa(meta: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> Any:
    """Make the LSAEmbedder of a saved store."""
    from ragkit.text.lsa import LSAEmbedder

    return LSAEmbedder.from_state(meta, arrays)


def unfitted_lsa(fitted: Any) -> Any:
    """Make an LSAEmbedder with the same settings, to be fitted."""
    from ragkit.text.lsa import LSAEmbedder

    return LSAEmbedder(fitted.n_components, tokenizer=fitted.tokenizer, random_state=fitted.random_state)


def _default_embedder() -> Callable[[list[str]], Any]:
    from ragkit.text.lsa import LSAEmbedder  # it brings scipy.sparse; not every store needs it

    return LSAEmbedder()


def _is_fitted(embed: Any) -> bool:
    """Say whether an embedder was fitted: by its own word, else by scikit-learn's trailing underscores."""
    said = getattr(embed, "fitted", None)
    if said is not None:
        return bool(said)
    return any(name.endswith("_") and not name.startswith("_") for name in vars(embed))
