"""`sweep`: every setting of a retriever, measured query by query."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ragkit.experiment.log import Outcome
from ragkit.experiment.measure import make_measure
from ragkit.experiment.retrieve import make_call
from ragkit.experiment.running import run_settings
from ragkit.experiment.settings import list_settings, settings_frame
from ragkit.frames import as_queries
from ragkit.metrics.evaluation import Scored, warn_about


def sweep(
    retriever: Any,
    grid: Any,
    qrels: Any = None,
    *,
    queries: Any = None,
    metrics: Any = (),
    spans: pd.DataFrame | None = None,
    n: int | None = None,
    vectors: Any = None,
    over: Any = "judged",
    path: Any = None,
    progress: bool | None = None,
    random_state: int = 0,
) -> pd.DataFrame:
    """Measure every setting of a retriever on every query.

    Parameters
    ----------
    retriever : KeywordIndex, VectorStore, HybridSearch, dict of runs, or callable
        Of an object the ``search`` method is called; a dict of runs is given to :func:`ragkit.fuse`. A
        callable takes the grid's names (and `queries` first, if it has a parameter more) and returns a
        run, or a scores frame of its own (``query_id, metric, value``), or ``(run, chunks)`` where it makes
        chunks that `spans` is to score. For metrics of documents a run over chunks is collapsed.
    grid : dict of name to values, or list of dicts
        A dict gives all combinations; with `n`, so many draws, where a value may be a distribution of
        scipy.stats. A list names the settings one by one.
    qrels : judgements, optional
        Not needed by a callable that returns scores, by metrics that read vectors, or with `spans`.
    queries : queries, optional
        What the retriever is asked.
    metrics : str, callable, or list of them
        As in :func:`ragkit.evaluate`; with `spans` also ``span_recall, span_precision, span_iou`` (these
        three by default) and ``precision_omega`` of :func:`ragkit.score_chunks`, with the ranks that count
        as in ``"span_recall@5"`` or ``"span_iou@gold"``.
    spans : DataFrame, optional
        The gold passages, ``query_id, doc_id, start, end``: what ways of chunking are measured by.
    n : int, optional
        How many settings to draw from `grid`.
    vectors : VectorStore or mapping of unit id to vector, optional
        For metrics that read vectors.
    over : {"judged", "relevant", "retrieved"}, or query ids, default="judged"
        Which queries are scored.
    path : str or path, optional
        A file that keeps what is done: a sweep that was interrupted goes on from there. It belongs to one
        set of judgements and metrics; whether the retriever is the same is yours to know.
    progress : bool, optional
        None shows a bar when the sweep takes more than about two seconds, False never.
    random_state : int, default=0
        Seed of the draws.

    Returns
    -------
    DataFrame
        ``setting``, the parameters (a dict's keys as ``weights.keyword``), ``query_id, metric, value``,
        ``seconds`` of the search (settings that were searched at once share its time), and ``error``: a
        setting that failed has one row that says why.

    Raises
    ------
    ValueError
        If the retriever has no parameter of a name, before anything is run; or if every setting fails.

    Warns
    -----
    RetrievalWarning
        What the searches warn of, once of each kind, wherever they ran; and where queries have no judgements.

    See Also
    --------
    tune : Choose a setting, honestly.
    plot.sweep : The result as a line, several lines, or a heat map.
    compare : Whether settings differ: ``compare(dict(list(table.groupby("size"))))``.

    Notes
    -----
    Settings of a KeywordIndex are searched many at once, and those that share the slow stages of a
    HybridSearch follow one another, so that these run once.

    Work is handed to joblib: ``with joblib.parallel_config(backend="loky", n_jobs=4): sweep(...)`` uses
    four processes, and ``backend="dask"`` and ``"ray"`` their clusters. Tested are threads, loky, Dask (a
    LocalCluster, and a scheduler with workers of which one was killed) and Ray (after
    ``ray.util.joblib.register_ray()``); all give what one process gives. A script that starts processes
    needs ``if __name__ == "__main__":``. Ray hands over nothing until all is done, so an interruption loses
    what is not yet in `path`. Workers are faster with ``OMP_NUM_THREADS=1`` in their environment.

    Examples
    --------
    >>> import ragkit as rk
    >>> index = rk.KeywordIndex({"a": "red fox", "b": "red red wine and more wine"})
    >>> table = sweep(index, {"b": [0.0, 1.0]}, {"q": {"b": 1}}, queries={"q": "red"}, metrics="rr")
    >>> table[["b", "query_id", "metric", "value"]].values.tolist()
    [[0.0, 'q', 'rr', 1.0], [1.0, 'q', 'rr', 0.5]]

    Which chunks find the passage that answers, and little else?

    >>> docs = {"d": "The fox is red. The hen is brown. The whale is blue. The owl is grey."}
    >>> spans = pd.DataFrame({"query_id": ["q"], "doc_id": ["d"], "start": [16], "end": [33]})
    >>> def search(queries, size, method):
    ...     chunks = rk.chunk(docs, method=method, size=size, overlap=0)
    ...     return rk.KeywordIndex(chunks).search(queries), chunks
    >>> grid = {"method": ["fixed", "sentence"], "size": [20, 40]}
    >>> table = sweep(search, grid, queries={"q": "brown hen"}, spans=spans, metrics="span_iou@1")
    >>> table.pivot_table(index="method", columns="size", values="value").round(2).values.tolist()
    [[0.54, 0.42], [1.0, 0.52]]
    """
    settings = list_settings(grid, n, random_state)
    measure = make_measure(retriever, qrels, metrics, spans, vectors, over)
    asked = None if queries is None else as_queries(queries)
    names = list(dict.fromkeys(name for setting in settings for name in setting))
    call = make_call(retriever, asked, names)
    outcomes = run_settings(call, settings, measure, path=path, progress=progress)
    _warn(outcomes, asked, measure.qrels)
    return _tidy(outcomes, settings)


def _warn(outcomes: list[Outcome], asked: pd.DataFrame | None, qrels: pd.DataFrame | None) -> None:
    empty = np.empty((0, 0))
    instead: list[str] = []  # judged queries, where none of those asked is
    if asked is not None and qrels is not None and not asked["query_id"].isin(qrels["query_id"]).any():
        instead = qrels["query_id"].unique().tolist()
    warn_about(
        {
            f"setting {o.setting}": Scored(pd.Index([]), empty, o.unjudged, o.strange, instead)
            for o in outcomes
            if o.unjudged or o.strange
        }
    )


def _tidy(outcomes: list[Outcome], settings: list[dict[str, Any]]) -> pd.DataFrame:
    failed = [o for o in outcomes if o.scores is None]
    if failed and len(failed) == len(outcomes):
        raise ValueError(f"every setting failed; setting 0 with {failed[0].error}")
    nothing = pd.DataFrame({"query_id": [None], "metric": [None], "value": [np.nan]})  # beside its error
    parts = [nothing if o.scores is None else o.scores for o in outcomes]
    counts = [len(part) for part in parts]
    scores = pd.concat(parts, ignore_index=True) if parts else nothing.iloc[:0]
    rows = scores.assign(
        query_id=_text(scores["query_id"]),
        metric=_text(scores["metric"]),
        value=scores["value"].astype(np.float64),
        setting=np.repeat(np.array([o.setting for o in outcomes], dtype=np.int64), counts),
        seconds=np.repeat(np.array([o.seconds for o in outcomes], dtype=np.float64), counts),
        error=np.repeat(np.array([o.error or None for o in outcomes], dtype=object), counts),
    )
    out = settings_frame(settings).merge(rows, on="setting", how="right")
    return out.astype({"error": object})


def _text(column: pd.Series) -> pd.Series:
    """Make text of a column; what is missing stays missing, also in pandas 2."""
    return column.astype("str").where(column.notna(), None)
