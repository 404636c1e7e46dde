"""``tune_chunks``: where a document is cut, live, and what that does to its answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ragkit.chunking import chunk, chunk_report, show_chunks
from ragkit.chunking.methods import METHODS
from ragkit.frames import as_docs
from ragkit.plot.labels import shorten
from ragkit.widgets import html
from ragkit.widgets.controls import dropdown, int_slider, need_ipywidgets
from ragkit.widgets.teach.base import Shown, TeachPanel, call, head_of
from ragkit.widgets.teach.spans import SpanScores

_WORDS = (
    "span_recall: the share of the gold that is found; span_precision: the share of gold in what is found; "
    "span_iou: what is shared of both together; precision_omega: the precision that perfect retrieval would "
    "reach."
)
_HATCHES = ("", "///", "...", "xxx", "---")


def tune_chunks(
    docs: Any,
    spans: pd.DataFrame | None = None,
    *,
    doc_id: str | None = None,
    method: str = "sentence",
    size: int = 400,
    overlap: int | None = None,
    beside: str | Sequence[str] | None = None,
    queries: Any = None,
    retriever: Callable[[pd.DataFrame], Any] | None = None,
    top_k: int = 5,
    controls: Mapping[str, Any] | None = None,
) -> TuneChunks:
    """Open a panel on chunking: the text with its chunks, their sizes, and what the cuts do to the answers.

    With gold passages the panel scores the methods on show over all documents, live: how much of the gold
    what is retrieved holds, and how much else (:func:`ragkit.score_chunks`).

    Parameters
    ----------
    docs : documents
        What is cut.
    spans : DataFrame, optional
        Gold passages, ``query_id, doc_id, start, end``: with them the panel says how many lie whole in
        one chunk, and scores the chunks.
    doc_id : str, optional
        The document to start with.
    method, size, overlap : optional
        Where the controls start; as in :func:`ragkit.chunk`.
    beside : str or list of str, optional
        Further methods, shown beside the first.
    queries : queries, optional
        What the chunks are searched with, for the scores; without them the search is taken to be perfect: it
        finds every chunk that touches gold, and the scores are what this cut allows at best.
    retriever : callable, optional
        ``chunks -> store``, what searches them: ``lambda chunks: rk.VectorStore(chunks, embed=embed)``. A
        KeywordIndex by default.
    top_k : int, default=5
        How many chunks are retrieved for each query.
    controls : dict of str to widget, optional
        Controls of another panel to share.

    Returns
    -------
    TuneChunks
        The panel; ``panel.value`` holds the chunks of the document on show, ``panel.scores`` the scores of
        each method and query.

    See Also
    --------
    ragkit.chunk : What the controls call.
    ragkit.score_chunks : What the scores are.
    ragkit.sweep : The same over a grid of settings.
    """
    beside = [beside] if isinstance(beside, str) else list(beside or ())
    given = {"doc_id": doc_id, "method": method, "size": size, "overlap": overlap, "beside": beside,
             "top_k": top_k}  # fmt: skip
    return TuneChunks(docs, spans, queries, retriever, given, controls)


class TuneChunks(TeachPanel):
    """The panel that :func:`tune_chunks` opens; see there.

    Parameters
    ----------
    docs, spans, queries, retriever : object
        As in :func:`tune_chunks`.
    given : dict
        Where the controls start.
    shared : dict of str to widget or None
        Controls of another panel.
    """

    name: ClassVar[str] = "tune_chunks"
    PICTURES: ClassVar[dict[str, tuple[float, float]]] = {"sizes": (5.0, 2.2)}
    BOXES: ClassVar[tuple[str, ...]] = ("report", "scores", "text")

    def __init__(
        self,
        docs: Any,
        spans: pd.DataFrame | None,
        queries: Any,
        retriever: Callable[[pd.DataFrame], Any] | None,
        given: Mapping[str, Any],
        shared: Mapping[str, Any] | None,
    ):
        W = need_ipywidgets()
        self.docs, self.spans = as_docs(docs), spans
        self._scoring = None if spans is None else SpanScores(self.docs, spans, queries, retriever)
        searched = self._scoring is not None and len(self._scoring.queries) > 0
        ids = self.docs["doc_id"].tolist()
        if not ids:
            raise ValueError("tune_chunks needs at least one document; got none.")
        titles = self.docs["title"] if "title" in self.docs else self.docs["text"]
        pairs = [(f"{i} · {shorten(str(t), 60)}", i) for i, t in zip(ids, titles)]
        start = str(given["doc_id"]) if given["doc_id"] is not None else self._first(ids)
        if start not in ids:
            raise ValueError(f"unknown document {start!r}; the first ones are {ids[:5]}.")
        # Methods that need an embedder, or a file's language, cannot be turned on by a list.
        methods = [m for m in METHODS if m != "semantic"]
        controls = {
            "doc_id": W.Dropdown(
                options=pairs, value=start, description="doc_id", tooltip="The document on show",
                layout=W.Layout(width="auto", max_width="640px"), style={"description_width": "56px"},
            ),
            "method": dropdown("method", given["method"], methods, tooltip="Where the text may be cut"),
            "size": int_slider(
                "size",
                given["size"],
                low=40,
                high=2000,
                step=20,
                tooltip="The most characters of a chunk. Right: fewer, longer chunks.",
            ),
            "overlap": int_slider(
                "overlap",
                -1 if given["overlap"] is None else given["overlap"],
                low=-1,
                high=400,
                tooltip="Characters shared with the chunk before. -1: the default, a fifth of size. "
                "Right: more.",
            ),
            "beside": W.SelectMultiple(
                options=methods, value=given["beside"], description="beside", rows=4,
                tooltip="Further methods to compare with; hold Ctrl to choose several, or none",
                layout=W.Layout(width="auto"),
            ),
            **({"top_k": int_slider(
                "top_k", given["top_k"], low=1, high=20,
                tooltip="How many chunks are retrieved for each query, for the scores. Right: more.",
            )} if searched else {}),
        }  # fmt: skip
        super().__init__(controls, shared=shared)
        compare = ["beside", *(["top_k"] if searched else [])]
        self._open([("cut", ["method", "size", "overlap"]), ("compare", compare)])

    def _first(self, ids: list[str]) -> str:
        """Begin with a document that has gold."""
        gold = set() if self._scoring is None else set(self._scoring.spans["doc_id"])
        return next((i for i in ids if i in gold), ids[0])

    def _public(self, state: dict[str, Any]) -> dict[str, Any]:
        return {
            "doc_id": state["doc_id"],
            "method": state["method"],
            "size": state["size"],
            "overlap": None if state["overlap"] < 0 else state["overlap"],
            "beside": list(state["beside"]),
            **({"top_k": state["top_k"]} if "top_k" in state else {}),
        }

    @staticmethod
    def _methods(params: Mapping[str, Any]) -> list[str]:
        """The methods on show, the chosen one first."""
        return list(dict.fromkeys([params["method"], *params["beside"]]))

    def _compute(self, state: dict[str, Any]) -> Shown:
        params = self._public(state)
        one = self.docs[self.docs["doc_id"] == params["doc_id"]].reset_index(drop=True)
        knobs = {"size": params["size"], "overlap": params["overlap"]}
        ways = {name: chunk(one, method=name, **knobs) for name in self._methods(params)}
        return Shown(ways[params["method"]], {"ways": ways, "doc": one})

    # --- scores -------------------------------------------------------------------------------------------

    @property
    def scores(self) -> pd.DataFrame:
        """The scores of the methods on show, ``system, query_id, metric, value``; empty without gold."""
        return self._scored(self.params)

    def _scored(self, params: Mapping[str, Any]) -> pd.DataFrame:
        if self._scoring is None:
            return pd.DataFrame({"system": [], "query_id": [], "metric": [], "value": []})
        knobs = {"size": params["size"], "overlap": params["overlap"]}
        tables = [
            self._scoring.of({"method": name, **knobs}, params.get("top_k", 0)).assign(system=name)
            for name in self._methods(params)
        ]
        return pd.concat(tables, ignore_index=True)[["system", "query_id", "metric", "value"]]

    def _later(self, state: dict[str, Any], result: Shown) -> dict[str, str]:
        if self._scoring is None:
            return {}
        scores = self._scored(self.params)
        means = scores.pivot_table("value", "system", "metric", sort=False).reset_index()
        means = means.rename(columns={"system": "method"}).rename_axis(columns=None)
        how = "if every chunk that touches gold were found, and no other"
        if "top_k" in self.params:
            how = f"from the first {self.params['top_k']} chunks that {self._scoring.name} finds"
        title = f"gold found in all {len(self.docs)} documents, {how}"
        note = f"Means over {scores['query_id'].nunique()} queries. {_WORDS}"
        head = f'<div class="rk-title">{escape(title)}</div><div class="rk-gone">{escape(note)}</div>'
        return {"scores": html.wrap(head + html.table(means, caption="scores of the chunks"))}

    def _gold(self, doc_id: str) -> pd.DataFrame | None:
        if self.spans is None:
            return None
        return self.spans[self.spans["doc_id"].astype(str) == doc_id]

    def _whole(self, chunks: pd.DataFrame, gold: pd.DataFrame) -> tuple[int, float]:
        """How many gold passages lie whole in one chunk, and how much of the best chunk they fill."""
        whole, share = 0, []
        starts, ends = chunks["start"].to_numpy(), chunks["end"].to_numpy()
        for start, end in zip(gold["start"], gold["end"]):
            inside = (starts <= start) & (ends >= end)
            whole += bool(inside.any())
            both = np.clip(np.minimum(ends, end) - np.maximum(starts, start), 0, None)
            share.append(float((both / np.maximum(ends - starts, 1)).max(initial=0.0)))
        return whole, float(np.mean(share)) if share else 0.0

    def _render(self, state: dict[str, Any], result: Shown) -> dict[str, str]:
        ways, doc = result.more["ways"], result.more["doc"]
        gold = self._gold(state["doc_id"])
        rows = []
        for name, chunks in ways.items():
            report = chunk_report(chunks, doc).iloc[0]
            row: dict[str, Any] = {"method": name}
            row |= {
                c: report[c]
                for c in ("chunks", "mean", "shortest", "longest", "duplicated", "uncovered", "sentences_cut")
            }
            if gold is not None and len(gold):
                whole, share = self._whole(chunks, gold)
                row |= {"answers whole in a chunk": f"{whole} of {len(gold)}", "share of the chunk": share}
            rows.append(row)
        # Lengths are whole numbers again: the report has them as floats, for there may be no chunk.
        frame = pd.DataFrame(rows).convert_dtypes().rename(columns={"sentences_cut": "sentences cut"})
        table = html.table(frame, digits=2, caption="report")
        shown = show_chunks(ways if len(ways) > 1 else result.value, doc, doc_id=state["doc_id"], spans=gold)
        return {"report": html.wrap(table), "text": shown._repr_html_()}

    def _drawings(self, state: dict[str, Any], result: Shown) -> dict[str, tuple[Any, str]]:
        sizes = {name: (c["end"] - c["start"]).to_numpy() for name, c in result.more["ways"].items()}
        return {"sizes": (lambda ax: _draw_sizes(ax, sizes), "How long the chunks are")}

    def _summary(self, state: dict[str, Any], result: Shown) -> str:
        lengths = result.value["end"] - result.value["start"]
        mean = f", {lengths.mean():.0f} characters on average" if len(lengths) else ""
        return f"{len(result.value)} chunks of {state['doc_id']}{mean}"

    def _program(self, params: dict[str, Any], setup: str | None) -> str:
        one = f"one = docs[docs['doc_id'] == {params['doc_id']!r}].reset_index(drop=True)\n"
        knobs = {name: params[name] for name in ("method", "size", "overlap")}
        program = f"docs = rk.as_docs(docs)\n{one}value = " + call("rk.chunk", ["one"], knobs)
        if self._scoring is None:
            return head_of(setup, "`docs`, as the panel was opened on") + program
        scores, names = self._scoring.program(self._methods(params), knobs, params.get("top_k"))
        needs = f"`docs`, `spans`{''.join(f', `{name}`' for name in names)}, as the panel was opened on"
        return head_of(setup, needs) + program + scores


def _draw_sizes(ax: Any, sizes: Mapping[str, np.ndarray]) -> None:
    """Draw a histogram of the chunks' lengths, the bars of several methods side by side."""
    from ragkit.plot.style import COLOURS, tidy

    top = max((int(s.max()) for s in sizes.values() if len(s)), default=1)
    bins = np.linspace(0, top, 21 if len(sizes) == 1 else 11)
    colours = [COLOURS[n % len(COLOURS)] for n in range(len(sizes))]
    ax.hist(list(sizes.values()), bins, color=colours, label=list(sizes), edgecolor="white", linewidth=0)
    for bars, hatch in zip(ax.containers, _HATCHES * len(sizes)):
        for bar in bars:
            bar.set_hatch(hatch)
    if len(sizes) > 1:
        ax.legend(frameon=False, fontsize=9)
    ax.set_xlabel("characters in a chunk")
    ax.set_ylabel("chunks")
    ax.locator_params(axis="y", integer=True, nbins=4)
    tidy(ax)
