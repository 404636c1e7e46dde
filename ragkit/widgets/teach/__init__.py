"""Teaching panels, each about one idea and small enough for a projector."""

from ragkit.widgets.teach.bm25 import TuneBM25, tune_bm25
from ragkit.widgets.teach.chunks import TuneChunks, tune_chunks
from ragkit.widgets.teach.diversity import TuneMMR, tune_mmr
from ragkit.widgets.teach.fusion import TuneFusion, tune_fusion
from ragkit.widgets.teach.judge import Judge, judge
from ragkit.widgets.teach.tokens import TuneTokens, tune_tokens
from ragkit.widgets.teach.vectors import SimilarityLab, similarity_lab

__all__ = [
    "Judge",
    "SimilarityLab",
    "TuneBM25",
    "TuneChunks",
    "TuneFusion",
    "TuneMMR",
    "TuneTokens",
    "judge",
    "similarity_lab",
    "tune_bm25",
    "tune_chunks",
    "tune_fusion",
    "tune_mmr",
    "tune_tokens",
]
