"""Plots: a frame in, matplotlib Axes out. Nothing is computed here that is not in the frame."""

from ragkit.plot.chunks import chunks
from ragkit.plot.comparison import compare
from ragkit.plot.diversity import lambda_ruler, tradeoff
from ragkit.plot.pool import map, similarity
from ragkit.plot.ranks import bump, contributions

__all__ = ["bump", "chunks", "compare", "contributions", "lambda_ruler", "map", "similarity", "tradeoff"]
