"""When is a unit selected, and what keeps it out elsewhere?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from ragkit.diversity.path import mmr_intervals
from ragkit.diversity.pool import check_depths, make_pool
from ragkit.frames import as_run, some
from ragkit.frames.messages import guess
from ragkit.similarity import by_id, normalize_rows


def lambda_for(
    run: Any,
    vectors: Any,
    query_id: str,
    unit_id: str,
    *,
    top_k: int | None = 10,
    fetch_k: int | None = None,
    scale: str | None = "minmax",
    relevance: str = "score",
    queries: Any = None,
) -> pd.DataFrame:
    """Tell at which lambda MMR selects a unit, and what keeps it out elsewhere.

    Parameters
    ----------
    run : DataFrame
        Any run, over documents or chunks.
    vectors : VectorStore, mapping of id to vector, or array_like of shape (n, d)
        As in :func:`mmr`.
    query_id : str
        The query.
    unit_id : str
        The document or chunk asked about; it must be in the query's run.
    top_k : int or None, default=10
        How many are picked.
    fetch_k : int or None, default=None
        How many of the run's best are candidates.
    scale, relevance, queries
        As in :func:`mmr`.

    Returns
    -------
    DataFrame
        ``lambda_from, lambda_to, selected, rank, blocked_by, reason, similarity``, one row per interval; the
        rows tile [0, 1]. Where the unit is not selected, `reason` is ``"similarity"`` if it is at least as
        relevant as the last pick, so that only its likeness to ``blocked_by`` keeps it out;
        ``"relevance"`` if the last pick, ``blocked_by``, is more relevant; ``"fetch_k"`` if it is no
        candidate; ``"top_k"`` if nothing is picked. ``similarity`` is its cosine with ``blocked_by``.

    Raises
    ------
    ValueError
        If the run has not the query, or the query not the unit.
    TypeError
        If more than one query or unit is given.

    See Also
    --------
    mmr_path : All selections.

    Examples
    --------
    >>> run = pd.DataFrame({"query_id": "q", "doc_id": ["a", "copy", "other"], "score": [1.0, 0.9, 0.5]})
    >>> vectors = {"a": [1, 0], "copy": [1, 0], "other": [0, 1]}
    >>> story = lambda_for(run, vectors, "q", "copy", top_k=2).round(3)
    >>> story[["lambda_from", "lambda_to", "selected", "blocked_by", "reason"]].values.tolist()
    [[0.0, 0.556, False, 'a', 'similarity'], [0.556, 1.0, True, nan, nan]]
    """
    top_k, fetch_k = check_depths(top_k, fetch_k)
    pool = make_pool(
        run, vectors, top_k=top_k, fetch_k=fetch_k, scale=scale, relevance=relevance, queries=queries
    )
    query_id, unit_id = _one_id("query_id", query_id), _one_id("unit_id", unit_id)
    _check_asked(as_run(run), vectors, pool.unit, query_id, unit_id)
    candidates = pool.frame[pool.unit].astype(object).to_numpy()
    for first, rel, X in pool.queries():
        names = candidates[first : first + len(rel)]
        if pool.frame["query_id"].iloc[first] == query_id and unit_id in names:
            return _story(int(np.flatnonzero(names == unit_id)[0]), rel, X, names, top_k, pool.tolerance)
    return _story_frame([(0.0, 1.0, False, None, None, "fetch_k", np.nan)])


def _one_id(name: str, given: Any) -> str:
    """Check that a single id is asked about."""
    if isinstance(given, bool) or not isinstance(given, (str, int, np.integer)):
        raise TypeError(f"{name} must be one id; got {given!r}. Ask about one unit of one query at a time.")
    return str(given)


def _check_asked(run: pd.DataFrame, vectors: Any, unit: str, query_id: str, unit_id: str) -> None:
    """Raise unless the run has the query, and the query the unit."""
    rows = run[run["query_id"] == query_id]
    if not len(rows):
        swapped = " Are query_id and unit_id swapped?" if (run["query_id"] == unit_id).any() else ""
        queries = pd.unique(run["query_id"])
        way_out = swapped or guess(query_id, queries)
        raise ValueError(f"run has no query {query_id!r}; it has {some(queries)}.{way_out}")
    if (rows[unit] == unit_id).any():
        return
    held = by_id(vectors)
    named = held if isinstance(held, Mapping) else getattr(held, "ids", None)
    known = {*run[unit], *(() if named is None else named)}
    if unit_id in known:
        raise ValueError(
            f"run did not retrieve {unit_id!r} for query {query_id!r}, so no lambda can select it; "
            "retrieve more (a larger top_k before it)."
        )
    nowhere = "the run does not hold" if named is None else "neither the run nor the vectors hold"
    way_out = guess(unit_id, known) or " Check how it is written."
    raise ValueError(
        f"run did not retrieve {unit_id!r} for query {query_id!r}: {nowhere} a {unit} of that name.{way_out}"
    )


def _story(
    u: int, rel: np.ndarray, X: np.ndarray, names: np.ndarray, top_k: int | None, tolerance: float
) -> pd.DataFrame:
    """Say for each interval whether row `u` is picked, and if not, why."""
    found = mmr_intervals(rel, X, top_k, tolerance)
    Xn = normalize_rows(np.asarray(X, dtype=np.float64))
    cosine = np.clip(Xn @ Xn[u], -1.0, 1.0)
    cosine[np.abs(cosine) < 1e-15] = 0.0
    rows: list[tuple] = []
    for low, high, picks in zip(found.edges[:-1], found.edges[1:], found.picks):
        said = _why(u, rel, cosine, picks, names)
        if rows and rows[-1][2:] == said:
            rows[-1] = (rows[-1][0], float(high), *said)
        else:
            rows.append((float(low), float(high), *said))
    return _story_frame(rows)


def _why(u: int, rel: np.ndarray, cosine: np.ndarray, picks: np.ndarray, names: np.ndarray) -> tuple:
    """Give ``selected, rank, blocked_by, reason, similarity`` of row `u` beside these picks."""
    place = np.flatnonzero(picks == u)
    if len(place):
        return (True, int(place[0]) + 1, None, None, None)
    if not len(picks):
        return (False, None, None, "top_k", None)
    alike = rel[u] >= rel[picks[-1]]
    by = int(picks[np.argmax(cosine[picks])]) if alike else int(picks[-1])
    return (False, None, names[by], "similarity" if alike else "relevance", float(cosine[by]))


def _story_frame(rows: list[tuple]) -> pd.DataFrame:
    """Put the intervals of one unit into a frame."""
    columns = list(zip(*rows))
    return pd.DataFrame(
        {
            "lambda_from": np.array(columns[0], dtype=np.float64),
            "lambda_to": np.array(columns[1], dtype=np.float64),
            "selected": np.array(columns[2], dtype=bool),
            "rank": pd.array(columns[3], dtype="Int64"),
            "blocked_by": _texts(columns[4]),
            "reason": _texts(columns[5]),
            "similarity": np.array(columns[6], dtype=np.float64),
        }
    )


def _texts(values: tuple) -> pd.Series:
    """Make a column of strings in which NaN stands for none, with pandas 2 as with pandas 3."""
    return pd.Series([np.nan if value is None else value for value in values], dtype=object).astype(
        "str" if pd.Series(["x"]).dtype != object else object
    )
