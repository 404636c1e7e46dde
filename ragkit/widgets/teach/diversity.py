"""``tune_mmr``: one document at a time, relevance minus penalty, and who causes the penalty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from ragkit import plot
from ragkit.diversity import mmr, mmr_path
from ragkit.frames import as_qrels, as_run, best_per_doc, unit_column
from ragkit.hybrid.cache import StageCache, fingerprint
from ragkit.metrics import evaluate
from ragkit.plot.labels import unit_labels
from ragkit.similarity import cosine_similarity, gather_vectors
from ragkit.widgets import html
from ragkit.widgets.controls import (
    NONE,
    button,
    column_width,
    dropdown,
    float_slider,
    int_slider,
    need_ipywidgets,
)
from ragkit.widgets.ruler import Ruler
from ragkit.widgets.scales import SCALE_TIP
from ragkit.widgets.teach.base import Shown, TeachPanel, call, head_of, query_picker, text_of


def tune_mmr(
    run: Any,
    vectors: Any,
    docs: Any = None,
    qrels: Any = None,
    *,
    queries: Any = None,
    query: str | None = None,
    lambda_: float = 0.5,
    top_k: int = 8,
    fetch_k: int = 30,
    scale: str | None = "minmax",
    metrics: Any = None,
    controls: Mapping[str, Any] | None = None,
) -> TuneMMR:
    """Open a panel on MMR: the whole lambda axis under a slider, and the picks one by one.

    Parameters
    ----------
    run : run
        What is diversified.
    vectors : VectorStore or mapping of id to vector
        The units' vectors.
    docs : documents, optional
        Where titles come from.
    qrels : judgements, optional
        For metrics.
    queries : queries, optional
        Texts of the queries; without them they are called by their ids.
    query : str, optional
        The query to start with.
    lambda_, top_k, fetch_k, scale : optional
        Where the controls start; as in :func:`ragkit.mmr`.
    metrics : list of str, optional
        What is measured with `qrels`; by default nDCG at as many picks as there are, ``ndcg@<top_k>``.
    controls : dict of str to widget, optional
        Controls of another panel to share.

    Returns
    -------
    TuneMMR
        The panel; ``panel.value`` is the diversified run on show.

    See Also
    --------
    ragkit.mmr : What the controls call.
    ragkit.mmr_path : The marks of the ruler.

    Notes
    -----
    Handles snap to the marks of their ruler; what is typed does not: see :mod:`ragkit.widgets`.
    """
    given = {"lambda_": lambda_, "top_k": top_k, "fetch_k": fetch_k, "scale": scale}
    return TuneMMR(run, vectors, docs, qrels, queries, query, given, metrics, controls)


class TuneMMR(TeachPanel):
    """The panel that :func:`tune_mmr` opens; see there.

    Parameters
    ----------
    run, vectors, docs, qrels, queries, query, metrics : object
        As in :func:`tune_mmr`.
    given : dict
        Where the controls start.
    shared : dict of str to widget or None
        Controls of another panel.
    """

    name: ClassVar[str] = "tune_mmr"
    PICTURES: ClassVar[dict[str, tuple[float, float]]] = {"board": (6.2, 3.8), "trade-off": (4.8, 3.4)}

    def __init__(
        self,
        run: Any,
        vectors: Any,
        docs: Any,
        qrels: Any,
        queries: Any,
        query: str | None,
        given: Mapping[str, Any],
        metrics: Any,
        shared: Mapping[str, Any] | None,
    ):
        W = need_ipywidgets()
        self.run, self.vectors, self._docs = as_run(run), vectors, docs
        self.qrels = None if qrels is None else as_qrels(qrels)
        self.metrics = [metrics] if isinstance(metrics, str) else metrics and list(metrics)
        ids = list(dict.fromkeys(self.run["query_id"]))
        self.queries, picker = query_picker({i: i for i in ids} if queries is None else queries, query)
        self._paths = StageCache(8)
        controls = {
            "query": picker,
            "lambda_": float_slider(
                "lambda_",
                float(given["lambda_"]),
                low=0.0,
                high=1.0,
                step=0.01,
                tooltip="Left, 0: novelty only. Right, 1: relevance only.",
            ),
            "top_k": int_slider(
                "top_k", given["top_k"], low=1, high=20, tooltip="How many are picked. Right: more."
            ),
            "fetch_k": int_slider(
                "fetch_k",
                given["fetch_k"],
                low=1,
                high=100,
                tooltip="How many candidates there are to pick from. Right: more. At least top_k.",
            ),
            "scale": dropdown(
                "scale",
                given["scale"] or NONE,
                ["minmax", NONE],
                tooltip=SCALE_TIP,
            ),
            "step": int_slider(
                "step", 1, low=1, high=20, tooltip="The pick that the board shows. Right: the next one."
            ),
        }
        super().__init__(controls, shared=shared)
        label = int(column_width([self.controls[n] for n in ("lambda_", "top_k", "fetch_k", "scale")])[:-2])
        self.ruler = self._rulers["lambda_"] = Ruler(self.controls["lambda_"], label)
        back = button("one pick back", tooltip="Show the pick before")
        on = button("pick the next", tooltip="Show the next pick")
        back.on_click(lambda _: self.step(-1))
        on.on_click(lambda _: self.step(+1))
        under = {"lambda_": self.ruler.widget, "step": W.HBox([back, on])}
        self._open(
            [("diversity", ["lambda_", "top_k", "fetch_k", "scale"]), ("step by step", ["step"])], under
        )

    def step(self, by: int) -> None:
        """Show another pick on the board.

        Parameters
        ----------
        by : int
            How many picks on, or back where negative.
        """
        picks = max(len(self.value), 1)
        self.controls["step"].value = int(np.clip(self.controls["step"].value + by, 1, picks))

    def _public(self, state: dict[str, Any]) -> dict[str, Any]:
        out = {name: state[name] for name in ("query", "lambda_", "top_k", "fetch_k")}
        return out | {"scale": None if state["scale"] == NONE else state["scale"]}

    def _arguments(self, params: Mapping[str, Any]) -> dict[str, Any]:
        return {name: params[name] for name in ("lambda_", "top_k", "fetch_k", "scale")}

    def _compute(self, state: dict[str, Any]) -> Shown:
        params = self._public(state)
        mine = self.run[self.run["query_id"] == state["query"]]
        value = mmr(mine, self.vectors, **self._arguments(params))
        rest = {name: params[name] for name in ("top_k", "fetch_k", "scale")}
        path = self._paths.get(
            fingerprint([state["query"], rest]), lambda: mmr_path(mine, self.vectors, **rest)
        )
        return Shown(value, {"path": path, "board": self._board(mine, value, params, state["step"])})

    def _board(
        self, mine: pd.DataFrame, value: pd.DataFrame, params: Mapping[str, Any], step: int
    ) -> pd.DataFrame:
        """What stands to be picked at one step: relevance, penalty and who causes it, best first."""
        unit = unit_column(mine)
        full = mmr(
            mine, self.vectors, **(self._arguments(params) | {"lambda_": 1.0, "top_k": params["fetch_k"]})
        )
        picked = value[unit].tolist()[: max(min(step, len(value)) - 1, 0)]
        rest = full[~full[unit].isin(picked)]
        if not len(rest):
            return pd.DataFrame({"unit": [], "relevance": [], "penalty": [], "score": [], "because": []})
        lam = params["lambda_"]
        cosines = np.zeros(len(rest))
        because = np.full(len(rest), "", dtype=object)
        if picked:
            table = np.atleast_2d(
                cosine_similarity(
                    gather_vectors(self.vectors, rest[unit]), gather_vectors(self.vectors, picked)
                )
            )
            cosines, because = table.max(axis=1), np.array(picked, dtype=object)[table.argmax(axis=1)]
        relevance = rest["mmr_relevance"].to_numpy(dtype=float)
        board = pd.DataFrame(
            {
                "unit": rest[unit].to_numpy(),
                "relevance": lam * relevance,
                "penalty": (1 - lam) * cosines,
                "score": lam * relevance - (1 - lam) * cosines,
                "because": because,
            }
        )
        # The pick itself first: ties go to the better previous rank, which sorting by score would not know.
        chosen = value[unit].tolist()[min(step, len(value)) - 1] if len(value) else None
        first = board["unit"] == chosen
        return pd.concat([board[first], board[~first].sort_values("score", ascending=False, kind="stable")])

    def _drawings(self, state: dict[str, Any], result: Shown) -> dict[str, tuple[Any, str]]:
        board, path = result.more["board"], result.more["path"]
        step = min(state["step"], max(len(result.value), 1))
        return {
            "board": (
                lambda ax: self._draw_board(ax, board.head(12), step),
                f"Pick {step}: relevance to the right, penalty to the left; the first line is picked",
            ),
            "trade-off": (
                lambda ax: plot.tradeoff(path, lambda_=state["lambda_"], ax=ax),
                f"Relevance against diversity: {len(path)} different selections",
            ),
        }

    def _keys(self, result: Shown) -> dict[str, list[str]]:
        return {"board": ["lambda_ · relevance", "(1 - lambda_) · similarity to the named pick"]}

    def _draw_board(self, ax: Any, board: pd.DataFrame, step: int) -> None:
        """Draw relevance to the right, penalty to the left, and their sum as a dot."""
        from ragkit.plot.style import COLOURS, note, tidy

        labels = unit_labels([*board["unit"], *board["because"]], self._docs, 20)
        at = np.arange(len(board))
        ax.barh(at, board["relevance"], color=COLOURS[0], height=0.7, label="lambda_ · relevance")
        ax.barh(
            at, -board["penalty"], color=COLOURS[1], height=0.7, hatch="///", edgecolor="white",
            label="(1 - lambda_) · similarity to",
        )  # fmt: skip
        ax.plot(board["score"], at, "D", color=COLOURS[7], mec="white", ms=6, label="score")
        for y, (penalty, cause) in enumerate(zip(board["penalty"], board["because"])):
            if cause and penalty > 0:
                ax.annotate(
                    labels[cause], (-penalty, y), xytext=(-4, 0), textcoords="offset points", ha="right",
                    va="center", fontsize=7.5,
                )  # fmt: skip
        ax.set_yticks(at, [labels[u] for u in board["unit"]])
        ax.set_ylim(max(len(board), 3) - 0.4, -0.6)
        ax.set_xlim(min(-0.45, -2.4 * float(board["penalty"].max()) if len(board) else 0), None)
        ax.axvline(0, color="#000000", linewidth=0.8)
        ax.set_xlabel(f"pick {step}: the first line is picked; ◆ is the score")
        tidy(ax, grid="x").tick_params(axis="y", left=False)
        if not len(board):
            note(ax, "nothing left to pick")

    def _render(self, state: dict[str, Any], result: Shown) -> dict[str, str]:
        run = result.value
        unit = unit_column(run)
        names = [u for u in run["nearest_selected"] if isinstance(u, str)]
        labels = unit_labels([*run[unit], *names], self._docs, 50)
        shown = pd.DataFrame(
            {
                "pick": run["rank"],
                "document": [labels[u] for u in run[unit]],
                "rank before": run["previous_rank"],
                "relevance": run["mmr_relevance"],
                "similarity": run["max_similarity"],
                "to": [labels.get(u, "–") if isinstance(u, str) else "–" for u in run["nearest_selected"]],
                "score": run["score"],
            }
        )
        return {"table": html.wrap(html.table(shown, caption="picks"))}

    def _committed(self) -> None:
        self.ruler.show(self._result.more["path"]["lambda_from"].tolist())

    def _summary(self, state: dict[str, Any], result: Shown) -> str:
        words = f"{len(result.value)} picks for “{text_of(self.queries, state['query'])}”"
        words += f"; over all lambda_ there are {len(result.more['path'])} different selections"
        if self.qrels is not None and (self.qrels["query_id"] == state["query"]).any():
            mine = self.qrels[self.qrels["query_id"] == state["query"]]
            run = result.value
            run = best_per_doc(run) if unit_column(run) == "chunk_id" else run
            scores = evaluate(run, mine, metrics=self.metrics or f"ndcg@{state['top_k']}")
            words += "".join(f" · {m} {v:.3f}" for m, v in zip(scores["metric"], scores["value"]))
        return words

    def _program(self, params: dict[str, Any], setup: str | None) -> str:
        asked = f"run = rk.as_run(run)\nasked = run[run['query_id'] == {params['query']!r}]\n"
        needs = "`run` and `vectors`, as the panel was opened on"
        first = ["asked", "vectors"]
        return head_of(setup, needs) + asked + "value = " + call("rk.mmr", first, self._arguments(params))
