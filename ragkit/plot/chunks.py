"""Chunks as a ruler: where each lies in its document, what they share, where the gold is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from ragkit.chunking.places import ByDocument, choose_document, gold_in, named_chunks
from ragkit.frames import as_docs
from ragkit.plot.style import COLOURS, GREY, axes, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINES = 3  # a document is drawn on so many lines, so that neighbours which overlap can be told apart


def chunks(
    chunks: Any,
    docs: Any,
    doc_id: str | None = None,
    *,
    spans: pd.DataFrame | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw where the chunks of one document lie, for one way of chunking or several.

    Each chunk is a bar along the text; neighbours alternate in height and colour, so that what they share
    shows as bars above one another. Gold passages are the dark bars below, with light bands up through all.

    Parameters
    ----------
    chunks : DataFrame, or dict of name to DataFrame
        Chunks as :func:`ragkit.chunk` gives them.
    docs : documents
        What was cut.
    doc_id : str, optional
        The document to draw; the first with chunks where left out.
    spans : DataFrame, optional
        Gold passages: ``doc_id, start, end``.
    ax : Axes, optional
        Where to draw.

    Returns
    -------
    Axes
        With the offset in characters along the bottom.

    Examples
    --------
    >>> import ragkit as rk
    >>> docs = {"d": "One is small. Two is big. Three is bigger."}
    >>> ax = chunks(rk.chunk(docs, size=30, overlap=12), docs)
    >>> len(ax.patches), ax.get_xlabel()
    (2, 'offset in d (characters)')
    """
    named = named_chunks(chunks, "plot.chunks")
    frame = as_docs(docs)
    parts = {name: ByDocument(part, frame) for name, part in named.items()}
    row = choose_document(frame, next(iter(parts.values())), doc_id)
    ax = axes(ax, (7.2, 0.9 + 0.75 * len(named)))
    for place, part in enumerate(parts.values()):
        _bars(ax, part[row], -place)
    if spans is not None:
        _gold(ax, spans, frame["doc_id"].iloc[row], len(named))
    _finish(ax, list(named), frame, row, spans is not None)
    return ax


def _bars(ax: Axes, part: pd.DataFrame, place: int) -> None:
    """Draw one way of chunking; neighbours take turns in height."""
    height = 0.8 / _LINES
    for n, (start, end) in enumerate(zip(part["start"], part["end"])):
        bottom = place + 0.4 - height * (n % _LINES + 1)
        colour = COLOURS[(0, 1, 5)[n % _LINES]]
        ax.bar(
            start,
            height,
            width=end - start,
            bottom=bottom,
            align="edge",
            color=colour,
            edgecolor="white",
            linewidth=0.6,
        )


def _gold(ax: Axes, spans: Any, doc_id: str, systems: int) -> None:
    for start, end in gold_in(spans, doc_id):
        ax.axvspan(start, end, color=GREY, alpha=0.18, linewidth=0, zorder=0)
        ax.bar(
            start,
            0.3,
            width=end - start,
            bottom=-systems + 0.15,
            align="edge",
            color="black",
            hatch="//",
            zorder=3,
        )


def _finish(ax: Axes, names: list[str], docs: pd.DataFrame, row: int, gold: bool) -> None:
    labels = [name or "chunks" for name in names] + (["gold"] if gold else [])
    ax.set_yticks([-n if n < len(names) else -n + 0.3 for n in range(len(labels))], labels)
    ax.tick_params(axis="y", length=0)
    ax.set_xlim(0, max(len(docs["text"].iloc[row]), 1))
    ax.set_ylim(-len(names) + (0.0 if gold else 0.45), 0.55)
    ax.set_xlabel(f"offset in {docs['doc_id'].iloc[row]} (characters)")
    tidy(ax, grid="x")
    ax.spines["left"].set_visible(False)
