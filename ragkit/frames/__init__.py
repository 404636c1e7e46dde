"""The data model: tidy frames known by their columns, coerced once at the door.

Everything between two functions of ragkit is one of these frames; a *unit* is a chunk where ``chunk_id``
is present, else a document.
"""

from ragkit.frames.checks import check_choice, check_frame, check_number, check_top_k
from ragkit.frames.coerce import as_docs, as_qrels, as_queries, as_run, deep_copy, empty_run
from ragkit.frames.ids import as_ids, check_unique, id_array
from ragkit.frames.messages import RetrievalWarning, some, warn
from ragkit.frames.ranking import (
    group_codes,
    rank_by_score,
    ranks_within,
    round_significant,
    tie_order,
    unit_column,
    with_column,
)
from ragkit.frames.runs import best_per_doc
from ragkit.frames.show import show
from ragkit.frames.where import where_mask

__all__ = [
    "RetrievalWarning",
    "as_docs",
    "as_ids",
    "as_qrels",
    "as_queries",
    "as_run",
    "best_per_doc",
    "check_choice",
    "check_frame",
    "check_number",
    "check_top_k",
    "check_unique",
    "deep_copy",
    "empty_run",
    "group_codes",
    "id_array",
    "rank_by_score",
    "ranks_within",
    "round_significant",
    "show",
    "some",
    "tie_order",
    "unit_column",
    "warn",
    "where_mask",
    "with_column",
]
