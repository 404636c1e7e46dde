"""The exercises: right answers pass, wrong ones get a hint, and no message gives a solution away."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest

from ragkit import lessons
from ragkit.lessons.answers import EXERCISES

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"


def solution(name: str):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return EXERCISES[name].solve()


@pytest.mark.parametrize("name", EXERCISES)
def test_the_right_answer_passes_to_the_digits_asked_for_and_a_near_one_does_not(name):
    exercise, answer = EXERCISES[name], solution(name)
    if isinstance(answer, str):
        assert lessons.check(name, f" {answer} ")
        assert not lessons.check(name, answer + "x")
        return
    low, high = answer if isinstance(answer, tuple) else (answer, answer)
    assert lessons.check(name, round((low + high) / 2, exercise.digits))
    step = 10.0**-exercise.digits
    assert not lessons.check(name, low - 2 * step)
    assert not lessons.check(name, high + 2 * step)
    assert not lessons.check(name, str(low))


@pytest.mark.parametrize("name", EXERCISES)
def test_no_message_holds_the_solution(name):
    exercise, answer = EXERCISES[name], solution(name)
    told = f"{lessons.check(name)} {lessons.check(name, -1)}"
    if isinstance(answer, str):
        assert answer not in told
    elif not isinstance(answer, tuple) and exercise.digits >= 3:
        assert f"{answer:.{exercise.digits}f}" not in told


@pytest.mark.parametrize("name", EXERCISES)
def test_no_hint_holds_the_number_asked_for(name):
    exercise, answer = EXERCISES[name], solution(name)
    given = set(re.findall(r"\d+(?:\.\d+)?", exercise.question))
    told = {float(n) for n in re.findall(r"\d+(?:\.\d+)?", exercise.hint) if n not in given}
    low, high = answer if isinstance(answer, tuple) else (answer, answer)
    room = 0.5 * 10.0**-exercise.digits
    assert not any(low - room <= number <= high + room for number in told)


def test_an_unknown_exercise_lists_the_known():
    with pytest.raises(ValueError, match=r"unknown exercise '3\.1'"):
        lessons.check("3.1", 1)


def test_every_notebook_has_three_exercises_and_asks_them_all():
    assert set(lessons.exercises()["exercise"]) == set(EXERCISES)
    for path in NOTEBOOKS.glob("[0-9][0-9]_*.ipynb"):
        asked = set(re.findall(r"lessons\.check\(\\\"(\d\d\.\d)\\\"", path.read_text(encoding="utf-8")))
        assert asked == {name for name in EXERCISES if name.startswith(path.name[:2])}, path.name


def test_a_number_as_text_and_a_number_as_exercise_are_told_apart():
    assert "without quotes" in repr(lessons.check("04.1", "0.96"))
    with pytest.raises(TypeError, match=r"such as '01\.1'"):
        lessons.check(1.1, 3)
