"""The one tie rule, and ranks that follow from it.

Score descending, then unit id descending, as trec_eval does. Scores are equal when they agree in 12
significant digits (6 for float32), so that the last bit of a matrix product cannot decide an order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ragkit.frames.checks import check_frame
from ragkit.frames.ids import as_ids, id_array, id_ranks
from ragkit.frames.messages import some
from ragkit.frames.mixups import brief


def unit_column(frame: pd.DataFrame, what: str = "run") -> str:
    """Name the column that holds the unit: ``chunk_id`` where there is one, else ``doc_id``.

    Parameters
    ----------
    frame : DataFrame
        Documents, chunks or a run.
    what : str, default="run"
        Its name in the message.

    Returns
    -------
    str
        ``"chunk_id"`` or ``"doc_id"``.
    """
    if "chunk_id" in frame.columns:
        return "chunk_id"
    check_frame(frame, ["doc_id"], what)
    return "doc_id"


#: Scores that agree in 12 digits differ by at most half this part of themselves.
NEAR = 2e-11


def round_significant(scores: np.ndarray) -> np.ndarray:
    """Round to the digits in which scores are compared: 12 for float64, 6 for float32.

    Parameters
    ----------
    scores : ndarray of float
        Finite scores, any shape. Below 1e-289 and above 1e300 they are compared as they are.

    Returns
    -------
    ndarray of float64
        The rounded scores; equal numbers are ties.

    Examples
    --------
    >>> round_significant(np.array([0.1 + 0.2, 0.3])).tolist()
    [0.3, 0.3]
    """
    x = np.asarray(scores)
    # Rounding is decimal because the rule is; a property test compares it with printing the digits.
    digits = 6 if x.dtype == np.float32 else 12
    x = x.astype(np.float64)
    magnitude = np.abs(x)
    exponent = np.floor(np.log10(magnitude, out=np.zeros_like(x), where=magnitude > 0))
    # Beyond 10**300 the scale itself would overflow or vanish; such scores are compared as they are.
    safe = np.abs(digits - 1 - exponent) <= 300
    scale = np.power(10.0, np.where(safe, digits - 1 - exponent, 0.0))
    return np.where(safe, np.rint(x * scale) / scale, x)


def tie_order(groups: np.ndarray, scores: np.ndarray, units: Any) -> np.ndarray:
    """Order rows by group, then by the tie rule.

    Parameters
    ----------
    groups : ndarray of int, shape (n,)
        Query of each row, as an integer code; groups come in ascending order of code.
    scores : ndarray of float, shape (n,)
        Finite scores.
    units : sequence of str, shape (n,), or callable
        Unit id of each row; a callable maps row numbers to ids, or to whole numbers that sort as the ids do,
        and is called for tied rows alone.

    Returns
    -------
    ndarray of int, shape (n,)
        Row numbers in order.
    """
    order, grouped = _descending(groups, scores)
    same = _ties(grouped, scores[order])
    if not same.any():
        return order
    # Only tied rows need their ids compared: strings are slow, ties are few.
    tied = np.zeros(len(order), dtype=bool)
    tied[1:] |= same
    tied[:-1] |= same
    places = np.flatnonzero(tied)
    run_of_ties = np.cumsum(np.r_[True, ~same])[places]
    rows = order[places]
    names = units(rows) if callable(units) else np.asarray(units, dtype=object)[rows]
    if isinstance(names, np.ndarray) and names.dtype.kind == "i":
        id_rank = names
    else:
        id_rank = id_ranks(names)
    key = run_of_ties * (int(id_rank.max()) + 1) - id_rank  # one number sorts faster than two
    order[places] = rows[np.argsort(key, kind="stable")]
    return order


def _descending(groups: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Order rows by group, then by score from the highest, and give the groups in that order.

    Groups of about one size sort as a matrix.
    """
    order, grouped = None, groups
    if (groups[1:] < groups[:-1]).any():
        small = groups.max() < 2**16 and groups.min() >= 0
        order = np.argsort(groups.astype(np.uint16) if small else groups, kind="stable")
        grouped = groups[order]
    starts = np.flatnonzero(np.r_[True, grouped[1:] != grouped[:-1]]) if len(groups) else np.empty(0, np.intp)
    sizes = np.diff(np.r_[starts, len(groups)])
    widest = int(sizes.max(initial=0))
    if len(sizes) < 2 or widest * len(sizes) > 3 * len(groups):
        return np.lexsort((-scores, groups)), grouped
    # One sort along the rows of a padded matrix; what stands in the padding sorts to the end.
    filled = np.arange(widest) < sizes[:, None]
    table = np.full(filled.shape, np.inf)
    table[filled] = -(scores if order is None else scores[order])
    # Merging is linear where the rows stand in order already, or in a few runs of it; else it is slower.
    falls = np.count_nonzero(table[:, 1:] < table[:, :-1])
    inside = np.argsort(table, axis=1, kind="stable" if 16 * falls < table.size else None)
    inside += starts[:, None]
    rows = inside[filled]
    return (rows if order is None else order[rows]), grouped


def _ties(groups: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Say of each row but the first, in descending order of score, whether it ties with the row before."""
    digits = 6 if scores.dtype == np.float32 else 12
    x = scores.astype(np.float64, copy=False)
    higher, lower = x[:-1], x[1:]
    same, equal = groups[1:] == groups[:-1], higher == lower
    # Rounding is dear: only neighbours that nearly agree, but not in every digit, can round to one number.
    near = higher - lower <= 10.0 ** (1 - digits) * np.maximum(np.abs(higher), np.abs(lower))
    rows = np.flatnonzero(same & near & ~equal)
    same &= equal
    same[rows] = round_significant(scores[rows]) == round_significant(scores[rows + 1])
    return same


def group_codes(ids: pd.Series) -> tuple[np.ndarray, Any]:
    """Number the ids in order of first appearance.

    Parameters
    ----------
    ids : Series of str
        Ids, categorical or not.

    Returns
    -------
    codes : ndarray of int, shape (n,)
        Number of each row's id.
    uniques : Index or Categorical
        The ids by number.
    """
    return pd.factorize(ids)


def ranks_within(groups: np.ndarray) -> np.ndarray:
    """Number the rows 1, 2, ... inside each run of equal `groups`.

    Parameters
    ----------
    groups : ndarray, shape (n,)
        Group of each row; the rows of a group stand together.

    Returns
    -------
    ndarray of int64, shape (n,)
        1-based ranks.

    Examples
    --------
    >>> ranks_within(np.array([0, 0, 1, 1, 1])).tolist()
    [1, 2, 1, 2, 3]
    """
    n = len(groups)
    if n == 0:
        return np.empty(0, dtype=np.int64)
    starts = np.flatnonzero(np.r_[True, groups[1:] != groups[:-1]])
    lengths = np.diff(np.r_[starts, n])
    return np.arange(1, n + 1, dtype=np.int64) - np.repeat(starts, lengths)


def rank_by_score(run: pd.DataFrame) -> pd.DataFrame:
    """Rank each query's rows by score: the one tie rule of the toolkit.

    Score descending, then unit id descending. Scores are compared in 12 significant digits
    (6 for float32).

    Parameters
    ----------
    run : DataFrame
        Needs ``query_id``, ``score`` and ``doc_id`` or ``chunk_id``. A ``rank`` column is replaced.

    Returns
    -------
    DataFrame
        The rows sorted by query (in order of first appearance) and rank, with a new ``rank`` column
        that starts at 1; ``score`` is float32 or float64.

    Raises
    ------
    ValueError
        If a column is missing or a score is NaN or infinite.

    See Also
    --------
    best_per_doc : Collapse a run over chunks to one over documents.

    Examples
    --------
    >>> run = pd.DataFrame({"query_id": "q", "doc_id": ["k", "m", "p"], "score": [5.0, 5.0, 7.0]})
    >>> rank_by_score(run)[["doc_id", "rank"]].values.tolist()
    [['p', 1], ['m', 2], ['k', 3]]
    """
    check_frame(run, ["query_id", "score"], "run")
    unit = unit_column(run)
    names = [name for name in dict.fromkeys(("query_id", unit, "doc_id")) if name in run.columns]
    ids = {name: as_ids(run[name], name) for name in names}
    scores = check_scores(run["score"], ids["query_id"], ids[unit])
    codes, _ = group_codes(ids["query_id"])
    order = tie_order(codes, scores, lambda rows: ids[unit].iloc[rows])
    ranked = run.reset_index(drop=True).assign(**ids).iloc[order].reset_index(drop=True)
    if ranked["score"].dtype != scores.dtype:
        ranked = ranked.assign(score=scores[order])
    return with_column(ranked, "rank", ranks_within(codes[order]), before="score")


def check_scores(scores: pd.Series, query: pd.Series, units: pd.Series) -> np.ndarray:
    """Check that scores are finite numbers; the message names the first culprit.

    Parameters
    ----------
    scores, query, units : Series, shape (n,)
        Scores and the ids that belong to them.

    Returns
    -------
    ndarray of float, shape (n,)
        The scores, float32 or float64.
    """
    values = scores.to_numpy()
    if values.dtype == bool or values.dtype.kind not in "iuf":
        try:
            if values.dtype != object or any(isinstance(v, (str, bool, np.bool_)) for v in values):
                raise TypeError
            values = np.array([np.nan if v is None or v is pd.NA else v for v in values], dtype=np.float64)
        except (TypeError, ValueError):
            raise TypeError(
                f"run's score must hold numbers; got {scores.dtype} such as {scores.iloc[0]!r}."
            ) from None
    if values.dtype != np.float32:
        values = values.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        row = bad[0]
        raise ValueError(
            f"run has {len(bad)} scores that are NaN or infinite, the first for query "
            f"{query.iloc[row]!r}, unit {units.iloc[row]!r}; drop or mend those rows."
        )
    return values


def with_column(frame: pd.DataFrame, name: str, values: Any, *, before: str) -> pd.DataFrame:
    """Return `frame` with column `name` set; a new one is placed before column `before`.

    Parameters
    ----------
    frame : DataFrame
        Not modified.
    name : str
        The column.
    values : array, shape (n,)
        Its values.
    before : str
        Where a new column goes.

    Returns
    -------
    DataFrame
        A new frame.
    """
    if name in frame.columns:
        return frame.assign(**{name: values})
    out = frame.copy(deep=False)
    out.insert(list(out.columns).index(before), name, values)
    return out


def check_ranks(ranks: pd.Series, query: pd.Series) -> np.ndarray:
    """Check that ranks are whole numbers >= 1.

    Parameters
    ----------
    ranks : Series, shape (n,)
        Ranks given by the user.
    query : Series of str, shape (n,)
        Query of each row, for the message.

    Returns
    -------
    ndarray of int64, shape (n,)
        The ranks.
    """
    if isinstance(ranks.dtype, np.dtype) and ranks.dtype.kind == "i" and ranks.min() >= 1:
        return ranks.to_numpy(dtype=np.int64)
    values = pd.to_numeric(ranks, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    bad = np.flatnonzero(~(values >= 1) | (values != np.floor(values)) | ~np.isfinite(values))
    if len(bad):
        row = bad[0]
        raise ValueError(
            f"run's rank must hold whole numbers from 1; query {query.iloc[row]!r} has "
            f"{brief(ranks.iloc[row])}. Drop the column to have the run ranked by score."
        )
    return values.astype(np.int64)


def rank_order(query: pd.Series, ranks: np.ndarray) -> np.ndarray | None:
    """Order rows by query, then by rank, and check that no query uses a rank twice.

    Parameters
    ----------
    query : Series of str, shape (n,)
        Query of each row.
    ranks : ndarray of int, shape (n,)
        Its rank from 1.

    Returns
    -------
    ndarray of int, shape (n,) or None
        Row numbers in order; None when the rows already stand so.
    """
    if _stand_in_order(query, ranks):
        return None
    groups, _ = group_codes(query)
    order = _by_counting(groups, ranks)
    if order is None:
        order = np.lexsort((ranks, groups))
    g, r = groups[order], ranks[order]
    twice = (g[1:] == g[:-1]) & (r[1:] == r[:-1])
    if twice.any():
        names = np.unique(query.to_numpy(dtype=object)[order[1:][twice]].astype(str))
        raise ValueError(
            f"run uses a rank twice in query {some(names.tolist())}; "
            "drop the rank column to have it ranked by score."
        )
    return order


def _stand_in_order(query: pd.Series, ranks: np.ndarray) -> bool:
    """Say whether the rows of each query stand together and its ranks rise; ids need no numbers for that."""
    ids = query.cat.codes.to_numpy() if isinstance(query.dtype, pd.CategoricalDtype) else id_array(query)
    new = ids[1:] != ids[:-1]
    if not (new | (ranks[1:] > ranks[:-1])).all():
        return False
    heads = ids[np.r_[True, new]] if len(ids) else ids
    return len(pd.unique(heads)) == len(heads)


def _by_counting(groups: np.ndarray, ranks: np.ndarray) -> np.ndarray | None:
    """Order rows without a sort when each group's ranks are exactly 1..n; None when they are not."""
    sizes = np.bincount(groups)
    place = (np.cumsum(sizes) - sizes)[groups] + ranks - 1
    rows = np.arange(len(groups))
    if (ranks > sizes[groups]).any():
        return None
    order = np.empty(len(groups), dtype=np.intp)
    order[place] = rows
    # The last writer wins, so two rows with one place show here.
    return order if np.array_equal(order[place], rows) else None
