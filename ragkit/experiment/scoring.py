"""Scores of several systems on the same queries: of runs, of ready scores, or of both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ragkit.frames import as_ids, as_qrels, as_run, check_choice, some, warn
from ragkit.frames.messages import count
from ragkit.metrics.evaluation import Scored, score_run, warn_about
from ragkit.metrics.judged import OVER
from ragkit.metrics.names import Metric, parse_metrics, same_metric

_COLUMNS = ("query_id", "metric", "value")


def is_scores(data: Any) -> bool:
    """Tell a scores frame from a run."""
    return isinstance(data, pd.DataFrame) and set(_COLUMNS) <= set(data.columns)


def score_systems(
    systems: Mapping[str, Any], qrels: Any, metrics: Any, *, vectors: Any = None, over: Any = "judged"
) -> tuple[pd.Index, list[str], np.ndarray]:
    """Score systems on one set of queries: query ids, metric labels, values (system, query, metric)."""
    if isinstance(over, pd.DataFrame) or (isinstance(over, Iterable) and not isinstance(over, str)):
        over = as_ids(list(over["query_id"] if isinstance(over, pd.DataFrame) else over), "over").tolist()
    elif over not in OVER:
        check_choice("over", over, OVER)
    tables = {name: _table(data, name) for name, data in systems.items() if is_scores(data)}
    runs = {name: data for name, data in systems.items() if name not in tables}
    if runs and metrics is None:
        raise ValueError(
            f"compare needs metrics= for run {some(runs)}, such as metrics=['ndcg@10', 'rr']: only scores "
            "(query_id, metric, value) bring their own."
        )
    parsed: list[Metric] = parse_metrics(metrics) if runs else []
    labels = [metric.label for metric in parsed] if runs else _labels(tables, metrics)
    judged = None if qrels is None else as_qrels(qrels)
    scored = {
        name: score_run(_run_of(name, run), judged, parsed, vectors=vectors, over=over)
        for name, run in runs.items()
    }
    warn_about(scored)
    scored |= {name: _scored(table, name, labels) for name, table in tables.items()}
    ids = _shared({name: scored[name].queries for name in systems}, list(tables), judged, over)
    values = [scored[name].values[scored[name].queries.get_indexer(ids)] for name in systems]
    return ids, labels, np.stack(values)


def _run_of(name: str, run: Any) -> Any:
    """Read a system's run; an error says whose it is."""
    if isinstance(run, pd.DataFrame):
        return run
    try:
        return as_run(run)
    except (TypeError, ValueError) as error:
        raise type(error)(f"run {name!r}: {error}") from None


def _table(scores: pd.DataFrame, name: str) -> pd.DataFrame:
    """Check a system's scores; one row per query, one column per metric."""
    bad = scores[
        ~np.isfinite(pd.to_numeric(scores["value"], errors="coerce").to_numpy(np.float64, na_value=np.nan))
    ]
    if len(bad):
        raise ValueError(
            f"scores of {name!r} hold {len(bad)} values that are no finite number, the first "
            f"for query {bad['query_id'].iloc[0]!r}, metric {bad['metric'].iloc[0]!r}; drop or replace them."
        )
    frame = pd.DataFrame(
        {
            "query_id": as_ids(scores["query_id"], "query_id").astype(object).to_numpy(),
            "metric": scores["metric"].astype(str).astype(object).to_numpy(),
            "value": pd.to_numeric(scores["value"]).to_numpy(np.float64),
        }
    )
    twice = frame[frame.duplicated(["query_id", "metric"])]
    if len(twice):
        raise ValueError(
            f"scores of {name!r} hold query {twice['query_id'].iloc[0]!r}, metric "
            f"{twice['metric'].iloc[0]!r} twice; give each system a frame of its own, as "
            "dict(list(scores.groupby('system'))) does."
        )
    row, queries = pd.factorize(frame["query_id"])
    column, known = pd.factorize(frame["metric"])
    values = np.full((len(queries), len(known)), np.nan)
    values[row, column] = frame["value"]
    return pd.DataFrame(values, index=queries, columns=known)


def _labels(tables: Mapping[str, pd.DataFrame], metrics: Any) -> list[str]:
    """List the metrics asked for by name; None is all that the scores have in common."""
    if metrics is not None:
        single = isinstance(metrics, str) or callable(metrics) or not isinstance(metrics, Iterable)
        asked = [metrics] if single else list(metrics)
        labels = [getattr(m, "__name__", None) or str(m) for m in asked]
        twice = sorted({label for label in labels if labels.count(label) > 1})
        if twice:
            raise ValueError(f"metrics holds {twice} twice; give each once.")
        return labels
    first, *rest = tables.values()
    known = [set(map(same_metric, table.columns)) for table in rest]
    labels = [str(label) for label in first.columns if all(same_metric(label) in names for names in known)]
    if not labels and any(len(table) for table in tables.values()):
        held = {name: list(table.columns) for name, table in tables.items()}
        raise ValueError(f"the scores have no metric in common: {held}.")
    return labels


def _scored(table: pd.DataFrame, name: str, labels: list[str]) -> Scored:
    """Take the metrics asked for out of a system's scores."""
    spelled = {same_metric(column): column for column in table.columns}
    columns = [label if label in table.columns else spelled.get(same_metric(label)) for label in labels]
    missing = [label for label, column in zip(labels, columns) if column is None]
    if missing and len(table):
        raise ValueError(f"scores of {name!r} lack metric {some(missing)}; they hold {list(table.columns)}.")
    wanted = table.reindex(columns=columns)
    holes = wanted.isna().to_numpy()
    if holes.any():
        row, column = np.argwhere(holes)[0]
        raise ValueError(
            f"scores of {name!r} lack metric {labels[column]!r} for {holes.any(axis=1).sum()} of "
            f"{len(table)} queries, the first {wanted.index[row]!r}; every query needs every metric."
        )
    return Scored(pd.Index(wanted.index, dtype=object), wanted.to_numpy(np.float64))


def _shared(
    queries: Mapping[str, pd.Index], scores: list[str], qrels: pd.DataFrame | None, over: Any
) -> pd.Index:
    """List the queries of all systems, in the order of the first; say which are left out of scores."""
    ids = next(iter(queries.values()))
    for one in queries.values():  # over="retrieved" may differ between runs
        ids = ids if one.equals(ids) else ids[ids.isin(one)]
    if not isinstance(over, str):
        chosen = pd.Index(over, dtype=object).unique()
        missing = chosen[~chosen.isin(ids)]
        if len(missing):
            raise ValueError(
                f"over names {count(len(missing), 'query')} that not every system has: {some(missing)}."
            )
        return chosen
    if over == "relevant" and len(scores) == len(queries):
        if qrels is None:
            raise ValueError("over='relevant' needs qrels: scores do not say what is relevant.")
        good = qrels.loc[qrels["relevance"] > 0, "query_id"]
        return ids[ids.isin(good)]
    lost = {query: None for name in queries for query in queries[name] if query not in ids}
    if lost and scores and over == "judged":
        warn(
            f"{len(lost)} queries are not in the scores of every system and are left out ({some(lost)}): "
            "a score that is missing is not 0. Score all systems on the same queries."
        )
    return ids
