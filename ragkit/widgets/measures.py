"""What a lab measures: documents by their judgements, and what was found itself by its vectors."""

from __future__ import annotations

from typing import Any

import pandas as pd

from ragkit.frames import best_per_doc, unit_column
from ragkit.metrics import evaluate
from ragkit.metrics.names import parse_metrics


class Measures:
    """The metrics of a lab, by what they read.

    Parameters
    ----------
    metrics : str, callable or list of them
        What is measured.
    store : VectorStore or None
        Whose vectors are read.

    Raises
    ------
    ValueError
        If a metric is unknown, or reads vectors where there is no store.
    """

    def __init__(self, metrics: Any, store: Any):
        self.metrics = [metrics] if isinstance(metrics, str) or callable(metrics) else list(metrics)
        self._store = store
        parsed = parse_metrics(self.metrics)
        self.labels = [metric.label for metric in parsed]
        self.of_vectors = [metric.label for metric in parsed if metric.reads == "vectors"]
        self._of_qrels = [m for m, metric in zip(self.metrics, parsed) if metric.reads != "vectors"]
        #: The first metric that can be followed along the axis of a weight, or none.
        self.on_axis = [metric.label for metric in parsed if metric.reads == "judgements"][:1]
        if self.of_vectors and store is None:
            raise ValueError(
                f"metric {self.of_vectors[0]!r} reads vectors, and this search has no VectorStore; "
                "give HybridSearch one, or leave the metric out."
            )

    def score(self, run: pd.DataFrame, qrels: pd.DataFrame | None) -> pd.DataFrame:
        """Score each query with each metric; without judgements, with those that read vectors.

        Parameters
        ----------
        run : DataFrame
            What was found. Chunks are judged as documents, and have vectors of their own.
        qrels : DataFrame or None
            The judgements.

        Returns
        -------
        DataFrame
            The frame of :func:`ragkit.evaluate`.
        """
        if qrels is None:
            return evaluate(run, metrics=self.of_vectors, vectors=self._store)
        if unit_column(run) == "doc_id":
            return evaluate(run, qrels, metrics=self.metrics, vectors=self._store)
        units = evaluate(run, qrels, metrics=self.of_vectors, vectors=self._store)
        documents = evaluate(best_per_doc(run), qrels, metrics=self._of_qrels)
        return pd.concat([units, documents], ignore_index=True)

    def code(self, chunks: bool, baseline: str) -> str:
        """Write the Python that compares ``runs``, a dict of name to run.

        Parameters
        ----------
        chunks : bool
            Whether the runs hold chunks.
        baseline : str
            The run that the others are measured against.

        Returns
        -------
        str
            Lines that need ``hybrid``, ``runs`` and ``qrels``, and end with ``table``.
        """
        lines, judged, vectors = "", "runs", ", vectors=hybrid.store" if self.of_vectors else ""
        if chunks:
            lines = "documents = {name: rk.best_per_doc(run) for name, run in runs.items()}\n"
            judged = "documents"
        if chunks and self.of_vectors:
            lines += (
                "scores = {\n"
                "    name: pd.concat([\n"
                f"        rk.evaluate(run, qrels, metrics={self.of_vectors!r}{vectors}),\n"
                f"        rk.evaluate(documents[name], qrels, metrics={self._of_qrels!r}),\n"
                "    ])\n    for name, run in runs.items()\n}\n"
            )
            judged, vectors = "scores", ""
        options = f"metrics={self.metrics!r}, baseline={baseline!r}{vectors}"
        return f"{lines}table = rk.compare({judged}, qrels, {options})\n"
