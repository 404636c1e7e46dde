"""Data from and for other packages: dicts of BEIR and pytrec_eval, tuples of ir_measures, ir_datasets."""

from __future__ import annotations

from typing import Any, NamedTuple

import pandas as pd

from ragkit.datasets.dataset import Dataset
from ragkit.datasets.qrels import subtopic_texts
from ragkit.datasets.runs import warn_of_order
from ragkit.frames import (
    as_docs,
    as_qrels,
    as_queries,
    as_run,
    check_frame,
    group_codes,
    ranks_within,
    with_column,
)
from ragkit.frames.messages import guess
from ragkit.frames.mixups import brief


class Qrel(NamedTuple):
    """One judgement, as in ir_measures."""

    query_id: str
    doc_id: str
    relevance: int
    iteration: str = "0"


class ScoredDoc(NamedTuple):
    """One retrieved document, as in ir_measures."""

    query_id: str
    doc_id: str
    score: float


def to_dict(frame: Any) -> dict[str, dict[str, Any]]:
    """Make nested dicts of a run or of judgements, as BEIR, pytrec_eval and ranx take them.

    Parameters
    ----------
    frame : DataFrame
        A run (``{query: {document: score}}``) or judgements (``{query: {document: grade}}``; of several
        subtopics the highest grade).

    Returns
    -------
    dict
        Plain strings and numbers; :func:`ragkit.as_run` and :func:`ragkit.as_qrels` read it back.

    Raises
    ------
    ValueError
        For a run over chunks, or one that lists a document twice; :func:`ragkit.best_per_doc` mends both.

    Warns
    -----
    RetrievalWarning
        If a run's scores do not fall with its rank (after MMR, say): the dict would order it anew.

    See Also
    --------
    to_tuples : For ir_measures.

    Examples
    --------
    >>> to_dict(as_qrels({"q": {"a": 2, "b": 0}}))
    {'q': {'a': 2, 'b': 0}}
    """
    out: dict[str, dict[str, Any]] = {}
    for query, doc, value, *_ in _tuples(frame, "to_dict"):
        known = out.setdefault(query, {})
        known[doc] = max(value, known.get(doc, value))  # judgements by subtopic repeat a document
    return out


def to_tuples(frame: Any) -> list:
    """Make a list of tuples of a run or of judgements, as ir_measures takes them.

    Parameters
    ----------
    frame : DataFrame
        A run gives ``(query_id, doc_id, score)``; judgements ``(query_id, doc_id, relevance, iteration)``,
        where the iteration is the subtopic, or "0".

    Returns
    -------
    list of named tuple
        In the order of the frame.

    Raises
    ------
    ValueError
        For a run over chunks, or one that lists a document twice; :func:`ragkit.best_per_doc` mends both.

    Warns
    -----
    RetrievalWarning
        If a run's scores do not fall with its rank (after MMR, say): ir_measures would order it anew.

    See Also
    --------
    to_dict : For BEIR, pytrec_eval and ranx.

    Examples
    --------
    >>> to_tuples(as_run({"q": ["a"]}))
    [ScoredDoc(query_id='q', doc_id='a', score=1.0)]
    """
    return _tuples(frame, "to_tuples")


def _tuples(frame: Any, who: str) -> list:
    judged = isinstance(frame, pd.DataFrame) and "relevance" in frame.columns and "score" not in frame.columns
    if not judged:
        run = _ranked_documents(as_run(frame), who)
        query, doc = run["query_id"].astype(object), run["doc_id"].astype(object)
        return [ScoredDoc(*row) for row in zip(query, doc, run["score"].tolist())]
    qrels = as_qrels(frame)
    query, doc = qrels["query_id"].astype(object), qrels["doc_id"].astype(object)
    topic: Any = subtopic_texts(qrels) if "subtopic" in qrels.columns else ["0"] * len(qrels)
    return [Qrel(*row) for row in zip(query, doc, qrels["relevance"].tolist(), topic)]


def _ranked_documents(run: pd.DataFrame, who: str) -> pd.DataFrame:
    """Refuse what {document: score} cannot hold, and warn of an order that it will not keep."""
    if "chunk_id" in run.columns:
        raise ValueError(
            f"{who} needs a run over documents; got one over chunks. Collapse it first: "
            f"rk.{who}(rk.best_per_doc(run))."
        )
    twice = run[run.duplicated(["query_id", "doc_id"])]
    if len(twice):
        row = twice.iloc[0]
        raise ValueError(
            f"{who} needs each document once per query; query {row['query_id']!r} lists {row['doc_id']!r} "
            "again. Keep the best: rk.best_per_doc(run)."
        )
    warn_of_order(run, who, "what reads its result", "run.assign(score=1 / run['rank'])")
    return run


def drop_self(run: Any) -> pd.DataFrame:
    """Take each query's own source out of its ranking: the rows whose document has the query's id.

    Parameters
    ----------
    run : run
        Over documents or chunks.

    Returns
    -------
    DataFrame
        The run without those rows, ranks counted anew.

    See Also
    --------
    load_dataset : ``"docstrings"`` takes its queries from documents.

    Examples
    --------
    >>> drop_self({"a": {"a": 3.0, "b": 2.0}})[["doc_id", "rank"]].values.tolist()
    [['b', 1]]
    """
    frame = as_run(run)
    own = frame["query_id"].astype(object).to_numpy() == frame["doc_id"].astype(object).to_numpy()
    kept = frame[~own].reset_index(drop=True)
    return with_column(kept, "rank", ranks_within(group_codes(kept["query_id"])[0]), before="score")


def from_ir_datasets(dataset: Any) -> Dataset:
    """Make a data set of one of the package ir_datasets, or of any object with its three iterators.

    Parameters
    ----------
    dataset : str or object
        A name (``"vaswani"``), which needs ``pip install ir_datasets``, or a loaded data set.

    Returns
    -------
    Dataset
        Documents, queries and judgements; None where it has none (documents: an empty frame). The iteration
        of the judgements becomes ``subtopic`` when a document occurs with several.

    Raises
    ------
    ValueError
        For a name that ir_datasets does not know.
    TypeError
        For what has none of ``docs_iter``, ``queries_iter`` and ``qrels_iter``.

    See Also
    --------
    load_dataset : BEIR folders.

    Notes
    -----
    A first-stage ranking that comes with a data set is read by ``rk.as_run(dataset.scoreddocs_iter())``.
    """
    found = _load(dataset) if isinstance(dataset, str) else dataset
    parts = {name: getattr(found, name, None) for name in ("docs_iter", "queries_iter", "qrels_iter")}
    if not any(map(callable, parts.values())):
        raise TypeError(
            "from_ir_datasets needs the name of a data set or an object with docs_iter, queries_iter or "
            f"qrels_iter; got {brief(dataset)}."
        )
    docs, queries, qrels = (None if method is None else method() for method in parts.values())
    return Dataset(
        as_docs([] if docs is None else _records(docs, "doc_id")),
        None if queries is None else as_queries(_records(queries, "query_id")),
        None if qrels is None else _judgements(qrels),
    )


def _load(name: str) -> Any:
    """Load a data set of ir_datasets by its name."""
    try:
        import ir_datasets
    except ImportError:
        raise ImportError("from_ir_datasets needs ir_datasets: pip install ir_datasets.") from None
    try:
        return ir_datasets.load(name)
    except KeyError:
        near = guess(name, list(ir_datasets.registry))
        raise ValueError(f"ir_datasets knows no data set {name!r}.{near}") from None


def _records(items: Any, id_name: str) -> pd.DataFrame:
    """Make rows of named tuples; one without ``text`` gets its own joined text."""
    rows = []
    for item in items:
        row = dict(item._asdict())
        if "text" not in row:
            own = getattr(item, "default_text", None)
            parts = [v for name, v in row.items() if name != id_name and isinstance(v, str)]
            row["text"] = own() if callable(own) else " ".join(parts)
        rows.append(row)
    return pd.DataFrame(rows, columns=None if rows else [id_name, "text"])


def _judgements(items: Any) -> pd.DataFrame:
    """Make judgements of named tuples; what tells repeated ones apart is the subtopic."""
    names = ["query_id", "doc_id", "relevance"]
    rows = [item._asdict() for item in items]
    qrels = check_frame(pd.DataFrame(rows, columns=None if rows else names), names, "qrels_iter")
    if "subtopic_id" in qrels.columns:
        qrels = qrels.rename(columns={"subtopic_id": "subtopic"})
    elif "iteration" in qrels.columns and qrels.duplicated(names[:2]).any():
        qrels = qrels.rename(columns={"iteration": "subtopic"})
    return as_qrels(qrels[names + (["subtopic"] if "subtopic" in qrels.columns else [])])
