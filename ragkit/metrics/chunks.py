"""How well retrieved chunks cover the gold passages: metrics over characters, whatever the chunking."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ragkit.frames import as_ids, as_run, check_choice, check_frame, check_top_k, some, warn
from ragkit.metrics.evaluation import scores_frame

METRICS = ("span_recall", "span_precision", "span_iou", "precision_omega")


def score_chunks(
    run: Any,
    spans: pd.DataFrame,
    *,
    chunks: pd.DataFrame | None = None,
    top_k: int | str | None = None,
    overlap: str = "union",
) -> pd.DataFrame:
    """Score how much of the gold passages the retrieved chunks hold, and how much else.

    Gold is a set of characters, so that any two ways of chunking can be compared. With G the gold of a
    query and R what was retrieved for it: recall = |R & G| / |G|, precision = |R & G| / |R|,
    IoU = |R & G| / (|R| + |G - R|). `precision_omega` is the precision that perfect retrieval would reach:
    |T & G| / |T + G|, with T all chunks that touch gold; it needs `chunks` and not the run.

    Parameters
    ----------
    run : run over chunks
        Whatever :func:`ragkit.as_run` takes, with ``chunk_id``.
    spans : DataFrame
        The gold: ``query_id, doc_id, start, end``.
    chunks : DataFrame, optional
        ``chunk_id, doc_id, start, end`` of every chunk; not needed where the run has ``start`` and ``end``.
    top_k : int, "gold" or None, default=None
        Ranks that count; None is all, ``"gold"`` as many as there are chunks that touch the query's gold.
    overlap : {"union", "sum"}, default="union"
        How retrieved characters are counted that stand in two chunks (and gold in two passages): once, or
        as often as they stand there, as the original evaluation does [1]_. ``"sum"`` follows it also in
        that a chunk that only meets the edge of a passage touches it.

    Returns
    -------
    DataFrame
        ``query_id, metric, value``: the queries of `spans` in their order, each with ``span_recall,
        span_precision, span_iou`` and, given `chunks`, ``precision_omega``. With a whole number as `top_k`
        the first three are called ``span_recall@5`` and so on. A query that the run lacks gets 0.

    Raises
    ------
    ValueError
        If a span is empty, a chunk of the run is not in `chunks`, or the run is over documents.

    Warns
    -----
    RetrievalWarning
        If queries of the run have no gold; they are left out.

    See Also
    --------
    ragkit.chunk : Makes chunks with offsets.
    ragkit.evaluate : Metrics over whole documents.

    References
    ----------
    .. [1] Smith, Troynikov. Evaluating chunking strategies for retrieval. Chroma technical report, 2024.

    Examples
    --------
    >>> chunks = pd.DataFrame({"chunk_id": ["d#0", "d#1"], "doc_id": "d", "start": [0, 6], "end": [10, 20]})
    >>> spans = pd.DataFrame({"query_id": ["q"], "doc_id": ["d"], "start": [4], "end": [12]})
    >>> run = pd.DataFrame({"query_id": ["q"], "chunk_id": ["d#0"], "doc_id": ["d"], "score": [1.0]})
    >>> score_chunks(run, spans, chunks=chunks).round(3).values.tolist()
    [['q', 'span_recall', 0.75], ['q', 'span_precision', 0.6],
     ['q', 'span_iou', 0.5], ['q', 'precision_omega', 0.4]]
    """
    gold = _intervals(spans, ["query_id", "doc_id"], "spans")
    pool = None if chunks is None else _intervals(chunks, ["chunk_id", "doc_id"], "chunks")
    queries = pd.Index(pd.unique(gold["query_id"].astype(object)), dtype=object)
    once = check_choice("overlap", overlap, ["union", "sum"]) == "union"
    touching = None if pool is None else _touching(pool, gold, meeting=not once)
    found = _retrieved(run, pool, queries, _cutoff(top_k, touching, queries))
    names = [m if top_k is None or isinstance(top_k, str) else f"{m}@{int(top_k)}" for m in METRICS[:3]]
    values = _coverage(found, gold, queries, once=once)
    if touching is not None:
        names.append(METRICS[3])
        values.append(_omega(touching, gold, queries))
    return scores_frame(queries, names, np.column_stack(values))


def _intervals(frame: Any, ids: list[str], what: str) -> pd.DataFrame:
    """Check the ids and offsets of spans or chunks."""
    check_frame(frame, [*ids, "start", "end"], what)
    out = {name: as_ids(frame[name], name).astype(object) for name in ids}
    for name in ("start", "end"):
        numbers = pd.to_numeric(frame[name], errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
        if not (np.isfinite(numbers) & (numbers == np.floor(numbers)) & (numbers >= 0)).all():
            raise ValueError(f"{what}' {name} must hold whole numbers >= 0; give offsets in characters.")
        out[name] = pd.Series(numbers.astype(np.int64))
    table = pd.DataFrame(out)
    empty = table[table["end"] <= table["start"]]
    if len(empty):
        raise ValueError(
            f"{what} has {len(empty)} rows whose end is not after start, "
            f"the first in {ids[-1]} {empty[ids[-1]].iloc[0]!r}."
        )
    return table


def _cutoff(top_k: Any, touching: pd.DataFrame | None, queries: pd.Index) -> Any:
    """Give the last rank that counts: a number, a Series by query, or None."""
    if not isinstance(top_k, str):
        return check_top_k(top_k)
    check_choice("top_k", top_k, ["gold"])
    if touching is None:
        raise ValueError("top_k='gold' counts the chunks that touch gold; give chunks=.")
    distinct = touching.drop_duplicates(["query_id", "chunk_id"])
    return distinct.groupby("query_id", sort=False).size().reindex(queries, fill_value=0)


def _retrieved(run: Any, pool: pd.DataFrame | None, queries: pd.Index, last: Any) -> pd.DataFrame:
    """Give the offsets of what was retrieved for the queries that have gold."""
    ranked = as_run(run)
    if "chunk_id" not in ranked.columns:
        raise ValueError("score_chunks needs a run over chunks, with chunk_id; got a run over documents.")
    ranked = ranked.assign(**{c: ranked[c].astype(object) for c in ("query_id", "chunk_id", "doc_id")})
    strange = pd.unique(ranked.loc[~ranked["query_id"].isin(queries), "query_id"])
    if len(strange):
        warn(f"{len(strange)} queries of the run have no gold spans and are left out: {some(strange, 3)}.")
    ranked = ranked[ranked["query_id"].isin(queries)]
    if last is not None:
        limit = ranked["query_id"].map(last) if isinstance(last, pd.Series) else last
        ranked = ranked[ranked["rank"] <= limit]
    if pool is None:
        return _intervals(ranked.reset_index(drop=True), ["query_id", "doc_id"], "run without chunks=")
    if pool["chunk_id"].duplicated().any():
        raise ValueError("chunks holds a chunk_id twice; ids must be unique.")
    places = pool.set_index("chunk_id")
    missing = ranked.loc[~ranked["chunk_id"].isin(places.index), "chunk_id"]
    if len(missing):
        raise ValueError(f"run holds {len(missing)} chunks that chunks= lacks: {some(pd.unique(missing))}.")
    return places.loc[ranked["chunk_id"]].assign(query_id=ranked["query_id"].to_numpy()).reset_index()


def _touching(pool: pd.DataFrame, gold: pd.DataFrame, *, meeting: bool) -> pd.DataFrame:
    """Pair every gold span with every chunk that shares a character with it, or also only an edge."""
    pairs = gold.merge(pool, on="doc_id", suffixes=("_gold", ""))
    return pairs[
        (pairs["start"] < pairs["end_gold"] + meeting) & (pairs["end"] > pairs["start_gold"] - meeting)
    ]


def _coverage(found: pd.DataFrame, gold: pd.DataFrame, queries: pd.Index, *, once: bool) -> list[np.ndarray]:
    """Compute recall, precision and IoU, one array over the queries each."""
    gold = gold.assign(row=np.arange(len(gold)))
    pairs = found.merge(gold, on=["query_id", "doc_id"], suffixes=("", "_gold"))
    shared = pairs.assign(
        start=np.maximum(pairs["start"], pairs["start_gold"]), end=np.minimum(pairs["end"], pairs["end_gold"])
    )
    shared = shared[shared["start"] < shared["end"]]
    hit = _covered(shared, queries)
    if once:
        wanted, size = _covered(gold, queries), _covered(found, queries)
        unfound = wanted - hit
    else:
        wanted, size = _summed(gold, queries), _summed(found, queries)
        unfound = wanted - _covered(shared, queries, ["row"])
    return [_ratio(hit, wanted), _ratio(hit, size), _ratio(hit, size + unfound)]


def _omega(touching: pd.DataFrame, gold: pd.DataFrame, queries: pd.Index) -> np.ndarray:
    """Compute the precision of retrieving exactly the chunks that touch gold."""
    shared = touching.assign(
        start=np.maximum(touching["start"], touching["start_gold"]),
        end=np.minimum(touching["end"], touching["end_gold"]),
    )
    both = pd.concat([touching[["query_id", "doc_id", "start", "end"]], gold], ignore_index=True)
    return _ratio(_covered(shared, queries), _covered(both, queries))


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole > 0)


def _summed(intervals: pd.DataFrame, queries: pd.Index) -> np.ndarray:
    """Add up the lengths of each query's intervals."""
    codes = queries.get_indexer(pd.Index(intervals["query_id"]))
    lengths = (intervals["end"] - intervals["start"]).to_numpy()
    return np.bincount(codes, weights=lengths, minlength=len(queries)).astype(np.float64)


def _covered(intervals: pd.DataFrame, queries: pd.Index, within: list[str] | None = None) -> np.ndarray:
    """Count the characters of each query that lie in any of its intervals, document by document."""
    if not len(intervals):
        return np.zeros(len(queries))
    group = intervals.groupby(within or ["query_id", "doc_id"], sort=False).ngroup().to_numpy()
    # Groups are laid out one after another on one long line, so that one pass joins the intervals of all.
    stride = int(intervals["end"].max()) + 1
    start, end = (group * stride + intervals[c].to_numpy() for c in ("start", "end"))
    order = np.lexsort((start, group))
    start, end = start[order], end[order]
    reached = np.maximum.accumulate(np.concatenate([[-1], end[:-1]]))
    new = np.maximum(end - np.maximum(start, reached), 0)
    codes = queries.get_indexer(pd.Index(intervals["query_id"].to_numpy()[order]))
    return np.bincount(codes, weights=new, minlength=len(queries)).astype(np.float64)
