"""KeywordIndex: raw counts in memory, every parameter an argument of the search."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ragkit.bm25.ledger import explain_score, term_table
from ragkit.bm25.postings import Postings, pack_postings, unpack_postings
from ragkit.bm25.scoring import Scorer, Setting, Terms, check_fields, check_setting
from ragkit.frames import as_ids, as_queries, check_frame, check_top_k, some, warn
from ragkit.frames.folder import from_snapshot, load_folder, save_folder, to_snapshot
from ragkit.frames.runs import best_first, query_rows, run_of_slots
from ragkit.frames.table import DocTable
from ragkit.text import Tokenizer
from ragkit.text.counting import Counts
from ragkit.text.spec import tokenizer_of, tokenizer_spec


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
        self._tokenizer = _check_tokenizer(Tokenizer() if tokenizer is None else tokenizer)
        self._fields = check_fields({"text": 1.0} if fields is None else fields)
        self._own: dict[str, Any] = {
            "k1": k1,
            "b": b,
            "variant": variant,
            "delta": delta,
            "mu": mu,
            "query_terms": query_terms,
        }
        self._table = DocTable(need_text="text" in self._fields)
        self._own_setting = self._setting()
        self._reset()
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
        return float(self._own["k1"])

    @property
    def b(self) -> float | dict[str, float]:
        """The index's own b; a dict where it differs between fields."""
        return dict(self._own["b"]) if isinstance(self._own["b"], Mapping) else self._own["b"]

    @property
    def variant(self) -> str:
        """The index's own variant."""
        return self._own["variant"]

    @property
    def fields(self) -> dict[str, float]:
        """The columns that are searched, and their weights."""
        return dict(self._fields)

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
        fields = "" if list(self._fields) == ["text"] else f", fields={self._fields}"
        knobs = f"variant={self.variant!r}, k1={self.k1:g}, b={self.b}{fields}"
        return f"KeywordIndex({len(self)} documents, {knobs})"

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

    def add(self, docs: Any, *, replace_docs: bool = False) -> list[str]:
        """Add documents; one whose id is there replaces the old one in its place.

        Parameters
        ----------
        docs : documents
            Whatever :func:`ragkit.as_docs` takes; bare strings are numbered from where the index stands.
        replace_docs : bool, default=False
            Whether all chunks of the documents at hand go first, so that none of an old version stays.

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
        if not len(frame):
            return []
        counted = self._count(frame, self._postings, self._tokenizer)
        self._table.commit(frame, replace_docs=replace_docs)
        for field, counts in counted.items():
            self._postings[field].append(counts)
        return frame[self._table.unit].tolist()

    def retokenize(self, tokenizer: Callable[[str], list[str]]) -> None:
        """Cut all documents into words anew.

        Parameters
        ----------
        tokenizer : callable
            ``str -> list of str``; if it fails, the index stays as it is.

        Examples
        --------
        >>> index = KeywordIndex(["the red fox"])
        >>> index.retokenize(Tokenizer(stop_words=None))
        >>> index.search("the")["doc_id"].tolist()
        ['0']
        """
        _check_tokenizer(tokenizer)
        fresh = self._new_postings()
        counted = self._count(self._table.rows, fresh, tokenizer) if len(self) else {}
        for field, counts in counted.items():
            fresh[field].append(counts)
        self._tokenizer, self._postings = tokenizer, fresh
        self._table.touch()

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
        self._reset()

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
            If no word of a query is known; the query has no rows then.

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
        found = [
            best_first(*scorer.best(terms, top_k, allowed), self._table, top_k)
            for terms in self._query_terms(frame, scorer)
        ]
        return run_of_slots(frame["query_id"], found, self._table)

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
        scorer = self._scorer(k1, b, variant, delta, mu, query_terms, fields)
        slots = self._table.slots_of(as_ids(pairs[self._table.unit], self._table.unit))
        asked = query_rows(as_ids(pairs["query_id"], "query_id"), frame["query_id"])
        out = np.zeros(len(pairs), dtype=np.float64)
        for number, terms in enumerate(self._query_terms(frame, scorer, quiet=True)):
            mine = np.flatnonzero(asked == number)
            if len(mine):
                out[mine] = scorer.scores(terms)[0][slots[mine]]
        return out

    def hits(self, query: str, *, top_k: int | None = 10, where: Any = None) -> tuple[list[str], np.ndarray]:
        """Search one query without making a frame: the same hits for a sixth of the time.

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
            Unit ids, best first; by the index's own parameters.
        scores : ndarray of float64
            Their scores.

        Examples
        --------
        >>> KeywordIndex({"a": "fox", "b": "whale"}).hits("whale")[0]
        ['b']
        """
        if not isinstance(query, str):
            raise TypeError(
                f"query must be a string; got {type(query).__name__}. Use search for many queries."
            )
        top_k = check_top_k(top_k)
        scorer = self._scorer()
        terms = self._known(self._tokenizer(query), scorer)
        found = scorer.best(terms, top_k, None if where is None else self._table.slot_mask(where))
        slots, scores = best_first(*found, self._table, top_k)
        return self._table.names[slots].tolist(), scores

    # ---------------------------------------------------------------- looking inside

    def explain(
        self,
        query: str,
        unit_id: str,
        *,
        k1: float | None = None,
        b: float | Mapping[str, float] | None = None,
        variant: str | None = None,
        delta: float | None = None,
        mu: float | None = None,
        query_terms: str | None = None,
        fields: Mapping[str, float] | None = None,
    ) -> pd.DataFrame:
        """Take the score of one document for one query apart.

        Parameters
        ----------
        query : str
            The query's text.
        unit_id : str
            The document.
        k1, b : float, optional
            None for the index's own; `b` may be a dict by field.
        variant : str, optional
            None for the index's own.
        delta, mu : float, optional
            None for the index's own.
        query_terms : {"counted", "once"}, optional
            Whether a word that the query repeats counts each time; None for the index's own.
        fields : dict of column to weight, optional
            Other weights for the index's fields.

        Returns
        -------
        DataFrame
            One row per query word in the order in which they add up: ``part`` (the word), ``value`` and
            ``contribution`` (what it adds), ``query_tf, tf, df, idf, length_norm, saturation``. The values
            sum to the score; ``contribution = query_tf * idf * saturation``. Under ``"dirichlet"`` a last row
            holds what the document's length costs. With fields, ``tf`` is the weighted, levelled count.

        Raises
        ------
        ValueError
            If the document is not there.

        Examples
        --------
        >>> index = KeywordIndex({"a": "red fox", "b": "red red wine"})
        >>> index.explain("red wine", "b")[["part", "tf", "df", "contribution"]].round(3).values.tolist()
        [['red', 2.0, 2.0, 0.237], ['wine', 1.0, 1.0, 0.641]]
        """
        if not isinstance(query, str):
            raise TypeError(f"query must be a string; got {type(query).__name__}.")
        scorer = self._scorer(k1, b, variant, delta, mu, query_terms, fields)
        slot = int(self._table.slots_of(as_ids([unit_id], self._table.unit))[0])
        return explain_score(self._tokenizer(query), slot, self._vocab, scorer)

    def stats(self) -> dict[str, Any]:
        """Describe the index in numbers.

        Returns
        -------
        dict
            ``documents, terms, average_length`` (a dict by field where there are several), ``k1, b,
            variant, memory`` (bytes of counts and kept weights).

        Examples
        --------
        >>> stats = KeywordIndex(["red fox", "blue"]).stats()
        >>> stats["documents"], stats["terms"], stats["average_length"]
        (2, 3, 1.5)
        """
        scorer = self._scorer()
        average = {f: float(p.lengths.mean()) if len(self) else 0.0 for f, p in self._postings.items()}
        held = np.zeros(len(self._vocab), dtype=bool)
        for postings in self._postings.values():
            held |= postings.df > 0
        return {
            "documents": len(self),
            "terms": int(held.sum()),
            "average_length": average if len(average) > 1 else next(iter(average.values())),
            "k1": self.k1,
            "b": self.b,
            "variant": self.variant,
            "memory": sum(p.nbytes for p in self._postings.values()) + scorer.nbytes,
        }

    def terms(self) -> pd.DataFrame:
        """List the words that documents hold.

        Returns
        -------
        DataFrame
            ``term, df, cf, idf`` in the order in which words were first met: in how many documents, how
            often in all, and the idf of the index's own variant.

        Examples
        --------
        >>> KeywordIndex(["red red fox", "red"]).terms()[["term", "df", "cf"]].values.tolist()
        [['red', 2, 3], ['fox', 1, 1]]
        """
        return term_table(list(self._postings.values()), self._scorer())

    def document_frequency(self, term: str) -> int:
        """Count the documents that hold a word.

        Parameters
        ----------
        term : str
            A word; it is cut and levelled as a query is.

        Returns
        -------
        int
            0 for a word that is not known, or is dropped.

        Examples
        --------
        >>> KeywordIndex(["red fox", "RED"]).document_frequency("Red")
        2
        """
        scorer = self._scorer()
        words = self._tokenizer(term)
        if len(words) > 1:
            raise ValueError(f"term must be one word; {term!r} gives {words}.")
        numbers = [self._vocab[word] for word in words if word in self._vocab]
        return len(scorer.postings(numbers[0])[0]) if numbers else 0

    # ---------------------------------------------------------------- saving

    def save(self, folder: Any) -> None:
        """Save the index to a folder: counts, documents and settings, as npz and JSON.

        Parameters
        ----------
        folder : path
            A folder that is new, empty, or holds an earlier save, which is replaced in one step.

        Raises
        ------
        ValueError
            If the folder holds other files, or a column of the documents cannot be written as JSON.

        See Also
        --------
        KeywordIndex.load : The way back.
        """
        self._scorer()
        save_folder(
            folder,
            "KeywordIndex",
            self._meta(),
            self._table.frame,
            pack_postings(self._postings, self._table),
        )

    @classmethod
    def load(cls, folder: Any, *, tokenizer: Callable[[str], list[str]] | None = None) -> KeywordIndex:
        """Load an index from a folder.

        Parameters
        ----------
        folder : path
            What :meth:`save` wrote.
        tokenizer : callable, optional
            Needed where the index was built with a callable of your own or with a stemmer; it is checked.

        Returns
        -------
        KeywordIndex
            It scores as the one that was saved.

        Raises
        ------
        ValueError
            If the folder is damaged or foreign, or the tokenizer is another one.
        FileNotFoundError
            If there is nothing.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     KeywordIndex({"a": "red fox"}).save(folder)
        ...     KeywordIndex.load(folder).search("fox")["doc_id"].tolist()
        ['a']
        """
        meta, docs, arrays = load_folder(folder, "KeywordIndex")
        index = cls._from_meta(meta, tokenizer)
        index._postings = unpack_postings(arrays, index._fields, len(docs), str(folder))
        index._table.restore(docs, arrays["slots"])
        return index

    def to_json(self) -> str:
        """Write documents and settings as one JSON text, for small collections.

        Returns
        -------
        str
            JSON; the counts are made anew when it is read.

        Examples
        --------
        >>> index = KeywordIndex({"a": "red fox"}, k1=0.9)
        >>> KeywordIndex.from_json(index.to_json()).k1
        0.9
        """
        return to_snapshot("KeywordIndex", self._meta(), self._table.frame, {})

    @classmethod
    def from_json(cls, text: str, *, tokenizer: Callable[[str], list[str]] | None = None) -> KeywordIndex:
        """Make an index of what :meth:`to_json` wrote.

        Parameters
        ----------
        text : str
            JSON.
        tokenizer : callable, optional
            As in :meth:`load`.

        Returns
        -------
        KeywordIndex
            It scores as the one that was written.

        Raises
        ------
        ValueError
            If the text is damaged or foreign, or the tokenizer is another one.
        """
        meta, docs, _ = from_snapshot(text, "KeywordIndex")
        index = cls._from_meta(meta, tokenizer)
        index.add(docs)
        return index

    def _meta(self) -> dict[str, Any]:
        own = {name: dict(v) if isinstance(v, Mapping) else v for name, v in self._own.items()}
        return {"parameters": own, "fields": self._fields, "tokenizer": tokenizer_spec(self._tokenizer)}

    @classmethod
    def _from_meta(cls, meta: dict[str, Any], tokenizer: Any) -> KeywordIndex:
        try:
            found = tokenizer_of(meta["tokenizer"], tokenizer, "the index")
            return cls(tokenizer=found, fields=meta["fields"], **meta["parameters"])
        except (KeyError, TypeError) as error:
            raise ValueError(f"the settings of the saved index are damaged: {error!r}.") from None

    # ---------------------------------------------------------------- inside

    @property
    def _vocab(self) -> dict[str, int]:
        return next(iter(self._postings.values())).vocab

    def _reset(self) -> None:
        self._postings = self._new_postings()
        self._last: Scorer | None = None
        self._scored_version = -1  # the version to which postings and the last scorer belong

    def _new_postings(self) -> dict[str, Postings]:
        vocab: dict[str, int] = {}
        return {field: Postings(vocab) for field in self._fields}

    def _count(
        self, frame: pd.DataFrame, postings: dict[str, Postings], tokenizer: Callable[[str], list[str]]
    ) -> dict[str, Counts]:
        """Count the words of each field, without changing what the index finds."""
        check_frame(frame, self._fields, "docs")
        return {field: postings[field].count(_texts(frame, field), tokenizer) for field in self._fields}

    def _setting(
        self,
        k1: Any = None,
        b: Any = None,
        variant: Any = None,
        delta: Any = None,
        mu: Any = None,
        query_terms: Any = None,
        fields: Any = None,
    ) -> Setting:
        """Check parameters; what is None is the index's own."""
        given = {"k1": k1, "b": b, "variant": variant, "delta": delta, "mu": mu, "query_terms": query_terms}
        wanted = self._own | {name: value for name, value in given.items() if value is not None}
        if variant is not None and delta is None and variant != self._own["variant"]:
            wanted["delta"] = None  # the index's own delta belongs to its own variant
        return check_setting(wanted, self._fields if fields is None else check_fields(fields, self._fields))

    def _scorer(self, *parameters: Any) -> Scorer:
        """Make ready to score under these parameters; the last scorer is kept, with the weights it made."""
        own = all(value is None for value in parameters)
        setting = self._own_setting if own else self._setting(*parameters)
        if self._scored_version != self._table.version:
            kept = self._table.compact()
            for postings in self._postings.values():
                postings.settle(kept)
            self._last, self._scored_version = None, self._table.version
        if self._last is None or (self._last.setting is not setting and self._last.setting != setting):
            # Kept weights take at most three bytes a posting, so the index stays smaller than one of scores.
            room = max(1 << 19, 3 * sum(len(p.docs) for p in self._postings.values()) // 8)
            self._last = Scorer(list(self._postings.values()), setting, room)
        return self._last

    def _query_terms(self, frame: pd.DataFrame, scorer: Scorer, quiet: bool = False) -> list[Terms]:
        """Turn each query into known terms and how often it holds them."""
        out, unknown = [], {}
        for query_id, text in zip(frame["query_id"].tolist(), frame["text"].tolist()):
            words = self._tokenizer(text)
            terms = self._known(words, scorer)
            if words and not terms:
                unknown[query_id] = words
            out.append(terms)
        if unknown and len(self) and not quiet:
            asked = [
                f"query {q!r} asks for {some(dict.fromkeys(words))}" for q, words in list(unknown.items())[:3]
            ]
            warn(
                f"no document holds a word of {len(unknown)} queries, which have no hits: "
                f"{'; '.join(asked)}. Check spelling, language and the tokenizer (tokenizer.explain(text))."
            )
        return out

    def _known(self, words: list[str], scorer: Scorer) -> Terms:
        vocab = self._vocab
        terms: Terms = {}
        for word in words:
            number = vocab.get(word)
            if number is not None and scorer.df(number):
                terms[number] = 1 if scorer.setting.once else terms.get(number, 0) + 1
        return terms


def _check_tokenizer(tokenizer: Any) -> Callable[[str], list[str]]:
    if not callable(tokenizer):
        raise TypeError(f"tokenizer must be a callable str -> list of str; got {tokenizer!r}.")
    return tokenizer


def _texts(frame: pd.DataFrame, field: str) -> list[str]:
    """Give the texts of a field; a missing title is an empty one."""
    texts = frame[field]
    if texts.isna().any():
        texts = texts.where(texts.notna(), "")
    out = texts.tolist()
    wrong = next((n for n, text in enumerate(out) if not isinstance(text, str)), None)
    if wrong is not None:
        unit = frame["chunk_id" if "chunk_id" in frame.columns else "doc_id"].iloc[wrong]
        raise TypeError(f"docs' {field} must be a string; {unit!r} has {out[wrong]!r}.")
    return out
