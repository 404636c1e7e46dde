"""How long widgets live: ipywidgets keeps every one until it is closed, with its layout and its style."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any
from weakref import WeakKeyDictionary

# Which panels use a control: one that two panels share outlives the first that is closed.
_USERS: WeakKeyDictionary[Any, set[int]] = WeakKeyDictionary()


def claim(panel: Any, controls: Iterable[Any]) -> None:
    """Note that a panel uses controls.

    Parameters
    ----------
    panel : Panel
        The panel.
    controls : iterable of widget
        What it uses.
    """
    for control in controls:
        _USERS.setdefault(control, set()).add(id(panel))


def give_up(panel: Any, controls: Iterable[Any]) -> list[Any]:
    """Note that a panel uses controls no more.

    Parameters
    ----------
    panel : Panel
        The panel.
    controls : iterable of widget
        What it used.

    Returns
    -------
    list of widget
        Those that other panels still use.
    """
    still = []
    for control in controls:
        users = _USERS.get(control, set())
        users.discard(id(panel))
        if users:
            still.append(control)
    return still


def parts(widget: Any) -> Iterator[Any]:
    """Walk over a widget and all that it holds.

    Parameters
    ----------
    widget : widget
        Where to begin.

    Yields
    ------
    widget
        The widget first.
    """
    yield widget
    for child in getattr(widget, "children", ()):
        yield from parts(child)


def close(widgets: Iterable[Any], *, but: Iterable[Any] = ()) -> None:
    """Close widgets with all that they hold.

    Parameters
    ----------
    widgets : iterable of widget
        What to close.
    but : iterable of widget
        What stays, with all that it holds.
    """
    keep = {id(part) for widget in but for part in parts(widget)}
    for widget in widgets:
        for part in list(parts(widget)):
            if id(part) not in keep:
                _close(part)


def _close(widget: Any) -> None:
    """Close a widget with its layout and style, which ipywidgets leaves behind."""
    for part in (getattr(widget, "style", None), getattr(widget, "layout", None), widget):
        if part is not None and hasattr(part, "close"):
            part.unobserve_all()
            part.close()


def from_page(widget: Any) -> bool:
    """Say whether a control is being moved in the page, not by code: ipywidgets locks what it receives.

    Parameters
    ----------
    widget : widget
        The control.

    Returns
    -------
    bool
        Whether it or a part of it is locked.
    """
    return any(getattr(part, "_property_lock", None) for part in parts(widget))
