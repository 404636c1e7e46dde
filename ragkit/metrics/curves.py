"""Precision at each level of recall, as trec_eval interpolates it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ragkit.frames import as_qrels, as_run, check_top_k, ranks_within, unit_column
from ragkit.metrics.formulas import divide
from ragkit.metrics.judged import Judged, check_rel, code_judgements, queries_in


def precision_recall(
    runs: Any, qrels: Any, *, levels: int = 11, rel: int = 1, over: Any = "judged"
) -> pd.DataFrame:
    """Compute the precision that each level of recall costs, averaged over queries.

    At a level of recall the precision is the highest at any rank that reaches it, 0 where none does.

    Parameters
    ----------
    runs : run, or dict of name to run
        Over documents.
    qrels : judgements
        Whatever :func:`ragkit.as_qrels` takes.
    levels : int, default=11
        How many levels from 0 to 1.
    rel : int, default=1
        The least grade of a relevant document.
    over : {"judged", "relevant", "retrieved"}, or query ids, default="judged"
        Which queries count.

    Returns
    -------
    DataFrame
        ``system, recall, precision``.

    Raises
    ------
    ValueError
        For a run over chunks, or a document that stands twice.

    See Also
    --------
    plot.precision_recall : Draws the frame.

    Examples
    --------
    >>> curve = precision_recall({"q": ["a", "x", "b"]}, {"q": {"a": 1, "b": 1}}, levels=3)
    >>> curve.round(3).values.tolist()
    [['run', 0.0, 1.0], ['run', 0.5, 1.0], ['run', 1.0, 0.667]]
    """
    named = runs if _are_named(runs) else {"run": runs}
    n = check_top_k(levels, "levels", none=False) or 0
    if n < 2:
        raise ValueError(f"levels must be at least 2; got {levels!r}.")
    judged, rel = as_qrels(qrels), check_rel(rel)
    recall = np.linspace(0.0, 1.0, n)
    parts = []
    for name, run in named.items():
        frame = as_run(run)
        if unit_column(frame) == "chunk_id":
            raise ValueError(
                "precision_recall needs runs over documents; collapse chunks with best_per_doc(run)."
            )
        asked = queries_in(frame)
        values = interpolated(code_judgements(judged, asked, over).match(frame), recall, rel)
        mean = values.mean(axis=0) if len(values) else np.full(n, np.nan)
        parts.append(pd.DataFrame({"system": str(name), "recall": recall, "precision": mean}))
    return (
        pd.concat(parts, ignore_index=True)
        if parts
        else pd.DataFrame(columns=["system", "recall", "precision"])
    )


def _are_named(runs: Any) -> bool:
    """Tell a dict of name to run from a run that is a dict of query to results."""
    return isinstance(runs, Mapping) and not any(
        isinstance(inner, (list, tuple)) or (isinstance(inner, Mapping) and not _holds_lists(inner))
        for inner in runs.values()
    )


def _holds_lists(inner: Mapping) -> bool:
    return bool(inner) and all(isinstance(value, (list, tuple, Mapping)) for value in inner.values())


def interpolated(j: Judged, recall: np.ndarray, rel: int) -> np.ndarray:
    """Give the interpolated precision of each query at each level of recall, shape (n, levels)."""
    where = j.found(None, rel)
    query, nth = j.query[where], ranks_within(j.query[where])
    best = np.zeros((j.n, int(nth.max(initial=0)) + 1))
    best[query, nth - 1] = divide(nth.astype(float), j.rank[where])
    best = np.maximum.accumulate(best[:, ::-1], axis=1)[:, ::-1]
    relevant = j.total(j.grade >= rel)
    # The rounding is trec_eval's; level 0 asks for the first relevant document.
    needed = np.maximum((recall[None, :] * relevant[:, None] + 0.9).astype(int), 1)
    return np.take_along_axis(best, np.minimum(needed, best.shape[1]) - 1, axis=1)
