"""Weights of any number of runs: exact line searches, and the simplex of three as a frame."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ragkit.frames import check_top_k, ranks_within, tie_order
from ragkit.hybrid.means import best_weight
from ragkit.hybrid.weights import Judgements, Parts, judge, make_parts, path_of
from ragkit.metrics.judged import Judged
from ragkit.metrics.names import Metric, parse_metrics


def best_weights(
    runs: Any,
    qrels: Any,
    *,
    metric: str = "ndcg@10",
    method: str = "rrf",
    restarts: int = 4,
    random_state: int = 0,
    k: float = 60,
    normalize: Any = None,
    missing: Any = None,
    minimum: Any = None,
) -> pd.DataFrame:
    """Search the weights of any number of runs: exact along each weight, from several starts.

    One weight after the other moves along its whole axis to the exact optimum while the rest keep their
    proportions, until none helps. With two runs the first step is the global optimum; with more it is a
    local one, the best of all starts.

    Parameters
    ----------
    runs : dict of str to run
        Two or more runs, as in :func:`ragkit.fuse`.
    qrels : judgements
        Whatever :func:`ragkit.as_qrels` takes.
    metric : str, default="ndcg@10"
        A metric that reads judgements.
    method : str, default="rrf"
        A method that is linear in the weights.
    restarts : int, default=4
        Random starts beside the one of equal weights.
    random_state : int, default=0
        Seed of the random starts.
    k, normalize, missing, minimum
        As in :func:`ragkit.fuse`.

    Returns
    -------
    DataFrame
        ``run, weight, metric, value``: weights that sum to 1 and the mean they reach on these judgements. A
        weight that was tuned here must be judged on other queries.

    See Also
    --------
    weight_path : One weight, with all its intervals.

    Examples
    --------
    >>> runs = {"a": {"q": ["x", "y"]}, "b": {"q": ["y", "x"]}, "c": {"q": ["y"]}}
    >>> best = best_weights(runs, {"q": {"x": 1}}, metric="rr")
    >>> best["run"].tolist(), best["value"].tolist()
    (['a', 'b', 'c'], [1.0, 1.0, 1.0])
    """
    parts = make_parts(runs, method=method, k=k, normalize=normalize, missing=missing, minimum=minimum)
    parsed = parse_metrics(metric)
    parts, judged = judge(parts, qrels, parsed, "judged")
    names, rng = list(parts.by_run), np.random.default_rng(random_state)
    starts = [np.full(len(names), 1 / len(names))]
    starts += [rng.dirichlet(np.ones(len(names))) for _ in range(check_top_k(restarts, "restarts") or 0)]
    found = [
        _ascend(parts, judged, parsed, dict(zip(names, start)))
        for start in starts[: None if len(names) > 2 else 1]
    ]
    weights, value = max(found, key=lambda pair: pair[1])
    return pd.DataFrame(
        {"run": names, "weight": [weights[n] for n in names], "metric": parsed[0].label, "value": value}
    )


def _ascend(
    parts: Parts, judged: Judgements, metric: list[Metric], weights: dict[str, float]
) -> tuple[dict[str, float], float]:
    """Move one weight after the other to its optimum until nothing improves."""
    best, improved = -np.inf, True
    while improved:
        improved = False
        for name in weights:
            rest = {other: w for other, w in weights.items() if other != name}
            rest = rest if sum(rest.values()) > 0 else dict.fromkeys(rest, 1.0)
            path = path_of(parts.axis(name, rest), judged, metric, 0)
            row = best_weight(path).iloc[0]
            if row["value"] > best + 1e-12 or best == -np.inf:
                best, w, total = float(row["value"]), float(row["weight"]), sum(rest.values())
                weights = {other: (1 - w) * v / total for other, v in rest.items()} | {name: w}
                improved = True
    return weights, best


def weight_simplex(
    runs: Any,
    qrels: Any,
    *,
    metric: str = "ndcg@10",
    method: str = "rrf",
    steps: int = 20,
    k: float = 60,
    normalize: Any = None,
    missing: Any = None,
    minimum: Any = None,
) -> pd.DataFrame:
    """Evaluate three runs over the triangle of their weights, for :func:`ragkit.plot.weight_simplex`.

    Parameters
    ----------
    runs : dict of str to run
        Three runs.
    qrels : judgements
        Whatever :func:`ragkit.as_qrels` takes.
    metric : str, default="ndcg@10"
        A metric that reads judgements.
    method : str, default="rrf"
        A method that is linear in the weights.
    steps : int, default=20
        Steps from one corner to the next; a picture needs points, the optimum is :func:`best_weights`'s.
    k, normalize, missing, minimum
        As in :func:`ragkit.fuse`.

    Returns
    -------
    DataFrame
        One column per run, its weight, and the mean of the metric. On an edge a run of weight 0 adds nothing,
        but its units stay, as just beside the edge.

    Raises
    ------
    ValueError
        If there are not three runs.

    Examples
    --------
    >>> runs = {"a": {"q": ["x", "y"]}, "b": {"q": ["y", "x"]}, "c": {"q": ["y"]}}
    >>> weight_simplex(runs, {"q": {"x": 1}}, metric="rr", steps=1).values.tolist()
    [[0.0, 0.0, 1.0, 0.5], [0.0, 1.0, 0.0, 0.5], [1.0, 0.0, 0.0, 1.0]]
    """
    parts = make_parts(runs, method=method, k=k, normalize=normalize, missing=missing, minimum=minimum)
    names = list(parts.by_run)
    if len(names) != 3:
        raise ValueError(f"weight_simplex needs three runs; got {names}. For two, use weight_path.")
    steps = max(check_top_k(steps, "steps", none=False) or 0, 1)
    parsed = parse_metrics(metric)
    parts, judged = judge(parts, qrels, parsed, "judged")
    points = [
        (i / steps, j / steps, (steps - i - j) / steps)
        for i in range(steps + 1)
        for j in range(steps + 1 - i)
    ]
    values = [_mean_at(parts, judged, parsed[0], point) for point in points]
    return pd.DataFrame(points, columns=names).assign(**{parsed[0].label: values})


def _mean_at(parts: Parts, judged: Judgements, metric: Metric, weights: tuple[float, ...]) -> float:
    """Fuse with these weights, and average the metric over the judged queries."""
    pool = parts.pool
    score = sum(w * part for w, part in zip(weights, parts.by_run.values()))
    order = tie_order(pool.query, np.asarray(score), lambda slots: pool.unit_order(pool.units[slots]))
    rank = np.empty(len(pool), dtype=np.int64)
    rank[order] = ranks_within(pool.query)
    query = np.repeat(np.arange(len(pool.sizes)), np.diff(judged.bounds))
    slots = judged.slot + pool.starts[query]
    own = np.where(judged.slot >= 0, rank[np.where(judged.slot >= 0, slots, 0)] if len(rank) else 0, 0)
    sort = np.lexsort((np.where(own > 0, own, np.iinfo(np.int64).max), query))
    data = Judged(query[sort], judged.grade[sort], own[sort], pool.sizes, int(judged.grade.max(initial=0)))
    values = metric.compute(data)[judged.known]
    return float(values.mean()) if len(values) else np.nan
