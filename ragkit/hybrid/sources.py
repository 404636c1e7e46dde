"""The sources of a hybrid search: what each is asked, and how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ragkit.bm25 import KeywordIndex
from ragkit.frames import (
    as_ids,
    as_queries,
    as_run,
    empty_run,
    group_codes,
    ranks_within,
    some,
    unit_column,
    where_mask,
)
from ragkit.hybrid.cache import fingerprint
from ragkit.similarity import as_matrix, by_id, gather_vectors
from ragkit.vectors import VectorStore


class Ask(NamedTuple):
    """What is asked: the queries, and their vectors where they were given."""

    frame: pd.DataFrame
    vectors: np.ndarray | None
    key: Any


class Knobs(NamedTuple):
    """What the sources are searched with."""

    pool: int | None
    k1: float | None
    b: float | None
    variant: str | None
    min_score: float | None
    where: Any
    where_key: Any


class Found(NamedTuple):
    """A source's run, the queries that it could not be asked, and what there is to say of them."""

    run: pd.DataFrame
    absent: np.ndarray
    notes: tuple[str, ...] = ()


def check_source(name: str, source: Any) -> None:
    """Refuse what is no retriever, and stores that are exchanged."""
    if isinstance(source, type):
        raise TypeError(
            f"source {name!r} is the class {source.__name__}; make one first: {source.__name__}(docs)."
        )
    if not isinstance(source, (KeywordIndex, VectorStore)) and not callable(source):
        raise TypeError(
            f"source {name!r} must be a KeywordIndex, a VectorStore or a callable queries -> run; "
            f"got a {type(source).__name__}. Of documents, write "
            "HybridSearch(KeywordIndex(docs), VectorStore(docs))."
        )
    wrong = {"keyword": VectorStore, "vector": KeywordIndex}.get(name)
    if wrong is not None and isinstance(source, wrong):
        raise TypeError(
            f"source {name!r} is a {wrong.__name__}; "
            "write HybridSearch(index, store), the KeywordIndex first."
        )


def usual_scale(source: Any) -> str:
    """Name the seed's normaliser: keyword scores by the best, similarities as they are."""
    if isinstance(source, KeywordIndex):
        return "max"
    return "none" if isinstance(source, VectorStore) else "minmax"


def lowest_score(source: Any) -> float:
    """Give the lowest score that a source can give."""
    return -1.0 if isinstance(source, VectorStore) and source.metric == "cosine" else 0.0


def read_ask(queries: Any, vectors: Any) -> Ask:
    """Read queries and query vectors; either will do."""
    if queries is None and vectors is None:
        raise ValueError("search needs queries, vectors, or both; got neither.")
    vectors = by_id(vectors)
    if queries is None:
        ids = as_ids(list(vectors), "query_id") if isinstance(vectors, Mapping) else None
        matrix = _matrix(list(vectors.values()) if isinstance(vectors, Mapping) else vectors)
        names = [str(n) for n in range(len(matrix))] if ids is None else ids.tolist()
        frame = pd.DataFrame({"query_id": names, "text": [""] * len(names)}, dtype="str")
        return Ask(frame, matrix, (tuple(names), fingerprint(matrix)))
    frame = as_queries(queries)
    key = (tuple(frame["query_id"]), tuple(frame["text"]))
    if vectors is None:
        return Ask(frame, None, (*key, None))
    if isinstance(vectors, Mapping):
        named = dict(zip(as_ids(list(vectors), "query_id"), vectors.values()))
        lacking = [name for name in frame["query_id"] if name not in named]
        if lacking:
            raise ValueError(
                f"vectors lacks {len(lacking)} of the queries: {some(lacking)}; give theirs too."
            )
        matrix = _matrix(gather_vectors(named, frame["query_id"]))
    else:
        matrix = _matrix(vectors)
    if len(matrix) != len(frame):
        raise ValueError(f"vectors must have one row per query; got {len(matrix)} for {len(frame)} queries.")
    return Ask(frame, matrix, (*key, fingerprint(matrix)))


def _matrix(vectors: Any) -> np.ndarray:
    return as_matrix(vectors, "query vectors") if np.size(vectors) else np.empty((0, 0))


def search_words(index: KeywordIndex, ask: Ask, knobs: Knobs) -> Found:
    """Search an index with the queries that hold a word."""
    usable = np.array([bool(index.tokenizer(text)) for text in ask.frame["text"]], dtype=bool)
    asked = ask.frame[usable].reset_index(drop=True)
    run = index.search(
        asked, top_k=knobs.pool, k1=knobs.k1, b=knobs.b, variant=knobs.variant, where=knobs.where
    )
    return Found(run, ~usable)


def search_vectors(name: str, store: VectorStore, ask: Ask, knobs: Knobs) -> Found:
    """Search a store with the queries that have a vector or a text that it can embed."""
    options = {"top_k": knobs.pool, "min_score": knobs.min_score, "where": knobs.where}
    vectors: np.ndarray | None = ask.vectors
    notes: tuple[str, ...] = ()
    if vectors is None and store.fallback is None:
        vectors, notes = _embedded(name, store, ask.frame)
    usable: np.ndarray = written_queries(ask.frame) if vectors is None else np.asarray(vectors.any(axis=1))
    asked = ask.frame[usable].reset_index(drop=True)
    if not len(asked):
        return Found(empty_run(store.unit), ~usable, notes)
    run = store.search(asked, vectors=None if vectors is None else vectors[usable], **options)
    if vectors is None and knobs.min_score is None:  # no row at all: the text means nothing to anyone
        usable = usable & ask.frame["query_id"].isin(run["query_id"]).to_numpy(dtype=bool)
    return Found(run, ~usable, notes)


def _embedded(name: str, store: VectorStore, queries: pd.DataFrame) -> tuple[np.ndarray, tuple[str, ...]]:
    """Embed texts, and say which of them have no vector, why, and what to do."""
    if store.can_embed:
        vectors = store.query_vectors(queries)
        why = getattr(store.embed, "zero_reason", None)
        why = why or "no word of theirs is known to its embedder; check spelling and language"
    else:
        vectors = np.zeros((len(queries), 1))
        why = (
            "its store was given its vectors and cannot embed a text; give the queries' own with vectors=, "
            "or build the store with embed= the model that made them, or with fallback=rk.LSAEmbedder()"
        )
    lacking = queries.loc[written_queries(queries) & ~vectors.any(axis=1), "text"]
    said = f"the {name} side takes no part in {some(lacking)}: {why}."
    return vectors, (said,) if len(lacking) and len(store) else ()  # where there is nothing, nothing is amiss


def search_callable(name: str, source: Any, ask: Ask, knobs: Knobs, stores: Sequence[Any]) -> Found:
    """Ask a retriever of the user's; it knows no filter, so what the stores forbid is taken from its run."""
    usable = written_queries(ask.frame)
    run = as_run(source(ask.frame[usable].reset_index(drop=True)))
    run = run[run["query_id"].isin(ask.frame["query_id"])]
    if knobs.where is not None:
        run = run[run[unit_column(run)].isin(_allowed(name, stores, knobs.where))]
        run = run.assign(rank=ranks_within(group_codes(run["query_id"])[0]))  # as if it had filtered before
    return Found(run if knobs.pool is None else run[run["rank"] <= knobs.pool], ~usable)


def _allowed(name: str, stores: Sequence[Any], where: Any) -> set[str]:
    """Collect the units that a filter lets pass, of all stores."""
    if not stores:
        raise ValueError(
            f"where= needs the documents, and no source is a store that holds them; filter inside {name!r}."
        )
    out: set[str] = set()
    for store in stores:
        docs = store.docs
        mask = where_mask(docs, where)
        out.update(docs[store.unit] if mask is None else docs[store.unit][mask])
    return out


def written_queries(frame: pd.DataFrame) -> np.ndarray:
    """Say which queries have a text."""
    return frame["text"].str.strip().ne("").to_numpy(dtype=bool)


def make_scorer(source: Any, minimum: float, ask: Ask, knobs: Knobs) -> Any:
    """Make ``pairs -> exact scores`` of a store; what the store does not hold gets the lowest score."""
    if not isinstance(source, (KeywordIndex, VectorStore)):
        return "score"

    def score(pairs: pd.DataFrame) -> np.ndarray:
        unit = "chunk_id" if "chunk_id" in pairs.columns else "doc_id"
        held = np.array([name in source for name in pairs[unit]], dtype=bool)
        out = np.full(len(pairs), minimum)
        inside = pairs[held].reset_index(drop=True)
        if not len(inside):
            return out
        if isinstance(source, KeywordIndex):
            options = {"k1": knobs.k1, "b": knobs.b, "variant": knobs.variant}
            out[held] = source.score_pairs(inside, ask.frame, **options)  # type: ignore[arg-type]
        else:
            out[held] = source.score_pairs(inside, ask.frame, vectors=ask.vectors)
        return out

    return score
