"""What teaching panels share: a query to choose, and a layout of controls above pictures and tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import pandas as pd

from ragkit.frames import as_queries
from ragkit.plot.labels import shorten
from ragkit.widgets import html
from ragkit.widgets.controls import need_ipywidgets, section, side_by_side
from ragkit.widgets.panel import Panel
from ragkit.widgets.picture import Picture


class Shown(NamedTuple):
    """A result: the frame on show, and whatever else the views of a panel need."""

    value: pd.DataFrame
    more: dict[str, Any]


class TeachPanel(Panel):
    """A panel about one idea.

    Parameters
    ----------
    controls : dict of str to widget
        The controls.
    shared : dict of str to widget, optional
        Controls of another panel.
    """

    #: Pictures by name, with their size in inches.
    PICTURES: ClassVar[dict[str, tuple[float, float]]] = {}
    #: Names of the boxes for tables, in order.
    BOXES: ClassVar[tuple[str, ...]] = ("table",)

    def __init__(self, controls: Mapping[str, Any], *, shared: Mapping[str, Any] | None = None):
        super().__init__(controls, shared=shared)
        self._canvases = {name: Picture(*size) for name, size in self.PICTURES.items()}

    def _open(
        self, groups: Sequence[tuple[str, Sequence[str]]], under: Mapping[str, Any] | None = None
    ) -> None:
        """Lay the panel out and start it; controls that `groups` do not name stand above."""
        W = need_ipywidgets()
        style = self._box("style")
        style.value = html.CSS
        named = {name for _, names in groups for name in names}
        above = [control for name, control in self.controls.items() if name not in named]
        blocks = [self._block(title, names, under or {}) for title, names in groups]
        pictures = [self._box(name, flex=f"1 1 {round(w * 72)}px") for name, (w, _) in self.PICTURES.items()]
        boxes = [self._box(name, overflow="auto") for name in self.BOXES]
        self._start(
            [
                style,
                *above,
                side_by_side(blocks),
                self._message,
                *(
                    [W.HBox(pictures, layout=W.Layout(flex_flow="row wrap", align_items="flex-start"))]
                    if pictures
                    else []
                ),
                *boxes,
            ]
        )

    def _block(self, title: str, names: Sequence[str], under: Mapping[str, Any]) -> Any:
        """Stack one group of controls; a slider with something under it is what the panel is about."""
        controls = [self.controls[name] for name in names]
        ruled = any(control.description in under for control in controls)
        return section(title, controls, under, track=220 if ruled else 100)

    def _drawings(self, state: dict[str, Any], result: Any) -> dict[str, tuple[Any, str]]:
        """Give a function of the axes and a sentence for each picture; a picture left out is empty."""
        return {}

    def _keys(self, result: Any) -> dict[str, list[str]]:
        """Give the names of the bars of pictures whose legend stands above them, which is faster."""
        return {}

    def _draw(self, state: dict[str, Any], result: Any) -> Iterator[tuple[str, str]]:
        drawings, keys = self._drawings(state, result), self._keys(result)
        for name, canvas in self._canvases.items():
            svg = canvas.draw(*drawings[name], legend=name not in keys) if name in drawings else ""
            yield name, html.wrap(f"<div>{html.key(keys[name])}</div>{svg}") if svg and name in keys else svg

    def _images(self) -> dict[str, str]:
        if self.closed:
            return self.pictures
        return {name: self._canvases[name].img() for name in self.pictures}

    def close(self) -> None:
        """Free the panel: its widgets, observers and figures; a control shared with another panel stays."""
        super().close()
        for canvas in self._canvases.values():
            canvas.close()


def query_picker(queries: Any, query: str | None) -> tuple[pd.DataFrame, Any]:
    """Make the list of queries to choose from.

    Parameters
    ----------
    queries : queries
        Whatever :func:`ragkit.as_queries` takes.
    query : str or None
        The id to start with; None is the first.

    Returns
    -------
    (DataFrame, Dropdown)
        The queries as a frame, and the control.
    """
    W = need_ipywidgets()
    frame = as_queries(queries)
    if not len(frame):
        raise ValueError("the panel needs at least one query; got none.")
    ids = frame["query_id"].tolist()
    if query is not None and query not in ids:
        raise ValueError(
            f"unknown query {query!r}; the queries are {ids[:5]}{' ...' if len(ids) > 5 else ''}."
        )
    pairs = [(f"{i} · {shorten(t, 70)}", i) for i, t in zip(ids, frame["text"])]
    picker = W.Dropdown(
        options=pairs,
        value=query if query is not None else ids[0],
        description="query",
        tooltip="The query on show; typing its first letters finds it",
        layout=W.Layout(width="auto", max_width="640px"),
        style={"description_width": "52px"},
    )
    return frame, picker


def text_of(frame: pd.DataFrame, query_id: str) -> str:
    """Look up a query's text.

    Parameters
    ----------
    frame : DataFrame
        The queries.
    query_id : str
        The id.

    Returns
    -------
    str
        Its text.
    """
    return str(frame.loc[frame["query_id"] == query_id, "text"].iloc[0])


def call(function: str, first: Sequence[str], params: Mapping[str, Any]) -> str:
    """Write a call of Python, one argument per line.

    Parameters
    ----------
    function : str
        What is called.
    first : sequence of str
        Code of the positional arguments.
    params : dict
        Keyword arguments.

    Returns
    -------
    str
        Code.
    """
    lines = [*first, *(f"{name}={value!r}" for name, value in params.items())]
    return f"{function}(\n" + "".join(f"    {line},\n" for line in lines) + ")\n"


def head_of(setup: str | None, needs: str) -> str:
    """Begin a program: the lines that load its data, or a comment that says what it needs.

    Parameters
    ----------
    setup : str or None
        The lines.
    needs : str
        What the program needs, for the comment.

    Returns
    -------
    str
        Code.
    """
    return f"import ragkit as rk\n\n{setup.rstrip() if setup is not None else f'# Needs {needs}.'}\n\n"
