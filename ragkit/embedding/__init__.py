"""Embedders: callables from a list of texts to an array of vectors."""

from ragkit.text.lsa import LSAEmbedder

__all__ = ["LSAEmbedder"]
