"""Vector search: exact, in memory, in blocks."""

from ragkit.vectors.store import VectorStore

__all__ = ["VectorStore"]
