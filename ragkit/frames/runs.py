"""Runs made of slots and scores, and of runs over chunks."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pandas as pd

from ragkit.frames.coerce import as_run, empty_run
from ragkit.frames.messages import some
from ragkit.frames.ranking import NEAR, group_codes, ranks_within, round_significant
from ragkit.frames.table import DocTable
from ragkit.frames.topk import MANY, nearly_rising

Found = tuple[np.ndarray, np.ndarray]  # what one query found: slots and their scores


def run_of_slots(
    query_ids: pd.Series, found: list[Found], table: DocTable, *, ranked: bool = True
) -> pd.DataFrame:
    """Make one long run of what was found for each query.

    Parameters
    ----------
    query_ids : Series of str, shape (q,)
        The queries.
    found : list of (slots, scores), length q
        What each query found, best first, as :func:`best_first` gives it.
    table : DocTable
        Where the ids of slots are.
    ranked : bool, default=True
        Whether there is a rank.

    Returns
    -------
    DataFrame
        ``query_id, [chunk_id,] doc_id, [rank,] score``.
    """
    groups = np.repeat(np.arange(len(found)), [len(slots) for slots, _ in found])
    if not len(groups):
        run = empty_run(table.unit)
        return run if ranked else run.drop(columns="rank")
    slots, scores = (np.concatenate(parts) for parts in zip(*found))
    columns: dict[str, Any] = {"query_id": query_ids.array.take(groups)}
    for name in dict.fromkeys([table.unit, "doc_id"]):
        columns[name] = table.ids_of(slots, name)
    if ranked:
        columns["rank"] = ranks_within(groups)
    return pd.DataFrame(columns | {"score": scores}, copy=False)


def best_first(slots: np.ndarray, scores: np.ndarray, table: DocTable, top_k: int | None) -> Found:
    """Order what was found for one query by the tie rule, and keep the best.

    Parameters
    ----------
    slots : ndarray of int, shape (n,)
        Slots found, at least the best `top_k`; one may stand there again with score 0, after these.
    scores : ndarray of float64, shape (n,)
        Their scores.
    table : DocTable
        Where the ids of slots are.
    top_k : int or None
        How many are kept.

    Returns
    -------
    slots : ndarray of int
        The best, in order.
    scores : ndarray of float
        Their scores.
    """
    if top_k == 0:
        return slots[:0], scores[:0]
    if len(scores) <= _SHORT:
        return _few_first(slots, scores, table, top_k)
    rising = nearly_rising(scores, top_k) if len(scores) > MANY else None
    if rising is not None:
        slots, scores = slots[rising], scores[rising]
    kind: Literal["stable"] | None = None if rising is None else "stable"  # makes use of an order
    ranks = table.ranks_of(slots)
    if ranks is None:
        order = scores.argsort(kind=kind)[::-1]
    else:
        order = _keys(scores, ranks, table.n_slots).argsort(kind=kind)[::-1]
        falling = scores[order]
        if _apart_or_equal(falling):
            return slots[order[:top_k]], falling[:top_k]
        order = np.lexsort((ranks, scores))[::-1]
    falling = scores[order]
    near = (falling[:-1] - falling[1:]) <= NEAR * np.abs(falling[1:])
    if top_k is not None and top_k < len(order):
        apart = np.flatnonzero(~near[top_k - 1 :])[:1]
        end = top_k + int(apart[0]) if len(apart) else len(order)  # what may tie with the last one stays
        order, falling, near = order[:end], falling[:end], near[: max(0, end - 1)]
    same = falling[:-1] == falling[1:]
    if not np.array_equal(near, same) or (ranks is None and near.any()):
        order = order[_ties_by_id(slots[order], falling, near, same, table)]
        falling = scores[order]
    return slots[order[:top_k]], falling[:top_k]


def best_first_of_each(
    slots: np.ndarray, scores: np.ndarray, ends: np.ndarray, table: DocTable, top_k: int
) -> list[Found]:
    """Order what was found for each of many queries as :func:`best_first` does, in one go where it can.

    Parameters
    ----------
    slots : ndarray of int, shape (n,)
        Slots found, query after query.
    scores : ndarray of float64, shape (n,)
        Their scores.
    ends : ndarray of int, shape (q + 1,)
        0, and where each query ends.
    table : DocTable
        Where the ids of slots are.
    top_k : int
        How many are kept of each query.

    Returns
    -------
    list of (slots, scores), length q
        The best of each query, in order.
    """
    ranks = table.ranks_of(slots)
    keys = scores if ranks is None else _keys(scores, ranks, table.n_slots)
    spans = list(pairwise(ends.tolist()))
    order = np.empty(len(slots), dtype=np.intp)
    for start, end in spans:
        order[start:end] = keys[start:end].argsort()[::-1]
    order += np.repeat(ends[:-1], np.diff(ends))
    ordered, falling = slots[order], scores[order]
    gaps = falling[:-1] - falling[1:]
    near = gaps <= NEAR * np.abs(falling[1:])
    near[ends[(ends > 0) & (ends < len(slots))] - 1] = False  # between two queries
    if ranks is None and near.any():
        query = ends.searchsorted(np.arange(len(slots)), side="right")
        order = _ties_by_id(ordered, falling, near, gaps == 0, table, query)
        ordered, falling = ordered[order], falling[order]
    kept = [slice(start, min(end, start + top_k)) for start, end in spans]
    found = [(ordered[span], falling[span]) for span in kept]
    if ranks is not None:  # the ids of equal scores are in order already
        doubtful = (near & (gaps != 0)).nonzero()[0]
        for number in set((ends.searchsorted(doubtful, side="right") - 1).tolist()):
            start, end = spans[number]
            found[number] = best_first(slots[start:end], scores[start:end], table, top_k)
    return found


_SHORT = 24  # lists up to this length are ordered by plain Python, which costs less than arrays do


def _keys(scores: np.ndarray, ranks: np.ndarray, n_ranks: int) -> np.ndarray:
    """Make whole numbers that sort as the scores do, equal ones by rank.

    Ranks take the place of the last bits: one sort of numbers takes a quarter of the time of a sort by two
    keys. Scores that differ in those bits alone may change places, which :func:`_apart_or_equal` shows.
    """
    keys = scores.view(np.int64)
    if len(keys) and keys.item(keys.argmin()) < 0:
        keys = (scores + 0.0).view(np.int64)  # the sum makes one of both zeros
        keys ^= (keys >> 63) & np.int64(2**63 - 1)  # below 0 the greater number is the lesser score
    keys = keys & (-1 << n_ranks.bit_length())
    keys |= ranks
    return keys


def _apart_or_equal(falling: np.ndarray) -> bool:
    """Say whether scores fall, and no two are equal in 12 digits but not in all."""
    gaps = falling[:-1] - falling[1:]
    near = gaps <= NEAR * max(abs(falling.item(0)), abs(falling.item(-1)))
    return np.count_nonzero(near) == len(gaps) - np.count_nonzero(gaps)


def _few_first(slots: np.ndarray, scores: np.ndarray, table: DocTable, top_k: int | None) -> Found:
    """Order a short list by the tie rule: ids are looked up only where scores are near one another."""
    rows = sorted(zip(scores.tolist(), range(len(scores))), reverse=True)
    kept = len(rows) if top_k is None else min(top_k, len(rows))
    start = 0
    while start < kept:
        end = start + 1
        while end < len(rows) and rows[end - 1][0] - rows[end][0] <= NEAR * abs(rows[end][0]):
            end += 1
        if end - start > 1:
            rows[start:end] = _in_tie_order(rows[start:end], slots, table)
        start = end
    order = np.array([row for _, row in rows[:kept]], dtype=np.intp)
    return slots[order], scores[order]


def _in_tie_order(
    near: list[tuple[float, int]], slots: np.ndarray, table: DocTable
) -> list[tuple[float, int]]:
    """Order rows whose scores are near one another, or the same, by the tie rule."""
    keys = [score for score, _ in near]
    if keys[0] != keys[-1]:  # equal in 12 digits, perhaps, but not in all
        keys = round_significant(np.array(keys)).tolist()
    names = table.names
    ranked = sorted(zip(keys, [names[slots[row]] for _, row in near], near), reverse=True)
    return [pair for _, _, pair in ranked]


def _ties_by_id(
    slots: np.ndarray,
    falling: np.ndarray,
    near: np.ndarray,
    same: np.ndarray,
    table: DocTable,
    query: np.ndarray | None = None,
) -> np.ndarray:
    """Order rows whose scores fall by the tie rule; `near` and `same` compare each with the next.

    Where `query` numbers the queries, rows stand query after query, and scores fall within each.
    """
    order = np.arange(len(slots))
    tied = np.zeros(len(slots), dtype=bool)
    tied[:-1] = near
    tied[1:] |= near
    rows = np.flatnonzero(tied)
    keys, scores = table.order_key(slots[rows]), falling[rows]
    number = np.zeros(len(rows), dtype=np.intp) if query is None else -query[rows]
    if not np.array_equal(near, same & near):  # equal in 12 digits, but not in all
        scores = round_significant(scores)
    if keys.dtype == object:  # far fewer than there are ids: sorting tuples costs less than ranking all
        found = sorted(zip(number.tolist(), scores.tolist(), keys.tolist(), rows.tolist()), reverse=True)
        order[rows] = [row for *_, row in found]
    else:
        order[rows] = rows[np.lexsort((keys, scores, number))[::-1]]
    return order


def query_rows(asked: pd.Series, query_ids: pd.Series) -> np.ndarray:
    """Find the row of each asked query among the queries.

    Parameters
    ----------
    asked : Series of str, shape (n,)
        Query ids.
    query_ids : Series of str, shape (q,)
        The ids of the queries at hand.

    Returns
    -------
    ndarray of int, shape (n,)
        Row numbers.
    """
    rows = pd.Index(query_ids.astype(object)).get_indexer(pd.Index(asked.astype(object)))
    if (rows < 0).any():
        missing = pd.unique(asked[rows < 0].astype(object))
        raise ValueError(f"queries lacks {len(missing)} of the query_id asked for: {some(missing)}.")
    return rows


def best_per_doc(run: pd.DataFrame) -> pd.DataFrame:
    """Collapse a run over chunks to one over documents: each document keeps its best-ranked row.

    Parameters
    ----------
    run : DataFrame
        A run with ``chunk_id`` and ``doc_id``; a run over documents may hold a document twice.

    Returns
    -------
    DataFrame
        A run over documents: ``rank`` counts documents anew, ``chunk_id`` becomes ``best_chunk_id``.

    See Also
    --------
    rank_by_score : Rank rows by score.

    Examples
    --------
    >>> run = pd.DataFrame({"query_id": "q", "chunk_id": ["a#0", "a#1", "b#0"],
    ...                     "doc_id": ["a", "a", "b"], "rank": [1, 2, 3], "score": [9.0, 8.0, 7.0]})
    >>> best_per_doc(run)[["doc_id", "best_chunk_id", "rank"]].values.tolist()
    [['a', 'a#0', 1], ['b', 'b#0', 2]]
    """
    ranked = as_run(run)
    first = ~ranked.duplicated(["query_id", "doc_id"])
    out = ranked[first].rename(columns={"chunk_id": "best_chunk_id"}).reset_index(drop=True)
    codes, _ = group_codes(out["query_id"])
    return out.assign(rank=ranks_within(codes))
