"""Feature hashing: vectors from words alone, without a model and without fitting."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

import numpy as np

from ragkit.embedding.batches import check_list
from ragkit.frames import check_top_k
from ragkit.text import Tokenizer
from ragkit.text.counting import assemble, count_words


class HashingEmbedder:
    """Embed texts by hashing their words to dimensions; nothing is learned, so nothing can go stale.

    Each word adds ``1 + ln tf`` to one dimension, with a sign, both given by a hash of the word; texts are
    near when they share words. It knows no meaning and no rarity: a baseline, and a stand-in for a model.

    Parameters
    ----------
    n_components : int, default=1024
        Length of a vector; with fewer, more words share a dimension.
    tokenizer : callable, optional
        ``str -> list of str``; ``Tokenizer()`` by default.

    See Also
    --------
    LSAEmbedder : Learns from the documents which words keep company.

    References
    ----------
    .. [1] Weinberger et al. Feature hashing for large scale multitask learning. ICML 2009.

    Examples
    --------
    >>> a, b, c = HashingEmbedder()(["red fox", "fox", "whale"])
    >>> round(float(a @ b), 3), float(a @ c)
    (0.707, 0.0)
    """

    def __init__(self, n_components: int = 1024, *, tokenizer: Callable[[str], list[str]] | None = None):
        if not check_top_k(n_components, "n_components", none=False):
            raise ValueError("n_components must be a whole number >= 1; got 0.")
        self.n_components = n_components
        self.tokenizer = Tokenizer() if tokenizer is None else tokenizer

    def __repr__(self) -> str:
        return f"HashingEmbedder({self.n_components})"

    @property
    def name(self) -> str:
        """What tells its vectors from those of another."""
        return f"{self!r}, tokenizer={self.tokenizer!r}"

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        """Embed texts.

        Parameters
        ----------
        texts : sequence of str, shape (n,)
            Documents or queries.

        Returns
        -------
        ndarray of float32, shape (n, n_components)
            Rows of length 1; a text without words is a row of zeros.
        """
        texts = check_list(texts, "HashingEmbedder")
        vocab: dict[str, int] = {}
        counts = count_words(texts, self.tokenizer, vocab)
        indptr, docs, tf = assemble(counts.blocks, len(vocab))
        hashes = np.array([_hash(word) for word in vocab], dtype=np.uint64)
        columns = (hashes >> np.uint64(1)) % np.uint64(self.n_components)
        signs = np.where(hashes & np.uint64(1), 1.0, -1.0)
        sizes = np.diff(indptr)
        out = np.zeros((len(texts), self.n_components))
        weights = np.repeat(signs, sizes) * (1 + np.log(tf.astype(np.float64)))
        np.add.at(out, (docs, np.repeat(columns.astype(np.int64), sizes)), weights)
        lengths = np.sqrt(np.einsum("ij,ij->i", out, out))[:, None]
        return (out / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def _hash(word: str) -> int:
    """Hash a word the same way in every process, unlike Python's own."""
    return int.from_bytes(
        hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little"
    )
