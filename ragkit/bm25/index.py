"""KeywordIndex: raw counts in memory, every parameter an argument of the search."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ragkit.bm25.gathered import Gathered, in_lots
from ragkit.bm25.ledger import Ledgers
from ragkit.bm25.scoring import Scorer, Terms
from ragkit.bm25.settings import check_settings, list_settings, run_of_settings
from ragkit.bm25.together import find
from ragkit.frames import as_queries, check_top_k, some, warn
from ragkit.frames.messages import count
from ragkit.frames.runs import Found, best_first, run_of_slots
from ragkit.frames.store import check_one_query
from ragkit.text import Tokenizer


class KeywordIndex(Ledgers):
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
        One of ``bm25, lucene, robertson, atire, bm25l, bm25+, tfidf, dirichlet``.
    delta : float, optional
        What BM25L and BM25+ add for a word that is there; None for the variant's own (0.5 and 1).
    mu : float, default=2000
        How strongly ``variant="dirichlet"`` smooths: words of the collection mixed into each document.
    query_terms : {"counted", "once"}, default="counted"
        Whether a word that the query repeats counts each time.
    fields : dict of column to weight, optional
        BM25F: ``{"title": 3.0, "text": 1.0}`` searches several columns; a word's counts are weighted and
        levelled by length within each before they saturate together. `b` may then be a dict by column.

    Notes
    -----
    Scores are finite: `k1`, `delta`, `mu` and weights of fields above 1e100, and a `mu` below 1e-100, raise
    ValueError, as those below 0 do.

    Threads may search one index at once, but not while another one changes it.

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
        b: float | Mapping[str, float] = 0.75,
        variant: str = "bm25",
        delta: float | None = None,
        mu: float = 2000.0,
        query_terms: str = "counted",
        fields: Mapping[str, float] | None = None,
    ):
        own = {"k1": k1, "b": b, "variant": variant, "delta": delta, "mu": mu, "query_terms": query_terms}
        tokenizer = Tokenizer() if tokenizer is None else tokenizer
        super().__init__(tokenizer, {"text": 1.0} if fields is None else fields, own)
        self._own_setting = self._setting()
        if docs is not None:
            self.add(docs)

    def __repr__(self) -> str:
        fields = "" if list(self._fields) == ["text"] else f", fields={self._fields}"
        knobs = f"variant={self.variant!r}, k1={self.k1:g}, b={self.b}{fields}"
        return f"KeywordIndex({len(self)} documents, {knobs})"

    # ---------------------------------------------------------------- search

    def search(
        self,
        queries: Any,
        *,
        top_k: int | None = 100,
        k1: float | None = None,
        b: float | Mapping[str, float] | None = None,
        variant: str | None = None,
        delta: float | None = None,
        mu: float | None = None,
        query_terms: str | None = None,
        fields: Mapping[str, float] | None = None,
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
            None for the index's own; `b` may be a dict by field.
        variant : str, optional
            None for the index's own.
        delta, mu : float, optional
            None for the index's own.
        query_terms : {"counted", "once"}, optional
            Whether a word that the query repeats counts each time; None for the index's own.
        fields : dict of column to weight, optional
            Other weights for the index's fields; one that is left out is not searched.
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
            If no word of a query is known, or none is kept by the tokenizer; the query has no rows then.

        Examples
        --------
        >>> index = KeywordIndex({"a": "red fox", "b": "blue whale"})
        >>> index.search({"q1": "fox", "q2": "whale"})[["query_id", "doc_id"]].values.tolist()
        [['q1', 'a'], ['q2', 'b']]
        """
        frame = as_queries(queries)
        top_k = check_top_k(top_k)
        scorer = self._scorer(k1, b, variant, delta, mu, query_terms, fields)
        allowed = self._table.slot_mask(where)
        asked = self._query_terms(frame, scorer)
        found = find(scorer, asked, top_k, allowed, self._table)
        return run_of_slots(frame["query_id"], found, self._table)

    def search_settings(
        self, queries: Any, settings: Any, *, top_k: int | None = 100, where: Any = None
    ) -> pd.DataFrame:
        """Search under many settings at once: what one :meth:`search` for each would find, and sooner.

        Parameters
        ----------
        queries : queries
            Whatever :func:`ragkit.as_queries` takes.
        settings : list of dicts, or DataFrame
            Each dict, or row, gives parameters of :meth:`search`: ``k1, b, variant, delta, mu,
            query_terms, fields``. What it leaves out, or gives as None, is the index's own.
        top_k : int or None, default=100
            How many come back for each query and setting; None for all that match.
        where : dict, callable or Series, optional
            As in :meth:`search`.

        Returns
        -------
        DataFrame
            Run after run: ``setting``, numbered from 0; a column for each parameter that any setting gives
            (``fields.title`` and ``b.title`` where there is one per field); then the columns of
            :meth:`search`.

        Raises
        ------
        ValueError
            If a setting holds what is no parameter, or a value that is out of range.

        Warns
        -----
        RetrievalWarning
            As :meth:`search`, once for all settings.

        See Also
        --------
        ragkit.sweep : Measure settings against judgements.

        Examples
        --------
        >>> index = KeywordIndex({"a": "red fox", "b": "red red wine and more wine"})
        >>> runs = index.search_settings("red", [{"b": 0.0}, {"b": 1.0}])
        >>> runs[["setting", "b", "doc_id", "rank"]].values.tolist()
        [[0, 0.0, 'b', 1], [0, 0.0, 'a', 2], [1, 1.0, 'a', 1], [1, 1.0, 'b', 2]]
        """
        frame = as_queries(queries)
        top_k = check_top_k(top_k)
        given = list_settings(settings)
        checked = check_settings(given, self._setting)
        self._scorer()  # settles what waits
        whole = self._own_setting._replace(once=False, weights=(1.0,) * len(self._fields))
        every = self._make_scorer(whole)
        asked = self._query_terms(frame, every)
        allowed = self._table.slot_mask(where)
        found: list[list[Found]] = [[] for _ in checked]
        for lot in in_lots(every, asked):
            gathered = Gathered(every, lot, allowed)
            for mine, setting in zip(found, checked):
                mine += gathered.search(self._make_scorer(setting), top_k, self._table)
        return run_of_settings(given, checked, list(self._fields), frame["query_id"], found, self._table)

    def score_all(
        self,
        queries: Any,
        *,
        k1: float | None = None,
        b: float | Mapping[str, float] | None = None,
        variant: str | None = None,
        delta: float | None = None,
        mu: float | None = None,
        query_terms: str | None = None,
        fields: Mapping[str, float] | None = None,
    ) -> pd.DataFrame:
        """Score every document for each query, in document order, zeros included.

        Parameters
        ----------
        queries : queries
            Whatever :func:`ragkit.as_queries` takes.
        k1, b, variant, delta, mu, query_terms, fields : optional
            As in :meth:`search`; None for the index's own.

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
        scorer = self._scorer(k1, b, variant, delta, mu, query_terms, fields)
        slots = self._table.slots
        queries_terms = self._query_terms(frame, scorer, quiet=True)
        found = [(slots, scorer.scores(terms)[0][slots]) for terms in queries_terms]
        return run_of_slots(frame["query_id"], found, self._table, ranked=False)

    def score_pairs(
        self,
        pairs: pd.DataFrame,
        queries: Any,
        *,
        k1: float | None = None,
        b: float | Mapping[str, float] | None = None,
        variant: str | None = None,
        delta: float | None = None,
        mu: float | None = None,
        query_terms: str | None = None,
        fields: Mapping[str, float] | None = None,
    ) -> np.ndarray:
        """Score given pairs of query and document.

        Parameters
        ----------
        pairs : DataFrame, n rows
            ``query_id`` and the unit's id column.
        queries : queries
            The texts of the queries; whatever :func:`ragkit.as_queries` takes.
        k1, b, variant, delta, mu, query_terms, fields : optional
            As in :meth:`search`; None for the index's own.

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
        self._check_pairs(pairs)
        frame = as_queries(queries)
        scorer = self._scorer(k1, b, variant, delta, mu, query_terms, fields)
        asked, slots = self._rows_and_slots(pairs, frame["query_id"])
        out = np.zeros(len(pairs), dtype=np.float64)
        for number, terms in enumerate(self._query_terms(frame, scorer, quiet=True)):
            mine = np.flatnonzero(asked == number)
            if len(mine):
                out[mine] = scorer.scores(terms)[0][slots[mine]]
        return out

    def hits(self, query: str, *, top_k: int | None = 10, where: Any = None) -> tuple[list[str], np.ndarray]:
        """Search one query by the index's own parameters without making a frame, many times as fast.

        Parameters
        ----------
        query : str
            The query's text.
        top_k : int or None, default=10
            How many come back; None for all that match.
        where : dict, callable or Series, optional
            As in :meth:`search`.

        Returns
        -------
        ids : list of str
            Unit ids, best first.
        scores : ndarray of float64
            Their scores.

        Examples
        --------
        >>> KeywordIndex({"a": "fox", "b": "whale"}).hits("whale")[0]
        ['b']
        """
        check_one_query(query, " Use search for many queries.")
        top_k = check_top_k(top_k)
        scorer = self._scorer()
        terms = self._known(self._tokenizer(query), scorer)
        found = scorer.best(terms, top_k, None if where is None else self._table.slot_mask(where))
        slots, scores = best_first(*found, self._table, top_k)
        return self._table.names[slots].tolist(), scores

    # ---------------------------------------------------------------- inside

    def _reset(self) -> None:
        super()._reset()
        self._last: Scorer | None = None
        self._scored_version = -1  # the version to which the last scorer belongs

    def _query_terms(self, frame: pd.DataFrame, scorer: Scorer, quiet: bool = False) -> list[Terms]:
        """Turn each query into known terms and how often it holds them."""
        out, lost = [], {}
        for query_id, text in zip(frame["query_id"].tolist(), frame["text"].tolist()):
            words = self._tokenizer(text)
            terms = self._known(words, scorer)
            if not terms and (words or any(map(str.isalnum, text))):
                lost[query_id] = text, words
            out.append(terms)
        if lost and len(self) and not quiet:
            _warn_of_lost(lost)
        return out

    def _known(self, words: list[str], scorer: Scorer) -> Terms:
        number_of, df, once = self._vocab.get, scorer.df, scorer.setting.once
        terms: Terms = {}
        for word in words:
            number = number_of(word)
            if number is not None and df(number):
                terms[number] = 1 if once else terms.get(number, 0) + 1
        return terms


def _warn_of_lost(queries: dict[str, tuple[str, list[str]]]) -> None:
    """Say of queries without hits whether no document holds their words, or none of their words was kept."""
    unknown = {query_id: words for query_id, (_, words) in queries.items() if words}
    dropped = {query_id: text for query_id, (text, words) in queries.items() if not words}
    if unknown:
        asked = [f"query {q!r} asks for {_shown(dict.fromkeys(words))}" for q, words in unknown.items()]
        warn(
            f"no document holds a word of {count(len(unknown), 'query')}, so there are no hits: "
            f"{'; '.join(asked[:3])}. Check spelling, language and the tokenizer (tokenizer.explain(text))."
        )
    if dropped:
        asked = [f"query {q!r} was {_shown([text])}" for q, text in dropped.items()]
        warn(
            f"the tokenizer keeps no word of {count(len(dropped), 'query')}, so there are no hits: "
            f"{'; '.join(asked[:3])}. See tokenizer.explain(text); stop_words=None keeps all words."
        )


def _shown(words: Iterable[str]) -> str:
    """List words for a message, long ones cut."""
    return some(word if len(word) <= 60 else f"{word[:57]}..." for word in words)
