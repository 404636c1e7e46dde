"""Settings that were pinned: kept to compare with, shown as columns, taken away as a frame or as code."""

from __future__ import annotations

import string
from collections.abc import Mapping
from functools import cache
from html import escape
from typing import Any

import pandas as pd

from ragkit.metrics import metric_table
from ragkit.widgets import html

START, NOW = "start", "now"

_HOLM = (
    "<abbr title=\"p values are corrected by Holm's method for the number of comparisons: "
    'the more settings are tried, the likelier one looks better by chance">Holm</abbr>'
)


class Pins:
    """Pinned settings by name; the first is the one the lab started with.

    Parameters
    ----------
    start : dict
        Keyword arguments of ``HybridSearch.search``.
    given : dict of name to dict, optional
        Further pins.
    """

    def __init__(self, start: dict[str, Any], given: Mapping[str, Mapping[str, Any]] | None = None):
        self._start = dict(start)
        self.kept = {str(name): dict(params) for name, params in (given or {}).items()}
        strange = {START, NOW} & set(self.kept)
        if strange:
            raise ValueError(
                f"pins cannot be called {sorted(strange)}: the lab uses these names; choose others."
            )

    def __len__(self) -> int:
        return len(self.kept)

    @property
    def settings(self) -> dict[str, dict[str, Any]]:
        """The start and all pins."""
        return {START: self._start} | self.kept

    def add(self, params: dict[str, Any]) -> str:
        """Pin a setting under the next free letter.

        Parameters
        ----------
        params : dict
            Keyword arguments of ``HybridSearch.search``.

        Returns
        -------
        str
            Its name.
        """
        letters = [*string.ascii_uppercase, *(f"P{n}" for n in range(1, 1000))]
        name = next(letter for letter in letters if letter not in self.kept)
        self.kept[name] = dict(params)
        return name

    def clear(self) -> None:
        """Forget all pins but the start."""
        self.kept.clear()

    def frame(self, params: dict[str, Any]) -> pd.DataFrame:
        """List the settings with what differs between them.

        Parameters
        ----------
        params : dict
            The setting on show.

        Returns
        -------
        DataFrame
            One row per setting: ``system`` and a column per parameter.
        """
        rows = self.settings | {NOW: params}
        return pd.DataFrame([{"system": name, **setting} for name, setting in rows.items()])

    def differences(self, params: dict[str, Any]) -> str:
        """Say in words how each pin differs from the start.

        Parameters
        ----------
        params : dict
            The setting on show.

        Returns
        -------
        str
            HTML; empty without pins.
        """
        if not self.kept:
            return ""
        lines = []
        for name, setting in (self.kept | {NOW: params}).items():
            changed = [f"{k}={v!r}" for k, v in setting.items() if v != self._start.get(k)]
            lines.append(
                f"<div><b>{escape(name)}</b> {escape(', '.join(changed) or 'as at the start')}</div>"
            )
        return "".join(lines)

    def code(self, params: dict[str, Any]) -> str:
        """Write the Python that searches all queries with all settings.

        Parameters
        ----------
        params : dict
            The setting on show.

        Returns
        -------
        str
            Lines that need ``hybrid`` and ``queries``, and end with ``runs``.
        """
        names = "".join(
            f"    {name!r}: {setting!r},\n" for name, setting in (self.settings | {NOW: params}).items()
        )
        return (
            f"settings = {{\n{names}}}\n"
            "runs = {name: hybrid.search(queries, **setting) for name, setting in settings.items()}\n"
        )


def scores_table(scores: pd.DataFrame | None, against: str) -> str:
    """Show the metrics of one query, a column per setting, with the change to the one compared with.

    Parameters
    ----------
    scores : DataFrame or None
        ``metric`` and a column per setting.
    against : str
        The setting that ``now`` is compared with.

    Returns
    -------
    str
        HTML; empty where nothing is judged.
    """
    if scores is None:
        return ""
    shown = scores.assign(change=scores[NOW] - scores[against])
    head = "".join(html.header(str(name), name != "metric") for name in shown.columns)
    rows = (
        f"<tr><td>{metric_name(str(row[0]))}</td>{''.join(html.cell(value) for value in row[1:])}</tr>"
        for row in shown.itertuples(index=False)
    )
    body = html.rows_table(head, rows, len(shown.columns), "metrics of this query")
    return f'<div class="rk-title">this query</div>{body}'


def metric_name(name: str) -> str:
    """Write a metric's name, with what it means in its tooltip.

    Parameters
    ----------
    name : str
        As :func:`ragkit.evaluate` has it.

    Returns
    -------
    str
        HTML.
    """
    base, _, depth = name.partition("@")
    words = _meanings().get(base)
    if words is None:
        return escape(name)
    deep = f"; only the first {depth} results are looked at" if depth else ""
    return f'<abbr title="{escape(words + deep, quote=True)}">{escape(name)}</abbr>'


@cache
def _meanings() -> dict[str, str]:
    table = metric_table()
    names = (str(name).partition("@")[0] for name in table["metric"])
    return dict(zip(names, table["meaning"].astype(str)))


def means_table(table: pd.DataFrame | None, against: str, stale: bool = False) -> str:
    """Show the means over all queries with their intervals, differences and p-values.

    Parameters
    ----------
    table : DataFrame or None
        The frame of :func:`ragkit.compare`.
    against : str
        Its baseline.
    stale : bool, default=False
        Whether the numbers are those of an earlier setting, and new ones are on their way.

    Returns
    -------
    str
        HTML; empty where nothing is judged.
    """
    if table is None:
        return ""
    systems = list(dict.fromkeys(table["system"]))
    head = html.header("metric") + "".join(html.header(name, True) for name in systems)
    rows = []
    for metric, part in table.groupby("metric", sort=False):
        cells = [f"<td>{metric_name(str(metric))}</td>"]
        cells += [f'<td class="num">{_mean(row, against)}</td>' for row in part.to_dict("records")]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    n = int(table["queries"].iloc[0]) if "queries" in table.columns and len(table) else 0
    title = (
        f"mean over {n} queries with 95 % interval; below it the difference to {escape(against)} and "
        f"its p (randomisation test, {_HOLM})"
    )
    note = '<div class="rk-muted">working …</div>' if stale else ""
    body = html.rows_table(head, rows, len(systems) + 1, "mean metrics")
    style = ' style="opacity:.5"' if stale else ""
    return f'<div class="rk-title">{title}</div>{note}<div{style}>{body}</div>'


def _mean(row: Mapping[Any, Any], against: str) -> str:
    text = f"{html.number(row['mean'])} <span class='id'>[{row['ci_low']:.2f}, {row['ci_high']:.2f}]</span>"
    if row["system"] == against:
        return text
    delta = html.number(row["delta"])
    sign = "+" if row["delta"] > 0 and not delta.startswith("0.000") else ""
    p = "" if row["p_corrected"] != row["p_corrected"] else f", p {row['p_corrected']:.2g}"
    return f"{text}<br><span class='id'>{sign}{delta}{p}</span>"
