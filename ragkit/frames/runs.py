"""From slots and scores to a run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ragkit.frames.checks import some
from ragkit.frames.coerce import empty_run
from ragkit.frames.ranking import ranks_within, tie_order
from ragkit.frames.table import DocTable


def run_of_slots(
    query_ids: pd.Series,
    slots: list[np.ndarray],
    scores: list[np.ndarray],
    table: DocTable,
    top_k: int | None,
    *,
    ranked: bool = True,
) -> pd.DataFrame:
    """Make one long run of what was found for each query.

    Parameters
    ----------
    query_ids : Series of str, shape (q,)
        The queries.
    slots : list of ndarray of int, length q
        Slots found for each query, in any order: at least the best `top_k`.
    scores : list of ndarray of float, length q
        Their scores.
    table : DocTable
        Where the ids of slots are.
    top_k : int or None
        How many each query keeps.
    ranked : bool, default=True
        Whether rows are ordered by the tie rule, cut and ranked, or left as they come.

    Returns
    -------
    DataFrame
        ``query_id, [chunk_id,] doc_id, [rank,] score``.
    """
    groups = np.repeat(np.arange(len(slots)), [len(part) for part in slots])
    if not len(groups):
        run = empty_run(table.unit)
        return run if ranked else run.drop(columns="rank")
    found, values = np.concatenate(slots), np.concatenate(scores)
    columns: dict[str, Any] = {}
    if ranked:
        order = tie_order(groups, values, lambda rows: table.order_key(found[rows]))
        ranks = ranks_within(groups[order])
        if top_k is not None:
            order, ranks = order[ranks <= top_k], ranks[ranks <= top_k]
        groups, found, values = groups[order], found[order], values[order]
        columns["rank"] = ranks
    ids: dict[str, Any] = {"query_id": query_ids.array.take(groups)}
    for name in dict.fromkeys([table.unit, "doc_id"]):
        ids[name] = table.ids_of(found, name)
    return pd.DataFrame(ids | columns | {"score": values}, copy=False)


def best_first(
    slots: np.ndarray, scores: np.ndarray, table: DocTable, top_k: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Order what was found for one query by the tie rule.

    Parameters
    ----------
    slots : ndarray of int, shape (n,)
        Slots found.
    scores : ndarray of float, shape (n,)
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
    groups = np.zeros(len(slots), dtype=np.int64)
    order = tie_order(groups, scores, lambda rows: table.order_key(slots[rows]))[:top_k]
    return slots[order], scores[order]


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
