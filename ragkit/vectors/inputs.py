"""Vectors at the door: what embedders return, and what users give for documents and for queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ragkit.frames import as_ids, some
from ragkit.frames.messages import count
from ragkit.frames.runs import query_rows
from ragkit.similarity import as_matrix, by_id

Embed = Callable[[list[str]], Any]


def default_embedder() -> Embed:
    """Make the embedder of a store that is given none."""
    from ragkit.text.lsa import LSAEmbedder  # it brings scipy.sparse; not every store needs it

    return LSAEmbedder()


def check_embed(name: str, given: Any) -> None:
    """Refuse what is no embedder: the name of a model, or a class."""
    if isinstance(given, type):
        raise TypeError(f"{name} is the class {given.__name__}; make one first: {given.__name__}(...).")
    if given is not None and not callable(given):
        hint = f" For a model by name, SentenceTransformerEmbedder({given!r})." if type(given) is str else ""
        raise TypeError(f"{name} must be a callable list of str -> array (n, d); got {given!r}.{hint}")


def is_fitted(embed: Any) -> bool:
    """Say whether an embedder was fitted: by its own word, else by scikit-learn's trailing underscores."""
    said = getattr(embed, "fitted", None)
    if said is not None:
        return bool(said)
    return any(name.endswith("_") and not name.startswith("_") for name in vars(embed))


def texts_of(frame: pd.DataFrame) -> list[str]:
    """Give the documents' texts; refuse a frame that has none to embed."""
    if not len(frame):
        return []
    if "text" not in frame.columns or frame["text"].isna().any():
        raise ValueError("docs needs a text column to be embedded; give one, or vectors=.")
    return frame["text"].tolist()


def call_embedder(embed: Embed, texts: list[str]) -> np.ndarray:
    """Embed texts and check what comes back."""
    rows = as_matrix(embed(texts), "the embedder's vectors") if texts else np.empty((0, 0))
    if len(rows) != len(texts):
        raise ValueError(f"embed must return one vector per text; got {len(rows)} for {len(texts)} texts.")
    return rows


def embed_written(embed: Embed, texts: pd.Series, written: np.ndarray, dim: int) -> np.ndarray:
    """Embed the queries that are written; blank ones are zeros, and no model is asked about them."""
    if not written.any():
        return np.zeros((len(texts), dim))
    rows = call_embedder(embed, texts[written].tolist())
    if rows.shape[1] != dim:
        raise ValueError(
            f"the embedder gives vectors of {rows.shape[1]} numbers, the store's have {dim}; "
            "use the one that made them."
        )
    matrix = np.zeros((len(texts), dim), dtype=rows.dtype)
    matrix[written] = rows
    return matrix


def given_rows(vectors: Any, units: list[str]) -> np.ndarray:
    """Put given vectors in the order of the documents; a table with ids as its index is read by them."""
    vectors = by_id(vectors)
    if isinstance(vectors, Mapping):
        missing = [unit for unit in units if unit not in vectors]
        if missing:
            raise ValueError(
                f"vectors lacks {len(missing)} of the documents: {some(missing)}; each needs one."
            )
        vectors = [vectors[unit] for unit in units]
    check_count(len(vectors), units)  # before names are given to rows
    return as_matrix(vectors, "vectors", units) if units else np.empty((0, 0))


def check_count(n: int, units: list[str]) -> None:
    """Refuse vectors that are not one per document."""
    if n != len(units):
        hint = "" if units else " Give the documents, or their ids, first: VectorStore(docs, vectors=...)."
        got = f"{n} for {count(len(units), 'document')}"
        raise ValueError(f"vectors must have one row per document; got {got}.{hint}")


def given_queries(frame: pd.DataFrame | None, vectors: Any) -> tuple[pd.Series, np.ndarray]:
    """Match query vectors with query ids; a table with ids as its index brings them."""
    vectors = by_id(vectors)
    if isinstance(vectors, Mapping):
        names = as_ids(list(vectors), "query_id")
        rows = list(vectors.values())
        matrix = as_matrix(rows, "query vectors", names.tolist()) if rows else np.empty((0, 0))
        if frame is None:
            return names, matrix
        return frame["query_id"], matrix[query_rows(frame["query_id"], names)]
    matrix = as_matrix(vectors, "query vectors") if np.size(vectors) else np.empty((0, 0))
    if frame is None:
        return pd.Series([str(n) for n in range(len(matrix))], dtype="str"), matrix
    if len(frame) != len(matrix):
        raise ValueError(f"vectors must have one row per query; got {len(matrix)} for {len(frame)} queries.")
    return frame["query_id"], matrix
