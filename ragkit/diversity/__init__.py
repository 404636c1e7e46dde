"""Diversity: rerank a run so that its head is relevant and does not repeat itself."""

from ragkit.diversity.diversify import diversify
from ragkit.diversity.mmr import mmr
from ragkit.diversity.order import mmr_of_query, mmr_order
from ragkit.diversity.path import mmr_intervals, mmr_path, mmr_sweep
from ragkit.diversity.report import describe, diversity_report
from ragkit.diversity.story import lambda_for

__all__ = [
    "describe",
    "diversify",
    "diversity_report",
    "lambda_for",
    "mmr",
    "mmr_intervals",
    "mmr_of_query",
    "mmr_order",
    "mmr_path",
    "mmr_sweep",
]
