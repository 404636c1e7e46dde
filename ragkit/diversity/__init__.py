"""Diversity: rerank a run so that its head is relevant and does not repeat itself."""

from ragkit.diversity.mmr import mmr, mmr_order

__all__ = ["mmr", "mmr_order"]
