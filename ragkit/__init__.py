"""ragkit: explore retrieval in a notebook.

Functions take and return tidy DataFrames. The names below are the whole public API; `ragkit.plot` and
`ragkit.widgets` load when they are first used.
"""

from __future__ import annotations

import importlib
from typing import Any

from ragkit.bm25 import KeywordIndex
from ragkit.chunking import breakpoints, chunk, chunk_report, show_chunks
from ragkit.datasets import (
    Dataset,
    drop_self,
    from_ir_datasets,
    list_datasets,
    load_dataset,
    read_docs,
    read_qrels,
    read_queries,
    read_run,
    save_dataset,
    to_dict,
    to_tuples,
    write_qrels,
    write_queries,
    write_run,
)
from ragkit.diversity import (
    describe,
    diversify,
    diversity_report,
    lambda_for,
    mmr,
    mmr_path,
)
from ragkit.embedding import (
    CachedEmbedder,
    FastEmbedEmbedder,
    HashingEmbedder,
    HTTPEmbedder,
    LangChainEmbedder,
    LSAEmbedder,
    Model2VecEmbedder,
    OnnxEmbedder,
    SentenceTransformerEmbedder,
    TableEmbedder,
    installed_minilm,
)
from ragkit.experiment import (
    Tuned,
    compare,
    per_query,
    sweep,
    tune,
)
from ragkit.explain import (
    check,
    explain,
    funnel,
    funnel_stages,
)
from ragkit.frames import (
    RetrievalWarning,
    as_docs,
    as_qrels,
    as_queries,
    as_run,
    best_per_doc,
    rank_by_score,
    show,
)
from ragkit.fusion import (
    compare_dialects,
    dialect,
    dialects,
    fuse,
    fuse_variants,
    run_diff,
    run_overlap,
)
from ragkit.hybrid import (
    HybridSearch,
    best_weight,
    best_weights,
    flip,
    mean_path,
    weight_path,
    weight_simplex,
)
from ragkit.metrics import (
    evaluate,
    metric_table,
    precision_recall,
)
from ragkit.metrics.chunks import score_chunks
from ragkit.rerank import cross_encoder_scorer, expand, format_context, rerank, rerankers_scorer
from ragkit.text import Tokenizer
from ragkit.vectors import VectorStore

__version__ = "0.1.0"

__all__ = [
    "CachedEmbedder",
    "Dataset",
    "FastEmbedEmbedder",
    "HTTPEmbedder",
    "HashingEmbedder",
    "HybridSearch",
    "KeywordIndex",
    "LSAEmbedder",
    "LangChainEmbedder",
    "Model2VecEmbedder",
    "OnnxEmbedder",
    "RetrievalWarning",
    "SentenceTransformerEmbedder",
    "TableEmbedder",
    "Tokenizer",
    "Tuned",
    "VectorStore",
    "as_docs",
    "as_qrels",
    "as_queries",
    "as_run",
    "best_per_doc",
    "best_weight",
    "best_weights",
    "breakpoints",
    "check",
    "chunk",
    "chunk_report",
    "compare",
    "compare_dialects",
    "cross_encoder_scorer",
    "describe",
    "dialect",
    "dialects",
    "diversify",
    "diversity_report",
    "drop_self",
    "evaluate",
    "expand",
    "explain",
    "flip",
    "format_context",
    "from_ir_datasets",
    "funnel",
    "funnel_stages",
    "fuse",
    "fuse_variants",
    "installed_minilm",
    "lambda_for",
    "list_datasets",
    "load_dataset",
    "mean_path",
    "metric_table",
    "mmr",
    "mmr_path",
    "per_query",
    "precision_recall",
    "rank_by_score",
    "read_docs",
    "read_qrels",
    "read_queries",
    "read_run",
    "rerank",
    "rerankers_scorer",
    "run_diff",
    "run_overlap",
    "save_dataset",
    "score_chunks",
    "show",
    "show_chunks",
    "sweep",
    "to_dict",
    "to_tuples",
    "tune",
    "weight_path",
    "weight_simplex",
    "write_qrels",
    "write_queries",
    "write_run",
]

# Modules that bring matplotlib or ipywidgets with them, and the names that live there.
_LAZY = {"lessons": "ragkit.lessons", "plot": "ragkit.plot", "widgets": "ragkit.widgets"}
_LAZY_NAMES = {"explore": "ragkit.widgets"}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return importlib.import_module(_LAZY[name])
    if name in _LAZY_NAMES:
        return getattr(importlib.import_module(_LAZY_NAMES[name]), name)
    from ragkit.frames.messages import closest

    near = None if name.startswith("_") else closest(name, [*__all__, *_LAZY, *_LAZY_NAMES])
    raise AttributeError(
        f"module 'ragkit' has no attribute {name!r}" + (f"; did you mean {near!r}?" if near else ""),
        name=name,
    )


def __dir__() -> list[str]:
    return sorted([*__all__, *_LAZY, "__version__"])
