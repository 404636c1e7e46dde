"""A ruler under a slider: a mark wherever the result really changes, and buttons that go there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ragkit.widgets.controls import button, need_ipywidgets
from ragkit.widgets.stops import inside


def ruler(edges: Sequence[float], value: float, low: float = 0.0, high: float = 1.0) -> str:
    """Draw the marks of a ruler, and the stretch around `value` in which nothing changes.

    Parameters
    ----------
    edges : sequence of float
        Where the result changes.
    value : float
        Where the slider stands.
    low, high : float
        The slider's range.

    Returns
    -------
    str
        HTML.
    """
    marks = np.unique([e for e in edges if low < e < high])
    span = high - low
    left = max((m for m in marks if m <= value), default=low)
    right = min((m for m in marks if m > value), default=high)
    ticks = "".join(
        f'<i style="position:absolute;left:{(m - low) / span:.3%};top:0;height:9px;border-left:1px solid" '
        f'title="changes at {m:.4g}"></i>'
        for m in marks
    )
    text = f"{len(marks)} changes; the result is the same from {left:.4g} to {right:.4g}"
    return (
        f'<div class="rk-panel rk-ruler" role="img" aria-label="{text}" title="{text}" '
        'style="position:relative;height:10px;border-top:1px solid rgba(127,127,127,.5)">'
        f'<i style="position:absolute;left:{(left - low) / span:.3%};width:{(right - left) / span:.3%};'
        f'top:0;height:9px;background:rgba(0,114,178,.35)"></i>{ticks}</div>'
    )


class Ruler:
    """The ruler of one slider, whose handle snaps to the marks.

    Parameters
    ----------
    slider : Number
        The slider that it lies under.
    label : int
        Width of the slider's label in pixels, for the marks to stand under its track.
    """

    def __init__(self, slider: Any, label: int):
        W = need_ipywidgets()
        self._slider = slider
        self.edges: list[float] = []
        self.html = W.HTML(layout=W.Layout(flex="1 1 auto", width="auto", margin="0 8px 0 16px"))
        back = button("◀", tooltip="To the next lower value at which the result changes", width="30px")
        on = button("▶", tooltip="To the next higher value at which the result changes", width="30px")
        back.on_click(lambda _: self.step(-1))
        on.on_click(lambda _: self.step(+1))
        for key in (back, on):
            key.layout.height = "22px"
            key.layout.padding = "0"
        self.widget = W.HBox(
            [
                W.HBox(
                    [back], layout=W.Layout(width=f"{label}px", justify_content="flex-end", flex="0 0 auto")
                ),
                self.html,
                W.HBox([on], layout=W.Layout(width="64px", flex="0 0 auto")),
            ],
            layout=W.Layout(align_items="center", overflow="visible"),
        )

    def show(self, edges: Sequence[float] | None) -> None:
        """Draw new marks.

        Parameters
        ----------
        edges : sequence of float or None
            Where the result changes; None where there is nothing to mark, and the ruler goes out of sight.
        """
        self.widget.layout.visibility = "hidden" if edges is None else "visible"
        if edges is None:
            self.release()
            return
        self.edges = sorted({float(e) for e in edges})
        self._slider.marks[self] = self.edges
        self.html.value = ruler(self.edges, self._slider.value, self._slider.min, self._slider.max)

    def release(self) -> None:
        """Let the slider move freely."""
        self._slider.marks.pop(self, None)

    def step(self, by: int) -> None:
        """Move the slider into the stretch before or after the one it stands in.

        Parameters
        ----------
        by : {-1, +1}
            Down or up.
        """
        low, high = self._slider.min, self._slider.max
        bounds = [low, *(e for e in self.edges if low < e < high), high]
        at = sum(b <= self._slider.value for b in bounds[1:-1])
        to = at + by
        if 0 <= to < len(bounds) - 1:
            self._slider.value = inside(bounds[to], bounds[to + 1])
