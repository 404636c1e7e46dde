"""Ranks and scores of one query: who stands where in which system, and what put it there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ragkit.frames import as_run, check_top_k, unit_column
from ragkit.plot.labels import cells, pick_query, several_queries, unit_labels
from ragkit.plot.style import GREY, Look, axes, look, note, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_END = (
    0.28  # how far a dotted end reaches towards the next system; a grey one, which never meets its like, less
)


def bump(
    runs: Mapping[str, Any],
    *,
    query_id: str | None = None,
    docs: Any = None,
    top_k: int = 10,
    ax: Axes | None = None,
) -> Axes:
    """Draw the ranks of one query's units from system to system, one line per unit.

    Parameters
    ----------
    runs : dict of name to run
        The systems, from left to right.
    query_id : str or None, default=None
        The query to draw; None takes the first one, and the title names it when there are several.
    docs : documents or chunks, optional
        Where labels come from (title, else the head of the text); without it units are called by their ids.
    top_k : int, default=10
        Ranks shown. What more than one system ranks there has a colour, a marker and a dash of its own; the
        rest is grey. A dotted end says that a unit comes from below, or drops below, in the next system.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        Rank 1 is at the top. Labels stand left for the first system, right for the last, and beside its
        first marker for a unit that is in neither.

    Raises
    ------
    ValueError
        If there is no run, or none of them has the query.

    See Also
    --------
    contributions : What the fused scores are made of.

    Examples
    --------
    >>> a = pd.DataFrame({"query_id": "q", "doc_id": ["x", "y"], "rank": [1, 2], "score": [2.0, 1.0]})
    >>> b = pd.DataFrame({"query_id": "q", "doc_id": ["y", "z"], "rank": [1, 2], "score": [2.0, 1.0]})
    >>> ax = bump({"keyword": a, "vector": b})
    >>> [tick.get_text() for tick in ax.get_xticklabels()]
    ['keyword', 'vector']
    """
    if not isinstance(runs, Mapping) or not runs:
        raise ValueError(f"bump needs a dict of name to run with at least one run; got {runs!r:.80}.")
    top_k = max(check_top_k(top_k, none=False) or 0, 1)
    frames = {str(name): as_run(run) for name, run in runs.items()}
    query = pick_query(frames.values(), query_id, "bump")
    ranks = _rank_table(frames, query, top_k)
    labels = unit_labels(ranks.index, docs, _label_width(ax))
    room = 0.3 + 0.09 * max(map(cells, labels.values()), default=0)
    inner = _only_inside(ranks, top_k)
    step = 2.3 if len(inner) else 1.4
    ax = axes(ax, (2 * room + step * max(len(frames) - 1, 1) + 0.2, 0.8 + 0.27 * top_k))
    _rank_axes(ax, ranks, labels, top_k)
    _draw_units(ax, ranks.to_numpy(), top_k)
    _name_inside(ax, inner, docs, ranks.shape[1])
    if several_queries(frames.values()):
        ax.set_title(f"query {query}", loc="left", fontsize=10)
    if not len(ranks):
        note(ax, "no results")
    return ax


def _label_width(ax: Axes | None) -> int:
    """Characters for a label: fewer on a small figure, so that the lines between the labels have room."""
    if ax is None:
        return 28
    figure: Any = ax.figure
    return int(np.clip(3.4 * figure.figure.get_figwidth(), 12, 28))  # .figure: a subfigure's own figure


def _rank_table(frames: Mapping[str, pd.DataFrame], query: str | None, top_k: int) -> pd.DataFrame:
    """Units as rows, systems as columns, ranks inside; those beyond top k stand at top k + 1."""
    columns = {}
    for name, frame in frames.items():
        rows = frame[(frame["query_id"] == query) & (frame["rank"] <= top_k)]
        columns[name] = pd.Series(
            rows["rank"].to_numpy(dtype=float), index=rows[unit_column(frame)].astype(str)
        )
    table = pd.DataFrame(columns, dtype=float)
    # The last system gives the order of colours: its best units get the most different ones.
    order = table.fillna(top_k + 1.0).iloc[:, ::-1]
    return order.sort_values(list(order.columns), kind="stable").iloc[:, ::-1]


def _only_inside(ranks: pd.DataFrame, top_k: int) -> pd.DataFrame:
    """Find the units that stand in no outer column, where the names are: their first column and rank."""
    shown = ranks.to_numpy() <= top_k
    inside = np.flatnonzero(shown.any(axis=1) & ~shown[:, 0] & ~shown[:, -1])
    at = shown[inside].argmax(axis=1)
    return pd.DataFrame({"at": at, "rank": ranks.to_numpy()[inside, at]}, index=ranks.index[inside])


def _name_inside(ax: Axes, units: pd.DataFrame, docs: Any, systems: int) -> None:
    """Write the names of units that stand in no outer column beside their markers."""
    figure: Any = ax.figure
    wide = figure.figure.get_figwidth() * 0.5 / max(systems - 1, 1)  # inches from one system to the next
    names = unit_labels(units.index, docs, int(np.clip(12 * wide, 8, 22)))
    for unit, at, rank in zip(units.index, units["at"], units["rank"]):
        ax.annotate(
            names[unit],
            (at, rank),
            xytext=(5, 1),
            textcoords="offset points",
            va="bottom",
            fontsize=7.5,
            color="#444444",
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.6},
        )


def _draw_units(ax: Axes, ranks: np.ndarray, top_k: int) -> None:
    """Draw what several systems rank in a look of its own, and the rest in grey."""
    shown = ranks <= top_k
    several = shown.sum(axis=1) > 1
    unit, at = np.nonzero(shown & ~several[:, None])
    ax.plot(at, ranks[unit, at], "o", color=GREY, ms=5, mec="white", mew=0.6)
    looks = [look(n) for n in range(int(several.sum()))]
    for one, row in zip(looks, ranks[several]):
        at = np.flatnonzero(row <= top_k)
        ax.plot(
            at,
            row[at],
            one.marker,
            color=one.colour,
            ms=10 if one.marker == "*" else 7.5,
            mec="white",
            mew=0.6,
        )
    _draw_lines(ax, ranks[several], looks, top_k)
    colours = iter(looks)
    _draw_ends(ax, ranks, [(next(colours).colour, _END) if s else (GREY, _END / 2) for s in several], top_k)


def _draw_lines(ax: Axes, ranks: np.ndarray, looks: list[Look], top_k: int) -> None:
    """Draw a line wherever a unit stays in the top k from one system to the next."""
    # Collections in place of a line each: a panel draws this at every step of a slider.
    from matplotlib.collections import LineCollection

    stays = np.argwhere((ranks[:, :-1] <= top_k) & (ranks[:, 1:] <= top_k))
    lines = [[(x, ranks[n, x]), (x + 1, ranks[n, x + 1])] for n, x in stays]
    colours, dashes = ([getattr(looks[n], part) for n, _ in stays] for part in ("colour", "dash"))
    ax.add_collection(LineCollection(lines, colors=colours, linestyles=dashes, linewidths=2.0, zorder=1.8))


def _draw_ends(ax: Axes, ranks: np.ndarray, looks: list[tuple[str, float]], top_k: int) -> None:
    """Draw a dotted end, in each unit's colour and length, where it comes into the top k or drops out."""
    from matplotlib.collections import LineCollection

    shown = ranks <= top_k
    out = [(n, x, 1) for n, x in np.argwhere(shown[:, :-1] & ~shown[:, 1:])]
    out += [(n, x + 1, -1) for n, x in np.argwhere(~shown[:, :-1] & shown[:, 1:])]
    ends, colours = [], []
    for n, x, way in out:
        colour, reach = looks[n]
        fall = min(top_k + 1 - ranks[n, x], 4.0) * reach
        ends.append([(x, ranks[n, x]), (x + way * reach, ranks[n, x] + fall)])
        colours.append(colour)
    ax.add_collection(LineCollection(ends, colors=colours, linewidths=1.4, linestyles=":", zorder=1.8))


def _rank_axes(ax: Axes, ranks: pd.DataFrame, labels: Mapping[str, str], top_k: int) -> None:
    """Label systems below, ranks and units on both sides."""
    shown = list(range(1, top_k + 1))
    ax.set_xticks(range(ranks.shape[1]), ranks.columns)
    ax.set_xlim(-0.12, max(ranks.shape[1] - 1, 0.5) + 0.12)
    ax.set_ylim(top_k + 0.7, 0.3)
    ax.set_yticks(shown, [_tick(ranks.iloc[:, 0], rank, labels, "left") for rank in shown])
    ax.tick_params(left=False, bottom=False)
    tidy(ax, grid=None).spines[["left", "bottom"]].set_visible(False)
    ax.vlines(range(ranks.shape[1]), 0.4, top_k + 0.6, color="#dddddd", linewidth=0.8, zorder=0)
    if ranks.shape[1] > 1:
        size = ax.get_yticklabels()[0].get_fontsize()
        for rank in shown:
            ax.annotate(
                _tick(ranks.iloc[:, -1], rank, labels, "right"),
                (1.0, rank),
                xycoords=("axes fraction", "data"),
                xytext=(4, 0),
                textcoords="offset points",
                va="center_baseline",
                fontsize=size,
                annotation_clip=False,
            )


def _tick(ranks: pd.Series, rank: int, labels: Mapping[str, str], side: str) -> str:
    """Write the label of one rank on one side: the unit that holds it, and the rank."""
    units = ranks.index[ranks == rank]
    name = labels[units[0]] if len(units) else ""
    return (f"{name}  {rank}" if side == "left" else f"{rank}  {name}").strip()


def contributions(
    run: Any,
    *,
    query_id: str | None = None,
    docs: Any = None,
    top_k: int = 10,
    ax: Axes | None = None,
) -> Axes:
    """Draw what each run contributed to the fused scores of one query, as stacked bars.

    Parameters
    ----------
    run : run
        A fused run with its ledger (``<name>_contribution`` columns), diversified or not.
    query_id : str or None, default=None
        The query to draw; None takes the first one, and the title names it when there are several.
    docs : documents or chunks, optional
        Where labels come from.
    top_k : int, default=10
        Ranks shown.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes
        One bar per unit in the order of the run; for additive methods its parts add up to the fused score.

    Raises
    ------
    ValueError
        If the run has no ``<name>_contribution`` column, or not the query.

    See Also
    --------
    bump : Ranks from system to system.

    Examples
    --------
    >>> run = pd.DataFrame({"query_id": "q", "doc_id": ["x", "y"], "rank": [1, 2], "score": [0.9, 0.5],
    ...                     "keyword_contribution": [0.3, 0.5], "vector_contribution": [0.6, 0.0]})
    >>> ax = contributions(run)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['keyword', 'vector']
    """
    frame = as_run(run)
    top_k = max(check_top_k(top_k, none=False) or 0, 1)
    parts = [str(c) for c in frame.columns if str(c).endswith("_contribution")]
    if not parts:
        raise ValueError(
            "contributions needs a fused run with columns <name>_contribution; found "
            f"{[str(c) for c in frame.columns]}. Make one with ragkit.fuse or HybridSearch.search."
        )
    query = pick_query([frame], query_id, "contributions")
    rows = frame[(frame["query_id"] == query) & (frame["rank"] <= top_k)]
    ax = axes(ax, (6.4, 1.1 + 0.27 * max(len(rows), 3)))
    _stack(ax, rows, parts)
    units = rows[unit_column(frame)].astype(str)
    names = unit_labels(units, docs)
    ax.set_yticks(rows["rank"], [f"{names[unit]}  {rank}" for unit, rank in zip(units, rows["rank"])])
    ax.set_ylim(max(rows["rank"].max() if len(rows) else 1, 3) + 0.6, 0.4)
    ax.set_xlabel("contribution to the score")
    ax.locator_params(axis="x", nbins=5)
    tidy(ax, grid="x").tick_params(axis="y", left=False)
    if several_queries([frame]):
        ax.set_title(f"query {query}", loc="left", fontsize=10)
    if not len(rows):
        note(ax, "no results")
    return ax


def _stack(ax: Axes, rows: pd.DataFrame, parts: list[str]) -> None:
    """Stack the parts of each row: positive ones to the right of 0, negative ones to the left."""
    up, down = np.zeros(len(rows)), np.zeros(len(rows))
    for n, part in enumerate(parts):
        values = rows[part].fillna(0.0).to_numpy(dtype=float)
        start = np.where(values >= 0, up, down)
        ax.barh(
            rows["rank"].to_numpy(),
            values,
            left=start,
            height=0.72,
            color=look(n).colour,
            hatch=look(n).hatch,
            edgecolor="white",
            linewidth=0.6,
            label=part.removesuffix("_contribution"),
        )
        up, down = up + np.maximum(values, 0.0), down + np.minimum(values, 0.0)
    if (down < 0).any():
        ax.axvline(0, color=GREY, linewidth=0.8)
    ax.legend(
        loc="lower left", bbox_to_anchor=(0, 1.0), ncols=min(len(parts), 4), frameon=False, borderaxespad=0.2
    )
