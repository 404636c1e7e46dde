"""The lab: sliders for every knob of a hybrid search and what they lead to."""

from ragkit.widgets.lab.opening import explore
from ragkit.widgets.lab.screen import Lab, start_weights

__all__ = ["Lab", "explore", "start_weights"]
