"""Finding the best fast: add up where postings are, or screen all documents in whole numbers."""

from __future__ import annotations

import threading
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ragkit.frames.topk import lower_bound

if TYPE_CHECKING:
    from ragkit.bm25.scoring import Scorer

_LARGE = 1e300  # scores above are left to the plain road
_TIE = 1e-11  # scores that are equal by the tie rule, in 12 digits, are nearer than this
_MOST_STEPS = (1 << 16) - 1
_ABOVE_0 = 5e-324  # the smallest number there is
_NUMBERS = np.arange(1 << 16, dtype=np.uint16)

# What is kept changes under one lock for all, so that an index can be pickled; it is read without.
_KEEPING = threading.Lock()


class _Term(NamedTuple):
    """A rarer term: the documents that hold it and its weight in each."""

    docs: np.ndarray
    weights: np.ndarray


class _Row(NamedTuple):
    """A frequent term, one number per document; 0 where it does not stand."""

    steps: np.ndarray  # weights, rounded up to whole steps
    tf: np.ndarray  # from which exact weights are made for the few
    idf: float
    most: float  # the largest weight


Frequent = list[tuple[_Row, int]]  # and how often the query holds it


def is_rare(df: int, n: int) -> bool:
    """Say whether a term's postings are better scattered than kept as a row, one number per document."""
    return 6 * df <= n


class FastSearch:
    """The best documents of a query; scores and order equal those of the plain road bit by bit.

    Where a query has few postings, these are added up, rarest term first as on the plain road, and no other
    document is looked at. Where it has many, every document is scored in steps, whole numbers of 16 bits,
    frequent terms as whole rows: a quarter of the memory to read. Weights are rounded up, so that a sum of m
    of them is at most m steps too high; documents further than that below the best `top_k` are out, and the
    others are scored again.

    Parameters
    ----------
    scorer : Scorer
        The plain road, which knows postings and formula.
    room : int
        How many bytes of weights may be kept.
    """

    def __init__(self, scorer: Scorer, room: int):
        self.scorer, self.room, self.n = scorer, room, scorer.n
        self.nbytes = 0
        self._terms: dict[int, _Term] = {}
        self._rows: dict[int, _Row] = {}
        self._spare: list[np.ndarray] = []  # scratch paper that no search is using; whatever stands on it

    def best(
        self, terms: dict[int, int], top_k: int, allowed: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Find the documents that may be among the best and their scores; None: take the plain road."""
        ordered = self.scorer.ordered(terms)
        frequent = self._frequent(ordered)
        rare = ordered[: len(ordered) - len(frequent)]
        rows, weights = self._gather(rare, allowed)
        found = None
        if 4 * len(rows) < self.n:
            if not frequent:
                found = self._of_few(rows, weights, top_k)
            elif 100 * top_k <= len(rows):  # below, looking at few loses against whole rows
                found = self._among_few(rows, weights, frequent, top_k)
        if found is None and self._fits(ordered, weights, frequent):
            found = self._among_all(rows, weights, frequent, top_k, _n_words(ordered), allowed)
        return found

    @cached_property
    def step(self) -> float:
        """How much a step is: 16 times the weight that a word of one document may have are counted in steps.

        The most frequent word stands for all in how much its repetition is worth.
        """
        docs, tf = self.scorer.counts(self.scorer.most_frequent)
        return 16 * self.scorer.idf(1) * float(self.scorer.weigh_as(1.0, docs, tf).max()) / _MOST_STEPS

    def _in_steps(self, weights: np.ndarray) -> np.ndarray:
        """Count weights in steps, rounded up."""
        return np.ceil(weights / self.step).astype(np.uint16)

    def _fits(self, ordered: list[tuple[int, int, int]], weights: np.ndarray, frequent: Frequent) -> bool:
        """Say whether a score, counted in steps, has room in 16 bits."""
        n_rare = len(ordered) - len(frequent)
        most = _most(frequent) + n_rare * weights.max(initial=0.0)
        return most <= (_MOST_STEPS - _n_words(ordered)) * self.step > 0

    # ---------------------------------------------------------------- weights, kept within a bound

    def _frequent(self, ordered: list[tuple[int, int, int]]) -> Frequent:
        """Give the last terms as rows: those of more than a sixth of the documents, where there is room."""
        frequent: Frequent = []
        for df, term, count in reversed(ordered):
            row = None if is_rare(df, self.n) else self._row(term)
            if row is None:  # it is scattered, and all before it, which keeps the order of addition
                break
            frequent.insert(0, (row, count))
        return frequent

    def _row(self, term: int) -> _Row | None:
        """Give a frequent term as a row: None where rows would take most of the room."""
        kept = self._rows.get(term)
        if kept is None:
            docs, tf = self.scorer.counts(term)
            size = (2 + tf.itemsize) * self.n
            most = 3 * self.room // 4 // size
            if len(self._rows) >= most:
                return None
            weights = self.scorer.weigh(term, docs, tf)
            if not weights.max() <= _MOST_STEPS // 4 * self.step:
                return None
            steps, counts = np.zeros(self.n, dtype=np.uint16), np.zeros(self.n, dtype=tf.dtype)
            steps[docs], counts[docs] = self._in_steps(weights), tf
            kept = _Row(steps, counts, self.scorer.idf(len(docs)), float(weights.max()))
            with _KEEPING:
                if term not in self._rows and len(self._rows) < most:
                    self._rows[term] = kept
                    self._make_room(size)
                    self.nbytes += size
        return kept

    def docs_of(self, term: int) -> np.ndarray:
        """Give the documents that hold a term."""
        return self._term(term).docs

    def weights_of(self, term: int) -> np.ndarray:
        """Give a term's weights in the documents that hold it."""
        return self._term(term).weights

    def _term(self, term: int) -> _Term:
        """Give a term's postings and weights."""
        kept = self._terms.get(term)
        if kept is None:
            docs, tf = self.scorer.counts(term)
            kept = self.keep(term, docs, self.scorer.weigh(term, docs, tf))
        return kept

    def keep(self, term: int, docs: np.ndarray, weights: np.ndarray) -> _Term:
        """Keep a term's weights where there is room; one that would push out most others is not kept."""
        made = _Term(docs, weights)
        size = _size(made)
        if size <= self.room // 16:
            with _KEEPING:
                self._make_room(size)
                if self.nbytes + size <= self.room and term not in self._terms:
                    self.nbytes += size
                    self._terms[term] = made
        return made

    def _make_room(self, size: int) -> None:
        """Forget the oldest terms where there is no room, a quarter of it at a time."""
        if self.nbytes + size > self.room:
            for term in list(self._terms):
                self.nbytes -= _size(self._terms.pop(term))
                if self.nbytes + size <= 3 * self.room // 4:
                    break

    def _gather(
        self, ordered: list[tuple[int, int, int]], allowed: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Give the postings of the rarer terms, one term after the other, and what each adds to a score."""
        if not ordered:
            return np.empty(0, dtype=np.intp), np.empty(0)
        terms = [self._term(term) for _, term, _ in ordered]
        rows = np.concatenate([term.docs for term in terms], dtype=np.intp)
        weights = np.concatenate(
            [t.weights if c == 1 else c * t.weights for t, (_, _, c) in zip(terms, ordered)]
        )
        if allowed is not None:
            kept = allowed[rows].nonzero()[0]
            rows, weights = rows[kept], weights[kept]
        return rows, weights

    # ---------------------------------------------------------------- few postings

    def _among_few(
        self, rows: np.ndarray, weights: np.ndarray, frequent: Frequent, top_k: int
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Choose among the documents that hold a rarer term; None where one without might be among the best.

        Frequent terms add at most `most`: where the best `top_k` found so far have more than that, no
        document without a rarer term can come before them, and frequent terms are looked up only for those
        that they can lift so far: first the two that add most, then the others where that leaves a chance.
        This is MaxScore (Turtle and Flood 1995) with three groups of terms.
        """
        scores = self._add_up(rows, weights)
        near = (scores >= lower_bound(scores, top_k)).nonzero()[0]
        cut = self._sure(self._lifted(rows[near], scores[near], frequent), frequent, top_k)
        if not _most(frequent) < cut < _LARGE:
            return None
        near = (scores >= cut - _most(frequent)).nonzero()[0]
        upper = scores[near]
        for terms, others in ((frequent[:2], frequent[2:]), (frequent[2:], [])):
            upper = self._lifted(rows[near], upper, terms)
            keep = (upper >= cut - _most(others)).nonzero()[0]
            near, upper = near[keep], upper[keep]
        near = near[(upper >= self._sure(upper, frequent, top_k)).nonzero()[0]]
        return rows[near], self._whole(rows[near], scores[near], frequent)

    def _lifted(self, docs: np.ndarray, scores: np.ndarray, frequent: Frequent) -> np.ndarray:
        """Add the weights of frequent terms, rounded up, to the scores of some documents."""
        steps = np.zeros(len(docs))
        for row, count in frequent:
            steps += row.steps.take(docs) if count == 1 else float(count) * row.steps.take(docs)
        steps *= self.step
        return scores + steps

    def _sure(self, upper: np.ndarray, frequent: Frequent, top_k: int) -> float:
        """Bound the `top_k`-th best score from below, of scores to which rounded weights are added."""
        return lower_bound(upper, top_k) * (1 - _TIE) - self.step * sum(count for _, count in frequent)

    def _of_few(
        self, rows: np.ndarray, weights: np.ndarray, top_k: int
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Choose among the documents that hold a word of the query, where all words are rarer ones."""
        scores = self._add_up(rows, weights)
        cut = cut_of(scores, top_k)
        if not is_sound(cut):
            return None
        keep = (scores >= cut).nonzero()[0]
        return rows[keep], scores[keep]

    def _add_up(self, rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Give each document's score at the last of its postings, and 0 at the others."""
        paper, numbers = self._borrow(), numbers_to(len(rows))
        try:
            last = last_of_each(rows, numbers, paper.view(numbers.dtype))
        finally:
            self._spare.append(paper)
        early = (last != numbers).nonzero()[0]
        return add_up(weights, early, last[early])

    def _borrow(self) -> np.ndarray:
        """Give a number of four bytes for each document, to write on."""
        try:
            return self._spare.pop()
        except IndexError:  # another search has it
            return np.empty(self.n, dtype=np.float32)

    def _whole(self, docs: np.ndarray, scores: np.ndarray, frequent: Frequent) -> np.ndarray:
        """Add the exact weights of frequent terms to the scores of some documents, in place."""
        if not frequent:
            return scores
        tf = np.array([row.tf[docs] for row, _ in frequent])
        idf = np.array([[row.idf] for row, _ in frequent])
        held = tf > 0
        weights = self.scorer.weigh_as(idf, docs, np.where(held, tf, 1)) * held
        for added, (_, count) in zip(weights, frequent):
            scores += added if count == 1 else count * added
        return scores

    # ---------------------------------------------------------------- many postings

    def _among_all(
        self,
        rows: np.ndarray,
        weights: np.ndarray,
        frequent: Frequent,
        top_k: int,
        n_words: int,
        allowed: np.ndarray | None,
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Choose among all documents; None where too few match for steps to tell them apart."""
        paper = self._borrow()
        try:
            steps = paper.view(np.uint16)[: self.n]
            _add_rows(steps, frequent)
            np.add.at(steps, rows, self._in_steps(weights))
            if allowed is not None:
                steps *= allowed
            cut = int(lower_bound(steps, top_k)) - n_words - 1  # one for what divisions round
            if cut <= 0:
                return None
            docs = (steps >= cut).nonzero()[0]
            keep = (steps[rows] >= cut).nonzero()[0]
            place = paper.view(np.int32)
            place[docs] = np.arange(len(docs), dtype=np.int32)
            scores = np.bincount(place[rows[keep]], weights[keep], len(docs)).astype(np.float64, copy=False)
            return docs, self._whole(docs, scores, frequent)
        finally:
            self._spare.append(paper)


def _add_rows(sums: np.ndarray, frequent: Frequent) -> None:
    """Set sums to those of frequent terms."""
    rows = [row.steps if count == 1 else row.steps * np.uint16(count) for row, count in frequent]
    if len(rows) < 2:
        sums[:] = rows[0] if rows else 0
    else:
        np.add(rows[0], rows[1], out=sums)
    for row in rows[2:]:
        sums += row


def _most(frequent: Frequent) -> float:
    """Bound what frequent terms add to a score."""
    return sum(count * row.most for row, count in frequent)


def _n_words(ordered: list[tuple[int, int, int]]) -> int:
    """Count the words of a query."""
    return sum(count for _, _, count in ordered)


def numbers_to(size: int) -> np.ndarray:
    """Number postings, in the smallest type that holds the numbers."""
    return _NUMBERS[:size] if size <= len(_NUMBERS) else np.arange(size, dtype=np.int32)


def last_of_each(rows: np.ndarray, numbers: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Find, for each posting, the number of the last one of its document; `place` is scratch paper."""
    place[rows] = numbers  # of all that write to one place, the last stays
    return place[rows]


def add_up(weights: np.ndarray, early: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Give each document's score at the last of its postings, and 0 at the `early` others.

    The order of addition is that of the postings: the early ones add up from 0, then comes the last.
    """
    scores = np.bincount(last, weights[early], len(weights)) + weights
    scores[early] = 0.0
    return scores


def cut_of(scores: np.ndarray, top_k: int) -> float:
    """Bound what the best reach: above 0, and ties with the last of them are not below."""
    cut = lower_bound(scores, top_k) if top_k < len(scores) else 0.0
    return max(cut * (1 - _TIE), _ABOVE_0)


def is_sound(cut: float) -> bool:
    """Say whether scores are numbers that can be told apart; where not, the plain road is taken."""
    return cut < _LARGE


def _size(term: _Term) -> int:
    """Count the bytes that are kept for a term alone: its postings are views, except over fields."""
    return term.weights.nbytes + (0 if term.docs.base is not None else term.docs.nbytes)
