"""The mean metric over the whole weight axis, with the stretch that is as good as the best."""

from __future__ import annotations

from typing import Any

import pandas as pd

from ragkit import plot
from ragkit.hybrid import best_weight, mean_path

TIE = 0.01  # means that lie this close are as good as equal


def best_stretch(path: pd.DataFrame) -> pd.Series:
    """Find the best weight and the stretch around it that is as good, for the path's first metric.

    Parameters
    ----------
    path : DataFrame
        From :func:`ragkit.weight_path`, with a metric.

    Returns
    -------
    Series
        A row of :func:`ragkit.best_weight`.
    """
    return best_weight(path, tolerance=TIE).iloc[0]


def mean_curve(path: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Average the step functions of all judged queries.

    Parameters
    ----------
    path : DataFrame
        From :func:`ragkit.weight_path`, with `metric`.
    metric : str
        The column.

    Returns
    -------
    DataFrame
        ``weight`` and ``mean <metric>``: each value holds from its weight to the next, the last to 1.
    """
    means = mean_path(path[["query_id", "weight_from", "weight_to", metric]])
    edges = [*means["weight_from"], 1.0]
    return pd.DataFrame({"weight": edges, f"mean {metric}": [*means[metric], means[metric].iloc[-1]]})


def draw_curve(ax: Any, curve: pd.DataFrame, best: pd.Series, weight: float | None, name: str) -> Any:
    """Draw the curve, the setting on show, and the plateau.

    Parameters
    ----------
    ax : Axes
        Where to draw.
    curve : DataFrame
        From :func:`mean_curve`.
    best : Series
        A row of :func:`ragkit.best_weight`.
    weight : float or None
        The setting on show.
    name : str
        The run whose weight it is.

    Returns
    -------
    Axes
        The same axes.
    """
    plot.curves(curve, x="weight", y=curve.columns[1], at=weight, steps=True, ax=ax)
    ax.axvspan(best["plateau_from"], best["plateau_to"], color="#009E73", alpha=0.25, linewidth=0)
    ax.set_xlabel(f"weights[{name!r}]; green: within {TIE} of the best")
    return ax
