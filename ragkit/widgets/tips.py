"""Tooltips of controls for which the front end shows none."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import ipywidgets as W
from traitlets import Unicode


class Tip(W.Box):
    """A control with its tooltip around it, and no other effect on where it stands.

    The front end shows the tooltip of sliders and buttons. Of lists, boxes of text and boxes to tick it shows
    one only where they have no label.

    Parameters
    ----------
    control : widget
        A control with a tooltip.
    """

    description = Unicode("").tag(sync=True)  # what has a tooltip is asked for its label

    def __init__(self, control: Any):
        super().__init__([control], tooltip=control.tooltip, layout=W.Layout(display="contents"))
        self.add_class("rk-tip")


def with_tips(widgets: Iterable[Any]) -> list[Any]:
    """Put the controls that need it into a :class:`Tip`, wherever they stand.

    Parameters
    ----------
    widgets : iterable of widget
        A layout; the children of its boxes are replaced.

    Returns
    -------
    list of widget
        The layout.
    """
    return [_with_tip(widget) for widget in widgets]


def _with_tip(widget: Any) -> Any:
    if isinstance(widget, W.Box):
        if not isinstance(widget, Tip):  # of a control that two panels share
            widget.children = with_tips(widget.children)
        return widget
    shown = isinstance(widget, (W.Button, W.ToggleButton, W.IntSlider, W.FloatSlider))
    return widget if shown or not getattr(widget, "description", "") or not widget.tooltip else Tip(widget)
