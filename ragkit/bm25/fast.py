"""Finding the best fast: single precision decides who is looked at, double precision who comes first."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ragkit.frames.topk import lower_bound

if TYPE_CHECKING:
    from ragkit.bm25.scoring import Scorer

_SMALL, _LARGE = 1e-30, 1e30  # sums outside of this are left to the plain road: float32 ends near


class _Term(NamedTuple):
    """One term's postings, ready to add up."""

    docs: np.ndarray
    light: np.ndarray  # weights, rounded to float32
    tf: np.ndarray  # from which exact weights are made for the few
    idf: float


class _Row(NamedTuple):
    """A frequent term, one number per document; 0 where it does not stand."""

    light: np.ndarray
    tf: np.ndarray
    idf: float
    most: float  # the largest weight


class _Postings(NamedTuple):
    """The postings of all rarer terms of a query, one after the other."""

    rows: np.ndarray  # documents; one stands here once for each of its terms
    light: np.ndarray  # what each adds to a score, in float32
    tf: np.ndarray
    ends: list[int]  # where each term's postings end
    idf: list[float]  # of each term
    counts: list[int]  # how often the query holds each term


class FastSearch:
    """The best documents of a query; scores and order equal those of the plain road bit by bit.

    Scores are first added up in float32, which halves the memory to read and to keep. A sum of m terms is
    then off by no more than about (m + 2) 2^-24 of itself, so documents further than that below the best
    `top_k` are out, and the few that are left are scored again in float64, term by term in the same order.

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
        # Scratch paper for each search that runs at a time: zeros, and places with anything on them.
        self._spare: list[tuple[np.ndarray, np.ndarray]] = []

    def best(
        self, terms: dict[int, int], top_k: int, allowed: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Find the documents that may be among the best and their scores; None: take the plain road.

        Where the rarer terms have few postings, only their documents are looked at; else every document's
        sum is, frequent terms as whole rows.
        """
        if top_k >= self.n:
            return None
        ordered = self.scorer.ordered(terms)
        rare = sum(6 * df <= self.n for df, _, _ in ordered)
        frequent: list[tuple[_Row, int]] = []
        for _, term, count in reversed(ordered[rare:]):
            row = self._row(term)
            if row is None:  # no room: it is scattered, and all before it, which keeps the order of addition
                break
            frequent.insert(0, (row, count))
        rare = len(ordered) - len(frequent)
        postings = self._gather(ordered[:rare], allowed)
        slack = (len(ordered) + 2) * 2.0**-23 + 1e-11
        scratch, place = self._spare.pop() if self._spare else _scratch(self.n)
        few = False
        try:
            np.add.at(scratch, postings.rows, postings.light)
            found = None
            # With frequent terms around, looking at few is a gamble, and lost where many are asked for.
            if 4 * len(postings.rows) < self.n and not (frequent and len(postings.rows) < 16 * top_k):
                found = self._among_few(scratch, place, postings, frequent, top_k, slack)
            few = found is not None
            if found is None:
                found = self._among_all(scratch, postings, frequent, top_k, slack, allowed)
            return found and self._exactly(place, postings, frequent, *found)
        finally:
            if few and 10 * len(postings.rows) < self.n:
                scratch[postings.rows] = 0.0
            else:
                scratch.fill(0.0)
            self._spare.append((scratch, place))

    # ---------------------------------------------------------------- weights, kept within a bound

    def _term(self, term: int) -> _Term:
        kept = self._terms.get(term)
        if kept is None:
            docs, tf = self.scorer.counts(term)
            kept = _Term(docs, _light(self.scorer.weigh(term, docs, tf)), tf, self.scorer.idf(len(docs)))
            size = self._size(kept)
            if size > self.room // 16:
                return kept  # one that would push out most others
            self._make_room(size)
            if self.nbytes + size <= self.room:
                self.nbytes += size
                self._terms[term] = kept
        return kept

    def _make_room(self, size: int) -> None:
        """Forget the oldest terms where there is no room, a quarter of it at a time."""
        if self.nbytes + size > self.room:
            for term in list(self._terms):
                gone = self._terms.pop(term, None)
                self.nbytes -= self._size(gone) if gone else 0
                if self.nbytes + size <= 3 * self.room // 4:
                    break

    def _size(self, term: _Term) -> int:
        """Count the bytes that are kept for a term alone: its postings are views, except over fields."""
        return term.light.nbytes + (0 if term.tf.base is not None else term.docs.nbytes + term.tf.nbytes)

    def _row(self, term: int) -> _Row | None:
        """Give a frequent term as a row: None where rows would take most of the room."""
        kept = self._rows.get(term)
        if kept is None:
            docs, tf = self.scorer.counts(term)
            size = (4 + tf.itemsize) * self.n
            if (len(self._rows) + 1) * size > 3 * self.room // 4:
                return None
            light, counts = np.zeros(self.n, dtype=np.float32), np.zeros(self.n, dtype=tf.dtype)
            light[docs] = _light(self.scorer.weigh(term, docs, tf))
            counts[docs] = tf
            kept = self._rows[term] = _Row(light, counts, self.scorer.idf(len(docs)), float(light.max()))
            self._make_room(size)
            self.nbytes += size
        return kept

    # ---------------------------------------------------------------- who may be among the best

    def _gather(self, ordered: list[tuple[int, int, int]], allowed: np.ndarray | None) -> _Postings:
        terms = [self._term(term) for _, term, _ in ordered]
        counts = [count for _, _, count in ordered]
        if not terms:
            terms, counts = [_NO_TERM], [1]
        rows = np.concatenate([term.docs for term in terms], dtype=np.intp)
        light = np.concatenate([t.light if c == 1 else c * t.light for t, c in zip(terms, counts)])
        tf = np.concatenate([term.tf for term in terms])
        ends = list(accumulate(len(term.docs) for term in terms))
        if allowed is not None:
            kept = allowed[rows].nonzero()[0]
            rows, light, tf, ends = rows[kept], light[kept], tf[kept], kept.searchsorted(ends).tolist()
        return _Postings(rows, light, tf, ends, [term.idf for term in terms], counts)

    def _among_few(
        self,
        sums: np.ndarray,
        place: np.ndarray,
        postings: _Postings,
        frequent: list[tuple[_Row, int]],
        top_k: int,
        slack: float,
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Choose among the documents that hold a rarer term; None where one without might be among the best.

        Frequent terms add at most `most`: where the best `top_k` found so far have more than that, no
        document without a rarer term can come before them, and frequent terms are looked up for the few that
        are left.
        This is MaxScore (Turtle and Flood 1995) with two groups of terms.
        """
        rows = postings.rows
        found = sums[rows]
        cut = self._cut(rows, found, place, len(postings.ends), top_k)
        if not frequent and cut == 0:  # no more than asked for
            return np.arange(len(rows)), rows[_once(rows, place)]
        if not _SMALL < cut < _LARGE:
            return None
        most = 0.0
        if frequent:  # the best by rarer terms, scored in whole, give a closer bound
            best = rows[(found >= cut).nonzero()[0]]
            cut = lower_bound(_whole(sums, best[_once(best, place)], frequent), top_k)
            most = sum(count * row.most for row, count in frequent) * (1 + slack)
        cut *= 1 - slack
        if cut <= most:
            return None
        keep = (found >= cut - most).nonzero()[0]
        candidates = rows[keep]
        if len(postings.ends) > 1:
            candidates = candidates[_once(candidates, place)]
        if frequent:
            whole = sums[candidates] = _whole(sums, candidates, frequent)
            cut = max(cut, lower_bound(whole, top_k) * (1 - slack))
            candidates = candidates[whole >= cut]
            keep = keep[sums[rows[keep]] >= cut]
        return keep, candidates

    def _cut(self, rows: np.ndarray, found: np.ndarray, place: np.ndarray, repeats: int, top_k: int) -> float:
        """Bound the best `top_k` sums from below; a document stands in `rows` up to `repeats` times."""
        if repeats > 1 and len(rows) <= 8 * top_k * repeats:
            found = found[_once(rows, place)]
        else:
            top_k *= repeats
        return lower_bound(found, top_k) if len(found) > top_k else 0.0

    def _among_all(
        self,
        sums: np.ndarray,
        postings: _Postings,
        frequent: list[tuple[_Row, int]],
        top_k: int,
        slack: float,
        allowed: np.ndarray | None,
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Choose among all documents; None where too few match for single precision to tell them apart."""
        for row, count in frequent:
            sums += row.light if count == 1 else count * row.light
        if allowed is not None:
            sums *= allowed
        cut = lower_bound(sums, top_k)
        if not _SMALL < cut < _LARGE:
            return None
        candidates = (sums >= cut * (1 - slack)).nonzero()[0]
        return (sums[postings.rows] >= cut * (1 - slack)).nonzero()[0], candidates

    # ---------------------------------------------------------------- exact scores for the few

    def _exactly(
        self,
        place: np.ndarray,
        postings: _Postings,
        frequent: list[tuple[_Row, int]],
        keep: np.ndarray,
        candidates: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Score candidates in float64; `keep` are their postings."""
        place[candidates] = np.arange(len(candidates), dtype=np.int32)
        rows = postings.rows[keep]
        ends = keep.searchsorted(postings.ends).tolist()
        sizes = [end - start for start, end in zip([0, *ends], ends)]
        weights = self.scorer.weigh_as(np.array(postings.idf).repeat(sizes), rows, postings.tf[keep])
        if max(postings.counts) > 1:
            weights *= np.array(postings.counts).repeat(sizes)
        scores = np.bincount(place[rows], weights, minlength=len(candidates)).astype(np.float64, copy=False)
        if frequent:
            tf = np.array([row.tf[candidates] for row, _ in frequent])
            idf = np.array([[row.idf] for row, _ in frequent])
            held = tf > 0
            weights = self.scorer.weigh_as(idf, candidates, np.where(held, tf, 1)) * held
            for added, (_, count) in zip(weights, frequent):
                scores += added if count == 1 else count * added
        if not scores.all():  # an idf may be 0
            matches = scores > 0
            return candidates[matches], scores[matches]
        return candidates, scores


def _scratch(n: int) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros(n, dtype=np.float32), np.empty(n, dtype=np.int32)


def _light(weights: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore", under="ignore"):  # what is too large or small is left to the plain road
        return weights.astype(np.float32)


def _whole(sums: np.ndarray, rows: np.ndarray, frequent: list[tuple[_Row, int]]) -> np.ndarray:
    """Add frequent terms to the sums of some documents."""
    whole = sums[rows]
    for row, count in frequent:
        whole += row.light[rows] if count == 1 else count * row.light[rows]
    return whole


def _once(rows: np.ndarray, place: np.ndarray) -> np.ndarray:
    """Find each document once, without sorting: of all that write to one place, the last stays."""
    numbers = np.arange(len(rows), dtype=np.int32)
    place[rows] = numbers
    return (place[rows] == numbers).nonzero()[0]


_NO_TERM = _Term(np.empty(0, dtype=np.int32), np.empty(0, dtype=np.float32), np.empty(0, dtype=np.uint8), 0.0)
