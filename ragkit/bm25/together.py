"""Many queries at once: numpy is called for a portion of them where it would be called for each."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, pairwise

import numpy as np

from ragkit.bm25.fast import add_up, best_of, cuts_of, last_of_each, numbers_to
from ragkit.bm25.kept import are_few, is_rare
from ragkit.bm25.scoring import Scorer, Terms
from ragkit.frames.runs import Found, best_first, best_first_of_each
from ragkit.frames.table import DocTable

Words = list[tuple[int, int, int]]  # df, term and count of words: of one query, rarest first, or of many

_MOST_TOGETHER = 512  # from so many wanted of each query on, each is put in order by itself
_AT_A_TIME = 1 << 16  # postings of a portion: what is done with them stays in the processor's cache


def find(
    scorer: Scorer, asked: list[Terms], top_k: int | None, allowed: np.ndarray | None, table: DocTable
) -> list[Found]:
    """Find the best of each query, those with few postings a portion at a time.

    Parameters
    ----------
    scorer : Scorer
        What scores under the setting asked for.
    asked : list of dict
        The queries' words.
    top_k : int or None
        How many are wanted; None for all that match.
    allowed : ndarray of bool or None
        Which slots may be found.
    table : DocTable
        Where the ids of slots are.

    Returns
    -------
    list of (slots, scores)
        The best of each query, best first.
    """
    found: dict[int, Found] = {}
    if top_k is not None and scorer.can_be_fast(top_k):
        for queries in portions_of(scorer, asked):
            terms = scorer.fast.kept.terms_of(words_of(queries))
            portion = Portion(queries, [term.docs for term, _ in terms], allowed, scorer.n)
            weights = [term.weights if count == 1 else count * term.weights for term, count in terms]
            found |= portion.search(weights, top_k, table)
    return complete(found, scorer, asked, top_k, allowed, table)


def complete(
    found: dict[int, Found],
    scorer: Scorer,
    asked: list[Terms],
    top_k: int | None,
    allowed: np.ndarray | None,
    table: DocTable,
) -> list[Found]:
    """Search one by one the queries for which nothing is found yet.

    Parameters
    ----------
    found : dict of number to (slots, scores)
        What is found already; the rest is added to it.
    scorer, asked, top_k, allowed, table
        As in :func:`find`.

    Returns
    -------
    list of (slots, scores), length q
        The best of each query, best first.
    """
    for number, terms in enumerate(asked):
        if number not in found:
            best = scorer.best(scorer.known(terms), top_k, allowed)
            found[number] = best_first(*best, table, top_k)
    return [found[number] for number in range(len(asked))]


class Portion:
    """Some queries of few postings, searched together.

    A query by itself costs some thirty calls of numpy, most of them for a few thousand numbers. Here the
    postings stand in one array, query after query and in each word after word, and only what must see one
    query at a time does.

    Parameters
    ----------
    queries : dict of number to words
        The queries.
    docs : list of ndarray of int
        The documents that hold each of :func:`words_of` the queries.
    allowed : ndarray of bool or None
        Which slots may be found.
    n : int
        How many slots there are.
    """

    def __init__(self, queries: dict[int, Words], docs: list[np.ndarray], allowed: np.ndarray | None, n: int):
        self.numbers = list(queries)
        rows = np.concatenate(docs).astype(np.intp)  # for many arrays sooner than in one step
        ends_of_words = np.cumsum([0, *map(len, docs)])
        words = np.cumsum([0, *map(len, queries.values())])
        ends, last_words = ends_of_words[words], ends_of_words[words[1:] - 1]
        self._kept = None if allowed is None else allowed[rows].nonzero()[0]
        if self._kept is not None:
            rows, ends, last_words = rows[self._kept], *map(self._kept.searchsorted, (ends, last_words))
        self._rows, self._ends = rows, ends
        self._spans = list(pairwise(ends.tolist()))
        numbers = numbers_to(len(rows))
        last, place = numbers.copy(), np.empty(n, dtype=numbers.dtype)
        for (start, end), last_word in zip(self._spans, last_words.tolist()):
            last_of_each(rows[start:end], numbers[start:end], place, last[start:last_word])
        self._early = (last != numbers).nonzero()[0]
        self._last = last[self._early]

    def search(self, weights: list[np.ndarray], top_k: int, table: DocTable) -> dict[int, Found]:
        """Find the best of each query, by number.

        `weights` are what each of :func:`words_of` the queries adds to its documents.
        """
        each = np.concatenate(weights)
        scores = add_up(each if self._kept is None else each[self._kept], self._early, self._last)
        if top_k >= _MOST_TOGETHER:  # numpy's overhead is little beside the work itself
            return self._one_by_one(scores, top_k, table)
        cuts = cuts_of(scores, self._spans, top_k)
        keep = (scores >= np.repeat(cuts, np.diff(self._ends))).nonzero()[0]
        ends = keep.searchsorted(self._ends)
        found = best_first_of_each(self._rows[keep], scores[keep], ends, table, top_k)
        return dict(zip(self.numbers, found))

    def _one_by_one(self, scores: np.ndarray, top_k: int, table: DocTable) -> dict[int, Found]:
        """Find the best of each query where many are wanted."""
        found = {}
        for number, (start, end) in zip(self.numbers, self._spans):
            best = best_of(self._rows[start:end], scores[start:end], top_k)
            found[number] = best_first(*best, table, top_k)
        return found


def words_of(queries: dict[int, Words]) -> Words:
    """Give the words of some queries, query after query.

    Parameters
    ----------
    queries : dict of number to words
        The queries.

    Returns
    -------
    list of (df, term, count)
        Their words: what :class:`Portion` takes documents and weights for, in this order.
    """
    return list(chain.from_iterable(queries.values()))


def portions_of(scorer: Scorer, asked: list[Terms]) -> Iterator[dict[int, Words]]:
    """Give the queries that are searched together, a portion at a time.

    Parameters
    ----------
    scorer : Scorer
        What knows in how many documents a word stands.
    asked : list of dict
        The queries' words.

    Yields
    ------
    dict of number to list of (df, term, count)
        Queries of few postings and no frequent word, by their number among all, their terms rarest first.
    """
    portion: dict[int, Words] = {}
    room = _AT_A_TIME
    for number, terms in enumerate(asked):
        ordered = scorer.ordered(terms)
        postings = sum([df for df, _, _ in ordered])
        if not ordered or not are_few(postings, scorer.n) or not is_rare(ordered[-1][0], scorer.n):
            continue
        if postings > room and portion:
            yield portion
            portion, room = {}, _AT_A_TIME
        portion[number] = ordered
        room -= postings
    if portion:
        yield portion
