"""Finding the best fast: add up where postings are, or screen all documents in whole numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ragkit.bm25.kept import MOST_STEPS, Kept, Row, Term, are_few, is_rare
from ragkit.frames.ranking import NEAR
from ragkit.frames.topk import lower_bound

if TYPE_CHECKING:
    from ragkit.bm25.scoring import Scorer

Best = tuple[np.ndarray, np.ndarray] | None  # documents and their scores; None: take the plain road
Rare = list[tuple[Term, int]]  # and how often the query holds it
Frequent = list[tuple[Row, int]]

_ABOVE_0 = 5e-324  # the smallest number there is
_NUMBERS = np.arange(1 << 16, dtype=np.uint16)


class FastSearch:
    """The best documents of a query; scores and order equal those of the plain road bit by bit.

    Where a query has few postings, these are added up, rarest term first as on the plain road, and no other
    document is looked at; where most of these are wanted, they are put in order without a cut before. Where
    it has many, every document is scored in steps, whole numbers of 16 bits, frequent terms as whole rows: a
    quarter of the memory to read. Weights are rounded up, so that a sum of m of them is at most m steps too
    high; documents further than that below the best `top_k` are out, and the others are scored again.

    Frequent terms that add too little to bring a document among the best are looked up only in documents
    that rarer ones have found. This is MaxScore [1]_.

    Parameters
    ----------
    scorer : Scorer
        The plain road, which knows postings and formula.
    room : int
        How many bytes may be kept of terms.

    References
    ----------
    .. [1] Turtle and Flood. Query evaluation: strategies and optimizations. Information Processing and
       Management 31(6), 1995.
    """

    def __init__(self, scorer: Scorer, room: int):
        self.scorer, self.n = scorer, scorer.n
        self.kept = Kept(scorer, room)
        self._spare: list[np.ndarray] = []  # scratch paper that no search is using; whatever stands on it

    def best(self, terms: dict[int, int], top_k: int, allowed: np.ndarray | None) -> Best:
        """Find the documents that may be among the best and their scores; None: take the plain road."""
        ordered = self.scorer.ordered(terms)
        frequent = self._frequent(ordered)
        rarer = ordered[: len(ordered) - len(frequent)]
        rare = self.kept.terms_of(rarer)
        postings = sum([df for df, _, _ in rarer])
        found = None
        # With frequent terms and many to be found, looking at few documents loses against whole rows.
        if are_few(postings, self.n) and (not frequent or 100 * top_k <= postings):
            found = self._among_few(rare, frequent, top_k, allowed)
        return self._among_all(rare, frequent, top_k, allowed) if found is None else found

    def _frequent(self, ordered: list[tuple[int, int, int]]) -> Frequent:
        """Give the last terms as rows: those of more than a sixth of the documents, where there is room."""
        frequent: Frequent = []
        for df, term, count in reversed(ordered):
            row = None if is_rare(df, self.n) else self.kept.row(term)
            if row is None:  # it is scattered, and all before it, which keeps the order of addition
                break
            frequent.insert(0, (row, count))
        return frequent

    def _borrow(self) -> np.ndarray:
        """Give four bytes for each document, to write on."""
        try:
            return self._spare.pop()
        except IndexError:  # another search has it
            return np.empty(self.n, dtype=np.int32)

    # ---------------------------------------------------------------- few postings

    def _among_few(self, rare: Rare, frequent: Frequent, top_k: int, allowed: np.ndarray | None) -> Best:
        """Choose among the documents that hold a rarer term; None where others may be better."""
        rows, weights, before = _gather(rare, allowed)
        scores = self._add_up(rows, weights, before)
        if frequent:
            return self._lift(rows, scores, frequent, top_k) if top_k <= len(rows) else None
        return best_of(rows, scores, top_k)

    def _add_up(self, rows: np.ndarray, weights: np.ndarray, before: int) -> np.ndarray:
        """Give each document's score at the last of its postings, and 0 at the others.

        The first `before` postings are those of all terms but the last.
        """
        paper, numbers = self._borrow(), numbers_to(len(rows))
        last = np.empty(before, dtype=numbers.dtype)
        try:
            last_of_each(rows, numbers, paper.view(numbers.dtype), last)
        finally:
            self._spare.append(paper)
        early = (last != numbers[:before]).nonzero()[0]
        return add_up(weights, early, last[early])

    def _lift(self, rows: np.ndarray, scores: np.ndarray, frequent: Frequent, top_k: int) -> Best:
        """Add frequent terms to documents with rarer ones; None where one without may be among the best.

        Where the best `top_k` found so far have more than frequent terms can add, no other document comes
        before them. Frequent terms are looked up only for those that they can lift so far: first the two
        that add most, then the others where that leaves a chance.
        """
        near = (scores >= lower_bound(scores, top_k)).nonzero()[0]
        cut = self._sure(self._lifted(rows[near], scores[near], frequent), frequent, top_k)
        if not _most(frequent) < cut:
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
        steps *= self.kept.step
        return scores + steps

    def _sure(self, upper: np.ndarray, frequent: Frequent, top_k: int) -> float:
        """Bound the `top_k`-th best score from below, of scores to which rounded weights are added."""
        rounded = self.kept.step * sum(count for _, count in frequent)
        return lower_bound(upper, top_k) * (1 - NEAR) - rounded

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

    def _among_all(self, rare: Rare, frequent: Frequent, top_k: int, allowed: np.ndarray | None) -> Best:
        """Choose among all documents; None where too few match, or steps cannot tell them apart."""
        n_words = sum(count for _, count in [*rare, *frequent])
        rows, weights, _ = _gather(rare, allowed)
        most = len(rare) * weights.max(initial=0.0) + _most(frequent)
        if not most <= (MOST_STEPS - n_words) * self.kept.step > 0:
            return None
        paper = self._borrow()
        try:
            steps = paper.view(np.uint16)[: self.n]
            _add_rows(steps, frequent)
            np.add.at(steps, rows, self.kept.in_steps(weights))
            if allowed is not None:
                steps *= allowed
            cut = int(lower_bound(steps, top_k)) - n_words - 1  # one for what divisions round
            if cut <= 0:
                return None
            docs = (steps >= cut).nonzero()[0]
            keep = (steps[rows] >= cut).nonzero()[0]
            place = paper  # overwrites the steps, which are not needed any more
            place[docs] = np.arange(len(docs), dtype=np.int32)
            scores = np.bincount(place[rows[keep]], weights[keep], len(docs)).astype(np.float64, copy=False)
            return docs, self._whole(docs, scores, frequent)
        finally:
            self._spare.append(paper)


def _gather(rare: Rare, allowed: np.ndarray | None) -> tuple[np.ndarray, np.ndarray, int]:
    """Give the postings of terms, one term after the other, and what each adds to a score.

    Gives besides how many come before those of the last term.
    """
    if not rare:
        return np.empty(0, dtype=np.intp), np.empty(0), 0
    rows = np.concatenate([term.docs for term, _ in rare], dtype=np.intp)
    weights = np.concatenate([t.weights if count == 1 else count * t.weights for t, count in rare])
    before = len(rows) - len(rare[-1][0].docs)
    if allowed is not None:
        kept = allowed[rows].nonzero()[0]
        rows, weights, before = rows[kept], weights[kept], int(kept.searchsorted(before))
    return rows, weights, before


def _most(terms: Frequent) -> float:
    """Bound what frequent terms add to a score."""
    return sum(count * term.most for term, count in terms)


def _add_rows(sums: np.ndarray, frequent: Frequent) -> None:
    """Set sums to those of frequent terms."""
    rows = [row.steps if count == 1 else row.steps * np.uint16(count) for row, count in frequent]
    if len(rows) < 2:
        sums[:] = rows[0] if rows else 0
    else:
        np.add(rows[0], rows[1], out=sums)
    for row in rows[2:]:
        sums += row


def numbers_to(size: int) -> np.ndarray:
    """Number postings, in the smallest type that holds the numbers.

    Parameters
    ----------
    size : int
        How many postings there are.

    Returns
    -------
    ndarray of uint16 or int32, shape (size,)
        0, 1, 2 ...; not to be modified.
    """
    return _NUMBERS[:size] if size <= len(_NUMBERS) else np.arange(size, dtype=np.int32)


def last_of_each(rows: np.ndarray, numbers: np.ndarray, place: np.ndarray, out: np.ndarray) -> None:
    """Find, for the first postings, the number of the last one of the document; `place` is scratch paper.

    Postings of a query's last term need not be asked about: each is the last of its document.

    Parameters
    ----------
    rows : ndarray of intp, shape (p,)
        The documents of the postings.
    numbers : ndarray of int, shape (p,)
        The numbers of the postings, ascending.
    place : ndarray of the same type, shape (n,)
        One cell per document, which is written on, whatever stands there.
    out : ndarray of the same type, shape (m,)
        Is given the number of the last posting of the same document, for each of the first m postings.
    """
    place[rows] = numbers  # of all that write to one place, the last stays
    place.take(rows[: len(out)], out=out, mode="clip")  # no row is out of range; this mode needs no copy


def add_up(weights: np.ndarray, early: np.ndarray, last: np.ndarray) -> np.ndarray:
    """Give each document's score at the last of its postings, and 0 at the `early` others.

    The order of addition is that of the postings: the early ones add up from 0, then comes the last.

    Parameters
    ----------
    weights : ndarray of float64, shape (p,)
        What each posting adds; it becomes the scores.
    early : ndarray of int, shape (e,)
        The postings that are not the last of their document.
    last : ndarray of int, shape (e,)
        The last posting of the document of each of these.

    Returns
    -------
    ndarray of float64, shape (p,)
        The scores.
    """
    weights += np.bincount(last, weights[early], len(weights))
    weights[early] = 0.0
    return weights


def best_of(rows: np.ndarray, scores: np.ndarray, top_k: int) -> tuple[np.ndarray, np.ndarray]:
    """Keep the documents that may be among the best.

    Parameters
    ----------
    rows : ndarray of int, shape (p,)
        The documents of a query's postings.
    scores : ndarray of float64, shape (p,)
        What :func:`add_up` gave.
    top_k : int
        How many are wanted, at least 1.

    Returns
    -------
    rows, scores : ndarray
        All where most are wanted and none of them is 0: to put them in order costs less than to cut first.
    """
    if len(scores) < 4 * top_k <= 4 * np.count_nonzero(scores):
        return rows, scores
    cut = lower_bound(scores, top_k) if top_k < len(scores) else 0.0
    keep = (scores >= max(cut * (1 - NEAR), _ABOVE_0)).nonzero()[0]
    return rows[keep], scores[keep]


def cuts_of(scores: np.ndarray, spans: list[tuple[int, int]], top_k: int) -> np.ndarray:
    """Bound what the best of each of several queries reach: above 0, and ties with the last are not below.

    These are the maxima of blocks of :func:`ragkit.frames.topk.lower_bound`, sorted for all queries at once.

    Parameters
    ----------
    scores : ndarray of float64, shape (p,)
        Scores, none below 0, query after query.
    spans : list of (start, end), length q
        What is each query's.
    top_k : int
        How many are wanted of each, at least 1.

    Returns
    -------
    ndarray of float64, shape (q,)
        The least scores that may be among the best; of short lists, which cost little to sort, all above 0.
    """
    n_blocks = max(128, 2 * top_k)
    long = [number for number, (start, end) in enumerate(spans) if end - start >= n_blocks]
    maxima = np.empty((len(long), n_blocks))
    for row, number in zip(maxima, long):
        start, end = spans[number]
        depth = (end - start) // n_blocks
        np.maximum.reduce(scores[start : start + depth * n_blocks].reshape(depth, n_blocks), out=row)
    maxima.sort()
    cuts = np.full(len(spans), _ABOVE_0)
    cuts[long] = np.maximum(maxima[:, n_blocks - top_k] * (1 - NEAR), _ABOVE_0)
    return cuts
