"""A vector store in a file, and the embedder that belongs to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import pandas as pd

from ragkit.frames.folder import from_snapshot, load_folder, refuse_damaged
from ragkit.similarity import as_matrix
from ragkit.vectors.held import HeldVectors
from ragkit.vectors.inputs import Embed, call_embedder

_SECOND = "fallback_"  # before the names of the fallback's arrays


class SavedVectors(HeldVectors):
    """The way back from a file; an embedder that was not saved is given again, and tried."""

    @classmethod
    def load(
        cls,
        folder: Any,
        *,
        embed: Embed | None = None,
        query_embed: Embed | None = None,
        fallback: Embed | None = None,
    ) -> Self:
        """Load a store from a folder.

        Parameters
        ----------
        folder : path
            What :meth:`save` wrote.
        embed : callable, optional
            The embedder, to search by text; an LSAEmbedder of the store's own comes back by itself. One that
            is given is tried on a document: its vector must be the saved one.
        query_embed : callable, optional
            The queries' own embedder, if there was one.
        fallback : callable, optional
            The fallback, if there was one; an LSAEmbedder comes back by itself.

        Returns
        -------
        VectorStore
            It finds what the one that was saved found.

        Raises
        ------
        ValueError
            If the folder is damaged or foreign, or the embedder is another one.
        FileNotFoundError
            If there is nothing.

        Examples
        --------
        >>> import tempfile
        >>> from ragkit import VectorStore
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     VectorStore({"a": "red fox", "b": "blue whale"}).save(folder)
        ...     VectorStore.load(folder).search("fox", top_k=1)["doc_id"].tolist()
        ['a']
        """
        return cls._unpacked(*load_folder(folder, cls._kind), embed, query_embed, fallback)

    @classmethod
    def from_json(
        cls,
        text: str,
        *,
        embed: Embed | None = None,
        query_embed: Embed | None = None,
        fallback: Embed | None = None,
    ) -> Self:
        """Make a store of what :meth:`to_json` wrote.

        Parameters
        ----------
        text : str
            JSON.
        embed, query_embed, fallback : callable, optional
            As in :meth:`load`.

        Returns
        -------
        VectorStore
            It finds what the one that was written found.

        Raises
        ------
        ValueError
            If the text is damaged or foreign, or the embedder is another one.

        Examples
        --------
        >>> from ragkit import VectorStore
        >>> store = VectorStore({"a": ""}, vectors=[[0.1, 1e-300]])
        >>> VectorStore.from_json(store.to_json()).vectors().tolist()
        [[0.1, 1e-300]]
        """
        return cls._unpacked(*from_snapshot(text, cls._kind), embed, query_embed, fallback)

    def _packed(self, whole: bool) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        self._settle()
        of_lsa, learned = lsa_state(self.embed)
        of_fallback, known = lsa_state(self._fallback)
        arrays = {"vectors": self._matrix.rows[self._table.slots]} | learned
        arrays |= {_SECOND + name: rows for name, rows in known.items()}
        meta = {"metric": self._metric, "origin": self._origin, "refits": self._refits, "lsa": of_lsa}
        embed = self._given_embed
        name = embed.name if isinstance(embed, _Absent) else repr(embed)
        return meta | {"embed": name, "fallback": of_fallback}, arrays

    @classmethod
    def _unpacked(
        cls,
        meta: Any,
        docs: pd.DataFrame,
        arrays: Any,
        embed: Embed | None,
        query_embed: Embed | None,
        fallback: Embed | None,
    ) -> Self:
        """Make a store of what a file holds; settings, documents and arrays must belong together."""
        with refuse_damaged("the saved VectorStore"):
            metric, origin, refits, of_lsa = (meta[k] for k in ("metric", "origin", "refits", "lsa"))
            own = saved_lsa(of_lsa, arrays) if embed is None else None
            if fallback is None:
                known = {
                    name.removeprefix(_SECOND): arrays[name] for name in arrays if name.startswith(_SECOND)
                }
                fallback = saved_lsa(meta.get("fallback"), known)
        if own is not None:
            embed = unfitted_lsa(own) if refits else own
        elif embed is None:
            embed = _Absent(meta.get("embed"))
        store = cls(embed=embed, metric=metric, query_embed=query_embed, fallback=fallback)
        with refuse_damaged("the saved VectorStore"):
            store._restore(docs, arrays["vectors"], origin)
        if own is not None and refits:
            store._fitted = own
        else:
            store._check_same_embedder(embed)
        return store

    def _restore(self, docs: pd.DataFrame, rows: Any, origin: Any) -> None:
        """Take over documents and their vectors."""
        rows = as_matrix(rows, "the saved vectors") if len(docs) else np.empty((0, 0))
        if len(rows) != len(docs):
            raise ValueError(
                f"the saved VectorStore is damaged: {len(rows)} vectors for {len(docs)} documents."
            )
        self._table.restore(docs, np.arange(len(docs)))
        self._matrix.append(rows)
        self._origin = origin if len(docs) else None

    def _check_same_embedder(self, embed: Embed) -> None:
        """Refuse an embedder that does not give a saved document its saved vector."""
        if self._origin != "embedded" or isinstance(embed, _Absent):
            return
        if self._refits:  # it will be fitted to these texts anyway
            self._stale = True
            return
        self._settle()
        texts = self._table.rows["text"]
        written = np.flatnonzero(texts.str.strip().ne("").to_numpy(dtype=bool))[:1]
        if len(written):
            tried = call_embedder(embed, texts.iloc[written].tolist())
            _check_same_vector(tried[0], self._matrix.rows[written[0]])


def _check_same_vector(now: np.ndarray, then: np.ndarray) -> None:
    """Refuse a vector that differs from the saved one by more than another machine's rounding."""
    if len(now) != len(then):
        raise ValueError(
            f"the embedder gives vectors of {len(now)} numbers, the saved ones have {len(then)}; "
            "give the one that made them."
        )
    if not np.allclose(now, then, rtol=0, atol=1e-3 * max(1e-30, float(np.abs(then).max()))):
        raise ValueError("the embedder gives another vector than the saved one; give the one that made them.")


class _Absent:
    """Stands for the embedder of a loaded store that was not given."""

    fitted = True

    def __init__(self, name: Any):
        self.name = name

    def __repr__(self) -> str:
        return f"(not given: {self.name})"

    def __call__(self, texts: list[str]) -> Any:
        raise ValueError(
            f"this store was saved with embed={self.name}; give it to load(folder, embed=...) to embed texts."
        )


def lsa_state(embed: Any) -> tuple[dict[str, Any] | None, dict[str, np.ndarray]]:
    """Give settings and arrays of an LSAEmbedder; of any other embedder nothing, it is given again."""
    if hasattr(embed, "state") and hasattr(embed, "from_state"):
        return embed.state()
    return None, {}


def saved_lsa(meta: dict[str, Any] | None, arrays: Mapping[str, np.ndarray]) -> Any:
    """Make the LSAEmbedder of a saved store; None where there is none, or its tokenizer was not saved."""
    if meta is None or meta["tokenizer"]["options"] is None:
        return None
    from ragkit.text.lsa import LSAEmbedder

    return LSAEmbedder.from_state(meta, arrays)


def unfitted_lsa(fitted: Any) -> Any:
    """Make an LSAEmbedder with the same settings, to be fitted."""
    from ragkit.text.lsa import LSAEmbedder

    return LSAEmbedder(fitted.n_components, tokenizer=fitted.tokenizer, random_state=fitted.random_state)
