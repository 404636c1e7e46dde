"""Counting words: from texts to postings, without a Python object per word where that can be avoided.

Two roads give the same counts. The plain one calls a tokenizer text by text and serves any callable. The
fast one serves :class:`ragkit.Tokenizer`: everything after the split into words is a function of the word
alone, so each distinct word is stemmed, dropped or cut up once, however often it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ragkit.text.counting.blocks import Block, Counts, assemble
from ragkit.text.counting.fast import ASCII_WORDS, count_fast
from ragkit.text.counting.plain import count_plain
from ragkit.text.tokenizer import Tokenizer

__all__ = ["Block", "Counts", "assemble", "count_fast", "count_plain", "count_words"]


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
    if type(tokenizer) is Tokenizer and tokenizer.pattern in (None, ASCII_WORDS):  # a subclass may do more
        return count_fast(texts, tokenizer, vocab)
    return count_plain(texts, tokenizer, vocab)
