"""Controls: named as the parameter they set, with a tooltip that says what it does and which way it goes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ragkit.frames import check_number
from ragkit.frames.messages import guess, some

NONE = "None"  # a list cannot hold None itself: ipywidgets takes it for "nothing chosen"


def need_ipywidgets() -> Any:
    """Import ipywidgets, or say how to get it.

    Returns
    -------
    module
        ipywidgets.
    """
    try:
        import ipywidgets
    except ImportError:
        raise ImportError("ragkit.widgets needs ipywidgets: pip install ipywidgets") from None
    return ipywidgets


def label_width(names: Iterable[str]) -> str:
    """Say how wide labels must be so that none of `names` is cut.

    Parameters
    ----------
    names : iterable of str
        The descriptions of one column of controls.

    Returns
    -------
    str
        A CSS width.
    """
    return f"{12 + round(7.4 * max(map(len, names), default=0))}px"


def float_slider(
    name: str, value: float, *, low: float, high: float, step: float, tooltip: str, digits: int = 2
) -> Any:
    """Make a slider for a number with decimals, with a box that takes it exactly.

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
    digits : int, default=2
        Decimals shown; more where `value` has more.

    Returns
    -------
    Number
        The control.
    """
    need_ipywidgets()
    from ragkit.widgets.number import Number

    return Number(name, value, low=low, high=high, step=step, tooltip=tooltip, digits=digits)


def int_slider(name: str, value: int, *, low: int, high: int, tooltip: str, step: int = 1) -> Any:
    """Make a slider for a whole number, with a box that takes it exactly.

    Parameters
    ----------
    name : str
        The parameter.
    value : int
        Where it starts; the range widens to hold it.
    low, high : int
        Range.
    tooltip : str
        What it does and which way it goes.
    step : int, default=1
        Step of the handle.

    Returns
    -------
    Number
        The control.
    """
    need_ipywidgets()
    from ragkit.widgets.number import Number

    return Number(name, value, low=low, high=high, step=step, tooltip=tooltip, whole=True)


def dropdown(name: str, value: Any, options: Mapping[str, Any] | Sequence[Any], *, tooltip: str) -> Any:
    """Make a list to choose from.

    Parameters
    ----------
    name : str
        The parameter.
    value : object
        What is chosen at first; added to the options where it is not among them.
    options : dict of label to value, or sequence
        The choices.
    tooltip : str
        What the choice does.

    Returns
    -------
    Dropdown
        The control.
    """
    W = need_ipywidgets()
    pairs = list(options.items()) if isinstance(options, Mapping) else [(str(o), o) for o in options]
    if not any(_same(value, choice) for _, choice in pairs):
        pairs.append((str(value), value))
    return W.Dropdown(
        options=pairs, value=value, description=name, tooltip=tooltip, layout=W.Layout(width="auto")
    )


def set_options(panel: Any, control: Any, pairs: Sequence[tuple[str, Any]]) -> None:
    """Change the choices of a list; what is chosen stays, where it still exists, and nothing is computed.

    Parameters
    ----------
    panel : Panel
        The panel that listens: ipywidgets jumps to the first new choice, and the panel must not see it.
    control : Dropdown
        The list.
    pairs : sequence of (label, value)
        The new choices; the first is chosen where the old choice is gone.
    """
    kept = control.value
    with panel.batch():
        control.options = list(pairs)
        still = [choice for _, choice in pairs if _same(choice, kept)]
        if still:
            control.value = still[0]


def check_value(name: str, control: Any, value: Any) -> None:
    """Refuse what a control cannot have, before it is set: a slider would take the end of its range.

    Parameters
    ----------
    name : str
        The parameter.
    control : widget
        Its control.
    value : object
        What it is to be set to.

    Raises
    ------
    ValueError
        If a number is out of range, or a choice is not on the list.
    TypeError
        If a slider gets no number.
    """
    W = need_ipywidgets()
    from ragkit.widgets.number import Number

    if isinstance(control, Number):
        check_number(name, value, low=control.min, high=control.max, meaning="the range of its slider")
    elif isinstance(control, W.Dropdown):
        choices = [pair[1] if isinstance(pair, tuple) else pair for pair in control.options]
        if value not in choices:
            raise ValueError(
                f"{name} cannot be {value!r}; choose one of {some(choices, 20)}.{guess(value, choices)}"
            )


def checkbox(name: str, value: bool, *, tooltip: str) -> Any:
    """Make a box to tick.

    Parameters
    ----------
    name : str
        The parameter.
    value : bool
        Whether it is ticked at first.
    tooltip : str
        What it does.

    Returns
    -------
    Checkbox
        The control.
    """
    W = need_ipywidgets()
    return W.Checkbox(
        value=value, description=name, tooltip=tooltip, indent=False, layout=W.Layout(width="auto")
    )


def button(name: str, *, tooltip: str, width: str = "auto") -> Any:
    """Make a button with a text; icons are missing where their font cannot be loaded.

    Parameters
    ----------
    name : str
        What it says.
    tooltip : str
        What it does.
    width : str, default="auto"
        CSS width.

    Returns
    -------
    Button
        The control.
    """
    W = need_ipywidgets()
    return W.Button(description=name, tooltip=tooltip, layout=W.Layout(width=width))


def toggle(name: str, value: bool, *, tooltip: str) -> Any:
    """Make a button that stays down.

    Parameters
    ----------
    name : str
        What it says.
    value : bool
        Whether it is down at first.
    tooltip : str
        What it does.

    Returns
    -------
    ToggleButton
        The control.
    """
    W = need_ipywidgets()
    return W.ToggleButton(value=value, description=name, tooltip=tooltip, layout=W.Layout(width="auto"))


def column_width(controls: Sequence[Any]) -> str:
    """Say how wide the labels of a column of controls are; boxes to tick have theirs behind them.

    Parameters
    ----------
    controls : sequence of widget
        The controls.

    Returns
    -------
    str
        A CSS width.
    """
    W = need_ipywidgets()
    return label_width(c.description for c in controls if not isinstance(c, W.Checkbox))


def section(
    title: str, controls: Sequence[Any], under: Mapping[str, Any] | None = None, *, track: int = 100
) -> Any:
    """Stack controls under a title, their labels in one column wide enough for the longest.

    Parameters
    ----------
    title : str
        The stage that these controls belong to.
    controls : sequence of widget
        The controls.
    under : dict of description to widget, optional
        What follows a control, such as a ruler.
    track : int, default=100
        Pixels that a slider's track should have at least, to aim on.

    Returns
    -------
    VBox
        A block for :func:`side_by_side`.
    """
    from html import escape

    W = need_ipywidgets()
    width = column_width(controls)
    under = under or {}
    rows = []
    for control in controls:
        if not isinstance(control, W.Checkbox):
            control.style.description_width = width
        rows += [control, *([under[control.description]] if control.description in under else [])]
    head = W.HTML(f'<div class="rk-panel"><div class="rk-title">{escape(title)}</div></div>')
    need = max(240, int(width[:-2]) + track + 70)  # a slider has its label on one side, its box on the other
    layout = W.Layout(flex=f"1 1 {need}px", min_width=f"min({need}px, 100%)", max_width=f"{2 * need}px")
    return W.VBox([head, *rows], layout=layout)


def side_by_side(blocks: Sequence[Any]) -> Any:
    """Lay blocks out side by side, as many in a line as there is room for.

    Parameters
    ----------
    blocks : sequence of widget
        What :func:`section` makes.

    Returns
    -------
    HBox
        The blocks; one that stands alone in the last line grows to twice what it needs, no more.
    """
    W = need_ipywidgets()
    return W.HBox(list(blocks), layout=W.Layout(flex_flow="row wrap", grid_gap="4px 12px", width="100%"))


def _same(left: Any, right: Any) -> bool:
    """Equal and of one kind, so that True is not 1."""
    return type(left) is type(right) and left == right
