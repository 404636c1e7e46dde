"""Finding the few rows that can be among the best, without sorting the many."""

from __future__ import annotations

import numpy as np

from ragkit.frames.ranking import NEAR

MANY = 640  # from about so many scores on, it pays to order them roughly first, by steps of 16 bits


def top_candidates(scores: np.ndarray, top_k: int | None, slack: float = NEAR) -> np.ndarray:
    """Find the rows that may be among the `top_k` best, ties at the cut included.

    Parameters
    ----------
    scores : ndarray of float, shape (n,)
        Scores; ``-inf`` marks rows that are out.
    top_k : int or None
        How many are wanted; None for all.
    slack : float, default=2e-11
        How far below the best `top_k`, relative to their size, a score may still be equal to them.

    Returns
    -------
    ndarray of int64
        Row numbers, ascending: a superset of the best `top_k`.

    Examples
    --------
    >>> top_candidates(np.array([1.0, 3.0, 2.0, 3.0]), 1).tolist()
    [1, 3]
    """
    n = len(scores)
    if top_k == 0:
        return np.empty(0, dtype=np.int64)
    if top_k is None or top_k >= n:
        return np.flatnonzero(scores > -np.inf)
    cut = lower_bound(scores, top_k)
    rows = np.flatnonzero(scores >= cut - abs(cut) * slack) if cut > -np.inf else np.flatnonzero(scores > cut)
    if len(rows) > 4 * top_k:  # the bound was loose: cut once more among the few
        best = scores[rows]
        cut = np.partition(best, len(rows) - top_k)[len(rows) - top_k]
        rows = rows[best >= cut - abs(cut) * slack]
    return rows


def lower_bound(scores: np.ndarray, top_k: int) -> float:
    """Bound the `top_k`-th best score from below by the maxima of interleaved blocks.

    Partitioning the whole array costs ten times as much: it moves every score, this only compares them.

    Parameters
    ----------
    scores : ndarray of float or uint16, shape (n,)
        At least `top_k` scores.
    top_k : int
        At least 1.

    Returns
    -------
    float or int
        A number that at least `top_k` scores reach; not necessarily one of them.
    """
    n_blocks = max(128, 2 * top_k, len(scores) // 128)
    depth = len(scores) // n_blocks
    if depth < 2:
        return _bound_in_steps(scores, top_k)
    maxima = np.maximum.reduce(scores[: depth * n_blocks].reshape(depth, n_blocks))
    if n_blocks > MANY:
        return _bound_in_steps(maxima, top_k)
    maxima.sort()
    return maxima.item(-top_k)


def _bound_in_steps(scores: np.ndarray, top_k: int) -> float:
    """Bound the `top_k`-th best score by rounding all to 16 bits, which are sorted in linear time."""
    rounded = _in_steps(scores)
    if rounded is None:
        return np.partition(scores, len(scores) - top_k).item(len(scores) - top_k)
    steps, low, step = rounded
    steps.sort(kind="stable")
    return low + (steps.item(len(scores) - top_k) - 1) * step  # one step less: divisions round up, too


def nearly_rising(scores: np.ndarray, top_k: int | None) -> np.ndarray | None:
    """Find the rows that may be among the `top_k` best, ties at the cut included, in nearly rising order.

    Scores are rounded to 16 bits, which are sorted in linear time; what is nearly in order then costs
    little to sort. For a thousand scores this takes half the time of sorting them as they are.

    Parameters
    ----------
    scores : ndarray of float64, shape (n,)
        Scores, at least one.
    top_k : int or None
        How many are wanted, at least 1; None for all.

    Returns
    -------
    ndarray of int64 or None
        Row numbers, at least those of the best `top_k`; rows whose scores differ by more than 1/65,535 of
        the range are in order. None where such a step is too fine or too coarse to tell scores apart.
    """
    rounded = _in_steps(scores)
    if rounded is None:
        return None
    steps, low, step = rounded
    if NEAR * max(abs(low), abs(low + 65535 * step)) > step / 2:  # what ties may be steps apart
        return None
    rows = steps.argsort(kind="stable")
    if top_k is not None and top_k < len(rows):
        least = max(0, steps.item(rows.item(-top_k)) - 1)
        rows = rows[-np.count_nonzero(steps >= least) :]
    return rows


def _in_steps(scores: np.ndarray) -> tuple[np.ndarray, float, float] | None:
    """Round scores to 16 bits, and give the lowest and the step; None where no step can be trusted."""
    low = scores.item(scores.argmin())  # sooner than asking for the least itself
    step = (scores.item(scores.argmax()) - low) / 65535
    if not 1e-30 < step < 1e30:  # all are all but equal, or far apart, or not finite
        return None
    return ((scores - low) / step).astype(np.uint16), low, step
