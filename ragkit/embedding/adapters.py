"""Adapters to libraries of models; each library is imported when its adapter is made."""

from __future__ import annotations

from typing import Any

import numpy as np

from ragkit.embedding.batches import BatchEmbedder, named, need


class SentenceTransformerEmbedder(BatchEmbedder):
    """Embed with a model of sentence-transformers.

    Documents go through the model's ``encode_document`` and queries through ``encode_query``, so that a
    model that knows prompts for the two uses them. The package brings torch, a download of gigabytes: where
    it is not installed, as in ragkit's own continuous integration, the tests of this adapter are skipped.
    They were passed with sentence-transformers 6.2 and a small model with random weights.

    Parameters
    ----------
    model : str or SentenceTransformer
        A name or a folder, or a model that is loaded.
    prefix : str, optional
        Put before each document, as the model's card asks: ``"passage: "``. None for the model's own prompt
        for documents, if it has one; ``""`` for none.
    query_prefix : str, optional
        Put before each query: ``"query: "``. None and ``""`` as above.
    batch_size : int, default=32
        Texts encoded at a time.
    progress : bool, default=True
        Whether long work shows a bar.

    Raises
    ------
    ImportError
        If sentence-transformers is not installed.
    """

    def __init__(
        self,
        model: Any,
        *,
        prefix: str | None = None,
        query_prefix: str | None = None,
        batch_size: int = 32,
        progress: bool = True,
    ):
        super().__init__(batch_size, progress, prefix, query_prefix)
        self.name, self.model = named(model, self._load)
        self._at_once = 16  # batches: the library sorts what it is given by length, which saves padding

    def __repr__(self) -> str:
        return f"SentenceTransformerEmbedder({self.name or type(self.model).__name__!r})"

    def _load(self, name: str) -> Any:
        library = need("sentence_transformers", "sentence-transformers", "SentenceTransformerEmbedder")
        return library.SentenceTransformer(name)

    def _with_prefix(self, texts: list[str]) -> list[str]:
        return texts  # the model puts it there itself, and may leave it out of the average

    def _embed(self, texts: list[str]) -> Any:
        encode = getattr(self.model, f"encode_{self.role}", self.model.encode)  # versions before 5 have one
        return encode(texts, prompt=self._prefix, batch_size=self.batch_size, show_progress_bar=False)


class Model2VecEmbedder(BatchEmbedder):
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
        super().__init__(batch_size, progress, prefix, query_prefix)
        self.name, self.model = named(model, self._load)

    def __repr__(self) -> str:
        return f"Model2VecEmbedder({self.name or type(self.model).__name__!r})"

    def _load(self, name: str) -> Any:
        return need("model2vec", "model2vec", "Model2VecEmbedder").StaticModel.from_pretrained(name)

    def _embed(self, texts: list[str]) -> Any:
        return self.model.encode(texts)


class FastEmbedEmbedder(BatchEmbedder):
    """Embed with a model of fastembed: ONNX models that run without torch.

    Queries go through the model's ``query_embed``, which adds its own prefix.

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
        super().__init__(batch_size, progress)
        self.name, self.model = named(model, self._load, "model_name")

    def __repr__(self) -> str:
        return f"FastEmbedEmbedder({self.name or type(self.model).__name__!r})"

    def _load(self, name: str) -> Any:
        return need("fastembed", "fastembed", "FastEmbedEmbedder").TextEmbedding(name)

    def _embed(self, texts: list[str]) -> Any:
        embed = self.model.query_embed if self.role == "query" else self.model.passage_embed
        return np.array(list(embed(texts)))


class LangChainEmbedder(BatchEmbedder):
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
        super().__init__(batch_size, progress)
        said = (getattr(embeddings, attribute, None) for attribute in ("model", "model_name"))
        self.name = next((name for name in said if isinstance(name, str)), None)
        self.embeddings = embeddings

    def __repr__(self) -> str:
        return f"LangChainEmbedder({type(self.embeddings).__name__})"

    def _embed(self, texts: list[str]) -> Any:
        if self.role == "query":
            return [self.embeddings.embed_query(text) for text in texts]
        return self.embeddings.embed_documents(texts)
