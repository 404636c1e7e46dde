"""``explore``: the lab, sliders for every knob of a hybrid search and what they lead to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

import pandas as pd

from ragkit import plot
from ragkit.diversity import mmr_path
from ragkit.frames import as_docs, as_qrels, as_queries, best_per_doc, unit_column
from ragkit.fusion.options import check_weights
from ragkit.hybrid import WEIGHTS
from ragkit.metrics import evaluate
from ragkit.plot.labels import shorten
from ragkit.widgets import html
from ragkit.widgets.controls import button, need_ipywidgets, toggle
from ragkit.widgets.knobs import DEFAULTS, Knobs, filter_columns
from ragkit.widgets.panel import Panel
from ragkit.widgets.picture import Picture
from ragkit.widgets.results import ResultList, Text

PLOTS = ("ranks", "contributions", "trade-off")
_TOOLTIPS = {
    "ranks": "Who stands where in each system, joined by lines",
    "contributions": "What each retriever added to the fused scores",
    "trade-off": "Relevance against diversity for every lambda_",
}


class Found(NamedTuple):
    """What one setting finds for one query."""

    value: pd.DataFrame  # the run on show
    pool: pd.DataFrame  # everything fused, before MMR and cutting
    systems: dict[str, pd.DataFrame]  # each stage's own ranking
    default: pd.DataFrame  # the run of the setting to compare with
    scores: pd.DataFrame | None  # metrics of this query, now and in that setting
    path: pd.DataFrame | None  # every selection over lambda


def explore(
    hybrid: Any,
    queries: Any = None,
    qrels: Any = None,
    docs: Any = None,
    *,
    query: str | None = None,
    metrics: Any = ("ndcg@10", "recall@10", "rr"),
    plots: Any = ("ranks", "contributions"),
    controls: Mapping[str, Any] | None = None,
    top_k: int = 10,
    pool: int = 100,
    fusion: str = "rrf",
    weights: Mapping[str, float] | None = WEIGHTS,
    k: float = 60,
    normalize: Any = None,
    missing: Any = None,
    k1: float | None = None,
    b: float | None = None,
    variant: str | None = None,
    lambda_: float | None = None,
    fetch_k: int = 50,
    scale: str | None = "minmax",
    threshold: float | None = None,
    min_score: float | None = None,
    where: Any = None,
) -> Lab:
    """Open the lab: sliders for every knob of a hybrid search, and what they lead to.

    Parameters
    ----------
    hybrid : HybridSearch
        What is searched.
    queries : queries, optional
        Queries to choose from; without them there is the box for free text.
    qrels : judgements, optional
        With them the lab shows grades, and metrics of the setting against the one it started with.
    docs : documents, optional
        Where titles and texts come from, if not from the stores.
    query : str or None, default=None
        What to show first: the id of one of the queries, or free text.
    metrics : list of str, default=("ndcg@10", "recall@10", "rr")
        Metrics to show.
    plots : list of str, default=("ranks", "contributions")
        Plots to show first, of ``"ranks"``, ``"contributions"``, ``"trade-off"``.
    controls : dict of str to widget, optional
        Controls of another panel to share: ``controls={"lambda_": other.controls["lambda_"]}``.
    top_k, pool, fusion, weights, k, normalize, missing, k1, b, variant : optional
        Where the controls start; as in :meth:`HybridSearch.search`.
    lambda_, fetch_k, scale, threshold, min_score, where : optional
        As in :meth:`HybridSearch.search`; ``lambda_=None`` is without MMR.

    Returns
    -------
    Lab
        The panel; the last line of a cell shows it. ``panel.params`` are keyword arguments of
        :meth:`HybridSearch.search` and of this function, ``panel.value`` is the run on show.

    See Also
    --------
    HybridSearch.search : What the sliders call.

    Examples
    --------
    >>> import ragkit as rk
    >>> docs = {"fox": "red fox", "hen": "white hen", "wine": "red red wine"}
    >>> hybrid = rk.HybridSearch(rk.KeywordIndex(docs), rk.VectorStore(docs, embed=rk.LSAEmbedder()))
    >>> panel = explore(hybrid, {"q1": "red wine"})
    >>> panel.controls["top_k"].value = 1
    >>> panel.value["doc_id"].tolist()
    ['wine']
    >>> panel.close()
    """
    given = {
        "top_k": top_k, "pool": pool, "fusion": fusion, "weights": weights, "k": k, "normalize": normalize,
        "missing": missing, "k1": k1, "b": b, "variant": variant, "lambda_": lambda_, "fetch_k": fetch_k,
        "scale": scale, "threshold": threshold, "min_score": min_score, "where": where,
    }  # fmt: skip
    return Lab(
        hybrid, queries, qrels, docs, given, query=query, metrics=metrics, plots=plots, shared=controls
    )


class Lab(Panel):
    """The panel that :func:`explore` opens; see there.

    Parameters
    ----------
    hybrid : HybridSearch
        What is searched.
    queries, qrels, docs : queries, judgements, documents or None
        As in :func:`explore`.
    given : dict
        Keyword arguments of ``HybridSearch.search`` to start with.
    query : str or None
        What to show first.
    metrics : list of str
        Metrics to show.
    plots : list of str
        Plots to show first.
    shared : dict of str to widget or None
        Controls of another panel.
    """

    name: ClassVar[str] = "explore"

    def __init__(
        self,
        hybrid: Any,
        queries: Any,
        qrels: Any,
        docs: Any,
        given: Mapping[str, Any],
        *,
        query: str | None,
        metrics: Any,
        plots: Any,
        shared: Mapping[str, Any] | None,
    ):
        self.hybrid = hybrid
        self.queries = as_queries({} if queries is None else queries)
        self.qrels = None if qrels is None else as_qrels(qrels)
        self.metrics = [metrics] if isinstance(metrics, str) or callable(metrics) else list(metrics)
        self.names = list(hybrid.sources)
        index, store = getattr(hybrid, "index", None), getattr(hybrid, "store", None)
        self._docs = None if docs is None else as_docs(docs)
        self._results = ResultList(self._look_up, getattr(index, "tokenizer", None))
        self._start_params = dict(DEFAULTS) | dict(given)
        weights = start_weights(self._start_params["weights"], self.names)
        self._start_params["weights"] = weights
        known = _stored_docs(index, store)
        self._knobs = Knobs(
            self.names, index, store, self._start_params, weights, len(known), filter_columns(known)
        )
        controls = self._query_controls(query) | self._knobs.controls
        super().__init__(controls, shared=shared)
        self._pictures = {name: Picture(*_SIZES[name]) for name in PLOTS}
        self._toggles = {name: toggle(name, name in plots, tooltip=_TOOLTIPS[name]) for name in PLOTS}
        self._drawn: dict[str, Any] = {}
        self._start(self._lay_out())
        for switch in self._toggles.values():
            switch.observe(self._changed, "value")

    # --- the query ---------------------------------------------------------------------------------

    def _query_controls(self, query: str | None) -> dict[str, Any]:
        """A list of the queries and a box for free text that suggests them."""
        W = need_ipywidgets()
        pairs = [
            (f"{i} · {shorten(t, 70)}", i) for i, t in zip(self.queries["query_id"], self.queries["text"])
        ]
        known = query is not None and query in set(self.queries["query_id"])
        first = query if known else (pairs[0][1] if pairs else None)
        free = "" if known or query is None else query
        wide = W.Layout(flex="1 1 320px", width="auto", min_width="220px")
        style = {"description_width": "44px"}
        picker = W.Dropdown(
            options=pairs,
            value=first,
            description="query",
            tooltip="Choose a query; typing its first letters finds it. The box beside it takes free text.",
            layout=wide,
            style=style,
            disabled=not pairs,
        )
        box = W.Combobox(
            value=free,
            options=[t for _, t in zip(range(2000), self.queries["text"])],
            placeholder="type your own query, or part of one of these",
            description="text",
            tooltip="Free text; while it is empty the query on the left is searched.",
            layout=wide,
            style=style,
            continuous_update=True,
        )
        return {"query": picker, "text": box}

    def _asked(self, state: Mapping[str, Any]) -> tuple[str, str]:
        """Id and text of the query on show; free text that is one of the queries is that query."""
        text = state["text"].strip()
        if not text and state["query"] is not None:
            match = self.queries["query_id"] == state["query"]
            return state["query"], self.queries.loc[match, "text"].iloc[0]
        same = self.queries.loc[self.queries["text"] == text, "query_id"]
        return (same.iloc[0] if len(same) else "0"), text

    @property
    def query(self) -> str:
        """The query on show, as `explore` takes it: its id, or the free text."""
        text = self._state["text"].strip()
        return text or self._state["query"] or ""

    @property
    def state(self) -> dict[str, Any]:
        """Everything that brings this screen back: ``explore(hybrid, queries, qrels, **panel.state)``."""
        return {"query": self.query or None, "plots": list(self._state["plots"]), **self.params}

    def _step(self, by: int) -> None:
        """Go to the next query or the one before."""
        picker = self.controls["query"]
        ids = [value for _, value in picker.options]
        if ids:
            with self.batch():
                self.controls["text"].value = ""
                picker.value = ids[(ids.index(picker.value) + by) % len(ids)]

    # --- layout ------------------------------------------------------------------------------------

    def _lay_out(self) -> list[Any]:
        W = need_ipywidgets()
        back = button("previous", tooltip="The query before")
        on = button("next", tooltip="The query after")
        back.on_click(lambda _: self._step(-1))
        on.on_click(lambda _: self._step(+1))
        row = W.Layout(flex_flow="row wrap", align_items="center", width="100%")
        steps = [back, on] if len(self.queries) > 1 else []
        picker = [self.controls["query"]] if len(self.queries) else []
        pictures = [self._box(name, width="auto") for name in PLOTS]
        style = self._box("style")
        style.value = html.CSS
        shows = W.HBox(list(self._toggles.values()), layout=W.Layout(flex_flow="row wrap"))
        results = self._box(
            "results",
            flex="2 1 560px",
            width="auto",
            min_width="min(560px, 100%)",
            min_height="240px",
            overflow="auto",
        )
        aside = W.VBox(
            [shows, *pictures, self._box("scores", width="auto")],
            layout=W.Layout(flex="1 1 440px", width="auto", min_width="min(420px, 100%)"),
        )
        return [
            style,
            W.HBox([*picker, *steps, self.controls["text"]], layout=row),
            W.HBox(self._knobs.boxes(self.controls), layout=W.Layout(flex_flow="row wrap", width="100%")),
            self._message,
            W.HBox(
                [results, aside],
                layout=W.Layout(flex_flow="row wrap", align_items="flex-start", width="100%"),
            ),
        ]

    # --- compute -----------------------------------------------------------------------------------

    def _read(self) -> dict[str, Any]:
        return super()._read() | {"plots": tuple(n for n, switch in self._toggles.items() if switch.value)}

    def _public(self, state: dict[str, Any]) -> dict[str, Any]:
        return self._knobs.params(state)

    def _compute(self, state: dict[str, Any]) -> Found:
        query_id, text = self._asked(state)
        query = {query_id: text}
        params = self._knobs.params(state)
        value = self.hybrid.search(query, **params)
        pool = self.hybrid.search(query, **(params | {"lambda_": None, "top_k": None, "threshold": None}))
        default = self.hybrid.search(query, **self._start_params)
        systems = self._systems(pool, value, params["lambda_"] is not None)
        path = self._path(pool, params) if "trade-off" in state["plots"] else None
        return Found(value, pool, systems, default, self._score(query_id, value, default), path)

    def _path(self, pool: pd.DataFrame, params: dict[str, Any]) -> pd.DataFrame | None:
        """Every selection over lambda of what is fused; None where there are no vectors."""
        store = self.hybrid.store
        if store is None:
            return None
        fetch_k = max(params["fetch_k"], params["top_k"])
        return mmr_path(pool, store, top_k=params["top_k"], fetch_k=fetch_k, scale=params["scale"])

    def _systems(self, pool: pd.DataFrame, value: pd.DataFrame, diverse: bool) -> dict[str, pd.DataFrame]:
        """Each stage's own ranking, read off the ledger of the pool."""
        names = [name for name in self.names if f"{name}_rank" in pool.columns]
        ids = ["query_id", *(["chunk_id"] if unit_column(pool) == "chunk_id" else []), "doc_id"]
        out = {}
        for name in names if len(names) > 1 else []:
            rows = pool[pool[f"{name}_rank"].notna()]
            ranks = rows[f"{name}_rank"].astype("int64")
            out[name] = rows[ids].assign(rank=ranks, score=1.0 / ranks)
        out["fused" if len(names) > 1 else (names or ["search"])[0]] = pool
        return out | ({"mmr": value} if diverse else {})

    def _score(self, query_id: str, value: pd.DataFrame, default: pd.DataFrame) -> pd.DataFrame | None:
        """Metrics of one query, in this setting and in the one it is compared with."""
        if self.qrels is None:
            return None
        qrels = self.qrels[self.qrels["query_id"] == query_id]
        if not len(qrels):
            return None
        tables = [
            evaluate(_documents(run), qrels, metrics=self.metrics).set_index("metric")["value"]
            for run in (value, default)
        ]
        out = pd.DataFrame({"this query": tables[0], "at the start": tables[1]}).reset_index()
        return out.assign(change=out["this query"] - out["at the start"])

    # --- show --------------------------------------------------------------------------------------

    def _render(self, state: dict[str, Any], result: Found) -> dict[str, str]:
        query_id, text = self._asked(state)
        unit = unit_column(result.default)
        before = dict(zip(result.default[unit], result.default["rank"]))
        grades = None
        if self.qrels is not None:
            mine = self.qrels[self.qrels["query_id"] == query_id]
            best = mine.groupby("doc_id")["relevance"].max()
            grades = {str(doc): int(relevance) for doc, relevance in best.items()}
        views = {
            "results": html.wrap(
                self._results.table(result.value, text, self.names, grades=grades, before=before)
            ),
            "scores": html.wrap(html.table(result.scores, caption="metrics"))
            if result.scores is not None
            else "",
        }
        return views

    def _draw(self, state: dict[str, Any], result: Found) -> Iterator[tuple[str, str]]:
        """Draw the plots that are switched on."""
        params = self._knobs.params(state)
        units = pd.concat([result.value, *(f.head(params["top_k"]) for f in result.systems.values())])
        docs = self._labels(units)
        for name in PLOTS:
            drawing = getattr(self, f"_draw_{name.replace('-', '')}")
            shown = name in state["plots"]
            yield name, drawing(self._pictures[name], result, params, docs) if shown else ""

    def _draw_ranks(self, picture: Picture, result: Found, params: dict[str, Any], docs: Any) -> str:
        top_k = min(params["top_k"], 20)
        best = ", ".join(shorten(docs_title(docs, u), 30) for u in _units(result.value)[:3])
        alt = f"Ranks of the top {top_k} in {', '.join(result.systems)}; first are {best or 'none'}"
        return picture.draw(lambda ax: plot.bump(result.systems, docs=docs, top_k=top_k, ax=ax), alt)

    def _draw_contributions(self, picture: Picture, result: Found, params: dict[str, Any], docs: Any) -> str:
        if not any(str(c).endswith("_contribution") for c in result.value.columns):
            return ""
        top_k = min(params["top_k"], 20)
        alt = f"What {' and '.join(self.names)} contributed to the fused scores of the top {top_k}"
        svg = picture.draw(
            lambda ax: plot.contributions(result.value, docs=docs, top_k=top_k, ax=ax), alt, legend=False
        )
        return html.wrap(f"<div>{html.key(self.names)}</div>{svg}")

    def _draw_tradeoff(self, picture: Picture, result: Found, params: dict[str, Any], docs: Any) -> str:
        path = result.path
        if path is None:
            return ""
        alt = f"Relevance against diversity: {len(path)} different selections between lambda 0 and 1"
        lambda_ = params["lambda_"]
        return picture.draw(lambda ax: plot.tradeoff(path, lambda_=lambda_, ax=ax), alt)

    def _labels(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Titles and texts of the units that are on the screen, and of no others."""
        unit = unit_column(rows)
        pairs = (
            rows[[unit, "doc_id"]].drop_duplicates(unit)
            if unit != "doc_id"
            else rows[[unit]].drop_duplicates()
        )
        docs = pairs["doc_id"] if unit != "doc_id" else pairs[unit]
        texts = [self._look_up(u, d) for u, d in zip(pairs[unit], docs)]
        out = pairs.assign(title=[t.title for t in texts], text=[t.body for t in texts])
        return out.reset_index(drop=True)

    def _look_up(self, unit_id: str, doc_id: str) -> Text:
        """Find title and text of a unit: in the documents given, else in the stores."""
        if self._docs is not None:
            frame = self._docs
            for column, key in ((unit_column(frame, "docs"), unit_id), ("doc_id", doc_id)):
                rows = frame[frame[column] == key]
                if len(rows):
                    return _text_of(rows.iloc[0])
        for store in (getattr(self.hybrid, "index", None), getattr(self.hybrid, "store", None)):
            row = store.get(unit_id) if store is not None else None
            if row is not None:
                return _text_of(row)
        return Text("", "")

    def _summary(self, state: dict[str, Any], result: Found) -> str:
        _, text = self._asked(state)
        words = f"{len(result.value)} results for “{shorten(text, 60)}”"
        if "source" in result.value.columns:
            counts = result.value["source"].value_counts()
            words += "".join(f" · {name} {count}" for name, count in sorted(counts.items()))
        if result.scores is not None:
            first = result.scores.iloc[0]
            words += f" · {first['metric']} {first['this query']:.3f} (start {first['at the start']:.3f})"
        return words

    def _committed(self) -> None:
        self._knobs.enable(self._state)

    def _images(self) -> dict[str, str]:
        return {name: self._pictures[name].img() for name in self.pictures}

    def close(self) -> None:
        """Free the panel: its widgets, observers and figures; a control shared with another panel stays."""
        super().close()
        for picture in self._pictures.values():
            picture.close()

    # --- code --------------------------------------------------------------------------------------

    def _program(self, params: dict[str, Any], setup: str | None) -> str:
        query_id, text = self._asked(self._state)
        foreign = params["where"] is not None and not isinstance(params["where"], Mapping)
        if setup is None:
            setup = "# Needs `hybrid`, the ragkit.HybridSearch that the panel was opened on"
            setup += ", and its filter `where`." if foreign else "."
        said = {name: repr(value) for name, value in params.items()}
        if foreign:
            said["where"] = "where"
        knobs = "".join(f"    {name}={value},\n" for name, value in said.items())
        return f"{setup.rstrip()}\n\nvalue = hybrid.search(\n    {{{query_id!r}: {text!r}}},\n{knobs})\n"


_SIZES = {"ranks": (5.6, 3.3), "contributions": (5.6, 3.2), "trade-off": (5.6, 3.3)}


def start_weights(weights: Any, names: list[str]) -> dict[str, float]:
    """Spell out the weights of the sources: the search's own by default, 1 each for None."""
    if weights is None:
        return dict.fromkeys(names, 1.0)
    if weights is WEIGHTS:
        return {name: WEIGHTS.get(name, 1.0) for name in names}
    check_weights(weights, names, "source")
    return {name: float(weights[name]) for name in names}


def _stored_docs(index: Any, store: Any) -> pd.DataFrame:
    for kept in (index, store):
        if kept is not None and len(kept):
            return kept.docs
    return pd.DataFrame({"doc_id": [], "text": []})


def _documents(run: pd.DataFrame) -> pd.DataFrame:
    """The run as judgements see it: documents."""
    return best_per_doc(run) if unit_column(run) == "chunk_id" else run


def _text_of(row: Any) -> Text:
    title, body = row.get("title"), row.get("text")
    return Text(title if isinstance(title, str) else "", body if isinstance(body, str) else "")


def _units(run: pd.DataFrame) -> list[str]:
    return run[unit_column(run)].astype(str).tolist()


def docs_title(docs: pd.DataFrame, unit_id: str) -> str:
    """Name a unit for a sentence: its title, else its id."""
    rows = docs[docs[unit_column(docs, "docs")] == unit_id]
    return (rows["title"].iloc[0] if len(rows) else "") or unit_id
