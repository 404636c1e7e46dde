"""Metrics: how good is a ranking? Named ones, those of diversity, and functions of the user's own."""

from ragkit.metrics.curves import precision_recall
from ragkit.metrics.evaluation import evaluate, metric_table

__all__ = ["evaluate", "metric_table", "precision_recall"]
