"""A number that is dragged or typed: a handle that moves in steps, and a box that is exact."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import ipywidgets as W
from traitlets import Any as AnyTrait
from traitlets import Bool, TraitError, observe, validate

from ragkit.widgets.stops import snap

_DIGITS = 6  # decimals of a value: finer differences are the noise of binary fractions


class Number(W.HBox):
    """A slider without a readout and, beside it, a box with the exact number.

    The front end of a slider rounds every value to its step and sends the rounding back, so that no slider
    can hold an exact number and move in handy steps too; and the handle has no name that a screen reader
    could say. The box makes up for both: it holds `value` as it is, takes any number that is typed, and a
    screen reader says its name. The handle stands at the nearest of its own steps, and is moved by a person
    or by `value`, never by what its own move led to.

    Parameters
    ----------
    name : str
        The parameter.
    value : float
        Where it starts; the range widens to hold it.
    low, high, step : float
        Range, and step of the handle.
    tooltip : str
        What it does and which way it goes.
    whole : bool, default=False
        Whether it is a whole number.
    digits : int, default=0
        Decimals shown; more where `value` has more.

    Attributes
    ----------
    value : float or int
        The number.
    marks : dict of object to sequence of float
        Where a result changes, by whoever marks it: the handle snaps to them, as :func:`snap` says. What is
        typed or set by code does not.
    """

    value = AnyTrait()
    disabled = Bool(False)

    def __init__(
        self,
        name: str,
        value: float,
        *,
        low: float,
        high: float,
        step: float,
        tooltip: str,
        whole: bool = False,
        digits: int = 0,
    ):
        self.whole, self.digits = whole, digits
        self.marks: dict[Any, Sequence[float]] = {}
        self._in_hand = False
        self.handle = (W.IntSlider if whole else W.FloatSlider)(
            min=min(low, value),
            max=max(high, value),
            step=step,
            description=name,
            tooltip=tooltip,
            readout=False,
            layout=W.Layout(flex="1 1 auto", width="auto", min_width="0"),
        )
        self.box = W.Text(
            continuous_update=False,
            description=name,  # read aloud and not seen: the handle has the label that is seen
            tooltip=f"{name}, exactly: type a number",
            style={"description_width": "0px"},
            layout=W.Layout(flex="0 0 auto", width="60px"),
        )
        self.box.add_class("rk-exact")
        self._at = self.handle.value
        row = W.Layout(width="auto", height="32px", margin="0", align_items="center")
        super().__init__([self.handle, self.box], layout=row)
        self.value = value
        self.handle.observe(self._dragged, "value")
        self.box.observe(self._typed, "value")

    @property
    def description(self) -> str:
        """The label."""
        return str(self.handle.description)

    @property
    def tooltip(self) -> str:
        """What it does; the handle shows it, for the page cannot show that of a row."""
        return str(self.handle.tooltip)

    @property
    def style(self) -> Any:
        """The style of the label."""
        return self.handle.style

    @property
    def min(self) -> Any:
        """The lowest number."""
        return self.handle.min

    @property
    def max(self) -> Any:
        """The highest number."""
        return self.handle.max

    @property
    def text(self) -> str:
        """The number as the box shows it: with as many decimals as it needs."""
        digits = self.digits if not self.whole else 0
        return f"{self.value:.{decimals(self.value, digits)}f}"

    @validate("value")
    def _fit(self, proposal: Any) -> Any:
        """Keep a number in its range and free of the noise of binary fractions."""
        value = float(proposal["value"])
        if not math.isfinite(value):
            raise TraitError(f"{self.description} needs a number; got {value}.")
        value = min(max(value, self.min), self.max)
        return round(value) if self.whole else round(value, _DIGITS) + 0.0

    @observe("value")
    def _show(self, change: Any) -> None:
        self.box.value = self.text
        if not self._in_hand:
            self._at = self.handle.value = self._nearest(self.value)

    @observe("disabled")
    def _disable(self, change: Any) -> None:
        self.handle.disabled = self.box.disabled = self.disabled

    def _nearest(self, value: Any) -> Any:
        """The nearest place that the handle can stand at: elsewhere the page would move it, and say so."""
        low, high, step = self.handle.min, self.handle.max, self.handle.step
        near = min(low + round((value - low) / step) * step, high)
        return near if self.whole else round(near, _DIGITS)

    def _dragged(self, change: Any) -> None:
        """Follow the handle; what code sets is meant as it is."""
        to = change["new"]
        by = to - self._at
        if abs(by) < self.handle.step / 2:
            return  # it was put there, or the page has rounded the last binary digit
        self._at = to
        marks = [mark for marked in self.marks.values() for mark in marked]
        self._in_hand = True
        try:
            snaps = marks and self.handle._property_lock
            self.value = snap(to, by, marks, self.min, self.max) if snaps else to
        finally:
            self._in_hand = False

    def _typed(self, change: Any) -> None:
        """Take what was typed where it is a number."""
        with suppress(ValueError, TraitError):
            self.value = float(self.box.value)
        self.box.value = self.text


def decimals(value: float, least: int) -> int:
    """Count the decimals that `value` needs, at most 6.

    Parameters
    ----------
    value : float
        A number as a person wrote it.
    least : int
        The fewest decimals given back.

    Returns
    -------
    int
        Decimals.
    """
    return next((n for n in range(least, _DIGITS) if round(value, n) == round(value, _DIGITS)), _DIGITS)
