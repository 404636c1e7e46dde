"""The controls of a hybrid search, stage by stage, and the way from their values to its keyword arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ragkit.bm25.formulas import VARIANTS
from ragkit.fusion.methods import METHODS
from ragkit.widgets.controls import NONE, checkbox, column_width, dropdown, float_slider, int_slider, section
from ragkit.widgets.scales import SCALE_TIP, follow_method, scale_dropdown

ANY = "(any)"
_FEW = 40  # a metadata column with more distinct values is no filter to choose from

#: The keyword arguments of ``HybridSearch.search`` that a lab sets, with that method's own defaults.
DEFAULTS: dict[str, Any] = {
    "top_k": 10,
    "pool": 100,
    "fusion": "rrf",
    "weights": None,
    "k": 60,
    "normalize": None,
    "missing": None,
    "k1": None,
    "b": None,
    "variant": None,
    "lambda_": None,
    "fetch_k": 50,
    "scale": "minmax",
    "threshold": None,
    "min_score": None,
    "where": None,
}


class Knobs:
    """The controls of one hybrid search.

    Parameters
    ----------
    names : list of str
        The names of its sources: ``["keyword", "vector"]``.
    index, store : KeywordIndex, VectorStore or None
        Its stores; a stage without a store gets no controls.
    given : dict
        Keyword arguments of ``HybridSearch.search`` to start with, every weight spelt out.
    size : int
        How many units there are.
    columns : dict of str to list
        Metadata columns to filter by, each with its values.
    """

    def __init__(
        self,
        names: list[str],
        index: Any,
        store: Any,
        given: Mapping[str, Any],
        size: int,
        columns: Mapping[str, list[Any]],
    ):
        weights = given["weights"]
        self.names = list(names)
        self.given = dict(given)
        self.columns = dict(columns)
        # One slider says all where two weights add up to 1; otherwise each source has its own.
        self.one_weight = len(names) == 2 and abs(sum(weights.values()) - 1.0) < 1e-9
        self.controls: dict[str, Any] = {}
        self.sections: list[tuple[str, list[str]]] = []
        self._add("results", self._results(size))
        keyword = self._keyword(index) if index is not None else {}
        vector = self._vector() if getattr(store, "metric", None) == "cosine" else {}
        if keyword or vector:
            self._add(
                " and ".join(n for n, c in (("keyword", keyword), ("vector", vector)) if c), keyword | vector
            )
        if len(names) > 1:
            self._add("fusion", self._fusion(weights))
        if store is not None:
            self._add("diversity", self._diversity())

    def _add(self, title: str, controls: dict[str, Any]) -> None:
        self.controls.update(controls)
        self.sections.append((title, list(controls)))

    def boxes(self, controls: Mapping[str, Any], under: Mapping[str, Any]) -> list[Any]:
        """Lay the controls out, one block per stage.

        Parameters
        ----------
        controls : dict of str to widget
            The panel's controls, some of which may be another panel's.
        under : dict of str to widget
            What lies under a control: rulers.

        Returns
        -------
        list of widget
            The blocks.
        """
        return [section(title, [controls[n] for n in names], under) for title, names in self.sections]

    def label_width(self, name: str) -> int:
        """Say how wide the label of a control is, in pixels.

        Parameters
        ----------
        name : str
            The control.

        Returns
        -------
        int
            The width that all labels of its block have.
        """
        block = next(names for _, names in self.sections if name in names)
        return int(column_width([self.controls[n] for n in block])[:-2])

    def params(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """Turn what the controls say into the keyword arguments of ``HybridSearch.search``.

        Parameters
        ----------
        state : dict
            Values by the name of their control.

        Returns
        -------
        dict
            Keyword arguments.
        """
        by_rank = METHODS[state["fusion"]].by_rank if "fusion" in state else True
        out = dict(self.given)
        out.update({name: state[name] for name in DEFAULTS if name in state})
        if len(self.names) > 1:
            out["weights"] = self.weights(state)
            # A rank method refuses what it would not use; the lists keep their choice for later.
            out["normalize"] = None if by_rank else _or_none(state["normalize"])
            out["missing"] = None if by_rank else _or_none(state["missing"])
        if "diversify" in state:
            out["lambda_"] = state["lambda_"] if state["diversify"] else None
            out["scale"] = _or_none(state["scale"])
        out["threshold"] = state["threshold"] or None
        if "min_score" in state and state["min_score"] <= -1:
            out["min_score"] = None
        where = {name: state[f"where_{name}"] for name in self.columns if state[f"where_{name}"] != ANY}
        if self.columns:
            out["where"] = where or None
        return out

    def weights(self, state: Mapping[str, Any]) -> dict[str, float]:
        """Read the weights of the sources.

        Parameters
        ----------
        state : dict
            Values by the name of their control.

        Returns
        -------
        dict of str to float
            One weight per source.
        """
        if self.one_weight:
            first, second = self.names
            return {first: state["weight"], second: round(1.0 - state["weight"], 6)}
        return {name: state[f"weight_{name}"] for name in self.names}

    def enable(self, panel: Any, state: Mapping[str, Any]) -> None:
        """Grey out the controls that the chosen method does not use.

        Parameters
        ----------
        panel : Panel
            The panel that the controls stand in.
        state : dict
            Values by the name of their control.
        """
        if "fusion" in self.controls:
            follow_method(panel, state["fusion"])
        if "diversify" in self.controls:
            for name in ("lambda_", "fetch_k", "scale"):
                self.controls[name].disabled = not state["diversify"]

    # --- the controls, stage by stage -----------------------------------------------------------------------

    def _results(self, size: int) -> dict[str, Any]:
        given = self.given
        controls = {
            "top_k": int_slider(
                "top_k",
                _whole(given["top_k"], size),
                low=1,
                high=50,
                tooltip="How many results come back. Right: more.",
            ),
            "pool": int_slider(
                "pool",
                _whole(given["pool"], size),
                low=1,
                high=max(min(size, 1000), 10),
                tooltip="How many results each retriever brings to the fusion. Right: deeper and slower. "
                "It does not depend on top_k.",
            ),
            "threshold": float_slider(
                "threshold",
                float(given["threshold"] or 0.0),
                low=0.0,
                high=1.0,
                step=0.01,
                tooltip="Cuts results whose share of the highest score possible (relative_score) is lower. "
                "0: keep all. Right: fewer, surer.",
            ),
        }
        where = given["where"] if isinstance(given["where"], Mapping) else {}
        for name, values in self.columns.items():
            controls[f"where_{name}"] = dropdown(
                f"where {name}",
                where.get(name, ANY),
                {ANY: ANY} | {str(value): value for value in values},
                tooltip=f"Only documents whose {name} is this; filtered before ranking.",
            )
        return controls

    def _keyword(self, index: Any) -> dict[str, Any]:
        given = self.given
        own = {name: given[name] if given[name] is not None else getattr(index, name) for name in ("k1", "b")}
        # An index over several fields has a b for each, which one slider cannot say: it stays as given.
        one_b = not isinstance(own["b"], Mapping)
        controls = {
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
                float(own["b"]) if one_b else 0.0,
                low=0.0,
                high=1.0,
                step=0.01,
                tooltip="How much long documents are marked down. 0: not at all. 1: in full proportion.",
            )
            if one_b
            else None,
            "variant": dropdown(
                "variant",
                given["variant"] or index.variant,
                list(VARIANTS),
                tooltip="Which BM25 formula scores the words.",
            ),
        }
        return {name: control for name, control in controls.items() if control is not None}

    def _vector(self) -> dict[str, Any]:
        value = self.given["min_score"]
        return {
            "min_score": float_slider(
                "min_score",
                -1.0 if value is None else float(value),
                low=-1.0,
                high=1.0,
                step=0.01,
                tooltip="The least cosine that a vector result must have. -1, the lowest there is, keeps "
                "all (min_score=None). Right: stricter.",
            )
        }

    def _fusion(self, weights: Mapping[str, float]) -> dict[str, Any]:
        given = self.given
        return {
            "fusion": dropdown(
                "fusion",
                given["fusion"],
                list(METHODS),
                tooltip="How the lists become one. rrf, isr, borda, condorcet read ranks; the others scores.",
            ),
            **self._weight_sliders(weights),
            "k": self._k(),
            "normalize": scale_dropdown("normalize", given["normalize"], given["fusion"]),
            "missing": scale_dropdown("missing", given["missing"], given["fusion"]),
        }

    def _k(self) -> Any:
        tooltip = "RRF's constant. Left: the first ranks decide. Right: all ranks count nearly alike."
        k = float(self.given["k"])
        if k.is_integer():
            return int_slider("k", int(k), low=0, high=200, tooltip=tooltip)
        return float_slider("k", k, low=0.0, high=200.0, step=0.1, tooltip=tooltip)

    def _weight_sliders(self, weights: Mapping[str, float]) -> dict[str, Any]:
        if self.one_weight:
            first, second = self.names
            return {
                "weight": float_slider(
                    f"weights[{first!r}]",
                    float(weights[first]),
                    low=0.0,
                    high=1.0,
                    step=0.01,
                    tooltip=f"Left: {second} alone. Right: {first} alone. {second} has the rest of 1.",
                )
            }
        return {
            f"weight_{name}": float_slider(
                f"weights[{name!r}]",
                float(weights[name]),
                low=0.0,
                high=1.0,
                step=0.01,
                tooltip=f"How much {name} counts. 0: not at all. Right: more.",
            )
            for name in self.names
        }

    def _diversity(self) -> dict[str, Any]:
        given = self.given
        on = given["lambda_"] is not None
        return {
            "diversify": checkbox(
                "MMR: no two results alike",
                on,
                tooltip="Off: lambda_ is None. On: results are picked one by one, each unlike those before.",
            ),
            "lambda_": float_slider(
                "lambda_",
                float(given["lambda_"]) if on else 0.5,
                low=0.0,
                high=1.0,
                step=0.01,
                tooltip="Left, 0: novelty only. Right, 1: relevance only.",
            ),
            "fetch_k": int_slider(
                "fetch_k",
                _whole(given["fetch_k"], given["pool"] or 200),
                low=1,
                high=200,
                tooltip="How many fused results MMR may pick from. Right: more choice. At least top_k.",
            ),
            "scale": dropdown(
                "scale",
                given["scale"] or NONE,
                ["minmax", NONE],
                tooltip=SCALE_TIP,
            ),
        }


def _whole(value: int | None, everything: int) -> int:
    """A number for a slider: None is all there is."""
    return max(everything, 1) if value is None else value


def _or_none(choice: Any) -> Any:
    return None if isinstance(choice, str) and choice == NONE else choice


def filter_columns(docs: Any, most: int = 3) -> dict[str, list[Any]]:
    """Find the metadata columns that make good filters: few distinct values, each held by several documents.

    Parameters
    ----------
    docs : DataFrame
        The documents.
    most : int, default=3
        How many columns to offer.

    Returns
    -------
    dict of str to list
        The values of each column, sorted.
    """
    out: dict[str, list[Any]] = {}
    for name in docs.columns:
        if name in ("doc_id", "chunk_id", "text", "title", "start", "end") or len(out) == most:
            continue
        column = docs[name].dropna()
        if not len(column) or not all(isinstance(v, (str, int, bool)) for v in column.head(50)):
            continue
        values = column.unique().tolist()
        if 1 < len(values) <= min(_FEW, max(len(docs) // 2, 1)):
            out[str(name)] = sorted(values, key=lambda v: (str(type(v)), v))
    return out
