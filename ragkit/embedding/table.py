"""An embedder for texts whose vectors are known already."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ragkit.frames import some
from ragkit.frames.messages import count
from ragkit.similarity import as_matrix


class TableEmbedder:
    """Look vectors up by text: for queries that a model embedded beforehand, where the model is not at hand.

    A text that is not in the table gets a zero vector, which is similar to nothing; a store says so when it
    is searched with one.

    Parameters
    ----------
    texts : iterable of str, shape (n,)
        The texts that are known; a text may stand twice if its vectors are equal.
    vectors : array_like, shape (n, d)
        Their vectors, row by row.

    Raises
    ------
    ValueError
        If the numbers of texts and vectors differ, or one text has two vectors.

    See Also
    --------
    LSAEmbedder : Learns a space from the documents themselves.

    Examples
    --------
    >>> embed = TableEmbedder(["red fox", "blue whale"], [[1.0, 0.0], [0.0, 1.0]])
    >>> embed(["blue whale", "something else"]).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """

    def __init__(self, texts: Iterable[str], vectors: Any):
        names = list(texts)
        rows = as_matrix(vectors) if names else np.empty((0, 0))
        if len(names) != len(rows):
            raise ValueError(f"TableEmbedder needs one vector per text; got {len(names)} and {len(rows)}.")
        self._row = {text: row for row, text in enumerate(names)}
        two = [t for row, t in enumerate(names) if not np.array_equal(rows[row], rows[self._row[t]])]
        if two:
            raise ValueError(f"TableEmbedder was given two vectors for {some(two)}; keep one.")
        self._vectors = np.vstack([rows, np.zeros((1, rows.shape[1]), rows.dtype)])

    @property
    def zero_reason(self) -> str:
        """Why a text has a zero vector; a store that is searched with one says it."""
        return (
            f"this store only knows the vectors of {count(len(self._row), 'stored text')}; for free text "
            "give it a model with query_embed=, or use rk.VectorStore(docs)"
        )

    def __call__(self, texts: list[str]) -> np.ndarray:
        """Look up vectors.

        Parameters
        ----------
        texts : list of str, shape (n,)
            Any texts.

        Returns
        -------
        ndarray of float, shape (n, d)
            Their vectors; zeros for a text that is not in the table.
        """
        return self._vectors[[self._row.get(text, -1) for text in texts]]

    def __repr__(self) -> str:
        return f"TableEmbedder({len(self._row)} texts, {self._vectors.shape[1]} dimensions)"
