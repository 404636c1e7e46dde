"""Fusion: any number of runs into one, by rank or by score, with the account of every score."""

from ragkit.fusion.dialects import compare_dialects, dialect, dialects
from ragkit.fusion.diff import run_diff, run_overlap
from ragkit.fusion.fuse import fuse
from ragkit.fusion.variants import fuse_variants

__all__ = ["compare_dialects", "dialect", "dialects", "fuse", "fuse_variants", "run_diff", "run_overlap"]
