"""Panels: sliders over the functions of ragkit, and what they lead to.

Every number is set in two ways. The handle is dragged, or moved with the arrow keys, in steps; the box beside
it holds the exact number and takes any other that is typed in its range. The box is also the way for screen
readers: it is called as its parameter is, while ipywidgets gives a handle no name and tells its place to one
decimal only; and the way in Notebook 7, which keeps the arrow keys for itself.

Where a ruler lies under a slider, its marks are the values at which the result really changes. A handle that
comes to within 1 % of the axis before a mark is carried over it, to the roundest number just past it: on the
mark itself two results tie. So each side of a mark is reached by coming from the other, and a stretch between
two steps is stopped at too. ◀ and ▶ go from stretch to stretch. What is typed, and what code sets, is taken
as it is.
"""

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
