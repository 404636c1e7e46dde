"""Many settings at once: their list, and the run that has a column for each parameter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from ragkit.bm25.scoring import Setting
from ragkit.frames import check_choice
from ragkit.frames.runs import Found, run_of_slots
from ragkit.frames.table import DocTable

PARAMETERS = ("k1", "b", "variant", "delta", "mu", "query_terms", "fields")


def list_settings(given: Any) -> list[dict[str, Any]]:
    """List what each setting gives; a frame has one setting per row, and its missing cells give nothing."""
    if isinstance(given, pd.DataFrame):
        given = given.astype(object).where(given.notna(), None).to_dict("records")
    if isinstance(given, (str, Mapping)) or not isinstance(given, Iterable):
        raise TypeError(
            'settings must be a list of dicts such as [{"k1": 0.9}, {"k1": 1.2}], or a frame with one row '
            f"per setting; got {type(given).__name__}."
        )
    settings = list(given)
    for number, setting in enumerate(settings):
        if not isinstance(setting, Mapping):
            raise TypeError(f"settings must hold dicts; setting {number} is {setting!r}.")
        for name in setting:
            check_choice(f"parameter of setting {number}", name, PARAMETERS)
    return [{name: value for name, value in setting.items() if value is not None} for setting in settings]


def check_settings(given: list[dict[str, Any]], check: Callable[..., Setting]) -> list[Setting]:
    """Check each setting; the number of one that is none stands in the message."""
    out = []
    for number, setting in enumerate(given):
        try:
            out.append(check(**setting))
        except (TypeError, ValueError) as error:
            raise type(error)(f"setting {number}: {error}") from None
    return out


def run_of_settings(
    given: list[dict[str, Any]],
    settings: list[Setting],
    fields: list[str],
    query_ids: pd.Series,
    found: list[list[Found]],
    table: DocTable,
) -> pd.DataFrame:
    """Make one long run of what each setting found for each query."""
    queries = np.tile(np.arange(len(query_ids)), len(settings))
    run = run_of_slots(pd.Series(query_ids.array.take(queries)), list(chain.from_iterable(found)), table)
    number = np.repeat(np.arange(len(settings)), [sum(len(slots) for slots, _ in mine) for mine in found])
    for place, (name, values) in enumerate(_columns(given, settings, fields).items()):
        text = bool(values) and isinstance(values[0], str)
        column = pd.Series(values, dtype="str" if text else np.float64)
        run.insert(place, name, pd.Series(column.array.take(number)))
    run.insert(0, "setting", number)
    return run


def _columns(
    given: list[dict[str, Any]], settings: list[Setting], fields: list[str]
) -> dict[str, list[float | str]]:
    """Give the value of each parameter that some setting names, in all settings."""
    columns: dict[str, list[float | str]] = {}
    for name in dict.fromkeys(name for setting in given for name in setting):
        if name == "fields":
            columns |= {f"fields.{f}": [s.weights[n] for s in settings] for n, f in enumerate(fields)}
        elif name == "b" and (
            any(isinstance(setting.get("b"), Mapping) for setting in given)
            or any(len(set(s.b)) > 1 for s in settings)
        ):
            columns |= {f"b.{f}": [s.b[n] for s in settings] for n, f in enumerate(fields)}
        elif name == "b":
            columns["b"] = [s.b[0] for s in settings]
        elif name == "query_terms":
            columns[name] = ["once" if s.once else "counted" for s in settings]
        else:
            columns[name] = [getattr(s, name) for s in settings]
    return columns
