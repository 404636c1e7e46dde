"""The options of a fusion: checked once, spread over the runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ragkit.frames import check_choice, check_number, some
from ragkit.frames.messages import count
from ragkit.fusion.methods import METHODS, MISSING, Method, by_callable
from ragkit.fusion.normalize import NORMALIZERS


@dataclass(frozen=True)
class Plan:
    """The options of one fusion, checked; runs of weight 0 are gone."""

    method: Method
    weights: dict[str, float]
    k: float
    normalize: dict[str, Any]
    missing: dict[str, Any]
    minimum: dict[str, float]
    defaulted: bool  # whether the missing policy was left to the method
    key: Any  # stands for all of it in a cache


def make_plan(
    names: Sequence[str],
    *,
    method: Any,
    weights: Any,
    k: Any,
    normalize: Any,
    missing: Any,
    minimum: Any = None,
    of: str = "run",
) -> Plan:
    """Check the options of a fusion, once, and spread them over the runs."""
    if not callable(method):
        check_choice("fusion method", method, METHODS)
    how = by_callable(method) if callable(method) else METHODS[method]
    if how.by_rank:
        for name, value in (("normalize", normalize), ("missing", missing)):
            if value is not None:
                raise ValueError(
                    f"fusion method {method!r} looks at ranks alone, so {name} must be None; got {value!r}. "
                    "Drop it, or choose a score method such as 'linear'."
                )
    used = check_weights(weights, names, of)
    k = check_number("k", k, low=0)
    norms = _per_run("normalize", normalize, how.normalize, names, NORMALIZERS)
    missings = _per_run("missing", missing, how.missing, names, MISSING)
    lowest = _per_run("minimum", minimum, 0.0, names, None)
    for name, value in lowest.items():
        lowest[name] = check_number(f"minimum for {name!r}", value)
    key = (method, k, *(tuple(option.items()) for option in (used, norms, missings, lowest)))
    return Plan(how, used, k, norms, missings, lowest, missing is None, key)


def check_weights(weights: Any, names: Sequence[str], of: str = "run") -> dict[str, float]:
    """Check weights against the runs, and drop the runs of weight 0."""
    if weights is None:
        return dict.fromkeys(names, 1.0)
    if isinstance(weights, pd.Series):
        weights = weights.to_dict()
    if isinstance(weights, Mapping):
        given = dict(weights)
        lacking = [name for name in names if name not in given]
        extra = [name for name in given if name not in names]
        if lacking or extra:
            raise ValueError(
                f"weights must name every {of} once; "
                + "; ".join(
                    text
                    for text, found in (
                        (f"no weight for {some(lacking)}", lacking),
                        (f"no {of} for weight {some(extra)}", extra),
                    )
                    if found
                )
                + f". The {of}s are {list(names)}."
            )
    elif isinstance(weights, (Sequence, np.ndarray)) and not isinstance(weights, (str, bytes)):
        if len(weights) != len(names):
            raise ValueError(
                f"fuse got {len(names)} {of}s but {count(len(weights), 'weight')}; give one for each."
            )
        given = dict(zip(names, weights))
    else:
        raise TypeError(f"weights must be a dict of {of} to number; got {type(weights).__name__}.")
    checked = {name: check_number(f"weight of {name!r}", given[name], low=0) for name in names}
    kept = {name: w for name, w in checked.items() if w > 0}
    if not kept:
        raise ValueError(
            f"weights must not all be 0; got {checked}. Give at least one {of} a weight above 0."
        )
    return kept


def _per_run(what: str, given: Any, default: Any, names: Sequence[str], options: Any) -> dict[str, Any]:
    """Spread one option over the runs; a dict gives it by run, and the rest keep the default."""
    if isinstance(given, Mapping):
        extra = [name for name in given if name not in names]
        if extra:
            raise ValueError(f"{what} names {some(extra)}, but the runs are {list(names)}.")
        chosen = {name: default if given.get(name) is None else given[name] for name in names}
    else:
        chosen = dict.fromkeys(names, default if given is None else given)
    if options is not None:
        for value in chosen.values():
            if not callable(value):
                check_choice(what, value, options)
    return chosen
