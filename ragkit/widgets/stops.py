"""Where a number comes to rest between the values at which a result changes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

REACH = 0.01  # of the axis: how close before a mark a handle is carried over it


def inside(left: float, right: float) -> float:
    """Choose the number with the fewest decimals between two ends, near the middle.

    Parameters
    ----------
    left, right : float
        The ends, left < right.

    Returns
    -------
    float
        A number that a person would type.

    Examples
    --------
    >>> inside(0.4959, 0.4992)
    0.498
    """
    middle = (left + right) / 2
    for digits in range(1, 7):
        near = round(middle, digits)
        if left < near < right:
            return near
    return middle


def snap(value: float, by: float, marks: Iterable[float], low: float, high: float) -> float:
    """Carry a value that comes close before a mark over it, and leave every other as it is.

    On a mark itself two results tie, so that the value lands just past it, on the side that it moves to: what
    is shown is the result of a whole stretch, and each side is reached by coming from the other. A stretch
    too narrow for the steps of a slider is thus stopped at as well.

    Parameters
    ----------
    value : float
        Where a slider was dragged to.
    by : float
        How far, for the direction.
    marks : iterable of float
        Where the result changes.
    low, high : float
        The ends of the axis, which are reached as they are.

    Returns
    -------
    float
        `value`, or the roundest number just past the mark that lies ahead within 1 % of the axis, where it is
        nearer than the middle between it and the mark behind.

    Examples
    --------
    >>> to_the_right, to_the_left = +0.01, -0.01
    >>> snap(0.49, to_the_right, [0.4959], 0, 1), snap(0.50, to_the_left, [0.4959], 0, 1)
    (0.497, 0.495)
    >>> snap(0.50, to_the_right, [0.4959], 0, 1)
    0.5
    """
    if not low < value < high:
        return value
    sign = 1 if by > 0 else -1  # turned round for a move to the left, so that ahead is up
    stops = sorted({sign * stop for stop in (low, *marks, high) if low <= stop <= high})
    at = bisect_left(stops, sign * value)
    mark, gap = stops[at], stops[at] - sign * value
    reach = REACH * (high - low)
    if at == len(stops) - 1 or gap > (mark - stops[at - 1]) / 2 or gap >= reach - 1e-9:
        return value
    return sign * inside(mark, min(stops[at + 1], mark + reach / 4))
