"""Postings of consecutive documents, block by block, and all blocks in one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp


class Block(NamedTuple):
    """Postings of some documents, term by term.

    Attributes
    ----------
    terms : ndarray of int32, shape (t,)
        The terms that occur, each once, by number.
    sizes : ndarray of int32, shape (t,)
        In how many documents each occurs.
    docs : ndarray of uint16 or int32, shape (m,)
        Those documents, ascending within a term, counted from `first`; small numbers, because blocks are most
        of what building an index holds.
    tf : ndarray of unsigned integers, shape (m,)
        How often the term stands in each.
    first : int, default=0
        The number of the block's first document.
    """

    terms: np.ndarray
    sizes: np.ndarray
    docs: np.ndarray
    tf: np.ndarray
    first: int = 0


class Counts(NamedTuple):
    """Word counts of some texts.

    Attributes
    ----------
    blocks : list of Block
        Postings, block by block; documents are numbered from 0 over all blocks.
    lengths : ndarray of int32, shape (n,)
        Number of words that count in each text.
    parts : list of int
        Number of texts in each block.
    """

    blocks: list[Block]
    lengths: np.ndarray
    parts: list[int]


def postings_of(ids: np.ndarray, lengths: np.ndarray) -> Block:
    """Turn the term numbers of consecutive documents into postings: a counting sort, then run lengths.

    Parameters
    ----------
    ids : ndarray of int32, shape (m,)
        Term numbers, document after document.
    lengths : ndarray of int32, shape (n,)
        How many each document has.

    Returns
    -------
    Block
        The postings, documents numbered from 0.
    """
    indptr = np.zeros(len(lengths) + 1, dtype=np.int32)
    np.cumsum(lengths, out=indptr[1:])
    width = int(ids.max(initial=-1)) + 1
    ones = np.ones(len(ids), dtype=np.int8)
    by_term = sp.csr_array((ones, ids, indptr), shape=(len(lengths), width)).tocsc()
    docs, ends = by_term.indices, by_term.indptr
    new = np.ones(len(docs), dtype=bool)
    new[1:] = docs[1:] != docs[:-1]
    # A term's first document may equal the last of the term before.
    new[ends[:-1][ends[:-1] < len(docs)]] = True
    starts = np.flatnonzero(new)
    tf = np.diff(starts, append=len(docs))
    before = np.zeros(len(docs) + 1, dtype=np.int32)  # postings before each occurrence
    np.cumsum(new, out=before[1:])
    sizes = np.diff(before[ends])
    terms = np.flatnonzero(sizes)
    narrow = np.uint16 if len(lengths) <= 1 << 16 else np.int32
    return Block(
        terms.astype(np.int32), sizes[terms].astype(np.int32), docs[starts].astype(narrow), _small(tf)
    )


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
        docs[to] = block.docs + np.int32(block.first)
        tf[to] = block.tf
        free[block.terms] += block.sizes
    return indptr, docs, tf
