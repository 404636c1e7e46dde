"""A tokenizer as data, where it is one: what a saved store needs to make it again."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from ragkit.frames.fingerprint import tokenizer_print
from ragkit.text.tokenizer import Tokenizer


def tokenizer_spec(tokenizer: Callable[[str], Any]) -> dict[str, Any]:
    """Describe a tokenizer for a saved store.

    Parameters
    ----------
    tokenizer : callable
        ``str -> list of str``.

    Returns
    -------
    dict
        ``name, print`` and, for a :class:`Tokenizer` without a stemmer, its ``options``.
    """
    name = getattr(tokenizer, "__qualname__", type(tokenizer).__qualname__)
    spec = {"name": name, "print": tokenizer_print(tokenizer), "options": None}
    if type(tokenizer) is Tokenizer and tokenizer.stem is None:
        options = {field.name: getattr(tokenizer, field.name) for field in dataclasses.fields(tokenizer)}
        spec["options"] = {k: sorted(v) if isinstance(v, frozenset) else v for k, v in options.items()}
    return spec


def tokenizer_of(spec: dict[str, Any], given: Callable[[str], Any] | None, what: str) -> Callable[[str], Any]:
    """Find the tokenizer of a saved store: make it again, or check the one at hand.

    Parameters
    ----------
    spec : dict
        What :func:`tokenizer_spec` gave.
    given : callable or None
        What the user gave.
    what : str
        What is loaded, for the message.

    Returns
    -------
    callable
        The tokenizer.

    Raises
    ------
    ValueError
        If none is given where one is needed, or the one given treats text in another way.
    """
    if given is None:
        if not isinstance(spec.get("options"), dict):
            raise ValueError(
                f"{what} was built with the tokenizer {spec.get('name')!r}, which cannot be saved; "
                "give it again: load(folder, tokenizer=...)."
            )
        return Tokenizer(**spec["options"])
    theirs = tokenizer_spec(given)
    same_options = None in (spec["options"], theirs["options"]) or spec["options"] == theirs["options"]
    if spec["print"] != theirs["print"] or not same_options:
        raise ValueError(
            f"the tokenizer given treats text otherwise than the one {what} was built with "
            f"({spec.get('name')!r}); leave it out or give the same, then call retokenize(...) to change it."
        )
    return given
