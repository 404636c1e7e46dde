"""What a lab works out: the stages of one query, its metrics, and the means over all queries."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import pandas as pd

from ragkit.diversity import mmr_path
from ragkit.experiment import compare
from ragkit.frames import RetrievalWarning, as_docs, as_qrels, as_queries, unit_column
from ragkit.hybrid import weight_path
from ragkit.hybrid.cache import StageCache, fingerprint
from ragkit.vectors.fallback import note_free_text
from ragkit.widgets.measures import Measures
from ragkit.widgets.results import Text

#: Methods whose score is no line in the weights, so that there is no exact path.
NOT_LINEAR = ("max", "min", "median", "condorcet")


class Found(NamedTuple):
    """What one setting finds for one query."""

    value: pd.DataFrame  # the run on show
    pool: pd.DataFrame  # everything fused, before MMR and cutting
    systems: dict[str, pd.DataFrame]  # each stage's own ranking
    others: dict[str, pd.DataFrame]  # the runs of the settings to compare with, by name
    scores: pd.DataFrame | None  # metrics of this query as rows, settings as columns
    path: pd.DataFrame | None  # every selection over lambda
    weights: pd.DataFrame | None  # every fused list over the weight
    means: pd.DataFrame | None  # the metrics of all queries over the weight


class Stages:
    """Searches, scores and looks texts up for a lab; nothing here knows of widgets.

    Parameters
    ----------
    hybrid : HybridSearch
        What is searched.
    queries, qrels, docs : queries, judgements, documents or None
        As in :func:`ragkit.explore`.
    metrics : str, callable or list of them
        What is measured.
    """

    def __init__(self, hybrid: Any, queries: Any, qrels: Any, docs: Any, metrics: Any):
        self.hybrid = hybrid
        self.names = list(hybrid.sources)
        self.queries = as_queries({} if queries is None else queries)
        self.qrels = None if qrels is None else as_qrels(qrels)
        self.measures = Measures(metrics, hybrid.store)
        self.metrics = self.measures.metrics
        self._docs = None if docs is None else as_docs(docs)
        self._paths, self._all, self._scores = StageCache(8), StageCache(12), StageCache(64)
        self._texts: dict[Any, Text] = {}

    def find(
        self,
        query: tuple[str, str],
        params: dict[str, Any],
        others: dict[str, dict[str, Any]],
        *,
        path: bool,
        weights: bool,
        means: bool,
    ) -> Found:
        """Search one query with a setting, and with those it is compared with.

        Parameters
        ----------
        query : (str, str)
            Its id and text.
        params : dict
            Keyword arguments of ``HybridSearch.search``.
        others : dict of name to dict
            Settings to compare with.
        path : bool
            Whether the path over lambda is wanted.
        weights, means : bool
            Whether the path over the weight is wanted: of this query's list, of the metrics of all queries.

        Returns
        -------
        Found
            Everything the screen shows of this query.
        """
        query_id, text = query
        ask = {query_id: text}
        value = self.hybrid.search(ask, **params)
        pool = self.hybrid.search(ask, **(params | {"lambda_": None, "top_k": None}))
        note_free_text(pool, [text])  # the search says it when it searches, but remembers what it found
        with warnings.catch_warnings():
            # Of other settings, which said what they had to say when they were on the screen.
            warnings.simplefilter("ignore", RetrievalWarning)
            runs = {name: self.hybrid.search(ask, **other) for name, other in others.items()}
        systems = self._systems(pool, value, params["lambda_"] is not None)
        settings = {name: fingerprint(other) for name, other in (others | {"now": params}).items()}
        scores = self._score(query, runs | {"now": value}, settings)
        return Found(
            value,
            pool,
            systems,
            runs,
            scores,
            self.path(query, pool, params) if path else None,
            self.weight_path(params, ask) if weights else None,
            self.weight_path(params, None) if means else None,
        )

    def path(self, query: tuple[str, str], pool: pd.DataFrame, params: dict[str, Any]) -> pd.DataFrame | None:
        """Find every selection over lambda of what is fused; None where there are no vectors."""
        store = self.hybrid.store
        if store is None:
            return None
        fetch_k = max(params["fetch_k"], params["top_k"])
        key = fingerprint([query, params | {"lambda_": None}, self._versions()])

        def make() -> pd.DataFrame:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RetrievalWarning)
                return mmr_path(pool, store, top_k=params["top_k"], fetch_k=fetch_k, scale=params["scale"])

        return self._paths.get(key, make)

    def weight_path(self, params: dict[str, Any], ask: dict[str, str] | None) -> pd.DataFrame | None:
        """Find every fused list over the weight of the first source, or the metrics of all queries.

        Parameters
        ----------
        params : dict
            Keyword arguments of ``HybridSearch.search``.
        ask : dict or None
            One query, whose lists are wanted; None for the metrics of all judged ones.

        Returns
        -------
        DataFrame or None
            A path; None where there is none: other than two sources, a method that is not linear in the
            weights, chunks (which are judged as documents), no judgements or no metric that reads them.
        """
        frame = ask or (self._judged_queries() if self.measures.on_axis else None)
        if len(self.names) != 2 or params["fusion"] in NOT_LINEAR or frame is None:
            return None
        equal = {"weights": dict.fromkeys(self.names, 0.5), "lambda_": None, "top_k": None, "threshold": None}
        knobs = params | equal
        depth = 0 if ask is None else params["top_k"]
        key = fingerprint([knobs, ask, depth, self._versions()])

        def make() -> pd.DataFrame | None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RetrievalWarning)
                pool = self.hybrid.search(frame, **knobs)
                if ask is None and "chunk_id" in pool:
                    return None
                return weight_path(
                    {name: _added(pool, name) for name in self.names},
                    None if ask is not None else self._asked_qrels(),
                    metrics=self.measures.on_axis,
                    top_k=depth,
                    of=self.names[0],
                    method="linear",
                    normalize="none",
                )

        return self._paths.get(key, make)

    def _judged_queries(self) -> pd.DataFrame | None:
        if self.qrels is None or not self.metrics:
            return None
        asked = self.queries[self.queries["query_id"].isin(self.qrels["query_id"])]
        return asked if len(asked) else None

    def _versions(self) -> list[Any]:
        return [getattr(source, "version", None) for source in self.hybrid.sources.values()]

    def _systems(self, pool: pd.DataFrame, value: pd.DataFrame, diverse: bool) -> dict[str, pd.DataFrame]:
        """Each stage's own ranking, read off the ledger of the pool."""
        names = [name for name in self.names if f"{name}_rank" in pool.columns]
        out: dict[str, Any] = {}
        if len(names) > 1:
            out = {name: _of_source(pool, name) for name in names}
        out["fused" if len(names) > 1 else (names or ["search"])[0]] = pool
        return out | ({"mmr": value} if diverse else {})

    def judged(self, query_id: str) -> dict[str, int] | None:
        """Give the grades of one query's documents; None without judgements.

        Parameters
        ----------
        query_id : str
            The query.

        Returns
        -------
        dict of doc id to int, or None
            The highest grade of each judged document.
        """
        if self.qrels is None:
            return None
        mine = self.qrels[self.qrels["query_id"] == query_id]
        best = mine.groupby("doc_id")["relevance"].max()
        return {str(doc): int(grade) for doc, grade in best.items()}

    def _score(
        self, query: tuple[str, str], runs: Mapping[str, pd.DataFrame], settings: Mapping[str, Any]
    ) -> pd.DataFrame | None:
        """Metrics of one query as rows, settings as columns; of one without judgements, those of vectors."""
        qrels = None if self.qrels is None else self.qrels[self.qrels["query_id"] == query[0]]
        if qrels is not None and not len(qrels):
            qrels = None
        if not (self.measures.of_vectors if qrels is None else self.metrics):
            return None
        out: dict[str, Any] = {}
        with warnings.catch_warnings():
            # That a single query finds nothing relevant is what the lab is there to show.
            warnings.simplefilter("ignore", RetrievalWarning)
            for name, run in runs.items():
                # Of several columns only the last one changes from step to step.
                key = (query, settings[name], fingerprint(self._versions()))
                out[name] = self._scores.get(key, partial(self._evaluated, run, qrels))
        return pd.DataFrame(out).rename_axis("metric").reset_index()

    def _evaluated(self, run: pd.DataFrame, qrels: pd.DataFrame | None) -> pd.Series:
        table = self.measures.score(run, qrels)
        names = self.measures.of_vectors if qrels is None else self.measures.labels
        # A run without a row has no query to score.
        return table.set_index("metric")["value"].reindex(names, fill_value=0.0)

    # --- all queries --------------------------------------------------------------------------------------

    def score_all(self, params: dict[str, Any]) -> pd.DataFrame:
        """Score all judged queries in one setting; remembered, for pins ask again and again.

        Parameters
        ----------
        params : dict
            Keyword arguments of ``HybridSearch.search``.

        Returns
        -------
        DataFrame
            The frame of :func:`ragkit.evaluate`.
        """
        asked = self._judged_queries()
        key = fingerprint([params, self._versions()])

        def make() -> pd.DataFrame:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RetrievalWarning)
                return self.measures.score(self.hybrid.search(asked, **params), self._asked_qrels())

        return self._all.get(key, make)

    def compare(self, settings: Mapping[str, dict[str, Any]], baseline: str) -> pd.DataFrame | None:
        """Compare settings over all judged queries; None where nothing is judged.

        Parameters
        ----------
        settings : dict of name to dict
            Keyword arguments of ``HybridSearch.search`` by name.
        baseline : str
            The setting that the others are measured against.

        Returns
        -------
        DataFrame or None
            The frame of :func:`ragkit.compare`.
        """
        if self._judged_queries() is None:
            return None
        scores = {name: self.score_all(params) for name, params in settings.items()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RetrievalWarning)
            return compare(scores, metrics=self.metrics, baseline=baseline)

    def by_query(self, params: dict[str, Any]) -> dict[str, float]:
        """Score each judged query with the first metric.

        Parameters
        ----------
        params : dict
            Keyword arguments of ``HybridSearch.search``.

        Returns
        -------
        dict of query id to float
            Empty without judgements.
        """
        if self._judged_queries() is None:
            return {}
        table = self.score_all(params)
        first = table[table["metric"] == self.measures.labels[0]]
        return dict(zip(first["query_id"], first["value"]))

    def _asked_qrels(self) -> pd.DataFrame:
        qrels = as_qrels({}) if self.qrels is None else self.qrels
        return qrels[qrels["query_id"].isin(self.queries["query_id"])]

    # --- texts --------------------------------------------------------------------------------------------

    def look_up(self, unit_id: str, doc_id: str) -> Text:
        """Find title and text of a unit: in the documents given, else in the stores.

        Parameters
        ----------
        unit_id, doc_id : str
            The unit and its document.

        Returns
        -------
        Text
            Empty where nothing is known.
        """
        key = (unit_id, doc_id, *self._versions())
        if key not in self._texts:
            if len(self._texts) > 5000:
                self._texts.clear()
            self._texts[key] = self._found(unit_id, doc_id)
        return self._texts[key]

    def _found(self, unit_id: str, doc_id: str) -> Text:
        if self._docs is not None:
            for column, key in ((unit_column(self._docs, "docs"), unit_id), ("doc_id", doc_id)):
                rows = self._docs[self._docs[column] == key]
                if len(rows):
                    return _text_of(rows.iloc[0])
        for source in self.hybrid.sources.values():
            row = source.get(unit_id) if hasattr(source, "get") else None
            if row is not None:
                return _text_of(row)
        return Text("", "")

    def labels(self, runs: list[pd.DataFrame], top_k: int) -> pd.DataFrame:
        """Give titles and texts of the units that are on the screen, and of no others.

        Parameters
        ----------
        runs : list of DataFrame
            The runs on show.
        top_k : int
            How deep they are shown.

        Returns
        -------
        DataFrame
            A documents frame.
        """
        unit = unit_column(runs[0])
        ids = [unit] if unit == "doc_id" else [unit, "doc_id"]
        rows = pd.concat([run.loc[run["rank"] <= top_k, ids] for run in runs]).drop_duplicates(unit)
        texts = [self.look_up(u, d) for u, d in zip(rows[unit], rows["doc_id"])]
        out = rows.assign(title=[t.title for t in texts], text=[t.body for t in texts])
        return out.reset_index(drop=True)

    def stored(self) -> pd.DataFrame:
        """Give the documents of the first store that has any.

        Returns
        -------
        DataFrame
            A copy.
        """
        for kept in (self.hybrid.index, self.hybrid.store):
            if kept is not None and len(kept):
                return kept.docs
        return pd.DataFrame({"doc_id": [], "text": []})


def _of_source(pool: pd.DataFrame, name: str) -> pd.DataFrame | None:
    """Read one source's run off the ledger of a pool."""
    if f"{name}_rank" not in pool.columns:
        return None
    rows = pool[pool[f"{name}_rank"].notna()]
    ids = ["query_id", *(["chunk_id"] if unit_column(pool) == "chunk_id" else []), "doc_id"]
    return rows[ids].assign(rank=rows[f"{name}_rank"].astype("int64"), score=rows[f"{name}_score"])


def _added(pool: pd.DataFrame, name: str) -> pd.DataFrame:
    """What a source adds to each unit, retrieved by it or not, read off the ledger of a pool.

    A method that is linear in the weights adds these up, so the sums follow a weight exactly, whatever was
    made of ranks, scales and units that a source lacks.
    """
    ids = ["query_id", *(["chunk_id"] if unit_column(pool) == "chunk_id" else []), "doc_id"]
    rows = pool[pool[f"{name}_contribution"].notna()]
    return rows[ids].assign(score=rows[f"{name}_contribution"])


def _text_of(row: Any) -> Text:
    title, body = row.get("title"), row.get("text")
    return Text(title if isinstance(title, str) else "", body if isinstance(body, str) else "")
