"""Counterfactuals: the smallest change of a weight that changes the result as wished."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ragkit.frames import as_ids, check_top_k, id_array, some
from ragkit.fusion.align import named_runs
from ragkit.fusion.lines import rank_changes
from ragkit.fusion.options import check_weights
from ragkit.hybrid.weights import Axis, make_parts


def flip(
    runs: Any,
    query_id: str,
    unit_a: str,
    unit_b: str | None = None,
    *,
    top_k: int | None = None,
    weights: Any = None,
    method: str = "rrf",
    k: float = 60,
    normalize: Any = None,
    missing: Any = None,
    minimum: Any = None,
) -> pd.DataFrame:
    """Find the smallest change of a weight that puts one unit above another, or into the first `top_k`.

    Parameters
    ----------
    runs : dict of str to run
        Two or more runs, as in :func:`ragkit.fuse`.
    query_id : str
        The query.
    unit_a : str
        The unit that is to rise.
    unit_b : str, optional
        The unit that it is to pass; give this or `top_k`.
    top_k : int, optional
        The rank that it is to reach.
    weights : dict or sequence of float, optional
        The weights now; equal by default.
    method : str, default="rrf"
        A method that is linear in the weights.
    k, normalize, missing, minimum
        As in :func:`ragkit.fuse`.

    Returns
    -------
    DataFrame
        ``run, weight_now, weight_from, weight_to, change``: for each run whose weight alone can do it (one
        of two runs says all), its share now, the nearest stretch of shares in which it holds, and the
        signed change to that stretch's near end; smallest change first, 0 where it holds already. Empty
        where no weight does it. The other runs keep their proportions.

    Raises
    ------
    ValueError
        If neither or both of `unit_b` and `top_k` are given, or a unit is in none of the runs.

    See Also
    --------
    weight_path : All changes, not only one unit's.

    Examples
    --------
    >>> runs = {"keyword": {"q": ["a", "b"]}, "vector": {"q": ["b", "c"]}}
    >>> flip(runs, "q", "a", "b").round(4).values.tolist()
    [['keyword', 0.5, 0.9841, 1.0, 0.4841]]
    """
    if (unit_b is None) == (top_k is None):
        raise ValueError(
            "flip needs one of unit_b, which unit_a is to pass, and top_k, the rank it is to reach."
        )
    depth = check_top_k(top_k)
    named = named_runs(runs)
    names = list(named)
    now = check_weights(weights, names)
    total = sum(now.values())
    parts = make_parts(named, method=method, k=k, normalize=normalize, missing=missing, minimum=minimum)
    rows = []
    for name in names[:1] if len(names) == 2 else names:
        rest = {other: now.get(other, 0.0) for other in names if other != name}
        if not any(rest.values()):
            continue
        axis = parts.axis(name, rest)
        share = now.get(name, 0.0) / total
        nearest = _nearest_stretch(axis, query_id, unit_a, unit_b, depth, share)
        if nearest is not None:
            rows.append((name, share, *nearest))
    frame = pd.DataFrame(rows, columns=["run", "weight_now", "weight_from", "weight_to", "change"])
    frame = frame.astype({"run": "str"} | dict.fromkeys(frame.columns[1:], "float64"))
    return frame.sort_values("change", key=abs, kind="stable").reset_index(drop=True)


def _nearest_stretch(
    axis: Axis, query_id: str, unit_a: str, unit_b: str | None, top_k: int | None, now: float
) -> tuple[float, float, float] | None:
    """Find the stretch nearest to `now` in which the wish holds."""
    query = _position(axis.pool.query_ids, query_id, "query")
    lines = axis.lines(query)
    start = int(axis.pool.starts[query])
    ids = id_array(axis.pool.unit_ids.take(axis.pool.units[start + lines.slot]))
    a = _position(ids, unit_a, f"unit for query {query_id!r}")
    if unit_b is None:
        edges, ranks = rank_changes(lines, np.array([a]), top_k)
        holds = ranks[:, 0] <= (top_k or 0)
    else:
        b = _position(ids, unit_b, f"unit for query {query_id!r}")
        edges, ranks = rank_changes(lines, np.array([a, b]), None)
        holds = ranks[:, 0] < ranks[:, 1]
    bounds = np.r_[0.0, edges, 1.0]
    change = np.flatnonzero(np.diff(np.r_[0, holds.astype(int), 0]))
    stretches = [(bounds[i], bounds[j]) for i, j in zip(change[::2], change[1::2])]
    reach = [(float(np.clip(now, low, high) - now), low, high) for low, high in stretches]
    if not reach:
        return None
    step, low, high = min(reach, key=lambda r: abs(r[0]))
    return float(low), float(high), step


def _position(ids: Any, wanted: Any, what: str) -> int:
    name = as_ids([wanted], what)[0]
    where = np.flatnonzero(np.asarray(ids, dtype=object) == name)
    if not len(where):
        raise ValueError(f"flip found no {what} called {name!r}; there are {some(list(ids))}.")
    return int(where[0])
