"""Arguments of a search, given as a dict."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from ragkit.frames import check_choice
from ragkit.frames.mixups import brief


def search_options(searched: Any, params: Any) -> dict[str, Any]:
    """Check that `params` are arguments of the object's ``search``."""
    if params is None:
        return {}
    if not isinstance(params, Mapping):
        raise TypeError(
            f'params must be a dict of arguments of search, such as {{"top_k": 5}}; got {brief(params)}.'
        )
    known = inspect.signature(searched.search).parameters
    names = [name for name in known if name != "queries"]
    if not any(p.kind == p.VAR_KEYWORD for p in known.values()):
        for name in params:
            check_choice("parameter of search", name, names)
    return dict(params)
