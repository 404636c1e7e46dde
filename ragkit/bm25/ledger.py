"""Taking a score apart, and looking at what the index holds."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from ragkit.bm25.counts import WordCounts
from ragkit.bm25.postings import Postings
from ragkit.bm25.scoring import Scorer, Setting, check_fields, check_setting
from ragkit.frames.store import check_one_query

# Two threads that ask a fresh index at once must not both settle it; one lock for all, so that an index
# can be pickled.
_SETTLING = threading.RLock()

PART_COLUMNS = ["query_tf", "tf", "df", "idf", "length_norm", "saturation", "contribution"]


class Ledgers(WordCounts):
    """How an index scores under given parameters, and what it tells of its scores and of what it holds."""

    _own_setting: Setting
    _last: Scorer | None
    _scored_version: int

    def _unshare(self) -> None:
        super()._unshare()
        self._last, self._scored_version = None, -1  # it scores the other's postings

    def __getstate__(self) -> dict[str, Any]:
        """Leave kept weights out of pickles and deep copies: they are made again when they are needed."""
        return self.__dict__ | {"_last": None, "_scored_version": -1}

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
        with _SETTLING:
            self._settle()
            if self._scored_version != self._table.version:
                self._last, self._scored_version = None, self._table.version
            if self._last is None or (self._last.setting is not setting and self._last.setting != setting):
                self._last = self._make_scorer(setting)
            return self._last

    def _make_scorer(self, setting: Setting) -> Scorer:
        # What is kept takes less than 3 bytes a posting: all is smaller than an index of scores.
        room = max(1 << 22, 23 * sum(len(p.docs) for p in self._postings.values()) // 8)
        return Scorer(list(self._postings.values()), setting, room)

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
        k1, b, variant, delta, mu, query_terms, fields : optional
            As in :meth:`search`; None for the index's own.

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
        >>> from ragkit import KeywordIndex
        >>> index = KeywordIndex({"a": "red fox", "b": "red red wine"})
        >>> index.explain("red wine", "b")[["part", "tf", "df", "contribution"]].round(3).values.tolist()
        [['red', 2.0, 2.0, 0.237], ['wine', 1.0, 1.0, 0.641]]
        """
        check_one_query(query)
        scorer = self._scorer(k1, b, variant, delta, mu, query_terms, fields)
        return explain_score(self._tokenizer(query), self._slot_of(unit_id), self._vocab, scorer)

    def stats(self) -> dict[str, Any]:
        """Describe the index in numbers.

        Returns
        -------
        dict
            ``documents, terms, average_length`` (a dict by field where there are several), ``k1, b,
            variant, memory`` (bytes of counts and kept weights).

        Examples
        --------
        >>> from ragkit import KeywordIndex
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
        >>> from ragkit import KeywordIndex
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
        >>> from ragkit import KeywordIndex
        >>> KeywordIndex(["red fox", "RED"]).document_frequency("Red")
        2
        """
        scorer = self._scorer()
        words = self._tokenizer(term)
        if len(words) > 1:
            raise ValueError(f"term must be one word; {term!r} gives {words}.")
        numbers = [self._vocab[word] for word in words if word in self._vocab]
        return len(scorer.postings(numbers[0])[0]) if numbers else 0


def explain_score(words: list[str], slot: int, vocab: dict[str, int], scorer: Scorer) -> pd.DataFrame:
    """Give one row per query word; the contributions add up to the score.

    Parameters
    ----------
    words : list of str
        The query, cut by the tokenizer.
    slot : int
        The document.
    vocab : dict of str to int
        Term numbers.
    scorer : Scorer
        What scores under the setting asked for.

    Returns
    -------
    DataFrame
        ``part, value, query_tf, tf, df, idf, length_norm, saturation, contribution``.
    """
    counts = dict.fromkeys(words, 0)
    for word in words:
        counts[word] = 1 if scorer.setting.once else counts[word] + 1
    rows = []
    for word, count in counts.items():
        term = vocab.get(word)
        parts = _no_part(scorer, slot) if term is None else _part(term, slot, scorer)
        rows.append({"part": word, "query_tf": count, **parts, "contribution": count * parts["weight"]})
    frame = pd.DataFrame(rows, columns=["part", *PART_COLUMNS])
    if scorer.likelihood and (frame["tf"] > 0).any():
        known = int(frame.loc[frame["df"] > 0, "query_tf"].sum())
        prior = {"part": "(length)", "query_tf": known, "contribution": known * scorer.prior()[slot]}
        frame = pd.concat([frame, pd.DataFrame([prior])], ignore_index=True)
    dtypes: dict[str, Any] = {"part": "str", "query_tf": np.int64}
    frame = frame.astype(dtypes | dict.fromkeys(PART_COLUMNS[1:], np.dtype(np.float64)))
    frame.insert(1, "value", frame["contribution"])
    return frame


def _part(term: int, slot: int, scorer: Scorer) -> dict[str, float]:
    """Take one term's weight in one document apart."""
    docs, tf = scorer.postings(term)
    at = np.searchsorted(docs, slot)
    here = at < len(docs) and docs[at] == slot
    part = _no_part(scorer, slot) | {"df": len(docs)}
    if not scorer.likelihood and len(docs):
        part["idf"] = float(scorer.formula.idf(len(docs), scorer.n))
    if here:
        part["tf"] = float(tf[at])
        part["weight"] = float(scorer.weigh(term, docs[at : at + 1], tf[at : at + 1], df=len(docs))[0])
        if not scorer.likelihood:
            part["saturation"] = float(scorer.formula.saturation(tf[at], part["length_norm"], *scorer.knobs))
    return part


def _no_part(scorer: Scorer, slot: int) -> dict[str, float]:
    """Say what is true of a word that the document does not hold."""
    if scorer.likelihood:
        norm = idf = saturation = np.nan
    else:
        norm = 1.0 if len(scorer.fields) > 1 else float(scorer.norm[slot])
        idf, saturation = np.nan, 0.0
    return {"tf": 0, "df": 0, "idf": idf, "length_norm": norm, "saturation": saturation, "weight": 0.0}


def term_table(fields: list[Postings], scorer: Scorer) -> pd.DataFrame:
    """Give one row per term that some document holds, in the order in which they were first met.

    Parameters
    ----------
    fields : list of Postings
        Counts by field.
    scorer : Scorer
        What gives the idf.

    Returns
    -------
    DataFrame
        ``term, df, cf, idf``.
    """
    vocab = fields[0].vocab
    df: Any
    cf: Any
    held: Any
    if not vocab:
        df = cf = np.empty(0, dtype=np.int64)
    elif len(fields) == 1:
        df = fields[0].df
    else:
        held = sum(
            sp.csr_array((np.ones(len(p.docs)), p.docs, p.indptr), shape=(len(vocab), scorer.n))
            for p in fields
        )
        df = np.diff(held.indptr)
    if vocab:
        cf = sum(np.diff(np.concatenate([[0], np.cumsum(p.tf, dtype=np.int64)])[p.indptr]) for p in fields)
    idf: Any = np.full(len(vocab), np.nan)
    keep = df > 0
    if not scorer.likelihood:
        idf[keep] = scorer.formula.idf(df[keep], scorer.n)
    frame = pd.DataFrame({"term": pd.Series(list(vocab), dtype="str"), "df": df, "cf": cf, "idf": idf})
    return frame[keep].reset_index(drop=True).astype({"df": np.int64, "cf": np.int64})
