"""Where did it go? Each relevant document's way through the stages, and the stage that lost it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ragkit.bm25 import KeywordIndex
from ragkit.explain.options import search_options
from ragkit.explain.score import ordinal
from ragkit.frames import as_qrels, as_queries, as_run, check_frame, where_mask
from ragkit.frames.messages import warnings_kept
from ragkit.hybrid import HybridSearch
from ragkit.metrics.judged import check_rel
from ragkit.vectors import VectorStore

NO_WORD = ": it shares no word with the query"
#: The stages in the order of the search; a document is lost at most once.
STAGES = ("index", "filter", "chunking", "retrieval", "pool", "threshold", "fusion", "mmr", "top_k")
_DEFAULTS = {"top_k": 10, "pool": 100, "fetch_k": 50, "lambda_": None, "threshold": None, "where": None}


class Place(NamedTuple):
    """Where a run has a document: the rank and score of its best unit."""

    rank: int
    score: float
    unit: str


Places = dict[tuple[str, str], Place]


class Trace(NamedTuple):
    """Everything that the stages say about the relevant documents."""

    hybrid: HybridSearch
    options: dict[str, Any]
    sources: dict[str, Places]
    fused: Places
    kept: Places
    final: Places
    picks: dict[str, list[str]]
    queries: dict[str, str]
    texts: dict[str, list[str]]
    documents: set[str]
    allowed: set[str]


def funnel(
    hybrid: Any,
    queries: Any,
    qrels: Any,
    *,
    params: Mapping[str, Any] | None = None,
    spans: Any = None,
    rel: int = 1,
) -> pd.DataFrame:
    """Follow each relevant document through the stages of a search, and say where it was lost and why.

    Parameters
    ----------
    hybrid : HybridSearch, KeywordIndex or VectorStore
        What is searched.
    queries : queries
        What is asked; only judged queries are followed.
    qrels : judgements
        Whatever :func:`ragkit.as_qrels` takes.
    params : dict, optional
        Arguments of ``hybrid.search``; what is not given has its default there.
    spans : DataFrame, optional
        Gold passages (``query_id, doc_id, start, end``): with them, a document whose passage no chunk
        holds whole is lost at chunking.
    rel : int, default=1
        The least grade of a relevant document.

    Returns
    -------
    DataFrame
        One row per query and relevant document: ``query_id, doc_id, relevance``, for each source its
        ``<name>_rank`` and ``<name>_score`` (over all it would return, not only the pool),
        ``fused_rank, fused_score``, the final ``rank``; ``lost_at`` (one of index, filter, chunking,
        retrieval, pool, threshold, fusion, mmr, top_k; missing where it was found), ``blocked_by`` (what
        MMR picked instead) and ``why``. Ranks count chunks where the stores hold chunks.

    Raises
    ------
    TypeError
        If `hybrid` cannot be searched in stages.
    ValueError
        If `params` names what ``search`` does not take.

    See Also
    --------
    funnel_stages : How much recall each stage loses.
    explain : Why a document has its score.

    Examples
    --------
    >>> import ragkit as rk
    >>> index = rk.KeywordIndex({"a": "red fox", "b": "vixen", "c": "fox fox"})
    >>> lost = funnel(index, {"q": "fox"}, {"q": {"a": 1, "b": 1}}, params={"top_k": 1})
    >>> lost[["doc_id", "keyword_rank", "lost_at"]].values.tolist()
    [['a', 2, 'top_k'], ['b', <NA>, 'retrieval']]
    >>> lost["why"][1]
    'keyword did not return it: it shares no word with the query.'
    """
    searched = _as_hybrid(hybrid)
    rel = check_rel(rel)
    given = search_options(searched, params)
    judged = as_qrels(qrels)
    asked = as_queries(queries)
    asked = asked[asked["query_id"].isin(judged["query_id"])].reset_index(drop=True)
    judged = judged[(judged["relevance"] >= rel) & judged["query_id"].isin(asked["query_id"])]
    judged = judged.sort_values("relevance", ascending=False, kind="stable")
    judged = judged.drop_duplicates(["query_id", "doc_id"]).sort_index()
    pairs = judged[["query_id", "doc_id"]].astype(object)
    trace = _trace(searched, asked, pairs, given)
    cut = _cut_answers(searched, spans)
    rows = [
        _row(trace, query, doc, grade, (query, doc) in cut)
        for query, doc, grade in zip(judged["query_id"], judged["doc_id"], judged["relevance"])
    ]
    return _frame(rows, list(trace.sources))


def _as_hybrid(hybrid: Any) -> HybridSearch:
    if isinstance(hybrid, HybridSearch):
        return hybrid
    if isinstance(hybrid, KeywordIndex):
        return HybridSearch(hybrid)
    if isinstance(hybrid, VectorStore):
        return HybridSearch(store=hybrid)
    raise TypeError(
        f"funnel needs a HybridSearch, a KeywordIndex or a VectorStore; got {type(hybrid).__name__}. "
        "Wrap other retrievers: HybridSearch({'name': retriever})."
    )


def _trace(hybrid: HybridSearch, asked: pd.DataFrame, pairs: pd.DataFrame, params: dict[str, Any]) -> Trace:
    """Run every stage by itself, the sources without a limit."""
    options = _DEFAULTS | params
    final = hybrid.search(asked, **params)
    weights = params.get("weights")
    used = [n for n in hybrid.sources if not isinstance(weights, Mapping) or weights.get(n, 1) != 0]
    with warnings_kept():  # what there is to say of this search has been said
        whole = params | {"lambda_": None, "top_k": None}
        kept = hybrid.search(asked, **whole)
        cuts = options["threshold"] is not None
        fused = hybrid.search(asked, **(whole | {"threshold": None})) if cuts else kept
        sources = {name: _places(_all_of(hybrid.sources[name], asked, params), pairs) for name in used}
        texts, documents, allowed = _held(hybrid, options["where"])
    return Trace(
        hybrid,
        options,
        sources,
        _places(fused, pairs),
        _places(kept, pairs),
        _places(final, pairs),
        _picks(final),
        dict(zip(asked["query_id"], asked["text"])),
        texts,
        documents,
        allowed,
    )


def _picks(final: pd.DataFrame) -> dict[str, list[str]]:
    groups = final.groupby("query_id", sort=False, observed=True)[_unit(final)]
    return {str(query): list(units) for query, units in groups}


def _held(hybrid: HybridSearch, where: Any) -> tuple[dict[str, list[str]], set[str], set[str]]:
    """Give the texts of each document, the documents of all stores, and those that pass the filter."""
    texts: dict[str, list[str]] = {}
    documents: set[str] = set()
    allowed: set[str] = set()
    for store in hybrid.sources.values():
        if not isinstance(store, (KeywordIndex, VectorStore)):
            continue
        docs = store.docs
        mask = where_mask(docs, where)
        documents |= set(docs["doc_id"])
        allowed |= set(docs["doc_id"] if mask is None else docs["doc_id"][mask])
        if isinstance(store, KeywordIndex) and "text" in docs.columns:
            for doc, text in zip(docs["doc_id"], docs["text"]):
                texts.setdefault(doc, []).append(text)
    return texts, documents, allowed


def _all_of(source: Any, asked: pd.DataFrame, params: dict[str, Any]) -> pd.DataFrame:
    """Search one source without a limit."""
    if isinstance(source, KeywordIndex):
        names: tuple[str, ...] = ("k1", "b", "variant", "where")
    elif isinstance(source, VectorStore):
        names = ("min_score", "where")
    else:
        return as_run(source(asked))
    given = {name: params[name] for name in names if params.get(name) is not None}
    return source.search(asked, top_k=None, **given)


def _unit(run: pd.DataFrame) -> str:
    return "chunk_id" if "chunk_id" in run.columns else "doc_id"


def _places(run: pd.DataFrame, pairs: pd.DataFrame) -> Places:
    """Give the best row of each pair, with the rank that it has among all units."""
    unit = run[_unit(run)].astype(object)
    columns = run[["query_id", "doc_id", "rank", "score"]].assign(unit=unit)
    mine = columns.astype({"query_id": object, "doc_id": object}).merge(pairs, on=["query_id", "doc_id"])
    best = mine.sort_values("rank", kind="stable").drop_duplicates(["query_id", "doc_id"])
    return {
        (q, d): Place(int(r), float(s), u)
        for q, d, r, s, u in best[["query_id", "doc_id", "rank", "score", "unit"]].itertuples(index=False)
    }


def _cut_answers(hybrid: HybridSearch, spans: Any) -> set[tuple[str, str]]:
    """List query and document of the gold passages that no chunk holds whole."""
    stores = [s for s in hybrid.sources.values() if isinstance(s, (KeywordIndex, VectorStore))]
    if spans is None or not stores:
        return set()
    check_frame(spans, ["query_id", "doc_id", "start", "end"], "spans")
    chunks = stores[0].docs
    if not {"chunk_id", "start", "end"} <= set(chunks.columns):
        return set()
    both = spans.merge(chunks[["doc_id", "start", "end"]], on="doc_id", suffixes=("", "_of_chunk"))
    whole = (both["start_of_chunk"] <= both["start"]) & (both["end"] <= both["end_of_chunk"])
    pairs = both[["query_id", "doc_id"]].astype(object)
    held = set(zip(pairs["query_id"][whole], pairs["doc_id"][whole]))
    return set(zip(pairs["query_id"], pairs["doc_id"])) - held


def _row(trace: Trace, query: str, doc: str, grade: int, cut: bool) -> dict[str, Any]:
    row: dict[str, Any] = {"query_id": query, "doc_id": doc, "relevance": grade}
    for name, places in [*trace.sources.items(), ("fused", trace.fused)]:
        place = places.get((query, doc))
        row[f"{name}_rank"] = None if place is None else place.rank
        row[f"{name}_score"] = np.nan if place is None else place.score
    final = trace.final.get((query, doc))
    row["rank"] = None if final is None else final.rank
    lost, why, blocker = _judge(trace, row, cut)
    return row | {"lost_at": lost, "blocked_by": blocker, "why": why}


def _judge(trace: Trace, row: dict[str, Any], cut: bool) -> tuple[str | None, str, str | None]:
    """Find the first stage that a document did not survive: the stage, the reason, what blocks it."""
    query, doc, options = row["query_id"], row["doc_id"], trace.options
    if trace.documents and doc not in trace.documents:
        return "index", "no store holds it.", None
    if trace.documents and doc not in trace.allowed:
        return "filter", "the filter (where=) leaves it out.", None
    if cut:
        return "chunking", "no chunk holds the gold passage whole; larger chunks or overlap would.", None
    ranks = {name: row[f"{name}_rank"] for name in trace.sources}
    if all(rank is None for rank in ranks.values()):
        return "retrieval", _not_returned(trace, query, doc), None
    if row["fused_rank"] is None:
        return "pool", _beyond_pool(ranks, options["pool"]), None
    if (query, doc) not in trace.kept:
        return "threshold", f"its relative score is below the threshold {options['threshold']:g}.", None
    if row["rank"] is not None:
        return None, f"found, {ordinal(row['rank'])}.", None
    return _after_fusion(trace, row, ranks)


def _not_returned(trace: Trace, query: str, doc: str) -> str:
    """Say why no source returned it at all."""
    reasons = []
    for name in trace.sources:
        source = trace.hybrid.sources[name]
        if isinstance(source, KeywordIndex):
            shared = _shared_words(source, trace, query, doc)
            reasons.append(f"{name} did not return it{'' if shared else NO_WORD}")
        elif isinstance(source, VectorStore) and trace.options.get("min_score") is not None:
            reasons.append(f"{name} finds it less similar than min_score")
        else:
            reasons.append(f"{name} did not return it")
    return "; ".join(reasons) + "."


def _shared_words(index: KeywordIndex, trace: Trace, query: str, doc: str) -> set[str]:
    words = {word for text in trace.texts.get(doc, ()) for word in index.tokenizer(text)}
    return words & set(index.tokenizer(trace.queries[query]))


def _beyond_pool(ranks: Mapping[str, int | None], pool: int | None) -> str:
    places = [f"{name} ranks it {ordinal(rank)}" for name, rank in ranks.items() if rank is not None]
    absent = [f"{name} did not return it" for name, rank in ranks.items() if rank is None]
    return "; ".join([*places, *absent]) + f"; each puts only its first {pool} in the pool."


def _after_fusion(trace: Trace, row: dict[str, Any], ranks: Mapping[str, int | None]) -> tuple:
    """Judge a document that was fused and is not in the result."""
    options, place, top_k = trace.options, row["fused_rank"], trace.options["top_k"]
    if options["lambda_"] is not None and options["lambda_"] < 1:
        if options["fetch_k"] is not None and place > options["fetch_k"]:
            return "fusion", f"fused {ordinal(place)}; MMR chooses from the first {options['fetch_k']}.", None
        if top_k is None or place <= top_k:
            return _blocked(trace, row)
    better = {name: rank for name, rank in ranks.items() if rank is not None and rank <= (top_k or rank)}
    if better and len(ranks) > 1:
        name = min(better, key=lambda n: better[n])
        others = [n for n in ranks if n != name]
        return (
            "fusion",
            f"outweighed: {name} ranks it {ordinal(better[name])}, but with {' and '.join(others)} it is "
            f"fused {ordinal(place)}; the result keeps {top_k}.",
            None,
        )
    return "top_k", f"ranked {ordinal(place)}; the result keeps {top_k}.", None


def _blocked(trace: Trace, row: dict[str, Any]) -> tuple[str, str, str | None]:
    """Name the pick that is most like a document which MMR passed over."""
    picks, store = trace.picks.get(row["query_id"], []), trace.hybrid.store
    unit = trace.fused[row["query_id"], row["doc_id"]].unit
    if store is None or not picks or unit not in store:
        return "mmr", f"fused {ordinal(row['fused_rank'])}, but MMR picked others.", None
    alike = np.asarray(store.similarity([unit], picks), dtype=float).ravel()
    nearest = picks[int(alike.argmax())]
    likeness = f"it is like {nearest!r} ({alike.max():.2f})"
    why = f"fused {ordinal(row['fused_rank'])}, but MMR passed it over: {likeness}."
    return "mmr", why, nearest


def _frame(rows: list[dict[str, Any]], sources: list[str]) -> pd.DataFrame:
    columns = ["query_id", "doc_id", "relevance"]
    columns += [f"{name}_{what}" for name in sources for what in ("rank", "score")]
    columns += ["fused_rank", "fused_score", "rank", "lost_at", "blocked_by", "why"]
    dtypes: dict[str, Any] = dict.fromkeys(("query_id", "doc_id", "lost_at", "blocked_by", "why"), "str")
    dtypes |= {name: "Int64" for name in columns if name.endswith("rank")}
    dtypes |= {name: "float64" for name in columns if name.endswith("score")} | {"relevance": "int64"}
    frame = pd.DataFrame(rows, columns=columns)
    for name in ("lost_at", "blocked_by"):
        frame[name] = pd.Series(frame[name].to_numpy(dtype=object), dtype=object)
        del dtypes[name]
    return frame.astype(dtypes)


def funnel_stages(lost: pd.DataFrame) -> pd.DataFrame:
    """Sum a funnel over queries: how many relevant documents each stage loses.

    Parameters
    ----------
    lost : DataFrame
        From :func:`funnel`.

    Returns
    -------
    DataFrame
        ``stage, lost, left, recall, recall_lost``: documents over all queries; `recall` is what is left
        after the stage, averaged over queries, and `recall_lost` what the stage took of it.

    See Also
    --------
    funnel : Which documents, and why.
    plot.funnel : The same as bars.

    Examples
    --------
    >>> import ragkit as rk
    >>> index = rk.KeywordIndex({"a": "red fox", "b": "vixen"})
    >>> stages = funnel_stages(funnel(index, {"q": "fox"}, {"q": {"a": 1, "b": 1}}))
    >>> stages[stages["lost"] > 0].values.tolist()
    [['retrieval', 1, 1, 0.5, 0.5]]
    """
    check_frame(lost, ["query_id", "lost_at"], "lost, the frame of funnel,")
    share = (
        1.0 / lost.groupby("query_id")["query_id"].transform("size") if len(lost) else pd.Series(dtype=float)
    )
    n = max(lost["query_id"].nunique(), 1)
    rows = []
    left, recall = len(lost), 1.0 if len(lost) else 0.0
    for stage in STAGES:
        here = (lost["lost_at"] == stage).to_numpy(dtype=bool)
        taken = float(share[here].sum()) / n
        left, recall = left - int(here.sum()), recall - taken
        rows.append((stage, int(here.sum()), left, max(recall, 0.0), taken))
    return pd.DataFrame(rows, columns=["stage", "lost", "left", "recall", "recall_lost"])
