"""Scoring and finding the best: weights by term, added up over the documents that hold it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ragkit.bm25.formulas import VARIANT_NAMES, VARIANTS, length_norm
from ragkit.bm25.postings import Postings
from ragkit.frames import check_choice, check_number
from ragkit.frames.topk import lower_bound, top_candidates

Terms = dict[int, int]  # term number -> how often the query holds it


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
    """Check the parameters of a search."""
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
        check_number("k1", wanted["k1"], low=0),
        own if wanted["delta"] is None else check_number("delta", wanted["delta"], low=0),
        check_number("mu", wanted["mu"], low=0, open_low=True),
        tuple(fields.values()),
        tuple(
            check_number("b", b[f], low=0, high=1, meaning="1 = full length normalisation") for f in fields
        ),
        check_choice("query_terms", wanted["query_terms"], ("counted", "once")) == "once",
    )


def check_fields(fields: Any, known: Mapping[str, float] | None = None) -> dict[str, float]:
    """Check the fields and their weights; `known` are those of the index."""
    if not isinstance(fields, Mapping) or not fields:
        raise TypeError(
            f'fields must be a dict of column to weight such as {{"title": 3.0}}; got {fields!r}.'
        )
    checked = {
        str(name): check_number(f"the weight of field {name!r}", w, low=0) for name, w in fields.items()
    }
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
    """Scores under one setting; weights are made when first asked for and kept within a bound.

    Parameters
    ----------
    fields : list of Postings
        Counts by field; a single one where documents have no fields.
    setting : Setting
        The parameters.
    room : int
        How many weights may be kept.
    """

    def __init__(self, fields: list[Postings], setting: Setting, room: int):
        self.setting, self.room, self.n = setting, room, len(fields[0].lengths)
        searched = [row for row, weight in enumerate(setting.weights) if weight > 0]
        self.fields = fields = [fields[row] for row in searched]
        self.field_weights = [setting.weights[row] for row in searched]
        self.b = [setting.b[row] for row in searched]
        self.average = [p.lengths.sum(dtype=np.int64) / max(1, self.n) for p in fields]
        self.likelihood = setting.variant == "dirichlet"
        if not self.likelihood:
            self.formula = VARIANTS[setting.variant]
            self.norm = self.formula.norm(fields[0].lengths, self.average[0], self.b[0])
        self._used = 0
        self._kept: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self._dense: dict[int, np.ndarray] = {}
        self._most: dict[int, float] = {}  # the largest weight of each of those terms
        self._prior: np.ndarray | None = None
        self._spare: list[np.ndarray] = []  # arrays of zeros, one for each search that runs at a time
        self._places: list[np.ndarray] = []  # scratch paper of the same kind, with anything on it
        self._df: np.ndarray = np.sum([p.df for p in fields], axis=0)

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

    def weights(self, term: int) -> tuple[np.ndarray, np.ndarray]:
        """Give the documents that hold a term and what it adds to their score."""
        kept = self._kept.get(term)
        if kept is None:
            docs, tf = self.postings(term)
            kept = docs, self.weigh(term, docs, tf)
            if len(docs) > self.room // 16:
                return kept  # one that would push out most others
            if self._used + len(docs) > self.room // 4:
                self._kept.clear()
                self._used = 0
            self._used += len(docs)
            self._kept[term] = kept
        return kept

    def weigh(self, term: int, docs: np.ndarray, tf: np.ndarray, df: int | None = None) -> np.ndarray:
        """Apply the formula to one term in some documents: by default in all that hold it."""
        if self.likelihood:
            return np.log1p(tf / (self.setting.mu * self.frequency(term)))
        norm = self.norm[docs] if len(self.fields) == 1 else np.ones(len(docs))  # fields are levelled already
        idf = self.formula.idf(len(docs) if df is None else df, self.n)
        return idf * self.formula.saturation(tf, norm, *self.knobs)

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

    def dense(self, term: int) -> np.ndarray | None:
        """Give a frequent term's weights as one number per document: None where there is no room."""
        kept = self._dense.get(term)
        if kept is None and (len(self._dense) + 1) * self.n <= self.room // 4 * 3:
            docs, weights = self.weights(term)
            self._dense[term] = kept = np.zeros(self.n)
            kept[docs] = weights
            self._most[term] = float(kept.max())
        return kept

    @property
    def nbytes(self) -> int:
        """Bytes of the weights that are kept."""
        return 8 * (self._used + len(self._dense) * self.n)

    # ---------------------------------------------------------------- scores of a query

    def ordered(self, terms: Terms) -> list[tuple[int, int, int]]:
        """Give df, term and count, rarest first: the order in which every road adds terms up."""
        return sorted(((self.df(term), term, count) for term, count in terms.items()))

    def df(self, term: int) -> int:
        """Bound the number of documents that hold a term: exact where there is one field."""
        return int(self._df[term])

    def scores(self, terms: Terms) -> tuple[np.ndarray, np.ndarray]:
        """Score every document, and say which hold a word of the query; the others have 0."""
        total = np.zeros(self.n)
        self._add_all(total, self.ordered(terms), False)
        held = total > 0
        if self.likelihood:
            total[held] += sum(terms.values()) * self.prior()[held]
        return total, held

    def best(
        self, terms: Terms, top_k: int | None, allowed: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Find the documents that may be among the best, ties at the cut included, and their scores."""
        if self.likelihood:
            total, held = self.scores(terms)
            return _best_of(total, top_k, held if allowed is None else held & allowed, -np.inf)
        if top_k == 0:
            return np.empty(0, dtype=np.int64), np.empty(0)
        ordered = self.ordered(terms)
        rare = sum(6 * df <= self.n for df, _, _ in ordered)
        # With frequent terms around, looking at few documents is a gamble: take it where it costs little.
        share = 4 if rare == len(ordered) else 16
        few = share * sum(df for df, _, _ in ordered[:rare]) < self.n
        scratch = self._spare.pop() if self._spare else np.zeros(self.n)
        try:
            rows = self._add_all(scratch, ordered[:rare], few)
            found = None
            if few:
                found = self._best_among_few(scratch, rows, ordered[rare:], rare, top_k, allowed)
            if found is None:
                rows = np.empty(0, dtype=np.intp)
                for _, term, count in ordered[rare:]:
                    self._add_frequent(scratch, term, count)
                found = _best_of(scratch, top_k, allowed, 0.0)
            return found
        finally:
            if few and 0 < 20 * len(rows) < self.n:
                scratch[rows] = 0.0
            else:
                scratch.fill(0.0)
            self._spare.append(scratch)

    def _add_all(self, total: np.ndarray, ordered: list[tuple[int, int, int]], together: bool) -> np.ndarray:
        """Add up terms; give the documents that hold one, once for each of its terms."""
        rows, added = [np.empty(0, dtype=np.int32)], [np.empty(0)]
        for _, term, count in ordered:
            docs, weights = self.weights(term)
            if count != 1:
                weights = count * weights
            if together:
                rows.append(docs)
                added.append(weights)
            else:
                np.add.at(total, docs, weights)
        where = np.concatenate(rows, dtype=np.intp)
        if together:
            np.add.at(total, where, np.concatenate(added))
        return where

    def _add_frequent(self, total: np.ndarray, term: int, count: int) -> None:
        dense = self.dense(term)
        if dense is None:
            self._add_all(total, [(0, term, count)], False)
        else:
            total += dense if count == 1 else count * dense

    def _best_among_few(
        self,
        total: np.ndarray,
        rows: np.ndarray,
        frequent: list[tuple[int, int, int]],
        repeats: int,
        top_k: int | None,
        allowed: np.ndarray | None,
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Look only at documents that hold a rare term; None where one without might be among the best.

        A document stands in `rows` at most `repeats` times. Frequent terms add at most `most`: where the best
        `top_k` by the rare terms alone have more than that, no other document can come before them, and
        frequent terms are looked up for the few that are left. This is MaxScore (Turtle and Flood 1995)
        with two groups of terms.
        """
        if allowed is not None:
            rows = rows[allowed[rows]]
        scores = total[rows]
        most = 0.0
        dense = [(self.dense(term), count) for _, term, count in frequent]
        if frequent:
            if top_k is None or len(rows) <= top_k * repeats or any(array is None for array, _ in dense):
                return None
            most = sum(count * self._most[term] for _, term, count in frequent)
            if lower_bound(scores, top_k) <= most:
                return None
        if top_k is not None and len(rows) > top_k * repeats:
            cut = lower_bound(scores, top_k * repeats)
            if frequent and cut <= most:
                return None
            keep = np.flatnonzero(scores >= cut * (1 - 1e-11) - most)
            rows, scores = rows[keep], scores[keep]
        if len(rows) * len(dense) > self.n // 4:
            return None
        if repeats > 1:
            rows, scores = self._once(rows, scores)
        for array, count in dense:
            scores += array[rows] if count == 1 else count * array[rows]  # type: ignore[index, operator]
        matches = scores > 0  # an idf may be 0
        return (rows, scores) if matches.all() else (rows[matches], scores[matches])

    def _once(self, rows: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Keep each document once, without sorting: of all that write to one place, the last stays."""
        numbers = np.arange(len(rows), dtype=np.int32)
        place = self._places.pop() if self._places else np.empty(self.n, dtype=np.int32)
        place[rows] = numbers
        last = place[rows] == numbers
        self._places.append(place)
        return rows[last], scores[last]


def _best_of(
    scores: np.ndarray, top_k: int | None, allowed: np.ndarray | None, floor: float
) -> tuple[np.ndarray, np.ndarray]:
    """Find the best of one score per document; only those above `floor` are matches."""
    if allowed is not None:
        scores = np.where(allowed, scores, -np.inf)
    rows = top_candidates(scores, top_k)
    found = scores[rows]
    matches = found > floor
    return rows[matches], found[matches]
