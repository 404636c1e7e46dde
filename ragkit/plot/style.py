"""How every plot looks: colours that colour-blind readers can tell apart, quiet axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Okabe and Ito's palette; also vary line style or marker, never colour alone.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#8C6D31", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
GREY = "#767676"
HATCHES = ("", "///", "..", "xx", "--", "\\\\\\", "||", "++")
_DASHES = ("-", (0, (4, 1.2)), (0, (6, 1.2, 1.2, 1.2)), (0, (3, 1.2, 1.2, 1.2, 1.2, 1.2)))


class Look(NamedTuple):
    """What tells one line, or one kind of bar, from the others."""

    colour: str
    marker: str
    dash: Any
    hatch: str


def look(n: int) -> Look:
    """Give the `n`-th of many its own look: where the colours begin again, all else has moved on.

    Parameters
    ----------
    n : int
        From 0.

    Returns
    -------
    Look
        Colour, marker, dash and hatch; no two of the first 64 share a colour and a marker, or a hatch.

    Examples
    --------
    >>> look(0).colour == look(8).colour, look(0).marker == look(8).marker
    (True, False)
    """
    again, colour = divmod(n, len(COLOURS))
    return Look(
        COLOURS[colour],
        MARKERS[(colour + again) % len(MARKERS)],
        _DASHES[again % len(_DASHES)],
        HATCHES[(colour + again) % len(HATCHES)],
    )


def axes(ax: Axes | None, size: tuple[float, float] = (6.4, 3.6)) -> Axes:
    """Give back `ax`, or the axes of a new figure where there is none.

    Parameters
    ----------
    ax : Axes or None
        Where to draw; None makes a figure of `size` inches.
    size : tuple of float
        Width and height of the new figure.

    Returns
    -------
    Axes
        Ready to draw on.
    """
    if ax is None:
        # pyplot shows the figure in a notebook; panels pass their own axes and never come here.
        from matplotlib import pyplot

        _, ax = pyplot.subplots(figsize=size, layout="constrained")
    return ax


def tidy(ax: Axes, *, grid: Literal["x", "y", "both"] | None = "y") -> Axes:
    """Remove the box, thin the grid: what all plots share.

    Parameters
    ----------
    ax : Axes
        The axes to tidy.
    grid : {"x", "y", "both", None}, default="y"
        Which grid lines to draw.

    Returns
    -------
    Axes
        The same axes.
    """
    ax.spines[["top", "right"]].set_visible(False)
    if grid:
        ax.grid(axis=grid, color="#dddddd", linewidth=0.7)
        ax.set_axisbelow(True)
    return ax


def note(ax: Axes, text: str) -> Axes:
    """Say in the middle of the axes why there is nothing to see.

    Parameters
    ----------
    ax : Axes
        The axes to write on.
    text : str
        What to say.

    Returns
    -------
    Axes
        The same axes.
    """
    ax.text(0.5, 0.5, text, transform=ax.transAxes, ha="center", va="center", color=GREY)
    return ax


def colour_bar(ax: Axes, drawn: Any, label: str) -> None:
    """Put a colour bar beside the axes, as a child of them, so that clearing them clears it too.

    Parameters
    ----------
    ax : Axes
        The axes drawn on.
    drawn : matplotlib mappable
        The image or collection whose colours it explains.
    label : str
        What the colours mean.
    """
    bar = ax.figure.colorbar(drawn, cax=ax.inset_axes((1.02, 0.0, 0.025, 1.0)))
    bar.set_label(label)
    bar.outline.set_visible(False)
