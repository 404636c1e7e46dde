"""Latent semantic analysis: vectors from the documents themselves, without a model or a download."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from ragkit.frames import check_top_k
from ragkit.frames.folder import parse_json
from ragkit.text import Tokenizer
from ragkit.text.counting import assemble, count_words
from ragkit.text.spec import tokenizer_of, tokenizer_spec


class LSAEmbedder:
    """Embed texts by TF-IDF and a truncated singular value decomposition.

    Words that stand in the same documents get near each other, so a text can be near a query without
    sharing a word. Weights are ``(1 + ln tf) * (ln((1 + N) / (1 + df)) + 1)``, rows of length 1. It needs
    documents of some length (abstracts, pages); on one-line texts it is little better than word overlap.

    Parameters
    ----------
    n_components : int, default=256
        Length of a vector; never more than there are documents or words.
    tokenizer : callable, optional
        ``str -> list of str``; ``Tokenizer()`` by default.
    random_state : int, default=0
        Seed of the randomised decomposition; the same texts give the same vectors.

    See Also
    --------
    HashingEmbedder : Needs no fitting.

    References
    ----------
    .. [1] Deerwester et al. Indexing by latent semantic analysis. JASIS 41(6), 1990.
    .. [2] Halko, Martinsson, Tropp. Finding structure with randomness. SIAM Review 53(2), 2011.

    Examples
    --------
    >>> texts = ["cat and dog", "dog and wolf", "ship and sea", "sea and harbour"]
    >>> embed = LSAEmbedder(2).fit(texts)
    >>> cat, wolf, ship = embed(["cat", "wolf", "ship"])
    >>> bool(cat @ wolf > 0.01 > abs(cat @ ship))
    True
    """

    def __init__(
        self,
        n_components: int = 256,
        *,
        tokenizer: Callable[[str], list[str]] | None = None,
        random_state: int = 0,
    ):
        if not check_top_k(n_components, "n_components", none=False):
            raise ValueError("n_components must be a whole number >= 1; got 0.")
        self.n_components = n_components
        self.tokenizer = Tokenizer() if tokenizer is None else tokenizer
        self.random_state = random_state
        self._components: np.ndarray | None = None  # (d, terms)

    def __repr__(self) -> str:
        state = (
            f"fitted, {len(self._components)} dimensions" if self._components is not None else "not fitted"
        )
        return f"LSAEmbedder({self.n_components}, {state})"

    @property
    def fitted(self) -> bool:
        """Whether :meth:`fit` has been called."""
        return self._components is not None

    def fit(self, texts: Sequence[str]) -> LSAEmbedder:
        """Learn the dimensions from texts.

        Parameters
        ----------
        texts : sequence of str
            The documents.

        Returns
        -------
        LSAEmbedder
            Itself.
        """
        vocab: dict[str, int] = {}
        counts = count_words(list(texts), self.tokenizer, vocab)
        n = len(counts.lengths)
        indptr, docs, tf = assemble(counts.blocks, len(vocab))
        df = np.diff(indptr)
        self._vocab, self._idf = vocab, np.log((1 + n) / (1 + df)) + 1
        table = sp.csc_array((_log_tf(tf), docs, indptr), shape=(n, len(vocab))).tocsr()
        self._components = _principal(self._weigh(table), self.n_components, self.random_state)
        return self

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Embed texts.

        Parameters
        ----------
        texts : sequence of str, shape (n,)
            Documents or queries.

        Returns
        -------
        ndarray of float32, shape (n, d)
            Vectors; a text without a known word is a row of zeros.

        Raises
        ------
        ValueError
            If :meth:`fit` has not been called.
        """
        if self._components is None:
            raise ValueError(
                "LSAEmbedder must be fitted before it embeds; call fit(texts), or give it to a VectorStore."
            )
        return np.asarray(self._weigh(self._table(list(texts))) @ self._components.T, dtype=np.float32)

    def state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Give what :meth:`from_state` needs: settings as JSON, and arrays.

        Returns
        -------
        meta : dict
            Settings.
        arrays : dict of name to ndarray
            What was learned; empty before :meth:`fit`.
        """
        meta = {
            "n_components": self.n_components,
            "random_state": self.random_state,
            "tokenizer": tokenizer_spec(self.tokenizer),
        }
        if self._components is None:
            return meta, {}
        words = np.frombuffer(json.dumps(list(self._vocab)).encode(), dtype=np.uint8)
        return meta, {"lsa_vocab": words, "lsa_idf": self._idf, "lsa_components": self._components}

    @classmethod
    def from_state(
        cls, meta: dict[str, Any], arrays: Mapping[str, np.ndarray], *, tokenizer: Any = None
    ) -> LSAEmbedder:
        """Make an embedder of what :meth:`state` gave.

        Parameters
        ----------
        meta : dict
            Settings.
        arrays : mapping of name to ndarray
            What was learned.
        tokenizer : callable, optional
            Needed where it was a callable of your own.

        Returns
        -------
        LSAEmbedder
            It embeds as the one that was saved.
        """
        try:
            found = tokenizer_of(meta["tokenizer"], tokenizer, "the LSAEmbedder")
            embed = cls(meta["n_components"], tokenizer=found, random_state=meta["random_state"])
            if "lsa_components" in arrays:
                words = parse_json(arrays["lsa_vocab"].tobytes(), "the vocabulary")
                embed._vocab = {word: number for number, word in enumerate(words)}
                embed._idf, embed._components = arrays["lsa_idf"], arrays["lsa_components"]
                if not len(words) == len(embed._idf) == embed._components.shape[1]:
                    raise ValueError("its arrays do not belong together")
        except (KeyError, TypeError, IndexError) as error:
            raise ValueError(f"the saved LSAEmbedder is damaged: {error!r}.") from None
        return embed

    def words_between(self, query: str, text: str) -> pd.DataFrame:
        """Say which words of a text bring it near a query.

        With term weights x of the text, q of the query and the dimensions V as rows, the dot product of the
        two vectors is ``sum over words of x_w (V^T V q)_w``: a word counts by how strongly the query's
        words, or words that keep their company, call for it.

        Parameters
        ----------
        query, text : str
            The two texts.

        Returns
        -------
        DataFrame
            ``word, value``, strongest first; the values sum to the dot product.

        Examples
        --------
        >>> embed = LSAEmbedder(2).fit(["cat and dog", "dog and wolf", "ship and sea", "sea and harbour"])
        >>> embed.words_between("cat", "dog and wolf")["word"].tolist()
        ['dog', 'wolf']
        """
        if self._components is None:
            raise ValueError("LSAEmbedder must be fitted before it explains; call fit(texts).")
        rows = self._weigh(self._table([query, text]))
        called = self._components.T @ (self._components @ rows[[0]].toarray()[0])
        start, end = rows.indptr[1], rows.indptr[2]
        terms, weights = rows.indices[start:end], rows.data[start:end]
        names = list(self._vocab)
        frame = pd.DataFrame(
            {"word": pd.Series([names[t] for t in terms], dtype="str"), "value": weights * called[terms]}
        )
        return frame.sort_values("value", key=np.abs, ascending=False, kind="stable", ignore_index=True)

    def _table(self, texts: list[str]) -> sp.csr_array:
        """Count the known words of texts: documents by terms."""
        own: dict[str, int] = {}
        counts = count_words(texts, self.tokenizer, own)
        indptr, docs, tf = assemble(counts.blocks, len(own))
        known = np.array([self._vocab.get(word, -1) for word in own], dtype=np.int64)
        terms = np.repeat(known, np.diff(indptr))
        keep = terms >= 0
        return sp.csr_array(
            (_log_tf(tf)[keep], (docs[keep], terms[keep])), shape=(len(texts), len(self._vocab))
        )

    def _weigh(self, table: sp.csr_array) -> sp.csr_array:
        """Multiply counts by idf and scale each row to length 1."""
        weights = table.data * self._idf[table.indices]
        rows = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
        lengths = np.sqrt(np.bincount(rows, weights * weights, minlength=table.shape[0]))
        weights /= lengths[rows]
        return sp.csr_array((weights, table.indices, table.indptr), shape=table.shape)


def _log_tf(tf: np.ndarray) -> np.ndarray:
    return 1 + np.log(tf.astype(np.float64))


def _principal(table: sp.csr_array, n_components: int, random_state: int) -> np.ndarray:
    """Find the strongest right singular vectors, as rows, with signs that the input fixes."""
    if table.nnz == 0:
        return np.zeros((1, table.shape[1]))
    if min(table.shape) <= 2 * n_components:
        rows = _exact(table, n_components)
    else:
        from sklearn.utils.extmath import randomized_svd

        rows = randomized_svd(table, n_components, n_iter=4, random_state=random_state)[2]
    strongest = np.abs(rows).argmax(axis=1)
    signs: Any = np.sign(rows[np.arange(len(rows)), strongest])
    return rows * signs[:, None]


def _exact(table: sp.csr_array, n_components: int) -> np.ndarray:
    """Decompose a small table by the eigenvectors of its smaller Gram matrix."""
    wide = table.shape[0] <= table.shape[1]
    gram = (table @ table.T if wide else table.T @ table).toarray()
    values, vectors = np.linalg.eigh(gram)
    order = np.argsort(-values, kind="stable")[:n_components]
    order = order[values[order] > 1e-10 * values[order[0]]]
    if not wide:
        return np.ascontiguousarray(vectors[:, order].T)
    return (table.T @ (vectors[:, order] / np.sqrt(values[order]))).T
