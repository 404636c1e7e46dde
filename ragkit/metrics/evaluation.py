"""`evaluate`: a run and judgements in, one row per query and metric out."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ragkit.frames import as_qrels, as_run, some, unit_column, warn
from ragkit.frames.messages import count
from ragkit.metrics.diversity import Lists
from ragkit.metrics.judged import Judged, Judgements, code_judgements, codes_in, queries_in
from ragkit.metrics.names import SPECS, Metric, parse_metrics
from ragkit.metrics.pool import judged_share, pool_depth, warn_of_gaps
from ragkit.similarity import gather_vectors, normalize_rows


@dataclass(frozen=True)
class Scored:
    """The scores of one run, with what a reader must be told about them.

    Parameters
    ----------
    queries : Index
        The queries that are scored.
    values : ndarray of float64, shape (n, metrics)
        One row per query, one column per metric.
    unjudged : list of str
        Queries of the run without judgements; they are left out.
    strange : bool
        Whether the run holds documents and none of them is judged.
    instead : list of str
        Where no query of the run is judged at all: those that are.
    depth : int or None
        The rank down to which it matters whether results are judged; None where it does not.
    share : float or None
        How many of the results down to there are judged; None where the judgements are no pool.
    """

    queries: pd.Index
    values: np.ndarray
    unjudged: list[str] = field(default_factory=list)
    strange: bool = False
    instead: list[str] = field(default_factory=list)
    depth: int | None = None
    share: float | None = None


def evaluate(
    run: Any, qrels: Any = None, *, metrics: Any, vectors: Any = None, over: Any = "judged"
) -> pd.DataFrame:
    """Score each query of a run with each metric.

    All judged queries are scored; one that the run lacks gets 0 everywhere. Ranks decide: tied scores
    count in the order that the run gives them. A grade above 0 is relevant unless the metric says
    ``rel=``; negative grades count as judged and gain nothing.

    Parameters
    ----------
    run : run
        Whatever :func:`ragkit.as_run` takes. A run over chunks needs :func:`ragkit.best_per_doc` first,
        except for metrics that read vectors alone.
    qrels : judgements, optional
        Whatever :func:`ragkit.as_qrels` takes; not needed by the metrics that read vectors.
    metrics : str, callable, or list of them
        Names with an optional cutoff: ``"ndcg@10"``, ``"p(rel=2)@5"``, ``"ndcg(gain=exponential)"``, or as
        ir_measures (``"nDCG@10"``), trec_eval (``"ndcg_cut_10"``) and ranx (``"map-l2"``) spell them.
        :func:`metric_table` lists the names and their parameters. A function ``(run, qrels) -> float``
        gets one query's rows of both, and is called by its ``__name__``.
    vectors : VectorStore, mapping of unit id to vector, or array with one row per row of the run
        For ``ild``, ``ild_min``, ``crowding`` and ``vendi``.
    over : {"judged", "relevant", "retrieved"}, or query ids, default="judged"
        Which queries are scored: all judged ones, those with a relevant document, those that the run
        answers (as trec_eval does without ``-c``), or the ones given.

    Returns
    -------
    DataFrame
        ``query_id, metric, value``: queries in the order of the judgements, metrics in the order given.
        ``metric`` holds each name as you wrote it.

    Raises
    ------
    ValueError
        For an unknown metric, a document that stands twice, or a run over chunks.

    Warns
    -----
    RetrievalWarning
        If queries of the run have no judgements; if no document of the run is judged at all; or if most of
        the first ten results have no judgement where the judgements come from a pool, which is when most
        queries have ten or more and some of them say "not relevant".

    See Also
    --------
    compare : Means, intervals and tests for several runs.
    metric_table : The metrics by name.
    check : What would mislead: results that nobody judged, the range of a metric over the order of ties.

    Notes
    -----
    Every metric of judgements takes ``judged_only=True``: documents without a judgement are taken out of
    the ranking first, and those below move up. ``rel`` starts at 1, because a document without a judgement
    counts as one of grade 0. A negative grade gains nothing and takes its rank, as in trec_eval, ranx and
    cwl_eval; `bpref` passes over it, as trec_eval does.

    One name may mean two things: ``hits`` counts, as in ranx, where ``hit`` is 1 or 0. ``err`` takes the
    highest grade there is for the highest possible one, where gdeval and ir_measures take 4,
    ``err(max_rel=4)``; ``rbp`` asks whether a document is relevant and not how much, as cwl_eval does;
    ``beta`` of ``f1`` is not squared, as in trec_eval.

    References
    ----------
    .. [1] Jarvelin, Kekalainen. Cumulated gain-based evaluation of IR techniques. TOIS 2002.
    .. [2] Buckley, Voorhees. Retrieval evaluation with incomplete information. SIGIR 2004.

    Examples
    --------
    >>> evaluate({"q1": ["a", "x", "b"]}, {"q1": {"a": 1, "b": 1}}, metrics=["precision@2", "ap"]).round(3)
      query_id       metric  value
    0       q1  precision@2  0.500
    1       q1           ap  0.833
    """
    parsed = parse_metrics(metrics)
    scored = score_run(run, None if qrels is None else as_qrels(qrels), parsed, vectors=vectors, over=over)
    warn_about({"run": scored})
    return scores_frame(scored.queries, [metric.label for metric in parsed], scored.values)


def score_run(
    run: Any,
    qrels: pd.DataFrame | None,
    metrics: list[Metric],
    *,
    vectors: Any = None,
    over: Any = "judged",
    known: Judgements | None = None,
) -> Scored:
    """Score a run without a warning; `qrels` has been through :func:`ragkit.as_qrels`.

    Given `known`, the codes of these judgements for `over`, the run must be one that a store made: what a
    store never gets wrong is not looked at again.
    """
    ranked = as_run(run) if known is None else run
    reads = {metric.reads for metric in metrics}
    _check_inputs(ranked, qrels, metrics, vectors)
    in_run = queries_in(ranked)
    judged = None
    if qrels is None:
        queries, unjudged = in_run, []
    else:
        judgements = code_judgements(qrels, in_run, over) if known is None else known
        queries, unjudged = judgements.queries, list(in_run[~in_run.isin(judgements.judged)])
        if reads & {"judgements", "subtopics"}:
            judged = judgements.match(ranked) if known is None else _match_own(known, ranked, metrics)
    lists = _lists(run, ranked, queries, metrics, vectors) if "vectors" in reads else None
    columns = [
        _apply(metric, ranked, qrels, queries)
        if metric.reads == "frames"
        else metric.compute(lists if metric.reads == "vectors" else judged)
        for metric in metrics
    ]
    values = np.column_stack(columns) if columns else np.empty((len(queries), 0))
    strange = judged is not None and judged.retrieved.any() and not judged.rank.any()
    foreign = qrels is not None and 0 < len(in_run) == len(unjudged)
    instead = list(judgements.judged) if foreign else []
    depth = pool_depth(metrics) if known is None and judged is not None else None
    share = judged_share(judged, depth) if depth is not None else None  # type: ignore[arg-type]
    return Scored(queries, values, unjudged, bool(strange), instead, depth, share)


def _match_own(judgements: Judgements, run: pd.DataFrame, metrics: list[Metric]) -> Judged:
    """Match a store's run down to the last rank that a metric looks at; where that has nothing, all of it."""
    depths = [metric.depth for metric in metrics if metric.reads in ("judgements", "subtopics")]
    depth = None if None in depths else max(k for k in depths if k is not None)
    judged = judgements.match_own(run, depth)
    return judged if depth is None or judged.rank.any() else judgements.match_own(run)


def _check_inputs(run: pd.DataFrame, qrels: pd.DataFrame | None, metrics: list[Metric], vectors: Any) -> None:
    for metric in metrics:
        if metric.reads == "vectors":
            if vectors is None:
                raise ValueError(
                    f"metric {metric.label!r} needs vectors=: a VectorStore or a dict of id to vector."
                )
            continue
        if qrels is None:
            raise ValueError(
                f"metric {metric.label!r} needs qrels; only metrics that read vectors do without."
            )
        if unit_column(run) == "chunk_id":
            raise ValueError(
                f"metric {metric.label!r} needs a run over documents, because these qrels judge documents; "
                "got one over chunks. Collapse it first: rk.evaluate(rk.best_per_doc(run), qrels, ...)."
            )
        if metric.reads == "subtopics" and "subtopic" not in qrels.columns:
            raise ValueError(
                f"metric {metric.label!r} needs a column 'subtopic' in qrels; found {list(qrels.columns)}."
            )


def _lists(run: Any, ranked: pd.DataFrame, queries: pd.Index, metrics: list[Metric], vectors: Any) -> Lists:
    """Gather the vectors of the ranks that the metrics look at, query by query."""
    depths = [metric.k for metric in metrics if metric.reads == "vectors"]
    query = codes_in(ranked["query_id"], queries)
    wanted = query >= 0
    if None not in depths:
        wanted &= ranked["rank"].to_numpy() <= max(k for k in depths if k is not None)
    rows = np.flatnonzero(wanted)
    rows = rows[np.argsort(query[rows], kind="stable")]
    if callable(getattr(vectors, "vectors", None)) or isinstance(vectors, Mapping):
        gathered = gather_vectors(vectors, ranked[unit_column(ranked)].iloc[rows])
    else:
        frame = run if isinstance(run, pd.DataFrame) else ranked
        aligned = gather_vectors(vectors, frame[unit_column(frame)])
        gathered = aligned[as_run(frame.assign(_row=np.arange(len(frame))))["_row"].to_numpy()[rows]]
    bounds = np.searchsorted(query[rows], np.arange(len(queries) + 1))
    return Lists(bounds, normalize_rows(np.asarray(gathered, dtype=np.float64)))


def _apply(metric: Metric, run: pd.DataFrame, qrels: pd.DataFrame | None, queries: pd.Index) -> np.ndarray:
    """Call a user's function with each query's rows."""
    runs, judgements = _by_query(run), _by_query(qrels if qrels is not None else run.iloc[:0])
    values = [
        metric.function(runs.get(query, run.iloc[:0]), judgements.get(query))  # type: ignore[misc]
        for query in queries
    ]
    for query, value in zip(queries, values):
        if not isinstance(value, (numbers.Real, np.bool_)):
            raise TypeError(
                f"metric {metric.label!r} must return a number for each query; got {value!r} for {query!r}."
            )
    return np.array(values, dtype=np.float64)


def _by_query(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    groups = frame.groupby("query_id", sort=False, observed=True)
    return {str(query): rows.reset_index(drop=True) for query, rows in groups}


def warn_about(scored: Mapping[str, Scored]) -> None:
    """Warn once of each kind of trouble, naming the runs that have it."""
    foreign = {name: s for name, s in scored.items() if s.unjudged and s.instead}
    if foreign:
        one = next(iter(foreign.values()))
        warn(
            f"no query_id of {_names(foreign)} ({some(one.unjudged, 2)}) is in qrels "
            f"({some(one.instead, 2)}), so none of {'their' if len(foreign) > 1 else 'its'} results counts. "
            "Search with the ids of the queries, not only their texts: index.search(data.queries), or "
            "index.search({'q1': 'a text'})."
        )
    unjudged = {name: s.unjudged for name, s in scored.items() if s.unjudged and name not in foreign}
    if unjudged:
        queries = list(dict.fromkeys(query for names in unjudged.values() for query in names))
        verb = "answers" if len(unjudged) == 1 else "answer"
        have, stay = ("has", "it is") if len(queries) == 1 else ("have", "they are")
        warn(
            f"{_names(unjudged)} {verb} {count(len(queries), 'query')} that {have} no judgements "
            f"({some(queries)}); {stay} left out. Drop them from the run, or judge them."
        )
    strange = [name for name, s in scored.items() if s.strange]
    if strange:
        warn(
            f"no document of {_names(strange)} occurs in the judgements of its queries: every metric is 0. "
            "Are the ids of run and qrels written the same way?"
        )
    depth = next((s.depth for s in scored.values() if s.depth), 0)
    warn_of_gaps({name: s.share for name, s in scored.items() if name not in (*foreign, *strange)}, depth)


def _names(names: Any) -> str:
    listed = list(names)
    return "the run" if listed == ["run"] else f"run{'s' * (len(listed) > 1)} {some(listed)}"


def scores_frame(queries: pd.Index, labels: list[str], values: np.ndarray) -> pd.DataFrame:
    """Lay a matrix of scores out as one row per query and metric."""
    ids = pd.Series(queries.to_numpy(dtype=object), dtype="str")
    return pd.DataFrame(
        {
            "query_id": ids.repeat(len(labels)).reset_index(drop=True),
            "metric": pd.Series(labels * len(queries), dtype="str"),
            "value": values.astype(np.float64).ravel(),
        }
    )


def metric_table() -> pd.DataFrame:
    """List the metrics that :func:`evaluate` knows by name.

    Returns
    -------
    DataFrame
        ``metric, reads, parameters, cutoff, also, meaning``, one row per metric.

    Examples
    --------
    >>> metric_table().set_index("metric").loc["rr", "meaning"]
    '1 / rank of the first relevant document.'
    """
    rows = [
        {
            "metric": name,
            "reads": spec.reads,
            "parameters": ", ".join(name for name in spec.takes if name != "cutoff"),
            "cutoff": spec.cutoff,
            "also": ", ".join(spec.aliases),
            "meaning": (spec.formula.__doc__ or "").splitlines()[0],
        }
        for name, spec in SPECS.items()
    ]
    return pd.DataFrame(rows)
