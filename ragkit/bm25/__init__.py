"""Keyword search: BM25 and its relatives over raw counts."""

from ragkit.bm25.formulas import VARIANTS, term_weight
from ragkit.bm25.index import KeywordIndex

__all__ = ["VARIANTS", "KeywordIndex", "term_weight"]
