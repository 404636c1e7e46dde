"""The lab's panel: its controls, its parts, and the code that repeats what is on show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import pandas as pd

from ragkit.frames import check_choice, unit_column
from ragkit.fusion.options import check_weights
from ragkit.hybrid import WEIGHTS
from ragkit.hybrid.program import script
from ragkit.plot.labels import shorten
from ragkit.widgets import html
from ragkit.widgets.charts import PLOTS, Charts, plot_switches
from ragkit.widgets.controls import (
    button,
    dropdown,
    need_ipywidgets,
    set_options,
    side_by_side,
)
from ragkit.widgets.knobs import DEFAULTS, Knobs, filter_columns
from ragkit.widgets.panel import Panel
from ragkit.widgets.picker import WORST, asked, choices, query_controls
from ragkit.widgets.pins import NOW, START, Pins, means_table, scores_table
from ragkit.widgets.results import ResultList
from ragkit.widgets.ruler import Ruler
from ragkit.widgets.stages import Found, Stages


class Lab(Panel):
    """The panel that :func:`explore` opens; see there.

    Parameters
    ----------
    stages : Stages
        What searches and measures.
    given : dict
        Keyword arguments of ``HybridSearch.search`` to start with.
    query : str or None
        What to show first.
    plots : list of str
        Plots to show first.
    pins : dict of name to dict or None
        Settings to compare with.
    shared : dict of str to widget or None
        Controls of another panel.
    """

    name: ClassVar[str] = "explore"

    def __init__(
        self,
        stages: Stages,
        given: Mapping[str, Any],
        *,
        query: str | None,
        plots: Any,
        pins: Mapping[str, Mapping[str, Any]] | None,
        shared: Mapping[str, Any] | None,
    ):
        for name in plots:
            check_choice("plot", name, PLOTS)
        self.stages, self.hybrid = stages, stages.hybrid
        start = dict(DEFAULTS) | dict(given)
        start["weights"] = start_weights(start["weights"], stages.names)
        known = stages.stored()
        self._knobs = Knobs(
            stages.names, self.hybrid.index, self.hybrid.store, start, len(known), filter_columns(known)
        )
        controls = query_controls(stages.queries, stages.qrels is not None, query) | self._knobs.controls
        start = self._knobs.params({name: control.value for name, control in controls.items()})
        self._pins = Pins(start, pins)
        controls["against"] = dropdown(
            "compare with",
            START,
            list(self._pins.settings),
            tooltip="The setting that movement and differences refer to",
        )
        super().__init__(controls, shared=shared)
        self._results = ResultList(stages.look_up, getattr(self.hybrid.index, "tokenizer", None))
        self._charts = Charts(stages)
        self._toggles = plot_switches(plots)
        self._rulers = {
            name: Ruler(self.controls[name], self._knobs.label_width(name))
            for name in ("lambda_", "weight")
            if name in self.controls
        }
        self._table: pd.DataFrame | None = None
        self._start(self._lay_out())
        for switch in self._toggles.values():
            switch.observe(self._changed, "value")
        if "order" in self.controls:
            self.controls["order"].observe(self._reorder, "value")

    # --- the query -----------------------------------------------------------------------------------------

    def _reorder(self, change: Any) -> None:
        """Sort the list of queries, once: it would be confusing to have it move under every slider."""
        ids = self.stages.queries["query_id"].tolist()
        scores: dict[str, float] = {}
        if self.controls["order"].value == WORST:
            scores = self.stages.by_query(self.params)
            ids.sort(key=lambda i: scores.get(i, 2.0))
        set_options(self, self.controls["query"], choices(self.stages.queries, ids, scores))
        if scores:
            with self.batch():
                self.controls["text"].value = ""
                self.controls["query"].value = ids[0]

    def _asked(self, state: Mapping[str, Any]) -> tuple[str, str]:
        return asked(self.stages.queries, state)

    @property
    def query(self) -> str:
        """The query on show, as `explore` takes it: its id, or the free text."""
        return self._state["text"].strip() or self._state["query"] or ""

    @property
    def state(self) -> dict[str, Any]:
        """Everything that brings this screen back: ``explore(hybrid, queries, qrels, **panel.state)``."""
        plots, pins = list(self._state["plots"]), dict(self._pins.kept)
        return {"query": self.query or None, "plots": plots, "pins": pins, **self.params}

    def _step(self, by: int) -> None:
        """Go to the next query or the one before."""
        picker = self.controls["query"]
        ids = [value for _, value in picker.options]
        if ids:
            with self.batch():
                self.controls["text"].value = ""
                picker.value = ids[(ids.index(picker.value) + by) % len(ids)]

    # --- layout --------------------------------------------------------------------------------------------

    def _lay_out(self) -> list[Any]:
        W = need_ipywidgets()
        style = self._box("style")
        style.value = html.CSS
        wrap = {"flex_flow": "row wrap", "align_items": "center"}
        results = self._box(
            "results",
            flex="2 1 560px",
            min_width="min(560px, 100%)",
            min_height="240px",
            overflow="auto",
        )
        aside = W.VBox(
            [
                W.HBox([W.Label("plots:"), *self._toggles.values()], layout=W.Layout(**wrap)),
                *(self._box(name) for name in PLOTS),
                self._box("scores"),
                self._box("means", overflow="auto"),
            ],
            layout=W.Layout(flex="1 1 440px", width="auto", min_width="min(420px, 100%)"),
        )
        under = {self.controls[name].description: ruler.widget for name, ruler in self._rulers.items()}
        return [
            style,
            W.HBox(self._query_row(), layout=W.Layout(width="100%", **wrap)),
            side_by_side(self._knobs.boxes(self.controls, under)),
            self._message,
            W.HBox(self._pin_row(), layout=W.Layout(**wrap)),
            self._box("pins"),
            W.HBox([results, aside], layout=W.Layout(flex_flow="row wrap", align_items="flex-start")),
        ]

    def _query_row(self) -> list[Any]:
        return [
            *([self.controls["query"]] if len(self.stages.queries) else []),
            *(self._steps() if len(self.stages.queries) > 1 else []),
            *([self.controls["order"]] if "order" in self.controls else []),
            self.controls["text"],
        ]

    def _steps(self) -> list[Any]:
        back = button("previous", tooltip="The query before")
        on = button("next", tooltip="The query after")
        back.on_click(lambda _: self._step(-1))
        on.on_click(lambda _: self._step(+1))
        return [back, on]

    def _pin_row(self) -> list[Any]:
        pin = button("pin this setting", tooltip="Keep this setting as a column to compare with")
        clear = button("clear pins", tooltip="Forget the pinned settings")
        pin.on_click(lambda _: self.pin())
        clear.on_click(lambda _: self.clear_pins())
        self.controls["against"].style.description_width = "96px"
        self.controls["against"].layout.width = "220px"
        return [pin, clear, self.controls["against"]]

    # --- pins ----------------------------------------------------------------------------------------------

    @property
    def pins(self) -> dict[str, dict[str, Any]]:
        """The pinned settings by name, the one that the lab started with among them."""
        return {name: dict(params) for name, params in self._pins.settings.items()}

    def pin(self) -> str:
        """Keep the setting on show as a column to compare with.

        Returns
        -------
        str
            Its name: A, B, C and so on.
        """
        self.settle()
        name = self._pins.add(self.params)
        self._pins_changed()
        return name

    def clear_pins(self) -> None:
        """Forget the pinned settings; movement is shown against the start again."""
        self._pins.clear()
        self._pins_changed()

    def _pins_changed(self) -> None:
        set_options(self, self.controls["against"], [(name, name) for name in self._pins.settings])
        self._changed(None)

    def comparison(self) -> pd.DataFrame:
        """Compare the start, the pins and the setting on show over all judged queries.

        Returns
        -------
        DataFrame
            The frame of :func:`ragkit.compare`, each system's parameters in further columns; without
            judgements, the parameters alone.
        """
        settings = self._pins.frame(self.params)
        table = self.stages.compare(self._pins.settings | {NOW: self.params}, self._state["against"])
        return settings if table is None else table.merge(settings, on="system", how="left")

    # --- compute -------------------------------------------------------------------------------------------

    def _read(self) -> dict[str, Any]:
        plots = tuple(name for name, switch in self._toggles.items() if switch.value)
        return super()._read() | {"plots": plots, "pins": tuple(self._pins.kept)}

    def _public(self, state: dict[str, Any]) -> dict[str, Any]:
        return self._knobs.params(state)

    def _compute(self, state: dict[str, Any]) -> Found:
        params = self._knobs.params(state)
        path = "trade-off" in state["plots"] or params["lambda_"] is not None
        return self.stages.find(
            self._asked(state),
            params,
            self._pins.settings,
            path=path,
            weights="weight" in state,
            means="weights" in state["plots"],
        )

    # --- show ----------------------------------------------------------------------------------------------

    def _render(self, state: dict[str, Any], result: Found) -> dict[str, str]:
        query_id, text = self._asked(state)
        against = state["against"]
        ranks = {name: dict(zip(_units(run), run["rank"])) for name, run in result.others.items()}
        before = ranks.pop(against)
        others = {name: found for name, found in ranks.items() if name != START}
        grades = self.stages.judged(query_id)
        list_ = self._results.table(
            result.value,
            text,
            self.stages.names,
            grades=grades,
            before=before,
            against=against,
            others=others,
            parents=dict(zip(_units(result.others[against]), result.others[against]["doc_id"])),
        )
        return {
            "pins": html.wrap(self._pins.differences(self._knobs.params(state))),
            "results": html.wrap(list_),
            "scores": html.wrap(scores_table(result.scores, against)),
        }

    def _later(self, state: dict[str, Any], result: Found) -> dict[str, str]:
        settings = self._pins.settings | {NOW: self.params}
        self._table = self.stages.compare(settings, state["against"])
        return {"means": html.wrap(means_table(self._table, state["against"]))}

    def _committed(self) -> None:
        self._knobs.enable(self, self._state)
        found = {
            "lambda_": (self._result.path, "lambda_from"),
            "weight": (self._result.weights, "weight_from"),
        }
        for name, ruler in self._rulers.items():
            path, column = found[name]
            shown = path is not None and (name == "weight" or self._state["diversify"])
            ruler.show(path[column].tolist() if path is not None and shown else None)
        if self._table is not None and self._late_cost > 0.05:
            self._show({"means": html.wrap(means_table(self._table, self._state["against"], stale=True))})

    def _draw(self, state: dict[str, Any], result: Found) -> Iterator[tuple[str, str]]:
        yield from self._charts.draw(state["plots"], result, self._knobs.params(state))

    def _summary(self, state: dict[str, Any], result: Found) -> str:
        _, text = self._asked(state)
        words = f"{len(result.value)} results for “{shorten(text, 60)}”"
        if "source" in result.value.columns:
            counts = result.value["source"].value_counts()
            words += "".join(f" · {name} {count}" for name, count in sorted(counts.items()))
        if result.scores is not None:
            first, against = result.scores.iloc[0], state["against"]
            words += f" · {first['metric']} {first[NOW]:.3f} ({against} {first[against]:.3f})"
        return words

    def _images(self) -> dict[str, str]:
        if self.closed:
            return self.pictures
        return {name: self._charts.pictures[name].img() for name in self.pictures}

    def close(self) -> None:
        """Free the panel: its widgets, observers and figures; a control shared with another panel stays."""
        super().close()
        self._charts.close()

    # --- code ----------------------------------------------------------------------------------------------

    def code(self, setup: str | None = None, *, target: str = "ragkit") -> str:
        """Write the Python program that gives ``panel.value``, or one that answers questions with it.

        Parameters
        ----------
        setup : str or None, default=None
            The lines that load the data and build what the panel was given, under the names the program
            uses; None writes a comment that says which names it needs.
        target : {"ragkit", "langchain"}, default="ragkit"
            ``"ragkit"`` ends with ``value`` equal to ``panel.value``; ``"langchain"`` puts this setting as a
            retriever before a prompt and ends with ``make_chain(model)`` for any LangChain chat model.

        Returns
        -------
        str
            The program.
        """
        if check_choice("target", target, ("ragkit", "langchain")) == "langchain":
            return script(setup, self.params, query=self._asked(self._state)[1])
        return super().code(setup)

    def _program(self, params: dict[str, Any], setup: str | None) -> str:
        query_id, text = self._asked(self._state)
        foreign = params["where"] is not None and not isinstance(params["where"], Mapping)
        if setup is None:
            needs = "`hybrid`, the ragkit.HybridSearch that the panel was opened on"
            needs += ", `queries`, `qrels`" if self._pins.kept else ""
            setup = f"# Needs {needs}{', and its filter `where`' if foreign else ''}."
        said = {name: repr(value) for name, value in params.items()}
        if foreign:
            said["where"] = "where"
        knobs = "".join(f"    {name}={value},\n" for name, value in said.items())
        program = f"{setup.rstrip()}\n\nvalue = hybrid.search(\n    {{{query_id!r}: {text!r}}},\n{knobs})\n"
        if self._pins.kept and not foreign:
            chunks = unit_column(self.value) == "chunk_id"
            compared = self._pins.code(params) + self.stages.measures.code(chunks, self._state["against"])
            program += "\n# The pinned settings side by side, over all queries.\n"
            program += f"import pandas as pd\nimport ragkit as rk\n\n{compared}"
        return program


def start_weights(weights: Any, names: list[str]) -> dict[str, float]:
    """Spell out the weights of the sources: the search's own by default, 1 each for None.

    Parameters
    ----------
    weights : dict or None
        What was given.
    names : list of str
        The sources.

    Returns
    -------
    dict of str to float
        One weight per source.
    """
    if weights is None:
        return dict.fromkeys(names, 1.0)
    if weights is WEIGHTS:
        return {name: WEIGHTS.get(name, 1.0) for name in names}
    check_weights(weights, names, "source")
    return {name: float(weights[name]) for name in names}


def _units(run: pd.DataFrame) -> list[str]:
    return run[unit_column(run)].astype(str).tolist()
