"""Chunking: documents cut into exact slices of themselves, and ways to see and judge the result."""

from ragkit.chunking.build import chunk
from ragkit.chunking.semantic import breakpoints

__all__ = ["breakpoints", "chunk"]
