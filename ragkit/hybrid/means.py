"""The mean of a metric over the weight axis, and its exact optimum."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ragkit.frames import check_number, warn


def mean_path(path: pd.DataFrame) -> pd.DataFrame:
    """Average a path over its queries: the mean metric as a step function of the weight.

    Parameters
    ----------
    path : DataFrame
        From :func:`weight_path`, with metrics.

    Returns
    -------
    DataFrame
        ``weight_from, weight_to`` and for each metric its mean and the ends of its 95 % interval over the
        queries, ``<metric>_low`` and ``<metric>_high``; queries whose metrics are NaN do not count.
    """
    metrics = metric_columns(path)
    judged = path[path[metrics].notna().all(axis=1)] if metrics else path
    n = judged["query_id"].nunique()
    if not n:
        names = [f"{metric}{end}" for metric in metrics for end in ("", "_low", "_high")]
        return pd.DataFrame({"weight_from": [0.0], "weight_to": [1.0], **dict.fromkeys(names, np.nan)})
    start = judged["weight_from"].to_numpy()
    values = judged[metrics].to_numpy()
    order = np.argsort(start, kind="stable")
    start = start[order]
    total, squares = (
        np.cumsum(_steps(v, judged["weight_from"].to_numpy())[order], axis=0) for v in (values, values**2)
    )
    last = np.r_[np.diff(start) > 1e-12, True]
    low, mean = start[last], total[last] / n
    spread = np.sqrt(np.maximum(squares[last] / n - mean**2, 0) / max(n - 1, 1)) * 1.96
    both = np.column_stack([mean, spread])
    new = np.r_[True, (np.abs(both[1:] - both[:-1]) > 1e-12).any(axis=1)]
    low, mean, spread = low[new], mean[new], spread[new]
    out: dict[str, Any] = {"weight_from": low, "weight_to": np.r_[low[1:], 1.0]}
    for i, name in enumerate(metrics):
        out |= {
            name: mean[:, i],
            f"{name}_low": mean[:, i] - spread[:, i],
            f"{name}_high": mean[:, i] + spread[:, i],
        }
    return pd.DataFrame(out)


def _steps(values: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Turn the values of intervals into the changes at their starts."""
    steps = values.copy()
    steps[1:] -= np.where(start[1:, None] > 0, values[:-1], 0.0)
    return steps


def metric_columns(path: pd.DataFrame) -> list[str]:
    """Name the metric columns of a path."""
    known = {"query_id", "weight_from", "weight_to", "unit_ids"}
    return [name for name in path.columns if name not in known]


def best_weight(path: pd.DataFrame, *, tolerance: float = 0.0) -> pd.DataFrame:
    """Find the exact optimum of each mean metric, and the plateau around it.

    Parameters
    ----------
    path : DataFrame
        From :func:`ragkit.weight_path`, with metrics.
    tolerance : float, default=0.0
        How far below the optimum the mean may lie for a weight to count as just as good, in units of the
        metric: 0.01 is 1 % of a metric in [0, 1].

    Returns
    -------
    DataFrame
        One row per metric, ``metric, value, weight, weight_from, weight_to, plateau_from, plateau_to``: the
        best mean, the middle of the widest interval that reaches it, that interval, and the stretch around
        it in which the mean stays within `tolerance`. The honest answer is the plateau, not the weight.

    Raises
    ------
    ValueError
        If the path holds no metric, or `tolerance` is negative.

    Warns
    -----
    RetrievalWarning
        If `tolerance` is at least half of the optimum and no weight falls outside it.

    See Also
    --------
    weight_path : Makes the path.

    Examples
    --------
    >>> from ragkit import weight_path
    >>> runs = {"keyword": {"q": ["a", "b"]}, "vector": {"q": ["b", "c"]}}
    >>> best_weight(weight_path(runs, {"q": {"b": 1}}, metrics="rr")).round(3).values.tolist()
    [['rr', 1.0, 0.492, 0.0, 0.984, 0.0, 0.984]]
    """
    tolerance = check_number("tolerance", tolerance, low=0)
    metrics = metric_columns(path)
    if not metrics:
        raise ValueError("best_weight needs a path with metrics; give weight_path the qrels.")
    means = mean_path(path)
    for metric in metrics:
        if _spans_all(means[metric], tolerance):
            low, high = means[metric].min(), means[metric].max()
            warn(
                f"tolerance={tolerance:g} covers the whole range of {metric!r} on the path, {low:.4g} to "
                f"{high:.4g}, so every weight counts as just as good; it is in units of the metric: "
                "for 1 % of a metric in [0, 1] write 0.01."
            )
            break
    return pd.DataFrame([_optimum(means, metric, tolerance) for metric in metrics])


def _spans_all(mean: pd.Series, tolerance: float) -> bool:
    """Say whether a tolerance is a slip: a path that is merely flat is an answer, and needs no warning."""
    spread = mean.max() - mean.min()
    return bool(0 < spread <= tolerance and tolerance >= mean.max() / 2)


def _optimum(means: pd.DataFrame, metric: str, tolerance: float) -> dict[str, Any]:
    low, high = means["weight_from"].to_numpy(), means["weight_to"].to_numpy()
    value = means[metric].to_numpy()
    best = float(np.max(value))
    if np.isnan(best):
        return {"metric": metric, "value": best, "weight": np.nan, "weight_from": 0.0, "weight_to": 1.0,
                "plateau_from": 0.0, "plateau_to": 1.0}  # fmt: skip
    start, end = _widest(value >= best - 1e-12, low, high)
    flat_from, flat_to = _stretch(value >= best - 1e-12 - tolerance, start)
    return {
        "metric": metric,
        "value": best,
        "weight": float((low[start] + high[end]) / 2),
        "weight_from": float(low[start]),
        "weight_to": float(high[end]),
        "plateau_from": float(low[flat_from]),
        "plateau_to": float(high[flat_to]),
    }


def _widest(good: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[int, int]:
    """Find the widest run of intervals that are good."""
    change = np.flatnonzero(np.diff(np.r_[0, good.astype(int), 0]))
    starts, ends = change[::2], change[1::2] - 1
    widest = int(np.argmax(high[ends] - low[starts]))
    return int(starts[widest]), int(ends[widest])


def _stretch(good: np.ndarray, inside: int) -> tuple[int, int]:
    """Find the run of good intervals around one of them."""
    bad = np.flatnonzero(~good)
    before, after = bad[bad < inside], bad[bad > inside]
    return int(before[-1]) + 1 if len(before) else 0, int(after[0]) - 1 if len(after) else len(good) - 1
