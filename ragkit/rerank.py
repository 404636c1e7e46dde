"""Around retrieval: rerank with any scorer, widen the queries, pack a context.

A scorer is a plain callable ``(query, texts) -> scores``; adapters make one of what others ship.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ragkit.frames import (
    as_docs,
    as_ids,
    as_queries,
    as_run,
    check_number,
    check_top_k,
    rank_by_score,
    some,
    unit_column,
)


def rerank(
    run: Any,
    docs: Any,
    scorer: Callable[[str, list[str]], Any],
    *,
    queries: Any,
    top_k: int | None = None,
    depth: int | None = None,
) -> pd.DataFrame:
    """Rank the head of a run anew by any scorer; what lies below keeps its order beneath it.

    Parameters
    ----------
    run : run
        Whatever :func:`ragkit.as_run` takes.
    docs : documents
        Where the texts are; whatever :func:`ragkit.as_docs` takes.
    scorer : callable
        ``(query, texts) -> scores``, called once per query; higher is better.
    queries : queries
        The texts of the queries.
    top_k : int or None, default=None
        How many each query keeps; None is all.
    depth : int or None, default=None
        How many of each query's best are scored; None is all. The rest is cut off when `top_k` allows no
        more than `depth`, else it follows in its old order.

    Returns
    -------
    DataFrame
        The run with new ``rank`` and ``score``, and its ledger: ``previous_rank, previous_score``. Rows below
        `depth` keep their old score, which is on another scale; the ranks decide.

    Raises
    ------
    ValueError
        If a text or a query is missing, or the scorer gives another number of scores or NaN.

    See Also
    --------
    cross_encoder_scorer : A scorer from a cross-encoder.

    Examples
    --------
    >>> docs = {"a": "red fox", "b": "the fox and the red hen"}
    >>> words = lambda query, texts: [len(text.split()) for text in texts]
    >>> reranked = rerank({"q": ["a", "b"]}, docs, words, queries={"q": "red hen"})
    >>> reranked[["doc_id", "rank", "score", "previous_rank"]].values.tolist()
    [['b', 1, 6.0, 2], ['a', 2, 2.0, 1]]
    """
    frame = as_run(run)
    top_k, depth = check_top_k(top_k), check_top_k(depth, "depth")
    if not callable(scorer):
        raise TypeError(f"scorer must be a callable (query, texts) -> scores; got {type(scorer).__name__}.")
    unit = unit_column(frame)
    place = frame.groupby("query_id", sort=False, observed=True).cumcount().to_numpy()
    head = frame[place < depth] if depth is not None else frame
    tail = frame.drop(index=head.index)
    ranked = rank_by_score(_scored(head, _texts(docs, head, unit), scorer, queries))
    out = ranked if not len(tail) else _beneath(ranked, _with_ledger(tail))
    first = ["query_id", unit, "doc_id", "rank", "score", "previous_rank", "previous_score"]
    out = out[list(dict.fromkeys([*first, *out.columns]))]
    return out if top_k is None else out[out["rank"] <= top_k].reset_index(drop=True)


def _with_ledger(frame: pd.DataFrame) -> pd.DataFrame:
    out = frame.drop(columns=["previous_rank", "previous_score"], errors="ignore")
    return out.assign(previous_rank=frame["rank"], previous_score=frame["score"])


def _scored(head: pd.DataFrame, texts: list[str], scorer: Callable, queries: Any) -> pd.DataFrame:
    """Ask the scorer, query by query."""
    asked = as_queries(queries)
    text_of = dict(zip(asked["query_id"], asked["text"]))
    lacking = [query for query in head["query_id"].unique() if query not in text_of]
    if lacking:
        raise ValueError(f"queries lacks the text of {len(lacking)} queries of the run: {some(lacking)}.")
    scores = np.empty(len(head), dtype=np.float64)
    for query, rows in head.groupby("query_id", sort=False, observed=True).indices.items():
        given = _numbers(scorer(text_of[query], [texts[row] for row in rows]), len(rows), str(query))
        scores[rows] = given
    return _with_ledger(head.reset_index(drop=True)).assign(score=scores)


def _numbers(given: Any, n: int, query: str) -> np.ndarray:
    scores = np.asarray(given, dtype=np.float64)
    if scores.shape == (n, 1):  # as cross-encoders with one label give them
        scores = scores[:, 0]
    if scores.shape != (n,) or not np.isfinite(scores).all():
        raise ValueError(
            f"scorer must return {n} finite scores for the {n} texts of query {query!r}; "
            f"got an array of shape {scores.shape}{'' if scores.shape != (n,) else ' with NaN or infinity'}."
        )
    return scores


def _texts(docs: Any, frame: pd.DataFrame, unit: str) -> list[str]:
    """Look up the text of every row."""
    held = as_docs(docs)
    own = unit if unit in held.columns else "doc_id"
    text_of = dict(zip(held[own], held["text"]))
    lacking = [name for name in frame[own].unique() if name not in text_of]
    if lacking:
        raise ValueError(f"docs lacks {len(lacking)} units of the run: {some(lacking)}; give their texts.")
    return [text_of[name] for name in frame[own]]


def _beneath(head: pd.DataFrame, tail: pd.DataFrame) -> pd.DataFrame:
    """Put what was not scored beneath what was."""
    both = pd.concat([head, tail], ignore_index=True).reindex(columns=head.columns)
    order = {query: number for number, query in enumerate(dict.fromkeys(both["query_id"]))}
    both = both.assign(_query=both["query_id"].map(order), _tail=np.arange(len(both)) >= len(head))
    both = both.sort_values(["_query", "_tail", "rank"], kind="stable").reset_index(drop=True)
    ranks = both.groupby("_query").cumcount().to_numpy(dtype=np.int64) + 1
    return both.drop(columns=["_query", "_tail"]).assign(rank=ranks)


def cross_encoder_scorer(model: Any, *, batch_size: int = 32) -> Callable[[str, list[str]], np.ndarray]:
    """Make a scorer of a cross-encoder of sentence-transformers.

    Parameters
    ----------
    model : str or CrossEncoder
        A model, or the name or folder of one; sentence-transformers is imported only for a name.
    batch_size : int, default=32
        Pairs per step.

    Returns
    -------
    callable
        ``(query, texts) -> scores`` for :func:`rerank`.

    Raises
    ------
    ImportError
        If a name is given and sentence-transformers is not installed.

    Examples
    --------
    >>> class Model:
    ...     def predict(self, pairs, batch_size, show_progress_bar):
    ...         return [len(text) for query, text in pairs]
    >>> cross_encoder_scorer(Model())("fox", ["red fox", "hen"]).tolist()
    [7.0, 3.0]
    """
    if isinstance(model, str):
        try:
            from sentence_transformers import CrossEncoder
        except ImportError as error:
            raise ImportError(
                "cross_encoder_scorer needs sentence-transformers: pip install sentence-transformers"
            ) from error
        model = CrossEncoder(model)

    def score(query: str, texts: list[str]) -> np.ndarray:
        pairs = [(query, text) for text in texts]
        given = model.predict(pairs, batch_size=batch_size, show_progress_bar=False)
        return np.asarray(given, dtype=np.float64)

    return score


def rerankers_scorer(ranker: Any) -> Callable[[str, list[str]], np.ndarray]:
    """Make a scorer of a ranker of the ``rerankers`` package.

    Parameters
    ----------
    ranker : Reranker
        Anything with ``rank(query, docs, doc_ids)`` whose results have ``doc_id`` and ``score``.

    Returns
    -------
    callable
        ``(query, texts) -> scores`` for :func:`rerank`.

    Examples
    --------
    >>> from types import SimpleNamespace as Result
    >>> class Ranker:
    ...     def rank(self, query, docs, doc_ids):
    ...         return [Result(doc_id=n, score=len(docs[n])) for n in reversed(doc_ids)]
    >>> rerankers_scorer(Ranker())("fox", ["red fox", "hen"]).tolist()
    [7.0, 3.0]
    """

    def score(query: str, texts: list[str]) -> np.ndarray:
        out = np.full(len(texts), np.nan)
        results = ranker.rank(query, texts, list(range(len(texts))))
        for result in getattr(results, "results", results):
            number = getattr(result, "doc_id", None)
            out[int(result.document.doc_id if number is None else number)] = result.score
        return out

    return score


def expand(queries: Any, fn: Callable[[str], Any], *, keep: bool = True) -> pd.DataFrame:
    """Widen queries by any callable: synonyms, several phrasings, or a made-up answer (HyDE).

    Parameters
    ----------
    queries : queries
        Whatever :func:`ragkit.as_queries` takes.
    fn : callable
        ``text -> str or list of str``: what to search for as well.
    keep : bool, default=True
        Whether the query itself stays, as the first variant.

    Returns
    -------
    DataFrame
        Queries: ``query_id`` (``"q1~0"``, ``"q1~1"``, ...), ``text``, ``original_id`` and what else came
        along. Search them, then bring the variants together with :func:`ragkit.fuse_variants`.

    Raises
    ------
    TypeError
        If the callable gives something else than texts.

    See Also
    --------
    fuse_variants : One list per original query again.

    Examples
    --------
    >>> expand({"q": "fox"}, lambda text: [text + " den", text + " cub"])["text"].tolist()
    ['fox', 'fox den', 'fox cub']
    """
    frame = as_queries(queries)
    if not callable(fn):
        raise TypeError(f"fn must be a callable text -> str or list of str; got {type(fn).__name__}.")
    rows: list[int] = []
    texts: list[str] = []
    numbers: list[int] = []
    for row, (query, text) in enumerate(zip(frame["query_id"], frame["text"])):
        given = fn(text)
        variants = [given] if isinstance(given, str) else given
        if not isinstance(variants, Sequence) or not all(isinstance(v, str) for v in variants):
            raise TypeError(
                f"fn must return a str or a list of str; for query {query!r} it returned {given!r}."
            )
        own = list(dict.fromkeys([*([text] if keep else []), *variants]))
        rows += [row] * len(own)
        texts += own
        numbers += range(len(own))
    out = frame.iloc[rows].reset_index(drop=True)
    originals = out["query_id"]
    ids = [f"{query}~{number}" for query, number in zip(originals, numbers)]
    return out.assign(
        query_id=pd.Series(ids, dtype="str"), text=pd.Series(texts, dtype="str"), original_id=originals
    )


class Context(NamedTuple):
    """What :func:`format_context` packed."""

    text: str
    used: pd.DataFrame
    left_out: pd.DataFrame


def format_context(
    run: Any,
    docs: Any,
    *,
    budget: float,
    length: Callable[[str], int] = len,
    template: str | None = None,
    separator: str = "\n\n",
    query_id: str | None = None,
) -> Context:
    """Pack the best passages of one query into a budget, cite their ids, and say what was left out.

    Passages go in by rank; one that does not fit is passed over for the next that does.

    Parameters
    ----------
    run : run
        A run of one query, or of several with `query_id`.
    docs : documents
        Where the texts are.
    budget : float
        The most that the whole text may measure.
    length : callable, default=len
        ``str -> int``: characters, or tokens by any tokenizer.
    template : str, optional
        How one passage is written, with ``{id}``, ``{text}``, ``{rank}``, ``{doc_id}`` and the columns of
        `docs`; ``"[{id}] {text}"`` by default.
    separator : str, default="\\n\\n"
        What stands between two passages.
    query_id : str, optional
        Which query of a run that holds several.

    Returns
    -------
    Context
        A named tuple: ``text``; ``used``, the rows that went in, with ``length`` and ``start`` in the text;
        ``left_out``, the others, with ``length`` and the reason.

    Raises
    ------
    ValueError
        If the run holds several queries and none is named, a text is missing, or the template names a
        column that is not there.

    Examples
    --------
    >>> docs = {"a": "red fox", "b": "a long tale", "c": "hen"}
    >>> context = format_context({"q": ["a", "b", "c"]}, docs, budget=20)
    >>> context.text
    '[a] red fox\\n\\n[c] hen'
    >>> context.left_out[["doc_id", "length", "reason"]].values.tolist()
    [['b', 15, 'does not fit']]
    """
    budget = check_number("budget", budget, low=0)
    frame = _one_query(as_run(run), query_id)
    unit = unit_column(frame)
    passages = _written(frame, docs, unit, "[{id}] {text}" if template is None else template)
    text = ""
    starts: dict[int, int] = {}
    reasons: dict[int, str] = {}
    for row, passage in enumerate(passages):
        longer = passage if not starts else text + separator + passage
        if length(longer) <= budget:
            starts[row] = len(longer) - len(passage)
            text = longer
        else:
            reasons[row] = "longer than the budget" if length(passage) > budget else "does not fit"
    measured = frame.assign(length=np.array([length(p) for p in passages], dtype=np.int64))
    used = measured.iloc[list(starts)].reset_index(drop=True)
    left = measured.iloc[list(reasons)].reset_index(drop=True)
    return Context(
        text,
        used.assign(start=np.array(list(starts.values()), dtype=np.int64)),
        left.assign(reason=pd.Series(list(reasons.values()), dtype="str")),
    )


def _one_query(frame: pd.DataFrame, query_id: str | None) -> pd.DataFrame:
    queries = list(dict.fromkeys(frame["query_id"]))
    if query_id is not None:
        wanted = as_ids([query_id], "query_id")[0]
        if wanted not in queries:
            raise ValueError(f"format_context found no query {wanted!r}; the run has {some(queries)}.")
        return frame[frame["query_id"] == wanted].reset_index(drop=True)
    if len(queries) > 1:
        raise ValueError(f"format_context packs one query; the run has {some(queries)}. Say query_id=.")
    return frame


def _written(frame: pd.DataFrame, docs: Any, unit: str, template: str) -> list[str]:
    """Write every passage by the template."""
    texts = _texts(docs, frame, unit)
    held = as_docs(docs)
    own = unit if unit in held.columns else "doc_id"
    columns: Mapping[str, dict] = {row[own]: row for row in held.to_dict("records")}
    out = []
    for row, text in zip(frame.to_dict("records"), texts):
        values = {str(k): v for k, v in {**columns[row[own]], **row}.items()}
        try:
            out.append(template.format_map({**values, "id": row[unit], "text": text}))
        except (KeyError, IndexError, ValueError) as error:
            raise ValueError(
                f"template names {error}, which is neither id nor text nor one of {sorted(values)}."
            ) from None
    return out
