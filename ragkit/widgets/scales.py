"""How scores are brought to one scale: the lists to choose from, shared by the panels that fuse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ragkit.fusion.methods import METHODS, MISSING
from ragkit.fusion.normalize import NORMALIZERS
from ragkit.widgets.controls import NONE, dropdown, set_options

_NAMES: dict[str, Sequence[str]] = {"normalize": NORMALIZERS, "missing": MISSING}
_TIPS = {
    "normalize": "How the scores of each list are brought to one scale before they are added. The default is "
    "the method's own; methods that read ranks use none.",
    "missing": "What a document counts in a list that lacks it. zero: nothing. ignore: that list has no say. "
    "list_min: the lowest score of that list. theoretical_min: the lowest score its retriever can give. "
    "score: its real score, asked of the store. The default is the method's own.",
}
SCALE_TIP = (
    "How relevance is weighed against similarity. minmax: it runs from 0 to 1 in each query. "
    "None: scores as they are."
)


def _choices(name: str, method: str, without: Sequence[str] = ()) -> list[tuple[str, str]]:
    """The choices of one list; the first says what it means with this method."""
    known = METHODS.get(method)
    own = "" if known is None or known.by_rank else f" ({getattr(known, name)})"
    return [(f"default{own}", NONE), *((n, n) for n in _NAMES[name] if n not in without)]


def scale_dropdown(name: str, value: str | None, method: str, without: Sequence[str] = ()) -> Any:
    """Make the list for ``normalize`` or ``missing``.

    Parameters
    ----------
    name : {"normalize", "missing"}
        The parameter.
    value : str or None
        What is chosen at first; None is the method's default.
    method : str
        The fusion method.
    without : sequence of str
        Choices that this panel cannot offer.

    Returns
    -------
    Dropdown
        The control.
    """
    return dropdown(name, value or NONE, dict(_choices(name, method, without)), tooltip=_TIPS[name])


def follow_method(panel: Any, method: str, without: Sequence[str] = ()) -> None:
    """Say in the lists what their default is with the chosen method, and grey out what it does not use.

    Parameters
    ----------
    panel : Panel
        A panel with the controls ``k, normalize, missing``.
    method : str
        The fusion method.
    without : sequence of str
        Choices of ``missing`` that this panel does not offer.
    """
    by_rank = METHODS[method].by_rank
    for name in _NAMES:
        control = panel.controls[name]
        own = _choices(name, method, without if name == "missing" else ())
        if control.options[0][0] != own[0][0]:
            # What was given and is on no list of ours stays.
            rest = [pair for pair in control.options if pair not in own and pair[1] != NONE]
            set_options(panel, control, own + rest)
        control.disabled = by_rank
    panel.controls["k"].disabled = method != "rrf"
