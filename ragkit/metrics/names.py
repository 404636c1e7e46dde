"""Metrics by name: ``"ndcg@10"``, ``"p(rel=2)@5"``, also in the spelling of ir_measures."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ragkit.metrics import diversity, formulas, subtopics

_GAINS = ("linear", "exponential")


@dataclass(frozen=True)
class Spec:
    """A named metric: its formula, what it reads, the parameters it takes."""

    formula: Callable[..., np.ndarray]
    reads: str = "judgements"  # or "subtopics", "vectors"
    params: tuple[str, ...] = ("rel",)
    cutoff: bool = True
    aliases: tuple[str, ...] = ()


SPECS: dict[str, Spec] = {
    "ndcg": Spec(formulas.ndcg, params=("gain",), aliases=("ndcgcut",)),
    "dcg": Spec(formulas.dcg, params=("gain",)),
    "ap": Spec(formulas.ap, aliases=("map", "averageprecision", "mapcut")),
    "rr": Spec(formulas.rr, aliases=("mrr", "reciprank", "reciprocalrank")),
    "precision": Spec(formulas.precision, aliases=("p", "setp")),
    "recall": Spec(formulas.recall, aliases=("r", "setr")),
    "recall_capped": Spec(formulas.recall_capped, aliases=("rcap", "recallcap")),
    "f1": Spec(formulas.f1, aliases=("f", "setf")),
    "hit": Spec(formulas.hit, aliases=("hits", "hitrate", "success")),
    "rprec": Spec(formulas.rprec, cutoff=False, aliases=("rprecision",)),
    "rbp": Spec(formulas.rbp, params=("p", "rel")),
    "err": Spec(formulas.err, params=("max_rel",)),
    "bpref": Spec(formulas.bpref, cutoff=False),
    "judged": Spec(formulas.judged, params=()),
    "subtopic_recall": Spec(subtopics.subtopic_recall, "subtopics", aliases=("strecall", "srecall", "strec")),
    "precision_ia": Spec(subtopics.precision_ia, "subtopics", aliases=("pia",)),
    "alpha_ndcg": Spec(subtopics.alpha_ndcg, "subtopics", ("alpha", "rel")),
    "err_ia": Spec(subtopics.err_ia, "subtopics", ("alpha", "rel")),
    "nerr_ia": Spec(subtopics.nerr_ia, "subtopics", ("alpha", "rel")),
    "ild": Spec(diversity.ild, "vectors", (), aliases=("ildmean", "ilad")),
    "ild_min": Spec(diversity.ild_min, "vectors", (), aliases=("ilmd",)),
    "crowding": Spec(diversity.crowding, "vectors", ("threshold",)),
    "vendi": Spec(diversity.vendi, "vectors", ()),
}
_BY_SPELLING = {
    re.sub(r"[^a-z0-9]", "", spelling): name
    for name, spec in SPECS.items()
    for spelling in (name, *spec.aliases)
}
_FORM = re.compile(
    r"\s*(?P<name>[A-Za-z][\w\- ]*?)\s*(?:\((?P<params>.*)\))?\s*(?:@\s*(?P<cutoff>[^@]*))?\s*"
)


@dataclass(frozen=True)
class Metric:
    """A metric as a value: what to compute, and under which name.

    Parameters
    ----------
    label : str
        The name as the user wrote it; the scores frame holds it.
    spec : Spec or None
        The named metric; None for a function of the user's.
    k : int or None
        The cutoff.
    params : dict
        Further parameters.
    function : callable or None
        A function ``(run, qrels) -> float`` of the user's.
    """

    label: str
    spec: Spec | None = None
    k: int | None = None
    params: dict[str, Any] = field(default_factory=dict)
    function: Callable[..., float] | None = None

    @property
    def reads(self) -> str:
        """What it needs: judgements, subtopics, vectors, or frames."""
        return "frames" if self.spec is None else self.spec.reads

    def compute(self, data: Any) -> np.ndarray:
        """Apply a named metric's formula to what it reads."""
        return self.spec.formula(data, self.k, **self.params)  # type: ignore[union-attr]


def parse_metrics(metrics: Any) -> list[Metric]:
    """Read one metric or many; two of one name raise."""
    single = isinstance(metrics, str) or callable(metrics) or not isinstance(metrics, Iterable)
    parsed = [parse_metric(m) for m in ([metrics] if single else list(metrics))]
    labels = [metric.label for metric in parsed]
    twice = sorted({label for label in labels if labels.count(label) > 1})
    if twice:
        raise ValueError(f"metrics holds {twice} twice; give each once, and functions names of their own.")
    return parsed


def parse_metric(metric: Any) -> Metric:
    """Read one metric: a name, an object of ir_measures, or a function ``(run, qrels) -> float``."""
    if hasattr(metric, "NAME") and hasattr(metric, "params"):
        metric = str(metric)
    if callable(metric):
        return Metric(getattr(metric, "__name__", repr(metric)), function=metric)
    if not isinstance(metric, str):
        raise TypeError(f"metrics must be names such as 'ndcg@10', or functions; got {metric!r}.")
    form = _FORM.fullmatch(metric)
    spelling = re.sub(r"[^a-z0-9]", "", form["name"].lower()) if form else ""
    if form is None or spelling not in _BY_SPELLING:
        raise ValueError(_unknown(metric, spelling or metric))
    spec = SPECS[_BY_SPELLING[spelling]]
    params = _params(metric, form["params"], spec)
    k = params.pop("cutoff", None) if form["cutoff"] is None else _cutoff(metric, form["cutoff"])
    if k is not None and not spec.cutoff:
        raise ValueError(f"metric {metric!r} takes no cutoff; write {_BY_SPELLING[spelling]!r}.")
    return Metric(metric.strip(), spec, k, params)


def _unknown(metric: str, spelling: str) -> str:
    written = metric.strip().lower()
    if len(parts := re.split(r"[,;\s]+(?![^(]*\))", written)) > 1 and all(map(_FORM.fullmatch, parts)):
        return f"unknown metric {metric!r}; give several as a list: metrics={parts}."
    digits = re.fullmatch(r"([a-z]+)(\d+)", written)
    if digits and digits[1] in _BY_SPELLING and SPECS[_BY_SPELLING[digits[1]]].cutoff:
        return f"unknown metric {metric!r}. Did you mean '{digits[1]}@{digits[2]}'?"
    near = difflib.get_close_matches(spelling.lower().split("@")[0], [*_BY_SPELLING], n=3)
    names = list(dict.fromkeys(_BY_SPELLING[n] for n in near))
    guess = f" Did you mean {' or '.join(map(repr, names))}?" if names else ""
    return f"unknown metric {metric!r}; write name@cutoff with a name from {list(SPECS)}.{guess}"


def _cutoff(metric: str, text: str) -> int:
    if not re.fullmatch(r"[0-9]+", text.strip()) or int(text) < 1:
        raise ValueError(f"metric {metric!r} needs a whole number >= 1 after '@'; got {text!r}.")
    return int(text)


def _params(metric: str, text: str | None, spec: Spec) -> dict[str, Any]:
    """Read ``rel=2, gain='exponential'``."""
    out: dict[str, Any] = {}
    for part in filter(None, (p.strip() for p in (text or "").split(","))):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        name, value = _as_ours(name, value)
        allowed = [*spec.params, "cutoff"] if spec.cutoff else list(spec.params)
        if not equals or name not in allowed:
            raise ValueError(f"metric {metric!r} does not take {part!r}; its parameters are {allowed}.")
        out[name] = _value(metric, name, value)
    return out


def _as_ours(name: str, value: str) -> tuple[str, str]:
    """Translate ``dcg='exp-log2'`` of ir_measures, and short words for the gain."""
    if name != "dcg" and name != "gain":
        return name, value
    word = value.strip("'\"")
    return "gain", {"log2": "linear", "exp-log2": "exponential", "exp": "exponential"}.get(word, word)


def _value(metric: str, name: str, text: str) -> Any:
    if name == "gain":
        if text not in _GAINS:
            raise ValueError(f"metric {metric!r}: gain must be one of {list(_GAINS)}; got {text!r}.")
        return text
    try:
        number = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        number = None
    whole = name in ("rel", "max_rel", "cutoff")
    if type(number) is not int and not (type(number) is float and not whole):
        kind = "a whole number" if whole else "a number"
        raise ValueError(f"metric {metric!r}: {name} must be {kind}; got {text!r}.")
    low, high = {"cutoff": (1, np.inf), "max_rel": (1, 62), "threshold": (-1, 1)}.get(
        name, (-np.inf, np.inf) if whole else (0, 1)
    )
    if not low <= number <= high:
        raise ValueError(f"metric {metric!r}: {name} must lie in [{low:g}, {high:g}]; got {text}.")
    return number
