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
    query_ids: pd.Series, found: list[tuple[np.ndarray, np.ndarray]], table: DocTable, *, ranked: bool = True
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


def best_first(
    slots: np.ndarray, scores: np.ndarray, table: DocTable, top_k: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Order what was found for one query by the tie rule, and keep the best.

    Parameters
    ----------
    slots : ndarray of int, shape (n,)
        Slots found, at least the best `top_k`.
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
    order = np.argsort(-scores, kind="stable")
    falling = scores[order]
    # Scores that agree in 12 digits are nearer than this; where none are, no ids need comparing.
    if ((falling[:-1] - falling[1:]) <= 2e-11 * np.abs(falling[1:])).any():
        groups = np.zeros(len(slots), dtype=np.int64)
        order = tie_order(groups, scores, lambda rows: table.order_key(slots[rows]))
        falling = scores[order]
    return slots[order[:top_k]], falling[:top_k]


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
