"""Where the subject changes: distances between neighbouring groups of sentences."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ragkit.chunking.packing import Span
from ragkit.frames import as_docs, check_choice, check_number, check_top_k
from ragkit.similarity import as_matrix, normalize_rows
from ragkit.text import Tokenizer
from ragkit.text.boundaries import sentence_spans

#: The rules and their usual amounts.
THRESHOLDS = {"percentile": 95.0, "standard_deviation": 3.0, "interquartile": 1.5, "gradient": 95.0}

Embed = Callable[[list[str]], Any]
_BLOCK = 1024  # groups embedded at a time


def breakpoints(
    docs: Any,
    *,
    embed: Embed | None = None,
    window: int = 1,
    threshold: str = "percentile",
    amount: float | None = None,
) -> pd.DataFrame:
    """Measure how far the subject moves from each sentence to the next.

    A sentence stands for itself and `window` neighbours on each side. The distance is 1 - cosine of the
    vectors of two neighbouring groups; the text may be cut where it is above the threshold.

    Parameters
    ----------
    docs : str, list of str, dict, DataFrame or documents
        Whatever :func:`ragkit.as_docs` takes.
    embed : callable or None, default=None
        ``list of str -> array (n, d)``. One with ``fit`` that is not fitted is copied and fitted to the
        groups of all documents. None counts words, as TextTiling does [2]_.
    window : int, default=1
        Sentences on each side that a sentence is read with.
    threshold : {"percentile", "standard_deviation", "interquartile", "gradient"}, default="percentile"
        The rule, per document: the `amount`-th percentile of the distances; their mean plus `amount`
        standard deviations; their mean plus `amount` times their interquartile range; the `amount`-th
        percentile of the distances' slope.
    amount : float or None, default=None
        None is 95, 3, 1.5 and 95.

    Returns
    -------
    DataFrame
        ``doc_id, sentence, start, end, distance, score, threshold, is_break``: one row per sentence;
        `distance` is to the next sentence (NaN for the last), `score` is what is compared with
        `threshold`, and a break comes after the sentence.

    Raises
    ------
    ValueError
        If the rule is unknown, or `amount` is out of its range.

    See Also
    --------
    ragkit.chunk : ``method="semantic"`` cuts at these breaks.

    References
    ----------
    .. [1] Kamradt. 5 Levels of Text Splitting. 2023.
    .. [2] Hearst. TextTiling: segmenting text into multi-paragraph subtopic passages. Computational
       Linguistics 23(1), 1997.

    Examples
    --------
    >>> text = "The cat sat. The cat slept. The cat ate. Bonds fell. Bonds rose. Bonds held."
    >>> table = breakpoints(text, window=0, amount=80)
    >>> table.loc[table["is_break"], "sentence"].tolist()
    [2]
    """
    frame = as_docs(docs)
    rule = check_rule(threshold, amount)
    window = check_top_k(window, "window", none=False) or 0
    texts = frame["text"].tolist()
    sentences = [sentence_spans(text) for text in texts]
    groups = [_groups(text, spans, window) for text, spans in zip(texts, sentences)]
    embed = ready(embed, [group for some in groups for group in some])
    tables = [
        _table(doc_id, spans, _distances(embed, group), rule)
        for doc_id, spans, group in zip(frame["doc_id"], sentences, groups)
    ]
    return pd.concat([_table("", [], np.empty(0), rule), *tables], ignore_index=True)


def check_rule(threshold: Any, amount: Any) -> tuple[str, float]:
    """Check the rule that decides where a distance is a break.

    Parameters
    ----------
    threshold : str
        One of :data:`THRESHOLDS`.
    amount : float or None
        Its amount; None for the usual one.

    Returns
    -------
    tuple of (str, float)
        The rule and its amount.
    """
    name = check_choice("threshold", threshold, THRESHOLDS)
    high = 100.0 if name in ("percentile", "gradient") else np.inf
    return name, check_number("amount", THRESHOLDS[name] if amount is None else amount, low=0.0, high=high)


def ready(embed: Embed | None, texts: list[str]) -> Embed:
    """Make an embedder that can be called: word counts for None; an unfitted one is copied and fitted.

    Parameters
    ----------
    embed : callable or None
        The embedder given.
    texts : list of str
        What it is fitted to.

    Returns
    -------
    callable
        ``list of str -> array (n, d)``.
    """
    if embed is None:
        return _count_words
    if not callable(embed):
        raise TypeError(f"embed must be a function list[str] -> array (n, d) or None; got {embed!r}.")
    if not hasattr(embed, "fit") or getattr(embed, "fitted", False) or not texts:
        return embed
    fitted: Any = copy.deepcopy(embed)
    fitted.fit(texts)
    return fitted


def semantic_cuts(text: str, embed: Embed, window: int, rule: tuple[str, float]) -> list[int]:
    """Find the cuts in one text where the subject changes.

    Parameters
    ----------
    text : str
        The document.
    embed : callable
        An embedder that is ready.
    window : int
        Sentences on each side that a sentence is read with.
    rule : tuple of (str, float)
        Threshold and amount.

    Returns
    -------
    list of int
        Offsets after sentences.
    """
    spans = sentence_spans(text)
    table = _table("", spans, _distances(embed, _groups(text, spans, window)), rule)
    return table.loc[table["is_break"], "end"].tolist()


def sentence_groups(text: str, window: int) -> list[str]:
    """List the groups of sentences that one text is read by.

    Parameters
    ----------
    text : str
        The document.
    window : int
        Sentences on each side.

    Returns
    -------
    list of str
        One slice of the text per sentence.
    """
    return _groups(text, sentence_spans(text), window)


def _groups(text: str, spans: Sequence[Span], window: int) -> list[str]:
    last = len(spans) - 1
    return [text[spans[max(n - window, 0)][0] : spans[min(n + window, last)][1]] for n in range(len(spans))]


def _distances(embed: Embed, groups: list[str]) -> np.ndarray:
    """Measure 1 - cosine between each group and the next."""
    parts = [np.empty(0)]
    for begin in range(0, len(groups) - 1, _BLOCK):
        some = groups[begin : begin + _BLOCK + 1]
        rows = as_matrix(embed(some), "the embedder's vectors")
        if len(rows) != len(some):
            raise ValueError(f"embed must return one vector per text; got {len(rows)} for {len(some)} texts.")
        unit = normalize_rows(np.asarray(rows, dtype=np.float64))
        parts.append(1.0 - np.clip(np.einsum("ij,ij->i", unit[:-1], unit[1:]), -1.0, 1.0))
    return np.concatenate(parts)


def _table(
    doc_id: str, spans: Sequence[Span], distances: np.ndarray, rule: tuple[str, float]
) -> pd.DataFrame:
    n = len(spans)
    score, limit = _threshold(distances, rule)
    padded = np.full(n, np.nan)
    padded[: len(distances)] = distances
    scores = np.full(n, np.nan)
    scores[: len(score)] = score
    edges = np.array(spans, dtype=np.int64).reshape(-1, 2)
    return pd.DataFrame(
        {
            "doc_id": pd.Series([doc_id] * n, dtype="str"),
            "sentence": np.arange(n, dtype=np.int64),
            "start": edges[:, 0],
            "end": edges[:, 1],
            "distance": padded,
            "score": scores,
            "threshold": np.full(n, limit),
            "is_break": scores > limit,
        }
    )


def _threshold(distances: np.ndarray, rule: tuple[str, float]) -> tuple[np.ndarray, float]:
    """Apply the rule: the series that is compared, and the limit."""
    name, amount = rule
    if len(distances) == 0:
        return distances, np.nan
    if name == "percentile":
        return distances, float(np.percentile(distances, amount))
    if name == "standard_deviation":
        return distances, float(np.mean(distances) + amount * np.std(distances))
    if name == "interquartile":
        low, high = np.percentile(distances, [25, 75])
        return distances, float(np.mean(distances) + amount * (high - low))
    slope = np.gradient(distances) if len(distances) > 1 else np.zeros(1)
    return slope, float(np.percentile(slope, amount))


def _count_words(texts: list[str]) -> np.ndarray:
    """Count the words of each text, over the words of all of them."""
    tokenizer = Tokenizer()
    tokens = [tokenizer(text) for text in texts]
    places = {word: n for n, word in enumerate(dict.fromkeys(w for words in tokens for w in words))}
    rows = np.zeros((len(texts), max(len(places), 1)), dtype=np.float32)
    for row, words in zip(rows, tokens):
        np.add.at(row, [places[word] for word in words], 1.0)
    return rows
