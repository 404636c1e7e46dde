"""Hybrid search: keyword and vector search, fusion and MMR behind one call; the weight axis, exactly."""

from ragkit.hybrid.flips import flip
from ragkit.hybrid.means import best_weight, mean_path
from ragkit.hybrid.optimum import best_weights, weight_simplex
from ragkit.hybrid.search import WEIGHTS, HybridSearch
from ragkit.hybrid.weights import weight_path

__all__ = [
    "WEIGHTS",
    "HybridSearch",
    "best_weight",
    "best_weights",
    "flip",
    "mean_path",
    "weight_path",
    "weight_simplex",
]
