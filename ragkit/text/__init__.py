"""Text as retrieval sees it: words, stop words, and the places where text may be cut."""

from ragkit.text.stop_words import STOP_WORDS
from ragkit.text.tokenizer import Tokenizer

__all__ = ["STOP_WORDS", "Tokenizer"]
