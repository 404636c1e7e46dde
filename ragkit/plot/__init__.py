"""Plots: a frame in, matplotlib Axes out. Nothing is computed here that is not in the frame."""

from ragkit.plot.chunks import chunks
from ragkit.plot.comparison import compare
from ragkit.plot.curves import curves
from ragkit.plot.diversity import lambda_ruler, tradeoff
from ragkit.plot.evaluation import funnel, optimism, per_query, precision_recall
from ragkit.plot.overlap import overlap
from ragkit.plot.pool import map, similarity
from ragkit.plot.ranks import bump, contributions
from ragkit.plot.sweeps import sweep
from ragkit.plot.weights import weight_path, weight_simplex

__all__ = [
    "bump",
    "chunks",
    "compare",
    "contributions",
    "curves",
    "funnel",
    "lambda_ruler",
    "map",
    "optimism",
    "overlap",
    "per_query",
    "precision_recall",
    "similarity",
    "sweep",
    "tradeoff",
    "weight_path",
    "weight_simplex",
]
