"""``fuse``: any number of runs into one, with the whole account of every score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from ragkit.frames import check_top_k, id_array, round_significant, some, tie_order, warn
from ragkit.fusion.align import Pool, Source, align, named_runs
from ragkit.fusion.ledger import Ledger
from ragkit.fusion.methods import Column
from ragkit.fusion.normalize import Normalized, normalize_source
from ragkit.fusion.options import Plan, make_plan


def fuse(
    runs: Any,
    *others: Any,
    method: str | Callable = "rrf",
    weights: Any = None,
    k: float = 60,
    normalize: Any = None,
    missing: Any = None,
    minimum: Any = None,
    top_k: int | None = None,
) -> pd.DataFrame:
    """Merge runs into one, and say what each of them added to every score.

    A unit's score combines what the runs give it: points for its rank (rank methods) or its normalised
    score (score methods), each times the run's weight. Every unit of the union is in the result.

    Parameters
    ----------
    runs : dict of str to run
        The runs by name; each is whatever :func:`ragkit.as_run` takes. A list is named ``run_1, run_2, ...``.
        A unit that stands twice in a run counts once, at its best rank; the ranks below close up.
        Higher scores must be better: convert distances first, such as ``score=1 - distance``.
    *others : run
        Refused, with the way to write it: all runs come in `runs`.
    method : str or callable, default="rrf"
        By rank r: ``rrf`` sums ``w / (k + r)``; ``isr`` sums ``w / r**2``, times the number of runs that
        have the unit; ``borda`` gives ``c - r + 1`` points of c candidates; ``condorcet`` counts duels won
        (all pairs of units meet, so keep the runs short).
        By normalised score s: ``linear`` and ``sum`` add ``w * s``; ``mnz`` multiplies the sum by the number
        of runs that have the unit, ``anz`` divides it; ``max``, ``min``, ``median`` pick one ``w * s``;
        ``dbsf`` and ``tm2c2`` are ``linear`` with the normaliser of their name. A callable
        ``(scores, ranks, weights) -> scores`` is given arrays of shape (units, runs), NaN for what a run
        lacks, once per query; it returns scores, contributions of shape (units, runs) to be added up, or a
        tuple of both. :func:`ragkit.dialect` names the options that reproduce other engines.
    weights : dict of str to float, or sequence of float, optional
        One for each run, used as given; None is 1 each. Weight 0 removes the run.
    k : float, default=60
        RRF's constant: a larger k trusts the first ranks less. Only ``rrf`` reads it.
    normalize : str, callable or dict, optional
        For score methods; one for all runs, or a dict by run. ``minmax`` (the default), ``max``, ``sum``,
        ``zscore``, ``rank``, ``borda``, ``l2``, ``theoretical_min``, ``sigmoid``, ``dbsf``,
        ``dbsf_population``, ``none``, or a callable on one query's scores. A lone hit, and scores that are
        all equal, become 1 under ``minmax``, ``max`` and ``theoretical_min``, 1/n under ``sum``, 1/sqrt(n)
        under ``l2``, 0.5 under ``dbsf`` and 0, the mean, under ``zscore``.
    missing : str, callable or dict, optional
        What a unit is worth to a run that lacks it: ``zero`` (most methods' default), ``ignore`` (the run
        does not count: ``max, min, median, anz``), ``list_min`` (the run's lowest normalised score), or
        ``theoretical_min``. A callable ``pairs -> scores`` gives the exact score of each
        ``query_id, doc_id``; :class:`ragkit.HybridSearch` has one, called ``"score"``.
    minimum : float or dict by run, default=0
        The lowest score a retriever can give, for ``theoretical_min``: 0 for BM25, -1 for cosines.
    top_k : int or None, default=None
        Keep this many per query, after fusing; None keeps all.

    Returns
    -------
    DataFrame
        A run over the union, with its ledger: ``relative_score`` (score by the highest that these weights
        allow; 0 for a negative one), ``source`` (``"keyword+vector"``), and for each run ``<name>_rank``,
        ``<name>_score``, ``<name>_normalized``, ``<name>_contribution``. The contributions add up to
        ``score``; where one run decides (max, min, median), its column holds the score and the others 0.

    Raises
    ------
    TypeError
        If runs come as several arguments, or one of them is no run.
    ValueError
        For an unknown name, a weight without a run, all weights 0, runs over chunks mixed with runs over
        documents, or a score that is NaN (run, query and unit are named).

    See Also
    --------
    HybridSearch : Search, fuse and diversify in one call.

    References
    ----------
    .. [1] Cormack, Clarke, Buettcher. Reciprocal rank fusion outperforms Condorcet and individual rank
       learning methods. SIGIR 2009.
    .. [2] Fox, Shaw. Combination of multiple searches. TREC-2, 1993.
    .. [3] Bruch, Gai, Ingber. An analysis of fusion functions for hybrid retrieval. TOIS 2023.

    Examples
    --------
    >>> keyword = {"q": {"fox": 9.0, "hen": 4.0}}
    >>> vector = {"q": {"hen": 0.8, "owl": 0.5}}
    >>> fused = fuse({"keyword": keyword, "vector": vector})
    >>> fused[["doc_id", "rank", "source"]].values.tolist()
    [['hen', 1, 'keyword+vector'], ['fox', 2, 'keyword'], ['owl', 3, 'vector']]
    >>> round(float(fused["score"][0]), 6)  # 1/62 + 1/61
    0.032522
    """
    if others:
        raise TypeError(
            f"fuse takes its runs in one dict, not as {1 + len(others)} arguments: "
            'fuse({"keyword": run, "vector": other}). The names stand in the columns of the result.'
        )
    named = named_runs(runs)
    plan = make_plan(
        list(named),
        method=method,
        weights=weights,
        k=k,
        normalize=normalize,
        missing=missing,
        minimum=minimum,
    )
    top_k = check_top_k(top_k)
    pool = align({name: named[name] for name in plan.weights})
    _warn_numbered(pool)
    return fuse_pool(pool, plan, top_k)


def _warn_numbered(pool: Pool) -> None:
    """Warn of a run whose queries are numbered while those of all others have ids: nothing meets."""
    answered = [set(np.flatnonzero(source.sizes).tolist()) for source in pool.sources]
    for source, own in zip(pool.sources, answered):
        others = set().union(*(queries for queries in answered if queries is not own))
        if not own or not others or own & others:
            continue
        ids, known = ([str(q) for q in pool.query_ids.take(sorted(some_of))] for some_of in (own, others))
        if sorted(ids) == sorted(str(number) for number in range(len(ids))):
            warn(
                f"run {source.name!r} answers queries {some(ids, 2)}, which no other run does "
                f"({some(known, 2)}), so nothing meets. Search with the ids of the queries, not only "
                "their texts: index.search(data.queries), or index.search({'q1': 'a text'})."
            )
            return


def fuse_pool(pool: Pool, plan: Plan, top_k: int | None = None) -> pd.DataFrame:
    """Fuse aligned runs; the part of :func:`fuse` that depends on its knobs."""
    ledger = Ledger(pool, top_k)
    pool = _scored(pool, plan)
    weights = [plan.weights[source.name] for source in pool.sources]
    columns, highest = _values(pool, plan)
    for queries, block in pool.blocks():
        own = [column.cut(source, queries) for column, source in zip(columns, block.sources)]
        score, parts = plan.method.combine(block, own, weights)
        order = tie_order(block.query, score, lambda slots, of=block: of.unit_order(of.units[slots]))
        ledger.write(block, score, order, own, parts)
    _teach(pool, plan)
    if plan.method.bound is None:  # a callable: the highest that it gave stands in
        return ledger.frame(np.full(len(pool.sizes), ledger.score.max(initial=0.0)))
    asked = [_asked(source, pool) for source in pool.sources]
    return ledger.frame(plan.method.bound(np.where(asked, highest, 0.0)))


def contributions(pool: Pool, plan: Plan) -> list[np.ndarray]:
    """Give what each run adds to every slot of the pool; a run that the plan leaves out is not in it."""
    pool = _scored(pool, plan)
    columns, _ = _values(pool, plan)
    _, parts = plan.method.combine(pool, columns, [plan.weights[source.name] for source in pool.sources])
    _teach(pool, plan)
    return [part.full(pool) if isinstance(part, Column) else part for part in parts]


def _asked(source: Source, pool: Pool) -> np.ndarray:
    """Say, for each query, whether this side could be asked at all."""
    return np.ones(len(pool.sizes), dtype=bool) if source.absent is None else ~source.absent


def _scored(pool: Pool, plan: Plan) -> Pool:
    """Ask for the exact scores of units that a run lacks, where that is the policy."""
    if plan.method.by_rank or not any(
        callable(plan.missing[s.name]) or plan.missing[s.name] == "score" for s in pool.sources
    ):
        return pool
    return replace(pool, sources=[_with_exact(pool, s, plan.missing[s.name]) for s in pool.sources])


def _with_exact(pool: Pool, source: Source, scorer: Any) -> Source:
    if scorer == "score":
        raise ValueError(
            f"missing='score' needs a store to ask for run {source.name!r}; use HybridSearch, "
            "or give a callable pairs -> scores."
        )
    if not callable(scorer):
        return source
    lacking = np.ones(len(pool), dtype=bool)
    lacking[source.slot] = False
    lacking &= _asked(source, pool)[pool.query]
    slots = np.flatnonzero(lacking)
    pairs = pd.DataFrame({"query_id": id_array(pool.query_ids.take(pool.query[slots]))})
    pairs[pool.unit] = id_array(pool.unit_ids.take(pool.units[slots]))
    exact = np.asarray(scorer(pairs), dtype=np.float64)
    if exact.shape != (len(slots),) or not np.isfinite(exact).all():
        raise ValueError(
            f"missing for run {source.name!r} must return {len(slots)} finite scores; "
            f"got an array of shape {exact.shape}."
        )
    slot = np.concatenate([source.slot, slots])
    score = np.concatenate([source.score, exact])
    rank = np.concatenate([source.rank, np.full(len(slots), np.nan)])
    query = pool.query[slot]
    order = tie_order(query, score, lambda rows: pool.unit_order(pool.units[slot[rows]]))
    sizes = np.bincount(query, minlength=len(pool.sizes))
    return replace(source, slot=slot[order], score=score[order], rank=rank[order], sizes=sizes)


def _values(pool: Pool, plan: Plan) -> tuple[list[Column], list[np.ndarray]]:
    """Value every row and every lack, and say how much each run can add at most, by query."""
    method, n = plan.method, len(pool.sizes)
    columns, highest = [], []
    for source in pool.sources:
        w = plan.weights[source.name]
        if method.points is not None and method.top is not None:
            column, top = method.points(pool, source, plan.k), method.top(pool, plan.k, w)
        else:
            minimum = plan.minimum[source.name]
            normal = normalize_source(source, plan.normalize[source.name], minimum, pool.sizes)
            fill = _fill(source, plan.missing[source.name], normal, minimum)
            column, top = Column(source, normal.values, fill), np.full(n, w * normal.highest)
        if source.absent is not None:
            column.fill = np.where(source.absent, np.nan, column.fill)
        columns.append(column)
        highest.append(top)
    return columns, highest


def _fill(source: Source, policy: Any, normal: Normalized, minimum: float) -> Any:
    """Value what a run lacks: one number, or one for each query. A run without hits gives 0."""
    if policy == "zero":
        return 0.0
    if policy == "ignore" or callable(policy):
        return np.nan
    if policy == "theoretical_min":
        return normal.at(minimum)
    lowest = np.zeros(len(source.sizes))
    filled = np.flatnonzero(source.sizes)
    if len(filled):
        lowest[filled] = np.minimum.reduceat(normal.values, source.starts[filled])
    return lowest


def _teach(pool: Pool, plan: Plan) -> None:
    """Warn of the traps that spoil a fusion without an error: once for each kind."""
    if plan.method.by_rank:
        return
    for trap in (_lone_hits, _mean_for_missing, _rising):
        lessons = (trap(source, pool, plan) for source in pool.sources)
        lesson = next((text for text in lessons if text), None)
        if lesson:
            warn(lesson)


def _lone_hits(source: Source, pool: Pool, plan: Plan) -> str:
    lone = np.flatnonzero(source.sizes == 1)
    if plan.normalize[source.name] != "minmax" or not len(lone):
        return ""
    return (
        f"min-max of a single hit: run {source.name!r} has one hit in {len(lone)} of {len(source.sizes)} "
        f"queries (such as {pool.query_ids[lone[0]]!r}), which becomes 1 however weak it is. "
        "Use normalize='max' or 'theoretical_min', or method='rrf'."
    )


def _mean_for_missing(source: Source, pool: Pool, plan: Plan) -> str:
    how, policy = plan.normalize[source.name], plan.missing[source.name]
    if not plan.defaulted or how != "zscore" or policy != "zero":
        return ""
    return (
        f"z-scores with missing='zero': what run {source.name!r} lacks counts as its mean and outranks "
        "the lower half of what it found. Say missing='list_min' (or 'zero', if that is meant)."
    )


def _rising(source: Source, pool: Pool, plan: Plan) -> str:
    if not _rises(source):
        return ""
    return (
        f"scores of run {source.name!r} rise with its ranks, as distances do, so its best hits count least. "
        "Convert them first, such as score=1 - distance, or fuse by rank."
    )


def _rises(source: Source) -> bool:
    """Say whether scores rise with the rank in every query that has at least two."""
    retrieved = ~np.isnan(source.rank)
    if not retrieved.all():  # ordered by exact scores
        return False
    rising = False
    for start, size in zip(source.starts.tolist(), source.sizes.tolist()):  # the first that falls settles it
        step = np.diff(round_significant(source.score[start : start + size]))
        if (step < 0).any():
            return False
        rising = rising or bool((step > 0).any())
    return rising
