"""How the settings of a sweep are measured: by judgements, by gold passages, by scores of their own."""

from __future__ import annotations

from typing import Any, NamedTuple

import pandas as pd

from ragkit.experiment.retrieve import makes_runs
from ragkit.experiment.scoring import is_scores
from ragkit.experiment.spans import Gold, chunks_of, score_spans, split_metrics
from ragkit.frames import as_ids, as_qrels, as_run, best_per_doc, check_frame
from ragkit.metrics.evaluation import Scored, score_run, scores_frame
from ragkit.metrics.judged import Judgements, code_judgements
from ragkit.metrics.names import Metric, parse_metrics


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


def score_found(found: Any, measure: Measure) -> tuple[pd.DataFrame, list[str], bool]:
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
