"""RagkitSplitter: ragkit's chunking where LangChain takes a text splitter."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
from langchain_core.documents import BaseDocumentTransformer, Document
from langchain_core.embeddings import Embeddings

from ragkit.chunking import chunk
from ragkit.frames import check_choice
from ragkit.integrations.langchain.documents import copied
from ragkit.integrations.langchain.embeddings import EmbeddingsAdapter

_OPTIONS = sorted(set(inspect.signature(chunk).parameters) - {"docs"})
_PLAIN = ("chunk_id", "doc_id", "start", "end", "text", "overlap")


class RagkitSplitter(BaseDocumentTransformer):
    """Split documents with the methods of ``rk.chunk``; every chunk is a slice, every start index right.

    Parameters
    ----------
    method : str, or a splitter, default="sentence"
        As in :func:`ragkit.chunk`.
    size : int or (int, int), default=1000
        The most that a chunk is long.
    overlap : int or None, default=None
        The most that a chunk repeats of the one before it; None is ``min(200, size // 5)``.
    add_start_index : bool, default=True
        Whether ``metadata["start_index"]`` says where the chunk begins in its document.
    **options
        The other options of :func:`ragkit.chunk`: ``length``, ``tokenizer``, ``separators``, ... Its
        ``embed`` may be LangChain embeddings.

    Raises
    ------
    ValueError
        If an option is unknown, or out of range.

    See Also
    --------
    ragkit.chunk : The methods and their options.

    Examples
    --------
    >>> splitter = RagkitSplitter("sentence", size=30, overlap=0)
    >>> splitter.split_text("One is small. Two is big. Three is bigger.")
    ['One is small. Two is big.', 'Three is bigger.']
    >>> from langchain_core.documents import Document
    >>> text = Document("One is small. Two is big. Three is bigger.", metadata={"page": 7}, id="a")
    >>> [(c.id, c.metadata) for c in splitter.split_documents([text])][1]
    ('a#1', {'page': 7, 'start_index': 26})
    """

    def __init__(
        self,
        method: Any = "sentence",
        *,
        size: Any = 1000,
        overlap: int | None = None,
        add_start_index: bool = True,
        **options: Any,
    ):
        for name in options:
            check_choice("option of chunk", name, _OPTIONS)
        if isinstance(options.get("embed"), Embeddings):
            options["embed"] = EmbeddingsAdapter(options["embed"])
        self._options = {"method": method, "size": size, "overlap": overlap, **options}
        self._add_start_index = bool(add_start_index)
        chunk({}, **self._options)  # options that do not fit are refused here, not with the first document

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={value!r}" for name, value in self._options.items() if value is not None)
        return f"RagkitSplitter({said})"

    def split_text(self, text: str) -> list[str]:
        """Split a text.

        Parameters
        ----------
        text : str
            The text.

        Returns
        -------
        list of str
            The chunks.
        """
        return self._chunks([text])["text"].tolist()

    def create_documents(
        self, texts: Iterable[str], metadatas: Sequence[Mapping[str, Any]] | None = None
    ) -> list[Document]:
        """Split texts into documents.

        Parameters
        ----------
        texts : iterable of str
            The texts.
        metadatas : sequence of dict, optional
            Metadata, one each; every chunk gets a copy.

        Returns
        -------
        list of Document
            The chunks, text after text.

        Raises
        ------
        ValueError
            If there are more or fewer metadatas than texts.
        """
        listed = list(texts)
        given: list[Mapping[str, Any]] = [{}] * len(listed) if metadatas is None else list(metadatas)
        if len(given) != len(listed):
            raise ValueError(
                f"metadatas must be as many as the texts; got {len(given)} for {len(listed)} texts."
            )
        return self._documents(listed, given, [None] * len(listed))

    def split_documents(self, documents: Iterable[Document]) -> list[Document]:
        """Split documents.

        Parameters
        ----------
        documents : iterable of Document
            The documents; not changed.

        Returns
        -------
        list of Document
            The chunks, document after document: a copy of the metadata, what the method has to say of the
            chunk (``section``, ``parent_start``, ...), and ``start_index``. A document with an id gives
            chunks with the ids ``<id>#0``, ``<id>#1``, ...
        """
        listed = list(documents)
        return self._documents(
            [d.page_content for d in listed], [d.metadata for d in listed], [d.id for d in listed]
        )

    def transform_documents(self, documents: Sequence[Document], **kwargs: Any) -> list[Document]:
        """Split documents, as LangChain asks a document transformer.

        Parameters
        ----------
        documents : sequence of Document
            The documents.
        **kwargs
            Nothing; a name raises.

        Returns
        -------
        list of Document
            As :meth:`split_documents`.
        """
        if kwargs:
            raise TypeError(f"transform_documents takes no options; got {sorted(kwargs)}. Set them at once.")
        return self.split_documents(documents)

    def _chunks(self, texts: list[str]) -> pd.DataFrame:
        return chunk({str(n): text for n, text in enumerate(texts)}, **self._options)

    def _documents(
        self, texts: list[str], metadatas: Sequence[Mapping[str, Any]], ids: list[str | None]
    ) -> list[Document]:
        out = []
        for row in self._chunks(texts).to_dict("records"):
            number = int(row["doc_id"])
            metadata = copied(metadatas[number])
            metadata |= {str(name): value for name, value in row.items() if name not in _PLAIN}
            if self._add_start_index:
                metadata["start_index"] = row["start"]
            parent = ids[number]
            name = None if parent is None else f"{parent}#{row['chunk_id'].rsplit('#', 1)[1]}"
            out.append(Document(page_content=row["text"], metadata=metadata, id=name))
        return out
