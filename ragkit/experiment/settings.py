"""Settings of a sweep: from a grid, a list or distributions to a list of keyword arguments."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ragkit.frames import check_top_k
from ragkit.frames.messages import closest


def list_settings(grid: Any, n: int | None, random_state: int) -> list[dict[str, Any]]:
    """List the settings of a grid (a product), a list, or a space with distributions (`n` draws)."""
    if isinstance(grid, Mapping):
        if not grid:
            raise ValueError("grid needs at least one parameter; got an empty dict.")
        axes = {str(name): _axis(values) for name, values in grid.items()}
        if n is None:
            _no_distributions(axes)
            return [dict(zip(axes, values)) for values in itertools.product(*axes.values())]
        return _draw(axes, check_top_k(n, "n", none=False) or 0, random_state)
    if not isinstance(grid, Iterable) or isinstance(grid, str):
        raise TypeError(
            f"grid must be a dict of name to values or a list of dicts; got {type(grid).__name__}."
        )
    settings = list(grid)
    if not all(isinstance(setting, Mapping) for setting in settings):
        raise TypeError("grid must be a dict of name to values or a list of dicts of name to value.")
    return [{str(name): value for name, value in setting.items()} for setting in settings]


def _axis(values: Any) -> Any:
    """Make a list of one parameter's values; a single value or a distribution stays as it is."""
    if hasattr(values, "rvs"):
        return values
    if isinstance(values, (str, Mapping)) or not isinstance(values, Iterable):
        return [values]
    return [v.item() if isinstance(v, np.generic) else v for v in values]


def _no_distributions(axes: Mapping[str, Any]) -> None:
    drawn = [name for name, values in axes.items() if hasattr(values, "rvs")]
    if drawn:
        raise ValueError(
            f"grid draws {drawn} from a distribution, which needs n=: how many settings to draw."
        )


def _draw(axes: Mapping[str, Any], n: int, random_state: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(random_state)
    drawn = []
    for _ in range(n):
        setting = {}
        for name, values in axes.items():
            value = (
                values.rvs(random_state=rng) if hasattr(values, "rvs") else values[rng.integers(len(values))]
            )
            setting[name] = value.item() if isinstance(value, (np.generic, np.ndarray)) else value
        drawn.append(setting)
    return drawn


def settings_frame(settings: list[dict[str, Any]]) -> pd.DataFrame:
    """Make one row per setting; a dict becomes a column per key, what is neither number nor text its name."""
    rows = [{"setting": number} | _flat(setting) for number, setting in enumerate(settings)]
    return pd.DataFrame(rows, columns=None if rows else ["setting"])


def _flat(setting: Mapping[str, Any]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, value in setting.items():
        if isinstance(value, Mapping):
            out |= {f"{name}.{key}": inner for key, inner in _flat(value).items()}
        elif value is None or isinstance(value, (str, bool, int, float)):
            out[name] = value
        else:
            out[name] = getattr(value, "__name__", None) or repr(value)
    return out


def make_call(retriever: Any, queries: Any, names: Iterable[str]) -> Callable[[dict[str, Any]], Any]:
    """Make ``setting -> run`` of a ragkit object, a dict of runs to be fused, or any callable."""
    if isinstance(retriever, Mapping):
        return FuseRuns(retriever, names)
    function = getattr(retriever, "search", None) or retriever
    if not callable(function):
        raise TypeError(
            "retriever must have a search method, be a callable of the grid's names, or a dict of runs to "
            f"fuse; got {type(retriever).__name__}."
        )
    searches = function is not retriever
    if searches and queries is None:
        raise ValueError(
            f"sweeping a {type(retriever).__name__} needs queries=, such as queries=data.queries."
        )
    parameters = _parameters(function)
    positional = searches or (queries is not None and _wants_queries(parameters, names))
    _check_names(names, parameters, skip=1 if positional else 0)
    return Call(function, queries, positional)


def makes_runs(retriever: Any) -> bool:
    """Say whether a retriever's runs are in order by construction: ranked, sorted, no document twice."""
    from ragkit.bm25 import KeywordIndex
    from ragkit.hybrid import HybridSearch
    from ragkit.vectors import VectorStore

    return type(retriever) in (KeywordIndex, VectorStore, HybridSearch)


class Call:
    """Call a retriever with a setting; a class, so that processes can receive it."""

    def __init__(self, function: Callable, queries: Any, positional: bool):
        self.function, self.queries, self.positional = function, queries, positional
        # A retriever with a memory of stages is best asked for settings that share them one after another.
        self.staged = hasattr(getattr(function, "__self__", None), "clear_cache")

    def __call__(self, setting: dict[str, Any]) -> Any:
        """Give the run of one setting."""
        return self.function(self.queries, **setting) if self.positional else self.function(**setting)


class FuseRuns:
    """Fuse ready runs with a setting."""

    def __init__(self, runs: Mapping[str, Any], names: Iterable[str]):
        from ragkit.fusion import fuse

        _check_names(names, _parameters(fuse), skip=1)
        self.runs = dict(runs)

    def __call__(self, setting: dict[str, Any]) -> Any:
        """Give the run of one setting."""
        from ragkit.fusion import fuse

        return fuse(self.runs, **setting)


def _parameters(function: Callable) -> dict[str, inspect.Parameter] | None:
    try:
        return dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return None


def _wants_queries(parameters: dict[str, inspect.Parameter] | None, names: Iterable[str]) -> bool:
    """Say whether a callable's first parameter is for the queries and not one of the grid's."""
    if not parameters:
        return False
    first = next(iter(parameters.values()))
    return first.name not in set(names) and first.kind in (first.POSITIONAL_ONLY, first.POSITIONAL_OR_KEYWORD)


def _check_names(names: Iterable[str], parameters: dict[str, inspect.Parameter] | None, skip: int) -> None:
    """Raise before any work if the retriever does not know a parameter."""
    if parameters is None or any(p.kind == p.VAR_KEYWORD for p in parameters.values()):
        return
    known = list(parameters)[skip:]
    for name in names:
        if name not in known:
            near = closest(name, known)
            guess = f" Did you mean {near!r}?" if near else ""
            raise ValueError(f"the retriever has no parameter {name!r}; it takes {known}.{guess}")
