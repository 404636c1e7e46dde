"""Embedders of ragkit as LangChain's, and the other way round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings

from ragkit.embedding import LangChainEmbedder
from ragkit.similarity import as_matrix


class EmbeddingsAdapter(Embeddings):
    """Serve as LangChain ``Embeddings`` and as a ragkit embedder, whichever of the two is wrapped.

    Parameters
    ----------
    embed : Embeddings or callable
        LangChain embeddings, or ``list of str -> array (n, d)``. A ragkit embedder that has ``fit`` must be
        fitted beforehand; a store fits its own, see ``RagkitVectorStore.embeddings``.
    query_embed : callable, optional
        A ragkit embedder for queries where theirs differs; None for ``embed.queries`` where there is such a
        thing, else `embed`. LangChain's have their own.

    See Also
    --------
    ragkit.LangChainEmbedder : The way from LangChain to ragkit alone, with batches and a bar.
    ragkit.VectorStore : Takes it as ``embed=`` and embeds queries with its :attr:`queries`.

    Examples
    --------
    >>> import ragkit as rk
    >>> embeddings = EmbeddingsAdapter(rk.LSAEmbedder(2).fit(["red fox", "red wine", "blue whale"]))
    >>> len(embeddings.embed_query("wine")), len(embeddings.embed_documents(["fox", "whale", "red"]))
    (2, 3)
    >>> from langchain_core.embeddings import DeterministicFakeEmbedding
    >>> EmbeddingsAdapter(DeterministicFakeEmbedding(size=4))(["fox", "whale"]).shape
    (2, 4)
    """

    def __init__(self, embed: Any, *, query_embed: Callable[[list[str]], Any] | None = None):
        if not isinstance(embed, Embeddings) and not callable(embed):
            raise TypeError(
                "embed must be LangChain Embeddings or a callable list of str -> array (n, d); "
                f"got {type(embed).__name__}."
            )
        if query_embed is not None and not callable(query_embed):
            raise TypeError(f"query_embed must be a callable or None; got {type(query_embed).__name__}.")
        if query_embed is not None and isinstance(embed, Embeddings):
            raise ValueError("query_embed is for ragkit embedders; LangChain's embed queries by themselves.")
        self.wrapped = embed
        self._query_embed = query_embed

    def __repr__(self) -> str:
        return f"EmbeddingsAdapter({type(self.wrapped).__name__})"  # not the model's own: it may show a key

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed documents.

        Parameters
        ----------
        texts : list of str
            Their texts.

        Returns
        -------
        list of list of float
            One vector per text.
        """
        if isinstance(self.wrapped, Embeddings):
            return self.wrapped.embed_documents(list(texts))
        return _lists(self.wrapped, list(texts))

    def embed_query(self, text: str) -> list[float]:
        """Embed a query.

        Parameters
        ----------
        text : str
            Its text.

        Returns
        -------
        list of float
            Its vector.
        """
        if isinstance(self.wrapped, Embeddings):
            return self.wrapped.embed_query(text)
        return _lists(self.queries, [text])[0]

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed documents, asynchronously where the wrapped embeddings can.

        Parameters
        ----------
        texts : list of str
            Their texts.

        Returns
        -------
        list of list of float
            One vector per text.
        """
        if isinstance(self.wrapped, Embeddings):
            return await self.wrapped.aembed_documents(list(texts))
        return await super().aembed_documents(texts)

    async def aembed_query(self, text: str) -> list[float]:
        """Embed a query, asynchronously where the wrapped embeddings can.

        Parameters
        ----------
        text : str
            Its text.

        Returns
        -------
        list of float
            Its vector.
        """
        if isinstance(self.wrapped, Embeddings):
            return await self.wrapped.aembed_query(text)
        return await super().aembed_query(text)

    @property
    def queries(self) -> Callable[[list[str]], Any]:
        """The ragkit embedder for queries; a store that is given this one uses it by itself."""
        if isinstance(self.wrapped, Embeddings):
            return LangChainEmbedder(self.wrapped, progress=False).queries
        return self._query_embed or getattr(self.wrapped, "queries", None) or self.wrapped

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Embed documents as ragkit's stores ask for it.

        Parameters
        ----------
        texts : sequence of str, shape (n,)
            Their texts.

        Returns
        -------
        ndarray of float, shape (n, d)
            One row per text.
        """
        if isinstance(self.wrapped, Embeddings):
            return LangChainEmbedder(self.wrapped, progress=False)(texts)
        return as_matrix(self.wrapped(list(texts)), "the embedder's vectors")


def _lists(embed: Callable[[list[str]], Any], texts: list[str]) -> list[list[float]]:
    """Embed with a ragkit embedder and give plain lists, as LangChain passes them on."""
    if not texts:
        return []
    rows = as_matrix(embed(texts), "the embedder's vectors")
    if len(rows) != len(texts):
        raise ValueError(f"embed must return one vector per text; got {len(rows)} for {len(texts)} texts.")
    return rows.astype(np.float64).tolist()
