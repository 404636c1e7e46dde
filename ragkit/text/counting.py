"""Counting words: from texts to postings, without a Python object per word where that can be avoided.

Two roads give the same counts. The plain one calls a tokenizer text by text and serves any callable. The
fast one serves :class:`ragkit.Tokenizer`: everything after the split into words is a function of the word
alone, so each distinct word is stemmed, dropped or cut up once, however often it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp


class Block(NamedTuple):
    """Postings of some documents, term by term.

    Attributes
    ----------
    terms : ndarray of int64, shape (t,)
        The terms that occur, each once, by number.
    sizes : ndarray of int64, shape (t,)
        In how many documents each occurs.
    docs : ndarray of int32, shape (m,)
        Those documents, ascending within a term.
    tf : ndarray of unsigned integers, shape (m,)
        How often the term stands in each.
    """

    terms: np.ndarray
    sizes: np.ndarray
    docs: np.ndarray
    tf: np.ndarray


class Counts(NamedTuple):
    """Word counts of some texts.

    Attributes
    ----------
    blocks : list of Block
        Postings, block by block of documents.
    lengths : ndarray of int32, shape (n,)
        Number of words that count in each text.
    """

    blocks: list[Block]
    lengths: np.ndarray


def count_words(texts: Sequence[str], tokenizer: Callable[[str], list[str]], vocab: dict[str, int]) -> Counts:
    """Count the words of texts.

    Parameters
    ----------
    texts : sequence of str, shape (n,)
        The texts.
    tokenizer : callable
        ``str -> list of str``.
    vocab : dict of str to int
        Term numbers; new words are added in order of first appearance.

    Returns
    -------
    Counts
        Postings with documents numbered from 0.

    Examples
    --------
    >>> vocab = {}
    >>> counts = count_words(["red fox red", "fox"], str.split, vocab)
    >>> vocab, counts.lengths.tolist()
    ({'red': 0, 'fox': 1}, [3, 1])
    >>> indptr, docs, tf = assemble(counts.blocks, len(vocab))
    >>> indptr.tolist(), docs.tolist(), tf.tolist()
    ([0, 1, 3], [0, 0, 1], [2, 1, 1])
    """
    return count_plain(texts, tokenizer, vocab)


def count_plain(texts: Iterable[str], tokenizer: Callable[[str], list[str]], vocab: dict[str, int]) -> Counts:
    """Count words with any tokenizer, text by text.

    Parameters
    ----------
    texts : iterable of str, shape (n,)
        The texts.
    tokenizer : callable
        ``str -> list of str``.
    vocab : dict of str to int
        Term numbers; new words are added.

    Returns
    -------
    Counts
        As :func:`count_words`.
    """
    ids: list[int] = []
    lengths: list[int] = []
    for text in texts:
        words = tokenizer(text)
        if not isinstance(words, (list, tuple)):
            raise TypeError(f"tokenizer must return a list of words; got {type(words).__name__}.")
        for word in words:
            number = vocab.get(word)
            if number is None:
                if not isinstance(word, str):
                    raise TypeError(f"tokenizer must return a list of str; got {word!r} in it.")
                number = vocab[word] = len(vocab)
            ids.append(number)
        lengths.append(len(words))
    sizes = np.array(lengths, dtype=np.int32)
    return Counts([_postings(np.array(ids, dtype=np.int32), sizes, 0)] if len(sizes) else [], sizes)


def _postings(ids: np.ndarray, lengths: np.ndarray, first_doc: int) -> Block:
    """Turn the term numbers of consecutive documents into postings: a counting sort, then run lengths."""
    indptr = np.zeros(len(lengths) + 1, dtype=np.int32)
    np.cumsum(lengths, out=indptr[1:])
    width = int(ids.max(initial=-1)) + 1
    ones = np.ones(len(ids), dtype=np.int8)
    by_term = sp.csr_array((ones, ids, indptr), shape=(len(lengths), width)).tocsc()
    docs, ends = by_term.indices, by_term.indptr
    new = np.ones(len(docs), dtype=bool)
    new[1:] = docs[1:] != docs[:-1]
    new[ends[:-1][ends[:-1] < len(docs)]] = (
        True  # a term's first document may equal the last of the one before
    )
    starts = np.flatnonzero(new)
    tf = np.diff(starts, append=len(docs))
    sizes = np.diff(np.searchsorted(starts, ends))
    terms = np.flatnonzero(sizes)
    return Block(terms, sizes[terms], docs[starts] + np.int32(first_doc), _small(tf))


def _small(tf: np.ndarray) -> np.ndarray:
    """Store counts in as few bytes as they need."""
    largest = int(tf.max(initial=0))
    return tf.astype(np.uint8 if largest < 2**8 else np.uint16 if largest < 2**16 else np.uint32)


def assemble(blocks: list[Block], n_terms: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Join blocks of postings, in order, into one array per term.

    Parameters
    ----------
    blocks : list of Block
        Postings of consecutive documents.
    n_terms : int
        Number of terms.

    Returns
    -------
    indptr : ndarray of int64, shape (n_terms + 1,)
        Term ``t`` has the postings from ``indptr[t]`` to ``indptr[t + 1]``.
    docs : ndarray of int32
        Documents, ascending within a term.
    tf : ndarray of unsigned integers
        Counts.
    """
    sizes = np.zeros(n_terms, dtype=np.int64)
    for block in blocks:
        sizes[block.terms] += block.sizes
    indptr = np.zeros(n_terms + 1, dtype=np.int64)
    np.cumsum(sizes, out=indptr[1:])
    docs = np.empty(indptr[-1], dtype=np.int32)
    tf = np.empty(indptr[-1], dtype=np.result_type(np.uint8, *(block.tf.dtype for block in blocks)))
    free = indptr[:-1].copy()  # where each term's next posting goes
    for block in blocks:
        ends = np.cumsum(block.sizes)
        shift = free[block.terms] - (ends - block.sizes)
        to = np.repeat(shift, block.sizes)
        to += np.arange(len(to))
        docs[to] = block.docs
        tf[to] = block.tf
        free[block.terms] += block.sizes
    return indptr, docs, tf
