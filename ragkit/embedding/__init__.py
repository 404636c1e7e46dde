"""Embedders: callables from a list of texts to an array of vectors."""

from ragkit.embedding.table import TableEmbedder
from ragkit.text.lsa import LSAEmbedder

__all__ = ["LSAEmbedder", "TableEmbedder"]
