"""RagkitRetriever: any search of ragkit as a LangChain retriever, scores and ledger in the metadata."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd
from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.load.serializable import Serializable
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables.config import run_in_executor, set_config_context
from pydantic import ConfigDict, Field, model_validator

from ragkit.bm25 import KeywordIndex
from ragkit.frames import as_queries, as_run, check_choice, check_top_k
from ragkit.hybrid import HybridSearch
from ragkit.integrations.langchain.documents import LOCK, documents_of_run, readable, stores_of
from ragkit.integrations.langchain.embeddings import EmbeddingsAdapter
from ragkit.integrations.langchain.store import RagkitVectorStore
from ragkit.vectors import VectorStore

_SEARCHES = (KeywordIndex, VectorStore, HybridSearch)
_NOT_KNOBS = {"self", "queries", "vectors", "top_k"}


class RagkitRetriever(BaseRetriever):
    """Retrieve documents with any search of ragkit: keyword, vector, fused, diversified, hybrid.

    Parameters
    ----------
    source : KeywordIndex, VectorStore, HybridSearch or callable
        What retrieves; the only one that may stand without its name. A callable takes a queries frame and
        gives a run, as ``functools.partial`` of a search does, or a function that fuses and diversifies.
    docs : documents or store, optional
        Where the texts and metadata are; None for the stores behind `source`.
    k : int or None, default=4
        How many documents come back; None is all. ``top_k`` is another name for it.
    params : dict, optional
        Knobs of the search, as its keywords: ``{"lambda_": 0.6, "weights": {...}}``, or ``panel.params``,
        whose ``top_k`` is `k` where `k` is not given.

    Raises
    ------
    ValueError
        If the source cannot be asked, a knob is unknown, or `k` is negative.

    See Also
    --------
    RagkitVectorStore : A LangChain vector store, with retrievers of its own.
    to_langchain : What becomes of a run's columns.

    Notes
    -----
    Each document's ``metadata`` holds the document's own columns and then ``rank``, ``score`` and the
    ledger of the search; a ledger column whose name the document uses itself is called
    ``retrieval_<name>``. `k` and the knobs may be given to one call: ``retriever.invoke("fox", k=2,
    lambda_=0.3)``. Searches over ragkit's stores take turns when LangChain runs them in threads.

    Examples
    --------
    >>> import ragkit as rk
    >>> docs = {"a": "red fox", "b": "red wine", "c": "blue whale"}
    >>> hybrid = rk.HybridSearch(rk.KeywordIndex(docs), rk.VectorStore(docs))
    >>> retriever = RagkitRetriever(source=hybrid, k=1, params={"weights": {"keyword": 1, "vector": 1}})
    >>> [found] = retriever.invoke("red wine")
    >>> found.page_content, found.metadata["rank"], found.metadata["source"]
    ('red wine', 1, 'keyword+vector')
    """

    source: Any = Field(repr=False)
    docs: Any = Field(default=None, repr=False)
    k: Any = 4
    params: dict[str, Any] = Field(default_factory=dict)

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    def __init__(self, source: Any = None, /, **kwargs: Any):
        super().__init__(**({} if source is None else {"source": source}), **kwargs)

    @model_validator(mode="before")
    @classmethod
    def _one_number(cls, values: Any) -> Any:
        """Let `k` be called ``top_k``, or else be that of `params`."""
        if not isinstance(values, dict):
            return values
        values = dict(values)
        said = {name: values.pop(name) for name in ("k", "top_k") if name in values}
        if len(said) == 2:
            raise ValueError(
                f"k and top_k are two names of one number; got k={said['k']!r} and "
                f"top_k={said['top_k']!r}. Give one."
            )
        if isinstance(values.get("params"), Mapping):
            values["params"] = dict(values["params"])
            tuned = values["params"].pop("top_k", 4)
            said = said or {"k": tuned}
        for number in said.values():
            values["k"] = number
        return values

    @model_validator(mode="after")
    def _can_be_asked(self) -> RagkitRetriever:
        """Check source and knobs once, where they enter."""
        if not isinstance(self._ragkit, _SEARCHES) and not callable(self.source):
            raise ValueError(
                "source must be a KeywordIndex, a VectorStore, a HybridSearch or a callable queries -> run; "
                f"got {type(self.source).__name__}."
            )
        check_top_k(self.k, "k")
        self._check_knobs(self.params)
        if self.docs is not None:
            self.docs = readable(self.docs)
        return self

    # ---------------------------------------------------------------- LangChain's side

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """Whether it can be written; it can be read back where `source` can.

        Returns
        -------
        bool
            True.
        """
        return True

    @classmethod
    def get_lc_namespace(cls) -> list[str]:
        """Where LangChain finds the class.

        Returns
        -------
        list of str
            The parts of the module's name.
        """
        return ["ragkit", "integrations", "langchain"]

    @classmethod
    def lc_name(cls) -> str:
        """Name of the class in what is written.

        Returns
        -------
        str
            The name.
        """
        return cls.__name__

    def to_json(self) -> Any:
        """Write what was set; of parts that cannot be written only the type, never what they hold.

        Returns
        -------
        dict
            LangChain's form of a constructor and its arguments.
        """
        written = dict(super().to_json())
        kwargs = dict(written.get("kwargs", {}))  # type: ignore[call-overload]
        for name in ("source", "docs"):
            part = getattr(self, name)
            if part is not None and not isinstance(part, Serializable):
                kwargs[name] = _type_only(part)
        plain = (str, int, float, list, dict, type(None), Serializable)
        kwargs["params"] = {n: v if isinstance(v, plain) else _type_only(v) for n, v in self.params.items()}
        return written | {"kwargs": kwargs}

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun | None = None, **kwargs: Any
    ) -> list[Document]:
        """Search; keywords of this call go before what was set."""
        if not isinstance(query, str):
            raise TypeError(f"query must be a str; got {query!r} of type {type(query).__name__}.")
        k = self.k
        for name in ("k", "top_k"):
            k = kwargs.pop(name, k)
        k = check_top_k(k, "k")
        kwargs.pop("verbose", None)
        if kwargs:
            self._check_knobs(kwargs)
        stores = stores_of(self.source)
        with LOCK if stores else contextlib.nullcontext():
            run = _as_child(run_manager, self._search, query, k, self.params | kwargs)
            return self._documents(run, stores)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun | None = None, **kwargs: Any
    ) -> list[Document]:
        """Search in a thread."""
        manager = None if run_manager is None else run_manager.get_sync()
        search = functools.partial(self._get_relevant_documents, query, run_manager=manager, **kwargs)
        return await run_in_executor(None, search)

    # ---------------------------------------------------------------- inside

    @property
    def _ragkit(self) -> Any:
        """The search itself, without LangChain's clothes."""
        return self.source.store if isinstance(self.source, RagkitVectorStore) else self.source

    def _search(self, query: str, k: int | None, knobs: dict[str, Any]) -> pd.DataFrame:
        queries, search = as_queries(query), self._ragkit
        if isinstance(self.source, RagkitVectorStore):
            knobs = knobs | _query_vectors(self.source, query)
        if isinstance(search, _SEARCHES):
            return search.search(queries, top_k=k, **knobs)
        takes = _keywords(search)
        if takes is not None and "top_k" in takes:
            knobs = knobs | {"top_k": k}
        run = as_run(search(queries, **knobs))
        return run if k is None else run[run["rank"] <= k].reset_index(drop=True)

    def _documents(self, run: pd.DataFrame, stores: list[Any]) -> list[Document]:
        if not len(run):
            return []
        where = stores or None if self.docs is None else self.docs
        return documents_of_run(run, where, leave_out=("text", "query_id"))  # there is one query

    def _check_knobs(self, knobs: Mapping[str, Any]) -> None:
        search = self._ragkit
        takes = _keywords(search.search if isinstance(search, _SEARCHES) else search)
        for name in knobs if takes is not None else ():
            check_choice("knob of the search", name, sorted(set(takes or ()) - _NOT_KNOBS))


def _as_child(run_manager: Any, function: Callable[..., Any], *args: Any) -> Any:
    """Call a function so that events and runnables inside it belong to the retriever's run."""
    if run_manager is None:
        return function(*args)
    with set_config_context({"callbacks": run_manager.get_child()}) as context:
        return context.run(function, *args)


def _query_vectors(store: RagkitVectorStore, query: str) -> dict[str, Any]:
    """Embed a query with the LangChain embeddings of a store; one that embeds by itself needs nothing."""
    model = store.embeddings
    by_itself = isinstance(model, EmbeddingsAdapter) and store.store.can_embed
    return {} if by_itself or not len(store) else {"vectors": [model.embed_query(query)]}


def _keywords(function: Callable[..., Any]) -> list[str] | None:
    """Name the keywords that a function takes; None if it takes any, or does not say."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return None
    return [p.name for p in parameters if p.kind is p.KEYWORD_ONLY or p.default is not p.empty]


def _type_only(part: Any) -> Any:
    """Stand for a part that cannot be written: LangChain writes the repr, which might show a secret."""
    kind = type(part)
    members = {"__module__": kind.__module__, "__repr__": lambda self: f"<{kind.__name__}>"}
    return type(kind.__name__, (), members)()
