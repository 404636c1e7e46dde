"""Plots: a frame in, matplotlib Axes out. Nothing is computed here that is not in the frame."""

from ragkit.plot.comparison import compare
from ragkit.plot.diversity import tradeoff
from ragkit.plot.ranks import bump, contributions

__all__ = ["bump", "compare", "contributions", "tradeoff"]
