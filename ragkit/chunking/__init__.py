"""Chunking: documents cut into exact slices of themselves."""

from ragkit.chunking.build import chunk

__all__ = ["chunk"]
