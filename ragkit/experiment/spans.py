"""Gold passages as the measure of a sweep: which way of chunking finds them, and how much else."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import pandas as pd

from ragkit.frames import as_ids, as_run
from ragkit.metrics.chunks import METRICS, score_chunks

_FORM = re.compile(rf"\s*({'|'.join(METRICS)})\s*(?:@\s*(gold|[0-9]+)\s*)?")


class SpanMetric(NamedTuple):
    """A metric over characters: what the user wrote, its name, the ranks that count."""

    label: str
    name: str
    top_k: int | str | None

    @property
    def column(self) -> str:
        """What score_chunks calls it."""
        return f"{self.name}@{self.top_k}" if isinstance(self.top_k, int) else self.name


class Gold(NamedTuple):
    """Gold passages, what is measured on them, and the chunks of a store that keeps its own."""

    spans: pd.DataFrame
    metrics: list[SpanMetric]
    chunks: pd.DataFrame | None


def split_metrics(metrics: Any, spans: Any) -> tuple[list[Any], list[SpanMetric]]:
    """Part metrics of documents from those of passages; without a word, passages have three."""
    single = isinstance(metrics, str) or callable(metrics) or not isinstance(metrics, Iterable)
    asked = [metrics] if single else list(metrics)
    if spans is not None and not asked:
        asked = list(METRICS[:3])
    forms = [(m, _FORM.fullmatch(m) if isinstance(m, str) else None) for m in asked]
    of_spans = [_metric(m, form) for m, form in forms if form]
    if of_spans and spans is None:
        raise ValueError(f"metric {of_spans[0].label!r} needs spans=, the gold passages.")
    return [m for m, form in forms if not form], of_spans


def _metric(label: str, form: re.Match[str]) -> SpanMetric:
    name, cutoff = form[1], form[2]
    if name == METRICS[3] and cutoff:
        raise ValueError(f"metric {label!r} takes no cutoff: it looks at the chunks and not at the run.")
    if cutoff and cutoff != "gold" and int(cutoff) < 1:
        raise ValueError(f"metric {label!r} needs a whole number >= 1 after '@'; got {cutoff!r}.")
    return SpanMetric(label.strip(), name, int(cutoff) if cutoff and cutoff.isdigit() else cutoff)


def chunks_of(retriever: Any) -> pd.DataFrame | None:
    """Give the chunks of a store or search that holds chunks with offsets."""
    docs = getattr(retriever, "docs", None)
    known = isinstance(docs, pd.DataFrame) and {"chunk_id", "doc_id", "start", "end"} <= set(docs.columns)
    return docs if known else None


def score_spans(
    run: pd.DataFrame, chunks: pd.DataFrame | None, gold: Gold, over: Any
) -> tuple[pd.DataFrame, list[str]]:
    """Score a run over chunks: the scores, and the queries of the run that have no passage."""
    run = as_run(run)
    known = gold.spans["query_id"]
    without = run.loc[~run["query_id"].isin(known), "query_id"].astype(object).unique().tolist()
    run = run[run["query_id"].isin(known)]
    chunks = gold.chunks if chunks is None else chunks
    parts = []
    for top_k in dict.fromkeys(metric.top_k for metric in gold.metrics):
        scores = score_chunks(run, gold.spans, chunks=chunks, top_k=top_k)
        labels = {m.column: m.label for m in gold.metrics if m.top_k == top_k}
        missing = [label for name, label in labels.items() if name not in set(scores["metric"])]
        if missing and len(scores):
            raise ValueError(f"metric {missing[0]!r} needs all chunks: return (run, chunks).")
        parts.append(scores[scores["metric"].isin(list(labels))].replace({"metric": labels}))
    return _chosen(_in_order(pd.concat(parts, ignore_index=True), gold), run, over), without


def _in_order(scores: pd.DataFrame, gold: Gold) -> pd.DataFrame:
    """Put scores in the order of the queries, then of the metrics."""
    place = {metric.label: n for n, metric in enumerate(gold.metrics)}
    query = pd.factorize(scores["query_id"])[0]
    order = (query * len(place) + scores["metric"].map(place).to_numpy()).argsort(kind="stable")
    return scores.iloc[order].reset_index(drop=True)


def _chosen(scores: pd.DataFrame, run: pd.DataFrame, over: Any) -> pd.DataFrame:
    """Keep the queries that `over` asks for; each query with a passage has something to find."""
    if isinstance(over, str):
        keep = run["query_id"] if over == "retrieved" else scores["query_id"]
    else:
        keep = as_ids(list(over["query_id"] if isinstance(over, pd.DataFrame) else over), "over")
    return scores[scores["query_id"].isin(keep)].reset_index(drop=True)
