"""Experiments: what separates systems, which settings are best, and how sure that is."""

from ragkit.experiment.comparison import compare, per_query

__all__ = ["compare", "per_query"]
