"""Where a run put the judged documents: all that the classical metrics need to know."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ragkit.frames import as_ids, check_choice, check_frame, check_top_k, group_codes, ranks_within, some
from ragkit.frames.ids import id_ranks
from ragkit.frames.messages import count

OVER = ("judged", "relevant", "retrieved")
_CELLS = 1 << 22  # scratch for the search for repeated documents


def _none() -> np.ndarray:
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class Judged:
    """The judged documents of some queries, and the rank at which a run returned each.

    Parameters
    ----------
    query, grade, rank : ndarray of int, shape (pairs,)
        Of each pair: the query's number, ascending; the grade (a document with several subtopics has its
        highest); the rank from 1, or 0 where the document was not returned.
    retrieved : ndarray of int, shape (n,)
        How many documents were returned for each query.
    max_grade : int
        The highest grade of all judgements.
    topic_pair, topic, topic_grade : ndarray of int, shape (rows,)
        Of each judgement with a subtopic: the pair it belongs to, its subtopic, its grade.
    name : ndarray of int, shape (pairs,)
        Place of each pair's document among the sorted ids; empty without subtopics.
    """

    query: np.ndarray
    grade: np.ndarray
    rank: np.ndarray
    retrieved: np.ndarray
    max_grade: int = 0
    topic_pair: np.ndarray = field(default_factory=_none)
    topic: np.ndarray = field(default_factory=_none)
    topic_grade: np.ndarray = field(default_factory=_none)
    name: np.ndarray = field(default_factory=_none)

    @property
    def n(self) -> int:
        """Number of queries."""
        return len(self.retrieved)

    @cached_property
    def by_rank(self) -> np.ndarray:
        """The pairs that were returned, by query and rank."""
        found = np.flatnonzero(self.rank)
        longest = int(self.rank.max(initial=0)) + 1
        return found[np.argsort(self.query[found] * longest + self.rank[found], kind="stable")]

    def found(self, k: int | None, rel: int | None = None) -> np.ndarray:
        """List the pairs in the first `k` ranks (None: anywhere) of grade `rel` or more, by rank."""
        rows = self.by_rank
        if k is not None:
            rows = rows[self.rank[rows] <= k]
        return rows if rel is None else rows[self.grade[rows] >= rel]

    def condensed(self) -> Judged:
        """Close the gaps that unjudged documents leave: the ranks among the judged ones."""
        rank = np.zeros_like(self.rank)
        rank[self.by_rank] = ranks_within(self.query[self.by_rank])
        returned = np.bincount(self.query[self.by_rank], minlength=self.n)
        return replace(self, rank=rank, retrieved=returned)

    def regraded(self, gains: Mapping[int, int]) -> Judged:
        """Put other grades in the place of some."""
        grade = self.grade.copy()
        for old, new in gains.items():
            grade[self.grade == old] = new
        return replace(self, grade=grade, max_grade=int(grade.max(initial=0)))

    def total(self, rows: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
        """Count each query's pairs among `rows` (numbers or flags), or add their `weights` in that order."""
        return np.bincount(self.query[rows], weights, self.n).astype(np.float64)


@dataclass(frozen=True)
class Judgements:
    """Judgements as integer codes: made once, matched with any number of runs.

    Parameters
    ----------
    queries : Index
        The queries that are scored, in the order of the result.
    judged : Index
        All judged queries, also those that are not scored.
    docs : Index
        Ids of the judged documents.
    query, doc, grade : ndarray of int, shape (pairs,)
        Of each judged pair: positions in `queries` and `docs`, and the grade. Sorted by query.
    max_grade : int
        The highest grade of all.
    topic_pair, topic, topic_grade : ndarray of int, shape (rows,)
        The same with one row per subtopic; empty without subtopics.
    name : ndarray of int, shape (pairs,)
        Place of each pair's document among the sorted ids; empty without subtopics.
    """

    queries: pd.Index
    judged: pd.Index
    docs: pd.Index
    query: np.ndarray
    doc: np.ndarray
    grade: np.ndarray
    max_grade: int = 0
    topic_pair: np.ndarray = field(default_factory=_none)
    topic: np.ndarray = field(default_factory=_none)
    topic_grade: np.ndarray = field(default_factory=_none)
    name: np.ndarray = field(default_factory=_none)

    def match(self, run: pd.DataFrame) -> Judged:
        """Find the judged documents in a run that is sorted by query and rank."""
        own, unique = _queries_of(run)
        row_query = self.queries.get_indexer(unique)[own] if len(run) else _none()
        row_doc, run_docs = codes_of(run["doc_id"])
        doc = run_docs.get_indexer(self.docs)[self.doc]  # -1: never returned
        rows = find_rows(run, own, row_query, row_doc, self.query, doc, len(self.queries), len(run_docs))
        rank = np.zeros(len(rows), dtype=np.int64)
        rank[rows >= 0] = run["rank"].to_numpy()[rows[rows >= 0]]
        return self._judged(rank, row_query)

    def match_own(self, run: pd.DataFrame, depth: int | None = None) -> Judged:
        """Do as :meth:`match` for a run that a store made: no document twice, so only judged ones matter.

        For many runs on the same judgements: the table of pairs is made once. Ranks beyond `depth` are not
        looked up.
        """
        if self._pair is None:
            return self.match(run)
        own, unique = _queries_of(run)
        row_query = self.queries.get_indexer(unique)[own] if len(run) else _none()
        run_rank = run["rank"].to_numpy()
        rows = np.flatnonzero(row_query >= 0 if depth is None else (row_query >= 0) & (run_rank <= depth))
        doc = codes_in(run["doc_id"].iloc[rows], self.docs, few=True)
        rows, doc = rows[doc >= 0], doc[doc >= 0]
        pair = self._pair[row_query[rows], doc]
        rank = np.zeros(len(self.query), dtype=np.int64)
        rank[pair[pair >= 0]] = run_rank[rows[pair >= 0]]
        return self._judged(rank, row_query)

    @cached_property
    def _pair(self) -> np.ndarray | None:
        """Number of each pair in a table of queries by judged documents; None where that is too large."""
        if len(self.queries) * len(self.docs) > 4 * _CELLS:
            return None
        table = np.full((len(self.queries), len(self.docs)), -1, dtype=np.int32)
        table[self.query, self.doc] = np.arange(len(self.query))
        return table

    def _judged(self, rank: np.ndarray, row_query: np.ndarray) -> Judged:
        """Add the ranks of one run to the judgements."""
        return Judged(
            query=self.query,
            grade=self.grade,
            rank=rank,
            retrieved=np.bincount(row_query[row_query >= 0], minlength=len(self.queries)),
            max_grade=self.max_grade,
            topic_pair=self.topic_pair,
            topic=self.topic,
            topic_grade=self.topic_grade,
            name=self.name,
        )


def check_rel(rel: Any) -> int:
    """Check the least grade of a relevant document."""
    if (checked := check_top_k(rel, "rel", none=False) or 0) < 1:
        raise ValueError("rel must be at least 1, because a document without a judgement has grade 0; got 0.")
    return checked


def code_judgements(qrels: pd.DataFrame, run_queries: pd.Index, over: Any) -> Judgements:
    """Turn judgements into codes, for the queries that `over` asks for."""
    codes, judged = codes_of(qrels["query_id"], used=True)
    queries = _chosen(qrels, codes, judged, run_queries, over)
    query = codes if queries is judged else queries.get_indexer(judged)[codes]
    keep = np.flatnonzero(query >= 0)
    if (np.diff(query[keep]) < 0).any():
        keep = keep[np.argsort(query[keep], kind="stable")]
    doc, docs = codes_of(qrels["doc_id"])
    query, doc = query[keep].astype(np.int64), doc[keep].astype(np.int64)
    grade = qrels["relevance"].to_numpy()[keep]
    highest = int(grade.max(initial=0))
    if "subtopic" not in qrels.columns:
        return Judgements(queries, judged, docs, query, doc, grade, highest)
    # A judgement without a subtopic belongs to the query's one unnamed subtopic.
    named = [("" if pd.isna(topic) else str(topic)) for topic in qrels["subtopic"].iloc[keep]]
    topic, _ = pd.factorize(np.array(named, dtype=object))
    pair, pair_of_row = np.unique(query * max(len(docs), 1) + doc, return_inverse=True)
    best = np.full(len(pair), np.iinfo(np.int64).min)
    np.maximum.at(best, pair_of_row, grade)
    query, doc = np.divmod(pair, max(len(docs), 1))
    name = id_ranks(docs)[doc]
    return Judgements(queries, judged, docs, query, doc, best, highest, pair_of_row, topic, grade, name)


def _chosen(
    qrels: pd.DataFrame, codes: np.ndarray, judged: pd.Index, in_run: pd.Index, over: Any
) -> pd.Index:
    """List the queries that are scored."""
    if isinstance(over, str):
        check_choice("over", over, OVER)
        if over == "judged":
            return judged
        if over == "retrieved":
            return judged[judged.isin(in_run)]
        return judged[np.unique(codes[qrels["relevance"].to_numpy() > 0])]
    if isinstance(over, pd.DataFrame):
        over = check_frame(over, ["query_id"], "over")["query_id"]
    if not isinstance(over, Iterable):
        raise TypeError(f"over must be one of {list(OVER)}, or query ids; got {over!r}.")
    chosen = pd.Index(as_ids(list(over), "over").to_numpy(dtype=object)).unique()
    missing = chosen[~chosen.isin(judged)]
    if len(missing):
        raise ValueError(
            f"over names {count(len(missing), 'query')} that qrels does not judge: {some(missing)}."
        )
    return chosen


def codes_of(ids: pd.Series, *, used: bool = False) -> tuple[np.ndarray, pd.Index]:
    """Number ids by their categories, or (always when only `used` ones count) by first appearance."""
    if isinstance(ids.dtype, pd.CategoricalDtype) and not used:
        return ids.cat.codes.to_numpy(), ids.cat.categories
    codes, unique = group_codes(ids)
    return codes, pd.Index(np.asarray(unique, dtype=object))


def codes_in(ids: pd.Series, known: pd.Index, *, few: bool = False) -> np.ndarray:
    """Number ids by their position in `known`; -1 where it lacks them. `few`: ids hardly repeat."""
    if few and not isinstance(ids.dtype, pd.CategoricalDtype):
        return known.get_indexer(pd.Index(ids.to_numpy(dtype=object), dtype=object))
    codes, unique = codes_of(ids)
    return known.get_indexer(unique)[codes] if len(ids) else _none()


def queries_in(run: pd.DataFrame) -> pd.Index:
    """List the queries of a run whose rows stand together by query, in order."""
    return _queries_of(run)[1]


def _queries_of(run: pd.DataFrame) -> tuple[np.ndarray, pd.Index]:
    """Number the queries of such a run without a look at every id but its neighbour."""
    ids = run["query_id"]
    if isinstance(ids.dtype, pd.CategoricalDtype):
        keys: np.ndarray = ids.cat.codes.to_numpy()
        starts = _starts(keys)
        names = ids.cat.categories[keys[starts]].to_numpy(dtype=object)
    else:
        keys = ids.to_numpy(dtype=object)
        starts = _starts(keys)
        names = keys[starts]
    return np.repeat(np.arange(len(starts)), np.diff(np.r_[starts, len(keys)])), pd.Index(names, dtype=object)


def _starts(groups: np.ndarray) -> np.ndarray:
    return np.flatnonzero(np.r_[True, groups[1:] != groups[:-1]]) if len(groups) else _none()


def find_rows(
    run: pd.DataFrame,
    own: np.ndarray,
    row_query: np.ndarray,
    row_doc: np.ndarray,
    query: np.ndarray,
    doc: np.ndarray,
    n_queries: int,
    n_docs: int,
) -> np.ndarray:
    """Find the row of each (query, doc) pair, -1 where there is none, and refuse repeated documents.

    Some queries at a time, a table of queries by documents takes the number of each row; the pairs look
    theirs up. The table is never cleared: a number left from before is known by its row's other cell.
    """
    starts = _starts(own)
    bounds = np.r_[starts, len(own)]
    place_of_query = np.full(n_queries, -1)
    first_query = row_query[starts]
    place_of_query[first_query[first_query >= 0]] = np.flatnonzero(first_query >= 0)
    pair_place = np.where(doc >= 0, place_of_query[query], -1)
    pairs = np.argsort(pair_place, kind="stable")
    pair_bounds = np.searchsorted(pair_place[pairs], np.arange(len(starts) + 1))
    out = np.full(len(query), -1)
    many = max(1, _CELLS // max(n_docs, 1))
    table = np.zeros(min(many, len(starts)) * n_docs, dtype=np.int32)
    for first in range(0, len(starts), many):
        last = min(first + many, len(starts))
        start, stop = bounds[first], bounds[last]
        shift = np.repeat(np.arange(last - first) * n_docs, np.diff(bounds[first : last + 1]))
        cell = shift + row_doc[start:stop]
        number = np.arange(len(cell), dtype=np.int32)
        table[cell] = number
        # The last writer wins, so a document that stands twice finds another row's number.
        if not np.array_equal(table[cell], number):
            _raise_repeated(run)
        asked = pairs[pair_bounds[first] : pair_bounds[last]]
        wanted = (pair_place[asked] - first) * n_docs + doc[asked]
        at = np.minimum(table[wanted], len(cell) - 1)
        out[asked] = np.where(cell[at] == wanted, at + start, -1)
    return out


def _raise_repeated(run: pd.DataFrame) -> None:
    twice = run[run.duplicated(["query_id", "doc_id"])]
    raise ValueError(
        f"run has {count(len(twice), 'repeated (query_id, doc_id) row')}, the first query "
        f"{twice['query_id'].iloc[0]!r}, document {twice['doc_id'].iloc[0]!r}; every copy would be credited. "
        "Use best_per_doc(run) to keep each document's best rank."
    )
