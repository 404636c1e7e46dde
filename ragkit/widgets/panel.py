"""The one contract of all panels: what a panel is, before anyone knows what it shows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from ragkit.frames import RetrievalWarning
from ragkit.frames.messages import guess
from ragkit.widgets import html, lifetime
from ragkit.widgets.controls import check_value, need_ipywidgets, toggle
from ragkit.widgets.ruler import Ruler
from ragkit.widgets.throttle import Throttle

SLOW = 0.15  # seconds: above this, work is throttled and announced


class Panel:
    """Controls, and what they lead to: a frame to take away, pictures to look at, code that repeats it.

    A panel is a plain object. Its state changes only when a computation has succeeded: after an error,
    `params` and `value` are still those of the last good result, which stays on the screen under a line that
    says what went wrong.

    Parameters
    ----------
    controls : dict of str to widget
        The controls by the name of their parameter.
    shared : dict of str to widget, optional
        Controls of another panel, used in place of one's own; both panels then follow them.

    Attributes
    ----------
    controls : dict of str to widget
        Set ``panel.controls["top_k"].value = 5`` and the panel follows.
    params : dict
        The settings on show, as keyword arguments.
    value : DataFrame
        The frame on show.
    error : str or None
        What went wrong last, None after a success.
    warnings : list of str
        What the last computation warned about.
    pictures : dict of str to str
        The plots on show as SVG.
    widget : Widget
        What a notebook displays.
    """

    #: What this panel is called, in its repr and as the title of a snapshot.
    name: ClassVar[str] = "panel"

    def __init__(self, controls: Mapping[str, Any], *, shared: Mapping[str, Any] | None = None):
        W = need_ipywidgets()
        strange = sorted(set(shared or {}) - set(controls))
        if strange:
            raise ValueError(
                f"controls names {strange}, which this panel does not have; it has {sorted(controls)}."
            )
        self.controls: dict[str, Any] = {
            name: (shared or {}).get(name, control) for name, control in controls.items()
        }
        lifetime.close(controls[name] for name in shared or {})
        self._rulers: dict[str, Ruler] = {}
        self.params: dict[str, Any] = {}
        self.value: pd.DataFrame = pd.DataFrame()
        self.error: str | None = None
        self.warnings: list[str] = []
        self.pictures: dict[str, str] = {}
        self.closed = False
        self._tried: dict[str, Any] | None = None
        self._state: dict[str, Any] = {}
        self._result: Any = None
        self._views: dict[str, str] = {}
        self._boxes: dict[str, Any] = {}
        self._cost = 0.0
        self._held = 1  # nothing is computed before there is a place to show it
        self._throttle = Throttle(self._run, lambda: SLOW if self._cost > SLOW else 0.0)
        self._late_cost = 0.0
        self._late = Throttle(self._run_late, lambda: max(0.1, 2 * self._late_cost), leading=False)
        self._message = W.HTML(layout=W.Layout(min_height="24px", width="auto"))
        self._code_toggle = toggle("code", False, tooltip="Show the Python code that gives this result")
        self._code_box = W.HTML(layout=W.Layout(display="none", width="auto"))
        self.widget: Any = W.VBox([])

    # --- what a panel defines ----------------------------------------------------------------------

    def _read(self) -> dict[str, Any]:
        """Read the controls: everything the screen depends on."""
        return {name: control.value for name, control in self.controls.items()}

    def _public(self, state: dict[str, Any]) -> dict[str, Any]:
        """Choose from the state what is handed out as `params`."""
        return state

    def _compute(self, state: dict[str, Any]) -> Any:
        """Work out the result; it has a ``value``, the frame on show."""
        raise NotImplementedError

    def _render(self, state: dict[str, Any], result: Any) -> dict[str, str]:
        """Turn the result into HTML by the name of the box it goes to."""
        raise NotImplementedError

    def _draw(self, state: dict[str, Any], result: Any) -> Iterator[tuple[str, str]]:
        """Draw the pictures, slowest last; each goes to the page as soon as it is there."""
        yield from ()

    def _later(self, state: dict[str, Any], result: Any) -> dict[str, str]:
        """Work out views that may come after all others, such as means over many queries."""
        return {}

    def _summary(self, state: dict[str, Any], result: Any) -> str:
        """Say in one line what is on the screen."""
        return f"{len(result.value)} rows"

    def _program(self, params: dict[str, Any], setup: str | None) -> str:
        """Write the Python program that gives `value`."""
        raise NotImplementedError

    def _committed(self) -> None:
        """Follow up once a result is on the screen: hints, marks, slow extras."""

    # --- life --------------------------------------------------------------------------------------

    def _start(self, children: Sequence[Any]) -> None:
        """Lay out, compute once, then listen."""
        W = need_ipywidgets()
        from ragkit.widgets.tips import with_tips

        tail = [W.HBox([self._code_toggle]), self._code_box]
        self.widget.children = [*with_tips(children), *tail]
        self.widget.layout.width = "100%"
        self.widget.add_class("rk")
        lifetime.claim(self, self.controls.values())
        try:
            self._run(first=True)
        except Exception:
            self.close()
            raise
        self._held = 0
        for control in self.controls.values():
            control.observe(self._changed, "value")
        self._code_toggle.observe(self._show_code, "value")

    def _box(self, name: str, **layout: Any) -> Any:
        """Make the box of a view."""
        W = need_ipywidgets()
        self._boxes[name] = W.HTML(layout=W.Layout(**{"width": "auto", **layout}))
        return self._boxes[name]

    def _changed(self, change: Any) -> None:
        if self._held or self.closed:
            return
        # What a person drags may be throttled; what code sets must be there in its next line.
        if change is not None and lifetime.from_page(change["owner"]):
            self._throttle()
        else:
            self._throttle.now()

    def settle(self) -> None:
        """Finish what is due, so that `params` and `value` are those of the controls."""
        if self._throttle.due:
            self._throttle.now()

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Change several controls and compute once, when the block ends.

        Yields
        ------
        None
            Nothing; it is for a ``with`` block.

        Examples
        --------
        ``with panel.batch(): panel.controls["k1"].value = 2; panel.controls["b"].value = 0``
        """
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1
            self._changed(None)

    def set(self, **params: Any) -> None:
        """Set controls by the names of their parameters, and compute once.

        Parameters
        ----------
        **params : object
            Values by the name of the control.

        Raises
        ------
        ValueError
            If a name is that of no control, or a value is none that its control can have; nothing is set.
        """
        unknown = sorted(set(params) - set(self.controls))
        if unknown:
            near = guess(unknown[0], self.controls)
            raise ValueError(f"{self.name} has no control {unknown}; it has {sorted(self.controls)}.{near}")
        for name, value in params.items():
            check_value(name, self.controls[name], value)
        with self.batch():
            for name, value in params.items():
                self.controls[name].value = value

    def _run(self, first: bool = False) -> None:
        """Compute and show; on an error say so and leave everything as it was."""
        state = self._read()
        if self._tried is not None and _equal(state, self._tried):
            return
        self._tried = state
        if self._cost > SLOW:
            self._message.value = html.line("working …", "muted")
        started = time.perf_counter()
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                result = self._compute(state)
                views = self._render(state, result)
        except Exception as error:
            if first:
                raise
            self.error = f"{type(error).__name__}: {error}"
            self._message.value = html.line(self.error, "error", role="alert")
            return
        said = [str(w.message) for w in caught if issubclass(w.category, RetrievalWarning)]
        self._commit(state, result, views, list(dict.fromkeys(said)))
        self._cost = time.perf_counter() - started

    def _commit(self, state: dict[str, Any], result: Any, views: dict[str, str], said: list[str]) -> None:
        """Make a success visible: params, value and screen change together."""
        self._state, self._result, self.value = state, result, result.value
        self.params = self._public(state)
        self.error, self.warnings = None, said
        self._show(views)
        status = html.line(self._summary(state, result))
        self._message.value = status + "".join(html.line(text, "warning") for text in said)
        self._show_code(None)
        self._committed()
        self._show_pictures()
        self._late()

    def _show_pictures(self) -> None:
        """Send the pictures one by one, after the table: the eye has something new while they are drawn."""
        drawn: dict[str, str] = {}
        try:
            for name, svg in self._draw(self._state, self._result):
                drawn[name] = svg
                self._show({name: svg})
        except Exception as error:
            self.error = f"a plot failed, {type(error).__name__}: {error}"
            self._message.value += html.line(self.error, "error", role="alert")
        self.pictures = {name: svg for name, svg in drawn.items() if svg}

    def _run_late(self) -> None:
        """Fill in the views that come after all others."""
        if self.closed:
            return
        started = time.perf_counter()
        try:
            views = self._later(self._state, self._result)
        except Exception as error:
            self.error = f"{type(error).__name__}: {error}"
            self._message.value += html.line(self.error, "error", role="alert")
            return
        self._show(views)
        self._late_cost = time.perf_counter() - started

    def _show(self, views: Mapping[str, str]) -> None:
        """Send the views that changed to the page."""
        for name, text in views.items():
            self._views[name] = text
            box = self._boxes.get(name)
            if box is not None and box.value != text:
                box.value = text

    def _show_code(self, change: Any) -> None:
        """Fill the code box while it is open."""
        open_ = self._code_toggle.value
        self._code_box.layout.display = None if open_ else "none"
        if open_:
            self._code_box.value = html.code_box(self.code())

    def close(self) -> None:
        """Free the panel: its widgets, observers and figures; a control shared with another panel stays."""
        self.closed = True
        self._throttle.cancel()
        self._late.cancel()
        for ruler in self._rulers.values():
            ruler.release()
        others = lifetime.give_up(self, self.controls.values())
        for control in others:
            control.unobserve(self._changed, "value")
        own = [*self.controls.values(), self.widget, self._message, self._code_box, self._code_toggle]
        lifetime.close(own, but=others)

    # --- taking away -------------------------------------------------------------------------------

    def code(self, setup: str | None = None) -> str:
        """Write the Python program that gives ``panel.value``.

        Parameters
        ----------
        setup : str or None, default=None
            The lines that load the data and build what the panel was given, under the names the program
            uses; None writes a comment that says which names it needs.

        Returns
        -------
        str
            The program; run on the same data it ends with ``value`` equal to ``panel.value``.
        """
        return self._program(self.params, setup)

    def snapshot(self, path: str | Path | None = None) -> str:
        """Keep what is on the screen as one HTML page that needs neither kernel nor network.

        Parameters
        ----------
        path : str, Path or None, default=None
            Where to write it as well.

        Returns
        -------
        str
            The page.
        """
        page = (
            '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
            f"<title>{escape(self.name)}</title><style>:root{{color-scheme:light dark}}"
            "body{font-family:system-ui,sans-serif;margin:16px;max-width:1200px}</style></head><body>"
            f"<h1 style='font-size:18px'>{escape(self.name)}</h1>"
            f"{self._static(self.pictures)}</body></html>\n"
        )
        if path is not None:
            Path(path).write_text(page, encoding="utf-8")
        return page

    def _static(self, pictures: Mapping[str, str]) -> str:
        """Put the screen together without controls."""
        settings = ", ".join(f"{name}={value!r}" for name, value in self.params.items())
        parts = [
            html.CSS,
            html.line(self._summary(self._state, self._result)),
            *(html.line(text, "warning") for text in self.warnings),
            html.wrap(f"<p class='rk-muted'>{escape(settings)}</p>"),
            *(f"<div>{picture}</div>" for picture in pictures.values()),
            *(view for name, view in self._views.items() if name not in pictures),
            html.wrap(f"<pre class='rk-code'>{escape(self.code())}</pre>"),
        ]
        return "".join(parts)

    def _images(self) -> dict[str, str]:
        """Give the pictures for places that show no SVG."""
        return self.pictures

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in self.params.items())
        return f"{self.name}({settings}): {self._summary(self._state, self._result)}"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        bundle: dict[str, Any] = {}
        if not self.closed:
            bundle = dict(self.widget._repr_mimebundle_() or {})
        bundle["text/plain"] = repr(self)
        # What GitHub, nbviewer and nbconvert show: the same screen, standing still.
        bundle["text/html"] = self._static(self._images())
        return bundle


def _equal(left: dict[str, Any], right: dict[str, Any]) -> bool:
    """Compare two states; frames and functions in them count as equal when they are the same object."""
    if left.keys() != right.keys():
        return False
    for name, value in left.items():
        other = right[name]
        if value is other:
            continue
        if type(value) is not type(other) or isinstance(value, (pd.DataFrame, pd.Series)):
            return False
        if value != other:
            return False
    return True
