"""Explanations: why this score, why this rank, where a document was lost."""

from ragkit.explain.score import explain

__all__ = ["explain"]
