"""Runs as HTML tables that escape their text and read well on light and dark pages."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

import pandas as pd

from ragkit.frames.checks import check_frame, check_top_k
from ragkit.frames.coerce import as_docs, as_run
from ragkit.frames.ranking import unit_column

CSS = (
    # Doubled class names outweigh the table styles of Jupyter and nbconvert, which align and stretch cells.
    "<style>.rk.rk{border-collapse:collapse;table-layout:auto;font-size:13px;font-variant-numeric:tabular-nums}"
    ".rk.rk th,.rk.rk td{padding:3px 10px;text-align:left;vertical-align:top;border:0;background:transparent}"
    ".rk.rk thead th{border-bottom:1px solid currentColor;font-weight:600}"
    ".rk.rk tbody tr{background:transparent}.rk.rk tbody tr:nth-child(odd){background:rgba(127,127,127,.10)}"
    ".rk.rk .num{text-align:right;white-space:nowrap}.rk.rk .id{white-space:nowrap}"
    ".rk.rk .text{max-width:46em}.rk.rk tbody tr.query{background:transparent}"
    ".rk.rk .query td{padding-top:10px;font-style:italic}"
    "</style>"
)


class Table:
    """A table to look at: HTML in a notebook, plain text elsewhere.

    Parameters
    ----------
    html : str
        The table, already escaped.
    frame : DataFrame
        The same rows as data.
    """

    def __init__(self, html: str, frame: pd.DataFrame):
        self._html = html
        self.frame = frame

    def _repr_html_(self) -> str:
        return self._html

    def __repr__(self) -> str:
        return self.frame.to_string(index=False, max_colwidth=60)


def show(
    runs: Any, docs: Any = None, *, queries: Any = None, top_k: int | None = 10, width: int = 200
) -> Table:
    """Display one run, or several side by side, with the text of what was found.

    Parameters
    ----------
    runs : run, dict of name to run, or comparison
        One run gives a table of its rows; a dict gives one column per run, so that the same rank of
        each stands in one line. The frame of :func:`ragkit.compare` is set for reading.
    docs : documents or chunks, optional
        Where the texts (and titles) come from; whatever :func:`ragkit.as_docs` takes.
    queries : queries, optional
        Heads each query's rows with its text.
    top_k : int or None, default=10
        Ranks shown for each query.
    width : int, default=200
        Characters of text shown for each row.

    Returns
    -------
    Table
        Shown as HTML by a notebook; document text is escaped. ``.frame`` holds the rows shown.

    Examples
    --------
    >>> run = pd.DataFrame({"query_id": ["q"], "doc_id": ["a"], "rank": [1], "score": [2.5]})
    >>> show(run, {"a": "red <b>fox</b>"})
    query_id  rank doc_id  score           text
           q     1      a    2.5 red <b>fox</b>
    >>> "<b>" in show(run, {"a": "red <b>fox</b>"})._repr_html_()
    False
    """
    if isinstance(runs, pd.DataFrame) and {"system", "metric", "mean", "p_corrected"} <= set(runs.columns):
        frame = _comparison(runs)
        return Table(CSS + _plain_html(frame), frame)
    top_k = check_top_k(top_k)
    width = check_top_k(width, "width", none=False) or 0
    texts = _texts(docs, width)
    heads = {} if queries is None else _query_texts(queries)
    if isinstance(runs, Mapping) and not _is_run_dict(runs):
        if not runs:
            raise ValueError("show needs at least one run; got an empty dict.")
        frame = _side_by_side({str(name): _rows(run, texts, top_k) for name, run in runs.items()})
    else:
        frame = _rows(runs, texts, top_k)
    return Table(CSS + _to_html(frame, heads), frame)


def _comparison(table: pd.DataFrame) -> pd.DataFrame:
    """Set a comparison for reading: intervals beside means, three digits, dashes for what is missing."""
    groups = list(table.columns[: table.columns.get_loc("system")])
    rows = table[[*groups, "system", "metric"]].astype(object)
    rows["mean"] = [_interval(*ends) for ends in zip(table["mean"], table["ci_low"], table["ci_high"])]
    if {"delta_low", "delta_high"} <= set(table.columns):
        ends = zip(table["delta"], table["delta_low"], table["delta_high"])
        rows["delta"] = [_interval(*e, sign="+") for e in ends]
    else:
        rows["delta"] = [_interval(d, float("nan"), float("nan"), sign="+") for d in table["delta"]]
    rows["p"] = [_p_value(p) for p in table["p"]]
    rows["p corrected"] = [_p_value(p) for p in table["p_corrected"]]
    counts = zip(table["wins"], table["ties"], table["losses"])
    rows["won/tied/lost"] = ["–" if pd.isna(c[0]) else "/".join(str(int(n)) for n in c) for c in counts]
    return rows.astype(str).reset_index(drop=True)


def _interval(value: float, low: float, high: float, sign: str = "") -> str:
    if pd.isna(value):
        return "–"
    text = f"{value:{sign}.3f}"
    return text if pd.isna(low) else f"{text} [{low:{sign}.3f}, {high:{sign}.3f}]"


def _p_value(p: float) -> str:
    return "–" if pd.isna(p) else "< 0.0001" if p < 1e-4 else f"{p:.4f}"


def _plain_html(frame: pd.DataFrame) -> str:
    head = "".join(f"<th>{escape(str(c))}</th>" for c in frame.columns)
    body = "".join(
        "<tr>" + "".join(f'<td class="id">{escape(str(v))}</td>' for v in row) + "</tr>"
        for row in frame.itertuples(index=False)
    )
    empty = f'<tr><td colspan="{len(frame.columns)}">no results</td></tr>'
    return f'<table class="rk"><thead><tr>{head}</tr></thead><tbody>{body or empty}</tbody></table>'


def _is_run_dict(runs: Mapping) -> bool:
    """Tell ``{query: {doc: score}}``, which is one run, from ``{name: run}``."""
    return all(
        isinstance(v, (Mapping, list, tuple)) and not isinstance(v, pd.DataFrame) for v in runs.values()
    ) and bool(runs)


def _query_texts(queries: Any) -> dict[str, str]:
    from ragkit.frames.coerce import as_queries

    frame = as_queries(queries)
    return dict(zip(frame["query_id"], frame["text"]))


def _texts(docs: Any, width: int) -> dict[str, str]:
    """Map unit id to what is shown of it: the title, if any, and the head of its text."""
    if docs is None:
        return {}
    frame = as_docs(docs)
    out = {}
    titles = frame["title"] if "title" in frame.columns else [""] * len(frame)
    for unit, title, text in zip(frame[unit_column(frame, "docs")], titles, frame["text"]):
        head = f"{title} · {text}" if isinstance(title, str) and title else text
        out[unit] = head if len(head) <= width else head[: max(width - 1, 0)].rstrip() + "…"
    return out


def _rows(run: Any, texts: Mapping[str, str], top_k: int | None) -> pd.DataFrame:
    frame = as_run(run)
    if top_k is not None:
        frame = frame[frame["rank"] <= top_k]
    unit = unit_column(frame)
    out = frame[["query_id", "rank", unit, "score"]].copy()
    if texts:
        known = [texts.get(u, texts.get(d, "")) for u, d in zip(frame[unit], frame["doc_id"])]
        out["text"] = pd.Series(known, index=out.index, dtype="str")
    return out


def _side_by_side(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """Join the tables of several runs on query and rank; one column per run."""
    parts = []
    for name, table in tables.items():
        unit = unit_column(table)
        cell = table[unit].astype(object)
        if "text" in table.columns:
            cell = cell + " · " + table["text"].astype(object)
        parts.append(
            pd.Series(cell.to_numpy(), index=pd.MultiIndex.from_frame(table[["query_id", "rank"]]), name=name)
        )
    order = list(dict.fromkeys(q for t in tables.values() for q in t["query_id"]))
    joined = pd.concat(parts, axis=1).reset_index()
    joined["query_id"] = joined["query_id"].astype(object)
    place = joined["query_id"].map({q: n for n, q in enumerate(order)})
    joined = joined.assign(_place=place).sort_values(["_place", "rank"]).drop(columns="_place")
    return joined.fillna("").reset_index(drop=True)


def _to_html(frame: pd.DataFrame, heads: Mapping[str, str]) -> str:
    check_frame(frame, ["query_id"], "table")
    columns = [c for c in frame.columns if c != "query_id"]
    many = len(pd.unique(frame["query_id"])) > 1 or bool(heads)
    head = "".join(f"<th>{escape(str(c))}</th>" for c in columns)
    body, previous = [], None
    for row in frame.itertuples(index=False):
        values = dict(zip(frame.columns, row))
        query = values.pop("query_id")
        if many and query != previous:
            title = f"{query} · {heads[query]}" if query in heads else str(query)
            body.append(f'<tr class="query"><td colspan="{len(columns)}">{escape(title)}</td></tr>')
            previous = query
        body.append("<tr>" + "".join(_cell(name, value) for name, value in values.items()) + "</tr>")
    if not body:
        body.append(f'<tr><td colspan="{len(columns)}">no results</td></tr>')
    return f'<table class="rk"><thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table>'


def _cell(name: str, value: Any) -> str:
    if isinstance(value, float):
        return f'<td class="num">{value:.4g}</td>'
    if isinstance(value, int) or name == "rank":
        return f'<td class="num">{escape(str(value))}</td>'
    kind = "id" if name.endswith("_id") else "text"
    return f'<td class="{kind}">{escape(str(value))}</td>'
