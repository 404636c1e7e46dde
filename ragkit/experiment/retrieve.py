"""Settings in, runs out: how the retriever of a sweep is called, one setting or many at once."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from ragkit.frames.messages import guess

# What decides the slow stages of a search: settings that share these run one after another.
_SLOW = ("where", "variant", "k1", "b", "pool", "min_score")
MOST = 16  # settings of one task: what an interruption can lose


def make_call(retriever: Any, queries: Any, names: Iterable[str]) -> Call:
    """Make ``setting -> run`` of a ragkit object, a dict of runs to be fused, or any callable."""
    from ragkit.bm25 import KeywordIndex

    if isinstance(retriever, Mapping):
        from ragkit.fusion import fuse

        _check_names(names, _parameters(fuse), skip=1)
        return Call(fuse, dict(retriever), True)
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
    owner = getattr(function, "__self__", None)
    if positional and type(owner) is KeywordIndex and function == owner.search:
        return IndexCall(function, queries, positional)
    return (StagedCall if hasattr(owner, "clear_cache") else Call)(function, queries, positional)


def makes_runs(retriever: Any) -> bool:
    """Say whether a retriever's runs are in order by construction: ranked, sorted, no document twice."""
    from ragkit.bm25 import KeywordIndex
    from ragkit.hybrid import HybridSearch
    from ragkit.vectors import VectorStore

    return type(retriever) in (KeywordIndex, VectorStore, HybridSearch)


class Call:
    """Call a retriever with a setting; a class, so that processes can receive it."""

    def __init__(self, function: Callable, first: Any, positional: bool):
        self.function, self.first, self.positional = function, first, positional

    def __call__(self, setting: dict[str, Any]) -> Any:
        """Give the run of one setting."""
        return self.function(self.first, **setting) if self.positional else self.function(**setting)

    def tasks(self, settings: Mapping[int, dict[str, Any]], jobs: int) -> list[list[int]]:
        """Part numbered settings into tasks for so many workers: here each is one."""
        return [[number] for number in settings]

    def together(self, settings: list[dict[str, Any]]) -> list[Any] | None:
        """Give the runs of all settings of a task at once; None where each is called by itself."""
        return None


class StagedCall(Call):
    """Call a retriever that remembers its stages: settings that share the slow ones follow one another."""

    def tasks(self, settings: Mapping[int, dict[str, Any]], jobs: int) -> list[list[int]]:
        """Put settings with the same slow stages into one task, so that these run once."""
        return _blocks(settings, lambda setting: tuple(repr(setting.get(name)) for name in _SLOW), MOST)


class IndexCall(Call):
    """Search a KeywordIndex, which computes many settings of its formula at once."""

    def tasks(self, settings: Mapping[int, dict[str, Any]], jobs: int) -> list[list[int]]:
        """Put settings with the same `top_k` and `where` into as many tasks as there are workers, or more."""
        most = min(MOST, -(-len(settings) // jobs))
        return _blocks(
            settings, lambda setting: (repr(setting.get("top_k", "")), id(setting.get("where"))), most
        )

    def together(self, settings: list[dict[str, Any]]) -> list[Any] | None:
        """Give a run for each setting, from one search."""
        if len(settings) < 2:
            return None
        shared = {name: value for name, value in settings[0].items() if name in ("top_k", "where")}
        own = [{name: value for name, value in s.items() if name not in shared} for s in settings]
        index: Any = self.function.__self__  # type: ignore[attr-defined]
        long = index.search_settings(self.first, own, **shared)
        bounds = np.searchsorted(long["setting"].to_numpy(), np.arange(len(settings) + 1))
        run = long[[name for name in ("query_id", "chunk_id", "doc_id", "rank", "score") if name in long]]
        return [run.iloc[start:stop] for start, stop in itertools.pairwise(bounds)]


def _blocks(settings: Mapping[int, dict[str, Any]], key: Callable, most: int) -> list[list[int]]:
    """Group the numbers of settings by a key, and cut groups that are too long."""
    groups: dict[Any, list[int]] = {}
    for number, setting in settings.items():
        groups.setdefault(key(setting), []).append(number)
    return [group[start : start + most] for group in groups.values() for start in range(0, len(group), most)]


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
            raise ValueError(
                f"the retriever has no parameter {name!r}; it takes {known}.{guess(name, known)}"
            )
