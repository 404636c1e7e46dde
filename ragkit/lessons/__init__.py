"""The exercises of the notebooks: a number is checked, a wrong one gets a hint, never the solution.

Solutions are not stored. Each is worked out with ragkit when an answer is checked.
"""

from ragkit.lessons.check import check, exercises

__all__ = ["check", "exercises"]
