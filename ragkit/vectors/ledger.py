"""Taking a similarity apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ragkit.similarity import normalize_rows, row_distances, row_lengths, row_products
from ragkit.vectors.matrix import Matrix


def explain_similarity(
    query: np.ndarray, matrix: Matrix, slot: int, metric: str, words: pd.DataFrame | None, top: int
) -> pd.DataFrame:
    """Give the measures of a pair of vectors and the dimensions (or words) that make up its score."""
    q, x = query.astype(np.float64), matrix.rows[slot].astype(np.float64)
    q_norm, x_norm = row_lengths(q[None])[0], row_lengths(x[None])[0]
    score = float(matrix.exact(query, np.array([slot]), metric)[0])
    measures = {"dot": float(row_products(q[None], x[None])[0]), "query_norm": q_norm, "unit_norm": x_norm}
    if metric == "euclidean":
        measures["distance"] = float(row_distances(q[None], x[None])[0])
    measures[metric if metric == "cosine" else "score"] = score
    parts = _products(q, x, metric)
    if words is not None and metric != "euclidean":
        kind, names = "word", words["word"].tolist()
        scale = 1.0 if metric == "dot" else 1.0 / (q_norm * x_norm) if q_norm * x_norm else 0.0
        parts = words["value"].to_numpy() * scale
    else:
        kind, names = "dimension", [f"dimension {n}" for n in range(len(q))]
    order = np.argsort(-np.abs(parts), kind="stable")
    rows = [(names[n], kind, parts[n]) for n in order[:top]]
    if len(order) > top:
        rows.append((f"({len(order) - top} other {kind}s)", kind, float(parts[order[top:]].sum())))
    listed: list[tuple[Any, ...]] = [(name, "measure", value) for name, value in measures.items()] + rows
    frame = pd.DataFrame(listed, columns=["part", "kind", "value"])
    return frame.astype({"part": "str", "kind": "str", "value": np.float64})


def _products(q: np.ndarray, x: np.ndarray, metric: str) -> np.ndarray:
    """Give what each dimension adds: to the cosine, the dot product, or the squared distance."""
    if metric == "cosine":
        return normalize_rows(q[None])[0] * normalize_rows(x[None])[0]
    return q * x if metric == "dot" else (q - x) ** 2
