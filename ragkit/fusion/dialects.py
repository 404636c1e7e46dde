"""Dialects: what other engines compute under the same names, as named options of ``fuse``.

The functions below are written in plain Python on purpose: in this form their sums are rounded as the
engines round theirs, so that recorded scores are reproduced bit for bit.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ragkit.frames import check_choice, check_top_k, unit_column
from ragkit.fusion.align import named_runs
from ragkit.fusion.fuse import fuse

_Lists = list[list[tuple[int, float]]]


class _Dialect(NamedTuple):
    options: dict[str, Any]
    computes: str
    defaults: str
    odd: str
    checked: str = "recorded"


def _lists(scores: np.ndarray, ranks: np.ndarray) -> _Lists:
    """Give each run's hits as (row, score), by rank."""
    out: _Lists = []
    for run in range(scores.shape[1]):
        rows = [int(row) for row in np.argsort(ranks[:, run], kind="stable") if not np.isnan(ranks[row, run])]
        out.append([(row, float(scores[row, run])) for row in rows])
    return out


def _shares(weights: np.ndarray) -> list[float]:
    given = [float(w) for w in weights]
    total = sum(given)
    return [w / total for w in given]


def llamaindex_rrf(scores: np.ndarray, ranks: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Sum 1 / (60 + rank - 1); the weights are not looked at."""
    parts = np.zeros(scores.shape)
    for run, hits in enumerate(_lists(scores, ranks)):
        for place, (row, _) in enumerate(hits):
            parts[row, run] = 1.0 / (place + 60.0)
    return parts


def _llamaindex_scaled(scores: np.ndarray, ranks: np.ndarray, weights: np.ndarray, by_spread: bool) -> Any:
    parts = np.zeros(scores.shape)
    for run, (hits, share) in enumerate(zip(_lists(scores, ranks), _shares(weights))):
        values = [score for _, score in hits]
        if not values:
            continue
        low, high = min(values), max(values)
        if by_spread:
            mean = sum(values) / len(values)
            sigma = (sum((x - mean) ** 2 for x in values) / len(values)) ** 0.5
            low, high = mean - 3 * sigma, mean + 3 * sigma
        for row, score in hits:
            flat = 1.0 if high > 0 else 0.0
            parts[row, run] = (flat if high == low else (score - low) / (high - low)) * share
    return parts


def llamaindex_relative(scores: np.ndarray, ranks: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Sum min-max scores by shares of the weights; equal scores give 1, or 0 where they are not positive."""
    return _llamaindex_scaled(scores, ranks, weights, by_spread=False)


def llamaindex_dbsf(scores: np.ndarray, ranks: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Do the same between mean - 3 and mean + 3 population deviations."""
    return _llamaindex_scaled(scores, ranks, weights, by_spread=True)


def haystack_rrf(scores: np.ndarray, ranks: np.ndarray, weights: np.ndarray) -> Any:
    """Sum 61 w / (60 + rank) with weights that sum to 1, so that first everywhere is 1."""
    n, k = scores.shape[1], 61
    parts, total = np.zeros(scores.shape), [0.0] * len(scores)
    for run, (hits, share) in enumerate(zip(_lists(scores, ranks), _shares(weights))):
        for place, (row, _) in enumerate(hits):
            part = (share * n) / (k + place)
            parts[row, run] = part / (n / k)
            total[row] += part
    return np.array([score / (n / k) for score in total]), parts


def haystack_dbsf(scores: np.ndarray, ranks: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Take the highest rescaled score of any list; a list of equal scores keeps its raw ones."""
    best: list[tuple[float, int] | None] = [None] * len(scores)
    for run, hits in enumerate(_lists(scores, ranks)):
        values = [score for _, score in hits]
        mean = sum(values) / len(values) if values else 0.0
        sigma = (sum((x - mean) ** 2 for x in values) / len(values)) ** 0.5 if values else 0.0
        low = mean - 3 * sigma
        delta = (mean + 3 * sigma) - low
        for row, score in hits:
            value = (score - low) / delta if min(values) != max(values) and delta != 0.0 else score
            held = best[row]
            if held is None or value > held[0]:
                best[row] = (value, run)
    parts = np.zeros(scores.shape)
    for row, held in enumerate(best):
        if held is not None:
            parts[row, held[1]] = held[0]
    return parts


def qdrant_rrf(scores: np.ndarray, ranks: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Sum 1 / (rank / w + 1): k is 2, and the weight divides the rank."""
    parts = np.zeros(scores.shape)
    for run, hits in enumerate(_lists(scores, ranks)):
        for place, (row, _) in enumerate(hits):
            parts[row, run] = 1 / ((place + 1.0) / float(weights[run]) + 2 - 1.0)
    return parts


def qdrant_dbsf(scores: np.ndarray, ranks: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Sum scores between mean - 3 and mean + 3 sample deviations; flat lists give 0.5; no weights."""
    parts = np.zeros(scores.shape)
    for run, hits in enumerate(_lists(scores, ranks)):
        values = [score for _, score in hits]
        mean = sum(values) / len(values) if values else 0.0
        variance = sum([(x - mean) ** 2 for x in values]) / (len(values) - 1) if len(values) > 1 else 0.0
        sigma = variance**0.5
        low, high = mean - 3 * sigma, mean + 3 * sigma
        for row, score in hits:
            parts[row, run] = 0.5 if variance == 0 else (score - low) / (high - low)
    return parts


def ranx_minmax(scores: np.ndarray) -> np.ndarray:
    """Min-max over a range of at least 1e-9: a lone hit and equal scores become 0."""
    return (scores - scores.min()) / max(scores.max() - scores.min(), 1e-9)


def ranx_max(scores: np.ndarray) -> np.ndarray:
    """Divide by the best score, or by 1e-9."""
    return scores / max(scores.max(), 1e-9)


def ranx_sum(scores: np.ndarray) -> np.ndarray:
    """Subtract the least score and divide by what is left in all, or by 1e-9."""
    total = sum(scores.tolist()) - scores.min() * len(scores)
    return (scores - scores.min()) / max(total, 1e-9)


def ranx_zmuv(scores: np.ndarray) -> np.ndarray:
    """Subtract the mean and divide by the population deviation, or by 1e-9."""
    values = scores.tolist()
    mean = sum(values) / len(values)
    sigma = (sum((x - mean) * (x - mean) for x in values) / len(values)) ** 0.5
    return (scores - mean) / max(sigma, 1e-9)


def ranx_rank(scores: np.ndarray) -> np.ndarray:
    """Fall evenly from 1 by rank."""
    return 1 - np.arange(len(scores)) / len(scores)


def ranx_borda(scores: np.ndarray, ranks: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Fall evenly from 1 over the union; what a run lacks gets the mean of what is left."""
    parts, c = np.zeros(scores.shape), len(scores)
    for run, hits in enumerate(_lists(scores, ranks)):
        parts[:, run] = float(weights[run]) * (0.5 - ((len(hits) - 1) / (2 * c)))
        for place, (row, _) in enumerate(hits):
            parts[row, run] = float(weights[run]) * (1 - (place / c))
    return parts


def opensearch_mean(scores: np.ndarray, ranks: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Average min-max scores by weight; a lone hit is 1, the last hit 0.001, a missing one 0."""
    parts, shares = np.zeros(scores.shape), _shares(weights)
    for run, hits in enumerate(_lists(scores, ranks)):
        values = [score for _, score in hits]
        for row, score in hits:
            low, high = min(values), max(values)
            value = 1.0 if high == low else (score - low) / (high - low)
            parts[row, run] = shares[run] * (value or 0.001)
    return parts


_RRF60 = {"method": "rrf", "k": 60}
_MINMAX = {"method": "linear", "normalize": "minmax", "missing": "zero"}


def _ranx(normaliser: Callable, name: str, odd: str) -> _Dialect:
    options = {"method": "linear", "normalize": normaliser, "missing": "zero"}
    return _Dialect(options, f"sum of w * s, {name} normalised", "weights 1", odd)


_DIALECTS: dict[str, _Dialect] = {
    "elasticsearch": _Dialect(
        _RRF60, "sum of w / (k + rank)", "k=60, weights 1", "weights since 9.2", "documented"
    ),
    "elasticsearch-linear": _Dialect(
        _MINMAX, "sum of w * min-max", "weights 1, normalizer none", "minmax must be asked for", "documented"
    ),
    "haystack": _Dialect(
        {"method": haystack_rrf}, "61 * sum of w / (60 + rank)", "weights 1/n",
        "weights are rescaled to sum to 1; first everywhere scores 1",
    ),
    "haystack-dbsf": _Dialect(
        {"method": haystack_dbsf}, "highest of (s - (m - 3d)) / 6d", "population deviation",
        "a maximum, not a sum; weights ignored; a list of equal scores keeps its raw scores",
    ),
    "langchain": _Dialect(
        _RRF60, "sum of w / (k + rank)", "c=60, weights 1/n", "gives no scores; merges by text"
    ),
    "llamaindex": _Dialect(
        {"method": llamaindex_rrf}, "sum of 1 / (59 + rank)", "k=60, ranks from 0", "weights are ignored"
    ),
    "llamaindex-dbsf": _Dialect(
        {"method": llamaindex_dbsf}, "sum of w (s - (m - 3d)) / 6d", "population deviation, weights 1/n",
        "equal scores become 1, or 0 where they are not positive",
    ),
    "llamaindex-relative": _Dialect(
        {"method": llamaindex_relative}, "sum of w * min-max", "weights 1/n",
        "divides by the number of generated queries; equal scores become 1, or 0 where they are not positive",
    ),
    "mongodb": _Dialect(_RRF60, "sum of w / (60 + rank)", "weights 1", "k cannot be changed", "documented"),
    "opensearch": _Dialect(
        {"method": opensearch_mean}, "weighted mean of min-max, 0 as 0.001", "equal weights",
        "the last hit gets 0.001 instead of 0", "documented",
    ),
    "qdrant": _Dialect(
        {"method": qdrant_rrf}, "sum of 1 / (rank / w + k - 1)", "k=2, weights 1",
        "the weight divides the rank; one first place beats any agreement below rank 2",
    ),
    "qdrant-dbsf": _Dialect(
        {"method": qdrant_dbsf}, "sum of (s - (m - 3d)) / 6d", "sample deviation",
        "no weights; flat lists get 0.5",
    ),
    "ranx": _ranx(ranx_minmax, "min-max", "a lone hit becomes 0, as if it had not been found"),
    "ranx-borda": _Dialect(
        {"method": ranx_borda}, "sum of w * s, Borda normalised", "weights 1", "what a run lacks is not 0"
    ),
    "ranx-max": _ranx(ranx_max, "max", "scores of 0 and less are divided by 1e-9"),
    "ranx-rank": _ranx(ranx_rank, "rank", "the last hit is worth 1/n, a missing one 0"),
    "ranx-rrf": _Dialect(_RRF60, "sum of 1 / (k + rank)", "k=60", "no weights"),
    "ranx-sum": _ranx(ranx_sum, "sum", "a lone hit becomes 0"),
    "ranx-zmuv": _ranx(ranx_zmuv, "z-score", "a missing document counts as the mean, above half of the hits"),
    "weaviate": _Dialect(
        _MINMAX, "alpha * vector + (1 - alpha) * keyword, min-max each", "alpha=0.75",
        "alpha is the vector side's weight", "documented",
    ),
    "weaviate-ranked": _Dialect(
        _RRF60, "sum of w / (60 + rank)", "alpha=0.75", "the default until 1.24", "documented"
    ),
}  # fmt: skip


def dialect(engine: str) -> dict[str, Any]:
    """Name the options of ``fuse`` under which it computes what another engine does.

    Parameters
    ----------
    engine : str
        A name that :func:`dialects` lists, such as ``"haystack"`` or ``"qdrant-dbsf"``.

    Returns
    -------
    dict
        Keyword arguments for :func:`ragkit.fuse`; ``weights`` can be given beside them.

    Raises
    ------
    ValueError
        If the engine is unknown; the message lists what there is.

    See Also
    --------
    compare_dialects : Where they disagree on given runs.

    Examples
    --------
    First in one list beats fourth in both with Qdrant's k of 2, and loses with the paper's 60.

    >>> runs = {"a": {"q": ["x", "o", "p", "both"]}, "b": {"q": ["y", "r", "s", "both"]}}
    >>> fuse(runs, **dialect("qdrant"))["doc_id"].tolist()[:2]
    ['y', 'x']
    >>> fuse(runs, **dialect("elasticsearch"))["doc_id"].tolist()[0]
    'both'
    """
    return dict(_DIALECTS[check_choice("dialect", engine, _DIALECTS)].options)


def dialects() -> pd.DataFrame:
    """List the dialects: what each computes, its defaults, and what is odd about it.

    Returns
    -------
    DataFrame
        ``engine, computes, defaults, odd, checked``: ``recorded`` ones equal the engine's own package on
        recorded inputs, ``documented`` ones follow its documentation.

    See Also
    --------
    dialect : The options of one.

    Examples
    --------
    >>> dialects().set_index("engine").loc["llamaindex", "odd"]
    'weights are ignored'
    """
    rows = [(name, d.computes, d.defaults, d.odd, d.checked) for name, d in sorted(_DIALECTS.items())]
    return pd.DataFrame(rows, columns=["engine", "computes", "defaults", "odd", "checked"])


def compare_dialects(
    runs: Any, *, engines: Any = None, weights: Any = None, top_k: int | None = 10
) -> pd.DataFrame:
    """Fuse the same runs in every dialect, and measure how far the results agree.

    Parameters
    ----------
    runs : dict of str to run
        As in :func:`ragkit.fuse`.
    engines : list of str, optional
        Which dialects; all by default.
    weights : dict or sequence of float, optional
        As in :func:`ragkit.fuse`.
    top_k : int or None, default=10
        How deep is compared.

    Returns
    -------
    DataFrame
        ``query_id, engine, first, unit_ids, overlap``: for each query and dialect the first unit, the first
        `top_k`, and the mean share of them that the other dialects also have.

    See Also
    --------
    dialects : What they compute.

    Examples
    --------
    >>> runs = {"a": {"q": ["x", "o", "p", "both"]}, "b": {"q": ["y", "r", "s", "both"]}}
    >>> table = compare_dialects(runs, engines=["qdrant", "mongodb"], top_k=1)
    >>> table[["engine", "first", "overlap"]].values.tolist()
    [['qdrant', 'y', 0.0], ['mongodb', 'both', 0.0]]
    """
    top_k = check_top_k(top_k)
    chosen = list(_DIALECTS) if engines is None else [check_choice("dialect", e, _DIALECTS) for e in engines]
    named = named_runs(runs)
    lists: dict[str, dict[str, tuple[str, ...]]] = {}
    for engine in chosen:
        fused = fuse(named, weights=weights, top_k=top_k, **dialect(engine))
        unit = unit_column(fused)
        groups = fused.groupby("query_id", sort=False, observed=True)[unit]
        lists[engine] = {str(query): tuple(units) for query, units in groups}
    queries = list(dict.fromkeys(itertools.chain.from_iterable(lists.values())))
    rows = []
    for query in queries:
        for engine in chosen:
            mine = lists[engine].get(query, ())
            others = [set(lists[e].get(query, ())) for e in chosen if e != engine]
            shared = [len(set(mine) & other) / max(len(mine), len(other), 1) for other in others]
            rows.append((query, engine, mine[0] if mine else None, mine, np.mean(shared) if shared else 1.0))
    out = pd.DataFrame(rows, columns=["query_id", "engine", "first", "unit_ids", "overlap"])
    first = pd.Series(out["first"].tolist(), dtype="str")
    return out.assign(first=first).astype({"query_id": "str", "engine": "str", "overlap": "float64"})
