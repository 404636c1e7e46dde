"""Intervals and tests on per-query scores: columns are what is compared, rows are queries.

Resampling draws queries once and applies the draw to every column, so that all systems see the same
resampled queries.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

TESTS = ("randomization", "t", "wilcoxon", "bootstrap")
CORRECTIONS = ("holm", "bh")
#: Up to this many non-zero differences every one of the 2**m sign patterns is counted.
EXACT = 32
_CHUNK = 1 << 22  # numbers drawn at a time


def mean_intervals(
    x: np.ndarray, *, ci: float, resamples: int, random_state: int
) -> tuple[np.ndarray, np.ndarray]:
    """Interval of each column's mean: exact binomial where all values are 0 or 1, else BCa bootstrap."""
    n, c = x.shape
    low, high = np.full(c, np.nan), np.full(c, np.nan)
    if n == 0:
        return low, high
    binary = ((x == 0) | (x == 1)).all(axis=0)
    for column in np.flatnonzero(binary):
        low[column], high[column] = _binomial(int(x[:, column].sum()), n, ci)
    rest = np.flatnonzero(~binary)
    if n > 1 and len(rest):
        low[rest], high[rest] = bca(x[:, rest], ci=ci, resamples=resamples, random_state=random_state)
    return low, high


def _binomial(successes: int, n: int, ci: float) -> tuple[float, float]:
    from scipy.stats import binomtest

    interval = binomtest(successes, n).proportion_ci(confidence_level=ci, method="exact")
    return float(interval.low), float(interval.high)


def bca(x: np.ndarray, *, ci: float, resamples: int, random_state: int) -> tuple[np.ndarray, np.ndarray]:
    """Bias-corrected and accelerated bootstrap interval of each column's mean (Efron 1987)."""
    from scipy.special import ndtr, ndtri

    mean = x.mean(axis=0)
    boot = np.concatenate([w @ x for w in _resampled_weights(len(x), resamples, random_state)])
    eps = 1e-12 * np.maximum(np.abs(x).max(axis=0), 1e-300)
    below = ((boot < mean - eps).sum(axis=0) + (boot <= mean + eps).sum(axis=0)) / (2 * resamples)
    d = x - mean
    spread = (d**2).sum(axis=0)
    a = np.divide((d**3).sum(axis=0), 6 * spread**1.5, out=np.zeros_like(mean), where=spread > 0)
    z0 = ndtri(np.clip(below, 0.5 / resamples, 1 - 0.5 / resamples))
    ends = []
    for tail in ((1 - ci) / 2, (1 + ci) / 2):
        z = z0 + ndtri(tail)
        share = ndtr(z0 + z / (1 - a * z))
        ends.append(np.array([np.quantile(b, s) for b, s in zip(boot.T, share)]))
    return ends[0], ends[1]


def _resampled_weights(n: int, resamples: int, random_state: int) -> Iterator[np.ndarray]:
    """Give matrices whose rows say how much each query weighs in one resample."""
    rng = np.random.default_rng(random_state)
    many = max(1, _CHUNK // n)
    for start in range(0, resamples, many):
        rows = min(many, resamples - start)
        drawn = rng.integers(0, n, (rows, n)) + n * np.arange(rows)[:, None]
        yield np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n) / n


def p_values(d: np.ndarray, test: str, *, resamples: int, random_state: int) -> np.ndarray:
    """Two-sided p of each column of paired differences; 1 where nothing differs."""
    out = np.ones(d.shape[1])
    moved = np.flatnonzero((d != 0).any(axis=0))
    if len(moved):
        by_name = {"t": _t, "wilcoxon": _wilcoxon, "bootstrap": _bootstrap, "randomization": _randomization}
        out[moved] = by_name[test](d[:, moved], resamples, random_state)
    return out


def smallest_p(n: int, test: str, resamples: int) -> float:
    """Smallest two-sided p that n differing queries can reach, all one way; NaN where there is no bound."""
    if test == "t":
        return np.nan
    if test == "bootstrap":
        return 1 / (resamples + 1)
    exact = min(1.0, 2.0 ** (1 - n))
    return exact if test == "wilcoxon" or n <= EXACT else max(exact, 1 / (resamples + 1))


def _t(d: np.ndarray, resamples: int, random_state: int) -> np.ndarray:
    """Student's paired t test; NaN where one query leaves no spread to judge by."""
    from scipy.stats import ttest_1samp

    if len(d) < 2:
        return np.full(d.shape[1], np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        flat = d.std(axis=0) <= 1e-12 * np.abs(d).max(axis=0)
        p = np.zeros(d.shape[1])
        p[~flat] = ttest_1samp(d[:, ~flat], 0.0, axis=0).pvalue if (~flat).any() else p[~flat]
    return p


def _wilcoxon(d: np.ndarray, resamples: int, random_state: int) -> np.ndarray:
    """Wilcoxon's signed ranks, without the queries that tie."""
    from scipy.stats import wilcoxon

    return np.array([wilcoxon(column[column != 0]).pvalue for column in d.T])


def _bootstrap(d: np.ndarray, resamples: int, random_state: int) -> np.ndarray:
    """Share of resamples of the centred differences whose mean is as far from 0."""
    mean = np.abs(d.mean(axis=0))
    centred = d - d.mean(axis=0)
    eps = 1e-12 * np.abs(d).max(axis=0)
    far = sum(
        (np.abs(w @ centred) >= mean - eps).sum(axis=0)
        for w in _resampled_weights(len(d), resamples, random_state)
    )
    return (far + 1) / (resamples + 1)


def _randomization(d: np.ndarray, resamples: int, random_state: int) -> np.ndarray:
    """Fisher's paired randomisation test: exact with few differences, else by random signs."""
    few = (d != 0).sum(axis=0) <= EXACT
    out = np.empty(d.shape[1])
    for column in np.flatnonzero(few):
        out[column] = exact_randomization(d[:, column])
    if not few.all():
        out[~few] = _sampled_randomization(d[:, ~few], resamples, random_state)
    return out


def exact_randomization(d: np.ndarray) -> float:
    """Share of the 2**m sign patterns whose sum is at least as far from 0 as the sum observed.

    The differences are split into two halves; of the sums of one half, sorted, a binary search counts
    those that carry each sum of the other half over the line: 2 * 2**(m/2) sums instead of 2**m.
    """
    d = d[d != 0]
    line = abs(d.sum()) - 1e-12 * np.abs(d).sum()
    if line <= 0:
        return 1.0
    half = len(d) // 2
    a, b = _signed_sums(d[:half]), np.sort(_signed_sums(d[half:]))
    over = (len(b) - np.searchsorted(b, line - a)).sum()
    return float(min(1.0, 2.0 * over / 2.0 ** len(d)))


def _signed_sums(d: np.ndarray) -> np.ndarray:
    sums = np.zeros(1)
    for x in d:
        sums = np.concatenate([sums + x, sums - x])
    return sums


def _sampled_randomization(d: np.ndarray, resamples: int, random_state: int) -> np.ndarray:
    rng = np.random.default_rng(random_state)
    n = len(d)
    line = np.abs(d.sum(axis=0)) - 1e-12 * np.abs(d).sum(axis=0)
    far = np.zeros(d.shape[1])
    many = max(1, _CHUNK // n)
    for start in range(0, resamples, many):
        rows = min(many, resamples - start)
        bits = np.frombuffer(rng.bytes((rows * n + 7) // 8), dtype=np.uint8)
        signs = np.unpackbits(bits)[: rows * n].reshape(rows, n) * 2.0 - 1.0
        far += (np.abs(signs @ d) >= line).sum(axis=0)
    return (far + 1) / (resamples + 1)


def correct(p: np.ndarray, correction: str | None) -> np.ndarray:
    """Correct p values for their number: Holm's way (family-wise), or Benjamini and Hochberg's."""
    out = p.astype(np.float64)
    known = np.flatnonzero(~np.isnan(p))
    if correction is None or not len(known):
        return out
    if correction == "bh":
        from scipy.stats import false_discovery_control

        out[known] = false_discovery_control(p[known])
        return out
    order = known[np.argsort(p[known], kind="stable")]
    out[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1)))
    return out
