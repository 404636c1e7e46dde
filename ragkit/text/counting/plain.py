"""The plain road: any tokenizer, called text by text."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from ragkit.text.counting.blocks import Counts, postings_of


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
    blocks = [postings_of(np.array(ids, dtype=np.int32), sizes)] if len(sizes) else []
    return Counts(blocks, sizes, [len(sizes)] * len(blocks))
