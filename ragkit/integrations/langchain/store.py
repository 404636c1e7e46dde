"""RagkitVectorStore: a ragkit VectorStore behind LangChain's contract."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStoreRetriever

from ragkit.integrations.langchain.documents import LOCK
from ragkit.integrations.langchain.embeddings import EmbeddingsAdapter
from ragkit.integrations.langchain.options import OPTIONS, RELEVANCE, RETRIEVER, refuse
from ragkit.integrations.langchain.search import Search
from ragkit.vectors import VectorStore


class RagkitVectorStore(Search):
    """A ragkit ``VectorStore`` as a LangChain vector store: exact search in memory, upsert, filters, MMR.

    Parameters
    ----------
    embedding : Embeddings or callable, optional
        LangChain embeddings or a ragkit embedder. None for the embedder of `store`, or ``LSAEmbedder()``,
        which the store fits to its own texts. A ragkit store alone may stand here too.
    store : VectorStore, optional
        The ragkit store to work on; None for a new one. It is shared, not copied.
    metric : {"cosine", "dot", "euclidean"}, optional
        Similarity of a new store; None is ``"cosine"``.
    relevance_score_fn : callable, optional
        ``similarity -> relevance in [0, 1]``. None is ``(1 + s) / 2`` for cosines, the logistic function
        for dot products, and ``s`` itself for ``"euclidean"``, whose similarity is ``1 / (1 + distance)``.

    Raises
    ------
    TypeError
        If one of them is of another kind.
    ValueError
        If a metric is given that `store` does not have.

    See Also
    --------
    RagkitRetriever : A retriever over keyword, vector and hybrid searches.

    Notes
    -----
    Scores are similarities, larger is nearer, for every metric. Equal scores stand in descending order of
    id. Documents without an id are numbered. The underlying store is :attr:`store`; metadata keys are
    columns there, so ``store.search(..., where={"year": 2020})`` and every function of ragkit work on it.

    Examples
    --------
    >>> from langchain_core.embeddings import DeterministicFakeEmbedding
    >>> vectors = RagkitVectorStore(DeterministicFakeEmbedding(size=8))
    >>> vectors.add_texts(["red fox", "blue whale"], [{"legs": 4}, {"legs": 0}])
    ['0', '1']
    >>> vectors.similarity_search("blue whale", k=1)
    [Document(id='1', metadata={'legs': 0}, page_content='blue whale')]
    >>> vectors.similarity_search("blue whale", filter={"legs": 4})[0].page_content
    'red fox'
    """

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Any = None,
        metadatas: Any = None,
        *,
        ids: Any = None,
        metric: str | None = None,
        relevance_score_fn: Callable[[float], float] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Make a store of texts.

        Parameters
        ----------
        texts, metadatas, ids
            As in :meth:`add_texts`.
        embedding, metric, relevance_score_fn
            As the class takes them.
        **kwargs
            Nothing; a name that is not known raises.

        Returns
        -------
        RagkitVectorStore
            The store.
        """
        refuse("from_texts", kwargs, ("metadatas", "ids", "metric", "relevance_score_fn"))
        made = cls(embedding, metric=metric, relevance_score_fn=relevance_score_fn)
        made.add_texts(texts, metadatas, ids=ids)
        return made

    @classmethod
    async def afrom_texts(
        cls,
        texts: list[str],
        embedding: Any = None,
        metadatas: Any = None,
        *,
        ids: Any = None,
        metric: str | None = None,
        relevance_score_fn: Callable[[float], float] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Make a store of texts, embedded asynchronously.

        Parameters
        ----------
        texts, embedding, metadatas, ids, metric, relevance_score_fn, **kwargs
            As in :meth:`from_texts`.

        Returns
        -------
        RagkitVectorStore
            The store.
        """
        refuse("afrom_texts", kwargs, ("metadatas", "ids", "metric", "relevance_score_fn"))
        made = cls(embedding, metric=metric, relevance_score_fn=relevance_score_fn)
        await made.aadd_texts(texts, metadatas, ids=ids)
        return made

    def save_local(self, folder: str | Path) -> None:
        """Save documents and vectors to a folder; npz and JSON, no pickle. Embeddings are not saved.

        Parameters
        ----------
        folder : str or Path
            A folder that is new, empty, or holds an earlier save.

        Raises
        ------
        ValueError
            If metadata cannot be written as JSON, or the folder holds something else.
        """
        with LOCK:
            self._store.save(folder)

    @classmethod
    def load_local(
        cls,
        folder: str | Path,
        embedding: Any = None,
        *,
        relevance_score_fn: Callable[[float], float] | None = None,
    ) -> Self:
        """Load what :meth:`save_local` wrote.

        Parameters
        ----------
        folder : str or Path
            The folder.
        embedding : Embeddings or callable, optional
            What it was made with, for searches by text; it is tried on a document. An ``LSAEmbedder`` of the
            store's own comes back by itself.
        relevance_score_fn : callable, optional
            As the class takes it.

        Returns
        -------
        RagkitVectorStore
            The store.

        Raises
        ------
        FileNotFoundError
            If there is no saved store.
        ValueError
            If it is damaged, something else, or the embeddings are others.
        """
        model = embedding if isinstance(embedding, Embeddings) else None
        embed = embedding if model is None else EmbeddingsAdapter(model)
        store = VectorStore.load(folder, embed=embed)
        return cls(model, store=store, relevance_score_fn=relevance_score_fn)

    def as_retriever(self, **kwargs: Any) -> VectorStoreRetriever:
        """Make a retriever of this store.

        Parameters
        ----------
        **kwargs
            ``search_type`` (``"similarity"``, ``"mmr"`` or ``"similarity_score_threshold"``),
            ``search_kwargs`` with the options of that search, ``tags``, ``metadata``, ``name``. The options
            ``k, filter, fetch_k, lambda_mult, score_threshold`` may also be given by themselves.

        Returns
        -------
        VectorStoreRetriever
            The store's type and its embeddings' are among its tags.

        Raises
        ------
        TypeError
            If a name is unknown, or does not belong to the search type.
        ValueError
            If an option is given twice.
        """
        search_type = kwargs.get("search_type", "similarity")
        options = dict(kwargs.pop("search_kwargs", None) or {})
        for name in dict.fromkeys(name for names in OPTIONS.values() for name in names):
            if name in kwargs:
                if name in options:
                    raise ValueError(f"as_retriever got {name} twice, by itself and in search_kwargs.")
                options[name] = kwargs.pop(name)
        if search_type in OPTIONS:
            refuse(f"search_type {search_type!r}", options, OPTIONS[search_type])
        refuse("as_retriever", kwargs, (*RETRIEVER, *OPTIONS["mmr"], "score_threshold"))
        tags = dict.fromkeys([*(kwargs.pop("tags", None) or []), *self._get_retriever_tags()])
        return super().as_retriever(**kwargs, search_kwargs=options, tags=list(tags))

    def _get_retriever_tags(self) -> list[str]:
        embedder = self._store.embed if self._model is None else self._model
        return [type(self).__name__, type(embedder).__name__]

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return self._relevance or RELEVANCE[self._store.metric]
