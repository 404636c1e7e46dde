"""Many settings at once: what a query does not owe to the setting is looked up once."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, starmap

import numpy as np
import pandas as pd

from ragkit.bm25.kept import is_rare
from ragkit.bm25.scoring import Scorer, Terms
from ragkit.bm25.together import Portion, complete, portions_of, words_of
from ragkit.frames.runs import Found
from ragkit.frames.table import DocTable

_POSTINGS = 1 << 21  # how many are held at a time


class Gathered:
    """The postings of some queries' rarer words, to be weighted under one setting after the other.

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
        self._span = dict(zip(rare, starmap(slice, pairwise(ends))))
        none = np.empty(0, dtype=np.uint8)
        self._docs = np.concatenate([none, *(docs for docs, _ in self._found.values())], dtype=np.intp)
        self._pair_up(scorer, np.concatenate([none, *(tf for _, tf in self._found.values())]))
        self._idf: dict[str, np.ndarray] = {}
        together = portions_of(scorer, asked) if scorer.countable else ()
        self._portions = []  # with each word's slice of the gathered weights, and its count
        for queries in together:
            words = [(self._span[term], count) for _, term, count in words_of(queries)]
            docs = [self._docs[span] for span, _ in words]
            self._portions.append((Portion(queries, docs, allowed, scorer.n), words))
        known = set().union(*(portion.numbers for portion, _ in self._portions))
        lone = {term for number, terms in enumerate(asked) if number not in known for term in terms}
        self._lone = lone & self._span.keys()  # rare words of the queries that are searched by themselves

    def _pair_up(self, scorer: Scorer, tf: np.ndarray) -> None:
        """Number the pairs of count and length that occur: a weight depends on nothing else in a document."""
        lengths, first, number = np.unique(scorer.fields[0].lengths, return_index=True, return_inverse=True)
        cells = tf.astype(np.int64) * len(lengths) + number[self._docs]
        self._pair, pairs = pd.factorize(cells)
        self._pair_tf, self._pair_doc = pairs // len(lengths), first[pairs % len(lengths)]

    def search(self, scorer: Scorer, top_k: int | None, table: DocTable) -> list[Found]:
        """Find the best of each query under the scorer's setting."""
        found: dict[int, Found] = {}
        if top_k is not None and scorer.can_be_fast(top_k) and scorer.countable:
            weights = self._weigh(scorer)
            once = scorer.setting.once
            for portion, words in self._portions:
                each = [weights[s] if once or count == 1 else count * weights[s] for s, count in words]
                found |= portion.search(each, top_k, table)
        return complete(found, scorer, self.asked, top_k, self.allowed, table)

    def _weigh(self, scorer: Scorer) -> np.ndarray:
        """Weigh all gathered postings under the scorer's setting."""
        variant = scorer.setting.variant
        if variant not in self._idf:
            self._idf[variant] = np.repeat([scorer.idf(df) for df in self._df], self._df)
        weights = self._idf[variant] * scorer.weigh_as(1.0, self._pair_doc, self._pair_tf)[self._pair]
        for term in self._lone:
            scorer.fast.kept.keep(term, self._found[term][0], weights[self._span[term]])
        return weights


def in_lots(scorer: Scorer, asked: list[Terms]) -> Iterator[list[Terms]]:
    """Cut queries into runs of no more postings than should be held at a time.

    Parameters
    ----------
    scorer : Scorer
        What knows in how many documents a word stands.
    asked : list of dict
        The queries' words.

    Yields
    ------
    list of dict
        Neighbouring queries, all of them in the end.
    """
    lot: list[Terms] = []
    held = 0
    for terms in asked:
        lot.append(terms)
        held += sum(df for df in map(scorer.df, terms) if is_rare(df, scorer.n))
        if held >= _POSTINGS:
            yield lot
            lot, held = [], 0
    if lot:
        yield lot
