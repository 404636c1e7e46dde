"""Panels: sliders over the functions of ragkit, and what they lead to."""

from ragkit.widgets.lab import Lab, explore
from ragkit.widgets.panel import Panel

__all__ = ["Lab", "Panel", "explore"]
