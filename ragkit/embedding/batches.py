"""What the adapters share: batches, progress, and the roles of queries and documents."""

from __future__ import annotations

import copy
import importlib
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from ragkit.frames import check_top_k

Item = TypeVar("Item")


def need(module: str, install: str, who: str) -> Any:
    """Import an optional library, or say how to get it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise ImportError(f"{who} needs {module}: pip install {install}") from None


def named(model: Any, load: Callable[[str], Any], attribute: str | None = None) -> tuple[str | None, Any]:
    """Load a model that is given by its name or folder; the name of one that is loaded may be unknown: None.

    A cache keeps vectors under this name, so a guess would mix those of two models.
    """
    if isinstance(model, (str, os.PathLike)):
        return str(model), load(str(model))
    said = None if attribute is None else getattr(model, attribute, None)
    return None if said is None else str(said), model


def check_list(texts: Any, who: str) -> list[str]:
    """Check that an embedder is given a list of texts."""
    if isinstance(texts, str):
        raise TypeError(f"{who} embeds a list of texts; got one string. Write [{texts[:20]!r}].")
    listed = list(texts)
    wrong = next((text for text in listed if not isinstance(text, str)), None)
    if wrong is not None:
        raise TypeError(f"{who} embeds strings; got {wrong!r} of type {type(wrong).__name__}.")
    return listed


def in_batches(items: list[Item], size: int, progress: bool) -> Iterator[list[Item]]:
    """Cut a list into batches; a progress bar shows when the work takes longer than two seconds."""
    from tqdm.auto import tqdm

    starts = range(0, len(items), size)
    silent = not progress or len(starts) < 2
    for start in tqdm(starts, desc="embedding", unit="batch", delay=2, disable=silent, leave=False):
        yield items[start : start + size]


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


class BatchEmbedder:
    """Embed texts batch by batch, each with the prefix of its role; a subclass embeds one batch.

    Documents and queries may want another prefix, or another method of the model. An embedder made with
    this is for documents; its :attr:`queries` is the same for queries, and a :class:`ragkit.VectorStore`
    uses it for them by itself.

    Parameters
    ----------
    batch_size : int
        Texts embedded at a time.
    progress : bool
        Whether long work shows a bar.
    prefix, query_prefix : str, default=""
        Put before each document and before each query; None where a model may know its own.
    """

    role: str = "document"
    _at_once = 1  # batches given to the model in one call

    def __init__(
        self, batch_size: int, progress: bool, prefix: str | None = "", query_prefix: str | None = ""
    ):
        self.batch_size = max(1, check_top_k(batch_size, "batch_size", none=False) or 0)
        self.progress, self.prefix, self.query_prefix = progress, prefix, query_prefix

    @property
    def queries(self) -> Any:
        """The same embedder for queries."""
        other = copy.copy(self)
        other.role = "query"
        return other

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Embed texts.

        Parameters
        ----------
        texts : sequence of str, shape (n,)
            Documents, or queries for :attr:`queries`.

        Returns
        -------
        ndarray of float, shape (n, d)
            Vectors.
        """
        return self._embed_all(self._with_prefix(check_list(texts, type(self).__name__)))

    @property
    def _prefix(self) -> str | None:
        return self.query_prefix if self.role == "query" else self.prefix

    def _with_prefix(self, texts: list[str]) -> list[str]:
        return [self._prefix + text for text in texts] if self._prefix else texts

    def _embed_all(self, texts: list[str]) -> np.ndarray:
        batches = in_batches(texts, self._at_once * self.batch_size, self.progress)
        parts = [self._embed(batch) for batch in batches]
        return stacked(parts, type(self).__name__, len(texts))

    def _embed(self, texts: list[str]) -> Any:
        """Embed one batch."""
        raise NotImplementedError
