"""Many settings at once: what a query does not owe to the setting is looked up once."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd

from ragkit.bm25.fast import add_up, best_of, is_rare, repeats
from ragkit.bm25.scoring import Scorer, Terms
from ragkit.frames.runs import Found, best_first
from ragkit.frames.table import DocTable

_POSTINGS = 1 << 21  # how many are held at a time


class _Query(NamedTuple):
    """A query whose words are all rare: its postings among the gathered ones, one word after the other."""

    spans: list[tuple[int, int, int]]  # of each word, rarest first: start, end, and how often it is asked
    kept: np.ndarray | None  # which of these postings pass the filter; None for all
    rows: np.ndarray  # their documents
    early: np.ndarray  # as `repeats` gives them
    last: np.ndarray


class Gathered:
    """The postings of some queries, ready to be weighted under one setting after the other.

    Parameters
    ----------
    scorer : Scorer
        One under any setting that searches all fields.
    asked : list of dict
        The queries' words.
    allowed : ndarray of bool or None
        Which slots may be found.
    """

    def __init__(self, scorer: Scorer, asked: list[Terms], allowed: np.ndarray | None):
        self.asked, self.allowed = asked, allowed
        terms = dict.fromkeys(term for query in asked for term in query) if scorer.countable else ()
        rare = [term for term in terms if is_rare(scorer.df(term), scorer.n)]
        self._found = {term: scorer.counts(term) for term in rare}
        self._df = [len(docs) for docs, _ in self._found.values()]
        ends = np.cumsum([0, *self._df]).tolist()
        self._span = dict(zip(rare, pairwise(ends)))
        none = np.empty(0, dtype=np.uint8)
        self._docs = np.concatenate([none, *(docs for docs, _ in self._found.values())], dtype=np.intp)
        self._pair_up(scorer, np.concatenate([none, *(tf for _, tf in self._found.values())]))
        self._idf: dict[str, np.ndarray] = {}
        paper = np.empty(scorer.n, dtype=np.float32)
        self._queries = [self._prepare(scorer, query, paper) for query in asked]
        lone = {term for terms, query in zip(asked, self._queries) if query is None for term in terms}
        self._lone = lone & self._span.keys()  # rare words of the queries that are searched by themselves

    def _pair_up(self, scorer: Scorer, tf: np.ndarray) -> None:
        """Number the pairs of count and length that occur: a weight depends on nothing else in a document."""
        lengths, first, number = np.unique(scorer.fields[0].lengths, return_index=True, return_inverse=True)
        cells = tf.astype(np.int64) * len(lengths) + number[self._docs]
        self._pair, pairs = pd.factorize(cells)
        self._pair_tf, self._pair_doc = pairs // len(lengths), first[pairs % len(lengths)]

    def _prepare(self, scorer: Scorer, terms: Terms, paper: np.ndarray) -> _Query | None:
        """Find what no setting changes; None for a query that is better searched by itself."""
        ordered = scorer.ordered(terms)
        postings = sum(df for df, _, _ in ordered)
        if not postings or 4 * postings >= scorer.n or not terms.keys() <= self._span.keys():
            return None
        spans = [(*self._span[term], count) for _, term, count in ordered]
        rows = np.concatenate([self._docs[start:end] for start, end, _ in spans])
        kept = None if self.allowed is None else self.allowed[rows].nonzero()[0]
        rows = rows if kept is None else rows[kept]
        return _Query(spans, kept, rows, *repeats(rows, paper))

    def search(self, scorer: Scorer, top_k: int | None, table: DocTable) -> list[Found]:
        """Find the best of each query under the scorer's setting."""
        plain = top_k is None or top_k >= scorer.n or scorer.likelihood or not scorer.countable
        wanted = 0 if plain else top_k or 0
        weights = self._weigh(scorer) if wanted else np.empty(0)
        found = []
        for terms, query in zip(self.asked, self._queries):
            best = None
            if wanted and query is not None:
                best = best_of(query.rows, _scores(query, weights, scorer.setting.once), wanted)
            best = best or scorer.best(scorer.known(terms), top_k, self.allowed)
            found.append(best_first(*best, table, top_k))
        return found

    def _weigh(self, scorer: Scorer) -> np.ndarray:
        """Weigh all gathered postings under the scorer's setting."""
        variant = scorer.setting.variant
        if variant not in self._idf:
            self._idf[variant] = np.repeat([scorer.idf(df) for df in self._df], self._df)
        weights = self._idf[variant] * scorer.weigh_as(1.0, self._pair_doc, self._pair_tf)[self._pair]
        for term in self._lone:
            scorer.fast.keep(term, self._found[term][0], weights[slice(*self._span[term])])
        return weights


def _scores(query: _Query, weights: np.ndarray, once: bool) -> np.ndarray:
    """Add up a query's weights, in the order in which every road adds them."""
    mine = np.concatenate(
        [weights[a:b] if once or count == 1 else count * weights[a:b] for a, b, count in query.spans]
    )
    return add_up(mine if query.kept is None else mine[query.kept], query.early, query.last)


def in_portions(scorer: Scorer, asked: list[Terms]) -> Iterator[list[Terms]]:
    """Cut queries into runs of no more postings than should be held at a time."""
    portion: list[Terms] = []
    held = 0
    for terms in asked:
        portion.append(terms)
        held += sum(df for df in map(scorer.df, terms) if is_rare(df, scorer.n))
        if held >= _POSTINGS:
            yield portion
            portion, held = [], 0
    if portion:
        yield portion
