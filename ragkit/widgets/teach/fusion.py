"""``tune_fusion``: how two lists become one, and every weight at which the result really changes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar

import pandas as pd

from ragkit import plot
from ragkit.frames import RetrievalWarning, as_qrels, as_run, best_per_doc, unit_column
from ragkit.fusion import fuse
from ragkit.fusion.methods import METHODS
from ragkit.hybrid import weight_path
from ragkit.hybrid.cache import StageCache, fingerprint
from ragkit.plot.labels import unit_labels
from ragkit.widgets import html
from ragkit.widgets.controls import NONE, column_width, dropdown, float_slider, int_slider
from ragkit.widgets.curve import best_stretch, draw_curve, mean_curve
from ragkit.widgets.ruler import Ruler
from ragkit.widgets.scales import follow_method, scale_dropdown
from ragkit.widgets.stages import NOT_LINEAR
from ragkit.widgets.teach.base import Shown, TeachPanel, call, head_of, query_picker, text_of

_NEEDS_STORES = ("score",)  # runs alone cannot say what they would have given a document they lack


def tune_fusion(
    runs: Mapping[str, Any],
    docs: Any = None,
    qrels: Any = None,
    *,
    queries: Any = None,
    query: str | None = None,
    method: str = "rrf",
    weight: float = 0.5,
    k: float = 60,
    normalize: str | None = None,
    missing: str | None = None,
    top_k: int = 10,
    metric: str = "ndcg@10",
    controls: Mapping[str, Any] | None = None,
) -> TuneFusion:
    """Open a panel on fusion: two runs, one weight, and a ruler with every value where the result changes.

    Parameters
    ----------
    runs : dict of name to run
        Two runs.
    docs : documents, optional
        Where titles come from.
    qrels : judgements, optional
        With them the panel draws the mean metric over the whole weight axis, exactly.
    queries : queries, optional
        Texts of the queries; without them they are called by their ids.
    query : str, optional
        The query to start with.
    method, k, normalize, missing, top_k : optional
        Where the controls start; as in :func:`ragkit.fuse`.
    weight : float, default=0.5
        The weight of the first run, as in :func:`ragkit.weight_path`; the second has the rest of 1.
    metric : str, default="ndcg@10"
        What is measured.
    controls : dict of str to widget, optional
        Controls of another panel to share.

    Returns
    -------
    TuneFusion
        The panel; ``panel.value`` is the fused run on show.

    See Also
    --------
    ragkit.fuse : What the controls call.
    ragkit.weight_path : The marks of the ruler.

    Notes
    -----
    Handles snap to the marks of their ruler; what is typed does not: see :mod:`ragkit.widgets`.
    """
    given = {"method": method, "weight": weight, "k": k, "normalize": normalize, "missing": missing,
             "top_k": top_k}  # fmt: skip
    return TuneFusion(runs, docs, qrels, queries, query, given, metric, controls)


class TuneFusion(TeachPanel):
    """The panel that :func:`tune_fusion` opens; see there.

    Parameters
    ----------
    runs, docs, qrels, queries, query, metric : object
        As in :func:`tune_fusion`.
    given : dict
        Where the controls start.
    shared : dict of str to widget or None
        Controls of another panel.
    """

    name: ClassVar[str] = "tune_fusion"
    PICTURES: ClassVar[dict[str, tuple[float, float]]] = {
        "ranks": (5.6, 3.2), "contributions": (5.0, 3.2), "weights": (5.0, 3.0)
    }  # fmt: skip

    def __init__(
        self,
        runs: Mapping[str, Any],
        docs: Any,
        qrels: Any,
        queries: Any,
        query: str | None,
        given: Mapping[str, Any],
        metric: str,
        shared: Mapping[str, Any] | None,
    ):
        if not isinstance(runs, Mapping) or len(runs) != 2:
            raise ValueError(
                f"tune_fusion needs a dict of name to run with exactly two runs; got {runs!r:.60}."
            )
        self.runs = {str(name): as_run(run) for name, run in runs.items()}
        self.qrels = None if qrels is None else as_qrels(qrels)
        self.metric = metric
        self._docs = docs
        ids = list(dict.fromkeys(q for run in self.runs.values() for q in run["query_id"].unique()))
        self.queries, picker = query_picker({i: i for i in ids} if queries is None else queries, query)
        self._paths = StageCache(8)
        first, second = self.runs
        controls = {
            "query": picker,
            "method": dropdown(
                "method", given["method"], list(METHODS), tooltip="How the two lists become one"
            ),
            "weight": float_slider(
                f"weights[{first!r}]",
                float(given["weight"]),
                low=0.0,
                high=1.0,
                step=0.01,
                tooltip=f"Left: {second} alone. Right: {first} alone. {second} has the rest of 1.",
            ),
            "k": int_slider(
                "k",
                int(given["k"]),
                low=0,
                high=200,
                tooltip="RRF's constant. Left: the first ranks decide. Right: all ranks count nearly alike.",
            ),
            "normalize": scale_dropdown("normalize", given["normalize"], given["method"]),
            "missing": scale_dropdown("missing", given["missing"], given["method"], _NEEDS_STORES),
            "top_k": int_slider(
                "top_k", given["top_k"], low=1, high=30, tooltip="How many results are shown. Right: more."
            ),
        }
        super().__init__(controls, shared=shared)
        label = int(column_width([self.controls["weight"], self.controls["top_k"]])[:-2])
        self.ruler = self._rulers["weight"] = Ruler(self.controls["weight"], label)
        self._open(
            [("weight", ["weight", "top_k"]), ("method", ["method", "k", "normalize", "missing"])],
            {self.controls["weight"].description: self.ruler.widget},
        )

    def _public(self, state: dict[str, Any]) -> dict[str, Any]:
        by_rank = METHODS[state["method"]].by_rank
        out = {name: state[name] for name in ("query", "method", "weight", "k", "top_k")}
        for name in ("normalize", "missing"):
            out[name] = None if by_rank or state[name] == NONE else state[name]
        return out

    def _arguments(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """What `fuse` is called with."""
        first, second = self.runs
        weights = {first: params["weight"], second: round(1.0 - params["weight"], 6)}
        rest = {name: params[name] for name in ("method", "k", "normalize", "missing", "top_k")}
        return {"weights": weights} | rest

    def _compute(self, state: dict[str, Any]) -> Shown:
        params = self._public(state)
        asked = {name: run[run["query_id"] == state["query"]] for name, run in self.runs.items()}
        value = fuse(asked, **self._arguments(params))
        path, means = self._path(params, asked)
        return Shown(value, {"asked": asked, "path": path, "means": means})

    def _path(
        self, params: Mapping[str, Any], asked: Mapping[str, pd.DataFrame]
    ) -> tuple[pd.DataFrame | None, pd.DataFrame | None]:
        """The intervals of the weight: of this query's list, and of the metric over all queries."""
        if params["method"] in NOT_LINEAR:
            return None, None
        knobs = {name: params[name] for name in ("method", "k", "normalize", "missing")} | {
            "of": next(iter(self.runs))
        }

        def make(runs: Mapping[str, pd.DataFrame], qrels: Any, top_k: int) -> pd.DataFrame:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RetrievalWarning)
                return weight_path(runs, qrels, metrics=[self.metric], top_k=top_k, **knobs)

        own = self._paths.get(
            fingerprint([knobs, params["query"], params["top_k"]]), lambda: make(asked, None, params["top_k"])
        )
        if self.qrels is None:
            return own, None
        return own, self._paths.get(fingerprint([knobs, "all"]), lambda: make(self._whole(), self.qrels, 0))

    def _whole(self) -> dict[str, pd.DataFrame]:
        """All queries, as judgements see them: documents."""
        chunks = any(unit_column(run) == "chunk_id" for run in self.runs.values())
        return {name: best_per_doc(run) if chunks else run for name, run in self.runs.items()}

    def _drawings(self, state: dict[str, Any], result: Shown) -> dict[str, tuple[Any, str]]:
        runs = dict(result.more["asked"]) | {"fused": result.value}
        top_k = min(state["top_k"], 20)
        docs = self._docs
        out = {
            "ranks": (
                lambda ax: plot.bump(runs, docs=docs, top_k=top_k, ax=ax),
                f"Ranks of the top {top_k} in {', '.join(runs)}",
            ),
            "contributions": (
                lambda ax: plot.contributions(result.value, docs=docs, top_k=top_k, ax=ax),
                "What each run contributed to the fused scores",
            ),
        }
        if result.more["means"] is not None:
            best = best_stretch(result.more["means"])
            curve = mean_curve(result.more["means"], self.metric)
            out["weights"] = (
                lambda ax: draw_curve(ax, curve, best, state["weight"], next(iter(self.runs))),
                f"Mean {self.metric} over the weight: best {best['value']:.3f} at {best['weight']:.2f}",
            )
        return out

    def _keys(self, result: Shown) -> dict[str, list[str]]:
        parts = [str(c) for c in result.value.columns if str(c).endswith("_contribution")]
        return {"contributions": [part.removesuffix("_contribution") for part in parts]}

    def _render(self, state: dict[str, Any], result: Shown) -> dict[str, str]:
        run = result.value
        unit = unit_column(run)
        labels = unit_labels(run[unit], self._docs, 50)
        columns = [
            c for name in self.runs for c in (f"{name}_rank", f"{name}_normalized", f"{name}_contribution")
        ]
        shown = run[["rank", unit, *[c for c in columns if c in run], "score"]]
        shown = shown.assign(**{unit: [labels[u] for u in run[unit]]})
        for name in self.runs:
            if f"{name}_rank" in shown:
                shown[f"{name}_rank"] = shown[f"{name}_rank"].astype("Int64").astype(object)
        shown = shown.rename(columns={c: c.replace("_", " ") for c in shown.columns if c != unit})
        shown = shown.rename(columns={unit: "document"})
        return {"table": html.wrap(html.table(shown, digits=4, caption="results"))}

    def _committed(self) -> None:
        path = self._result.more["path"]
        self.ruler.show(None if path is None else path["weight_from"].tolist())
        follow_method(self, self._state["method"], _NEEDS_STORES)

    def _summary(self, state: dict[str, Any], result: Shown) -> str:
        path = result.more["path"]
        text = text_of(self.queries, state["query"])
        words = f"{len(result.value)} results for “{text}”"
        if path is None:
            return words
        orders = f"{len(path)} different order{'s' if len(path) != 1 else ''}"
        return f"{words}; over all weights the top {state['top_k']} has {orders}"

    def _program(self, params: dict[str, Any], setup: str | None) -> str:
        asked = (
            "runs = {name: rk.as_run(run) for name, run in runs.items()}\n"
            f"asked = {{name: run[run['query_id'] == {params['query']!r}] for name, run in runs.items()}}\n"
        )
        needs = "`runs`, the dict of two runs that the panel was opened on"
        return (
            head_of(setup, needs) + asked + "value = " + call("rk.fuse", ["asked"], self._arguments(params))
        )
