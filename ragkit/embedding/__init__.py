"""Embedders: callables from a list of texts to an array of vectors.

Any such callable will do; these are the ones at hand. What needs a library imports it when it is made.
"""

from ragkit.embedding.adapters import (
    FastEmbedEmbedder,
    LangChainEmbedder,
    Model2VecEmbedder,
    SentenceTransformerEmbedder,
)
from ragkit.embedding.cached import CachedEmbedder
from ragkit.embedding.hashing import HashingEmbedder
from ragkit.embedding.http import HTTPEmbedder
from ragkit.embedding.installed import installed_minilm
from ragkit.embedding.onnx import OnnxEmbedder
from ragkit.embedding.table import TableEmbedder
from ragkit.embedding.wordpiece import WordPiece
from ragkit.text.lsa import LSAEmbedder

__all__ = [
    "CachedEmbedder",
    "FastEmbedEmbedder",
    "HTTPEmbedder",
    "HashingEmbedder",
    "LSAEmbedder",
    "LangChainEmbedder",
    "Model2VecEmbedder",
    "OnnxEmbedder",
    "SentenceTransformerEmbedder",
    "TableEmbedder",
    "WordPiece",
    "installed_minilm",
]
