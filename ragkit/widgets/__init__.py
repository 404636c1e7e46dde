"""Panels: sliders over the functions of ragkit, and what they lead to."""

from ragkit.widgets.lab import Lab, explore
from ragkit.widgets.panel import Panel
from ragkit.widgets.teach import (
    judge,
    similarity_lab,
    tune_bm25,
    tune_chunks,
    tune_fusion,
    tune_mmr,
    tune_tokens,
)

__all__ = [
    "Lab",
    "Panel",
    "explore",
    "judge",
    "similarity_lab",
    "tune_bm25",
    "tune_chunks",
    "tune_fusion",
    "tune_mmr",
    "tune_tokens",
]
