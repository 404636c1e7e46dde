"""Scoring and finding the best: weights by term, added up over the documents that hold it."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ragkit.bm25.fast import FastSearch
from ragkit.bm25.formulas import VARIANT_NAMES, VARIANTS, length_norm
from ragkit.bm25.postings import Postings
from ragkit.frames import check_choice, check_number
from ragkit.frames.topk import top_candidates

Terms = dict[int, int]  # term number -> how often the query holds it
_HUGE = 1e100  # parameters stay below, so that all scores are finite


class Setting(NamedTuple):
    """The parameters of one search, checked."""

    variant: str
    k1: float
    delta: float
    mu: float
    weights: tuple[float, ...]  # of the fields
    b: tuple[float, ...]  # of the fields
    once: bool  # whether a word that the query repeats counts once


def check_setting(wanted: dict[str, Any], fields: dict[str, float]) -> Setting:
    """Check the parameters of a search.

    Parameters
    ----------
    wanted : dict
        ``variant, k1, b, delta, mu, query_terms``.
    fields : dict of column to weight
        What is searched.

    Returns
    -------
    Setting
        The parameters, in the form that a scorer takes.

    Raises
    ------
    ValueError
        If one is out of range or unknown, or the variant cannot weigh several fields.
    """
    variant = check_choice("variant", wanted["variant"], VARIANT_NAMES)
    several = len(fields) > 1
    if several and not (variant in VARIANTS and VARIANTS[variant].by_field):
        able = [name for name, formula in VARIANTS.items() if formula.by_field]
        raise ValueError(f"variant {variant!r} cannot weigh several fields; choose one of {able}.")
    own = VARIANTS[variant].delta if variant in VARIANTS else 0.0
    b = wanted["b"]
    if isinstance(b, Mapping):
        if set(b) != set(fields):
            raise ValueError(f"b must give one number for each of the fields {list(fields)}; got {list(b)}.")
    else:
        b = dict.fromkeys(fields, b)
    return Setting(
        variant,
        _not_huge("k1", wanted["k1"]),
        own if wanted["delta"] is None else _not_huge("delta", wanted["delta"]),
        _not_huge("mu", wanted["mu"], open_low=True, least=1 / _HUGE),
        tuple(fields.values()),
        tuple(
            check_number("b", b[f], low=0, high=1, meaning="1 = full length normalisation") for f in fields
        ),
        check_choice("query_terms", wanted["query_terms"], ("counted", "once")) == "once",
    )


def _not_huge(name: str, value: Any, *, open_low: bool = False, least: float = 0.0) -> float:
    """Check a parameter that makes finite scores."""
    number = check_number(name, value, low=0, open_low=open_low)
    if not least <= number <= _HUGE:
        raise ValueError(
            f"{name} must be between {least:g} and {_HUGE:g}, so that all scores are finite; got {value!r}."
        )
    return number


def check_fields(fields: Any, known: Mapping[str, float] | None = None) -> dict[str, float]:
    """Check the fields and their weights; `known` are those of the index.

    Parameters
    ----------
    fields : mapping of column to weight
        What is given.
    known : mapping, optional
        The fields of the index; one that `fields` leaves out gets weight 0.

    Returns
    -------
    dict of str to float
        The fields of the index and their weights.

    Raises
    ------
    TypeError
        If there is no mapping, or nothing in it.
    ValueError
        If a field is unknown, a weight below 0, or none above.
    """
    if not isinstance(fields, Mapping) or not fields:
        raise TypeError(
            f'fields must be a dict of column to weight such as {{"title": 3.0}}; got {fields!r}.'
        )
    checked = {str(name): _not_huge(f"the weight of field {name!r}", w) for name, w in fields.items()}
    if known is not None:
        strange = [name for name in checked if name not in known]
        if strange:
            raise ValueError(
                f"fields names {strange}, which the index does not hold; it holds {list(known)}."
            )
        checked = {name: checked.get(name, 0.0) for name in known}
    if not any(checked.values()):
        raise ValueError("fields must give at least one column a weight above 0.")
    return checked


class Scorer:
    """Scores under one setting: the plain road, and beside it the fast one.

    Parameters
    ----------
    fields : list of Postings
        Counts by field; a single one where documents have no fields.
    setting : Setting
        The parameters.
    room : int
        How many bytes may be kept of terms.
    """

    def __init__(self, fields: list[Postings], setting: Setting, room: int):
        self.setting, self.n = setting, len(fields[0].lengths)
        searched = [row for row, weight in enumerate(setting.weights) if weight > 0]
        self.fields = fields = [fields[row] for row in searched]
        self.field_weights = [setting.weights[row] for row in searched]
        self.b = [setting.b[row] for row in searched]
        self.average = [p.lengths.sum(dtype=np.int64) / max(1, self.n) for p in fields]
        self.likelihood = setting.variant == "dirichlet"
        if not self.likelihood:
            self.formula = VARIANTS[setting.variant]
            self.norm = self.formula.norm(fields[0].lengths, self.average[0], self.b[0])
        self._prior: np.ndarray | None = None
        self._df: np.ndarray = sum(p.df for p in fields)  # type: ignore[assignment]
        # A proxy, since a circle would keep every past setting's weights until garbage is next collected.
        self.fast = FastSearch(weakref.proxy(self), room)

    # ---------------------------------------------------------------- weights of a term

    def postings(self, term: int) -> tuple[np.ndarray, np.ndarray]:
        """Give the documents that hold a term and how often: over fields, the weighted and levelled sum."""
        if len(self.fields) == 1:
            p = self.fields[0]
            start, end = p.indptr[term], p.indptr[term + 1]
            tf = p.tf[start:end].astype(np.float64)
            return p.docs[start:end], tf if self.field_weights[0] == 1 else self.field_weights[0] * tf
        parts = []
        for p, weight, b, average in zip(self.fields, self.field_weights, self.b, self.average):
            docs = p.docs[p.indptr[term] : p.indptr[term + 1]]
            tf = p.tf[p.indptr[term] : p.indptr[term + 1]]
            parts.append((docs, weight * tf.astype(np.float64) / length_norm(p.lengths[docs], average, b)))
        docs, where = np.unique(np.concatenate([docs for docs, _ in parts]), return_inverse=True)
        return docs, np.bincount(where, np.concatenate([tf for _, tf in parts]), minlength=len(docs))

    @property
    def countable(self) -> bool:
        """Say whether stored counts are what is weighed: one field, of weight 1."""
        return len(self.fields) == 1 and self.field_weights[0] == 1

    def counts(self, term: int) -> tuple[np.ndarray, np.ndarray]:
        """Give what :meth:`postings` gives, as it is stored where nothing has to be weighted."""
        if not self.countable:
            return self.postings(term)
        p = self.fields[0]
        start, end = p.indptr[term], p.indptr[term + 1]
        return p.docs[start:end], p.tf[start:end]

    def weigh(self, term: int, docs: np.ndarray, tf: np.ndarray, df: int | None = None) -> np.ndarray:
        """Apply the formula to one term in some documents: by default in all that hold it."""
        if self.likelihood:
            return np.log1p(tf / (self.setting.mu * self.frequency(term)))
        return self.weigh_as(self.idf(len(docs) if df is None else df), docs, tf)

    def weigh_as(self, idf: Any, docs: np.ndarray, tf: np.ndarray) -> np.ndarray:
        """Apply the formula to documents, under one idf or one for each."""
        norm = self.norm[docs] if len(self.fields) == 1 else 1.0  # fields are levelled already
        return idf * self.formula.saturation(tf.astype(np.float64), norm, *self.knobs)

    def idf(self, df: int) -> float:
        """Weigh a term by the number of documents that hold it."""
        return self.formula.idf(df, self.n)

    @property
    def knobs(self) -> tuple[float, float]:
        """k1 and delta, as saturations take them."""
        return self.setting.k1, self.setting.delta

    def frequency(self, term: int) -> float:
        """Give the term's share of all words."""
        p = self.fields[0]
        count = p.tf[p.indptr[term] : p.indptr[term + 1]].sum(dtype=np.int64)
        return float(count) / max(1, int(p.lengths.sum(dtype=np.int64)))

    def prior(self) -> np.ndarray:
        """Give what a query word adds to every document under a Dirichlet prior: ``ln(mu / (dl + mu))``."""
        if self._prior is None:
            mu = self.setting.mu
            self._prior = np.log(mu / (self.fields[0].lengths + mu))
        return self._prior

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept of terms."""
        return self.fast.kept.nbytes

    @property
    def most_frequent(self) -> int:
        """The term that stands in most documents."""
        return int(self._df.argmax())

    # ---------------------------------------------------------------- scores of a query

    def ordered(self, terms: Terms) -> list[tuple[int, int, int]]:
        """Give df, term and count, rarest first: the order in which every road adds terms up."""
        df = self._df.item
        return sorted([(df(term), term, count) for term, count in terms.items()])

    def known(self, terms: Terms) -> Terms:
        """Keep the terms that a searched field holds, and count them as the setting says."""
        return {t: 1 if self.setting.once else count for t, count in terms.items() if self.df(t)}

    def df(self, term: int) -> int:
        """Bound the number of documents that hold a term: exact where there is one field."""
        return self._df.item(term)

    def scores(self, terms: Terms) -> tuple[np.ndarray, np.ndarray]:
        """Score every document, and say which hold a word of the query; the others have 0."""
        total = np.zeros(self.n)
        for _, term, count in self.ordered(terms):
            docs, tf = self.counts(term)
            total[docs] += count * self.weigh(term, docs, tf)
        held = total > 0
        if self.likelihood:
            total[held] += sum(terms.values()) * self.prior()[held]
        return total, held

    def best(
        self, terms: Terms, top_k: int | None, allowed: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Find the documents that may be among the best, ties at the cut included, and their scores.

        A document may stand there several times, once with its score and else with 0, but only where at least
        `top_k` scores are above 0.
        """
        if not terms or top_k == 0:
            return np.empty(0, dtype=np.int64), np.empty(0)
        if top_k is not None and self.can_be_fast(top_k):
            found = self.fast.best(terms, top_k, allowed)
            if found is not None:
                return found
        return self.best_plainly(terms, top_k, allowed)

    def can_be_fast(self, top_k: int | None) -> bool:
        """Say whether the fast road is open: under a Dirichlet prior and where all come back it is not."""
        return top_k is not None and 0 < top_k < self.n and not self.likelihood

    def best_plainly(
        self, terms: Terms, top_k: int | None, allowed: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Find what :meth:`best` finds by scoring every document: the oracle of the fast road."""
        total, held = self.scores(terms)
        return _best_of(total, top_k, held if allowed is None else held & allowed)


def _best_of(scores: np.ndarray, top_k: int | None, matches: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find the best of one score per document."""
    scores = np.where(matches, scores, -np.inf)
    rows = top_candidates(scores, top_k)
    rows = rows[matches[rows]]
    return rows, scores[rows]
