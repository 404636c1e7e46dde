"""Weights of terms under one setting, made when they are first needed and kept within a bound."""

from __future__ import annotations

import threading
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from ragkit.bm25.scoring import Scorer

MOST_STEPS = (1 << 16) - 1  # the largest number of 16 bits

# What is kept changes under one lock for all, so that an index can be pickled; it is read without.
_KEEPING = threading.Lock()


class Term(NamedTuple):
    """A rarer term: the documents that hold it, ascending, and its weight in each."""

    docs: np.ndarray
    weights: np.ndarray

    @property
    def nbytes(self) -> int:
        """Bytes that are kept for this term."""
        return self.docs.nbytes + self.weights.nbytes


class Row(NamedTuple):
    """A frequent term, one number per document; 0 where it does not stand."""

    steps: np.ndarray  # weights, rounded up to whole steps
    tf: np.ndarray  # from which exact weights are made for the few
    idf: float
    most: float  # the largest weight


def is_rare(df: int, n: int) -> bool:
    """Say whether a term's postings are better scattered than kept as a row, one number per document.

    Parameters
    ----------
    df : int
        In how many documents it stands.
    n : int
        How many documents there are.

    Returns
    -------
    bool
        Whether at most a sixth of the documents hold it.
    """
    return 6 * df <= n


def are_few(postings: int, n: int) -> bool:
    """Say whether looking at a query's postings alone costs less than looking at every document.

    Parameters
    ----------
    postings : int
        How many the query's words have together.
    n : int
        How many documents there are.

    Returns
    -------
    bool
        Whether they are fewer than a quarter of the documents.
    """
    return 4 * postings < n


class Kept:
    """The weights of terms, as many as there is room for.

    Parameters
    ----------
    scorer : Scorer
        The plain road, which knows postings and formula.
    room : int
        How many bytes may be kept.
    """

    def __init__(self, scorer: Scorer, room: int):
        self.scorer, self.room = scorer, room
        self.nbytes = 0
        self.terms: dict[int, Term] = {}
        self.rows: dict[int, Row] = {}
        self._refused: set[int] = set()  # no rows, now or later: rows are not forgotten

    @cached_property
    def step(self) -> float:
        """The step that weights are counted in: of 65,535, one term in one document has at most about 4,096.

        The most frequent term stands for all in how much its repetition is worth.
        """
        docs, tf = self.scorer.counts(self.scorer.most_frequent)
        return 16 * self.scorer.idf(1) * float(self.scorer.weigh_as(1.0, docs, tf).max()) / MOST_STEPS

    def in_steps(self, weights: np.ndarray) -> np.ndarray:
        """Count weights in steps, rounded up."""
        return np.ceil(weights / self.step).astype(np.uint16)

    def terms_of(self, words: list[tuple[int, int, int]]) -> list[tuple[Term, int]]:
        """Give what :meth:`term` gives for each word, which is df, term and count; and the count."""
        kept = self.terms.get
        return [(kept(term) or self.term(term), count) for _, term, count in words]

    def term(self, term: int) -> Term:
        """Give a term's documents and weights."""
        kept = self.terms.get(term)
        if kept is None:
            docs, tf = self.scorer.counts(term)
            kept = self.keep(term, docs, self.scorer.weigh(term, docs, tf))
        return kept

    def keep(self, term: int, docs: np.ndarray, weights: np.ndarray) -> Term:
        """Keep a term's weights where there is room; one that would push out most others is not kept."""
        made = Term(docs, weights)
        if made.nbytes <= self.room // 16:
            # Copies, since views would keep all gathered weights alive, and what is near is read sooner.
            made = Term(docs.copy(), weights if weights.base is None else weights.copy())
            with _KEEPING:
                self._make_room(made.nbytes)
                if self.nbytes + made.nbytes <= self.room and term not in self.terms:
                    self.nbytes += made.nbytes
                    self.terms[term] = made
        return made

    def row(self, term: int) -> Row | None:
        """Give a frequent term as a row: None where there is no room for it, or steps are too small."""
        kept = self.rows.get(term)
        if kept is None and term not in self._refused:
            kept = self._make_row(term)
            if kept is None:
                self._refused.add(term)
        return kept

    def _make_row(self, term: int) -> Row | None:
        """Make a row and keep it, unless another thread has taken the room meanwhile."""
        docs, tf = self.scorer.counts(term)
        size = (2 + tf.itemsize) * self.scorer.n
        n_rows = 3 * self.room // 4 // size
        if len(self.rows) >= n_rows:
            return None
        weights = self.scorer.weigh(term, docs, tf)
        if not weights.max() <= MOST_STEPS // 4 * self.step > 0:
            return None
        steps, counts = np.zeros(self.scorer.n, dtype=np.uint16), np.zeros(self.scorer.n, dtype=tf.dtype)
        steps[docs], counts[docs] = self.in_steps(weights), tf
        made = Row(steps, counts, self.scorer.idf(len(docs)), weights.max().item())
        with _KEEPING:
            if term not in self.rows and len(self.rows) < n_rows:
                self.rows[term] = made
                self._make_room(size)
                self.nbytes += size
        return made

    def _make_room(self, size: int) -> None:
        """Forget the oldest terms where there is no room, a quarter of it at a time."""
        if self.nbytes + size > self.room:
            for term in list(self.terms):
                self.nbytes -= self.terms.pop(term).nbytes
                if self.nbytes + size <= 3 * self.room // 4:
                    break
