"""Choosing a query: a list to step through, and a box for free text that suggests from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from ragkit.plot.labels import shorten
from ragkit.widgets.controls import dropdown, need_ipywidgets

GIVEN, WORST = "as given", "worst first"


def query_controls(queries: pd.DataFrame, judged: bool, query: str | None) -> dict[str, Any]:
    """Make a list of the queries and a box for free text that suggests them.

    Parameters
    ----------
    queries : DataFrame
        The queries.
    judged : bool
        Whether there are judgements, by which the list can be ordered.
    query : str or None
        What to show first: an id, or free text.

    Returns
    -------
    dict of str to widget
        ``query, text`` and, where there is something to order, ``order``.
    """
    W = need_ipywidgets()
    ids = queries["query_id"].tolist()
    pairs = choices(queries, ids, {})
    known = query is not None and query in ids
    first = query if known else (ids[0] if ids else None)
    controls = {
        "query": W.Dropdown(
            options=pairs,
            value=first,
            description="query",
            tooltip="Choose a query; typing its first letters finds it. The box beside it takes free text.",
            layout=W.Layout(flex="3 1 520px", width="auto", min_width="min(260px, 100%)"),
            style={"description_width": "44px"},
            disabled=not pairs,
        ),
        "text": W.Combobox(
            value="" if known or query is None else query,
            options=queries["text"].head(2000).tolist(),
            placeholder="type your own query, or part of one of these",
            description="text",
            tooltip="Free text; while it is empty the query on the left is searched.",
            layout=W.Layout(flex="2 1 360px", width="auto", min_width="min(240px, 100%)"),
            style={"description_width": "34px"},
            continuous_update=True,
        ),
    }
    if judged and len(pairs) > 1:
        tooltip = (
            "The order of the list of queries. worst first: those on which this setting scores lowest, "
            "by the first metric; the list is sorted once, not at every step."
        )
        controls["order"] = dropdown("order", GIVEN, [GIVEN, WORST], tooltip=tooltip)
        controls["order"].style.description_width = "40px"
        controls["order"].layout.width = "150px"
    return controls


def choices(queries: pd.DataFrame, ids: Sequence[str], scores: Mapping[str, float]) -> list[tuple[str, str]]:
    """Label queries for a list, with their score where one is known.

    Parameters
    ----------
    queries : DataFrame
        The queries.
    ids : sequence of str
        Which, and in which order.
    scores : dict of query id to float
        May lack any.

    Returns
    -------
    list of (label, id)
        For a list to choose from.
    """
    texts = dict(zip(queries["query_id"], queries["text"]))
    score = {i: f" · {scores[i]:.2f}" if i in scores else "" for i in ids}
    return [(f"{i}{score[i]} · {shorten(texts[i], 70)}", i) for i in ids]


def asked(queries: pd.DataFrame, state: Mapping[str, Any]) -> tuple[str, str]:
    """Give id and text of the query on show; free text that is one of the queries is that query.

    Parameters
    ----------
    queries : DataFrame
        The queries.
    state : dict
        Values by the name of their control.

    Returns
    -------
    (str, str)
        Free text has the first number that no query is called: ``"0"``, mostly.
    """
    text = state["text"].strip()
    if not text and state["query"] is not None:
        return state["query"], str(queries.loc[queries["query_id"] == state["query"], "text"].iloc[0])
    same = queries.loc[queries["text"] == text, "query_id"]
    if len(same):
        return str(same.iloc[0]), text
    taken = set(queries["query_id"])
    return next(str(n) for n in range(len(taken) + 1) if str(n) not in taken), text
