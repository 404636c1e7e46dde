"""Chunking: documents cut into exact slices of themselves, and ways to see and judge the result."""

from ragkit.chunking.build import chunk
from ragkit.chunking.html import show_chunks
from ragkit.chunking.report import chunk_report
from ragkit.chunking.semantic import breakpoints

__all__ = ["breakpoints", "chunk", "chunk_report", "show_chunks"]
