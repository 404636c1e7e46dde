"""An embedder for texts whose vectors are known already."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ragkit.frames import some
from ragkit.frames.messages import count
from ragkit.similarity import as_matrix, cosine_similarity

_SAME = 0.99  # cosine of two vectors of one text by one model; rounding and processors differ, models more


class TableEmbedder:
    """Look vectors up by text: for queries that a model embedded beforehand, where the model is not at hand.

    A text that is not in the table goes to `model`. Without one it gets a zero vector, which is similar to
    nothing; a store then asks its ``fallback``, or says that the text has no hits.

    Parameters
    ----------
    texts : iterable of str, shape (n,)
        The texts that are known; a text may stand twice if its vectors are equal.
    vectors : array_like, shape (n, d)
        Their vectors, row by row.
    model : callable, optional
        The embedder that made the vectors, for all other texts. When first needed it is tried on one text of
        the table: the vectors must agree.

    Raises
    ------
    ValueError
        If the numbers of texts and vectors differ, or one text has two vectors.

    See Also
    --------
    installed_minilm : The model of the teaching corpora, where it is installed.
    LSAEmbedder : Learns a space from the documents themselves.

    Examples
    --------
    >>> embed = TableEmbedder(["red fox", "blue whale"], [[1.0, 0.0], [0.0, 1.0]])
    >>> embed(["blue whale", "something else"]).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """

    def __init__(
        self, texts: Iterable[str], vectors: Any, *, model: Callable[[list[str]], Any] | None = None
    ):
        names = list(texts)
        rows = as_matrix(vectors) if names else np.empty((0, 0))
        if len(names) != len(rows):
            raise ValueError(f"TableEmbedder needs one vector per text; got {len(names)} and {len(rows)}.")
        if model is not None and (isinstance(model, type) or not callable(model)):
            raise TypeError(f"model must be a callable list of str -> array (n, d), or None; got {model!r}.")
        self._row = {text: row for row, text in enumerate(names)}
        two = [t for row, t in enumerate(names) if not np.array_equal(rows[row], rows[self._row[t]])]
        if two:
            raise ValueError(f"TableEmbedder was given two vectors for {some(two)}; keep one.")
        self._vectors = np.vstack([rows, np.zeros((1, rows.shape[1]), rows.dtype)])
        self._model, self._tried = model, False

    @property
    def zero_reason(self) -> str:
        """Why a text has a zero vector; a store that is searched with one says it."""
        return (
            f"this store only knows the vectors of {count(len(self._row), 'stored text')}; for free text "
            "give it fallback=rk.LSAEmbedder(), or a model with query_embed="
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
            Their vectors; for a text that is not in the table the model's, or zeros without a model.

        Raises
        ------
        ValueError
            If the model gives a text of the table another vector than the table does.
        """
        found = np.array([self._row.get(text, -1) for text in texts], dtype=np.int64)
        rows, others = self._vectors[found], np.flatnonzero(found < 0)
        if self._model is not None and len(others) and self._row:
            self._try_model()
            rows[others] = self._modelled([texts[n] for n in others])
        return rows

    def _modelled(self, texts: list[str]) -> np.ndarray:
        """Embed texts with the model, as queries where it tells them from documents."""
        model: Any = self._model
        return as_matrix((getattr(model, "queries", None) or model)(texts), "the model's vectors")

    def _try_model(self) -> None:
        """Refuse a model that made other vectors than the table's."""
        if self._tried:
            return
        text, row = next(iter(self._row.items()))
        then, now = self._vectors[row], self._modelled([text])[0]
        if now.shape != then.shape or cosine_similarity(now, then) < _SAME:
            raise ValueError(
                f"model must be the one that made the table's vectors; it gives {text!r} another one. "
                "Leave model out, or give the right one."
            )
        self._tried = True

    def __repr__(self) -> str:
        model = "" if self._model is None else f", model={self._model!r}"
        return f"TableEmbedder({len(self._row)} texts, {self._vectors.shape[1]} dimensions{model})"
