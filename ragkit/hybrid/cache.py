"""A bounded memory of stages: the same question is not asked twice."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd


class StageCache:
    """Results of one stage by what went into it; the one unused for longest makes room.

    Parameters
    ----------
    size : int
        How many results are kept.
    """

    def __init__(self, size: int):
        self.size = size
        self._held: OrderedDict[Any, Any] = OrderedDict()

    def get(self, key: Any, make: Callable[[], Any]) -> Any:
        """Give what is held for `key`, or make it and hold it.

        Parameters
        ----------
        key : hashable
            Everything that the result depends on.
        make : callable
            Makes the result.

        Returns
        -------
        object
            The result; not to be modified.
        """
        if key in self._held:
            self._held.move_to_end(key)
            return self._held[key]
        made = make()
        self._held[key] = made
        while len(self._held) > self.size:
            self._held.popitem(last=False)
        return made

    def clear(self) -> None:
        """Forget everything."""
        self._held.clear()

    def __len__(self) -> int:
        return len(self._held)


def fingerprint(value: Any) -> Any:
    """Make a hashable stand-in that changes when `value` does.

    Parameters
    ----------
    value : object
        Numbers, strings, arrays, frames, nested dicts and lists; a callable equals nothing,
        for it may read what has changed.

    Returns
    -------
    hashable
        Equal for equal values of one type.
    """
    if isinstance(value, (pd.Series, pd.DataFrame)):
        hashes = pd.util.hash_pandas_object(value, index=True).to_numpy()
        return ("frame", type(value).__name__, fingerprint(hashes))
    if isinstance(value, np.ndarray) and value.dtype != object:
        digest = hashlib.blake2b(np.ascontiguousarray(value).tobytes(), digest_size=16).digest()
        return ("array", value.dtype.str, value.shape, digest)
    if isinstance(value, Mapping):
        return ("dict", tuple((str(key), fingerprint(inner)) for key, inner in value.items()))
    if isinstance(value, (list, tuple, np.ndarray)):
        return ("list", tuple(fingerprint(inner) for inner in value))
    if isinstance(value, (set, frozenset)):
        return ("set", frozenset((type(inner).__name__, inner) for inner in value))
    if callable(value):
        return object()  # it may read what has changed since: never equal, so it is asked anew
    try:
        hash(value)
    except TypeError:
        return object()  # never equal to another: what cannot be compared is asked anew
    return (type(value).__name__, value)
