"""The sources of a hybrid search as one collection: what they hold, and updates of all at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from ragkit.bm25 import KeywordIndex
from ragkit.frames import as_docs
from ragkit.fusion.align import check_names
from ragkit.hybrid.sources import check_source
from ragkit.hybrid.updates import add_to_all, remove_from_all
from ragkit.vectors import VectorStore


class HeldSources:
    """Retrievers by name, some of which are stores.

    Parameters
    ----------
    index : KeywordIndex or dict of name to retriever, optional
        The keyword side, or all sources.
    store : VectorStore, optional
        The vector side.
    """

    def __init__(self, index: Any = None, store: Any = None):
        if isinstance(index, Mapping):
            sources = dict(index) | ({} if store is None else {"vector": store})
        else:
            sides = {"keyword": index, "vector": store}
            sources = {name: side for name, side in sides.items() if side is not None}
        if not sources:
            raise ValueError(
                "HybridSearch needs a KeywordIndex, a VectorStore or a dict of retrievers; got none."
            )
        check_names(sources)
        for name, source in sources.items():
            check_source(name, source)
        self._sources = sources

    # ---------------------------------------------------------------- what it holds

    @property
    def sources(self) -> dict[str, Any]:
        """The retrievers by name."""
        return dict(self._sources)

    @property
    def index(self) -> Any:
        """The keyword side: the first KeywordIndex; None if there is none."""
        return next((s for s in self._sources.values() if isinstance(s, KeywordIndex)), None)

    @property
    def store(self) -> Any:
        """The vector side: the first VectorStore; None if there is none."""
        return next((s for s in self._sources.values() if isinstance(s, VectorStore)), None)

    @property
    def docs(self) -> pd.DataFrame:
        """The documents, as a copy: the first store's."""
        return self._stores()[0].docs if self._stores() else as_docs({})

    @property
    def ids(self) -> list[str]:
        """The unit ids of all stores, in order of first appearance."""
        return list(dict.fromkeys(unit for store in self._stores() for unit in store.ids))

    def __len__(self) -> int:
        return len(self.ids)

    def __contains__(self, unit_id: Any) -> bool:
        return any(unit_id in store for store in self._stores())

    def __iter__(self) -> Iterator[str]:
        return iter(self.ids)

    def __repr__(self) -> str:
        sources = ", ".join(f"{name}={source!r}" for name, source in self._sources.items())
        return f"{type(self).__name__}({sources})"

    def _stores(self) -> list[Any]:
        return [s for s in self._sources.values() if isinstance(s, (KeywordIndex, VectorStore))]

    # ---------------------------------------------------------------- updates

    def add(self, docs: Any, *, vectors: Any = None, replace_docs: bool = False) -> list[str]:
        """Add documents to every store, or to none if one of them refuses.

        Parameters
        ----------
        docs : documents
            Whatever :func:`ragkit.as_docs` takes; one whose id is there replaces the old one.
        vectors : array_like or dict, optional
            Their vectors, for the vector side; None to embed the texts.
        replace_docs : bool, default=False
            Whether all chunks of these documents go first.

        Returns
        -------
        list of str
            The unit ids added.

        Raises
        ------
        ValueError
            What the store that refused has to say; nothing is changed then.

        Examples
        --------
        >>> import ragkit as rk
        >>> hybrid = rk.HybridSearch(rk.KeywordIndex(), rk.VectorStore())
        >>> hybrid.add({"a": "red fox", "b": "blue whale"})
        ['a', 'b']
        >>> hybrid.search("whale")["doc_id"].tolist()[0]
        'b'
        """
        return add_to_all(self._stores(), docs, vectors, replace_docs)

    def remove(self, ids: Any = None, *, doc_ids: Any = None, where: Any = None) -> list[str]:
        """Remove documents from every store; ids that are not there are passed over.

        Parameters
        ----------
        ids : str or sequence of str, optional
            Unit ids.
        doc_ids : str or sequence of str, optional
            Documents, of which all chunks go.
        where : dict, callable or Series, optional
            As in :meth:`HybridSearch.search`.

        Returns
        -------
        list of str
            The unit ids that were in one of the stores.
        """
        return remove_from_all(self._stores(), ids, doc_ids, where)

    def clear(self) -> None:
        """Remove every document from every store."""
        for store in self._stores():
            store.clear()

    def stats(self) -> pd.DataFrame:
        """Count what each source holds.

        Returns
        -------
        DataFrame
            ``source, kind, units, version``: one row per source; units are missing for callables.
        """
        rows = [
            {
                "source": name,
                "kind": type(source).__name__,
                "units": len(source) if hasattr(source, "__len__") else pd.NA,
                "version": getattr(source, "version", pd.NA),
            }
            for name, source in self._sources.items()
        ]
        return pd.DataFrame(rows).astype({"units": "Int64", "version": "Int64"})
