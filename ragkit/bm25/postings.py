"""What the index holds: raw counts by term, never scores."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ragkit.frames.folder import parse_json
from ragkit.frames.table import DocTable
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
            blocks += (
                [block._replace(docs=block.docs + np.int32(first)) for block in counts.blocks]
                if first
                else counts.blocks
            )
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


def pack_postings(fields: dict[str, Postings], table: DocTable) -> dict[str, np.ndarray]:
    """Give the arrays of a saved index."""
    vocab = next(iter(fields.values())).vocab
    words = json.dumps(list(vocab), ensure_ascii=True).encode()
    arrays = {"slots": table.slots, "vocab": np.frombuffer(words, dtype=np.uint8)}
    for number, p in enumerate(fields.values()):
        parts: dict[str, np.ndarray] = {"indptr": p.indptr, "docs": p.docs, "tf": p.tf, "lengths": p.lengths}
        arrays |= {f"field{number}_{name}": array for name, array in parts.items()}
    return arrays


def unpack_postings(arrays: dict[str, np.ndarray], fields: Any, n: int, where: str) -> dict[str, Postings]:
    """Make counts of the arrays of a saved index; arrays that do not belong together are refused."""
    try:
        words = parse_json(arrays["vocab"].tobytes(), "the vocabulary")
        vocab = {word: number for number, word in enumerate(words)}
        out = {}
        for number, field in enumerate(fields):
            p = out[field] = Postings(vocab)
            names = ("indptr", "docs", "tf", "lengths")
            p.indptr, p.docs, p.tf, p.lengths = (arrays[f"field{number}_{name}"] for name in names)
            sound = (
                len(p.indptr) == len(words) + 1 == len(vocab) + 1
                and p.indptr[0] == 0
                and (np.diff(p.indptr) >= 0).all()
                and p.indptr[-1] == len(p.docs) == len(p.tf)
                and len(p.lengths) == n
                and (not len(p.docs) or (p.docs.min() >= 0 and p.docs.max() < n))
            )
            if not sound:
                raise ValueError("its arrays do not belong together")
    except (KeyError, TypeError, IndexError, ValueError) as error:
        raise ValueError(f"the index saved in {where!r} is damaged: {error}.") from None
    return out
