"""What the adapters share: batches, progress, and the roles of queries and documents."""

from __future__ import annotations

import copy
import importlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np


def need(module: str, install: str, who: str) -> Any:
    """Import an optional library, or say how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ImportError(f"{who} needs {module}: pip install {install}") from None


def check_list(texts: Any, who: str) -> list[str]:
    """Check that an embedder is given a list of texts."""
    if isinstance(texts, str):
        raise TypeError(f"{who} embeds a list of texts; got one string. Write [{texts[:20]!r}].")
    listed = list(texts)
    wrong = next((text for text in listed if not isinstance(text, str)), None)
    if wrong is not None:
        raise TypeError(f"{who} embeds strings; got {wrong!r} of type {type(wrong).__name__}.")
    return listed


def in_batches(texts: Sequence[str], size: int, progress: bool, what: str) -> Iterator[Sequence[str]]:
    """Cut texts into batches; a progress bar shows when the work takes longer than two seconds."""
    from tqdm.auto import tqdm

    starts = range(0, len(texts), size)
    for start in tqdm(
        starts, desc=what, unit="batch", delay=2, disable=not progress or len(starts) < 2, leave=False
    ):
        yield texts[start : start + size]


class Roles:
    """Documents and queries may want another prefix, or another method of the model.

    An embedder made with this is for documents; its :attr:`queries` is the same for queries, and a
    :class:`ragkit.VectorStore` uses it for them by itself.
    """

    prefix: str = ""
    query_prefix: str = ""
    role: str = "document"

    @property
    def queries(self) -> Any:
        """The same embedder for queries."""
        other = copy.copy(self)
        other.role = "query"
        return other

    def prefixed(self, texts: Sequence[str]) -> list[str]:
        """Put the role's prefix before each text."""
        prefix = self.query_prefix if self.role == "query" else self.prefix
        return [prefix + text for text in texts] if prefix else list(texts)


def stacked(parts: list[Any], who: str, n: int) -> np.ndarray:
    """Join the vectors of batches and check their number."""
    rows = (
        np.concatenate([np.asarray(part) for part in parts]) if parts else np.empty((0, 0), dtype=np.float32)
    )
    if rows.ndim != 2 or len(rows) != n:
        raise ValueError(
            f"{who} must give one vector per text; got an array of shape {rows.shape} for {n} texts."
        )
    return rows


Encode = Callable[[list[str]], Any]
