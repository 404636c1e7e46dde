"""Why a unit has its score: the parts that add up to it, and one sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from ragkit.frames import as_ids, as_run, check_frame, some, unit_column
from ragkit.frames.messages import guess

_COLUMNS = ("part", "value", "rank", "score", "normalized", "weight", "share")


def explain(run: Any, query_id: str, unit_id: str) -> pd.DataFrame:
    """Take one score of a run apart.

    A fused run gives one part for each run that went into it; one that MMR has reordered gives relevance
    and the penalty for what was picked before; a run without a ledger gives its score alone.

    Parameters
    ----------
    run : DataFrame
        A run with its ledger, from :func:`ragkit.fuse`, :class:`ragkit.HybridSearch` or :func:`ragkit.mmr`.
    query_id : str
        The query.
    unit_id : str
        The chunk where the run is over chunks, else the document.

    Returns
    -------
    DataFrame
        ``part, value, rank, score, normalized, weight, share``: the values add up to the run's score, in
        this order; ``rank`` and ``score`` are those of the part's own list, ``share`` is of the sum of
        absolute values. ``explain(...).attrs["sentence"]`` says the same in English.

    Raises
    ------
    ValueError
        If the run has no such query or unit; what it has is named.

    See Also
    --------
    fuse : Writes the ledger that is read here.

    Examples
    --------
    >>> from ragkit import fuse
    >>> fused = fuse({"keyword": {"q": ["fox", "hen"]}, "vector": {"q": ["hen", "owl"]}})
    >>> parts = explain(fused, "q", "hen")
    >>> parts[["part", "value", "rank"]].round(4).values.tolist()
    [['keyword', 0.0161, 2.0], ['vector', 0.0164, 1.0]]
    >>> explain(fused, "q", "owl").attrs["sentence"]
    "'owl' is 3rd for query 'q' with 0.01613: 0.01613 from vector (2nd there); keyword did not retrieve it."
    """
    row, frame, unit = _row_of(run, query_id, unit_id)
    names = [c.removesuffix("_contribution") for c in frame.columns if c.endswith("_contribution")]
    if "mmr_relevance" in frame.columns:
        parts, sentence = _mmr_parts(row, frame, unit)
    elif names:
        parts, sentence = _fused_parts(row, names, unit)
    else:
        parts = [{"part": "score", "value": row["score"], "rank": row["rank"], "score": row["score"]}]
        sentence = f"{_head(row, unit)}; the run holds no ledger that takes it apart."
    out = pd.DataFrame(parts).reindex(columns=list(_COLUMNS))
    total = out["value"].abs().sum()
    out["share"] = out["value"].abs() / total if total > 0 else 0.0
    numbers = dict.fromkeys(_COLUMNS[1:], "float64")
    out = out.astype({"part": "str", **numbers})
    out.attrs["sentence"] = sentence
    return out


def _row_of(run: Any, query_id: str, unit_id: str) -> tuple[pd.Series, pd.DataFrame, str]:
    frame = check_frame(as_run(run), ["query_id", "rank", "score"], "run")
    unit = unit_column(frame)
    wanted = as_ids([query_id, unit_id], "query_id and unit_id").tolist()
    mine = frame[frame["query_id"] == wanted[0]]
    if not len(mine):
        queries = frame["query_id"].unique()
        raise ValueError(
            f"explain found no query {wanted[0]!r} in the run; it has {some(queries)}."
            f"{guess(wanted[0], queries)}"
        )
    rows = mine[mine[unit] == wanted[1]]
    if not len(rows):
        raise ValueError(
            f"explain found no unit {wanted[1]!r} for query {wanted[0]!r}; the run has {some(mine[unit])}."
            f"{guess(wanted[1], mine[unit])}"
        )
    return rows.iloc[0], mine, unit


def _fused_parts(row: pd.Series, names: list[str], unit: str) -> tuple[list[dict[str, Any]], str]:
    parts, told, lacking = [], [], []
    for name in names:
        value, normal = float(row[f"{name}_contribution"]), _number(row, f"{name}_normalized")
        rank = _number(row, f"{name}_rank")
        parts.append(
            {
                "part": name,
                "value": value,
                "rank": rank,
                "score": _number(row, f"{name}_score"),
                "normalized": normal,
                "weight": value / normal if normal else np.nan,
            }
        )
        if not np.isnan(rank):
            told.append(f"{value:.4g} from {name} ({ordinal(int(rank))} there)")
        elif value:
            told.append(f"{value:.4g} from {name} (not retrieved there)")
        else:
            lacking.append(name)
    sentence = f"{_head(row, unit)}: {_listed(told)}"
    return parts, sentence + (f"; {_listed(lacking)} did not retrieve it." if lacking else ".")


def _mmr_parts(row: pd.Series, mine: pd.DataFrame, unit: str) -> tuple[list[dict[str, Any]], str]:
    lambda_ = _lambda_of(mine)
    relevance, similarity = float(row["mmr_relevance"]), float(row["max_similarity"])
    penalty = -(1 - lambda_) * similarity
    parts = [
        {"part": "relevance", "value": float(row["score"]) - penalty, "rank": row["previous_rank"],
         "score": row["previous_score"], "normalized": relevance, "weight": lambda_},
        {"part": "similarity to earlier picks", "value": penalty, "normalized": similarity,
         "weight": lambda_ - 1},
    ]  # fmt: skip
    near = row["nearest_selected"]
    blame = f" minus {-penalty:.4g} for being like {near!r}" if isinstance(near, str) else ""
    before = ordinal(int(row["previous_rank"]))
    return parts, f"{_head(row, unit)}: {parts[0]['value']:.4g} for relevance ({before} before){blame}."


def _lambda_of(mine: pd.DataFrame) -> float:
    """Solve score = lambda * relevance - (1 - lambda) * similarity on the row that tells most."""
    total = (mine["mmr_relevance"] + mine["max_similarity"]).to_numpy(dtype=float)
    best = int(np.argmax(np.abs(total)))
    if abs(total[best]) < 1e-12:
        return 1.0
    row = mine.iloc[best]
    return float(np.clip((row["score"] + row["max_similarity"]) / total[best], 0.0, 1.0))


def _number(row: pd.Series, column: str) -> float:
    return float(row[column]) if column in row.index else np.nan


def _head(row: pd.Series, unit: str) -> str:
    return (
        f"{row[unit]!r} is {ordinal(int(row['rank']))} for query {row['query_id']!r} with {row['score']:.4g}"
    )


def _listed(items: list[str]) -> str:
    return (
        items[0] if len(items) == 1 else ", ".join(items[:-1]) + f" and {items[-1]}" if items else "nothing"
    )


def ordinal(number: int) -> str:
    """Write a rank as a word: ``1st``.

    Parameters
    ----------
    number : int
        The rank.

    Returns
    -------
    str
        The word.
    """
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
