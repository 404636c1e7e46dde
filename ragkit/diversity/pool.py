"""The candidates of each query, their relevance and their vectors: what every diversifier starts from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ragkit.frames import (
    as_ids,
    as_queries,
    as_run,
    check_choice,
    check_top_k,
    group_codes,
    some,
    unit_column,
    warn,
)
from ragkit.similarity import as_matrix, by_id, cosine_similarity, gather_vectors

_ROW = "_row_of_the_array"


class Pool(NamedTuple):
    """Candidates of many queries, in the order of the run.

    Attributes
    ----------
    frame : DataFrame
        The run, sorted by query and rank, cut to `fetch_k`.
    unit : str
        ``"doc_id"`` or ``"chunk_id"``.
    starts : ndarray of int, shape (queries + 1,)
        Rows ``starts[i]:starts[i + 1]`` belong to query ``i``.
    relevance : ndarray of float, shape (rows,)
        Scaled relevance of each row.
    vectors : ndarray of float, shape (units, d)
        One row per distinct unit.
    codes : ndarray of int, shape (rows,)
        Row of `vectors` that belongs to each row of `frame`.
    tolerance : float
        Relative distance under which two scores are a tie.
    """

    frame: pd.DataFrame
    unit: str
    starts: np.ndarray
    relevance: np.ndarray
    vectors: np.ndarray
    codes: np.ndarray
    tolerance: float

    def queries(self) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Give each query's first row, relevance and vectors."""
        for first, last in zip(self.starts[:-1], self.starts[1:]):
            yield int(first), self.relevance[first:last], self.vectors[self.codes[first:last]]


def check_scale(scale: Any) -> None:
    """Refuse a scale that is not there.

    Parameters
    ----------
    scale : str or None
        As in :func:`ragkit.mmr`.
    """
    if scale is not None and scale != "minmax":
        raise ValueError(
            f"unknown scale {scale!r}; choose 'minmax', or None to take relevance as it is, which is "
            "right for cosines only."
        )


def make_pool(
    run: Any,
    vectors: Any,
    *,
    top_k: int | None,
    fetch_k: int | None,
    scale: str | None,
    relevance: str,
    queries: Any,
) -> Pool:
    """Check what all diversifiers take, and gather the candidates.

    Parameters
    ----------
    run, vectors, top_k, fetch_k, scale, relevance, queries
        As in :func:`ragkit.mmr`.

    Returns
    -------
    Pool
        The candidates.
    """
    check_choice("relevance", relevance, ["score", "cosine"])
    check_scale(scale)
    if top_k is not None and fetch_k is not None and fetch_k < top_k:
        raise ValueError(
            f"fetch_k must be at least top_k, or there is nothing to choose from; got fetch_k={fetch_k} and "
            f"top_k={top_k}. Raise fetch_k, or leave it None to use the whole run."
        )
    vectors = by_id(vectors)
    frame, aligned = _sorted_run(run, vectors)
    unit = unit_column(frame)
    starts = _check_starts(frame, unit)
    names = [frame["query_id"].iloc[first] for first in starts[:-1]]
    keep = np.ones(len(frame), dtype=bool)
    if fetch_k is not None:
        place = np.arange(len(frame)) - np.repeat(starts[:-1], np.diff(starts))
        keep = place < fetch_k
        frame = frame[keep].reset_index(drop=True)
        starts = np.r_[0, np.cumsum(np.minimum(np.diff(starts), fetch_k))]
    if aligned is None:
        codes, units = group_codes(frame[unit])
        matrix = as_matrix(gather_vectors(vectors, list(units))) if len(units) else np.empty((0, 0))
    else:
        matrix, codes = aligned[keep], np.arange(len(frame))
    scores = frame["score"].to_numpy()
    tolerance = 1e-6 if scores.dtype == np.float32 else 1e-12
    if relevance == "cosine":
        scores = _query_cosines(matrix, codes, starts, names, vectors, queries)
    values = scores.astype(np.float64)
    if scale == "minmax":
        values = minmax(values, starts)
    return Pool(frame, unit, starts, values, matrix, codes, tolerance)


def _sorted_run(run: Any, vectors: Any) -> tuple[pd.DataFrame, np.ndarray | None]:
    """Sort the run; an array of vectors, which is aligned with the rows as given, is sorted along."""
    if isinstance(vectors, Mapping) or vectors is None or callable(getattr(vectors, "vectors", None)):
        return as_run(run), None
    given = run if isinstance(run, pd.DataFrame) else as_run(run)
    frame = as_run(given.reset_index(drop=True).assign(**{_ROW: np.arange(len(given))}))
    row = frame.pop(_ROW).to_numpy()
    return frame, gather_vectors(vectors, pd.Series(row))[row]


def _check_starts(frame: pd.DataFrame, unit: str) -> np.ndarray:
    """Find where queries begin, and refuse a query that lists a unit twice."""
    codes, _ = group_codes(frame["query_id"])
    unit_codes, _ = group_codes(frame[unit])
    key = pd.Series(codes.astype(np.int64) * (len(frame) + 1) + unit_codes)
    twice = np.flatnonzero(key.duplicated().to_numpy())
    if len(twice):
        row = frame.iloc[twice[0]]
        raise ValueError(
            f"run lists {len(twice)} units twice, the first {row[unit]!r} in query {row['query_id']!r}; "
            "keep one row per query and unit, for instance with best_per_doc."
        )
    changes = np.flatnonzero(codes[1:] != codes[:-1]) + 1
    return np.r_[0, changes, len(codes)].astype(np.int64) if len(codes) else np.zeros(1, dtype=np.int64)


def minmax(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Map each query's values to [0, 1]; a lone value and equal values become 1.

    Parameters
    ----------
    values : ndarray of float, shape (n,)
        Finite values.
    starts : ndarray of int, shape (queries + 1,)
        Where each query begins.

    Returns
    -------
    ndarray of float, shape (n,)
        ``(x - min) / (max - min)``.

    Examples
    --------
    >>> minmax(np.array([5.0, 3.0, 1.0, 7.0]), np.array([0, 3, 4])).tolist()
    [1.0, 0.5, 0.0, 1.0]
    """
    if len(values) == 0:
        return values
    sizes = np.diff(starts)
    low = np.repeat(np.minimum.reduceat(values, starts[:-1]), sizes)
    high = np.repeat(np.maximum.reduceat(values, starts[:-1]), sizes)
    # Halved first: the difference of two huge scores must not overflow.
    span = high / 2 - low / 2
    return np.where(span > 0, (values / 2 - low / 2) / np.where(span > 0, span, 1.0), 1.0)


def _query_cosines(
    matrix: np.ndarray, codes: np.ndarray, starts: np.ndarray, names: list[str], vectors: Any, queries: Any
) -> np.ndarray:
    """Cosine of each row's unit with its query."""
    out = np.empty(len(codes))
    if len(codes) == 0:
        return out
    wanted = query_vectors(names, vectors, queries)
    for q, first, last in zip(wanted, starts[:-1], starts[1:]):
        out[first:last] = cosine_similarity(q, matrix[codes[first:last]])
    return out


def query_vectors(names: list[str], vectors: Any, queries: Any) -> np.ndarray:
    """Find the vector of each query in whatever the user gave.

    Parameters
    ----------
    names : list of str
        Query ids, in the order of the run.
    vectors : object
        The `vectors` argument; a store embeds texts by its ``query_vectors``.
    queries : mapping of id to vector, array_like, or queries that a store can embed
        An array is aligned with `names`.

    Returns
    -------
    ndarray of float, shape (len(names), d)
        One row per query.
    """
    if queries is None:
        raise TypeError(
            'relevance="cosine" needs queries: a dict of query_id to vector, an array with one row per query '
            "of the run, or, with a VectorStore, the queries themselves."
        )
    queries = by_id(queries) if not _holds_text(queries) else queries
    if not _holds_text(queries):
        if isinstance(queries, Mapping):
            named = dict(zip(as_ids(list(queries), "query_id"), queries.values()))
            return gather_vectors(_only(named, names), names)
        matrix = as_matrix(queries, "queries")
        if len(matrix) != len(names):
            raise ValueError(
                f"queries is an array of {len(matrix)} rows but the run has {len(names)} queries; give one "
                "row per query in the order of the run, or a dict of query_id to vector."
            )
        return matrix
    if not callable(getattr(vectors, "query_vectors", None)):
        raise TypeError(
            "queries given as text need a VectorStore with an embedder as vectors; "
            "give a dict of query_id to vector instead."
        )
    frame = as_queries(queries)
    matrix = vectors.query_vectors(frame)
    return matrix[_positions(names, frame["query_id"])]


def _only(named: dict[str, Any], names: list[str]) -> dict[str, Any]:
    missing = [name for name in names if name not in named]
    if missing:
        raise ValueError(
            f"queries lacks {len(missing)} of the run's queries: {some(missing)}; it has {some(named, 2)}. "
            "Give the queries with the ids that the run has, such as data.queries."
        )
    return named


def _positions(names: list[str], given: pd.Series) -> list[int]:
    """Where each query of the run stands among the queries given."""
    where = {name: place for place, name in enumerate(given)}
    _only(where, names)
    return [where[name] for name in names]


def _holds_text(queries: Any) -> bool:
    """Say whether `queries` are texts, not vectors."""
    if isinstance(queries, (str, pd.DataFrame)):
        return isinstance(queries, str) or "text" in queries.columns
    items = list(queries.values()) if isinstance(queries, Mapping) else list(queries)
    return bool(items) and isinstance(items[0], (str, Mapping))


def picked_frame(pool: Pool, rows: np.ndarray, scores: np.ndarray, ledger: dict[str, Any]) -> pd.DataFrame:
    """Build the run that a diversifier returns.

    Parameters
    ----------
    pool : Pool
        The candidates.
    rows : ndarray of int, shape (m,)
        Rows of ``pool.frame``, by query and in the order in which they were picked.
    scores : ndarray of float, shape (m,)
        The diversifier's own score of each pick.
    ledger : dict of str to array
        Columns that explain the scores, in order.

    Returns
    -------
    DataFrame
        A run with ``rank`` anew, the ledger, ``previous_rank`` and ``previous_score``.
    """
    taken: dict[Any, Any] = {name: column.array.take(rows) for name, column in pool.frame.items()}
    before = {"previous_rank": taken["rank"], "previous_score": taken["score"]}
    place = np.searchsorted(pool.starts, rows, side="right") - 1
    firsts = np.searchsorted(place, place, side="left")
    taken["rank"] = np.arange(1, len(rows) + 1, dtype=np.int64) - firsts
    columns: dict[Any, Any] = {}
    for name, values in taken.items():
        if name not in ledger and name not in before:
            columns[name] = values
        if name == "score":
            columns |= {"score": scores} | ledger | before
    return pd.DataFrame(columns)


def unit_names(pool: Pool, rows: np.ndarray) -> Any:
    """Take the unit ids of `rows`; -1 gives a missing value.

    Parameters
    ----------
    pool : Pool
        The candidates.
    rows : ndarray of int, shape (m,)
        Rows of ``pool.frame``, or -1.

    Returns
    -------
    array
        Ids in the dtype of the run's own.
    """
    return pool.frame[pool.unit].array.take(rows, allow_fill=True)


def check_depths(top_k: Any, fetch_k: Any) -> tuple[int | None, int | None]:
    """Check the two numbers of rows.

    Parameters
    ----------
    top_k, fetch_k : int or None
        As in :func:`ragkit.mmr`.

    Returns
    -------
    tuple of (int or None)
        The same, as plain ints.
    """
    return check_top_k(top_k), check_top_k(fetch_k, "fetch_k")


def warn_small_pool(pool: Pool, top_k: int | None, who: str) -> None:
    """Warn when every pool is taken whole, so that diversifying can only reorder.

    Parameters
    ----------
    pool : Pool
        The candidates.
    top_k : int or None
        How many are wanted.
    who : str
        The method's name, for the message.
    """
    largest = int(np.diff(pool.starts).max(initial=0))
    if top_k and 2 <= largest <= top_k:
        warn(
            f"{who} has at most {largest} candidates per query for top_k={top_k}, so it only reorders them "
            "and leaves none out; retrieve more (a larger top_k or fetch_k before it), or lower top_k."
        )
