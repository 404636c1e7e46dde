"""What the index holds: raw counts by term, never scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ragkit.text.counting import Block, Counts, assemble, count_words


class Postings:
    """Counts by term over document slots, with room for documents that wait to be merged.

    Attributes
    ----------
    vocab : dict of str to int
        Term numbers, shared by the fields of an index. Words that no document holds any more keep theirs.
    indptr, docs, tf : ndarray
        Term ``t`` stands ``tf[i]`` times in slot ``docs[i]`` for i from ``indptr[t]`` to ``indptr[t + 1]``.
    lengths : ndarray of int32
        Words by slot.
    """

    def __init__(self, vocab: dict[str, int]) -> None:
        self.vocab = vocab
        self.indptr = np.zeros(1, dtype=np.int64)
        self.docs = np.empty(0, dtype=np.int32)
        self.tf: np.ndarray = np.empty(0, dtype=np.uint8)
        self.lengths = np.empty(0, dtype=np.int32)
        self._waiting: list[Counts] = []

    def count(self, texts: Sequence[str], tokenizer: Callable[[str], list[str]]) -> Counts:
        """Count texts without adding them."""
        return count_words(texts, tokenizer, self.vocab)

    def append(self, counts: Counts) -> None:
        """Give the next slots to counted texts; they are merged when postings are next needed."""
        self._waiting.append(counts)

    def settle(self, kept: np.ndarray) -> None:
        """Merge what waits and drop the slots that are not in `kept` (ascending)."""
        if self._waiting:
            self._merge()
        elif len(self.indptr) <= len(self.vocab):  # another field brought new words
            self.indptr = np.append(
                self.indptr, np.full(len(self.vocab) + 1 - len(self.indptr), self.indptr[-1])
            )
        if len(kept) < len(self.lengths):
            self._drop(kept)

    def _merge(self) -> None:
        blocks, first = [self._as_block()] if len(self.docs) else [], len(self.lengths)
        for counts in self._waiting:
            blocks += [block._replace(first=block.first + first) for block in counts.blocks]
            first += len(counts.lengths)
        self.lengths = np.concatenate([self.lengths, *(counts.lengths for counts in self._waiting)])
        self._waiting = []
        self.indptr, self.docs, self.tf = assemble(blocks, len(self.vocab))

    def _as_block(self) -> Block:
        sizes = np.diff(self.indptr)
        terms = np.flatnonzero(sizes)
        return Block(terms, sizes[terms], self.docs, self.tf)

    def _drop(self, kept: np.ndarray) -> None:
        new = np.full(len(self.lengths), -1, dtype=np.int32)
        new[kept] = np.arange(len(kept), dtype=np.int32)
        docs = new[self.docs]
        alive = docs >= 0
        ends = np.zeros(len(docs) + 1, dtype=np.int64)
        np.cumsum(alive, out=ends[1:])
        self.indptr = ends[self.indptr]
        self.docs, self.tf, self.lengths = docs[alive], self.tf[alive], self.lengths[kept]

    @property
    def df(self) -> np.ndarray:
        """In how many documents each term stands."""
        return np.diff(self.indptr)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return self.indptr.nbytes + self.docs.nbytes + self.tf.nbytes + self.lengths.nbytes
