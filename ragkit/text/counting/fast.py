"""The fast road: words as bytes, numbered without a Python object for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import compress, count, repeat
from typing import NamedTuple

import numpy as np
import pandas as pd

from ragkit.text.counting.blocks import Block, Counts, postings_of
from ragkit.text.counting.plain import count_plain
from ragkit.text.tokenizer import Tokenizer, has_unspaced, is_word_character, split_unspaced

ASCII_WORDS = "[a-z0-9]+"  # the pattern of Tokenizer.ascii(), which this road knows, too
_BLOCK = 1 << 21  # characters cut at a time: the arrays of a block should fit in the cache
_GROUP = 1 << 26  # characters counted at a time: what is held besides the result

# Bytes of a block: 0 between words, 1 at the end of a document, else part of a word.
_GAP, _END = 0, 1


def count_fast(texts: Sequence[str], tokenizer: Tokenizer, vocab: dict[str, int]) -> Counts:
    """Count words as bytes; the result equals :func:`count_plain`'s, term numbers included.

    Some megabytes of text at a time are joined, levelled once, and turned into bytes in which words are the
    runs of non-zero bytes. A word's first eight bytes are one 64-bit number; longer words are hashed, and
    compared with the first of their hash, so a collision cannot pass. `factorize` numbers the words, block
    by block in the cache and then over the blocks; only distinct ones ever become Python strings.

    Parameters
    ----------
    texts : sequence of str, shape (n,)
        The texts.
    tokenizer : Tokenizer
        One without a pattern, or with that of :meth:`Tokenizer.ascii`.
    vocab : dict of str to int
        Term numbers; new words are added.

    Returns
    -------
    Counts
        As :func:`count_words`.
    """
    lexicon = _Lexicon(tokenizer, vocab)
    blocks: list[Block] = []
    lengths, done = [np.empty(0, dtype=np.int32)], 0
    for group in _portions(texts, _GROUP):
        counted = _count_group(group, lexicon) or count_plain(group, tokenizer, vocab)
        first = done
        for block, size in zip(counted.blocks, counted.parts):
            blocks.append(block._replace(first=first))
            first += size
        lengths.append(counted.lengths)
        done += len(group)
    return Counts(blocks, np.concatenate(lengths), [])


def _portions(texts: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    """Cut texts into runs of about `size` characters: each ends with the text that reaches it."""
    ends = np.cumsum(np.fromiter(map(len, texts), dtype=np.int64, count=len(texts)))
    start = 0
    while start < len(texts):
        before = int(ends[start - 1]) if start else 0
        end = min(len(texts), int(np.searchsorted(ends, before + size)) + 1)
        yield texts[start:end]
        start = end


class _Piece(NamedTuple):
    """One block of texts, cut into words."""

    data: np.ndarray  # the bytes
    words_before: np.ndarray  # how many words end before each document does
    codes: np.ndarray  # each word's number within the block
    keys: np.ndarray  # key of each distinct word
    starts: np.ndarray  # where each distinct word first stands
    sizes: np.ndarray  # its length in bytes
    eights: np.ndarray  # the first and the second eight bytes of those that are hashed


class _Lexicon:
    """What becomes of each distinct word, decided once.

    Words are entries, numbered as they are met. `term` holds the term number of each entry, -1 where the
    word is dropped, and below that ``-1 - n`` where it gives the terms ``several[n - 1]``.
    """

    def __init__(self, tokenizer: Tokenizer, vocab: dict[str, int]):
        self.tokenizer, self.vocab = tokenizer, vocab
        self.keys = np.empty(0, dtype=np.uint64)
        self.spelling: list[str] = []
        self.term = np.empty(0, dtype=np.int64)
        self.several: list[tuple[int, ...]] = []
        self.one_to_one = True  # whether no word has given several terms, and no two have given one

    def learn(self, keys: np.ndarray, words: list[str]) -> None:
        """Take in words that are new."""
        self.keys = np.concatenate([self.keys, keys])
        self.spelling += words
        t = self.tokenizer
        if t.stem is None and (t.pattern or not has_unspaced("\0".join(words))):
            terms = self._number(words)
        else:
            self.one_to_one = False
            terms = np.array([self._terms(word) for word in words], dtype=np.int64)
        self.term = np.concatenate([self.term, terms])

    def _number(self, words: list[str]) -> np.ndarray:
        """Number words that are their own terms, new ones in order; -1 for those that are dropped."""
        dropped, shortest, vocab = self.tokenizer.dropped, self.tokenizer.min_length, self.vocab
        kept = np.fromiter(map(len, words), dtype=np.int64, count=len(words)) >= shortest
        for word in dropped.intersection(words):
            kept[words.index(word)] = False
        tokens = list(compress(words, kept.tolist()))
        numbers = np.full(len(tokens), -1)
        if vocab:
            numbers[:] = list(map(vocab.get, tokens, repeat(-1)))
        new = numbers < 0
        vocab.update(zip(compress(tokens, new.tolist()), count(len(vocab))))
        numbers[new] = np.arange(len(vocab) - np.count_nonzero(new), len(vocab))
        terms = np.full(len(words), -1, dtype=np.int64)
        terms[kept] = numbers
        return terms

    def _terms(self, word: str) -> int:
        t, vocab = self.tokenizer, self.vocab
        parts = [word] if t.pattern or word.isascii() else split_unspaced(word)
        tokens = [t.stem(part) if t.stem else part for part in parts if part not in t.dropped]
        terms = tuple(vocab.setdefault(token, len(vocab)) for token in tokens if len(token) >= t.min_length)
        if len(terms) <= 1:
            return terms[0] if terms else -1
        self.several.append(terms)
        return -1 - len(self.several)


def _count_group(texts: Sequence[str], lexicon: _Lexicon) -> Counts | None:
    """Count one group of blocks; None if two different words have one hash."""
    pieces = []
    for part in _portions(texts, _BLOCK):
        piece = _cut(part, lexicon.tokenizer)
        if piece is None:
            return None
        pieces.append(piece)
    entries = _entries(pieces, lexicon)
    if entries is None:
        return None
    blocks, lengths, at = [], [], 0
    for piece in pieces:
        ids, numbers, sizes = _spread(piece, entries[at : at + len(piece.keys)], lexicon)
        at += len(piece.keys)
        lengths.append(sizes.astype(np.int32))
        block = postings_of(ids, lengths[-1])
        blocks.append(block._replace(terms=numbers[block.terms].astype(np.int32)))
    return Counts(blocks, np.concatenate(lengths), [len(part) for part in lengths])


def _cut(texts: Sequence[str], tokenizer: Tokenizer) -> _Piece | None:
    """Cut one block of texts into words and number them; None if two different words have one hash."""
    data = _word_bytes(texts, tokenizer)
    ends = np.flatnonzero(data == _END)
    if len(ends) != len(texts):  # a NUL inside a text looks like its end
        return _cut([text.replace("\0", " ") for text in texts], tokenizer)
    in_word = data > _END
    edges = np.flatnonzero(in_word[1:] != in_word[:-1])
    starts = edges[::2] + 1
    sizes = edges[1::2] + 1 - starts
    keys, long, eights = _keys(data, starts, sizes)
    codes, distinct = pd.factorize(keys, size_hint=len(keys) // 4)  # a table that need not grow
    first_long = _first_rows(codes[long], len(distinct))
    if not _same_words(data, starts[long], sizes[long], eights, first_long[codes[long]]):
        return None
    first, words_before = _first_rows(codes, len(distinct)), np.searchsorted(starts, ends)
    eights = eights[:, first_long[first_long >= 0]]
    return _Piece(data, words_before, codes.astype(np.int32), distinct, starts[first], sizes[first], eights)


def _first_rows(codes: np.ndarray, n: int) -> np.ndarray:
    """Find the first row of each code; -1 for a code that does not occur."""
    first = np.full(n, -1, dtype=np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return first


def _entries(pieces: list[_Piece], lexicon: _Lexicon) -> np.ndarray | None:
    """Find the entry of each piece's distinct words, new ones taken in; None if a hash means two words."""
    known = len(lexicon.keys)
    codes, distinct = pd.factorize(np.concatenate([lexicon.keys, *(piece.keys for piece in pieces)]))
    entries, keys = codes[known:], distinct[codes[known:]]
    offsets = np.cumsum([0] + [len(piece.data) for piece in pieces])
    data = np.concatenate([piece.data for piece in pieces])
    starts = np.concatenate([piece.starts + offset for piece, offset in zip(pieces, offsets)])
    sizes = np.concatenate([piece.sizes for piece in pieces])
    first = _first_rows(entries, len(distinct))
    hashed = np.flatnonzero(keys >= _TOP)
    eights, words = np.concatenate([piece.eights for piece in pieces], axis=1), entries[hashed]
    others = _first_rows(words, len(distinct))[words]
    if not _same_words(data, starts[hashed], sizes[hashed], eights, others):
        return None
    old = np.flatnonzero((lexicon.keys >= _TOP) & (first[:known] >= 0))
    if _spell(data, starts, sizes, first[old]) != [lexicon.spelling[entry] for entry in old.tolist()]:
        return None
    lexicon.learn(distinct[known:], _spell(data, starts, sizes, first[known:]))
    return entries


def _spell(data: np.ndarray, starts: np.ndarray, sizes: np.ndarray, rows: np.ndarray) -> list[str]:
    """Give some words as strings, which end where a byte that belongs to no word stands."""
    if not len(rows):
        return []
    ends = np.cumsum(sizes[rows] + 1)
    at = np.repeat(starts[rows] - (ends - sizes[rows] - 1), sizes[rows] + 1) + np.arange(ends[-1])
    letters = data[at]
    letters[ends - 1] = _GAP
    return letters[:-1].tobytes().decode("utf-8", "surrogatepass").split("\0")


def _word_bytes(texts: Sequence[str], tokenizer: Tokenizer) -> np.ndarray:
    """Join texts and level them; gaps become 0, ends of documents 1. Padded for eight-byte reads."""
    joined = "\0".join(texts) + "\0"
    plain = joined.isascii()  # then the table levels case on the way, and nothing else need be levelled
    if not plain:
        joined = tokenizer.normalize(joined)
        if not tokenizer.pattern and not joined.isascii():
            joined = _blank_out(joined)
    table = _TABLES[tokenizer.pattern is not None, plain and tokenizer.case is not None]
    return np.frombuffer(
        b"\0" + joined.encode("utf-8", "surrogatepass").translate(table) + b"\0" * 16, dtype=np.uint8
    )


def _byte_table(keep: Callable[[str], bool], lower: bool) -> bytes:
    """Map a byte of words to itself or its small letter, NUL, the end of a document, to 1, others to 0."""
    levelled = [chr(byte).lower() if lower and byte < 128 else chr(byte) for byte in range(1, 256)]
    return bytes([_END] + [ord(letter) if keep(letter) else _GAP for letter in levelled])


# By whether words are those of Tokenizer.ascii(), and whether case is still to be levelled.
_TABLES = {
    (ascii_words, lower): _byte_table(
        "abcdefghijklmnopqrstuvwxyz0123456789".__contains__
        if ascii_words
        else lambda letter: letter >= "\x80" or is_word_character(letter),
        lower,
    )
    for ascii_words in (False, True)
    for lower in (False, True)
}

# What kind each character is: 0 not yet known, 1 part of words, 2 not. It fills as characters are met.
_KINDS = np.zeros(0x110000, dtype=np.uint8)


def _blank_out(text: str) -> str:
    """Turn every character that belongs to no word into a blank, except NUL."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4").copy()
    kinds = _KINDS[codes]
    if not kinds.all():
        for code in np.unique(codes[kinds == 0]).tolist():
            _KINDS[code] = 1 if is_word_character(chr(code)) or code == 0 else 2
        kinds = _KINDS[codes]
    codes[kinds == 2] = 32
    return codes.tobytes().decode("utf-32-le", "surrogatepass")


_MASKS = np.array([(1 << 8 * size) - 1 for size in range(9)], dtype=np.uint64)
_TOP = np.uint64(1 << 63)


def _eights(data: np.ndarray) -> np.ndarray:
    """View bytes as the 64-bit number that starts at each of them."""
    return np.ndarray((len(data) - 7,), "<u8", data, strides=(1,))


def _keys(
    data: np.ndarray, starts: np.ndarray, sizes: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Give each word a number: its bytes where eight hold it, else a hash, marked by the top bit.

    Gives besides which words are hashed, and the first and the second eight bytes of those.
    """
    eights = _eights(data)
    keys = eights[starts] & _MASKS.take(sizes, mode="clip")
    long = np.flatnonzero((sizes > 8) | (keys >= _TOP))  # eight bytes that end beyond ASCII look like a hash
    first, at, left = keys[long], starts[long] + 8, sizes[long] - 8
    second = eights[at] & _MASKS.take(left, mode="clip")
    hashes = _mix(_mix(first) ^ second)
    more = np.flatnonzero(left > 8)
    while len(more):
        at[more] += 8
        left[more] -= 8
        hashes[more] = _mix(hashes[more] ^ eights[at[more]] & _MASKS.take(left[more], mode="clip"))
        more = more[left[more] > 8]
    keys[long] = hashes | _TOP
    return keys, long, np.array([first, second])


def _mix(x: np.ndarray) -> np.ndarray:
    """Spread every bit over the number (the finaliser of MurmurHash3)."""
    x = (x ^ (x >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    x = (x ^ (x >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    return x ^ (x >> np.uint64(33))


def _same_words(
    data: np.ndarray, starts: np.ndarray, sizes: np.ndarray, eights: np.ndarray, others: np.ndarray
) -> bool:
    """Say whether each hashed word is spelt like its partner among them; `eights` are their first bytes."""
    if not all(np.array_equal(own, own[others]) for own in (sizes, *eights)):
        return False
    longer = np.flatnonzero(sizes > 16)
    a, b, left = starts[longer] + 16, starts[others[longer]] + 16, sizes[longer] - 16
    eights = _eights(data)
    while len(a):
        if ((eights[a] ^ eights[b]) & _MASKS.take(left, mode="clip")).any():
            return False
        more = left > 8
        a, b, left = a[more] + 8, b[more] + 8, left[more] - 8
    return True


def _spread(
    piece: _Piece, entries: np.ndarray, lexicon: _Lexicon
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Replace each word by its terms.

    Gives the terms as numbers within the block, the vocabulary's number of each of those, and how many
    terms each document has.
    """
    terms, codes = lexicon.term[entries], piece.codes
    if lexicon.one_to_one:
        numbers = terms[terms >= 0]
        local = np.cumsum(terms >= 0, dtype=np.int32) - 1
        if len(numbers) == len(terms):
            return local[codes], numbers, np.diff(piece.words_before, prepend=0)
        local[terms < 0] = -1
        ids = local[codes]
        kept = ids >= 0
        ends = np.cumsum(kept, dtype=np.int32)
        return ids[kept], numbers, np.diff(np.append(ends, 0)[piece.words_before - 1], prepend=0)
    return _spread_several(piece, terms, lexicon)


def _spread_several(
    piece: _Piece, terms: np.ndarray, lexicon: _Lexicon
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Do what `_spread` does where words may share a term or give several."""
    lists = [lexicon.several[-2 - t] if t < -1 else (t,) if t >= 0 else () for t in terms.tolist()]
    widths = np.array([len(several) for several in lists], dtype=np.int64)
    flat = np.array([t for several in lists for t in several], dtype=np.int64)
    local, numbers = pd.factorize(flat)
    each = widths[piece.codes]
    ends = np.zeros(len(each) + 1, dtype=np.int64)
    np.cumsum(each, out=ends[1:])
    at = np.repeat((np.cumsum(widths) - widths)[piece.codes] - ends[:-1], each) + np.arange(ends[-1])
    return local.astype(np.int32)[at], numbers, np.diff(ends[piece.words_before], prepend=0)
