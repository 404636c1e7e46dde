"""The part of a keyword index that no parameter touches: documents, their words counted, and the file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from ragkit.bm25.postings import Postings
from ragkit.bm25.saving import pack_postings, unpack_postings
from ragkit.bm25.scoring import check_fields
from ragkit.frames import check_frame, unit_column
from ragkit.frames.folder import from_snapshot, load_folder, refuse_damaged
from ragkit.frames.store import Store, unshared
from ragkit.text.counting import Counts
from ragkit.text.spec import tokenizer_of, tokenizer_spec

Tokenize = Callable[[str], list[str]]


class WordCounts(Store):
    """Documents and how often each word stands in each field of them.

    Parameters
    ----------
    tokenizer : callable
        ``str -> list of str``.
    fields : mapping of column to weight
        The columns that are counted.
    parameters : dict
        The index's own parameters, kept and saved beside the counts.
    """

    _kind: ClassVar[str] = "KeywordIndex"

    def __init__(self, tokenizer: Tokenize, fields: Mapping[str, float], parameters: dict[str, Any]):
        self._tokenizer = _check_tokenizer(tokenizer)
        self._fields = check_fields(fields)
        self._own = parameters
        super().__init__(need_text="text" in self._fields)

    def _reset(self) -> None:
        self._postings = self._new_postings()
        self._settled = -1  # the version of the documents to which the postings belong

    def _unshare(self) -> None:
        vocab = dict(self._vocab)
        self._postings = {field: unshared(postings) for field, postings in self._postings.items()}
        for postings in self._postings.values():
            postings.vocab = vocab

    @property
    def tokenizer(self) -> Tokenize:
        """The tokenizer; :meth:`retokenize` changes it."""
        return self._tokenizer

    @property
    def k1(self) -> float:
        """The index's own k1, used where a search gives none."""
        return float(self._own["k1"])

    @property
    def b(self) -> float | dict[str, float]:
        """The index's own b; a dict where it differs between fields."""
        return dict(self._own["b"]) if isinstance(self._own["b"], Mapping) else self._own["b"]

    @property
    def variant(self) -> str:
        """The index's own variant."""
        return self._own["variant"]

    @property
    def fields(self) -> dict[str, float]:
        """The columns that are searched, and their weights."""
        return dict(self._fields)

    # ---------------------------------------------------------------- updates

    def add(self, docs: Any, *, replace_docs: bool = False) -> list[str]:
        """Add documents; one whose id is there replaces the old one in its place.

        Parameters
        ----------
        docs : documents
            Whatever :func:`ragkit.as_docs` takes; bare strings are numbered from where the index stands.
        replace_docs : bool, default=False
            Whether all chunks of the documents at hand go first, so that none of an old version stays.

        Returns
        -------
        list of str
            The unit ids added.

        Raises
        ------
        ValueError
            If an id stands twice or a text is missing; then nothing is added.

        Examples
        --------
        >>> from ragkit import KeywordIndex
        >>> index = KeywordIndex(["red fox"])
        >>> index.add(["blue whale"]), len(index)
        (['1'], 2)
        """
        frame = self._table.prepare(docs)
        if not len(frame):
            return []
        counted = self._count(frame, self._postings, self._tokenizer)
        self._table.commit(frame, replace_docs=replace_docs)
        for field, counts in counted.items():
            self._postings[field].append(counts)
        return frame[self._table.unit].tolist()

    def retokenize(self, tokenizer: Tokenize) -> None:
        """Cut all documents into words anew.

        Parameters
        ----------
        tokenizer : callable
            ``str -> list of str``; if it fails, the index stays as it is.

        Examples
        --------
        >>> from ragkit import KeywordIndex, Tokenizer
        >>> index = KeywordIndex(["the red fox"])
        >>> index.retokenize(Tokenizer(stop_words=None))
        >>> index.search("the")["doc_id"].tolist()
        ['0']
        """
        _check_tokenizer(tokenizer)
        fresh = self._new_postings()
        counted = self._count(self._table.rows, fresh, tokenizer) if len(self) else {}
        for field, counts in counted.items():
            fresh[field].append(counts)
        self._tokenizer, self._postings = tokenizer, fresh
        self._table.touch()

    # ---------------------------------------------------------------- the way back from a file

    @classmethod
    def load(cls, folder: Any, *, tokenizer: Tokenize | None = None) -> Self:
        """Load an index from a folder.

        Parameters
        ----------
        folder : path
            What :meth:`save` wrote.
        tokenizer : callable, optional
            Needed where the index was built with a callable of your own or with a stemmer; it is checked.

        Returns
        -------
        KeywordIndex
            It scores as the one that was saved.

        Raises
        ------
        ValueError
            If the folder is damaged or foreign, or the tokenizer is another one.
        FileNotFoundError
            If there is nothing.

        Examples
        --------
        >>> import tempfile
        >>> from ragkit import KeywordIndex
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     KeywordIndex({"a": "red fox"}).save(folder)
        ...     KeywordIndex.load(folder).search("fox")["doc_id"].tolist()
        ['a']
        """
        meta, docs, arrays = load_folder(folder, cls._kind)
        where = f"the index saved in {str(folder)!r}"
        with refuse_damaged(where):
            index = cls._from_meta(meta, tokenizer)
            index._postings = unpack_postings(arrays, index._fields, len(docs), where)
            index._table.restore(docs, arrays["slots"])
        return index

    @classmethod
    def from_json(cls, text: str, *, tokenizer: Tokenize | None = None) -> Self:
        """Make an index of what :meth:`to_json` wrote.

        Parameters
        ----------
        text : str
            JSON.
        tokenizer : callable, optional
            As in :meth:`load`.

        Returns
        -------
        KeywordIndex
            It scores as the one that was written.

        Raises
        ------
        ValueError
            If the text is damaged or foreign, or the tokenizer is another one.

        Examples
        --------
        >>> from ragkit import KeywordIndex
        >>> index = KeywordIndex({"a": "red fox"}, k1=0.9)
        >>> KeywordIndex.from_json(index.to_json()).k1
        0.9
        """
        meta, docs, _ = from_snapshot(text, cls._kind)
        with refuse_damaged("the snapshot"):
            index = cls._from_meta(meta, tokenizer)
            index.add(docs)
        return index

    @classmethod
    def _from_meta(cls, meta: dict[str, Any], tokenizer: Any) -> Self:
        """Make an empty index of its saved settings."""
        found = tokenizer_of(meta["tokenizer"], tokenizer, "the index")
        return cls(tokenizer=found, fields=meta["fields"], **meta["parameters"])

    def _packed(self, whole: bool) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        own = {name: dict(v) if isinstance(v, Mapping) else v for name, v in self._own.items()}
        meta = {"parameters": own, "fields": self._fields, "tokenizer": tokenizer_spec(self._tokenizer)}
        if not whole:
            return meta, {}
        self._settle()
        return meta, pack_postings(self._postings, self._table)

    # ---------------------------------------------------------------- inside

    @property
    def _vocab(self) -> dict[str, int]:
        return next(iter(self._postings.values())).vocab

    def _new_postings(self) -> dict[str, Postings]:
        vocab: dict[str, int] = {}
        return {field: Postings(vocab) for field in self._fields}

    def _count(self, frame: pd.DataFrame, postings: dict[str, Postings], cut: Tokenize) -> dict[str, Counts]:
        """Count the words of each field, without changing what the index finds."""
        check_frame(frame, self._fields, "docs")
        vocab = next(iter(postings.values())).vocab
        known = len(vocab)
        try:
            return {field: postings[field].count(_texts(frame, field), cut) for field in self._fields}
        except BaseException:
            while len(vocab) > known:  # a word that no postings know of would break every later search for it
                vocab.popitem()
            raise

    def _settle(self) -> None:
        """Merge counts that wait and close the gaps of documents that are gone."""
        if self._settled != self._table.version:
            kept = self._table.compact()
            for postings in self._postings.values():
                postings.settle(kept)
            self._settled = self._table.version


def _check_tokenizer(tokenizer: Any) -> Tokenize:
    if isinstance(tokenizer, type):
        name = tokenizer.__name__
        raise TypeError(f"tokenizer is the class {name}; make one first: {name}().")
    if not callable(tokenizer):
        hint = f" Did you mean Tokenizer(stop_words={tokenizer!r})?" if type(tokenizer) is str else ""
        raise TypeError(f"tokenizer must be a callable str -> list of str; got {tokenizer!r}.{hint}")
    return tokenizer


def _texts(frame: pd.DataFrame, field: str) -> list[str]:
    """Give the texts of a field; a missing title is an empty one."""
    out = frame[field].tolist()
    if set(map(type, out)) <= {str}:  # as most often
        return out
    missing = frame[field].isna().tolist()
    out = ["" if lost else text for lost, text in zip(missing, out)]
    wrong = next((n for n, text in enumerate(out) if not isinstance(text, str)), None)  # a subclass will do
    if wrong is not None:
        unit = frame[unit_column(frame, "docs")].iloc[wrong]
        raise TypeError(f"docs' {field} must be a string; {unit!r} has {out[wrong]!r}.")
    return out
