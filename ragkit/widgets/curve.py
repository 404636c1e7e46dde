"""The mean metric over the whole weight axis, with the stretch that is as good as the best."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ragkit import plot
from ragkit.hybrid import best_weight

TIE = 0.01  # means that lie this close are as good as equal


def best_stretch(path: pd.DataFrame, queries: int) -> pd.Series:
    """Find the best weight and the stretch around it that is as good, for the path's first metric.

    Parameters
    ----------
    path : DataFrame
        From :func:`ragkit.weight_path`, with a metric.
    queries : int
        How many queries are averaged; those without any result are not in the path and count 0.

    Returns
    -------
    Series
        A row of :func:`ragkit.best_weight`, its value the mean over all `queries`.
    """
    there = max(len(path["query_id"].unique()), 1)
    share = min(there / max(queries, 1), 1.0)
    best = best_weight(path, tolerance=TIE / share).iloc[0].copy()
    best["value"] *= share
    return best


def mean_curve(path: pd.DataFrame, metric: str, queries: int) -> pd.DataFrame:
    """Average the step functions of all judged queries.

    Parameters
    ----------
    path : DataFrame
        From :func:`ragkit.weight_path`, with `metric`.
    metric : str
        The column.
    queries : int
        How many queries are averaged; those without any result are not in the path and count 0.

    Returns
    -------
    DataFrame
        ``weight`` and ``mean <metric>``: each value holds from its weight to the next.
    """
    judged = path[path[metric].notna()]
    # Each interval adds its value where it begins and takes it back where it ends.
    edges, at = np.unique(
        np.concatenate([judged["weight_from"].to_numpy(), judged["weight_to"].to_numpy(), [0.0, 1.0]]),
        return_inverse=True,
    )
    values = judged[metric].to_numpy(dtype=float)
    jumps = np.zeros(len(edges))
    np.add.at(jumps, at[: len(judged)], values)
    np.add.at(jumps, at[len(judged) : 2 * len(judged)], -values)
    means = np.cumsum(jumps) / max(queries, 1)
    if len(means) > 1:
        means[-1] = means[-2]
    return pd.DataFrame({"weight": edges, f"mean {metric}": means})


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
