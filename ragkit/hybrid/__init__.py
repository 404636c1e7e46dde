"""Hybrid search: keyword and vector search, fusion and MMR behind one call; the weight axis, exactly."""

from ragkit.hybrid.flips import flip
from ragkit.hybrid.search import WEIGHTS, HybridSearch
from ragkit.hybrid.weights import best_weight, mean_path, weight_path

__all__ = ["WEIGHTS", "HybridSearch", "best_weight", "flip", "mean_path", "weight_path"]
