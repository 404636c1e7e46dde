"""Chunks marked in their text, as HTML that reads well on light and dark pages and without any script."""

from __future__ import annotations

from html import escape
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from ragkit.chunking.places import ByDocument, choose_document, gold_in, named_chunks
from ragkit.frames import as_docs, check_top_k
from ragkit.frames.show import Table

# Tints with alpha lie over the page's own colours; blue and orange differ for every kind of colour vision.
_CSS = (
    "<style>.rkc{font:14px/1.7 system-ui,sans-serif;max-width:60em}"
    ".rkc h4{margin:.8em 0 .2em;font-size:14px}"
    # Doubled, for a theme that is chosen later comes later too.
    ".rkc.rkc pre{white-space:pre-wrap;overflow-wrap:anywhere;word-break:normal;font:inherit;margin:0;"
    "padding:0;border:0;background:transparent;color:inherit}"
    ".rkc span{padding:.12em 0}"
    ".rkc .c0{background:rgba(0,114,178,.20)}.rkc .c1{background:rgba(230,159,0,.24)}"
    ".rkc .o{background:rgba(127,127,127,.50)}"
    ".rkc .g{text-decoration:underline 2px;text-underline-offset:3px}"
    ".rkc .e{border-left:2px solid currentColor}"
    ".rkc .side{display:flex;gap:1.2em;align-items:flex-start}.rkc .side>div{flex:1 1 0;min-width:0}"
    ".rkc .key{font-size:12px;opacity:.8}.rkc .none{opacity:.55}"
    "</style>"
)


def show_chunks(
    chunks: Any,
    docs: Any,
    *,
    doc_id: str | None = None,
    spans: pd.DataFrame | None = None,
    limit: int | None = 20_000,
) -> Table:
    """Display chunks in the text they were cut from, one way of chunking or several side by side.

    Chunks alternate between two tints; what two chunks share is grey, every chunk begins with a bar, and gold
    passages are underlined. Hovering a piece names its chunks and their sizes.

    Parameters
    ----------
    chunks : DataFrame, or dict of name to DataFrame
        Chunks as :func:`ragkit.chunk` gives them.
    docs : documents
        What was cut; whatever :func:`ragkit.as_docs` takes.
    doc_id : str, optional
        The document to show; the first with chunks where left out.
    spans : DataFrame, optional
        Gold passages: ``doc_id, start, end`` (and ``query_id``).
    limit : int or None, default=20000
        Characters shown; None is all.

    Returns
    -------
    Table
        Shown as HTML by a notebook; text is escaped. ``.frame`` holds the pieces: ``name, start, end, text,
        chunk_ids, is_overlap, is_gold``.

    Raises
    ------
    ValueError
        If the document, or that of a chunk, is not in `docs`.

    See Also
    --------
    chunk_report : The same in numbers.
    ragkit.plot.chunks : The same as a ruler.

    Examples
    --------
    >>> import ragkit as rk
    >>> docs = {"d": "One <b>. Two."}
    >>> shown = show_chunks(rk.chunk(docs, size=8, overlap=0), docs)
    >>> shown.frame[["start", "end", "text", "chunk_ids"]].values.tolist()
    [[0, 8, 'One <b>.', 'd#0'], [8, 9, ' ', ''], [9, 13, 'Two.', 'd#1']]
    >>> "<b>" in shown._repr_html_()
    False
    """
    frame = as_docs(docs)
    parts = {name: ByDocument(part, frame) for name, part in named_chunks(chunks, "show_chunks").items()}
    row = choose_document(frame, next(iter(parts.values())), doc_id)
    text = frame["text"].iloc[row][: check_top_k(limit, "limit")]
    gold = gold_in(spans, frame["doc_id"].iloc[row])
    tables = {name: _pieces(text, part[row], gold) for name, part in parts.items()}
    heads = [_column(name, tables[name], parts[name][row], len(gold)) for name in tables]
    cut = "" if len(text) == len(frame["text"].iloc[row]) else '<p class="key">(the text goes on)</p>'
    title = f"<h4>{escape(str(frame['doc_id'].iloc[row]))}</h4>"
    html = f'{_CSS}<div class="rkc">{title}<div class="side">{"".join(heads)}</div>{cut}</div>'
    out = [table.assign(name=name) for name, table in tables.items()]
    names = ["name", "start", "end", "text", "chunk_ids", "is_overlap", "is_gold"]
    return Table(html, pd.concat(out, ignore_index=True)[names])


def _pieces(text: str, part: pd.DataFrame, gold: list[tuple[int, int]]) -> pd.DataFrame:
    """Cut the text at every edge of a chunk or passage: each piece lies in the same ones throughout."""
    spans = list(zip(part["start"].astype(int), part["end"].astype(int), part["chunk_id"]))
    edges = {0, len(text), *(e for a, b, _ in spans for e in (a, b)), *(e for a, b in gold for e in (a, b))}
    cuts = sorted(e for e in edges if 0 <= e <= len(text))
    rows = []
    first = 0
    for a, b in pairwise(cuts):
        # Ends of chunks do not fall, so those that are over stay over.
        while first < len(spans) and spans[first][1] <= a:
            first += 1
        inside = []
        for n in range(first, len(spans)):
            if spans[n][0] > a:
                break
            if spans[n][1] > a:
                inside.append(n)
        rows.append((a, b, text[a:b], inside, any(x <= a < y for x, y in gold)))
    return _table(rows, spans)


def _table(rows: list[tuple], spans: list[tuple[int, int, str]]) -> pd.DataFrame:
    starts = {a for a, _, _ in spans}
    return pd.DataFrame(
        {
            "start": np.array([r[0] for r in rows], dtype=np.int64),
            "end": np.array([r[1] for r in rows], dtype=np.int64),
            "text": pd.Series([r[2] for r in rows], dtype="str"),
            "chunk_ids": pd.Series([" ".join(str(spans[n][2]) for n in r[3]) for r in rows], dtype="str"),
            "is_overlap": np.array([len(r[3]) > 1 for r in rows], dtype=bool),
            "is_gold": np.array([r[4] for r in rows], dtype=bool),
            "_tint": np.array([r[3][-1] % 2 if r[3] else -1 for r in rows], dtype=np.int64),
            "_begins": np.array([r[0] in starts for r in rows], dtype=bool),
            "_title": pd.Series([_title(r[3], spans) for r in rows], dtype="str"),
        }
    )


def _title(inside: list[int], spans: list[tuple[int, int, str]]) -> str:
    """Say on hovering which chunks a piece lies in, where they are and how long."""
    return " | ".join(
        f"{spans[n][2]}: {spans[n][0]}-{spans[n][1]}, {spans[n][1] - spans[n][0]} characters" for n in inside
    )


def _column(name: str, table: pd.DataFrame, part: pd.DataFrame, passages: int) -> str:
    """Write one way of chunking: its name, a line of figures, the marked text."""
    sizes = (part["end"] - part["start"]).to_numpy()
    shared = int((table["end"] - table["start"])[table["is_overlap"]].sum())
    figures = f"{len(part)} chunks" + (f" of {sizes.min()} to {sizes.max()} characters" if len(part) else "")
    figures += f"; {shared} shared" + (f"; {passages} gold" if passages else "")
    head = f"<b>{escape(name)}</b><br>" if name else ""
    body = "".join(_piece(row) for row in table.itertuples(index=False, name=None))
    return f'<div>{head}<span class="key">{figures}</span><pre>{body}</pre></div>'


def _piece(row: tuple) -> str:
    _, _, text, chunk_ids, is_overlap, is_gold, tint, begins, title = row
    kinds = [("o" if is_overlap else f"c{tint}") if chunk_ids else "none"]
    kinds += (["g"] if is_gold else []) + (["e"] if begins else [])
    label = f' title="{escape(title)}"' if chunk_ids else ""
    return f'<span class="{" ".join(kinds)}"{label}>{escape(text)}</span>'
