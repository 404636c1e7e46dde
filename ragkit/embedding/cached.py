"""Keeping vectors on disk, by what was embedded."""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ragkit.embedding.batches import check_list
from ragkit.frames import warn


class CachedEmbedder:
    """Embed each text once: vectors are kept in a folder under a hash of the embedder's name and the text.

    Every call that meets new texts adds one file under a name of its own, so processes may share a folder
    without waiting for each other; at worst they both embed the same text.

    Parameters
    ----------
    embed : callable
        ``list of str -> array (n, d)``.
    folder : path
        Where vectors are kept; made if it is not there.
    name : str, optional
        What tells this embedder from others in the folder; None for ``embed.name``, where it has one.

    Attributes
    ----------
    hits, misses : int
        How many texts were found, and how many had to be embedded.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     embed = CachedEmbedder(lambda texts: [[len(t)] for t in texts], folder, name="length")
    ...     embed(["a", "bb"]).tolist(), embed(["bb", "ccc"]).tolist(), (embed.hits, embed.misses)
    ([[1.0], [2.0]], [[2.0], [3.0]], (1, 3))
    """

    def __init__(self, embed: Callable[[list[str]], Any], folder: Any, *, name: str | None = None):
        if not callable(embed):
            raise TypeError(f"embed must be a callable list of str -> array (n, d); got {embed!r}.")
        if hasattr(embed, "fit") and name is None:
            raise ValueError("an embedder with fit changes when it is fitted; give name= for this fitting.")
        name = _name_of(embed) if name is None else name
        if not isinstance(name, str) or not name:
            raise ValueError(
                "CachedEmbedder needs name=, or vectors of different embedders would be mixed up."
            )
        self.embed, self.folder, self.name = embed, Path(folder), name
        self.hits = self.misses = 0
        self._vectors: dict[str, np.ndarray] = {}
        self._read: set[str] = set()
        self._mark = hashlib.sha256(name.encode()).hexdigest()[:12]

    def __repr__(self) -> str:
        return f"CachedEmbedder({self.embed!r}, {str(self.folder)!r})"

    @property
    def queries(self) -> Any:
        """The embedder for queries, which is not cached: queries seldom come twice."""
        return getattr(self.embed, "queries", self)

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Embed texts, those that are new.

        Parameters
        ----------
        texts : sequence of str, shape (n,)
            Documents.

        Returns
        -------
        ndarray of float, shape (n, d)
            Vectors, as `embed` gave them.
        """
        texts = check_list(texts, "CachedEmbedder")
        keys = [self._key(text) for text in texts]
        if any(key not in self._vectors for key in keys):
            self._look()
        new = {key: text for key, text in zip(keys, texts) if key not in self._vectors}
        self.misses += len(new)
        self.hits += len(texts) - len(new)
        if new:
            self._add(list(new), np.asarray(self.embed(list(new.values()))))
        return np.array([self._vectors[key] for key in keys]) if keys else np.empty((0, 0))

    def _key(self, text: str) -> str:
        content = self.name.encode() + b"\0" + text.encode("utf-8", "surrogatepass")
        return hashlib.sha256(content).hexdigest()[:40]

    def _look(self) -> None:
        """Read the files that other calls and processes have added."""
        for path in sorted(self.folder.glob(f"vectors-{self._mark}-*.npz")):
            if path.name in self._read:
                continue
            self._read.add(path.name)
            try:
                with np.load(path, allow_pickle=False) as data:
                    keys, rows = data["keys"].tolist(), data["rows"]
                if len(keys) != len(rows) or rows.ndim != 2 or not np.isfinite(rows).all():
                    raise ValueError("its parts do not belong together")
            except Exception as error:  # zipfile, numpy and the header parser each raise their own
                warn(f"the cached vectors in {str(path)!r} cannot be read and are made anew: {error}")
                continue
            self._vectors.update(zip(keys, rows))

    def _add(self, keys: list[str], rows: np.ndarray) -> None:
        """Keep new vectors: a file under a temporary name, then renamed."""
        if rows.ndim != 2 or len(rows) != len(keys):
            raise ValueError(
                f"embed must return one vector per text; got shape {rows.shape} for {len(keys)} texts."
            )
        if rows.dtype not in (np.float32, np.float64):
            rows = rows.astype(np.float64)
        if not np.isfinite(rows).all():
            raise ValueError("embed returned NaN or infinity; such vectors are not kept.")
        self.folder.mkdir(parents=True, exist_ok=True)
        name = f"vectors-{self._mark}-{uuid.uuid4().hex}.npz"
        temporary = self.folder / f".{name}.tmp"
        with temporary.open("wb") as file:
            np.savez(file, keys=np.array(keys), rows=rows)
        os.replace(temporary, self.folder / name)
        self._read.add(name)
        self._vectors.update(zip(keys, rows))


def _name_of(embed: Any) -> Any:
    """Give what an embedder says of itself; a prefix makes other vectors of the same model."""
    name, prefix = getattr(embed, "name", None), getattr(embed, "prefix", None)
    return f"{name}, prefix={prefix!r}" if name and prefix else name
