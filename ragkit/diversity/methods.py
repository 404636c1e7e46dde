"""Greedy diversifiers on the arrays of one query; each gives its picks and the parts of their scores.

All take `rel` and the rows of `X` (of length 1) in the order of the ranking; ties go to the earlier row.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

_NOISE = 1e-12  # cosines of unit vectors are exact to about 1e-15
_LAZY = 48  # gains computed anew at a time

Order = tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]


def first_best(values: np.ndarray, slack: float) -> int:
    """Give the first row whose value is the highest, up to `slack`."""
    return int(np.argmax(values >= values.max() - slack))


def msd_order(rel: np.ndarray, X: np.ndarray, lambda_: float, k: int, slack: float) -> Order:
    """Max-sum dispersion: ``l * rel + (1 - l) * sum of (1 - cos) to the picks``; the most relevant first."""
    picks, parts = np.empty(k, dtype=np.int64), np.zeros(k)
    total = np.zeros(len(rel))
    values = rel.copy()
    for j in range(k):
        picks[j] = i = first_best(values, slack * (j + 1))
        parts[j] = total[i]
        total += 1.0 - np.clip(X @ X[i], -1.0, 1.0)
        values = lambda_ * rel + (1 - lambda_) * total
        values[picks[: j + 1]] = -np.inf
    return picks, lambda_ * rel[picks] + (1 - lambda_) * parts, {"distance_sum": parts}


def dpp_order(rel: np.ndarray, X: np.ndarray, lambda_: float, k: int, slack: float) -> Order:
    """Greedy MAP of a determinantal point process with kernel ``w_i cos_ij w_j``.

    The weights are ``w = exp(l * z)``, z the relevance in standard deviations from its mean. Each pick has
    the highest residual ``w**2 * novelty``; novelty is the squared part of its vector that the picks'
    vectors do not span. At lambda 1 the order is that of relevance.
    """
    n = len(rel)
    spread = rel.std()
    # float32's epsilon, as in pyversity, keeps equal relevance from being divided by 0.
    w = np.exp(lambda_ * (rel - rel.mean()) / (spread + np.finfo(np.float32).eps))
    novelty, C = np.ones(n), np.zeros((n, k))
    picks, parts, left = np.empty(k, dtype=np.int64), np.empty(k), np.ones(n, dtype=bool)
    for j in range(k):
        values = rel if lambda_ == 1 else w * w * novelty
        picks[j] = i = first_best(np.where(left, values, -np.inf), slack * max(1.0, float(values.max())))
        parts[j], left[i] = novelty[i], False
        if novelty[i] > 1e-10:  # else its vector lies in the span of the picks: there is nothing to remove
            C[:, j] = (X @ X[i] - C[:, :j] @ C[i, :j]) / np.sqrt(novelty[i])
            novelty = novelty - C[:, j] ** 2
            novelty[novelty < 1e-10] = 0.0
    return picks, w[picks] ** 2 * parts, {"dpp_weight": w[picks], "novelty": parts}


def cover_order(rel: np.ndarray, X: np.ndarray, lambda_: float, k: int, slack: float, gamma: float) -> Order:
    """Facility location: ``l * rel + (1 - l) * sum over the pool of (c + sim)**g - c**g``.

    c is how much of each candidate the picks cover already; sim is the cosine, at least 0. The power is
    concave, so a gain only falls as the cover grows: one computed earlier bounds it from above, and is
    computed again only where the bound could still be the best (lazy greedy, Minoux 1978).
    """
    n, slack = len(rel), slack * len(rel)
    S, covered = _positive(X @ X.T), np.zeros(n)
    gain, fresh, spent = (S**gamma).sum(axis=1), np.ones(n, dtype=bool), 0.0
    picks, parts, left = np.empty(k, dtype=np.int64), np.empty(k), np.ones(n, dtype=bool)
    for j in range(k):
        values = np.where(left, lambda_ * rel + (1 - lambda_) * gain, -np.inf)
        while len(stale := _may_be_best(values, fresh, left, slack)):
            cover = S[stale] + covered
            gain[stale] = (np.sqrt(cover) if gamma == 0.5 else cover**gamma).sum(axis=1) - spent
            fresh[stale] = True
            values[stale] = lambda_ * rel[stale] + (1 - lambda_) * gain[stale]
        picks[j] = i = first_best(np.where(fresh, values, -np.inf), slack)
        parts[j], left[i] = gain[i], False
        covered += S[i]
        spent, fresh[:] = (covered**gamma).sum(), False
    return picks, lambda_ * rel[picks] + (1 - lambda_) * parts, {"coverage_gain": parts}


def _positive(cosines: np.ndarray) -> np.ndarray:
    """Clip cosines to [0, 1]; what is rounding noise is 0, for the root of 1e-16 is not small."""
    return np.where(cosines < _NOISE, 0.0, np.minimum(cosines, 1.0))


def _may_be_best(values: np.ndarray, fresh: np.ndarray, left: np.ndarray, slack: float) -> np.ndarray:
    """Give the highest of the rows whose bound reaches the best value that is certain."""
    certain = values[fresh & left].max(initial=-np.inf)
    rows = np.flatnonzero(~fresh & left & (values >= certain - slack))
    return rows[np.argsort(-values[rows], kind="stable")[:_LAZY]]


def xquad_order(
    rel: np.ndarray, P: np.ndarray, weight: np.ndarray, lambda_: float, k: int, slack: float
) -> Order:
    """Explicit query aspects: ``l * rel + (1 - l) * sum of P(i|q) P(d|i) * product of (1 - P(s|i))``.

    P has one row per aspect i and one column per candidate d; the product runs over the picks s.
    """
    open_ = np.ones(len(weight))  # how much of each aspect the picks leave unanswered
    picks, parts, left = np.empty(k, dtype=np.int64), np.empty(k), np.ones(len(rel), dtype=bool)
    aspect = np.full(k, -1)
    for j in range(k):
        gains = (weight * open_)[:, None] * P
        gain = gains.sum(axis=0)
        values = np.where(left, lambda_ * rel + (1 - lambda_) * gain, -np.inf)
        picks[j] = i = first_best(values, slack)
        parts[j], left[i] = gain[i], False
        if gain[i] > 0:
            aspect[j] = int(np.argmax(gains[:, i]))
        open_ = open_ * (1 - P[:, i])
    return picks, lambda_ * rel[picks] + (1 - lambda_) * parts, {"aspect_gain": parts, "aspect": aspect}


def collapse_rows(
    alike: Callable[[int], np.ndarray], n: int, threshold: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Keep each row that resembles no kept row above it.

    `alike` gives the similarity of one row to all. The kept rows come in the order of the ranking; each
    row's keeper is the best-ranked kept row that it resembles, for kept rows the row itself.
    """
    keeper, similarity = np.full(n, -1, dtype=np.int64), np.zeros(n)
    for i in range(n):
        if keeper[i] < 0:
            row = alike(i)
            mine = (row >= threshold - 1e-12) & (keeper < 0)
            mine[i] = True
            keeper[mine], similarity[mine] = i, row[mine]
    return np.flatnonzero(keeper == np.arange(n)), keeper, similarity
