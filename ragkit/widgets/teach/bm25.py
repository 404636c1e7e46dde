"""``tune_bm25``: what k1, b and the variant do to the words of one query."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ragkit import plot
from ragkit.bm25.formulas import VARIANTS, term_weight
from ragkit.frames import as_docs, unit_column
from ragkit.plot.labels import shorten, unit_labels
from ragkit.widgets import html
from ragkit.widgets.controls import checkbox, dropdown, float_slider, int_slider, set_options
from ragkit.widgets.teach.base import Shown, TeachPanel, call, head_of, query_picker, text_of


def tune_bm25(
    index: Any,
    queries: Any,
    docs: Any = None,
    *,
    query: str | None = None,
    k1: float | None = None,
    b: float | None = None,
    variant: str | None = None,
    top_k: int = 8,
    controls: Mapping[str, Any] | None = None,
) -> TuneBM25:
    """Open a panel on BM25: the saturation and length curves, with the documents of a query on them.

    Parameters
    ----------
    index : KeywordIndex
        What is searched.
    queries : queries
        Queries to choose from.
    docs : documents, optional
        Where titles come from, if not from the index.
    query : str, optional
        The query to start with.
    k1, b : float, optional
        Where the sliders start; None for the index's own.
    variant : str, optional
        The formula to start with; None for the index's own.
    top_k : int, default=8
        How many results are shown.
    controls : dict of str to widget, optional
        Controls of another panel to share.

    Returns
    -------
    TuneBM25
        The panel; ``panel.value`` is the run on show.

    See Also
    --------
    KeywordIndex.search : What the sliders call.
    """
    given = {"k1": k1, "b": b, "variant": variant, "top_k": top_k}
    return TuneBM25(index, queries, docs, query, given, controls)


class TuneBM25(TeachPanel):
    """The panel that :func:`tune_bm25` opens; see there.

    Parameters
    ----------
    index, queries, docs, query : object
        As in :func:`tune_bm25`.
    given : dict
        Where the controls start.
    shared : dict of str to widget or None
        Controls of another panel.
    """

    name: ClassVar[str] = "tune_bm25"
    PICTURES: ClassVar[dict[str, tuple[float, float]]] = {
        "saturation": (4.6, 3.0), "length": (4.6, 3.0), "words": (5.4, 3.0)
    }  # fmt: skip

    def __init__(
        self,
        index: Any,
        queries: Any,
        docs: Any,
        query: str | None,
        given: Mapping[str, Any],
        shared: Mapping[str, Any] | None,
    ):
        self.index = index
        self.queries, picker = query_picker(queries, query)
        self._docs = as_docs(docs) if docs is not None else index.docs
        own = {name: given[name] if given[name] is not None else getattr(index, name) for name in ("k1", "b")}
        controls = {
            "query": picker,
            "k1": float_slider(
                "k1",
                float(own["k1"]),
                low=0.0,
                high=5.0,
                step=0.05,
                tooltip="How much repeating a word counts. 0: presence alone. Right: repeats count longer.",
            ),
            "b": float_slider(
                "b",
                float(own["b"]),
                low=0.0,
                high=1.0,
                step=0.01,
                tooltip="How much long documents are marked down. 0: not at all. 1: in full proportion.",
            ),
            "variant": dropdown(
                "variant",
                given["variant"] or index.variant,
                [name for name in VARIANTS if name != "dirichlet"],
                tooltip="Which formula weighs the words",
            ),
            "top_k": int_slider(
                "top_k", given["top_k"], low=1, high=20, tooltip="How many results are shown. Right: more."
            ),
            "word": dropdown("word", "", [""], tooltip="The query's word whose curves are drawn"),
            "others": checkbox(
                "overlay the other variants", False, tooltip="Draw the curves of all variants in grey"
            ),
        }
        super().__init__(controls, shared=shared)
        self._fill_words()
        self._open([("formula", ["k1", "b", "variant"]), ("show", ["top_k", "word", "others"])])
        self.controls["query"].observe(self._query_changed, "value")

    def _words(self) -> list[str]:
        """The words of the query; none where the tokenizer fails: the search then fails too, and says so."""
        try:
            words = self.index.tokenizer(text_of(self.queries, self.controls["query"].value))
        except Exception:
            return []
        return list(dict.fromkeys(words)) or [""]

    def _fill_words(self) -> None:
        words = self._words()
        if words:
            set_options(self, self.controls["word"], [(w, w) for w in words])

    def _query_changed(self, change: Any) -> None:
        self._fill_words()

    def _read(self) -> dict[str, Any]:
        state = super()._read()
        words = self._words()
        return state if not words or state["word"] in words else state | {"word": words[0]}

    def _public(self, state: dict[str, Any]) -> dict[str, Any]:
        return {name: state[name] for name in ("query", "k1", "b", "variant", "top_k")}

    def _setting(self, state: Mapping[str, Any]) -> dict[str, Any]:
        return {name: state[name] for name in ("k1", "b", "variant")}

    def _compute(self, state: dict[str, Any]) -> Shown:
        text = text_of(self.queries, state["query"])
        setting = self._setting(state)
        run = self.index.search({state["query"]: text}, top_k=state["top_k"], **setting)
        unit = unit_column(run)
        parts = [
            self.index.explain(text, u, **setting).assign(unit=u, rank=r)
            for u, r in zip(run[unit], run["rank"])
        ]
        none = pd.DataFrame({"part": [], "tf": [], "contribution": [], "unit": [], "rank": []})
        words = pd.concat(parts, ignore_index=True) if parts else none
        return Shown(run, {"words": words, "curves": self._curves(state, words)})

    def _curves(self, state: Mapping[str, Any], words: pd.DataFrame) -> dict[str, pd.DataFrame]:
        """The weight of the chosen word by count and by length, with this query's documents as points."""
        stats = self.index.stats()
        average = stats["average_length"]
        average = float(next(iter(average.values())) if isinstance(average, dict) else average) or 1.0
        terms = self.index.terms()
        df = int(terms.loc[terms["term"] == state["word"], "df"].sum())
        mine = words[words["part"] == state["word"]]
        most = max(8.0, float(mine["tf"].max()) + 1 if len(mine) else 0.0)
        tf = np.linspace(0.05, most, 80)
        length = np.linspace(0.1, 3.0, 80)
        names = list(VARIANTS) if state["others"] else [state["variant"]]
        by_tf, by_length = [], []
        for name in [n for n in names if n != "dirichlet"]:
            knobs: dict[str, Any] = {"variant": name, "k1": state["k1"], "b": state["b"]}
            n = max(len(self.index), 1)
            w = term_weight(tf, max(df, 1), n, average, average, **knobs)
            by_tf.append(pd.DataFrame({"count in the document": tf, "weight": w, "variant": name}))
            w = term_weight(1.0, max(df, 1), n, length * average, average, **knobs)
            by_length.append(pd.DataFrame({"length / average": length, "weight": w, "variant": name}))
        return {"tf": pd.concat(by_tf), "length": pd.concat(by_length)}

    def _points(self, state: Mapping[str, Any], result: Shown, x: str) -> pd.DataFrame:
        words = result.more["words"]
        mine = words[(words["part"] == state["word"]) & (words["tf"] > 0)]
        labels = unit_labels(mine["unit"], self._docs, 18)
        if any(label.startswith(f"{unit} ") for unit, label in labels.items()):
            # Where some need their ids to be told apart, all have them: a mixture reads like two kinds.
            labels = {u: v if v.startswith(u) else shorten(f"{u} {v}", 18) for u, v in labels.items()}
        column = {"count in the document": "tf"}
        values = mine[column[x]].to_numpy() if x in column else self._lengths(mine["unit"])
        return pd.DataFrame(
            {x: values, "weight": mine["contribution"].to_numpy(), "label": [labels[u] for u in mine["unit"]]}
        )

    def _lengths(self, units: pd.Series) -> np.ndarray:
        average = self.index.stats()["average_length"]
        average = float(next(iter(average.values())) if isinstance(average, dict) else average) or 1.0
        return np.array([len(self.index.tokenizer(self.index.get(u)["text"])) / average for u in units])

    def _drawings(self, state: dict[str, Any], result: Shown) -> dict[str, tuple[Any, str]]:
        tf, length = "count in the document", "length / average"
        lines, word = result.more["curves"], state["word"]

        def draw(frame: pd.DataFrame, x: str, drawn_for: str) -> Any:
            points = self._points(state, result, x)

            def make(ax: Any) -> Any:
                plot.curves(frame, points, x=x, y="weight", by="variant", highlight=state["variant"], ax=ax)
                # Documents of another length, or count, lie beside the curve, and this says why.
                ax.set_xlabel(f"{x}; curve: {drawn_for}")
                return ax

            return make

        return {
            "saturation": (
                draw(lines["tf"], tf, "document of average length"),
                f"Weight of “{word}” by how often it stands in a document",
            ),
            "length": (
                draw(lines["length"], length, "word that stands once"),
                f"Weight of “{word}” by the length of the document",
            ),
            "words": (lambda ax: self._bars(result, ax), "What each word of the query adds to each score"),
        }

    def _keys(self, result: Shown) -> dict[str, list[str]]:
        return {"words": list(dict.fromkeys(result.more["words"]["part"])) or ["score"]}

    def _bars(self, result: Shown, ax: Any) -> Any:
        """Stack the words of the query in each score."""
        run, words = result.value, result.more["words"]
        unit = unit_column(run)
        wide = words.pivot_table(
            index="unit", columns="part", values="contribution", sort=False, aggfunc="sum"
        )
        ledger = {f"{w}_contribution": run[unit].map(wide[w]).fillna(0.0) for w in wide.columns}
        if not ledger:
            ledger = {"score_contribution": run["score"]}
        return plot.contributions(run.assign(**ledger), docs=self._docs, top_k=20, ax=ax)

    def _render(self, state: dict[str, Any], result: Shown) -> dict[str, str]:
        words = result.more["words"]
        columns = [
            c for c in ("part", "tf", "df", "idf", "length_norm", "saturation", "contribution") if c in words
        ]
        labels = unit_labels(result.value[unit_column(result.value)], self._docs, 40)
        shown = words[words["tf"] > 0][["rank", "unit", *columns]] if len(words) else words
        whole = [c for c in ("tf", "df") if c in shown and (shown[c] == shown[c].round()).all()]
        shown = shown.astype(dict.fromkeys(whole, "int64"))
        shown = shown.assign(unit=[labels.get(u, u) for u in shown["unit"]]).rename(
            columns={"part": "word", "unit": "document", "length_norm": "length norm"}
        )
        caption = "words of the query in each document"
        return {"table": html.wrap(html.table(shown, caption=caption, once=["rank", "document"]))}

    def _summary(self, state: dict[str, Any], result: Shown) -> str:
        text = text_of(self.queries, state["query"])
        best = unit_labels(result.value[unit_column(result.value)].head(1), self._docs, 40)
        return f"{len(result.value)} results for “{text}”; first is {next(iter(best.values()), 'none')}"

    def _program(self, params: dict[str, Any], setup: str | None) -> str:
        query = params["query"]
        asked = f"{{{query!r}: {text_of(self.queries, query)!r}}}"
        rest = {name: params[name] for name in ("top_k", "k1", "b", "variant")}
        needs = "`index`, the ragkit.KeywordIndex that the panel was opened on"
        return head_of(setup, needs) + "value = " + call("index.search", [asked], rest)
