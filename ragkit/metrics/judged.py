"""Where a run put the judged documents: all that the classical metrics need to know."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ragkit.frames import as_ids, check_choice, check_frame, group_codes, some

_OVER = ("judged", "relevant", "retrieved")
_CELLS = 1 << 22  # scratch for the search for repeated documents


def _none() -> np.ndarray:
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class Judged:
    """The judged documents of some queries, and the rank at which a run returned each.

    The pairs are sorted by query, then by rank; those that were not returned come last.

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

    def total(self, where: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
        """Count each query's pairs at `where`, or sum their `weights` in the order of rank."""
        return np.bincount(self.query[where], weights, self.n).astype(np.float64)

    def found(self, k: int | None, rel: int | None = None) -> np.ndarray:
        """Say which pairs stand in the first `k` ranks (None: anywhere), with a grade of at least `rel`."""
        out = self.rank > 0
        if k is not None:
            out &= self.rank <= k
        return out if rel is None else out & (self.grade >= rel)


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
        own, unique = codes_of(run["query_id"])
        row_query = self.queries.get_indexer(unique)[own] if len(run) else _none()
        doc_codes, run_docs = codes_of(run["doc_id"])
        doc = run_docs.get_indexer(self.docs)[self.doc]  # -1: never returned
        check_repeated(run, own, doc_codes, len(run_docs))
        rows = _find_rows(row_query, doc_codes, self.query, doc, len(run_docs))
        rank = np.where(rows >= 0, run["rank"].to_numpy()[rows], 0) if len(run) else np.zeros_like(rows)
        order = np.lexsort((np.where(rank > 0, rank, np.iinfo(np.int64).max), self.query))
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        return Judged(
            query=self.query[order],
            grade=self.grade[order],
            rank=rank[order],
            retrieved=np.bincount(row_query[row_query >= 0], minlength=len(self.queries)),
            max_grade=self.max_grade,
            topic_pair=place[self.topic_pair],
            topic=self.topic,
            topic_grade=self.topic_grade,
            name=self.name[order] if len(self.name) else self.name,
        )


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
    topic, _ = pd.factorize(qrels["subtopic"].iloc[keep].astype(object).fillna("").map(str))
    pair, pair_of_row = np.unique(query * max(len(docs), 1) + doc, return_inverse=True)
    best = np.full(len(pair), np.iinfo(np.int64).min)
    np.maximum.at(best, pair_of_row, grade)
    query, doc = np.divmod(pair, max(len(docs), 1))
    name = np.unique(docs.to_numpy(dtype=object).astype(str), return_inverse=True)[1][doc]
    return Judgements(queries, judged, docs, query, doc, best, highest, pair_of_row, topic, grade, name)


def _chosen(
    qrels: pd.DataFrame, codes: np.ndarray, judged: pd.Index, in_run: pd.Index, over: Any
) -> pd.Index:
    """List the queries that are scored."""
    if isinstance(over, str):
        check_choice("over", over, _OVER)
        if over == "judged":
            return judged
        if over == "retrieved":
            return judged[judged.isin(in_run)]
        return judged[np.unique(codes[qrels["relevance"].to_numpy() > 0])]
    if isinstance(over, pd.DataFrame):
        over = check_frame(over, ["query_id"], "over")["query_id"]
    if not isinstance(over, Iterable):
        raise TypeError(f"over must be one of {list(_OVER)}, or query ids; got {over!r}.")
    chosen = pd.Index(as_ids(list(over), "over").to_numpy(dtype=object)).unique()
    missing = chosen[~chosen.isin(judged)]
    if len(missing):
        raise ValueError(f"over names {len(missing)} queries that qrels does not judge: {some(missing)}.")
    return chosen


def codes_of(ids: pd.Series, *, used: bool = False) -> tuple[np.ndarray, pd.Index]:
    """Number ids by their categories, or (always when only `used` ones count) by first appearance."""
    if isinstance(ids.dtype, pd.CategoricalDtype) and not used:
        return ids.cat.codes.to_numpy(), ids.cat.categories
    codes, unique = group_codes(ids)
    return codes, pd.Index(np.asarray(unique, dtype=object))


def codes_in(ids: pd.Series, known: pd.Index) -> np.ndarray:
    """Number ids by their position in `known`; -1 where it lacks them."""
    codes, unique = codes_of(ids)
    return known.get_indexer(unique)[codes] if len(ids) else _none()


def check_repeated(run: pd.DataFrame, query: np.ndarray, doc: np.ndarray, n_docs: int) -> None:
    """Raise if a query holds a document twice; the rows of a query stand together."""
    starts = np.flatnonzero(np.r_[True, query[1:] != query[:-1]]) if len(query) else _none()
    bounds = np.r_[starts, len(query)]
    group = np.repeat(np.arange(len(starts)), np.diff(bounds))
    many = max(1, _CELLS // max(n_docs, 1))
    seen = np.empty(min(many, max(len(starts), 1)) * max(n_docs, 1), dtype=np.int32)
    for first in range(0, len(starts), many):
        rows = slice(bounds[first], bounds[min(first + many, len(starts))])
        cell = (group[rows] - first) * n_docs + doc[rows]
        number = np.arange(len(cell), dtype=np.int32)
        seen[cell] = number
        # The last writer wins, so a document that stands twice finds another row's number.
        if not np.array_equal(seen[cell], number):
            _raise_repeated(run)


def _raise_repeated(run: pd.DataFrame) -> None:
    twice = run[run.duplicated(["query_id", "doc_id"])]
    raise ValueError(
        f"run has {len(twice)} repeated (query_id, doc_id) rows, the first query "
        f"{twice['query_id'].iloc[0]!r}, document {twice['doc_id'].iloc[0]!r}; every copy would be credited. "
        "Use best_per_doc(run) to keep each document's best rank."
    )


def _find_rows(
    row_query: np.ndarray, row_doc: np.ndarray, query: np.ndarray, doc: np.ndarray, n_docs: int
) -> np.ndarray:
    """Find the row of each (query, doc) pair; -1 where there is none."""
    if not len(row_query):
        return np.full(len(query), -1)
    is_judged = np.zeros(n_docs, dtype=bool)
    is_judged[doc[doc >= 0]] = True
    # Few rows hold a document that any query judges: only those are looked up.
    rows = np.flatnonzero(is_judged[row_doc] & (row_query >= 0))
    keys = pd.Index(row_query[rows].astype(np.int64) * n_docs + row_doc[rows])
    at = keys.get_indexer(query.astype(np.int64) * n_docs + doc)
    hit = (at >= 0) & (doc >= 0)
    return np.where(hit, rows[at] if len(rows) else -1, -1)
