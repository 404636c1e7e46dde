"""Experiments: what separates systems, which settings are best, and how sure that is."""

from ragkit.experiment.comparison import compare, per_query
from ragkit.experiment.sweeping import sweep
from ragkit.experiment.tuning import Tuned, tune

__all__ = ["Tuned", "compare", "per_query", "sweep", "tune"]
