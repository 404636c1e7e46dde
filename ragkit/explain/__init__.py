"""Explanations: why this score, why this rank, where a document was lost."""

from ragkit.explain.funnel import funnel, funnel_stages
from ragkit.explain.score import explain
from ragkit.explain.traps import check

__all__ = ["check", "explain", "funnel", "funnel_stages"]
