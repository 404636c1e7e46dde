"""The exercises: right answers pass, wrong ones get a hint, and no message gives a solution away."""

from __future__ import annotations

import json
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
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


@pytest.mark.parametrize("name", [name for name in EXERCISES if EXERCISES[name].digits >= 3])
def test_no_output_of_its_notebook_shows_the_number_asked_for(name):
    (path,) = NOTEBOOKS.glob(f"{name[:2]}_*.ipynb")
    outputs = [
        output for cell in json.loads(path.read_text("utf-8"))["cells"] for output in cell.get("outputs", [])
    ]
    shown = " ".join(
        "".join(output.get("data", output).get("text/plain", output.get("text", ""))) for output in outputs
    )
    digits = EXERCISES[name].digits
    numbers = {round(float(number), digits) for number in re.findall(rf"\d+\.\d{{{digits},}}", shown)}
    assert round(solution(name), digits) not in numbers


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


COUNTS = [name for name in EXERCISES if EXERCISES[name].digits == 0]


@pytest.mark.parametrize("name", COUNTS)
def test_a_count_is_a_whole_number(name):
    answer = solution(name)
    assert answer == int(answer) and lessons.check(name, float(answer))
    for near in (answer - 0.4, answer + 0.4):
        assert repr(lessons.check(name, near)) == "Not yet. The answer is a whole number."


def test_a_right_number_in_the_wrong_form_is_told_what_is_wrong_with_it():
    right = solution("01.2")
    assert "more decimals: 3" in repr(lessons.check("01.2", round(right, 2)))
    assert "not percent" in repr(lessons.check("01.2", round(100 * right, 1)))
    assert "more decimals" not in repr(lessons.check("01.2", right + 0.1))


def test_a_wrong_number_with_all_its_decimals_is_not_told_to_give_more():
    ranks_from_0 = 1 / 61 + 1 / 64  # near 1/62 + 1/65, and wrong
    assert "add the two" in repr(lessons.check("06.1", ranks_from_0))
    assert "add the two" in repr(lessons.check("06.1", round(ranks_from_0, 5)))
    assert "more decimals: 5" in repr(lessons.check("06.1", 0.0315))


@pytest.mark.parametrize("answer", [pd.Series([0.2], name="width"), np.array([[1]])])
def test_a_table_of_one_number_is_told_how_to_take_it_out(answer):
    assert repr(lessons.check("06.3", answer)).endswith("Take the number out of it, with .item().")
    assert "item" not in repr(lessons.check("06.3", pd.Series([0.1, 0.2])))


@pytest.mark.parametrize("answer", [None, [1], True, len])
def test_what_is_no_number_is_named(answer):
    verdict = lessons.check("01.1", answer)
    assert not verdict and f"got an object of type {type(answer).__name__}." in repr(verdict)


def test_only_a_number_in_quotes_is_told_to_lose_them():
    assert "quotes" not in repr(lessons.check("01.1", "not at all"))


def test_a_number_without_its_leading_zero_is_answered_with_the_full_one():
    with pytest.raises(ValueError, match=r"Did you mean '03\.1'\?"):
        lessons.check("3.1", 1)
