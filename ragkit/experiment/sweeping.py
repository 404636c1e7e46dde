"""`sweep`: every setting of a retriever, measured query by query."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ragkit.experiment.scoring import is_scores
from ragkit.experiment.settings import list_settings, make_call, makes_runs, settings_frame
from ragkit.experiment.spans import Gold, chunks_of, score_spans, split_metrics
from ragkit.frames import as_ids, as_qrels, as_queries, as_run, best_per_doc, check_frame
from ragkit.metrics.evaluation import Scored, score_run, scores_frame, warn_about
from ragkit.metrics.judged import Judgements, code_judgements
from ragkit.metrics.names import Metric, parse_metrics

# What decides the slow stages of a search: settings that share these run one after another.
_SLOW = ("where", "variant", "k1", "b", "pool", "min_score")
_MOST = 16  # settings of one task: what an interruption can lose


class Outcome(NamedTuple):
    """What became of one setting."""

    setting: int
    seconds: float
    scores: pd.DataFrame | None
    error: str
    unjudged: list[str]
    strange: bool


class Measure(NamedTuple):
    """How a run is scored; sent to the workers with each task."""

    qrels: pd.DataFrame | None
    metrics: list[Metric]
    vectors: Any
    over: Any
    gold: Gold | None = None
    known: Judgements | None = None  # for the runs of stores, which need no check

    @property
    def labels(self) -> list[str]:
        """Names of all that is measured."""
        of_spans = self.gold.metrics if self.gold else []
        return [*(metric.label for metric in self.metrics), *(metric.label for metric in of_spans)]


def make_measure(retriever: Any, qrels: Any, metrics: Any, spans: Any, vectors: Any, over: Any) -> Measure:
    """Check what is to be measured, once for all settings."""
    of_docs, of_spans = split_metrics(metrics, spans)
    gold = None
    if of_spans:
        check_frame(spans, ["query_id", "doc_id", "start", "end"], "spans")
        typed = spans.assign(query_id=as_ids(spans["query_id"], "query_id").to_numpy())
        gold = Gold(typed, of_spans, chunks_of(retriever))
    judged = None if qrels is None else as_qrels(qrels)
    parsed = parse_metrics(of_docs)
    _check_measure(retriever, judged, parsed, gold)
    known = None
    if judged is not None and makes_runs(retriever) and not (isinstance(over, str) and over == "retrieved"):
        known = code_judgements(judged, pd.Index([], dtype=object), over)
    return Measure(judged, parsed, vectors, over, gold, known)


def _check_measure(retriever: Any, judged: pd.DataFrame | None, metrics: list[Metric], gold: Any) -> None:
    """Refuse, before anything is searched, what no setting could be scored by."""
    if not makes_runs(retriever):  # it may return scores
        return
    if not metrics and gold is None:
        raise ValueError("sweep needs metrics=, such as metrics=['ndcg@10', 'rr'], or spans=.")
    lacking = [metric.label for metric in metrics if metric.reads != "vectors"]
    if judged is None and lacking:
        raise ValueError(f"metric {lacking[0]!r} needs qrels, such as data.qrels.")


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
        ``seconds`` of the search, and ``error``: a setting that failed has one row that says why.

    Raises
    ------
    ValueError
        If the retriever has no parameter of a name, before anything is run; or if every setting fails.

    See Also
    --------
    tune : Choose a setting, honestly.
    plot.sweep : The result as a line, several lines, or a heat map.
    compare : Whether settings differ: ``compare(dict(list(table.groupby("size"))))``.

    Notes
    -----
    Work is handed to joblib: ``with joblib.parallel_config(backend="loky", n_jobs=4): sweep(...)`` uses
    four processes, and the backends of Dask and Ray their clusters. Settings that share the slow stages of
    a HybridSearch are one task, so that these run once.

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


def run_settings(
    call: Callable[[dict[str, Any]], Any],
    settings: list[dict[str, Any]],
    measure: Measure,
    *,
    path: Any = None,
    progress: bool | None = None,
) -> list[Outcome]:
    """Run all settings, from a file what it holds, and give their outcomes in order."""
    from tqdm.auto import tqdm

    log = None if path is None else Log(path, measure)
    done: dict[int, Outcome] = {} if log is None else log.known(settings)
    todo = [number for number in range(len(settings)) if number not in done]
    tasks = _tasks(todo, settings, getattr(call, "staged", False))
    bar = tqdm(total=len(settings), initial=len(done), desc="sweep", delay=2, disable=progress is False)
    with bar:
        for outcomes in _parallel(call, tasks, settings, measure):
            for outcome in outcomes:
                done[outcome.setting] = outcome
                if log is not None:
                    log.write(settings[outcome.setting], outcome)
            bar.update(len(outcomes))
    return [done[number] for number in range(len(settings))]


def _tasks(todo: list[int], settings: list[dict[str, Any]], staged: bool) -> list[list[int]]:
    """Put settings that share the slow stages into one task, where the retriever remembers stages."""
    if not staged:
        return [[number] for number in todo]
    groups: dict[str, list[int]] = {}
    for number in todo:
        slow = {name: repr(settings[number].get(name)) for name in _SLOW}
        groups.setdefault(json.dumps(slow), []).append(number)
    return [
        group[start : start + _MOST] for group in groups.values() for start in range(0, len(group), _MOST)
    ]


def _parallel(call: Callable, tasks: list[list[int]], settings: list[dict], measure: Measure) -> Iterator:
    from joblib import Parallel, delayed

    jobs = [delayed(_run_task)(call, [(i, settings[i]) for i in task], measure) for task in tasks]
    try:
        yield from Parallel(return_as="generator")(jobs)
    except ValueError as error:  # a backend that cannot stream (Ray) gives all at the end
        if "return_as" not in str(error):
            raise
        yield from Parallel()(jobs)


def _run_task(call: Callable, task: list[tuple[int, dict[str, Any]]], measure: Measure) -> list[Outcome]:
    return [_run_setting(call, number, setting, measure) for number, setting in task]


def _run_setting(call: Callable, number: int, setting: dict[str, Any], measure: Measure) -> Outcome:
    start = time.perf_counter()
    try:
        found = call(setting)
        seconds = time.perf_counter() - start
        scores, unjudged, strange = _score(found, measure)
    except Exception as error:  # one setting must not lose the others
        text = f"{type(error).__name__}: {error}"
        return Outcome(number, time.perf_counter() - start, None, text, [], False)
    return Outcome(number, seconds, scores, "", unjudged, strange)


def _score(found: Any, measure: Measure) -> tuple[pd.DataFrame, list[str], bool]:
    """Score what a retriever gave: scores, queries without judgements, whether nothing fits."""
    run, chunks = found if _is_run_with_chunks(found) else (found, None)
    if is_scores(run):
        return run[["query_id", "metric", "value"]].reset_index(drop=True), [], False
    if not measure.labels:
        raise ValueError("sweep needs metrics=, or spans=, unless the retriever returns scores.")
    run = as_run(run) if measure.known is None else run
    parts, unjudged, strange = [], [], False
    if measure.metrics:
        scored = _score_docs(run, measure)
        labels = [metric.label for metric in measure.metrics]
        parts.append(scores_frame(scored.queries, labels, scored.values))
        unjudged, strange = scored.unjudged, scored.strange
    if measure.gold is not None:
        scores, without = score_spans(run, chunks, measure.gold, measure.over)
        parts.append(scores)
        unjudged = list(dict.fromkeys([*unjudged, *without]))
    return parts[0] if len(parts) == 1 else pd.concat(parts, ignore_index=True), unjudged, strange


def _is_run_with_chunks(found: Any) -> bool:
    return isinstance(found, tuple) and len(found) == 2 and isinstance(found[1], pd.DataFrame)


def _score_docs(run: pd.DataFrame, measure: Measure) -> Scored:
    if "chunk_id" in run.columns and any(metric.reads != "vectors" for metric in measure.metrics):
        run = best_per_doc(run)
    return score_run(
        run, measure.qrels, measure.metrics, vectors=measure.vectors, over=measure.over, known=measure.known
    )


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


class Log:
    """A file of outcomes, one line of JSON each; a last line that was cut short does not count."""

    def __init__(self, path: Any, measure: Measure):
        self.path = Path(path).expanduser()
        self.head = json.dumps({"ragkit": "sweep", "version": 1, "of": _fingerprint(measure)}) + "\n"
        text = self.path.read_text(encoding="utf-8") if self.path.is_file() else ""
        if text and not text.startswith(self.head):
            raise ValueError(
                f"{self.path.name} holds another sweep (other judgements, metrics, or no sweep at all); "
                "give another path, or delete the file."
            )
        whole = text[: text.rfind("\n") + 1]
        self.lines = whole.splitlines()[1:]
        if whole != text or not text:
            self.path.write_text(whole or self.head, encoding="utf-8")

    def known(self, settings: list[dict[str, Any]]) -> dict[int, Outcome]:
        """Give the outcomes of these settings that the file holds; failed ones are tried again."""
        number = {_key(setting): n for n, setting in enumerate(settings)}
        out = {}
        for line in self.lines:
            item = json.loads(line)
            at = number.get(item["setting"])
            if at is not None and not item["error"]:
                scores = pd.DataFrame(item["scores"], columns=["query_id", "metric", "value"])
                out[at] = Outcome(at, item["seconds"], scores, "", item["unjudged"], item["strange"])
        return out

    def write(self, setting: dict[str, Any], outcome: Outcome) -> None:
        """Append one outcome."""
        item = outcome._asdict() | {"setting": _key(setting)}
        scores = outcome.scores
        item["scores"] = None if scores is None else scores.astype(object).values.tolist()
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(item, ensure_ascii=True) + "\n")


def _key(setting: dict[str, Any]) -> str:
    return json.dumps(setting, sort_keys=True, default=lambda v: getattr(v, "__name__", None) or repr(v))


def _fingerprint(measure: Measure) -> str:
    digest = hashlib.sha256(repr(measure.labels).encode())
    digest.update(repr(measure.over).encode())
    if measure.qrels is not None:
        for name in ("query_id", "doc_id", "relevance"):
            digest.update("\x1f".join(map(str, measure.qrels[name])).encode())
    if measure.gold is not None:
        for name in ("query_id", "doc_id", "start", "end"):
            digest.update("\x1f".join(map(str, measure.gold.spans[name])).encode())
    return digest.hexdigest()[:16]
