"""HybridSearch: keyword and vector search, fusion and MMR behind one call with every knob."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pandas as pd

from ragkit.bm25 import KeywordIndex
from ragkit.diversity import mmr
from ragkit.diversity.pool import check_scale
from ragkit.frames import check_number, check_top_k, warn
from ragkit.frames.messages import warnings_kept
from ragkit.fusion.align import Pool, align
from ragkit.fusion.fuse import fuse_pool
from ragkit.fusion.options import Plan, make_plan
from ragkit.hybrid.cache import StageCache, fingerprint
from ragkit.hybrid.held import HeldSources
from ragkit.hybrid.sources import (
    Ask,
    Found,
    Knobs,
    lowest_score,
    make_scorer,
    read_ask,
    search_callable,
    search_vectors,
    search_words,
    usual_scale,
)
from ragkit.vectors import VectorStore

#: The seed's weights: what means the same counts more than what is spelt the same.
WEIGHTS: Mapping[str, float] = MappingProxyType({"keyword": 0.3, "vector": 0.7})


class HybridSearch(HeldSources):
    """Search by words and by meaning at once, fuse, diversify; every knob is an argument of the search.

    Stages are remembered: moving `lambda_` runs MMR alone, moving a weight runs fusion and MMR alone. What
    is remembered is tied to the stores' version counters, so an update of either store is seen at once.

    Parameters
    ----------
    index : KeywordIndex or dict of name to retriever, optional
        The keyword side, called ``"keyword"``. A dict makes a search over any number of sources instead:
        each a KeywordIndex, a VectorStore, or a callable ``queries -> run``.
    store : VectorStore, optional
        The vector side, called ``"vector"``. One side alone will do.

    Raises
    ------
    ValueError
        If there is no source at all.

    See Also
    --------
    fuse : The fusion, on runs from anywhere.
    mmr : The diversification.

    Examples
    --------
    >>> import ragkit as rk
    >>> docs = {"a": "red fox", "b": "red wine", "c": "blue whale"}
    >>> hybrid = HybridSearch(rk.KeywordIndex(docs), rk.VectorStore(docs))
    >>> run = hybrid.search("red fox", top_k=2)
    >>> run[["doc_id", "rank", "source"]].values.tolist()
    [['a', 1, 'keyword+vector'], ['b', 2, 'keyword+vector']]
    """

    def __init__(self, index: Any = None, store: Any = None):
        super().__init__(index, store)
        self._runs, self._pools, self._fused = StageCache(16), StageCache(8), StageCache(8)

    def clear(self) -> None:
        """Remove every document from every store."""
        super().clear()
        self.clear_cache()

    def clear_cache(self) -> None:
        """Forget what was remembered; only needed when a retriever given as a callable has changed."""
        for cache in (self._runs, self._pools, self._fused):
            cache.clear()

    # ---------------------------------------------------------------- search

    def search(
        self,
        queries: Any = None,
        *,
        vectors: Any = None,
        top_k: int | None = 10,
        pool: int | None = 100,
        fusion: Any = "rrf",
        weights: Any = WEIGHTS,
        k: float = 60,
        normalize: Any = None,
        missing: Any = None,
        k1: float | None = None,
        b: float | None = None,
        variant: str | None = None,
        lambda_: float | None = None,
        fetch_k: int | None = 50,
        scale: str | None = "minmax",
        threshold: float | None = None,
        min_score: float | None = None,
        where: Any = None,
    ) -> pd.DataFrame:
        """Retrieve from every source, fuse, cut by `threshold`, diversify, and keep `top_k`.

        A side that has no usable query (blank text, stop words alone, a zero vector, or text for a store
        that cannot embed it) is absent, not empty: it takes no part in that query's scores and bounds.

        Parameters
        ----------
        queries : queries, optional
            Whatever :func:`ragkit.as_queries` takes. Not needed where `vectors` are given.
        vectors : array_like of shape (q, d) or (d,), or dict of query id to vector, optional
            Query vectors for the vector side; without them it embeds the text.
        top_k : int or None, default=10
            How many come back per query; None is all.
        pool : int or None, default=100
            How many each source puts in. It never depends on `top_k`, so asking for fewer never changes
            which one is first.
        fusion : str or callable, default="rrf"
            Method of :func:`ragkit.fuse`.
        weights : dict of source to float, default={"keyword": 0.3, "vector": 0.7}
            Used as given; 0 leaves the source out; None is 1 each.
        k : float, default=60
            RRF's constant.
        normalize : str, callable or dict, optional
            As in :func:`ragkit.fuse`. None is the method's own; for ``linear`` and ``max`` it divides
            keyword scores by the best of the query and takes similarities as they are.
        missing : str, callable or dict, optional
            As in :func:`ragkit.fuse`; ``"score"`` asks each store for the exact score of what it did not
            retrieve.
        k1, b : float, optional
            BM25's parameters; None for the index's own.
        variant : str, optional
            BM25's variant; None for the index's own.
        lambda_ : float, optional
            Diversify with MMR: 1 is relevance only, 0 is novelty only. None leaves MMR out.
        fetch_k : int or None, default=50
            How many of the fused units MMR chooses from; None is all.
        scale : {"minmax", None}, default="minmax"
            How MMR scales the fused scores.
        threshold : float, optional
            Keep units whose ``relative_score`` is at least this. A negative score is below 0.
        min_score : float, optional
            The least similarity on the vector side.
        where : dict, callable or Series, optional
            Which documents may be found; applied to every store before ranking, and to what a callable
            source gives, of which only documents that a store holds pass.

        Returns
        -------
        DataFrame
            A run with the ledger of :func:`ragkit.fuse` and, with `lambda_`, of :func:`ragkit.mmr`.

        Raises
        ------
        ValueError
            If an option is unknown or out of range; a weight names no source; there is nothing to ask.

        Warns
        -----
        RetrievalWarning
            If a vector side cannot embed the text of a query, and so takes no part in it.

        See Also
        --------
        fuse : What the options of the fusion mean.

        Examples
        --------
        >>> import ragkit as rk
        >>> docs = {"a": "red fox", "b": "red wine", "c": "blue whale"}
        >>> hybrid = HybridSearch(rk.KeywordIndex(docs))
        >>> hybrid.search("red wine", fusion="linear")[["doc_id", "relative_score"]].round(2).values.tolist()
        [['b', 1.0], ['a', 0.32]]
        """
        plan = self._plan(fusion, weights, k, normalize, missing)
        top_k, pool = check_top_k(top_k), check_top_k(pool, "pool")
        fetch_k = check_top_k(fetch_k, "fetch_k")
        if lambda_ is not None:
            lambda_ = check_number("lambda_", lambda_, low=0, high=1, meaning="1 = relevance only")
        check_scale(scale)
        if threshold is not None:
            threshold = check_number("threshold", threshold, low=0, high=1, meaning="of relative_score")
        where = None if isinstance(where, Mapping) and not where else where
        knobs = Knobs(pool, k1, b, variant, min_score, where, fingerprint(where))
        ask = read_ask(queries, vectors)
        fused, notes = self._fuse(ask, knobs, plan, threshold)
        for note in notes:  # at every call, though the search itself may be remembered
            warn(note)
        if lambda_ is None:
            return fused[fused["rank"] <= top_k].reset_index(drop=True) if top_k is not None else fused.copy()
        return self._diversify(fused, lambda_, top_k, fetch_k, scale)

    def _plan(self, fusion: Any, weights: Any, k: Any, normalize: Any, missing: Any) -> Plan:
        """Check the fusion's options against the sources."""
        if weights is WEIGHTS:  # the default speaks of the two sides; other sources count 1
            weights = {name: WEIGHTS.get(name, 1.0) for name in self._sources}
        if normalize is None and fusion in ("linear", "max"):
            normalize = {name: usual_scale(source) for name, source in self._sources.items()}
        elif isinstance(normalize, Mapping) and fusion in ("linear", "max"):
            normalize = {n: usual_scale(s) for n, s in self._sources.items()} | dict(normalize)
        minimum = {name: lowest_score(source) for name, source in self._sources.items()}
        return make_plan(
            list(self._sources),
            method=fusion,
            weights=weights,
            k=k,
            normalize=normalize,
            missing=missing,
            minimum=minimum,
            of="source",
        )

    # ---------------------------------------------------------------- stages

    def _fuse(
        self, ask: Ask, knobs: Knobs, plan: Plan, threshold: float | None
    ) -> tuple[pd.DataFrame, list[str]]:
        """Give everything fused, and what the sources have to say."""
        runs = {name: self._run_key(name, ask, knobs) for name in plan.weights}
        pool_key = tuple(runs.items())

        def make() -> tuple[pd.DataFrame, list[str]]:
            aligned, notes = self._pools.get(pool_key, lambda: self._align(runs, ask, knobs))
            fused = fuse_pool(aligned, self._with_scorers(plan, ask, knobs))
            return fused if threshold is None else _above(fused, threshold), notes

        return self._fused.get((pool_key, fingerprint(plan.key), threshold), make)

    def _align(self, runs: dict[str, Any], ask: Ask, knobs: Knobs) -> tuple[Pool, list[str]]:
        found = {
            name: self._runs.get(key, lambda name=name: self._retrieve(name, ask, knobs))  # type: ignore[misc]
            for name, key in runs.items()
        }
        pool = align({name: f.run for name, f in found.items()}, ask.frame["query_id"])
        for source in pool.sources:
            source.absent = found[source.name].absent
        return pool, list(dict.fromkeys(note for f in found.values() for note in f.notes))

    def _retrieve(self, name: str, ask: Ask, knobs: Knobs) -> Found:
        """Search one source with the queries that it can use; what it warns of is kept, to be said once."""
        source = self._sources[name]
        with warnings_kept() as notes:
            if isinstance(source, KeywordIndex):
                found = search_words(source, ask, knobs)
            elif isinstance(source, VectorStore):
                found = search_vectors(name, source, ask, knobs)
            else:
                found = search_callable(name, source, ask, knobs, self._stores())
        return found._replace(notes=(*found.notes, *notes))

    def _diversify(
        self, fused: pd.DataFrame, lambda_: float, top_k: int | None, fetch_k: int | None, scale: str | None
    ) -> pd.DataFrame:
        if self.store is None:
            raise ValueError(
                "lambda_ needs a VectorStore, whose vectors tell how alike two units are; "
                "give HybridSearch one, or leave lambda_ None."
            )
        return mmr(fused, self.store, lambda_=lambda_, top_k=top_k, fetch_k=fetch_k, scale=scale)

    def _run_key(self, name: str, ask: Ask, knobs: Knobs) -> Any:
        """Everything that a source's run depends on."""
        source = self._sources[name]
        own: tuple = ()
        if isinstance(source, KeywordIndex):
            own = (knobs.k1, knobs.b, knobs.variant, knobs.where_key)
        elif isinstance(source, VectorStore):
            own = (knobs.min_score, knobs.where_key)
        elif knobs.where is not None:
            own = (knobs.where_key, *(store.version for store in self._stores()))
        return (name, id(source), getattr(source, "version", None), ask.key, knobs.pool, own)

    def _with_scorers(self, plan: Plan, ask: Ask, knobs: Knobs) -> Plan:
        """Put a store in place of every ``missing="score"``."""
        scorers = {
            name: make_scorer(self._sources[name], plan.minimum[name], ask, knobs)
            for name, policy in plan.missing.items()
            if policy == "score"
        }
        return replace(plan, missing={**plan.missing, **scorers}) if scorers else plan


def _above(fused: pd.DataFrame, threshold: float) -> pd.DataFrame:
    """Keep what reaches the threshold; a negative score, whose relative score is shown as 0, is below 0."""
    keep = (fused["relative_score"] >= threshold) & ((fused["score"] >= 0) | (threshold < 0))
    return fused[keep].reset_index(drop=True)
