"""The documents of a vector store and their vectors, given or embedded, and the vectors of queries."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from ragkit.frames import as_queries, check_choice, some, unit_column, warn
from ragkit.frames.store import Store, unshared
from ragkit.similarity import as_matrix, cosine_similarity, dot_similarity, euclidean_distance
from ragkit.vectors.inputs import (
    Embed,
    call_embedder,
    check_count,
    check_embed,
    default_embedder,
    embed_written,
    given_queries,
    given_rows,
    is_fitted,
    texts_of,
)
from ragkit.vectors.matrix import METRICS, Matrix


class HeldVectors(Store):
    """Documents with a vector each.

    Parameters
    ----------
    embed, query_embed : callable or None
        ``list of str -> array (n, d)``, for documents and for queries.
    metric : str
        The similarity.
    fallback : callable or None
        An embedder for the queries that the others cannot place, with a space of its own.
    """

    _kind: ClassVar[str] = "VectorStore"

    def __init__(
        self, embed: Embed | None, metric: str, query_embed: Embed | None, fallback: Embed | None = None
    ):
        for name, given in (("embed", embed), ("query_embed", query_embed), ("fallback", fallback)):
            check_embed(name, given)
        self._metric = check_choice("metric", metric, METRICS)
        self._given_embed = default_embedder() if embed is None else embed
        self._query_embed, self._fallback = query_embed, fallback
        self._refits = hasattr(self._given_embed, "fit") and not is_fitted(self._given_embed)
        super().__init__(need_text=False)

    def _reset(self) -> None:
        self._matrix = Matrix()
        self._fitted: Any = None  # the clone that is fitted to the store's texts
        self._stale = False  # whether it must be fitted again
        self._settled = -1  # the version to which the matrix belongs
        self._origin: str | None = None  # whether the vectors were "given" or "embedded"
        self._other: tuple[int, Any] = (-1, None)  # the fallback's store, and the version that it holds

    def _unshare(self) -> None:
        self._matrix = unshared(self._matrix)

    def _removed(self) -> None:
        self._stale = self.refits

    @property
    def embed(self) -> Embed:
        """The embedder in force: the fitted clone where the store fits its own."""
        self._settle()
        return self._fitted if self._fitted is not None else self._given_embed

    @property
    def fallback(self) -> Embed | None:
        """The embedder of queries that the store's own cannot place, as it was given."""
        return self._fallback

    @property
    def metric(self) -> str:
        """The similarity."""
        return self._metric

    @property
    def dim(self) -> int | None:
        """Length of a vector; None while there is none."""
        self._settle()
        return self._matrix.dim

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
        >>> from ragkit import VectorStore
        >>> VectorStore({"a": "", "b": ""}, vectors=[[1, 0], [0, 1]]).vectors(["b"]).tolist()
        [[0.0, 1.0]]
        """
        self._settle()
        slots = self._table.slots if ids is None else self._table.slots_of(ids)
        return self._matrix.rows[slots]

    @property
    def refits(self) -> bool:
        """Whether the store fits its embedder to its own documents, anew after every change."""
        return self._refits and self._origin == "embedded"

    @property
    def can_embed(self) -> bool:
        """Whether the store can embed a query's text; one that was given its vectors may lack the model."""
        return self._fallback is not None or self._has_embedder

    @property
    def _has_embedder(self) -> bool:
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
            One row per query; zeros where a text is blank or means nothing to the embedder. A fallback's
            vectors are not among them: they lie in another space.

        Warns
        -----
        RetrievalWarning
            If a text has a vector in the fallback's space alone.

        Examples
        --------
        >>> from ragkit import VectorStore
        >>> VectorStore(["red fox", "blue whale"]).query_vectors(["fox", ""]).any(axis=1).tolist()
        [True, False]
        """
        frame = as_queries(queries)
        rows = self._query_vectors(frame, None, quiet=True)[1]
        lost = frame["text"][~rows.any(axis=1) & frame["text"].str.strip().ne("").to_numpy(dtype=bool)]
        if self._fallback is not None and len(lost):
            warn(
                f"free text {some(lost)}: no vector in the store's own space, so its similarity to "
                "everything is 0 here; the store's search and mmr rank it by the fallback."
            )
        return rows

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
        >>> from ragkit import VectorStore
        >>> store = VectorStore(["", "", ""], vectors=[[1, 0], [0, 1], [1, 1]])
        >>> store.similarity("0", ["1", "2"]).round(3).tolist()
        [0.0, 0.707]
        """
        ids_b = ids_a if ids_b is None else ids_b
        a, b = (self.vectors([ids] if np.ndim(ids) == 0 else ids) for ids in (ids_a, ids_b))
        if self._metric == "euclidean":
            table = 1 / (1 + euclidean_distance(a, b))
        else:
            table = (cosine_similarity if self._metric == "cosine" else dot_similarity)(a, b)
        one_a, one_b = np.ndim(ids_a) == 0, np.ndim(ids_b) == 0
        if one_a and one_b:
            return float(table[0, 0])
        return table[0] if one_a else table[:, 0] if one_b else table

    def stats(self) -> dict[str, Any]:
        """Describe the store in numbers.

        Returns
        -------
        dict
            ``documents, dimension, metric, memory`` (bytes of the vectors).

        Examples
        --------
        >>> from ragkit import VectorStore
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
        units = frame[unit_column(frame, "docs")].tolist()
        rows = self._rows_for(frame, units, vectors)
        before = self._table.n_slots
        self._table.commit(frame, replace_docs=replace_docs)
        if rows is not None and len(rows):
            self._append(rows, before)
        if len(frame):
            self._origin = "given" if vectors is not None else "embedded"
            self._stale = self.refits
        return units

    def _rows_for(self, frame: pd.DataFrame, units: list[str], vectors: Any) -> np.ndarray | None:
        """Give the vectors of new documents: None where they come with the next fitting."""
        if len(frame):
            self._check_origin(vectors is not None)
        if vectors is not None:
            return self._checked(given_rows(vectors, units), units)
        texts = texts_of(frame)
        if self._refits or not texts:
            return None
        return self._checked(call_embedder(self._given_embed, texts), units)

    def _append(self, rows: np.ndarray, before: int) -> None:
        """Give the slots after the first `before` to rows."""
        if self._matrix.dim not in (None, rows.shape[1]):  # every old vector is overwritten or gone
            self._matrix = Matrix()
            self._matrix.append(np.zeros((before, rows.shape[1]), dtype=rows.dtype))
        self._matrix.append(rows)

    def _check_origin(self, given: bool) -> None:
        if self._origin is None or not self._refits or (self._origin == "given") == given:
            return
        raise ValueError(
            "the store's embedder is fitted to its texts, so its vectors must be all given or all embedded; "
            f"it holds {self._origin} ones. Give vectors= for every document, or an embedder that is fitted."
        )

    def _checked(self, rows: np.ndarray, units: list[str]) -> np.ndarray:
        """Check new vectors against their documents and the store."""
        check_count(len(rows), units)
        if not len(rows):
            return rows
        if rows.shape[1] == 0:
            raise ValueError("vectors must hold at least one number; got rows of length 0.")
        others = len(self) - sum(unit in self._table for unit in units)  # a store overwritten whole is free
        if others and self._matrix.dim not in (None, rows.shape[1]):
            raise ValueError(
                f"vectors must have {self._matrix.dim} numbers, as the store's first; those of "
                f"{some(units)} have {rows.shape[1]}."
            )
        return rows

    def _settle(self) -> None:
        """Embed what must be embedded and close gaps."""
        if self._settled == self._table.version and not self._stale:
            return
        if self._stale:
            self._refit()
        self._matrix.settle(self._table.compact())
        self._settled = self._table.version

    def _refit(self) -> None:
        """Fit a clone of the embedder to the store's texts and embed them all."""
        texts = texts_of(self._table.frame)
        fitted = copy.deepcopy(self._given_embed)
        fitted.fit(texts)  # type: ignore[attr-defined]
        rows = as_matrix(call_embedder(fitted, texts), "vectors", self.ids) if texts else np.empty((0, 0))
        self._table.compact()
        order = np.argsort(self._table.slots, kind="stable")  # slots keep the order of adding
        self._matrix = Matrix()
        self._matrix.append(rows[order])
        self._fitted, self._stale = fitted, False

    # ---------------------------------------------------------------- vectors of queries

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
        query_ids, matrix = given_queries(frame, vectors)
        if len(matrix) and self._matrix.dim not in (None, matrix.shape[1]):
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
        dim, query_ids, texts = self._matrix.dim, frame["query_id"], frame["text"]
        written = np.array([bool(text.strip()) for text in texts], dtype=bool)
        if dim is None or not len(self) or not written.any():
            return query_ids, np.zeros((len(frame), dim or 0)), np.empty(0, dtype=np.int64)
        embed = self._embed_of_queries()
        matrix = embed_written(embed, texts, written, dim)
        nonzero = matrix.any(axis=1)
        unknown = written & ~nonzero
        if unknown.any() and not quiet:
            reason = getattr(embed, "zero_reason", None) or (
                "no word of theirs is known to the embedder; check spelling and language"
            )
            warn(f"queries {some(texts[unknown])} have no hits: {reason}.")
        return query_ids, matrix, np.flatnonzero(nonzero)

    def _own_rows(self, frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        """Give the queries' vectors in the store's own space, and say which queries have one there."""
        if not self._has_embedder:
            return np.zeros((len(frame), self.dim or 0)), np.zeros(len(frame), dtype=bool)
        rows = self._query_vectors(frame, None, quiet=True)[1]
        return rows, np.asarray(rows.any(axis=1))

    @property
    def _second(self) -> Self:
        """The documents in the fallback's space: embedded when first needed, and after every change."""
        version, store = self._other
        if version != self._table.version:
            version, docs = self._table.version, self._table.frame
            if len(docs) and ("text" not in docs.columns or docs["text"].isna().any()):
                raise ValueError(
                    "fallback embeds the documents' texts, and this store holds documents without one; "
                    "give every document a text, or leave fallback out."
                )
            store = type(self)(embed=self._fallback, metric=self._metric, query_embed=None)
            store.add(docs)
            self._other = version, store
        return store

    def _embed_of_queries(self) -> Embed:
        """Choose who embeds queries: their own embedder, the fitted one, or the documents' in that role."""
        if not self._has_embedder:
            raise ValueError(
                "this store holds vectors that were given, so it cannot embed a query by itself; give the "
                "query's with vectors=, or build the store with embed= the model that made them, or with "
                "fallback=rk.LSAEmbedder()."
            )
        choices = (self._query_embed, self._fitted, getattr(self._given_embed, "queries", None))
        return next((embed for embed in choices if embed is not None), self._given_embed)
