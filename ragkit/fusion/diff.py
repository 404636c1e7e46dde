"""What differs between runs: who entered, who left, who moved, and how alike the lists are."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd

from ragkit.frames import as_run, check_number, check_top_k, some, unit_column
from ragkit.fusion.align import named_runs


def run_diff(runs: Any, *, top_k: int | None = 10, p: float = 0.9) -> pd.DataFrame:
    """Compare runs query by query: what entered, left and moved most, overlap, RBO, Kendall's tau.

    Parameters
    ----------
    runs : dict of str to run
        Two or more; each is compared with the first.
    top_k : int or None, default=10
        How deep is looked; None is all.
    p : float, default=0.9
        How patient the reader of rank-biased overlap is: the weight of rank r falls as ``p ** r``.

    Returns
    -------
    DataFrame
        One row per query and pair: ``query_id, run_a, run_b, overlap`` (share of common units among the
        longer list), ``rbo`` (extrapolated), ``tau`` (over the common units; NaN below two), ``entered`` and
        ``left`` (tuples of ids, by rank), ``moved`` (the common unit that moved most; missing where none did)
        with ``rank_a`` and ``rank_b``, and ``sentence``.

    Raises
    ------
    ValueError
        If there are fewer than two runs.

    References
    ----------
    .. [1] Webber, Moffat, Zobel. A similarity measure for indefinite rankings. TOIS 2010.

    Examples
    --------
    >>> diff = run_diff({"before": {"q": ["a", "b", "c"]}, "after": {"q": ["b", "c", "d"]}})
    >>> diff["sentence"][0]
    "query 'q': after shares 2 of 3 with before; 'd' entered; 'a' left; 'b' moved most, from 2 to 1."
    """
    top_k, p = check_top_k(top_k), check_number("p", p, low=0, high=1, open_low=True)
    named = named_runs(runs)
    if len(named) < 2:
        raise ValueError(f"run_diff compares two runs or more; got {list(named)}.")
    lists = {name: _lists(run, top_k) for name, run in named.items()}
    first, *others = lists
    rows = [
        _compare(query, first, other, lists[first].get(query, []), lists[other].get(query, []), p)
        for query in dict.fromkeys(itertools.chain.from_iterable(lists.values()))
        for other in others
    ]
    kinds: dict[str, Any] = {
        **dict.fromkeys(["query_id", "run_a", "run_b"], "str"),
        **dict.fromkeys(["overlap", "rbo", "tau"], "float64"),
        **dict.fromkeys(["entered", "left"], object),
        **{"rank_a": "Int64", "rank_b": "Int64", "sentence": "str"},
    }
    names = [*list(kinds)[:8], "moved", *list(kinds)[8:]]
    out = pd.DataFrame(rows, columns=names)
    # Where nothing moved the name is missing, which a cast to str would spell out on pandas 2.
    return out.assign(moved=pd.Series(out["moved"].tolist(), dtype="str")).astype(kinds)


def run_overlap(runs: Any, *, top_k: int | None = 10) -> pd.DataFrame:
    """Count the units that exactly these runs have in common, over all queries.

    Parameters
    ----------
    runs : dict of str to run
        The runs.
    top_k : int or None, default=10
        How deep is looked; None is all.

    Returns
    -------
    DataFrame
        One boolean column per run and ``units``, the number of (query, unit) pairs that stand in exactly
        the runs marked True; largest first.

    Examples
    --------
    >>> run_overlap({"a": {"q": ["x", "y"]}, "b": {"q": ["y"]}}).values.tolist()
    [[True, True, 1], [True, False, 1]]
    """
    top_k = check_top_k(top_k)
    named = named_runs(runs)
    pairs: dict[tuple[str, str], list[str]] = {}
    for name, run in named.items():
        for query, units in _lists(run, top_k).items():
            for unit in dict.fromkeys(units):
                pairs.setdefault((query, unit), []).append(name)
    counts: dict[tuple[bool, ...], int] = {}
    for names in pairs.values():
        key = tuple(name in names for name in named)
        counts[key] = counts.get(key, 0) + 1
    ordered = sorted(counts.items(), key=lambda item: (-item[1], tuple(not flag for flag in item[0])))
    out = pd.DataFrame([[*key, n] for key, n in ordered], columns=[*named, "units"])
    return out.astype(dict.fromkeys(named, "bool") | {"units": "int64"})


def _lists(run: Any, top_k: int | None) -> dict[str, list[str]]:
    frame = as_run(run)
    if top_k is not None:
        frame = frame[frame["rank"] <= top_k]
    unit = unit_column(frame)
    groups = frame.groupby("query_id", sort=False, observed=True)[unit]
    return {str(query): list(dict.fromkeys(units)) for query, units in groups}  # at its best rank


def _compare(query: str, first: str, other: str, a: list[str], b: list[str], p: float) -> tuple:
    rank_a, rank_b = ({unit: n for n, unit in enumerate(units, 1)} for units in (a, b))
    entered = tuple(unit for unit in b if unit not in rank_a)
    left = tuple(unit for unit in a if unit not in rank_b)
    common = [unit for unit in b if unit in rank_a]
    moved = max(common, key=lambda unit: abs(rank_a[unit] - rank_b[unit]), default=None)
    if moved is not None and rank_a[moved] == rank_b[moved]:
        moved = None
    overlap = len(common) / max(len(a), len(b)) if a or b else 1.0
    text = f"query {query!r}: {other} shares {len(common)} of {max(len(a), len(b))} with {first}"
    for what, units in (("entered", entered), ("left", left)):
        text += f"; {some(units, 3)} {what}" if units else ""
    if moved is not None:
        text += f"; {moved!r} moved most, from {rank_a[moved]} to {rank_b[moved]}"
    ranks = (None, None) if moved is None else (rank_a[moved], rank_b[moved])
    tau = _kendall(np.array([rank_a[unit] for unit in common]))
    return (
        query,
        first,
        other,
        overlap,
        rank_biased_overlap(a, b, p),
        tau,
        entered,
        left,
        moved,
        *ranks,
        text + ".",
    )


def rank_biased_overlap(a: list[str], b: list[str], p: float = 0.9) -> float:
    """Compute extrapolated rank-biased overlap of two lists, of one length or not.

    Parameters
    ----------
    a, b : list of str
        The lists; no id twice.
    p : float, default=0.9
        Persistence; at 1 it is the overlap at full depth.

    Returns
    -------
    float
        In [0, 1]; 1 for equal lists, and for two empty ones.

    Examples
    --------
    >>> round(rank_biased_overlap(list("abc"), list("bca"), 0.9), 4)
    0.855
    """
    short, long = sorted((a, b), key=len)
    s, l = len(short), len(long)  # noqa: E741 - the paper's letters
    if not l:
        return 1.0
    if not s:
        return 0.0
    X = np.cumsum(_new_matches(short, long), dtype=float)  # common units at each depth of the longer list
    if p == 1:
        return float(X[-1] / l)
    d = np.arange(1, l + 1)
    total = (X / d * p**d).sum()
    beyond = d[s:]
    total += (X[s - 1] * (beyond - s) / (s * beyond) * p**beyond).sum()
    tail = ((X[-1] - X[s - 1]) / l + X[s - 1] / s) * p**l
    return float(np.clip((1 - p) / p * total + tail, 0.0, 1.0))


def _new_matches(short: list[str], long: list[str]) -> list[int]:
    """Count the units that become common at each depth."""
    seen: set[str] = set()
    out = []
    for x, y in itertools.zip_longest(short, long):
        new = {x, y} - {None}
        out.append(sum(unit in seen for unit in new) + (x == y))
        seen |= new
    return out


def _kendall(ranks: np.ndarray) -> float:
    """Compute tau of the ranks in one list, given in the order of the other."""
    n = len(ranks)
    if n < 2:
        return np.nan
    concordant = np.triu(ranks[:, None] < ranks, 1).sum()
    return float(4 * concordant / (n * (n - 1)) - 1)
