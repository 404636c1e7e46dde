"""The plots of the lab: each drawn from what one setting finds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from ragkit import plot
from ragkit.frames import unit_column
from ragkit.plot.labels import shorten
from ragkit.widgets import html
from ragkit.widgets.controls import checkbox
from ragkit.widgets.curve import best_stretch, draw_curve, mean_curve
from ragkit.widgets.picture import Picture
from ragkit.widgets.stages import Found, Stages

#: The plots by name, with what they show.
PLOTS = {
    "ranks": "Who stands where in each system, joined by lines",
    "contributions": "What each retriever added to the fused scores",
    "trade-off": "Relevance against diversity for every lambda_",
    "weights": "The mean of the first metric that reads judgements over all weights, with the best stretch",
}
_SIZES = {"ranks": (5.6, 3.3), "contributions": (5.6, 3.2), "trade-off": (5.6, 3.3), "weights": (5.6, 3.0)}
_MOST = 20  # ranks that a plot has room for


def plot_switches(shown: Sequence[str]) -> dict[str, Any]:
    """Make a box to tick for each plot: several may be shown at a time, one below the other.

    Parameters
    ----------
    shown : sequence of str
        The plots that are ticked at first.

    Returns
    -------
    dict of name to Checkbox
        The boxes.
    """
    boxes = {name: checkbox(name, name in shown, tooltip=tip) for name, tip in PLOTS.items()}
    for box in boxes.values():
        box.layout.margin = "2px 10px 2px 2px"
    return boxes


class Charts:
    """Draws the plots that are switched on, each on a figure of its own that lives as long as the lab.

    Parameters
    ----------
    stages : Stages
        Where names and texts come from.
    """

    def __init__(self, stages: Stages):
        self._stages = stages
        self.pictures = {name: Picture(*_SIZES[name]) for name in PLOTS}
        self._drawn: dict[str, tuple[Any, str]] = {}  # what was drawn last, and from what

    def draw(self, shown: Sequence[str], result: Found, params: dict[str, Any]) -> Iterator[tuple[str, str]]:
        """Draw one plot after the other.

        Parameters
        ----------
        shown : sequence of str
            Names of the plots that are switched on.
        result : Found
            What is drawn.
        params : dict
            The setting.

        Yields
        ------
        (str, str)
            Name and HTML; empty for a plot that is off, or that this setting does not have.
        """
        docs = self._stages.labels([result.value, *result.systems.values()], params["top_k"])
        drawings = {
            "ranks": self._ranks,
            "contributions": self._contributions,
            "trade-off": self._tradeoff,
            "weights": self._weights,
        }
        for name, picture in self.pictures.items():
            if name not in shown:
                yield name, ""
                continue
            key = _key(name, result, params)
            if name not in self._drawn or self._drawn[name][0] != key:
                self._drawn[name] = key, drawings[name](picture, result, params, docs)
            yield name, self._drawn[name][1]

    def close(self) -> None:
        """Let go of the figures."""
        for picture in self.pictures.values():
            picture.close()

    def _ranks(self, picture: Picture, result: Found, params: dict[str, Any], docs: pd.DataFrame) -> str:
        top_k = min(params["top_k"], _MOST)
        titles = dict(zip(docs[unit_column(docs, "docs")], docs["title"]))
        first = result.value[unit_column(result.value)].head(3)
        best = ", ".join(shorten(titles.get(unit) or unit, 30) for unit in first)
        alt = f"Ranks of the top {top_k} in {', '.join(result.systems)}; first are {best or 'none'}"
        return picture.draw(lambda ax: plot.bump(result.systems, docs=docs, top_k=top_k, ax=ax), alt)

    def _contributions(
        self, picture: Picture, result: Found, params: dict[str, Any], docs: pd.DataFrame
    ) -> str:
        run = result.value
        parts = [name for name in self._stages.names if f"{name}_contribution" in run.columns]
        if not parts:
            return ""
        top_k = min(params["top_k"], _MOST)
        alt = f"What {' and '.join(parts)} contributed to the fused scores of the top {top_k}"
        svg = picture.draw(
            lambda ax: plot.contributions(run, docs=docs, top_k=top_k, ax=ax), alt, legend=False
        )
        return html.wrap(f"<div>{html.key(parts)}</div>{svg}")

    def _tradeoff(self, picture: Picture, result: Found, params: dict[str, Any], docs: pd.DataFrame) -> str:
        path = result.path
        if path is None:
            return ""
        alt = f"Relevance against diversity: {len(path)} different selections between lambda 0 and 1"
        return picture.draw(lambda ax: plot.tradeoff(path, lambda_=params["lambda_"], ax=ax), alt)

    def _weights(self, picture: Picture, result: Found, params: dict[str, Any], docs: pd.DataFrame) -> str:
        if result.means is None:
            return ""
        name, best = self._stages.names[0], best_stretch(result.means)
        curve = mean_curve(result.means, str(best["metric"]))
        whole = sum(params["weights"].values())
        share = params["weights"][name] / whole if whole else None
        at = f"{best['value']:.3f} at {best['weight']:.2f} is best"
        alt = f"Mean {best['metric']} over the weight of {name}: {at}"
        return picture.draw(lambda ax: draw_curve(ax, curve, best, share, name), alt)


def _key(name: str, result: Found, params: dict[str, Any]) -> Any:
    """What a plot depends on: most steps change little, and drawing is the dearest part."""
    top_k = min(params["top_k"], _MOST)
    if name == "ranks":
        unit = unit_column(result.value)
        return top_k, [(n, run.loc[run["rank"] <= top_k, unit].tolist()) for n, run in result.systems.items()]
    if name == "contributions":
        run = result.value[result.value["rank"] <= top_k]
        parts = [c for c in run.columns if str(c).endswith("_contribution")]
        return run[unit_column(run)].tolist(), parts, run[parts].fillna(0.0).to_numpy().tolist()
    if name == "trade-off":
        return _Same(result.path), params["lambda_"]
    return _Same(result.means), params["weights"]


class _Same:
    """Equal to itself alone; holds what it stands for, so that no other object takes its place."""

    def __init__(self, thing: Any):
        self.thing = thing

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.thing is other.thing

    __hash__ = None  # type: ignore[assignment]
