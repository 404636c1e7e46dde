"""Metrics by name: ``"ndcg@10"``, ``"p(rel=2)@5"``, also as ir_measures, trec_eval and ranx spell them.

A spelling is read in three steps: its form (name, parameters, cutoff), the name (without case and
punctuation, with a number at its end as in ``P_5``), and the parameters.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ragkit.metrics import diversity, formulas, subtopics

_GAINS = dict.fromkeys(("linear", "log2"), "linear")
_GAINS |= dict.fromkeys(("exponential", "exp", "exp-log2"), "exponential")


@dataclass(frozen=True)
class Spec:
    """A named metric: its formula, what it reads, the parameters it takes."""

    formula: Callable[..., np.ndarray]
    reads: str = "judgements"  # or "subtopics", "vectors"
    params: tuple[str, ...] = ("rel",)
    cutoff: bool = True
    aliases: tuple[str, ...] = ()
    counts_all: bool = False  # whether documents judged not relevant matter

    @property
    def takes(self) -> list[str]:
        """All parameters, with those that change what the formula is given."""
        judged_only = self.reads != "vectors" and self.formula is not formulas.judged
        return [*self.params, *(["judged_only"] if judged_only else []), *(["cutoff"] if self.cutoff else [])]


SPECS: dict[str, Spec] = {
    "ndcg": Spec(formulas.ndcg, params=("gain", "gains"), aliases=("ndcg_cut",)),
    "dcg": Spec(formulas.dcg, params=("gain", "gains")),
    "ap": Spec(formulas.ap, aliases=("map", "average_precision", "map_cut")),
    "rr": Spec(formulas.rr, aliases=("mrr", "recip_rank", "reciprocal_rank")),
    "precision": Spec(formulas.precision, aliases=("p", "set_p")),
    "recall": Spec(formulas.recall, aliases=("r", "set_r", "set_recall")),
    "recall_capped": Spec(formulas.recall_capped, aliases=("r_cap", "recall_cap")),
    "f1": Spec(formulas.f1, params=("rel", "beta"), aliases=("f", "set_f")),
    "hit": Spec(formulas.hit, aliases=("hit_rate", "success")),
    "hits": Spec(formulas.hits, aliases=("num_rel_ret",)),
    "rprec": Spec(formulas.rprec, cutoff=False, aliases=("r_precision",)),
    "rbp": Spec(formulas.rbp, params=("p", "rel")),
    "err": Spec(formulas.err, params=("max_rel",)),
    "bpref": Spec(formulas.bpref, cutoff=False, counts_all=True),
    "judged": Spec(formulas.judged, params=(), counts_all=True),
    "subtopic_recall": Spec(
        subtopics.subtopic_recall, "subtopics", aliases=("st_recall", "s_recall", "strec")
    ),
    "precision_ia": Spec(subtopics.precision_ia, "subtopics", aliases=("p_ia",)),
    "alpha_ndcg": Spec(subtopics.alpha_ndcg, "subtopics", ("alpha", "rel"), aliases=("α_ndcg",)),
    "err_ia": Spec(subtopics.err_ia, "subtopics", ("alpha", "rel")),
    "nerr_ia": Spec(subtopics.nerr_ia, "subtopics", ("alpha", "rel")),
    "ild": Spec(diversity.ild, "vectors", (), aliases=("ild_mean", "ilad")),
    "ild_min": Spec(diversity.ild_min, "vectors", (), aliases=("ilmd",)),
    "crowding": Spec(diversity.crowding, "vectors", ("threshold",)),
    "vendi": Spec(diversity.vendi, "vectors", ()),
}


def _key(spelling: str) -> str:
    """Drop what spellings of one name differ in: case, hyphens, underscores, blanks."""
    return re.sub(r"[^a-z0-9]", "", spelling.lower().replace("α", "alpha"))


_BY_SPELLING: dict[str, tuple[str, dict[str, str]]] = {
    _key(spelling): (name, {}) for name, spec in SPECS.items() for spelling in (name, *spec.aliases)
}
_BY_SPELLING |= {f"{name}burges": (name, {"gain": "exponential"}) for name in ("ndcg", "dcg")}  # ranx
_FORM = re.compile(
    r"\s*(?P<name>[^\W\d_][\w\-. ]*?)\s*(?:\((?P<before>.*)\))?"
    r"\s*(?:@\s*(?P<cutoff>[^@()\s,;]*?))?(?:-l(?P<rel>\d+))?\s*(?:\((?P<after>.*)\))?\s*"
)
_NUMBERED = re.compile(r"(?P<name>.+?)(?P<mark>[._])(?P<number>\d+(?:\.\d+)?)")


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

    @property
    def depth(self) -> int | None:
        """The last rank that can matter; None for all, as for `judged_only`, which moves up what is below."""
        return None if self.params.get("judged_only") else self.k

    @property
    def counts_all(self) -> bool:
        """Whether documents judged not relevant matter."""
        spec = self.spec
        return spec is not None and (spec.counts_all or bool({"judged_only", "gains"} & set(self.params)))

    @property
    def canonical(self) -> str:
        """Its one name, whatever the spelling: ``"precision(rel=2)@5"``."""
        if self.spec is None:
            return self.label
        # By its formula: one that came from another process is equal, and not the same.
        name = next(name for name, spec in SPECS.items() if spec.formula is self.spec.formula)
        params = ",".join(f"{name}={value}" for name, value in sorted(self.params.items()))
        return name + (f"({params})" if params else "") + (f"@{self.k}" if self.k is not None else "")

    def compute(self, data: Any) -> np.ndarray:
        """Apply a named metric's formula to what it reads."""
        params = dict(self.params)
        if params.pop("judged_only", False):
            data = data.condensed()
        if gains := params.pop("gains", None):
            data = data.regraded(gains)
        return self.spec.formula(data, self.k, **params)  # type: ignore[union-attr]


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
    found = _named(form["name"]) if form else None
    if form is None or found is None:
        raise ValueError(_unknown(metric))
    name, preset = found
    pairs = [*preset.items(), *_keywords(metric, form["before"]), *_keywords(metric, form["after"])]
    pairs += [(key, form[key]) for key in ("cutoff", "rel") if form[key] is not None]
    given: dict[str, str] = {}
    for key, text in pairs:
        if key in given:
            raise ValueError(f"metric {metric!r} gives {key} twice, {given[key]} and {text}; give it once.")
        given[key] = text
    if _key(form["name"]).endswith("cut") and "cutoff" not in given:
        raise ValueError(f"metric {metric!r} needs its cutoff; write '{metric.strip()}_10' or '{name}'.")
    return _metric(metric.strip(), name, given)


def same_metric(label: str) -> str:
    """Give the one name of a metric that may be spelled in several ways; other labels as they are."""
    try:
        return parse_metric(label).canonical
    except ValueError:
        return label


def _named(written: str) -> tuple[str, dict[str, str]] | None:
    """Find the metric of a name, and the parameters that the name holds: trec_eval's ``ndcg_cut_10``."""
    known = _BY_SPELLING.get(_key(written))
    if known is not None:
        return known[0], dict(known[1])
    numbered = _NUMBERED.fullmatch(written.strip())
    if numbered is None or _key(numbered["name"]) not in _BY_SPELLING:
        return None
    key, number = _key(numbered["name"]), numbered["number"]
    name, preset = _BY_SPELLING[key]
    if key == "setf":
        return name, {"beta": number}
    if key == "rbp" and numbered["mark"] == ".":  # ranx's rbp.95
        return name, {"p": f"0.{number}"}
    return name, preset | {"cutoff": number}


def _unknown(metric: str) -> str:
    written = metric.strip().lower()
    if len(parts := re.split(r"[,;\s]+(?![^(]*\))", written)) > 1 and all(map(_FORM.fullmatch, parts)):
        return f"unknown metric {metric!r}; give several as a list: metrics={parts}."
    digits = re.fullmatch(r"([a-z]+)(\d+)", written)
    if digits and (known := _BY_SPELLING.get(digits[1])) and SPECS[known[0]].cutoff:
        return f"unknown metric {metric!r}. Did you mean '{digits[1]}@{digits[2]}'?"
    spelling = _key(re.split(r"[@(]", written)[0])
    near = difflib.get_close_matches(spelling.rstrip("0123456789"), [*_BY_SPELLING], n=3)
    names = list(dict.fromkeys(_BY_SPELLING[n][0] for n in near))
    guess = f" Did you mean {' or '.join(map(repr, names))}?" if names else ""
    return f"unknown metric {metric!r}; write name@cutoff with a name from {list(SPECS)}.{guess}"


def _keywords(metric: str, text: str | None) -> list[tuple[str, str]]:
    """Read ``rel=2, gain='exponential'``, each value as text."""
    if not text:
        return []
    try:
        call: Any = ast.parse(f"_({text})", mode="eval").body
    except SyntaxError:
        call = None
    if not isinstance(call, ast.Call) or call.args or any(word.arg is None for word in call.keywords):
        raise ValueError(f"metric {metric!r} does not take {text!r}; write parameters as name=value.")
    return [(str(word.arg), ast.unparse(word.value)) for word in call.keywords]


def _metric(label: str, name: str, given: dict[str, str]) -> Metric:
    """Check the parameters, and leave out those that have their default."""
    spec, params = SPECS[name], {}
    defaults = inspect.signature(spec.formula).parameters
    for key, text in given.items():
        key = "gain" if key == "dcg" else key
        if key == "cutoff" and not spec.cutoff:
            raise ValueError(f"metric {label!r} takes no cutoff; write {name!r}.")
        if key not in spec.takes:
            raise ValueError(
                f"metric {label!r} does not take '{key}={text}'; its parameters are {spec.takes}."
            )
        value = _READERS[key](f"metric {label!r}: {key}", text)
        default = False if key == "judged_only" else defaults[key].default if key in defaults else None
        if value != default:
            params[key] = value
    return Metric(label, spec, params.pop("cutoff", None), params)


@dataclass(frozen=True)
class _Number:
    """Read a number in a range."""

    low: float
    high: float
    whole: bool = False
    why: str = ""

    def __call__(self, what: str, text: str) -> float:
        number = _literal(text)
        if type(number) is not int and (self.whole or type(number) is not float):
            kind = "a whole number" if self.whole else "a number"
            raise ValueError(f"{what} must be {kind}; got {text!r}.")
        if not self.low <= number <= self.high:
            end = ")" if self.high == np.inf else "]"
            raise ValueError(f"{what} must lie in [{self.low:g}, {self.high:g}{end}; got {text}.{self.why}")
        return number


def _cutoff(what: str, text: str) -> int:
    if not re.fullmatch(r"[0-9]+", text.strip()) or int(text) < 1:
        raise ValueError(f"{what.rpartition(':')[0]} needs a whole number >= 1 as its cutoff; got {text!r}.")
    return int(text)


def _gain(what: str, text: str) -> str:
    word = text.replace(" ", "").strip("'\"")
    if word not in _GAINS:
        raise ValueError(f"{what} must be one of {sorted(set(_GAINS.values()))}; got {text!r}.")
    return _GAINS[word]


def _gains(what: str, text: str) -> dict[int, int] | None:
    found = _literal(text)
    if not isinstance(found, dict) or any(type(x) is not int for pair in found.items() for x in pair):
        raise ValueError(f"{what} must map grades to whole numbers, as in {{1: 1, 2: 5}}; got {text!r}.")
    return {old: new for old, new in sorted(found.items()) if old != new} or None


def _flag(what: str, text: str) -> bool:
    if text not in ("True", "False"):
        raise ValueError(f"{what} must be True or False; got {text!r}.")
    return text == "True"


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return None


_UNJUDGED = " A document without a judgement is as one of grade 0; 'judged@10' counts the judged ones."
_READERS: dict[str, Callable[[str, str], Any]] = {
    "rel": _Number(1, np.inf, whole=True, why=_UNJUDGED),
    "max_rel": _Number(1, 62, whole=True),
    "beta": _Number(0, np.inf),
    "p": _Number(0, 1),
    "alpha": _Number(0, 1),
    "threshold": _Number(-1, 1),
    "gain": _gain,
    "gains": _gains,
    "judged_only": _flag,
    "cutoff": _cutoff,
}
