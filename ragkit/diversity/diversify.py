"""`diversify`: the other ways to a varied result, behind one door and with one kind of ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from ragkit.diversity.aspects import aspects_by_query
from ragkit.diversity.methods import collapse_rows, cover_order, dpp_order, msd_order, xquad_order
from ragkit.diversity.mmr import check_lambda, join, mmr
from ragkit.diversity.order import nearest_before
from ragkit.diversity.pool import (
    Pool,
    check_depths,
    make_pool,
    picked_frame,
    unit_names,
    warn_small_pool,
)
from ragkit.frames import as_docs, check_choice, check_number, some
from ragkit.similarity import normalize_rows
from ragkit.text import Tokenizer

#: What each method takes besides the common arguments, with its default.
_KNOBS: dict[str, dict[str, Any]] = {
    "mmr": {},
    "msd": {},
    "dpp": {},
    "cover": {"gamma": 0.5},
    "xquad": {"aspects": 5},
    "collapse": {"threshold": 0.9, "docs": None},
}
_SHINGLE = 3  # words


def diversify(
    run: Any,
    vectors: Any = None,
    *,
    method: str,
    lambda_: float = 0.5,
    top_k: int | None = 10,
    fetch_k: int | None = None,
    scale: str | None = "minmax",
    relevance: str = "score",
    queries: Any = None,
    gamma: float | None = None,
    aspects: Any = None,
    threshold: float | None = None,
    docs: Any = None,
    random_state: int = 0,
) -> pd.DataFrame:
    r"""Rerank a run for variety by any of six methods, each with its ledger.

    With rel the scaled relevance, S the picks so far and C the candidates, the next pick has the highest

    - ``"mmr"``: :math:`\lambda\,rel(d) - (1-\lambda) \max_{s \in S} \cos(d, s)`; see :func:`mmr`;
    - ``"msd"``, max-sum dispersion: :math:`\lambda\,rel(d) + (1-\lambda) \sum_{s \in S} (1 - \cos(d, s))`;
    - ``"dpp"``, greedy determinantal point process: :math:`w_d^2\,novelty(d)` with
      :math:`w = e^{\lambda z(rel)}`, novelty the part of d's vector that S does not span;
    - ``"cover"``, facility location: :math:`\lambda\,rel(d) + (1-\lambda) \sum_{c \in C}
      (cov_c + sim(c, d))^\gamma - cov_c^\gamma`, where cov is what S covers already (all pairs of the pool
      are held in memory: bound it with `fetch_k`);
    - ``"xquad"``, explicit aspects: :math:`\lambda\,rel(d) + (1-\lambda) \sum_i P(i|q) P(d|i)
      \prod_{s \in S} (1 - P(s|i))`;
    - ``"collapse"`` leaves out near-duplicates of better-ranked units and changes nothing else.

    Parameters
    ----------
    run : DataFrame
        Any run, over documents or chunks, of one query or many.
    vectors : VectorStore, mapping of id to vector, or array_like of shape (n, d), optional
        The units' vectors. ``"collapse"`` by `docs` and ``"xquad"`` by given probabilities do without.
    method : {"mmr", "msd", "dpp", "cover", "xquad", "collapse"}
        The method.
    lambda_ : float, default=0.5
        1 is relevance only, 0 is variety only; ``"collapse"`` does not read it.
    top_k, fetch_k, scale, relevance, queries
        As in :func:`mmr`.
    gamma : float, optional
        For ``"cover"``, in (0, 1], 0.5 by default: smaller values see less use in covering twice.
    aspects : int, mapping or DataFrame, optional
        For ``"xquad"``. A number of clusters of the pool (default 5); a mapping of query_id to the
        sub-queries' vectors, shape (m, d); a DataFrame of sub-queries, ``query_id, text`` (+ ``aspect``,
        ``weight``), that a VectorStore embeds; or one of probabilities, ``query_id, aspect, doc_id,
        probability`` (+ ``weight``), with ``chunk_id`` for chunks.
    threshold : float, optional
        For ``"collapse"``: from this similarity on, 0.9 by default, two units are near-duplicates.
    docs : documents, optional
        For ``"collapse"``: compare texts by their shared runs of three words (Jaccard), not by cosine.
    random_state : int, default=0
        Seed of the clusters of ``"xquad"``.

    Returns
    -------
    DataFrame
        A run. The ledger holds ``<method>_relevance`` and the method's own part of the score
        (``distance_sum``; ``dpp_weight, novelty``; ``coverage_gain``; ``aspect_gain, aspect``;
        ``collapsed, n_collapsed``), then, where vectors are given, ``max_similarity, nearest_selected``,
        and ``previous_rank, previous_score``. The parts give ``score`` by the formulas above.

    Raises
    ------
    ValueError
        For an unknown method, a knob that the method does not take, or what :func:`mmr` refuses.

    See Also
    --------
    mmr : Maximal marginal relevance.
    diversity_report : Is any of this needed?

    References
    ----------
    .. [1] Borodin, Lee, Ye. Max-sum diversification, monotone submodular functions and dynamic updates.
       PODS 2012.
    .. [2] Chen, Zhang, Zhou. Fast greedy MAP inference for determinantal point process to improve
       recommendation diversity. NeurIPS 2018.
    .. [3] Santos, Macdonald, Ounis. Exploiting query reformulations for web search result
       diversification. WWW 2010.

    Examples
    --------
    >>> run = pd.DataFrame({"query_id": "q", "doc_id": ["a", "copy", "other"], "score": [1.0, 0.9, 0.5]})
    >>> vectors = {"a": [1, 0], "copy": [1, 0], "other": [0, 1]}
    >>> diversify(run, vectors, method="msd", top_k=2)["doc_id"].tolist()
    ['a', 'other']
    >>> diversify(run, vectors, method="collapse")[["doc_id", "collapsed"]].values.tolist()
    [['a', ('copy',)], ['other', ()]]
    """
    check_choice("method", method, _KNOBS)
    given = {"gamma": gamma, "aspects": aspects, "threshold": threshold, "docs": docs}
    knobs = _knobs(method, given)
    lambda_ = check_lambda(lambda_)
    if method == "mmr":
        return mmr(
            run, vectors, lambda_=lambda_, top_k=top_k, fetch_k=fetch_k, scale=scale, relevance=relevance,
            queries=queries,
        )  # fmt: skip
    top_k, fetch_k = check_depths(top_k, fetch_k)
    pool = make_pool(
        run, _stand_in(method, vectors, knobs), top_k=top_k, fetch_k=fetch_k, scale=scale,
        relevance=relevance, queries=queries,
    )  # fmt: skip
    if method == "collapse":
        return _collapse(pool, knobs, top_k)
    picked = _greedy(pool, method, lambda_, top_k, knobs, vectors, random_state)
    if lambda_ < 1:
        warn_small_pool(pool, top_k, f"diversify with method={method!r}")
    return picked


def _knobs(method: str, given: dict[str, Any]) -> dict[str, Any]:
    """Check that the knobs given belong to the method, and fill in the defaults."""
    own = _KNOBS[method]
    strange = [name for name, value in given.items() if value is not None and name not in own]
    if strange:
        takes = f"it takes {sorted(own)}" if own else "it takes none of its own"
        raise ValueError(f"method {method!r} does not take {some(strange)}; {takes}.")
    knobs = {name: default if given[name] is None else given[name] for name, default in own.items()}
    if "gamma" in knobs:
        knobs["gamma"] = check_number("gamma", knobs["gamma"], low=0, high=1, open_low=True)
    if "threshold" in knobs:
        knobs["threshold"] = check_number("threshold", knobs["threshold"], low=-1, high=1)
    return knobs


class _NoVectors:
    """Stands in for vectors where a method reads none."""

    def vectors(self, ids: list[str]) -> np.ndarray:
        return np.zeros((len(ids), 0))


def _stand_in(method: str, vectors: Any, knobs: dict[str, Any]) -> Any:
    table = isinstance(knobs.get("aspects"), pd.DataFrame) and "probability" in knobs["aspects"].columns
    return _NoVectors() if vectors is None and (knobs.get("docs") is not None or table) else vectors


def _greedy(
    pool: Pool, method: str, lambda_: float, top_k: int | None, knobs: dict, vectors: Any, random_state: int
) -> pd.DataFrame:
    """Run a greedy method on each query and collect its picks."""
    find = aspects_by_query(pool, knobs["aspects"], vectors, random_state) if method == "xquad" else None
    rows, scores, parts, similarity, nearest = [], [], [], [], []
    for first, rel, V in pool.queries():
        X = normalize_rows(V.astype(np.float64))
        k = len(rel) if top_k is None else min(top_k, len(rel))
        slack = pool.tolerance * max(1.0, float(np.abs(rel).max()))
        if find is not None:
            P, weight, names = find(first, rel, X)
            picks, score, part = xquad_order(rel, P, weight, lambda_, k, slack)
            part["aspect"] = np.array([names[a] if a >= 0 else None for a in part["aspect"]], dtype=object)
        elif method == "cover":
            picks, score, part = cover_order(rel, X, lambda_, k, slack, knobs["gamma"])
        else:
            picks, score, part = (msd_order if method == "msd" else dpp_order)(rel, X, lambda_, k, slack)
        near, place = nearest_before(X[picks])
        rows.append(first + picks)
        scores.append(score)
        parts.append({f"{method}_relevance": rel[picks], **part})
        similarity.append(near)
        nearest.append(np.where(place < 0, -1, first + picks[place] if len(picks) else picks))
    ledger: dict[str, Any] = {name: join([p[name] for p in parts]) for name in _part_names(method)}
    if "aspect" in ledger:
        ledger["aspect"] = pd.Series(ledger["aspect"].astype(object), dtype=object)
    if pool.vectors.shape[1] or not len(pool.frame):
        ledger["max_similarity"] = join(similarity)
        ledger["nearest_selected"] = unit_names(pool, join(nearest, np.int64))
    return picked_frame(pool, join(rows, np.int64), join(scores), ledger)


def _part_names(method: str) -> list[str]:
    own = {
        "msd": ["distance_sum"],
        "dpp": ["dpp_weight", "novelty"],
        "cover": ["coverage_gain"],
        "xquad": ["aspect_gain", "aspect"],
    }
    return [f"{method}_relevance", *own[method]]


def _collapse(pool: Pool, knobs: dict[str, Any], top_k: int | None) -> pd.DataFrame:
    """Drop near-duplicates of better-ranked units, and name them in the row that stands for them."""
    rows: list[np.ndarray] = []
    gone: list[tuple[str, ...]] = []
    units = pool.frame[pool.unit].astype(object).to_numpy()
    for first, n, alike in _similarities(pool, knobs["docs"]):
        kept, keeper, _ = collapse_rows(alike, n, knobs["threshold"])
        kept = kept[:top_k]
        rows.append(first + kept)
        gone += [tuple(units[first + r] for r in np.flatnonzero(keeper == i) if r != i) for i in kept]
    taken = join(rows, np.int64)
    collapsed = pd.Series([None] * len(gone), dtype=object)
    collapsed[:] = gone
    ledger = {"collapsed": collapsed, "n_collapsed": np.array([len(g) for g in gone], dtype=np.int64)}
    return picked_frame(pool, taken, pool.frame["score"].to_numpy()[taken], ledger)


def _similarities(pool: Pool, docs: Any) -> Iterator[tuple[int, int, Callable[[int], np.ndarray]]]:
    """Give each query's first row, its size, and a function from one candidate to its likeness to all."""
    shingles = None if docs is None else _shingles(pool, docs)
    for first, rel, V in pool.queries():
        if shingles is None:
            yield first, len(rel), partial(_cosine_row, normalize_rows(V.astype(np.float64)))
        else:
            yield first, len(rel), partial(_jaccard_row, shingles[pool.codes[first : first + len(rel)]])


def _cosine_row(X: np.ndarray, i: int) -> np.ndarray:
    return np.clip(X @ X[i], -1.0, 1.0)


def _shingles(pool: Pool, docs: Any) -> Any:
    """Make a sparse matrix of the units' runs of three words, one row per distinct unit."""
    frame = as_docs(docs)
    if pool.unit not in frame.columns:
        raise ValueError(f"docs needs a column {pool.unit!r}, as the run; found {list(frame.columns)}.")
    texts = dict(zip(frame[pool.unit].astype(object), frame["text"]))
    names = np.empty(int(pool.codes.max(initial=-1)) + 1, dtype=object)
    names[pool.codes] = pool.frame[pool.unit].astype(object).to_numpy()
    missing = [name for name in names if name not in texts]
    if missing:
        raise ValueError(f"docs lacks {len(missing)} of the run's units: {some(missing)}; add their texts.")
    words = Tokenizer(stop_words=None)
    number: dict[tuple[str, ...], int] = {}
    columns: list[int] = []
    ends = [0]
    for name in names:
        tokens = words(texts[name])
        runs = {tuple(tokens[i : i + _SHINGLE]) for i in range(max(1, len(tokens) - _SHINGLE + 1))}
        columns += [number.setdefault(run, len(number)) for run in runs]
        ends.append(len(columns))
    return sparse.csr_array((np.ones(len(columns)), columns, ends), shape=(len(names), len(number)))


def _jaccard_row(rows: Any, i: int) -> np.ndarray:
    """Share of runs of words that two texts have in common."""
    sizes = np.diff(rows.indptr)
    shared = np.asarray((rows @ rows[[i]].T).todense()).ravel()
    return shared / (sizes + sizes[i] - shared)
