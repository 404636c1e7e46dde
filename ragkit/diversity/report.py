"""Do I need diversity? Measured before anything is changed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from ragkit.diversity.mmr import check_lambda
from ragkit.diversity.path import Intervals, mmr_intervals, score_intervals
from ragkit.diversity.pool import Pool, check_depths, make_pool, warn_small_pool
from ragkit.frames import as_qrels, check_frame, check_number
from ragkit.similarity import normalize_rows


def diversity_report(
    run: Any,
    vectors: Any,
    qrels: Any = None,
    *,
    lambda_: float = 0.7,
    top_k: int | None = 10,
    fetch_k: int | None = None,
    scale: str | None = "minmax",
    relevance: str = "score",
    queries: Any = None,
    threshold: float = 0.9,
    metrics: Any = None,
) -> pd.DataFrame:
    """Measure whether a run's head repeats itself, what MMR would change, and what that costs.

    Parameters
    ----------
    run : DataFrame
        Any run, over documents or chunks.
    vectors : VectorStore, mapping of id to vector, or array_like of shape (n, d)
        The units' vectors, as in :func:`mmr`.
    qrels : DataFrame, optional
        Judgements: what MMR does to the metrics that you care about.
    lambda_ : float, default=0.7
        The MMR that is compared with the plain run.
    top_k : int or None, default=10
        The head that is looked at.
    fetch_k : int or None, default=None
        How many of the run's best are the pool; None is the whole run.
    scale, relevance, queries
        As in :func:`mmr`.
    threshold : float, default=0.9
        From this cosine on, two units are near-duplicates.
    metrics : str, callable or list of them, optional
        What :func:`ragkit.evaluate` takes; with qrels, nDCG at `top_k` by default, and subtopic recall
        where the judgements have subtopics.

    Returns
    -------
    DataFrame
        One row per query: ``query_id, top_k, pool`` (sizes), ``lambda_``; ``crowding, crowding_pool`` (share
        of near-duplicate pairs in the head and in the pool); ``diversity, diversity_pool`` (intra-list
        distance); ``first_change`` (below this lambda MMR selects another set than the plain head; NaN if
        it never does); ``replaced`` (units of the head that MMR at `lambda_` drops), ``diversity_mmr``,
        ``relevance_cost`` (fall of the mean scaled relevance); for each metric ``<metric>`` of the plain
        head and ``<metric>_mmr``.

    Raises
    ------
    ValueError
        For what :func:`mmr` refuses.

    Warns
    -----
    RetrievalWarning
        If the pool is no larger than `top_k`: then MMR can only reorder it.

    See Also
    --------
    describe : The report in two sentences.
    mmr_path : All selections of MMR.

    Examples
    --------
    >>> run = pd.DataFrame({"query_id": "q", "doc_id": ["a", "copy", "other"], "score": [1.0, 0.9, 0.5]})
    >>> vectors = {"a": [1, 0], "copy": [1, 0], "other": [0, 1]}
    >>> report = diversity_report(run, vectors, top_k=2, lambda_=0.5)
    >>> report[["crowding", "diversity", "first_change", "diversity_mmr"]].round(3).values.tolist()
    [[1.0, 0.0, 0.556, 1.0]]
    """
    lambda_, threshold = check_lambda(lambda_), check_number("threshold", threshold, low=-1, high=1)
    top_k, fetch_k = check_depths(top_k, fetch_k)
    pool = make_pool(
        run, vectors, top_k=top_k, fetch_k=fetch_k, scale=scale, relevance=relevance, queries=queries
    )
    warn_small_pool(pool, top_k, "diversity_report")
    paths = list(_plain_and_mmr(pool, top_k, lambda_))
    rows = [_row(rel, X, found, threshold) for (_, rel, X), (_, found, _) in zip(pool.queries(), paths)]
    report = pd.DataFrame(rows, columns=list(_COLUMNS)).astype(_COLUMNS)
    report.insert(0, "query_id", pool.frame["query_id"].array.take(pool.starts[:-1]))
    report.insert(3, "lambda_", lambda_)
    report["first_change"] = np.array([change for _, _, change in paths], dtype=np.float64)
    names = _metrics(metrics, qrels, top_k)
    if not names:
        return report
    both = [(first, found) for first, found, _ in paths]
    for name, values in score_intervals(pool, both, qrels, names).items():
        report[name], report[f"{name}_mmr"] = values[::2], values[1::2]
    return report


#: Columns of the report, in order; ``query_id``, ``lambda_`` and metrics are put in later.
_COLUMNS = {
    "top_k": np.int64,
    "pool": np.int64,
    "crowding": np.float64,
    "crowding_pool": np.float64,
    "diversity": np.float64,
    "diversity_pool": np.float64,
    "first_change": np.float64,
    "replaced": np.int64,
    "diversity_mmr": np.float64,
    "relevance_cost": np.float64,
}


def _plain_and_mmr(pool: Pool, top_k: int | None, lambda_: float) -> Iterator[tuple[int, Intervals, float]]:
    """Give each query's first row, two selections (plain, MMR at lambda), and where MMR first differs."""
    for first, rel, X in pool.queries():
        found = mmr_intervals(rel, X, top_k, pool.tolerance)
        k = found.picks.shape[1]
        plain = np.arange(k)
        other = (np.sort(found.picks, axis=1) != plain).any(axis=1)
        change = float(found.edges[1:][other].max()) if other.any() else np.nan
        at = min(int(np.searchsorted(found.edges, lambda_, side="right")) - 1, len(found.picks) - 1)
        yield (
            first,
            Intervals(np.array([0.0, 1.0, 1.0]), np.array([plain, found.picks[at]]), found.diversity),
            change,
        )


def _row(rel: np.ndarray, V: np.ndarray, found: Intervals, threshold: float) -> list[float]:
    """Measure one query."""
    X = normalize_rows(V.astype(np.float64))
    plain, picked = found.picks
    crowding, diversity = _crowding_and_distance(X[plain], threshold)
    crowding_pool, diversity_pool = _crowding_and_distance(X, threshold)
    cost = float(rel[plain].mean() - rel[picked].mean()) if len(plain) else 0.0
    return [
        len(plain), len(rel), crowding, crowding_pool, diversity, diversity_pool, np.nan,
        len(np.setdiff1d(plain, picked)), _crowding_and_distance(X[picked], threshold)[1], cost,
    ]  # fmt: skip


def _crowding_and_distance(X: np.ndarray, threshold: float) -> tuple[float, float]:
    """Share of pairs whose cosine reaches the threshold, and mean of 1 - cosine; 0 without a pair."""
    n = len(X)
    if n < 2:
        return 0.0, 0.0
    crowded, total = 0, 0.0
    for first in range(0, n, 512):
        S = np.clip(X[first : first + 512] @ X.T, -1.0, 1.0)
        later = np.arange(n) > np.arange(first, first + len(S))[:, None]
        crowded += int(((threshold - 1e-12 <= S) & later).sum())
        total += float(S[later].sum())
    pairs = n * (n - 1) / 2
    return crowded / pairs, 1.0 - total / pairs


def _metrics(metrics: Any, qrels: Any, top_k: int | None) -> list[Any]:
    """List the metrics: those given, else nDCG and, with subtopics, subtopic recall."""
    if metrics is not None:
        return [metrics] if isinstance(metrics, str) or callable(metrics) else list(metrics)
    if qrels is None or top_k == 0:
        return []
    cut = "" if top_k is None else f"@{top_k}"
    subtopics = "subtopic" in as_qrels(qrels).columns
    return [f"ndcg{cut}", *([f"subtopic_recall{cut}"] if subtopics else [])]


def describe(report: pd.DataFrame) -> str:
    """Put a diversity report into two sentences: how crowded the head is, and what MMR would do.

    Parameters
    ----------
    report : DataFrame
        What :func:`diversity_report` returns; rows may be selected before.

    Returns
    -------
    str
        Two sentences, over the mean of the queries.

    Raises
    ------
    ValueError
        If `report` is no diversity report.

    See Also
    --------
    diversity_report : The numbers behind it.

    Examples
    --------
    >>> run = pd.DataFrame({"query_id": "q", "doc_id": ["a", "copy", "other"], "score": [1.0, 0.9, 0.5]})
    >>> vectors = {"a": [1, 0], "copy": [1, 0], "other": [0, 1]}
    >>> text = describe(diversity_report(run, vectors, top_k=2, lambda_=0.5))
    >>> text.split(": ")[0]
    'The top 2 repeats itself'
    """
    if isinstance(report, pd.DataFrame) and not {"lambda_", *_COLUMNS} <= {*report.columns}:
        raise ValueError(
            "report must be what diversity_report returns; got a frame with the columns "
            f"{list(report.columns)}. Call describe(diversity_report(run, vectors))."
        )
    check_frame(report, ["query_id"], "report")
    if not len(report):
        return "The report holds no query, so there is nothing to diversify. Search first, then ask again."
    if report["top_k"].max() < 2:
        return "A head of fewer than two results has no pair to compare. Ask for a larger top_k."
    mean = report.drop(columns="query_id").mean(numeric_only=True)
    return f"{_on_crowding(report, mean)} {_on_mmr(report, mean)}"


def _on_crowding(report: pd.DataFrame, mean: pd.Series) -> str:
    crowded, pool = mean["crowding"], mean["crowding_pool"]
    if crowded == 0:
        verdict = "does not repeat itself"
    elif crowded >= 0.05:
        verdict = "repeats itself"
    else:
        verdict = "hardly repeats itself"
    over = "" if len(report) == 1 else f" (means over {len(report)} queries)"
    return (
        f"The top {_whole(report['top_k'])} {verdict}: {crowded:.1%} of its pairs are near-duplicates, "
        f"against {pool:.1%} in the pool of {_whole(report['pool'])}, and its diversity is "
        f"{mean['diversity']:.2f}, against {mean['diversity_pool']:.2f}{over}."
    )


def _on_mmr(report: pd.DataFrame, mean: pd.Series) -> str:
    if report["first_change"].isna().all():
        return "MMR would select the same units at every lambda, so it can only reorder them."
    start = report["first_change"].max()
    pairs = [name for name in report.columns if f"{name}_mmr" in report.columns and name != "diversity"]
    measured = [name for name in pairs if not np.isnan(mean[name])]  # NaN: no query has judgements
    told = "".join(f", {name} from {mean[name]:.3f} to {mean[f'{name}_mmr']:.3f}" for name in measured)
    return (
        f"MMR begins to change the selection below lambda {start:.2f}; at {mean['lambda_']:g} it replaces "
        f"{mean['replaced']:.1f} of {_whole(report['top_k'])}: diversity goes from {mean['diversity']:.2f} "
        f"to {mean['diversity_mmr']:.2f}{told}, at the cost of {_cost(mean['relevance_cost'])} of mean "
        "relevance."
    )


def _cost(fall: float) -> str:
    """Write a fall of relevance; one too small to be shown is not called nothing."""
    return "less than 0.01" if 0 < fall < 0.005 else f"{fall:.2f}"


def _whole(sizes: pd.Series) -> str:
    """Write a size, or the range of several."""
    low, high = int(sizes.min()), int(sizes.max())
    return str(low) if low == high else f"{low} to {high}"
