"""One long-lived figure per plot, drawn anew in place and given out as SVG or PNG.

SVG with real text costs a third of a PNG's time, stays sharp on every screen, follows the page's theme and
uses the browser's fonts, so that titles in any script can be read.
"""

from __future__ import annotations

import base64
import io
import warnings
from collections.abc import Callable, Iterable
from functools import cache
from html import escape
from typing import Any

_DROP = {"Date": None, "Creator": None, "Format": None, "Type": None}
# What assumes a white page, and what follows the theme instead.
_THEME = (
    ("#000000", "currentColor"),
    ("#444444", "currentColor"),
    ("#dddddd", "rgba(127,127,127,.35)"),
    ("#bbbbbb", "rgba(127,127,127,.6)"),
    ("#ffffff", "var(--jp-layout-color0,Canvas)"),
)


class Picture:
    """A matplotlib figure that is never shown by pyplot and never made twice.

    Parameters
    ----------
    width, height : float
        Size in inches.
    """

    def __init__(self, width: float, height: float):
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
        from matplotlib.transforms import ScaledTranslation

        # 72 dots per inch, as SVG has it, so that labels are measured in the units they are drawn in.
        self.figure: Any = Figure(figsize=(width, height), dpi=72)
        self._agg = FigureCanvasAgg(self.figure)
        self.ax = self.figure.subplots()
        self.ax.tick_params(labelsize=9)
        # Placed by hand: to find a free place matplotlib measures every tick label once more.
        below = self.ax.transAxes + ScaledTranslation(0, -25 / 72, self.figure.dpi_scale_trans)
        self.ax.xaxis.set_label_coords(0.5, 0, transform=below)
        self.alt = ""
        self.draws = 0

    def draw(self, plot: Callable[[Any], Any], alt: str, *, legend: bool = True) -> str:
        """Draw `plot` in place of what was there.

        Parameters
        ----------
        plot : callable
            Takes the axes.
        alt : str
            What the picture says, in words.
        legend : bool, default=True
            False leaves the legend out, which costs as much as the rest: where the page has the key already.

        Returns
        -------
        str
            The picture as an SVG element.
        """
        wipe(self.ax)
        plot(self.ax)
        key = self.ax.get_legend()
        if key is not None and not legend:
            key.remove()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph")
            fit(self.figure, self.ax, self._agg.get_renderer())
        self.alt = alt
        self.draws += 1
        return self.svg()

    def svg(self) -> str:
        """Give the picture as an SVG element that follows the page's theme.

        Returns
        -------
        str
            HTML.
        """
        import matplotlib

        buffer = io.StringIO()
        # Browsers have fonts that matplotlib lacks: its complaint about missing glyphs does not apply.
        with (
            matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "ragkit"}),
            warnings.catch_warnings(),
        ):
            warnings.filterwarnings("ignore", message="Glyph")
            self._transparent()
            width, height = self.figure.get_size_inches()
            renderer = _renderer_class()(width * 72, height * 72, buffer, image_dpi=72, metadata=_DROP)
            self.figure.draw(renderer)
            renderer.finalize()
        return _themed(buffer.getvalue(), self.alt)

    def png(self) -> bytes:
        """Give the picture as PNG on white, for places that show no SVG.

        Returns
        -------
        bytes
            The file.
        """
        buffer = io.BytesIO()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph")
            self._agg.print_figure(
                buffer, format="png", dpi=110, facecolor="white", metadata={"Software": None}
            )
        return buffer.getvalue()

    def img(self) -> str:
        """Give the picture as an ``<img>`` with the PNG inside.

        Returns
        -------
        str
            HTML.
        """
        data = base64.b64encode(self.png()).decode("ascii")
        return (
            f'<img class="rk-plot" alt="{escape(self.alt, quote=True)}" src="data:image/png;base64,{data}">'
        )

    def close(self) -> None:
        """Let go of the figure."""
        self.figure.clear()

    def _transparent(self) -> None:
        self.figure.patch.set_visible(False)
        for ax in self.figure.axes:
            ax.patch.set_visible(False)


@cache
def _renderer_class() -> Any:
    """Matplotlib's SVG renderer with a memory, for measuring labels costs as much as drawing all else."""
    from matplotlib.backends.backend_svg import RendererSVG

    known: dict[Any, Any] = {}

    class Renderer(RendererSVG):
        def get_text_width_height_descent(self, s: str, prop: Any, ismath: Any) -> Any:
            key = (s, hash(prop), ismath)
            if key not in known:
                if len(known) > 5000:
                    known.clear()
                known[key] = super().get_text_width_height_descent(s, prop, ismath)
            return known[key]

    return Renderer


def fit(figure: Any, ax: Any, renderer: Any) -> None:
    """Give the axes all the room that their labels leave; the same drawing always gets the same place.

    A layout engine starts from where the axes stood before, so that moving a slider there and back would
    not give the same picture, and it costs twice as much.

    Parameters
    ----------
    figure : Figure
        The figure.
    ax : Axes
        Its only axes.
    renderer : RendererBase
        What measures the labels.
    """
    figure.subplots_adjust(left=0.18, right=0.97, bottom=0.17, top=0.9)
    # Ticks depend on the size of the axes: where the axis has a name too, a second look is needed.
    for _ in range(2 if ax.get_ylabel() else 1):
        _fit_once(figure, ax, renderer)


def _fit_once(figure: Any, ax: Any, renderer: Any) -> None:
    labels = [*ax.texts, *([ax.get_legend()] if ax.get_legend() else [])]
    box = ax.get_tightbbox(renderer, bbox_extra_artists=labels)
    inner = ax.get_window_extent(renderer)
    width, height, pad = figure.bbox.width, figure.bbox.height, 5.0
    left = (inner.x0 - box.x0 + pad) / width
    right = 1 - (box.x1 - inner.x1 + pad) / width
    bottom = (inner.y0 - box.y0 + pad) / height
    top = 1 - (box.y1 - inner.y1 + pad) / height
    # Labels wider than the figure would turn the axes inside out: a sliver is kept for what is drawn.
    figure.subplots_adjust(
        left=min(left, 0.6),
        right=max(right, min(left, 0.6) + 0.1),
        bottom=min(bottom, 0.6),
        top=max(top, 0.7),
    )


def wipe(ax: Any) -> None:
    """Remove what was drawn and keep the axes, whose making costs more than the drawing.

    Parameters
    ----------
    ax : Axes
        The axes to empty.
    """
    artists: Iterable[Any] = [*ax.lines, *ax.patches, *ax.collections, *ax.texts, *ax.images]
    for artist in artists:
        artist.remove()
    ax.containers.clear()  # bars stay there, and in the legend, after they are gone
    if ax.get_legend() is not None:
        ax.get_legend().remove()
    ax.set_prop_cycle(None)
    ax.relim()
    ax.autoscale(True)
    ax.margins(0.05)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_label_text("")
        axis.grid(False)
    for side in ("left", "center", "right"):
        ax.set_title("", loc=side)


def _themed(svg: str, alt: str) -> str:
    """Cut the file's head off, name the picture, and replace the colours that assume a white page."""
    body = svg[svg.index("<svg") :]
    start, rest = body.split(">", 1)
    meta = rest.find("</metadata>")
    rest = rest[meta + len("</metadata>") :] if meta >= 0 else rest
    for colour, themed in _THEME:
        rest = rest.replace(colour, themed)
    label = escape(alt, quote=True)
    # Matplotlib leaves out the fill of what is black.
    start = f'{start} class="rk-plot" fill="currentColor" role="img" aria-label="{label}"'
    return f"{start}><title>{label}</title>{rest}"
