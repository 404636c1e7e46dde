"""Hybrid search: keyword and vector search, fusion and MMR behind one call."""

from ragkit.hybrid.search import WEIGHTS, HybridSearch

__all__ = ["WEIGHTS", "HybridSearch"]
