"""What would mislead a reader of these numbers: one row per trap that is there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ragkit.explain.options import search_options
from ragkit.frames import (
    as_docs,
    as_qrels,
    as_queries,
    as_run,
    best_per_doc,
    group_codes,
    ranks_within,
    round_significant,
    some,
)
from ragkit.metrics.evaluation import score_run
from ragkit.metrics.names import parse_metrics

_COLUMNS = ("trap", "count", "share", "where", "message")


def check(
    run: Any,
    qrels: Any = None,
    *,
    queries: Any = None,
    docs: Any = None,
    train: Any = None,
    params: Mapping[str, Any] | None = None,
    metrics: Any = ("ndcg@10",),
    top_k: int = 10,
) -> pd.DataFrame:
    """List what would mislead: in a run, its judgements, its collection, or the settings of a search.

    Parameters
    ----------
    run : run, or an object with a ``search`` method
        A HybridSearch or a store is searched with `queries` and `params`.
    qrels : judgements, optional
        Without them only the run itself is looked at.
    queries : queries, optional
        Needed to search; with `train`, their texts are compared too.
    docs : documents, optional
        The collection: looked through for documents with the same text, and for judged ones it lacks. Of
        an object that has documents these are taken.
    train : judgements or queries, optional
        What settings or models were chosen with; queries that are in both are named.
    params : dict, optional
        Arguments of ``search``.
    metrics : str, callable, or list of them
        What is to be reported.
    top_k : int, default=10
        The depth at which unjudged documents are counted.

    Returns
    -------
    DataFrame
        ``trap, count, share, where, message``; no rows where nothing was found. Traps: ``unjudged``,
        ``ties`` (with the range of each metric over all orders of tied documents), ``still`` (a metric
        that cannot move), ``shallow`` (a cutoff beyond the run's depth), ``no relevant``, ``no judgements``,
        ``no results``, ``repeated`` (a document twice in a result), ``same text``, ``dangling`` (a judged
        document that is not in the collection), ``train overlap``, ``pool``.

    See Also
    --------
    evaluate : The numbers.
    funnel : What became of each relevant document.

    Examples
    --------
    >>> found = check({"q": {"a": 1.0, "b": 1.0}}, {"q": {"a": 1}}, metrics="rr")
    >>> found["trap"].tolist()
    ['unjudged', 'ties']
    >>> found["message"][1]
    'Scores tie; over the orders of tied documents rr lies between 0.5 and 1.'
    """
    found: list[tuple] = []
    if callable(getattr(run, "search", None)):
        options = search_options(run, params)
        found += _pool_traps(run, options)
        docs = run.docs if docs is None and hasattr(run, "docs") else docs
        if queries is None:
            raise ValueError(f"check needs queries= to search a {type(run).__name__}.")
        run = run.search(queries, **options)
    frame = as_run(run)
    frame = best_per_doc(frame) if "chunk_id" in frame.columns else frame
    found += _repeated(frame)
    frame = frame.drop_duplicates(["query_id", "doc_id"]).reset_index(drop=True)
    frame["rank"] = ranks_within(group_codes(frame["query_id"])[0])
    if qrels is not None:
        found += _judged_traps(frame, as_qrels(qrels), metrics, top_k)
    if docs is not None:
        found += _collection_traps(as_docs(docs), None if qrels is None else as_qrels(qrels))
    if train is not None:
        found += _overlap(train, frame if qrels is None else as_qrels(qrels), queries)
    table = pd.DataFrame(found, columns=list(_COLUMNS))
    return table.astype(
        {"trap": "str", "count": "int64", "share": "float64", "where": "str", "message": "str"}
    )


def _row(trap: str, items: Any, total: int, message: str) -> tuple:
    listed = list(dict.fromkeys(items))
    return trap, len(listed), len(listed) / max(total, 1), some(listed), message


def _pool_traps(searched: Any, options: Mapping[str, Any]) -> list[tuple]:
    """Find pools that leave the next stage nothing to choose from."""
    if not hasattr(searched, "sources"):
        return []
    top_k, pool = options.get("top_k", 10), options.get("pool", 100)
    fetch_k, lambda_ = options.get("fetch_k", 50), options.get("lambda_")
    out = []
    if top_k is not None and pool is not None and pool <= top_k:
        text = (
            f"The pool ({pool}) is no larger than top_k ({top_k}): fusion sees no more than each side shows."
        )
        out.append(("pool", 1, 1.0, "", text))
    if lambda_ is not None and fetch_k is not None and top_k is not None and fetch_k <= top_k:
        text = f"fetch_k ({fetch_k}) is no larger than top_k ({top_k}): MMR can only reorder."
        out.append(("pool", 1, 1.0, "", text))
    return out


def _repeated(run: pd.DataFrame) -> list[tuple]:
    twice = run.duplicated(["query_id", "doc_id"])
    if not twice.any():
        return []
    queries = run["query_id"][twice].astype(object)
    total = run["query_id"].nunique()
    return [
        _row("repeated", queries, total, "A document stands twice in a result; evaluate refuses such a run.")
    ]


def _judged_traps(run: pd.DataFrame, qrels: pd.DataFrame, metrics: Any, top_k: int) -> list[tuple]:
    """Find what judgements and run together hide."""
    out = []
    judged = pd.Index(qrels["query_id"].astype(object).unique())
    asked = pd.Index(run["query_id"].astype(object).unique())
    relevant = pd.Index(qrels["query_id"][qrels["relevance"] > 0].astype(object).unique())
    if len(names := judged.difference(relevant, sort=False)):
        text = (
            "These queries have no relevant document: every metric is 0, whatever is found (over='relevant')."
        )
        out.append(_row("no relevant", names, len(judged), text))
    if len(names := asked.difference(judged, sort=False)):
        out.append(
            _row("no judgements", names, len(asked), "These queries are not judged; they are left out.")
        )
    if len(names := judged.difference(asked, sort=False)):
        text = "These judged queries have no results; they count as 0."
        out.append(_row("no results", names, len(judged), text))
    out += _unjudged(run[run["query_id"].isin(judged)], qrels, top_k)
    return out + _metric_traps(run[run["query_id"].isin(judged)].reset_index(drop=True), qrels, metrics)


def _unjudged(run: pd.DataFrame, qrels: pd.DataFrame, top_k: int) -> list[tuple]:
    head = run[run["rank"] <= top_k].astype({"query_id": object, "doc_id": object})
    pairs = qrels[["query_id", "doc_id"]].astype(object).drop_duplicates().assign(judged=True)
    holes = head.merge(pairs, on=["query_id", "doc_id"], how="left")["judged"].isna().to_numpy()
    if not holes.any():
        return []
    share = float(holes.mean())
    text = (
        f"{share:.0%} of the documents in the first {top_k} have no judgement and count as not relevant; a "
        "system unlike those that were judged looks worse than it is."
    )
    return [("unjudged", int(holes.sum()), share, some(head["doc_id"][holes].unique()), text)]


def _metric_traps(run: pd.DataFrame, qrels: pd.DataFrame, metrics: Any) -> list[tuple]:
    parsed = [metric for metric in parse_metrics(metrics) if metric.reads in ("judgements", "subtopics")]
    if not len(run) or not parsed:
        return []
    out = []
    depth = int(run["rank"].max())
    shallow = [metric.label for metric in parsed if metric.k is not None and metric.k > depth]
    if shallow:
        text = f"The run holds at most {depth} documents per query, so a cutoff beyond that changes nothing."
        out.append(_row("shallow", shallow, len(parsed), text))
    values = score_run(run, qrels, parsed).values
    for metric, column in zip(parsed, values.T):
        if len(column) > 1 and np.ptp(column) == 0:
            text = f"{metric.label} is {column[0]:g} for every query; it cannot tell such systems apart."
            out.append(("still", len(column), 1.0, metric.label, text))
    return out + _ties(run, qrels, parsed)


def _ties(run: pd.DataFrame, qrels: pd.DataFrame, parsed: list) -> list[tuple]:
    """Find tied scores, and the range of each metric over the orders of tied documents."""
    key = round_significant(run["score"].to_numpy())
    group, _ = group_codes(run["query_id"])
    same = (group[1:] == group[:-1]) & (key[1:] == key[:-1])
    tied = np.r_[same, False] | np.r_[False, same]
    if not tied.any():
        return []
    grades = (
        run[["query_id", "doc_id"]]
        .astype(object)
        .merge(
            qrels.astype({"query_id": object, "doc_id": object})
            .groupby(["query_id", "doc_id"], as_index=False)["relevance"]
            .max(),
            on=["query_id", "doc_id"],
            how="left",
        )["relevance"]
    )
    grade = grades.fillna(0).clip(lower=0).to_numpy()
    # Ranks decide: only neighbours with one score change places.
    block = np.cumsum(np.r_[True, ~same])
    ends = []
    for sign in (1, -1):
        order = np.lexsort((sign * grade, block))
        shuffled = run.iloc[order].reset_index(drop=True).assign(rank=run["rank"].to_numpy())
        ends.append(score_run(shuffled, qrels, parsed).values.mean(axis=0))
    ranges = [
        f"{metric.label} lies between {low:.4g} and {high:.4g}"
        for metric, low, high in zip(parsed, *ends)
        if high - low > 1e-12
    ]
    what = (
        f"over the orders of tied documents {', '.join(ranges)}"
        if ranges
        else "no metric depends on their order"
    )
    queries = run["query_id"][tied].astype(object)
    return [_row("ties", queries, run["query_id"].nunique(), f"Scores tie; {what}.")]


def _collection_traps(docs: pd.DataFrame, qrels: pd.DataFrame | None) -> list[tuple]:
    out = []
    unit = "chunk_id" if "chunk_id" in docs.columns else "doc_id"
    if "text" in docs.columns:
        text = docs["text"].str.split().str.join(" ").str.casefold()
        same = text.duplicated(keep=False) & (text != "")
        if same.any():
            message = (
                "These have the same text as another; finding both counts as two, and only one may be judged."
            )
            out.append(_row("same text", docs[unit][same].astype(object), len(docs), message))
    if qrels is not None:
        ghosts = qrels["doc_id"][(qrels["relevance"] > 0) & ~qrels["doc_id"].isin(docs["doc_id"])].astype(
            object
        )
        if len(ghosts):
            message = "These are judged relevant and are not in the collection; recall cannot reach 1."
            out.append(_row("dangling", ghosts, qrels["doc_id"].nunique(), message))
    return out


def _overlap(train: Any, tested: pd.DataFrame, queries: Any) -> list[tuple]:
    """Find queries that settings were chosen with, by id, and by text where both have texts."""
    has_text = isinstance(train, pd.DataFrame) and "text" in train.columns
    is_queries = has_text or (isinstance(train, Mapping) and all(isinstance(v, str) for v in train.values()))
    seen = as_queries(train) if is_queries else as_qrels(train)
    ids = set(tested["query_id"].astype(object))
    both = [query for query in seen["query_id"].astype(object).unique() if query in ids]
    if is_queries and queries is not None:
        texts = {" ".join(text.split()).casefold() for text in seen["text"]}
        mine = as_queries(queries)
        both += [
            q for q, text in zip(mine["query_id"], mine["text"]) if " ".join(text.split()).casefold() in texts
        ]
    if not both:
        return []
    message = "These queries also chose the settings; their scores are too good (tune reports held-out ones)."
    return [_row("train overlap", both, len(ids), message)]
