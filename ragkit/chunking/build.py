"""From documents to the chunks frame: the public door of chunking."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from ragkit.chunking.adapters import is_splitter, splitter_name, splitter_spans
from ragkit.chunking.methods import METHODS, Cut, Plan
from ragkit.chunking.semantic import check_rule, ready, sentence_groups
from ragkit.frames import as_docs, check_choice, check_top_k, deep_copy
from ragkit.text.blanks import end_of_word, skip_blank

_OWN = ["chunk_id", "start", "end", "overlap"]
_COLUMNS = {
    "markdown": {"section": "str"},
    "sentence_window": {"parent_start": "int64", "parent_end": "int64"},
    "parent_child": {"parent_start": "int64", "parent_end": "int64"},
}
_ZERO_WIDTH = "\u200b\u200c\u200d\u2060\ufeff"
_MOST_CHARACTERS = 4e9

#: Which methods take which of the options that are not for all.
_TAKES = {
    "separators": ("recursive",),
    "keep_separator": ("recursive",),
    "language": ("code",),
    "embed": ("semantic",),
    "threshold": ("semantic",),
    "amount": ("semantic",),
    "window": ("semantic", "sentence_window"),
    "parent_size": ("parent_child",),
}
_WHOLE_SIZE = ("fixed", "seed", "sentence_window")  # no range of sizes, no smallest size
_NO_OVERLAP = ("sentence_window",)
_PLAIN = ("sentence", "fixed", "paragraph", "recursive")  # a text that fits is one chunk


def chunk(
    docs: Any,
    *,
    method: Any = "sentence",
    size: int | tuple[int, int] = 1000,
    overlap: int | None = None,
    length: Callable[[str], int] = len,
    tokenizer: Callable[[str], list[str]] | None = None,
    min_size: int | None = None,
    on_long: str = "cut",
    separators: Iterable[str] | None = None,
    keep_separator: str | None = None,
    language: str | None = None,
    embed: Callable[[list[str]], Any] | None = None,
    threshold: str | None = None,
    amount: float | None = None,
    window: int | None = None,
    parent_size: int | None = None,
) -> pd.DataFrame:
    """Cut documents into chunks that are exact slices of them.

    Starts and ends strictly increase, every character that is not white space is covered, no chunk is
    blank or begins or ends with white space (code keeps the indent of its first line), and no character
    that a reader sees as one is cut, even where it alone is longer than `size`.

    Parameters
    ----------
    docs : str, list of str, dict, DataFrame or documents
        Whatever :func:`ragkit.as_docs` takes.
    method : str, or a splitter, default="sentence"
        How to cut:

        - ``"sentence"`` fills each chunk with whole sentences, ``"paragraph"`` with whole paragraphs; one
          longer than `size` is cut at the next finer boundary: sentence, word, character. Abbreviations
          that end no sentence are listed in ``ragkit.text.abbreviations``.
        - ``"fixed"`` cuts after `size` characters, or tokens of a `tokenizer`.
        - ``"recursive"`` cuts at the coarsest of `separators` that the room holds.
        - ``"markdown"`` keeps sections apart and leaves fences and tables whole unless they are too long;
          the column ``section`` holds the path of headings.
        - ``"code"`` cuts Python between definitions, statements and lines; other languages by blank
          lines and indentation.
        - ``"semantic"`` cuts where the subject changes, see :func:`ragkit.breakpoints`.
        - ``"sentence_window"`` makes each sentence a chunk, ``"parent_child"`` cuts larger pieces into
          small chunks; the columns ``parent_start, parent_end`` say what to read once one is found.
        - ``"seed"`` is the chunker of expo-ai-kit with its defects: text lost at marks that begin a line,
          chunks of up to ``size + overlap``, windows that only repeat.
        - A splitter of langchain-text-splitters, chonkie, llama-index or semantic-text-splitter, or a
          function ``str -> list of str``, cuts by its own settings, so that `size` and the like are to be
          left out; its chunks are located in the text.
    size : int or (int, int), default=1000
        The most that `length` may give for a chunk. Of a range, a chunk ends at the coarsest boundary
        that makes it at least the smaller number.
    overlap : int or None, default=None
        The most that a chunk repeats of the one before it, inside `size`; None is ``min(200, size // 5)``.
        It begins with a whole sentence or word where it can and gives way where the next sentence needs
        the room; the column ``overlap`` says how many characters are shared.
    length : callable, default=len
        ``str -> int``: what `size` and `overlap` count.
    tokenizer : callable or None, default=None
        ``str -> list of str``: counts its tokens instead of `length`; ``"fixed"`` cuts between them.
    min_size : int or None, default=None
        A last chunk shorter than this is joined to the one before, or takes whole words from it.
    on_long : {"cut", "keep"}, default="cut"
        What becomes of a piece that is longer than `size`: cut at a finer boundary, or kept whole.
    separators : list of str or None, default=None
        For ``"recursive"``, coarse to fine; None is blank lines, lines, sentences, words. Of these,
        ``"\\n\\n"``, ``"\\n"`` and ``" "`` mean any blank line, line end and white space.
    keep_separator : {"end", "start"} or None, default=None
        For ``"recursive"``: whether a separator ends the piece before it (as None does) or begins the next.
    language : {"python", "other"} or None, default=None
        For ``"code"``; None tries Python.
    embed, threshold, amount
        For ``"semantic"``, as in :func:`ragkit.breakpoints`.
    window : int or None, default=None
        Sentences on each side: for ``"semantic"`` (None: 1) and ``"sentence_window"`` (None: 3).
    parent_size : int or None, default=None
        For ``"parent_child"``; None is four times `size`.

    Returns
    -------
    DataFrame
        ``chunk_id, doc_id, start, end, text, overlap``, the method's own columns and the document's others;
        ``text == document[start:end]``. Blank documents give no chunk.

    Raises
    ------
    ValueError
        If `size` or `overlap` is not a whole number, `overlap` is not below `size`, `method` is unknown,
        an option is not for this method, or a splitter's chunk is not a slice of its document.
    TypeError
        If a text is not a string, or `length` does not give whole numbers.

    See Also
    --------
    breakpoints : The distances behind ``method="semantic"``.
    chunk_report : Sizes, gaps and repetitions of chunks.
    show_chunks : Chunks marked in their text.

    Examples
    --------
    >>> chunks = chunk("One is small. Two is big. Three is bigger.", size=30, overlap=12)
    >>> chunks[["start", "end", "text", "overlap"]].values.tolist()
    [[0, 25, 'One is small. Two is big.', 0], [14, 42, 'Two is big. Three is bigger.', 11]]
    """
    given = {
        "separators": separators,
        "keep_separator": keep_separator,
        "language": language,
        "embed": embed,
        "threshold": threshold,
        "amount": amount,
        "window": window,
        "parent_size": parent_size,
    }
    if not isinstance(method, str) and is_splitter(method):
        _refuse(given, splitter_name(method))
        settings: dict[str, tuple[Any, Any]] = {
            "size": (size, 1000),
            "overlap": (overlap, None),
            "length": (length, len),
            "tokenizer": (tokenizer, None),
            "min_size": (min_size, None),
            "on_long": (on_long, "cut"),
        }
        _refuse_settings(settings, splitter_name(method))
        return _frame(frame := _check_docs(docs, ""), _located(frame, method), "")
    name = check_choice("method", method, METHODS)
    plan = _plan(name, size, overlap, length, tokenizer, min_size, on_long, given)
    frame = _check_docs(docs, name)
    _check_total(frame["text"], plan)
    if name == "semantic":
        plan = _with_embedder(plan, frame["text"])
    return _frame(frame, [_cut(text, plan, name) for text in frame["text"]], name)


def _plan(
    name: str,
    size: Any,
    overlap: Any,
    length: Any,
    tokenizer: Any,
    min_size: Any,
    on_long: Any,
    given: dict[str, Any],
) -> Plan:
    """Check what was asked for."""
    least, most = _check_size(size, overlap)
    _refuse({k: v for k, v in given.items() if name not in _TAKES[k]}, name)
    if name in _WHOLE_SIZE and (least or min_size):
        raise ValueError(f"method {name!r} has no smallest size; give one number as size and no min_size.")
    if name in _NO_OVERLAP and overlap:
        raise ValueError(f"method {name!r} has no overlap; leave it out or give 0, and widen window instead.")
    if name == "seed" and (length is not len or tokenizer is not None):
        raise ValueError("method 'seed' counts characters; leave length and tokenizer out.")
    if min_size is not None and not (_is_whole(min_size) and 0 <= min_size <= most):
        raise ValueError(
            f"min_size must be a whole number in [0, size]; got min_size={min_size!r}, size={size!r}."
        )
    check_choice("on_long", on_long, ["cut", "keep"])
    return Plan(
        size=most,
        overlap=min(200, most // 5) if overlap is None else int(overlap),
        length=_check_length(length, tokenizer),
        least=least,
        min_size=int(min_size or 0),
        on_long=on_long,
        tokenizer=tokenizer,
        options=_options(name, most, given),
    )


def _options(name: str, size: int, given: dict[str, Any]) -> dict[str, Any]:
    """Check the options of one method and fill in what was left out."""
    if name == "recursive":
        keep = "end" if given["keep_separator"] is None else given["keep_separator"]
        return {
            "separators": _check_separators(given["separators"]),
            "keep_separator": check_choice("keep_separator", keep, ["end", "start"]),
        }
    if name == "code":
        language = given["language"]
        options = ["python", "other"]
        return {"language": None if language is None else check_choice("language", language, options)}
    if name == "semantic":
        rule = "percentile" if given["threshold"] is None else given["threshold"]
        kind, amount = check_rule(rule, given["amount"])
        window = _window(given["window"], 1)
        return {"embed": given["embed"], "threshold": kind, "amount": amount, "window": window}
    if name == "sentence_window":
        return {"window": _window(given["window"], 3)}
    if name == "parent_child":
        parent = 4 * size if given["parent_size"] is None else given["parent_size"]
        if not _is_whole(parent) or parent < size:
            raise ValueError(f"parent_size must be a whole number >= size; got {parent!r}, size={size!r}.")
        return {"parent_size": int(parent)}
    return {}


def _window(window: Any, usual: int) -> int:
    return usual if window is None else check_top_k(window, "window", none=False) or 0


def _refuse(given: dict[str, Any], name: str) -> None:
    """Refuse options that the method would not read."""
    strange = [option for option, value in given.items() if value is not None]
    if strange:
        listed = ", ".join(f"{option} (for {' or '.join(map(repr, _TAKES[option]))})" for option in strange)
        raise ValueError(f"method {name!r} does not take {listed}; leave out what the method does not read.")


def _refuse_settings(settings: dict[str, tuple[Any, Any]], name: str) -> None:
    """Refuse settings, given with their defaults, that another library's splitter would not read."""
    ignored = [option for option, (value, usual) in settings.items() if value is not usual and value != usual]
    if ignored:
        raise ValueError(
            f"method {name!r} cuts by its own settings; set {', '.join(ignored)} there, or leave out here."
        )


def _check_size(size: Any, overlap: Any) -> tuple[int, int]:
    """Check size and overlap; give the smallest and the largest size."""
    given = f"got size={size!r}, overlap={overlap!r}"
    least, most = size if isinstance(size, (tuple, list)) and len(size) == 2 else (0, size)
    if not _is_whole(most) or most < 1:
        raise ValueError(f"size must be a whole number >= 1, or a pair of them; {given}.")
    if not _is_whole(least) or not 0 <= least <= most:
        raise ValueError(f"size must be a pair (smallest, largest) of whole numbers; {given}.")
    if overlap is not None and (not _is_whole(overlap) or not 0 <= overlap < most):
        raise ValueError(
            f"overlap must be a whole number in [0, size), or None for a fifth of size; {given}."
        )
    return int(least), int(most)


def _is_whole(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and type(value).__name__ not in ("bool", "bool_")


def _check_length(length: Any, tokenizer: Any) -> Callable[[str], int]:
    if not callable(length):
        raise TypeError(f"length must be a function str -> int; got {length!r}.")
    if tokenizer is None:
        return length
    if not callable(tokenizer):
        raise TypeError(f"tokenizer must be a function str -> list[str] or None; got {tokenizer!r}.")
    if length is not len:
        raise ValueError("give length or tokenizer, not both: a tokenizer counts its own tokens.")
    return lambda text: len(tokenizer(text))


def _check_separators(separators: Any) -> tuple[str, ...] | None:
    if separators is None:
        return None
    some = [separators] if isinstance(separators, str) or not isinstance(separators, Iterable) else separators
    listed = list(some)
    if not all(isinstance(s, str) for s in listed):
        raise TypeError(f"separators must be a list of strings, coarse to fine; got {separators!r}.")
    return tuple(listed)


def _check_docs(docs: Any, name: str) -> pd.DataFrame:
    frame = as_docs(docs)
    taken = [column for column in [*_OWN, *_COLUMNS.get(name, {})] if column in frame.columns]
    if taken:
        raise ValueError(
            f"chunk writes the columns {taken}, which docs has already; give documents that are not chunks, "
            "or rename those columns."
        )
    return frame


def _check_total(texts: pd.Series, plan: Plan) -> None:
    """Refuse an overlap so close to the size that the chunks would not fit into memory."""
    step = plan.size - plan.overlap
    if plan.length is not len or step * 100 > plan.size:
        return
    total = sum(len(text) / step * plan.size for text in texts if len(text) > plan.size)
    if total > _MOST_CHARACTERS:
        raise ValueError(
            f"size={plan.size} with overlap={plan.overlap} could make {total:.2g} characters of these texts; "
            "lower overlap."
        )


def _with_embedder(plan: Plan, texts: pd.Series) -> Plan:
    """Make the embedder ready, fitted to the sentence groups of all documents where it has to be."""
    options = plan.options
    needs_fit = hasattr(options["embed"], "fit") and not getattr(options["embed"], "fitted", False)
    groups = [g for text in texts for g in sentence_groups(text, options["window"])] if needs_fit else []
    embed = ready(options["embed"], groups)
    return Plan(**(vars(plan) | {"options": options | {"embed": embed}}))


def _cut(text: str, plan: Plan, name: str) -> Cut:
    """Cut one text; a blank one has no chunks, and one that fits needs no looking at."""
    inner = text.strip()
    fits = plan.length is len and len(inner) <= plan.size and name in _PLAIN
    if fits and len(inner) == len(text) > 0 and text.isascii():
        return Cut([(0, len(text))])
    if _is_blank(inner):
        return Cut([])
    if fits:
        return Cut([(skip_blank(text, 0), end_of_word(text, 0, len(text)))])
    return METHODS[name](text, plan)


def _is_blank(inner: str) -> bool:
    """Say whether a stripped text holds nothing but characters without width."""
    return not inner or (inner[0] in _ZERO_WIDTH and not inner.translate(_DROP_ZERO_WIDTH).strip())


_DROP_ZERO_WIDTH = dict.fromkeys(map(ord, _ZERO_WIDTH))


def _located(docs: pd.DataFrame, splitter: Any) -> list[Cut]:
    pairs = zip(docs["doc_id"], docs["text"])
    return [Cut([] if _is_blank(t.strip()) else splitter_spans(splitter, t, doc_id)) for doc_id, t in pairs]


def _frame(docs: pd.DataFrame, cuts: list[Cut], name: str) -> pd.DataFrame:
    """Lay out the cuts of all documents as the chunks frame."""
    counts = np.fromiter((len(cut.spans) for cut in cuts), dtype=np.int64, count=len(cuts))
    rows = np.repeat(np.arange(len(cuts)), counts)
    spans = chain.from_iterable(cut.spans for cut in cuts)
    edges = np.fromiter(chain.from_iterable(spans), dtype=np.int64, count=2 * int(counts.sum()))
    starts, ends = edges[::2].copy(), edges[1::2].copy()
    texts = [text[a:b] for text, cut in zip(docs["text"], cuts) for a, b in cut.spans]
    ids = zip(docs["doc_id"].to_numpy(dtype=object), counts.tolist())
    columns = {
        "chunk_id": pd.Series([f"{doc_id}#{n}" for doc_id, count in ids for n in range(count)], dtype="str"),
        "doc_id": docs["doc_id"].array.take(rows),
        "start": starts,
        "end": ends,
        "text": pd.Series(texts, dtype="str"),
        "overlap": _shared(rows, starts, ends),
    }
    for column, dtype in _COLUMNS.get(name, {}).items():
        values = [v for cut in cuts for v in cut.columns.get(column, [])]
        columns[column] = pd.Series(values, dtype=dtype)
    out = pd.DataFrame(columns)
    others = [column for column in docs.columns if column not in ("doc_id", "text")]
    if others:
        out = pd.concat([out, deep_copy(docs[others].take(rows).reset_index(drop=True))], axis=1)
    return out


def _shared(rows: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Count the characters that each chunk shares with the one before it in its document."""
    shared = np.zeros(len(rows), dtype=np.int64)
    same = rows[1:] == rows[:-1]
    shared[1:] = np.where(same, np.maximum(np.minimum(ends[:-1], ends[1:]) - starts[1:], 0), 0)
    return shared
