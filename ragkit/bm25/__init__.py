"""Keyword search: BM25 and its relatives over raw counts."""

from ragkit.bm25.formulas import VARIANT_NAMES, VARIANTS, dirichlet_weight, term_weight
from ragkit.bm25.index import KeywordIndex

__all__ = ["VARIANTS", "VARIANT_NAMES", "KeywordIndex", "dirichlet_weight", "term_weight"]
