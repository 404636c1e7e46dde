"""Telling whether a tokenizer or an embedder is the one a store was built with, by what it does."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

# Where tokenizers differ: case, stop words, inflection, marks, digits, joints, scripts without blanks.
PROBE = (
    "The Foxes were RUNNING and a fox is running, not to be used: it's Naïve café ÉCOLE Straße ﬁne "
    "cafe\u0301 "
    "3.14 v1.2 C++ x a1 snake_case camelCase well-known e-mail 本屋の雨 가나다 หนังสือ नमस्ते Привет ½ Å İ "
    "which would need above during themselves connection connected relational universities ponies"
)


def tokenizer_print(tokenizer: Callable[[str], Any]) -> str:
    """Fingerprint a tokenizer by the words it makes of a text on which tokenizers differ.

    Parameters
    ----------
    tokenizer : callable
        ``str -> list of str``.

    Returns
    -------
    str
        The same for two tokenizers that treat the text alike.
    """
    words = json.dumps(list(tokenizer(PROBE)), ensure_ascii=True)
    return hashlib.sha256(words.encode()).hexdigest()[:16]
