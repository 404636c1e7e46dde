"""The weight axis, exactly: every change of the result, the metric as a step function, its optimum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ragkit.frames import as_qrels, check_choice, check_top_k, id_array, round_significant, some, warn
from ragkit.fusion.align import Pool, align, named_runs
from ragkit.fusion.fuse import contributions
from ragkit.fusion.lines import Lines, list_changes, make_lines, rank_changes
from ragkit.fusion.methods import METHODS
from ragkit.fusion.options import check_weights, make_plan
from ragkit.metrics.judged import Judged, code_judgements
from ragkit.metrics.names import Metric, parse_metrics

#: Methods whose score is a line in each weight.
LINEAR = tuple(name for name in METHODS if name not in ("max", "min", "median", "condorcet"))


class Axis(NamedTuple):
    """Two ends of a weight axis: scores with all weight on one run, and with none."""

    pool: Pool
    x: np.ndarray
    y: np.ndarray
    of: str
    key: np.ndarray  # sorts as the ids of the slots do

    def lines(self, query: int) -> Lines:
        """Make the lines of one query; slots count from the query's first."""
        start, size = int(self.pool.starts[query]), int(self.pool.sizes[query])
        rows = slice(start, start + size)
        return make_lines(self.x[rows], self.y[rows], self.key[rows])


def weight_path(
    runs: Any,
    qrels: Any = None,
    *,
    method: str = "rrf",
    metrics: Any = ("ndcg@10",),
    of: str | None = None,
    weights: Any = None,
    k: float = 60,
    normalize: Any = None,
    missing: Any = None,
    minimum: Any = None,
    top_k: int | None = 10,
    over: Any = "judged",
) -> pd.DataFrame:
    """Find every weight in (0, 1) at which a result changes, with each metric between: no grid inside.

    With fixed ranks or normalised scores a unit's fused score ``w x + (1 - w) y`` is a line in w, so the
    order changes only where two lines cross. The ranks of judged units are step functions of w, and so is
    every metric that reads them.

    Parameters
    ----------
    runs : dict of str to run
        Two or more runs, as in :func:`ragkit.fuse`.
    qrels : judgements, optional
        For `metrics`; without them the path holds the lists alone.
    method : str, default="rrf"
        A method whose score is linear in the weights: all but ``max, min, median, condorcet``.
    metrics : str or list of str, default=("ndcg@10",)
        Names that :func:`ragkit.evaluate` knows and that read judgements.
    of : str, optional
        The run whose weight is w, the first by default; the others share 1 - w.
    weights : dict of str to float, optional
        How the others share it, for three runs and more; equally by default.
    k, normalize, missing, minimum
        As in :func:`ragkit.fuse`.
    top_k : int or None, default=10
        How many ``unit_ids`` are looked at; None is all.
    over : {"judged", "relevant", "retrieved"}, or query ids, default="judged"
        Which queries count, as in :func:`ragkit.evaluate`: a judged query that no run answers has one
        interval, an empty list, and counts 0.

    Returns
    -------
    DataFrame
        A path, ``query_id, weight_from, weight_to, unit_ids`` and one column per metric: one row per
        interval in which neither the list nor a metric changes. A query's intervals tile (0, 1); at 0 and 1
        themselves a run leaves, as in :func:`ragkit.fuse`. Queries of the runs that do not count have NaN.
        At every weight the mean over the others is that of :func:`ragkit.evaluate` on the fused run.

    Raises
    ------
    ValueError
        If the method is not linear in the weights, or a metric does not read judgements.

    Warns
    -----
    RetrievalWarning
        If none of the runs' queries is judged.

    See Also
    --------
    best_weight : The optimum of the mean, and how far around it hardly matters.
    flip : The smallest change that lifts one unit above another.

    Examples
    --------
    a passes c where ``w / 61 > (1 - w) / 62``, and b where ``w / 61 > w / 62 + (1 - w) / 61``.

    >>> runs = {"keyword": {"q": ["a", "b"]}, "vector": {"q": ["b", "c"]}}
    >>> path = weight_path(runs, {"q": {"b": 1}}, metrics="rr")
    >>> path.round(4).values.tolist()  # doctest: +NORMALIZE_WHITESPACE
    [['q', 0.0, 0.4959, ('b', 'c', 'a'), 1.0], ['q', 0.4959, 0.9841, ('b', 'a', 'c'), 1.0],
     ['q', 0.9841, 1.0, ('a', 'b', 'c'), 0.5]]
    """
    parts = make_parts(runs, method=method, k=k, normalize=normalize, missing=missing, minimum=minimum)
    top_k = check_top_k(top_k)
    parsed = [] if qrels is None else parse_metrics(metrics)
    judged = None
    if parsed:
        parts, judged = judge(parts, qrels, parsed, over)
    return path_of(parts.axis(of, weights), judged, parsed, top_k)


def path_of(axis: Axis, judged: Judgements | None, parsed: list[Metric], top_k: int | None) -> pd.DataFrame:
    """Walk the axis of every query."""
    depth = _depth(parsed)
    pieces = [
        _query_path(axis.lines(query), top_k, None if judged is None else judged.of(query), depth)
        for query in range(len(axis.pool.sizes))
    ]
    return _path_frame(axis, pieces, judged, parsed)


class Parts(NamedTuple):
    """What each run adds to each slot, with weight 1."""

    pool: Pool
    by_run: dict[str, np.ndarray]

    @property
    def query_ids(self) -> np.ndarray:
        """Ids of the queries."""
        return id_array(pd.Series(self.pool.query_ids))

    def asked(self, queries: pd.Index) -> Parts:
        """Add those queries that no run answers: they have no slots."""
        more = queries[~queries.isin(self.query_ids)].to_numpy(dtype=object)
        ids, sizes = (np.r_[self.query_ids, more], np.r_[self.pool.sizes, np.zeros(len(more), np.int64)])
        return self._replace(pool=replace(self.pool, query_ids=ids, sizes=sizes)) if len(more) else self

    def axis(self, of: str | None, weights: Any) -> Axis:
        """Let one weight move, and the others share what it leaves."""
        names = list(self.by_run)
        of = names[0] if of is None else check_choice("run", of, names)
        rest = [name for name in names if name != of]
        shares = _shares(weights, rest)
        y = sum(shares.get(name, 0.0) * self.by_run[name] for name in rest)
        # Rounded as scores are when they are compared, or noise in the last digit would cross at random.
        ends = [round_significant(np.asarray(end, dtype=np.float64)) for end in (self.by_run[of], y)]
        return Axis(self.pool, ends[0], ends[1], of, self.pool.unit_order(self.pool.units))


def make_parts(runs: Any, *, method: Any, k: Any, normalize: Any, missing: Any, minimum: Any) -> Parts:
    """Fuse with a method that is linear in the weights, and keep what each run adds."""
    named = named_runs(runs)
    names = list(named)
    if len(names) < 2:
        raise ValueError(f"the weight axis needs two runs or more; got {names}.")
    check_choice("method that is linear in the weights", method, LINEAR)
    plan = make_plan(
        names, method=method, weights=None, k=k, normalize=normalize, missing=missing, minimum=minimum
    )
    pool = align(named)
    return Parts(pool, dict(zip(names, contributions(pool, plan))))


def _shares(weights: Any, rest: Sequence[str]) -> dict[str, float]:
    """Let the other runs share what the one leaves."""
    if weights is not None and hasattr(weights, "keys"):
        weights = {name: w for name, w in weights.items() if name in rest}
    given = check_weights(weights, rest)
    total = sum(given.values())
    return {name: w / total for name, w in given.items()}


# --- metrics along the axis -----------------------------------------------------------------------------


class Judgements(NamedTuple):
    """Judged units by query of the pool."""

    bounds: np.ndarray  # rows of a query: bounds[q] to bounds[q + 1]
    slot: np.ndarray  # from the query's first slot; -1 where no run has the unit
    grade: np.ndarray
    known: np.ndarray  # whether a query counts

    def of(self, query: int) -> np.ndarray:
        """Slots of one query's judged units."""
        return self.slot[self.bounds[query] : self.bounds[query + 1]]


def judge(parts: Parts, qrels: Any, metrics: list[Metric], over: Any) -> tuple[Parts, Judgements]:
    """Find the judged units among what the runs hold; the queries are those that `evaluate` scores."""
    wrong = [m.label for m in metrics if m.reads != "judgements"]
    if wrong:
        raise ValueError(
            f"weight_path takes metrics that read judgements alone; {wrong} read something else. "
            "Evaluate fused runs with evaluate() for those."
        )
    if parts.pool.unit == "chunk_id":
        raise ValueError(
            "weight_path compares documents with qrels, but these runs hold chunks; use best_per_doc on each "
            "run first, or leave qrels out."
        )
    coded = code_judgements(as_qrels(qrels), pd.Index(parts.query_ids), over)
    if len(parts.query_ids) and not coded.judged.isin(parts.query_ids).any():
        warn(
            f"no query_id of the runs ({some(parts.query_ids, 2)}) is in qrels ({some(coded.judged, 2)}), so "
            "none of their results counts. Search with the ids of the queries, not only their texts."
        )
    parts = parts.asked(coded.queries)
    return parts, _match(parts.pool, coded, pd.Index(parts.query_ids).get_indexer(coded.queries), metrics)


def _match(pool: Pool, coded: Any, at: np.ndarray, metrics: list[Metric]) -> Judgements:
    """Find the slots of judged units; `at` is where the judged queries stand in the pool."""
    known = np.zeros(len(pool.sizes), dtype=bool)
    known[at] = True
    keep = np.ones(len(coded.grade), dtype=bool)
    if not any(metric.counts_all for metric in metrics):
        keep = coded.grade > 0
    query, grade = at[coded.query[keep]], coded.grade[keep]
    unit = pd.Index(id_array(pd.Series(pool.unit_ids))).get_indexer(coded.docs)[coded.doc[keep]]
    n_units = max(len(pool.unit_ids), 1)
    slots = pd.Index(pool.query * n_units + pool.units)
    slot = np.where(unit >= 0, slots.get_indexer(query * n_units + unit), -1)
    order = np.argsort(query, kind="stable")
    bounds = np.r_[0, np.cumsum(np.bincount(query, minlength=len(pool.sizes)))]
    local = np.where(slot >= 0, slot - pool.starts[query], -1)
    return Judgements(bounds, local[order], grade[order], known)


def _depth(metrics: list[Metric]) -> int | None:
    """Give the deepest rank that any metric can tell from the next; None for all."""
    depths = [metric.depth for metric in metrics]
    return None if None in depths else max((depth or 0 for depth in depths), default=0)


class _Piece(NamedTuple):
    """The path of one query, before metrics."""

    edges: np.ndarray  # m - 1 weights inside (0, 1)
    lists: np.ndarray  # (m, k) slots
    ranks: np.ndarray | None  # (m, r) ranks of the judged units; 0 for those that no run has


def _query_path(lines: Lines, top_k: int | None, judged: np.ndarray | None, depth: int | None) -> _Piece:
    edges, lists = list_changes(lines, top_k)
    lists = lines.slot[lists]
    if judged is None:
        return _Piece(edges, lists, None)
    found = np.flatnonzero(judged >= 0)
    place = np.empty(len(lines.slot), dtype=np.int64)
    place[lines.slot] = np.arange(len(lines.slot))
    rank_edges, found_ranks = rank_changes(lines, place[judged[found]], depth)
    both = np.union1d(edges, rank_edges)
    if len(both):
        both = both[np.r_[True, np.diff(both) > 1e-12]]
    starts = np.r_[0.0, both + 1e-12]
    ranks = np.zeros((len(starts), len(judged)), dtype=np.int64)
    ranks[:, found] = found_ranks[np.searchsorted(rank_edges, starts)]
    return _Piece(both, lists[np.searchsorted(edges, starts)], ranks)


def _path_frame(
    axis: Axis, pieces: list[_Piece], judged: Judgements | None, metrics: list[Metric]
) -> pd.DataFrame:
    """Score every interval, and merge neighbours between which nothing changes."""
    pool = axis.pool
    counts = np.array([len(p.lists) for p in pieces], dtype=np.int64)
    query = np.repeat(np.arange(len(pieces)), counts)
    low = np.concatenate([np.r_[0.0, p.edges] for p in pieces]) if pieces else np.empty(0)
    high = np.concatenate([np.r_[p.edges, 1.0] for p in pieces]) if pieces else np.empty(0)
    values = np.empty((len(query), 0))
    if judged is not None:
        values = _score(pieces, judged, metrics, counts, pool.sizes)
    new = np.ones(len(query), dtype=bool)
    same_list = np.concatenate(
        [np.r_[False, (p.lists[1:] == p.lists[:-1]).all(axis=1)] for p in pieces] or [new[:0]]
    )
    steady = (np.abs(values[1:] - values[:-1]) <= 1e-12) | (np.isnan(values[1:]) & np.isnan(values[:-1]))
    new[1:] = ~(same_list[1:] & steady.all(axis=1))
    rows = np.flatnonzero(new)
    ends = np.r_[rows[1:], len(query)][: len(rows)] - 1
    ids = id_array(pd.Series(pool.unit_ids))[pool.units]
    lists = _tuples(pieces, pool.starts, ids, new, counts)
    out: dict[str, Any] = {
        "query_id": pd.Series(id_array(pd.Series(pool.query_ids))[query[rows]], dtype="str"),
        "weight_from": low[rows],
        "weight_to": high[ends],
        "unit_ids": pd.Series(lists, dtype=object),
    }
    frame = pd.DataFrame(out | {m.label: values[rows, n] for n, m in enumerate(metrics)})
    frame.attrs["weight_of"] = axis.of
    return frame


def _tuples(
    pieces: list[_Piece], starts: np.ndarray, ids: np.ndarray, new: np.ndarray, counts: np.ndarray
) -> list[tuple[str, ...]]:
    out: list[tuple[str, ...]] = []
    for piece, start, end, n in zip(pieces, starts, np.cumsum(counts), counts):
        wanted = piece.lists[new[end - n : end]] + start
        out.extend(map(tuple, ids[wanted].tolist()))
    return out


def _score(
    pieces: list[_Piece], judged: Judgements, metrics: list[Metric], counts: np.ndarray, sizes: np.ndarray
) -> np.ndarray:
    """Compute every metric for every interval of every query, as if each were a query of its own."""
    first = np.cumsum(counts) - counts
    interval, grade, rank = [], [], []
    for number, piece in enumerate(pieces):
        if piece.ranks is None or not piece.ranks.size:
            continue
        m, r = piece.ranks.shape
        own = judged.grade[judged.bounds[number] : judged.bounds[number + 1]]
        order = np.argsort(np.where(piece.ranks > 0, piece.ranks, np.iinfo(np.int64).max), axis=1)
        interval.append(np.repeat(first[number] + np.arange(m), r))
        rank.append(np.take_along_axis(piece.ranks, order, axis=1).ravel())
        grade.append(own[order].ravel())
    none = np.empty(0, dtype=np.int64)
    data = Judged(
        query=np.concatenate(interval or [none]),
        grade=np.concatenate(grade or [none]),
        rank=np.concatenate(rank or [none]),
        retrieved=np.repeat(sizes, counts),
        max_grade=int(judged.grade.max(initial=0)),
    )
    values = np.column_stack([metric.compute(data) for metric in metrics])
    values[~np.repeat(judged.known, counts)] = np.nan
    return values
