"""KeywordIndex: raw counts in memory, every parameter an argument of the search."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ragkit.bm25.formulas import VARIANTS
from ragkit.bm25.postings import Postings
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
from ragkit.frames.runs import query_rows, run_of_slots
from ragkit.frames.table import DocTable
from ragkit.frames.topk import top_candidates
from ragkit.text import Tokenizer


class Setting(NamedTuple):
    """The parameters of one search, checked."""

    variant: str
    k1: float
    b: float
    delta: float


class KeywordIndex:
    """Search documents by their words with BM25.

    The index holds counts, never scores: `k1`, `b` and `variant` are arguments of :meth:`search`, and
    changing one costs no indexing. By default ``score = sum over query words of
    ln(1 + (N - df + 0.5) / (df + 0.5)) * tf (k1 + 1) / (tf + k1 (1 - b + b dl / avgdl))``; a word that the
    query repeats counts as often as it stands there.

    Parameters
    ----------
    docs : documents, optional
        Whatever :func:`ragkit.as_docs` takes; None for an empty index.
    tokenizer : callable, optional
        ``str -> list of str``, the same for documents and queries; ``Tokenizer()`` by default.
    k1 : float, default=1.2
        How slowly repetition of a word stops counting; 0 counts presence alone.
    b : float, default=0.75
        How much long documents pay: 0 not at all, 1 in full.
    variant : str, default="bm25"
        One of ``bm25, lucene, robertson, atire, bm25l, bm25+, tfidf``.

    See Also
    --------
    VectorStore : Search by the angle between vectors.

    References
    ----------
    .. [1] Robertson and Zaragoza. The probabilistic relevance framework: BM25 and beyond.
       Foundations and Trends in Information Retrieval 3(4), 2009.

    Examples
    --------
    >>> index = KeywordIndex({"a": "red fox", "b": "red red wine", "c": "blue whale"})
    >>> index.search("red")[["doc_id", "rank", "score"]].round(4).values.tolist()
    [['b', 1, 0.5982], ['a', 2, 0.4992]]
    >>> index.search("red", k1=0)["score"].round(4).tolist()  # presence alone: a tie, larger id first
    [0.47, 0.47]
    """

    def __init__(
        self,
        docs: Any = None,
        *,
        tokenizer: Callable[[str], list[str]] | None = None,
        k1: float = 1.2,
        b: float = 0.75,
        variant: str = "bm25",
    ):
        if tokenizer is not None and not callable(tokenizer):
            raise TypeError(f"tokenizer must be a callable str -> list of str; got {tokenizer!r}.")
        self._tokenizer = Tokenizer() if tokenizer is None else tokenizer
        self._setting = _check_setting(k1, b, variant)
        self._table = DocTable()
        self._postings = Postings()
        if docs is not None:
            self.add(docs)

    # ---------------------------------------------------------------- what it is set to and holds

    @property
    def tokenizer(self) -> Callable[[str], list[str]]:
        """The tokenizer; :meth:`retokenize` changes it."""
        return self._tokenizer

    @property
    def k1(self) -> float:
        """The index's own k1, used where a search gives none."""
        return self._setting.k1

    @property
    def b(self) -> float:
        """The index's own b."""
        return self._setting.b

    @property
    def variant(self) -> str:
        """The index's own variant."""
        return self._setting.variant

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
        s = self._setting
        return f"KeywordIndex({len(self)} documents, variant={s.variant!r}, k1={s.k1:g}, b={s.b:g})"

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

    # ---------------------------------------------------------------- updates

    def add(self, docs: Any) -> list[str]:
        """Add documents; one whose id is there replaces the old one in its place.

        Parameters
        ----------
        docs : documents
            Whatever :func:`ragkit.as_docs` takes; bare strings are numbered from where the index stands.

        Returns
        -------
        list of str
            The unit ids added.

        Raises
        ------
        ValueError
            If an id stands twice or a text is missing; then nothing is added.

        Examples
        --------
        >>> index = KeywordIndex(["red fox"])
        >>> index.add(["blue whale"]), len(index)
        (['1'], 2)
        """
        frame = self._table.prepare(docs)
        counts = self._postings.count(frame["text"].tolist(), self._tokenizer)
        self._table.commit(frame)
        self._postings.append(counts)
        return frame[self._table.unit].tolist() if len(frame) else []

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
        return found

    def clear(self) -> None:
        """Remove every document."""
        self._table.clear()
        self._postings = Postings()

    # ---------------------------------------------------------------- search

    def search(
        self,
        queries: Any,
        *,
        top_k: int | None = 100,
        k1: float | None = None,
        b: float | None = None,
        variant: str | None = None,
        where: Any = None,
    ) -> pd.DataFrame:
        """Rank documents by their BM25 score for each query.

        Parameters
        ----------
        queries : queries
            Whatever :func:`ragkit.as_queries` takes: a string, a list, a dict, a frame.
        top_k : int or None, default=100
            How many come back for each query; None for all that match.
        k1, b : float, optional
            None for the index's own.
        variant : str, optional
            None for the index's own.
        where : dict, callable or Series, optional
            Which documents may be found; the statistics stay those of all. See :func:`ragkit.as_docs`.

        Returns
        -------
        DataFrame
            A run, ``query_id, [chunk_id,] doc_id, rank, score``. It holds matches only: documents of score
            0 are left out.

        Warns
        -----
        RetrievalWarning
            If no word of a query is known; the query has no rows then.

        Examples
        --------
        >>> index = KeywordIndex({"a": "red fox", "b": "blue whale"})
        >>> index.search({"q1": "fox", "q2": "whale"})[["query_id", "doc_id"]].values.tolist()
        [['q1', 'a'], ['q2', 'b']]
        """
        frame = as_queries(queries)
        top_k = check_top_k(top_k)
        setting = self._own_setting(k1, b, variant)
        self._settle()
        allowed = self._table.slot_mask(where)
        slots, scores = [], []
        for terms in self._query_terms(frame):
            row = self._scores(terms, setting)
            row[row <= 0] = -np.inf
            if allowed is not None:
                row[~allowed] = -np.inf
            best = top_candidates(row, top_k)
            slots.append(best)
            scores.append(row[best])
        return run_of_slots(frame["query_id"], slots, scores, self._table, top_k)

    def score_all(
        self, queries: Any, *, k1: float | None = None, b: float | None = None, variant: str | None = None
    ) -> pd.DataFrame:
        """Score every document for each query, in document order, zeros included.

        Parameters
        ----------
        queries : queries
            Whatever :func:`ragkit.as_queries` takes.
        k1, b : float, optional
            None for the index's own.
        variant : str, optional
            None for the index's own.

        Returns
        -------
        DataFrame
            ``query_id, [chunk_id,] doc_id, score``: for each query one row per document, unranked.

        See Also
        --------
        KeywordIndex.search : Matches only, ranked.

        Examples
        --------
        >>> KeywordIndex({"a": "fox", "b": "whale"}).score_all("whale")["score"].round(4).tolist()
        [0.0, 0.6931]
        """
        frame = as_queries(queries)
        setting = self._own_setting(k1, b, variant)
        self._settle()
        slots = self._table.slots
        scores = [self._scores(terms, setting)[slots] for terms in self._query_terms(frame, quiet=True)]
        run = run_of_slots(frame["query_id"], [slots] * len(frame), scores, self._table, None, ranked=False)
        return run

    def score_pairs(
        self,
        pairs: pd.DataFrame,
        queries: Any,
        *,
        k1: float | None = None,
        b: float | None = None,
        variant: str | None = None,
    ) -> np.ndarray:
        """Score given pairs of query and document.

        Parameters
        ----------
        pairs : DataFrame, n rows
            ``query_id`` and the unit's id column.
        queries : queries
            The texts of the queries; whatever :func:`ragkit.as_queries` takes.
        k1, b : float, optional
            None for the index's own.
        variant : str, optional
            None for the index's own.

        Returns
        -------
        ndarray of float64, shape (n,)
            The score of each pair; 0 where no word is shared.

        Raises
        ------
        ValueError
            If a document or a query is not there; it is named.

        Examples
        --------
        >>> index = KeywordIndex({"a": "fox", "b": "whale"})
        >>> pairs = pd.DataFrame({"query_id": ["q", "q"], "doc_id": ["b", "a"]})
        >>> index.score_pairs(pairs, {"q": "whale"}).round(4).tolist()
        [0.6931, 0.0]
        """
        check_frame(pairs, ["query_id", self._table.unit], "pairs")
        frame = as_queries(queries)
        setting = self._own_setting(k1, b, variant)
        self._settle()
        slots = self._table.slots_of(as_ids(pairs[self._table.unit], self._table.unit))
        asked = query_rows(as_ids(pairs["query_id"], "query_id"), frame["query_id"])
        out = np.zeros(len(pairs), dtype=np.float64)
        for number, terms in enumerate(self._query_terms(frame, quiet=True)):
            mine = np.flatnonzero(asked == number)
            if len(mine):
                out[mine] = self._scores(terms, setting)[slots[mine]]
        return out

    # ---------------------------------------------------------------- inside

    def _own_setting(self, k1: float | None, b: float | None, variant: str | None) -> Setting:
        own = self._setting
        return _check_setting(
            own.k1 if k1 is None else k1,
            own.b if b is None else b,
            own.variant if variant is None else variant,
        )

    def _settle(self) -> None:
        self._postings.settle(self._table.compact())

    def _query_terms(self, frame: pd.DataFrame, quiet: bool = False) -> list[dict[int, int]]:
        """Turn each query into known terms and how often it holds them."""
        vocab, df = self._postings.vocab, self._postings.df
        out, unknown = [], {}
        for query_id, text in zip(frame["query_id"], frame["text"]):
            words = self._tokenizer(text)
            terms = Counter(number for w in words if (number := vocab.get(w)) is not None and df[number])
            if words and not terms:
                unknown[query_id] = words
            out.append(dict(terms))
        if unknown and len(self) and not quiet:
            warn(
                f"no document holds a word of {len(unknown)} queries, which have no hits: "
                + "; ".join(
                    f"query {q!r} asks for {some(dict.fromkeys(words))}"
                    for q, words in list(unknown.items())[:3]
                )
                + ". Check spelling, language and the tokenizer (tokenizer.explain(text))."
            )
        return out

    def _scores(self, terms: dict[int, int], setting: Setting) -> np.ndarray:
        """Score every slot: one float64 per slot, 0 where no word is shared."""
        p = self._postings
        docs, weights = [], []
        for term, count in terms.items():
            start, end = p.indptr[term], p.indptr[term + 1]
            docs.append(p.docs[start:end])
            weights.append(count * self._weights(term, setting))
        if not docs:
            return np.zeros(len(p.lengths))
        return np.bincount(np.concatenate(docs), np.concatenate(weights), minlength=len(p.lengths))

    def _weights(self, term: int, setting: Setting) -> np.ndarray:
        p, (variant, k1, b, delta) = self._postings, setting
        start, end = p.indptr[term], p.indptr[term + 1]
        formula = VARIANTS[variant]
        idf = formula.idf(int(end - start), len(p.lengths))
        dl = p.lengths[p.docs[start:end]]
        avgdl = p.lengths.sum(dtype=np.int64) / len(p.lengths)
        return idf * formula.saturation(p.tf[start:end], dl, avgdl, k1, b, delta)


def _check_setting(k1: Any, b: Any, variant: Any) -> Setting:
    check_choice("variant", variant, VARIANTS)
    return Setting(
        variant,
        check_number("k1", k1, low=0),
        check_number("b", b, low=0, high=1, meaning="1 = full length normalisation"),
        VARIANTS[variant].delta,
    )
