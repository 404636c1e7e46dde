"""What a RagkitVectorStore holds: adding, deleting and looking up documents."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables.config import run_in_executor
from langchain_core.vectorstores import VectorStore as LangChainVectorStore

from ragkit.frames import as_docs, check_top_k, some
from ragkit.integrations.langchain.documents import LOCK, document_of, frame_of, unit_of
from ragkit.integrations.langchain.embeddings import EmbeddingsAdapter
from ragkit.integrations.langchain.options import check_filter, refuse, store_filter
from ragkit.vectors import VectorStore

logger = logging.getLogger(__name__)


class Contents(LangChainVectorStore):
    """The part of the store that holds; :class:`RagkitVectorStore` says what its arguments are."""

    def __init__(
        self,
        embedding: Any = None,
        *,
        store: VectorStore | None = None,
        metric: str | None = None,
        relevance_score_fn: Callable[[float], float] | None = None,
    ):
        if isinstance(embedding, VectorStore) and store is None:
            embedding, store = None, embedding
        if embedding is not None and not isinstance(embedding, Embeddings) and not callable(embedding):
            raise TypeError(
                "embedding must be LangChain Embeddings or a callable list of str -> array (n, d); "
                f"got {type(embedding).__name__}."
            )
        if store is not None and not isinstance(store, VectorStore):
            raise TypeError(f"store must be a ragkit VectorStore or None; got {type(store).__name__}.")
        if store is not None and metric not in (None, store.metric):
            raise ValueError(f"store has metric {store.metric!r}; got metric={metric!r}. Leave metric out.")
        if relevance_score_fn is not None and not callable(relevance_score_fn):
            raise TypeError(
                f"relevance_score_fn must be a callable similarity -> relevance; got {relevance_score_fn!r}."
            )
        self._model: Any = _model_of(embedding, store)
        self._store = _new_store(embedding, metric or "cosine") if store is None else store
        self._relevance = relevance_score_fn
        self._number = 0

    # ---------------------------------------------------------------- what it is set to and holds

    @property
    def store(self) -> VectorStore:
        """The ragkit store underneath."""
        return self._store

    @property
    def embeddings(self) -> Embeddings:
        """The embeddings: those given, or the store's embedder as LangChain Embeddings."""
        if self._model is not None:
            return self._model
        return EmbeddingsAdapter(
            lambda texts: self._store.embed(texts), query_embed=lambda texts: self._store.query_vectors(texts)
        )

    def __len__(self) -> int:
        return len(self._store)

    def __bool__(self) -> bool:
        return True  # LangChain asks `if vectorstore`; an empty store is one too

    def __repr__(self) -> str:
        return f"RagkitVectorStore({len(self)} documents, metric={self._store.metric!r})"

    # ---------------------------------------------------------------- updates

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: Any = None,
        *,
        ids: Any = None,
        batch_size: int | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Embed texts and add them; one whose id is there replaces the old one.

        Parameters
        ----------
        texts : iterable of str
            The texts.
        metadatas : dict or list of dict, optional
            One dict for all texts, or one each; copied.
        ids : list of str, optional
            Their ids; None, and each None among them, is numbered.
        batch_size : int, optional
            How many texts LangChain embeddings are given at once; None is all.
        **kwargs
            Nothing; a name that is not known raises.

        Returns
        -------
        list of str
            The ids.

        Raises
        ------
        ValueError
            If the lengths differ, an id stands twice, or a vector is NaN or of another length; then nothing
            is added.
        TypeError
            If a text is not a string, or a keyword is unknown.
        """
        refuse("add_texts", kwargs, ("metadatas", "ids", "batch_size"))
        batches = _batch_size(batch_size)
        with LOCK:
            frame = self._rows(texts, metadatas, ids)
        if not self._embeds(frame):
            return self._add(frame, None)
        parts = _parts(frame["text"].tolist(), batches)
        return self._add(frame, [row for part in parts for row in self._model.embed_documents(part)])

    async def aadd_texts(
        self,
        texts: Iterable[str],
        metadatas: Any = None,
        *,
        ids: Any = None,
        batch_size: int | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Embed texts asynchronously and add them.

        Parameters
        ----------
        texts, metadatas, ids, batch_size, **kwargs
            As in :meth:`add_texts`.

        Returns
        -------
        list of str
            The ids.
        """
        refuse("aadd_texts", kwargs, ("metadatas", "ids", "batch_size"))
        batches = _batch_size(batch_size)
        with LOCK:
            frame = self._rows(texts, metadatas, ids)
        if not self._embeds(frame):
            return await run_in_executor(None, self._add, frame, None)
        parts = [await self._model.aembed_documents(part) for part in _parts(frame["text"].tolist(), batches)]
        return await run_in_executor(None, self._add, frame, [row for part in parts for row in part])

    def add_embeddings(
        self,
        text_embeddings: Iterable[tuple[str, Sequence[float]]],
        metadatas: Any = None,
        *,
        ids: Any = None,
    ) -> list[str]:
        """Add texts whose vectors are there already.

        Parameters
        ----------
        text_embeddings : iterable of (str, sequence of float)
            Pairs of a text and its vector.
        metadatas, ids
            As in :meth:`add_texts`.

        Returns
        -------
        list of str
            The ids.

        Raises
        ------
        ValueError
            As in :meth:`add_texts`.
        """
        pairs = [tuple(pair) for pair in text_embeddings]
        if any(len(pair) != 2 for pair in pairs):
            raise ValueError("text_embeddings must hold pairs of a text and its vector.")
        with LOCK:
            frame = self._rows([text for text, _ in pairs], metadatas, ids)
        return self._add(frame, [vector for _, vector in pairs])

    def delete(self, ids: Any = None, *, filter: Any = None, delete_all: bool = False, **kwargs: Any) -> bool:
        """Delete documents by id or filter, or all of them when that is asked for.

        Parameters
        ----------
        ids : list of str, optional
            Ids; what is not there is passed over and named in the log.
        filter : dict or callable, optional
            As in :meth:`similarity_search`.
        delete_all : bool, default=False
            Whether every document goes.
        **kwargs
            Nothing; a name that is not known raises.

        Returns
        -------
        bool
            True: what was asked for is gone.

        Raises
        ------
        ValueError
            If nothing is asked for, as in ``delete(None)``, or more than one thing.
        """
        refuse("delete", kwargs, ("ids", "filter", "delete_all"))
        if (ids is not None) + (filter is not None) + bool(delete_all) != 1:
            raise ValueError(
                "delete needs exactly one of ids, filter and delete_all=True, which empties the store; "
                f"got ids={ids!r}, filter={filter!r}, delete_all={delete_all!r}."
            )
        if isinstance(filter, Mapping) and not filter:
            raise ValueError("delete got an empty filter, which every document passes; say delete_all=True.")
        where = store_filter(check_filter(filter))
        with LOCK:
            if delete_all:
                self._store.clear()
            elif ids is None:
                self._store.remove(where=where) if len(self) else None
            else:
                asked = [ids] if isinstance(ids, (str, int)) else list(ids)
                missing = [str(i) for i in asked if str(i) not in self._store]
                self._store.remove(asked)
                if missing:
                    logger.warning("delete: %d ids were not in the store: %s", len(missing), some(missing))
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Look up documents by id, in the order asked; those that are not there are left out.

        Parameters
        ----------
        ids : sequence of str
            Ids.

        Returns
        -------
        list of Document
            Copies.
        """
        with LOCK:
            return [doc for doc in (self._document(str(i)) for i in dict.fromkeys(ids)) if doc is not None]

    async def aget_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Look up documents by id.

        Parameters
        ----------
        ids : sequence of str
            As in :meth:`get_by_ids`.

        Returns
        -------
        list of Document
            Copies.
        """
        return self.get_by_ids(ids)

    # ---------------------------------------------------------------- inside

    def _embeds(self, frame: pd.DataFrame) -> bool:
        """Say whether this layer embeds the texts; a ragkit embedder is asked by the store."""
        return self._model is not None and len(frame) > 0

    def _rows(self, texts: Any, metadatas: Any, ids: Any) -> pd.DataFrame:
        """Check texts, metadata and ids, and lay them out as the store's rows."""
        if isinstance(texts, (str, bytes)):
            raise TypeError("texts must be a list of str; got one str. Put it into a list.")
        listed = list(texts)
        per_text = [metadatas or {}] * len(listed) if _is_one(metadatas) else list(metadatas)
        names = [None] * len(listed) if ids is None else list(ids)
        if len(per_text) != len(listed) or len(names) != len(listed):
            given = "one for all" if _is_one(metadatas) else len(per_text)
            raise ValueError(
                f"texts, metadatas and ids must be of one length; got {len(listed)} texts, "
                f"{given} metadatas, {'no' if ids is None else len(names)} ids. Nothing was added."
            )
        for place, metadata in enumerate(per_text):
            if not isinstance(metadata, Mapping):
                raise TypeError(
                    f"metadatas must hold dicts; number {place} is {metadata!r} of type "
                    f"{type(metadata).__name__}."
                )
        named = self._numbered(names)
        frame = frame_of(named, listed, per_text, chunks=self._holds_chunks())
        return as_docs(frame) if len(frame) else frame

    def _numbered(self, names: list[Any]) -> list[Any]:
        """Number what has no id; a number once used is not used again, even for a deleted document."""
        taken = {str(name) for name in names if name is not None}
        out = []
        for name in names:
            if name is None:
                while str(self._number) in taken or str(self._number) in self._store:
                    self._number += 1
                name, self._number = str(self._number), self._number + 1
            out.append(name)
        return out

    def _holds_chunks(self) -> bool:
        first = next(iter(self._store), None)
        return first is not None and "chunk_id" in (self._store.get(first) or {})

    def _add(self, frame: pd.DataFrame, vectors: Any) -> list[str]:
        if not len(frame):
            return []
        with LOCK:
            return self._store.add(frame, vectors=vectors)

    def _document(self, unit: str) -> Document | None:
        row = self._store.get(unit)
        return None if row is None else document_of(row, unit_of(row))


def _model_of(embedding: Any, store: VectorStore | None) -> Any:
    """Give the embeddings that this layer calls; None where the ragkit store embeds by itself."""
    if isinstance(embedding, Embeddings):
        return embedding
    if embedding is not None and store is not None:
        return EmbeddingsAdapter(embedding)
    return None


def _new_store(embedding: Any, metric: str) -> VectorStore:
    if isinstance(embedding, Embeddings):
        return VectorStore(embed=EmbeddingsAdapter(embedding), metric=metric)
    return VectorStore(embed=embedding, metric=metric)


def _batch_size(batch_size: Any) -> int | None:
    size = check_top_k(batch_size, "batch_size")
    if size == 0:
        raise ValueError("batch_size must be a whole number >= 1, or None for all; got 0.")
    return size


def _parts(texts: list[str], size: int | None) -> list[list[str]]:
    """Cut texts into parts of `size`; None is one part."""
    size = size or len(texts)
    return [texts[start : start + size] for start in range(0, len(texts), size)]


def _is_one(metadatas: Any) -> bool:
    return metadatas is None or isinstance(metadatas, Mapping)
