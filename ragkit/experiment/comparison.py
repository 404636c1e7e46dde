"""`compare` and `per_query`: several systems on the same queries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ragkit.experiment.scoring import is_scores, score_systems
from ragkit.experiment.statistics import (
    CORRECTIONS,
    TESTS,
    correct,
    mean_intervals,
    p_values,
    smallest_p,
)
from ragkit.frames import as_qrels, as_queries, check_choice, check_number, check_top_k, some
from ragkit.frames.messages import guess

_TIE = 1e-12  # differences below this are rounding, not a win


def compare(
    runs: Mapping[str, Any],
    qrels: Any = None,
    *,
    metrics: Any = None,
    baseline: str | None = None,
    test: str = "randomization",
    correction: str | None = "holm",
    ci: float = 0.95,
    by: str | None = None,
    queries: Any = None,
    vectors: Any = None,
    over: Any = "judged",
    resamples: int = 10_000,
    random_state: int = 0,
) -> pd.DataFrame:
    """Compare systems on the same queries: means, intervals, differences and how sure they are.

    Parameters
    ----------
    runs : dict of name to run or scores
        The systems. Scores are what :func:`ragkit.evaluate`, :func:`ragkit.score_chunks` or you made of a
        run: ``query_id, metric, value``. Runs and scores may stand side by side.
    qrels : judgements, optional
        Whatever :func:`ragkit.as_qrels` takes; not needed where all systems are scores.
    metrics : str, callable, or list of them, optional
        As in :func:`ragkit.evaluate`; of scores, which to take. None is all that the scores have in common.
    baseline : str, optional
        The system that the others are measured against; without it there are no differences.
    test : {"randomization", "t", "wilcoxon", "bootstrap"}, default="randomization"
        The paired test, always two-sided. Fisher's randomisation test counts every sign pattern when at
        most 32 queries differ, else draws `resamples` of them, and then p = (count + 1) / (resamples + 1).
    correction : {"holm", "bh", None}, default="holm"
        How p is corrected for the number of tests in the table.
    ci : float, default=0.95
        Confidence of the intervals.
    by : str, optional
        A column of `queries` (``"kind"``), or of qrels: one table for each of its values.
    queries : queries, optional
        Where `by` is found.
    vectors : VectorStore or mapping of unit id to vector, optional
        For metrics that read vectors.
    over : {"judged", "relevant", "retrieved"}, or query ids, default="judged"
        Which queries count, as in :func:`ragkit.evaluate`; ``"retrieved"`` means answered by every run.
        Of scores, the queries that all systems have count.
    resamples : int, default=10_000
        Draws of the bootstrap and of the randomisation test.
    random_state : int, default=0
        Seed of the draws.

    Returns
    -------
    DataFrame
        ``system, metric, mean, ci_low, ci_high, delta, p, p_corrected, wins, ties, losses``, then
        ``delta_low, delta_high`` (interval of delta), ``p_min`` (the smallest p that can be reached by as
        many queries as differ; without a baseline, by all) and ``queries``. The interval of a metric that
        is only ever 0 or 1 is the exact binomial one, of others the BCa bootstrap's. The baseline's own
        row has delta 0 and no p.

    Raises
    ------
    ValueError
        For an unknown baseline, test, correction or metric; for scores that lack a metric or hold a query
        and metric twice; for runs without metrics.

    Warns
    -----
    RetrievalWarning
        If scores do not hold the same queries: those that one lacks are left out. If judgements that come
        from a pool cover the runs unevenly, so that some are scored on what nobody judged; and where
        :func:`ragkit.evaluate` warns.

    See Also
    --------
    evaluate : The scores by query.
    score_chunks : Scores of ways of chunking.
    per_query : On which queries do systems differ?

    References
    ----------
    .. [1] Smucker, Allan, Carterette. A comparison of statistical significance tests for information
       retrieval evaluation. CIKM 2007.
    .. [2] Efron. Better bootstrap confidence intervals. JASA 1987.
    .. [3] Holm. A simple sequentially rejective multiple test procedure. Scand. J. Statist. 1979.

    Examples
    --------
    >>> qrels = {f"q{n}": {"a": 1} for n in range(4)}
    >>> runs = {"old": {q: ["x", "a"] for q in qrels}, "new": {q: ["a", "x"] for q in qrels}}
    >>> compare(runs, qrels, metrics="rr", baseline="old")[["system", "mean", "delta", "p", "p_min"]]
      system  mean  delta      p  p_min
    0    old   0.5    0.0    NaN  0.125
    1    new   1.0    0.5  0.125  0.125

    Scores need no judgements. So the settings of a :func:`ragkit.sweep` are compared, or ways of chunking:

    >>> scores = {size: pd.DataFrame({"query_id": ["p", "q"], "metric": "span_iou", "value": [0.2, iou]})
    ...           for size, iou in ((200, 0.4), (500, 0.1))}
    >>> compare(scores, baseline="200")[["system", "metric", "mean", "delta"]]
      system    metric  mean  delta
    0    200  span_iou  0.30   0.00
    1    500  span_iou  0.15  -0.15
    """
    runs = _check_runs(runs, baseline)
    check_choice("test", test, TESTS)
    if correction is not None:
        check_choice("correction", correction, CORRECTIONS)
    ci = _check_ci(ci)
    draws = check_top_k(resamples, "resamples", none=False) or 1
    ids, labels, values = score_systems(runs, qrels, metrics, vectors=vectors, over=over)
    tables = []
    for group, rows in _groups(ids, by, queries, qrels):
        table = _table(values[:, rows], list(runs), labels, baseline, test, ci, draws, random_state)
        tables.append(table if by is None else table.assign(**{by: group})[[by, *table.columns]])
    out = (
        pd.concat(tables, ignore_index=True)
        if tables
        else _table(values, list(runs), labels, baseline, test, ci, draws, random_state)
    )
    return out.assign(p_corrected=correct(out["p"].to_numpy(dtype=np.float64), correction))


def _check_runs(runs: Any, baseline: str | None) -> dict[str, Any]:
    """Give the systems by name, in order."""
    if not isinstance(runs, Mapping) or not runs:
        given = "an empty one" if isinstance(runs, Mapping) else f"a {type(runs).__name__}"
        raise TypeError(
            f"runs must be a dict of name to run, with at least one; got {given}. "
            'Write {"name": run}, or use evaluate(run, qrels, ...) for a single one.'
        )
    names = [str(name) for name in runs]
    if isinstance(baseline, pd.DataFrame):
        raise TypeError(f"baseline must be the name of a run, one of {names}; got a DataFrame.")
    if baseline is not None and baseline not in names:
        check_choice("baseline", baseline, names)
    if len(set(names)) < len(names):
        raise ValueError(f"runs holds two systems of one name: {names}; rename one.")
    return dict(zip(names, runs.values()))


def _check_ci(ci: float) -> float:
    ci = check_number("ci", ci, low=0.0, high=1.0, open_low=True, meaning="0.95 for 95 %")
    if ci == 1.0:
        raise ValueError("ci must be below 1; got 1.0. Write 0.95 for 95 %.")
    return ci


def _groups(ids: pd.Index, by: str | None, queries: Any, qrels: Any) -> list[tuple[Any, np.ndarray]]:
    """List the values of `by` with the rows that have each."""
    if by is None:
        return [(None, np.arange(len(ids)))]
    if queries is not None:
        frame = as_queries(queries)
    else:
        frame = pd.DataFrame() if qrels is None else as_qrels(qrels)
    if queries is None and by not in frame.columns:
        raise ValueError(f"by={by!r} needs queries=data.queries, a frame of queries with a column {by!r}.")
    if by not in frame.columns:
        others = [str(name) for name in frame.columns if name not in ("query_id", "text")]
        held = f"choose one of {others}" if others else "they have only query_id and text"
        raise ValueError(f"by={by!r} is no column of the queries; {held}.{guess(by, others)}")
    kind = frame.drop_duplicates("query_id").set_index("query_id")[by]
    kind.index = kind.index.astype(object)
    of_row = kind.reindex(ids)
    codes, values = pd.factorize(of_row, use_na_sentinel=False)
    return [(value, np.flatnonzero(codes == n)) for n, value in enumerate(values)]


def _table(
    values: np.ndarray,
    names: list[str],
    labels: list[str],
    baseline: str | None,
    test: str,
    ci: float,
    draws: int,
    seed: int,
) -> pd.DataFrame:
    """Build the comparison of one group of queries from values (system, query, metric)."""
    systems, n, m = values.shape
    x = values.transpose(1, 0, 2).reshape(n, systems * m)
    low, high = mean_intervals(x, ci=ci, resamples=draws, random_state=seed)
    table = {
        "system": pd.Series(np.repeat(names, m), dtype="str"),
        "metric": pd.Series(labels * systems, dtype="str"),
        "mean": x.mean(axis=0) if n else np.full(systems * m, np.nan),
        "ci_low": low,
        "ci_high": high,
    }
    others = np.flatnonzero(np.repeat([name != baseline for name in names], m))
    against = _differences(x, names, m, baseline, others, test, ci, draws, seed)
    return pd.DataFrame(table | against | {"queries": n})


def _differences(
    x: np.ndarray,
    names: list[str],
    m: int,
    baseline: str | None,
    others: np.ndarray,
    test: str,
    ci: float,
    draws: int,
    seed: int,
) -> dict[str, Any]:
    """Compute the columns that need a baseline; without one they are missing."""
    c = x.shape[1]
    numbers = {name: np.full(c, np.nan) for name in ("delta", "p", "p_corrected", "delta_low", "delta_high")}
    numbers["p_min"] = np.full(c, smallest_p(len(x), test, draws))
    counts = {name: pd.array([pd.NA] * c, dtype="Int64") for name in ("wins", "ties", "losses")}
    if baseline is not None and len(x):
        first = names.index(baseline) * m
        d = x - np.tile(x[:, first : first + m], len(names))
        d[np.abs(d) <= _TIE] = 0.0
        numbers["delta"] = d.mean(axis=0)
        if len(others):
            moved = (d[:, others] != 0).sum(axis=0)
            numbers["p_min"][others] = [smallest_p(int(differ), test, draws) for differ in moved]
            numbers["p"][others] = p_values(d[:, others], test, resamples=draws, random_state=seed)
            low, high = mean_difference_intervals(d[:, others], ci, draws, seed)
            numbers["delta_low"][others], numbers["delta_high"][others] = low, high
        for name, found in (("wins", d > 0), ("ties", d == 0), ("losses", d < 0)):
            counts[name][others] = found.sum(axis=0)[others]
    order = ["delta", "p", "p_corrected", "wins", "ties", "losses", "delta_low", "delta_high", "p_min"]
    both = numbers | counts
    return {name: both[name] for name in order}


def mean_difference_intervals(d: np.ndarray, ci: float, draws: int, seed: int) -> tuple:
    """Interval of each mean difference by the paired BCa bootstrap; missing for a single query."""
    from ragkit.experiment.statistics import bca

    if len(d) < 2:
        return np.nan, np.nan
    return bca(d, ci=ci, resamples=draws, random_state=seed)


def per_query(
    runs: Mapping[str, Any],
    qrels: Any = None,
    metric: Any = None,
    *,
    queries: Any = None,
    baseline: str | None = None,
    vectors: Any = None,
    over: Any = "judged",
) -> pd.DataFrame:
    """Set systems side by side on each query, the largest change first.

    Parameters
    ----------
    runs : dict of name to run or scores
        The systems, as in :func:`compare`.
    qrels : judgements, optional
        Whatever :func:`ragkit.as_qrels` takes; not needed where all systems are scores.
    metric : str or callable, optional
        One metric, as in :func:`ragkit.evaluate`. It may be left out where scores hold a single one.
    queries : queries, optional
        Adds their text.
    baseline : str, optional
        What the changes are measured against; None is the first system.
    vectors : VectorStore or mapping of unit id to vector, optional
        For metrics that read vectors.
    over : {"judged", "relevant", "retrieved"}, or query ids, default="judged"
        Which queries are listed.

    Returns
    -------
    DataFrame
        ``query_id, text``, a column per system, and ``delta_<system>`` for each but the baseline. Sorted
        by the largest absolute change, then by query id.

    Raises
    ------
    ValueError
        If the baseline is unknown, a system's name is that of another column, or there is not one metric.

    See Also
    --------
    compare : Whether the changes mean anything.

    Examples
    --------
    >>> qrels = {"q1": {"a": 1}, "q2": {"b": 1}}
    >>> runs = {"old": {"q1": ["a"], "q2": ["x", "b"]}, "new": {"q1": ["a"], "q2": ["b"]}}
    >>> per_query(runs, qrels, "rr")
      query_id  old  new  delta_new
    0       q2  0.5  1.0        0.5
    1       q1  1.0  1.0        0.0
    """
    runs = _check_runs(runs, baseline)
    names = list(runs)
    first = names[0] if baseline is None else baseline
    deltas = [f"delta_{name}" for name in names if name != first]
    columns = ["query_id", *(["text"] if queries is not None else []), *names, *deltas]
    if len(set(columns)) < len(columns):
        raise ValueError(f"runs holds a name that is also another column of the table: {columns}; rename it.")
    if metric is None and (plain := [name for name, data in runs.items() if not is_scores(data)]):
        raise ValueError(
            f"per_query needs metric= for run {some(plain)}, such as metric='ndcg@10': only scores "
            "(query_id, metric, value) bring their own."
        )
    ids, labels, values = score_systems(runs, qrels, metric, vectors=vectors, over=over)
    if len(labels) != 1:
        raise ValueError(f"metric must be one metric; got {labels}. Call per_query once for each.")
    table = pd.DataFrame(values[:, :, 0].T, columns=names)
    table.insert(0, "query_id", pd.Series(ids.to_numpy(dtype=object), dtype="str"))
    if queries is not None:
        texts = as_queries(queries).set_index("query_id")["text"]
        known = dict(zip(texts.index, texts))
        table.insert(1, "text", pd.Series([known.get(query, "") for query in ids], dtype="str"))
    for name in names:
        if name != first:
            table[f"delta_{name}"] = table[name] - table[first]
    change = table[deltas].abs().max(axis=1) if deltas else pd.Series(0.0, index=table.index)
    order = np.lexsort((table["query_id"].to_numpy(dtype=object).astype(str), -change.round(12).to_numpy()))
    return table.iloc[order].reset_index(drop=True)
