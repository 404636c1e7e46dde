"""Controls: named as the parameter they set, with a tooltip that says what it does and which way it goes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

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
    return next((n for n in range(least, 6) if round(value, n) == round(value, 6)), 6)


def float_slider(
    name: str, value: float, *, low: float, high: float, step: float, tooltip: str, digits: int = 2
) -> Any:
    """Make a slider for a number with decimals; it can be typed in exactly.

    Parameters
    ----------
    name : str
        The parameter.
    value : float
        Where it starts; the range widens to hold it.
    low, high, step : float
        Range and step.
    tooltip : str
        What it does and which way it goes.
    digits : int, default=2
        Decimals shown; more where `value` has more.

    Returns
    -------
    FloatSlider
        The control.
    """
    W = need_ipywidgets()
    digits = decimals(value, digits)
    return W.FloatSlider(
        value=value,
        min=min(low, value),
        max=max(high, value),
        step=min(step, 10.0**-digits) if digits > 2 else step,
        description=name,
        tooltip=tooltip,
        readout_format=f".{digits}f",
        continuous_update=True,
        layout=W.Layout(width="auto"),
    )


def int_slider(name: str, value: int, *, low: int, high: int, tooltip: str, step: int = 1) -> Any:
    """Make a slider for a whole number; it can be typed in exactly.

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
        Step of the arrow keys.

    Returns
    -------
    IntSlider
        The control.
    """
    W = need_ipywidgets()
    return W.IntSlider(
        value=value,
        min=min(low, value),
        max=max(high, value),
        step=step,
        description=name,
        tooltip=tooltip,
        continuous_update=True,
        layout=W.Layout(width="auto"),
    )


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


def section(title: str, controls: Sequence[Any], under: Mapping[str, Any] | None = None) -> Any:
    """Stack controls under a title, their labels in one column wide enough for the longest.

    Parameters
    ----------
    title : str
        The stage that these controls belong to.
    controls : sequence of widget
        The controls.
    under : dict of description to widget, optional
        What follows a control, such as a ruler.

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
    return W.VBox([head, *rows], layout=W.Layout(min_width="0", margin="0 12px 4px 0"))


def side_by_side(blocks: Sequence[Any]) -> Any:
    """Lay blocks out in columns of one width, as many as there is room for, in every line.

    Parameters
    ----------
    blocks : sequence of widget
        What :func:`section` makes.

    Returns
    -------
    GridBox
        The blocks; one that stands alone in the last line is no wider than the others.
    """
    W = need_ipywidgets()
    columns = "repeat(auto-fit, minmax(min(280px, 100%), 1fr))"
    return W.GridBox(list(blocks), layout=W.Layout(grid_template_columns=columns, width="100%"))


def set_exactly(slider: Any, value: float, least: int = 2) -> None:
    """Set a slider to a value that its step would round, by making its step finer.

    Parameters
    ----------
    slider : FloatSlider
        The slider.
    value : float
        The value.
    least : int, default=2
        The fewest decimals shown.
    """
    digits = decimals(value, least)
    if digits > int(slider.readout_format[1:-1]):
        slider.step = min(slider.step, 10.0**-digits)
        slider.readout_format = f".{digits}f"
    slider.value = value


def read(control: Any) -> Any:
    """Read a control's value, free of the noise of binary fractions.

    Parameters
    ----------
    control : widget
        Any control.

    Returns
    -------
    object
        Sliders' numbers are rounded to the decimals they show.
    """
    value = control.value
    if isinstance(value, float):
        form = getattr(control, "readout_format", "")
        digits = int(form[1:-1]) if form[:1] == "." and form[-1:] == "f" else 6
        return round(value, digits) + 0.0
    return value


def _same(left: Any, right: Any) -> bool:
    """Equal and of one kind, so that True is not 1."""
    return type(left) is type(right) and left == right
