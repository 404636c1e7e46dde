"""Settings of a sweep: from a grid, a list or distributions to a list of keyword arguments."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ragkit.frames import check_top_k


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
