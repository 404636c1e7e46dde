"""Adapters to libraries of models; each library is imported when its adapter is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ragkit.embedding.batches import Roles, check_list, in_batches, need, stacked


class SentenceTransformerEmbedder(Roles):
    """Embed with a model of sentence-transformers.

    This adapter needs torch and is not run by ragkit's own tests; it calls ``encode`` alone.

    Parameters
    ----------
    model : str or SentenceTransformer
        A name or a folder, or a model that is loaded.
    prefix : str, default=""
        Put before each document, as the model's card asks: ``"passage: "``.
    query_prefix : str, default=""
        Put before each query: ``"query: "``.
    batch_size : int, default=32
        Texts encoded at a time.
    progress : bool, default=True
        Whether long work shows a bar.
    """

    def __init__(
        self,
        model: Any,
        *,
        prefix: str = "",
        query_prefix: str = "",
        batch_size: int = 32,
        progress: bool = True,
    ):
        if isinstance(model, str):
            library = need("sentence_transformers", "sentence-transformers", "SentenceTransformerEmbedder")
            self.name = model
            model = library.SentenceTransformer(model)
        else:
            self.name = str(getattr(model, "model_name_or_path", type(model).__name__))
        self.model, self.batch_size, self.progress = model, batch_size, progress
        self.prefix, self.query_prefix = prefix, query_prefix

    def __repr__(self) -> str:
        return f"SentenceTransformerEmbedder({self.name!r})"

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Embed texts.

        Parameters
        ----------
        texts : sequence of str, shape (n,)
            Documents, or queries for :attr:`queries`.

        Returns
        -------
        ndarray of float, shape (n, d)
            Vectors.
        """
        texts = self.prefixed(check_list(texts, "SentenceTransformerEmbedder"))
        batches = in_batches(texts, self.batch_size, self.progress, "embedding")
        parts = [
            self.model.encode(list(batch), show_progress_bar=False, convert_to_numpy=True)
            for batch in batches
        ]
        return stacked(parts, "SentenceTransformerEmbedder", len(texts))


class Model2VecEmbedder(Roles):
    """Embed with a static model of model2vec: a table of token vectors, fast on a CPU.

    Parameters
    ----------
    model : str or StaticModel
        A name or a folder, or a model that is loaded.
    prefix, query_prefix : str, default=""
        Put before each document and before each query.
    batch_size : int, default=1024
        Texts encoded at a time.
    progress : bool, default=True
        Whether long work shows a bar.
    """

    def __init__(
        self,
        model: Any,
        *,
        prefix: str = "",
        query_prefix: str = "",
        batch_size: int = 1024,
        progress: bool = True,
    ):
        self.name = model if isinstance(model, str) else type(model).__name__
        if isinstance(model, str):
            model = need("model2vec", "model2vec", "Model2VecEmbedder").StaticModel.from_pretrained(model)
        self.model, self.batch_size, self.progress = model, batch_size, progress
        self.prefix, self.query_prefix = prefix, query_prefix

    def __repr__(self) -> str:
        return f"Model2VecEmbedder({self.name!r})"

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Embed texts.

        Parameters
        ----------
        texts : sequence of str, shape (n,)
            Documents, or queries for :attr:`queries`.

        Returns
        -------
        ndarray of float, shape (n, d)
            Vectors.
        """
        texts = self.prefixed(check_list(texts, "Model2VecEmbedder"))
        batches = in_batches(texts, self.batch_size, self.progress, "embedding")
        parts = [self.model.encode(list(batch)) for batch in batches]
        return stacked(parts, "Model2VecEmbedder", len(texts))


class FastEmbedEmbedder(Roles):
    """Embed with a model of fastembed: ONNX models that run without torch.

    Parameters
    ----------
    model : str or TextEmbedding
        A name that fastembed knows, or a model that is loaded.
    batch_size : int, default=64
        Texts embedded at a time.
    progress : bool, default=True
        Whether long work shows a bar.
    """

    def __init__(self, model: Any, *, batch_size: int = 64, progress: bool = True):
        self.name = (
            model if isinstance(model, str) else str(getattr(model, "model_name", type(model).__name__))
        )
        if isinstance(model, str):
            model = need("fastembed", "fastembed", "FastEmbedEmbedder").TextEmbedding(model)
        self.model, self.batch_size, self.progress = model, batch_size, progress

    def __repr__(self) -> str:
        return f"FastEmbedEmbedder({self.name!r})"

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Embed texts; queries go through the model's ``query_embed``, which adds its own prefix.

        Parameters
        ----------
        texts : sequence of str, shape (n,)
            Documents, or queries for :attr:`queries`.

        Returns
        -------
        ndarray of float32, shape (n, d)
            Vectors.
        """
        texts = check_list(texts, "FastEmbedEmbedder")
        embed = self.model.query_embed if self.role == "query" else self.model.passage_embed
        batches = in_batches(texts, self.batch_size, self.progress, "embedding")
        parts = [np.array(list(embed(list(batch)))) for batch in batches]
        return stacked(parts, "FastEmbedEmbedder", len(texts))


class LangChainEmbedder(Roles):
    """Embed with any LangChain ``Embeddings`` object.

    Parameters
    ----------
    embeddings : Embeddings
        It has ``embed_documents`` and ``embed_query``.
    batch_size : int, default=256
        Documents embedded at a time.
    progress : bool, default=True
        Whether long work shows a bar.
    """

    def __init__(self, embeddings: Any, *, batch_size: int = 256, progress: bool = True):
        for method in ("embed_documents", "embed_query"):
            if not callable(getattr(embeddings, method, None)):
                raise TypeError(
                    f"embeddings must have embed_documents and embed_query; {embeddings!r} lacks {method}."
                )
        self.name = str(getattr(embeddings, "model", type(embeddings).__name__))
        self.embeddings, self.batch_size, self.progress = embeddings, batch_size, progress

    def __repr__(self) -> str:
        return f"LangChainEmbedder({type(self.embeddings).__name__})"

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Embed texts.

        Parameters
        ----------
        texts : sequence of str, shape (n,)
            Documents, or queries for :attr:`queries`.

        Returns
        -------
        ndarray of float64, shape (n, d)
            Vectors.
        """
        texts = check_list(texts, "LangChainEmbedder")
        if self.role == "query":
            parts = [[self.embeddings.embed_query(text)] for text in texts]
        else:
            batches = in_batches(texts, self.batch_size, self.progress, "embedding")
            parts = [self.embeddings.embed_documents(list(batch)) for batch in batches]
        return stacked(parts, "LangChainEmbedder", len(texts))
