"""Check answers."""

from __future__ import annotations

import math
import numbers
import warnings
from html import escape
from typing import Any

import pandas as pd

from ragkit.frames import check_choice
from ragkit.lessons.answers import EXERCISES, Exercise


class Verdict:
    """What became of an answer; true when it is right.

    Parameters
    ----------
    right : bool or None
        None where no answer was given yet.
    text : str
        What to tell the reader.
    """

    def __init__(self, right: bool | None, text: str):
        self.right = right
        self.text = text

    def __bool__(self) -> bool:
        return bool(self.right)

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        colour = {True: "#009E73", False: "#D55E00", None: "#767676"}[self.right]
        return f'<div style="border-left:4px solid {colour};padding:2px 8px">{escape(self.text)}</div>'


def check(exercise: str, answer: Any = ...) -> Verdict:
    """Check the answer to an exercise of the notebooks.

    Parameters
    ----------
    exercise : str
        Its number: ``"03.2"`` is the second exercise of notebook 03.
    answer : number or str
        The answer; ``...`` shows the question.

    Returns
    -------
    Verdict
        Shown as a line: right, or a hint. Numbers are right within half a unit of the digits asked for.

    Raises
    ------
    TypeError
        If `exercise` is not text.
    ValueError
        If there is no such exercise.

    Examples
    --------
    >>> check("04.1", 0.96)
    Right.
    >>> check("04.1", 0.5)
    Not yet. Multiply component by component and add; divide by both lengths, which are 5 here.
    """
    if not isinstance(exercise, str):
        raise TypeError(f"exercise must be its number as text, such as '01.1'; got {exercise!r}.")
    found = EXERCISES[check_choice("exercise", exercise, EXERCISES)]
    if answer is ...:
        return Verdict(None, f"{found.question} Put your answer in place of `...`.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solution = found.solve()
    if isinstance(answer, str) and not isinstance(solution, str):
        return Verdict(False, f"The answer is a number; got the text {answer!r}. Write it without quotes.")
    if _agrees(found, answer, solution):
        return Verdict(True, "Right.")
    return Verdict(False, f"Not yet. {found.hint}")


def _agrees(exercise: Exercise, answer: Any, solution: Any) -> bool:
    """Compare an answer with the solution: a text, a number to some digits, or an interval."""
    if isinstance(solution, str):
        return isinstance(answer, str) and answer.strip() == solution
    if isinstance(answer, bool) or not isinstance(answer, numbers.Real) or not math.isfinite(answer):
        return False
    low, high = solution if isinstance(solution, tuple) else (solution, solution)
    room = 0.5000001 * 10.0**-exercise.digits
    return low - room <= answer <= high + room


def exercises() -> pd.DataFrame:
    """List the exercises of all notebooks.

    Returns
    -------
    DataFrame
        ``exercise, question``.
    """
    rows = [(name, found.question) for name, found in EXERCISES.items()]
    return pd.DataFrame(rows, columns=["exercise", "question"])
