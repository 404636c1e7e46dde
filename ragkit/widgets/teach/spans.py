"""How well ways of chunking let gold passages be found: scores over all documents, remembered by setting."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from ragkit.bm25 import KeywordIndex
from ragkit.chunking import chunk
from ragkit.frames import RetrievalWarning, as_ids, as_queries
from ragkit.hybrid.cache import StageCache, fingerprint
from ragkit.metrics.chunks import score_chunks


class SpanScores:
    """Cuts all documents, searches the chunks, and scores what was found.

    Parameters
    ----------
    docs : DataFrame
        What is cut.
    spans : DataFrame
        Gold passages: ``query_id, doc_id, start, end``.
    queries : queries or None
        What is searched; without them the search is taken to be perfect: it finds the chunks that touch gold.
    retriever : callable or None
        ``chunks -> store`` with a ``search``; None is a KeywordIndex.
    """

    def __init__(
        self,
        docs: pd.DataFrame,
        spans: pd.DataFrame,
        queries: Any,
        retriever: Callable[[pd.DataFrame], Any] | None,
    ):
        self.docs, self.retriever = docs, retriever or KeywordIndex
        ids = {name: as_ids(spans[name], name).to_numpy() for name in ("query_id", "doc_id")}
        self.spans = spans.assign(**ids)
        asked = as_queries({} if queries is None else queries)
        self.queries = asked[asked["query_id"].isin(self.spans["query_id"])].reset_index(drop=True)
        self._known = StageCache(24)

    @property
    def name(self) -> str:
        """What searches the chunks, for a sentence."""
        return "a KeywordIndex" if self.retriever is KeywordIndex else "the retriever"

    def of(self, knobs: Mapping[str, Any], top_k: int) -> pd.DataFrame:
        """Score one way of chunking.

        Parameters
        ----------
        knobs : dict
            Keyword arguments of :func:`ragkit.chunk`.
        top_k : int
            How many chunks are retrieved for each query.

        Returns
        -------
        DataFrame
            The frame of :func:`ragkit.score_chunks`.
        """
        cut = fingerprint(knobs)
        chunks, search = self._known.get(("cut", cut), lambda: self._cut(knobs))
        return self._known.get((cut, top_k), lambda: self._score(chunks, search, top_k))

    def _cut(self, knobs: Mapping[str, Any]) -> tuple[pd.DataFrame, Any]:
        chunks = chunk(self.docs, **knobs)
        return chunks, self.retriever(chunks) if len(self.queries) and len(chunks) else None

    def _score(self, chunks: pd.DataFrame, search: Any, top_k: int) -> pd.DataFrame:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RetrievalWarning)
            if search is None:
                run = touching(chunks, self.spans)
            else:
                run = search.search(self.queries, top_k=top_k)
            return score_chunks(run, self.spans, chunks=chunks)

    def program(
        self, methods: list[str], knobs: Mapping[str, Any], top_k: int | None
    ) -> tuple[str, list[str]]:
        """Write the Python program that gives the scores.

        Parameters
        ----------
        methods : list of str
            The ways of chunking.
        knobs : dict
            Keyword arguments of :func:`ragkit.chunk`.
        top_k : int or None
            How many chunks are retrieved for each query.

        Returns
        -------
        (str, list of str)
            The program, and the names that it needs beside ``docs`` and ``spans``.
        """
        said = "".join(f", {name}={value!r}" for name, value in knobs.items() if name != "method")
        names = [] if top_k is None else ["queries"]
        if top_k is None:
            search = _PERFECT
        elif self.retriever is KeywordIndex:
            search = f"    run = rk.KeywordIndex(chunks).search(queries, top_k={top_k})\n"
        else:
            names, search = (
                [*names, "retriever"],
                f"    run = retriever(chunks).search(queries, top_k={top_k})\n",
            )
        return (
            f"\n# How much of the gold is found, method by method, over all documents.\nscores = {{}}\n"
            f"for method in {methods!r}:\n    chunks = rk.chunk(docs, method=method{said})\n{search}"
            "    scores[method] = rk.score_chunks(run, spans, chunks=chunks)\n"
        ), names


_PERFECT = """\
    pairs = spans.merge(chunks, on="doc_id", suffixes=("_gold", ""))
    pairs = pairs[(pairs["start"] < pairs["end_gold"]) & (pairs["end"] > pairs["start_gold"])]
    run = pairs[["query_id", "chunk_id", "doc_id"]].drop_duplicates().assign(score=1.0)
"""


def touching(chunks: pd.DataFrame, spans: pd.DataFrame) -> pd.DataFrame:
    """Retrieve perfectly: every chunk that shares a character with a query's gold.

    Parameters
    ----------
    chunks : DataFrame
        ``chunk_id, doc_id, start, end``.
    spans : DataFrame
        ``query_id, doc_id, start, end``.

    Returns
    -------
    DataFrame
        A run.
    """
    ids = ["query_id", "chunk_id", "doc_id"]
    pairs = spans.merge(chunks[["chunk_id", "doc_id", "start", "end"]], on="doc_id", suffixes=("_gold", ""))
    pairs = pairs[(pairs["start"] < pairs["end_gold"]) & (pairs["end"] > pairs["start_gold"])]
    run = pairs[ids].drop_duplicates().reset_index(drop=True)
    rank = run.groupby("query_id", sort=False).cumcount() + 1
    return run.assign(rank=rank.astype("int64"), score=1.0 / rank)
