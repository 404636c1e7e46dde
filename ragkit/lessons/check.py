"""Check answers."""

from __future__ import annotations

import math
import numbers
import warnings
from dataclasses import replace
from html import escape
from typing import Any

import numpy as np
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
        Shown as a line: right, or a hint. Numbers are right within half a unit of the digits asked for,
        counts only when they are whole.

    Raises
    ------
    TypeError
        If `exercise` is not text.
    ValueError
        If there is no such exercise.

    Examples
    --------
    >>> check("07.3", 0.38)
    Right.
    >>> check("07.3", 0.5)
    Not yet. The formula stands under the first table of the notebook.
    """
    if not isinstance(exercise, str):
        raise TypeError(f"exercise must be its number as text, such as '01.1'; got {exercise!r}.")
    if exercise not in EXERCISES and exercise.zfill(4) in EXERCISES:
        raise ValueError(f"unknown exercise {exercise!r}. Did you mean {exercise.zfill(4)!r}?")
    found = EXERCISES[check_choice("exercise", exercise, EXERCISES)]
    if answer is ...:
        return Verdict(None, f"{found.question} Put your answer in place of `...`.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solution = found.solve()
    if not isinstance(solution, str) and (remark := _not_a_number(answer)):
        return Verdict(False, f"The answer is a number; {remark}")
    if _agrees(found, answer, solution):
        return Verdict(True, "Right.")
    return Verdict(False, f"Not yet. {_near_miss(found, answer, solution) or found.hint}")


def _not_a_number(answer: Any) -> str:
    """Say what was given in place of a number, and what to do; nothing for a number."""
    if isinstance(answer, str):
        try:
            float(answer)
        except ValueError:
            return f"got the text {answer!r}."
        return f"got the text {answer!r}. Write it without quotes."
    if isinstance(answer, bool) or not isinstance(answer, numbers.Real):
        inside = " Take the number out of it, with .item()." if _holds_one_number(answer) else ""
        return f"got an object of type {type(answer).__name__}.{inside}"
    return ""


def _holds_one_number(answer: Any) -> bool:
    """Say whether an answer is a Series or an array of one number."""
    return isinstance(answer, (pd.Series, np.ndarray)) and answer.size == 1 and answer.dtype.kind in "iuf"


def _near_miss(exercise: Exercise, answer: Any, solution: Any) -> str:
    """Tell a right number in the wrong form (a percentage, too few decimals) from a wrong one."""
    if isinstance(solution, str):
        return ""
    if not exercise.digits:
        return "" if float(answer).is_integer() else "The answer is a whole number."
    if _agrees(exercise, answer / 100, solution):
        return "Give a fraction, not percent."
    fewer = [d for d in range(2, exercise.digits) if round(float(answer), d) == answer]  # decimals given
    if any(_agrees(replace(exercise, digits=d), answer, solution) for d in fewer):
        return f"Give more decimals: {exercise.digits} are asked for."
    return ""


def _agrees(exercise: Exercise, answer: Any, solution: Any) -> bool:
    """Compare an answer with the solution: a text, a number to some digits, or an interval."""
    if isinstance(solution, str):
        return isinstance(answer, str) and answer.strip() == solution
    if isinstance(answer, bool) or not isinstance(answer, numbers.Real) or not math.isfinite(answer):
        return False
    low, high = solution if isinstance(solution, tuple) else (solution, solution)
    room = 0.5000001 * 10.0**-exercise.digits if exercise.digits else 0.0
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
