"""The result list: title, best snippet with the matched words marked, ledger bars, judgement, movement."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from html import escape
from typing import Any, NamedTuple

import pandas as pd

from ragkit.frames import unit_column
from ragkit.plot.labels import shorten
from ragkit.widgets import html


class Text(NamedTuple):
    """What is known of a unit: its title and its text."""

    title: str
    body: str


def word_spans(tokenizer: Callable[[str], list[str]], text: str) -> list[tuple[int, int, list[str]]]:
    """Find the words of a text and the tokens they give, for any tokenizer.

    Parameters
    ----------
    tokenizer : callable
        ``str -> list of str``; one with ``spans`` says itself where its words are.
    text : str
        Any text.

    Returns
    -------
    list of (start, end, tokens)
        In order.
    """
    spans = getattr(tokenizer, "spans", None)
    if callable(spans):
        return spans(text)
    return [(m.start(), m.end(), tokenizer(m.group())) for m in re.finditer(r"\w+", text)]


def snippet(text: str, hits: list[tuple[int, int, str]], width: int = 170) -> tuple[int, int]:
    """Choose the stretch of a text that holds the most different matched words.

    Parameters
    ----------
    text : str
        The text.
    hits : list of (start, end, token)
        Its matched words, in order.
    width : int, default=240
        Characters, about.

    Returns
    -------
    (int, int)
        Where it starts and ends; whole words.
    """
    if len(text) <= width:
        return 0, len(text)
    best, start = (0, 0), 0
    for n, (at, _, _) in enumerate(hits):
        inside = [token for _, end, token in hits[n:] if end <= at + width]
        best_here = (len(set(inside)), len(inside))
        if best_here > best:
            best, start = best_here, at
    start = max(0, min(start - width // 6, len(text) - width))
    if start:
        start = next((m.end() for m in re.finditer(r"\s+", text[start : start + 40])), 0) + start
    stop = min(len(text), start + width)
    cut = text.rfind(" ", start, stop + 1)
    return start, cut if stop < len(text) and cut > start + width // 2 else stop


def marked(
    text: str, tokens: set[str], tokenizer: Callable[[str], list[str]] | None, width: int = 170
) -> str:
    """Show the best stretch of a text, its matched words marked, everything escaped.

    Parameters
    ----------
    text : str
        A document's text.
    tokens : set of str
        The query's tokens.
    tokenizer : callable or None
        What cut the documents into tokens; None marks nothing.
    width : int, default=240
        Characters shown, about.

    Returns
    -------
    str
        HTML.
    """
    head = text[:20_000]  # a slider step must not wait for a book
    spans = word_spans(tokenizer, head) if tokenizer is not None and tokens else []
    hits = [(s, e, t) for s, e, found in spans for t in found[:1] if tokens.intersection(found)]
    start, stop = snippet(head, hits, width)
    parts, at = ["… " if start else ""], start
    for left, right, _ in hits:
        if left >= start and right <= stop:
            parts += [escape(head[at:left]), "<mark>", escape(head[left:right]), "</mark>"]
            at = right
    parts += [escape(head[at:stop]), " …" if stop < len(text) else ""]
    return "".join(parts)


class ResultList:
    """Turns runs into result tables; snippets are kept, for most slider steps show the same documents.

    Parameters
    ----------
    look_up : callable
        Unit id, doc id -> :class:`Text`.
    tokenizer : callable or None
        The keyword index's.
    """

    def __init__(self, look_up: Callable[[str, str], Text], tokenizer: Callable[[str], list[str]] | None):
        self._look_up = look_up
        self.tokenizer = tokenizer
        self._snippets: dict[tuple[str, frozenset[str]], str] = {}

    def table(
        self,
        run: pd.DataFrame,
        query: str,
        names: list[str],
        *,
        grades: Mapping[str, int] | None = None,
        before: Mapping[str, int] | None = None,
        against: str = "",
        others: Mapping[str, Mapping[str, int]] | None = None,
        parents: Mapping[str, str] | None = None,
    ) -> str:
        """Show the run of one query.

        Parameters
        ----------
        run : DataFrame
            A run of one query with its ledger.
        query : str
            The query's text.
        names : list of str
            The sources, in the order of the bars.
        grades : dict of doc id to grade, optional
            Judgements; a document without one is marked as unjudged.
        before : dict of unit id to rank, optional
            Ranks in the setting to compare with.
        against : str, default=""
            The name of that setting.
        others : dict of name to dict, optional
            Ranks in further settings, each a column.
        parents : dict of unit id to doc id, optional
            The documents of the units in `before`, for the titles of those that are gone.

        Returns
        -------
        str
            HTML.
        """
        tokens = frozenset(self.tokenizer(query)) if self.tokenizer is not None else frozenset()
        parts = [name for name in names if f"{name}_contribution" in run.columns]
        head = ["rank"]
        head += [f"from {against}"] if before is not None else []
        head += ["grade"] if grades is not None else []
        head += ["document", *(f"{name} rank" for name in parts), "score"]
        head += [f"rank in {name}" for name in others or {}]
        unit = unit_column(run)
        full = self._full(run, parts)
        rows = []
        for row in run.to_dict("records"):
            cells = [f'<td class="num">{row["rank"]}</td>']
            if before is not None:
                cells.append(moved(before.get(row[unit]), row["rank"]))
            if grades is not None:
                cells.append(grade(grades.get(row["doc_id"])))
            cells.append(self._document(row, unit, tokens, parts, full))
            cells += [html.cell(_whole(row[f"{name}_rank"])) for name in parts]
            cells.append(f'<td class="num">{row["score"]:.4f}</td>')
            cells += [html.cell(ranks.get(row[unit])) for ranks in (others or {}).values()]
            rows.append(f"<tr>{''.join(cells)}</tr>")
        titles = "".join(html.header(name, name != "document") for name in head)
        legend = f"<div>score made of {html.key(parts)}</div>" if parts else ""
        gone = self._gone(run, before or {}, against, parents or {})
        return legend + html.rows_table(titles, rows, len(head), "results") + gone

    def _gone(
        self, run: pd.DataFrame, before: Mapping[str, int], against: str, parents: Mapping[str, str]
    ) -> str:
        """Say which units of the other setting are no longer there."""
        here = set(run[unit_column(run)])
        lost = [unit for unit, _ in sorted(before.items(), key=lambda p: p[1]) if unit not in here]
        named = (
            f'<span title="{escape(unit, quote=True)}">{escape(self._called(unit, parents))}</span>'
            f" (was {before[unit]})"
            for unit in lost[:12]
        )
        words = f"gone since {escape(against)}: {', '.join(named)}" + (" …" if len(lost) > 12 else "")
        return f'<div class="rk-gone">{words}</div>' if lost else ""

    def _called(self, unit: str, parents: Mapping[str, str]) -> str:
        """The title of a unit, as the table has it; a chunk's id beside it, for its title has others."""
        doc = parents.get(unit, unit)
        title = shorten(self._look_up(unit, doc).title, 40)
        return title if title and doc == unit else f"{title} {unit}".strip()

    def _full(self, run: pd.DataFrame, parts: list[str]) -> float:
        """The score that fills a bar: the highest sum of positive parts."""
        if not parts or not len(run):
            return 0.0
        columns = [f"{name}_contribution" for name in parts]
        return float(run[columns].clip(lower=0).sum(axis=1).max())

    def _document(
        self, row: Mapping[Any, Any], unit: str, tokens: frozenset[str], parts: list[str], full: float
    ) -> str:
        key = (row[unit], tokens)
        if key not in self._snippets:
            if len(self._snippets) > 2000:
                self._snippets.clear()
            text = self._look_up(row[unit], row["doc_id"])
            name = f'<div class="title">{escape(text.title)}</div>' if text.title else ""
            body = marked(text.body, set(tokens), self.tokenizer)
            self._snippets[key] = f"{name}<div>{body}</div>"
        values = {name: float(_number(row[f"{name}_contribution"])) for name in parts}
        bar = html.bars(values, full) if parts else ""
        foot = f'{bar}<span class="id">{escape(row[unit])}</span>{_nearest(row)}'
        return f'<td class="doc">{self._snippets[key]}<div class="rk-foot">{foot}</div></td>'


def moved(before: int | None, now: int) -> str:
    """Say how a unit moved, with an arrow, a number and words.

    Parameters
    ----------
    before : int or None
        Its rank before; None if it was not there.
    now : int
        Its rank now.

    Returns
    -------
    str
        A table cell.
    """
    if before is None:
        return '<td class="num" title="was not there">new</td>'
    if before == now:
        return '<td class="num rk-muted" title="same rank">=</td>'
    arrow, word = ("▲", "up") if before > now else ("▼", "down")
    return f'<td class="num" title="{word} from rank {before}">{arrow} {abs(before - now)}</td>'


def grade(value: int | None) -> str:
    """Show a judgement by shape, number and colour.

    Parameters
    ----------
    value : int or None
        The grade; None is unjudged.

    Returns
    -------
    str
        A table cell.
    """
    if value is None:
        return '<td class="num rk-muted" title="not judged">?</td>'
    if value <= 0:
        return '<td class="num" title="judged not relevant" style="color:#D55E00">✗ 0</td>'
    return f'<td class="num" title="judged relevant, grade {value}" style="color:#009E73">✓ {value}</td>'


def _nearest(row: Mapping[Any, Any]) -> str:
    """Name the result picked before that is most like this one, where MMR has said so."""
    other = row.get("nearest_selected")
    if not isinstance(other, str):
        return ""
    return f'<span class="id">most like {escape(other)}, {html.number(row["max_similarity"], 2)}</span>'


def _whole(value: Any) -> int | None:
    return None if value is None or value != value else int(value)


def _number(value: Any) -> float:
    return 0.0 if value is None or value != value else value
