"""Run the settings of a sweep through joblib: those that share work in one task, a failure in its own row."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

from ragkit.experiment.log import Log, Outcome
from ragkit.experiment.measure import Measure, score_found
from ragkit.experiment.retrieve import Call
from ragkit.frames.messages import warn, warnings_kept


def run_settings(
    call: Call,
    settings: list[dict[str, Any]],
    measure: Measure,
    *,
    path: Any = None,
    progress: bool | None = None,
) -> list[Outcome]:
    """Run all settings, from a file what it holds, and give their outcomes in order."""
    from tqdm.auto import tqdm

    log = None if path is None else Log(path, measure)
    done: dict[int, Outcome] = {} if log is None else log.known(settings)
    todo = {number: setting for number, setting in enumerate(settings) if number not in done}
    bar = tqdm(total=len(settings), initial=len(done), desc="sweep", delay=2, disable=progress is False)
    with bar:
        for outcomes in _parallel(call, todo, measure):
            for outcome in outcomes:
                done[outcome.setting] = outcome
                if log is not None:
                    log.write(settings[outcome.setting], outcome)
            bar.update(len(outcomes))
    outcomes = [done[number] for number in range(len(settings))]
    _tell([note for outcome in outcomes for note in outcome.notes])
    return outcomes


def _tell(notes: list[str]) -> None:
    """Give the warnings of all searches, one of each kind: what differs in its numbers is one."""
    kinds = {re.sub(r"\d+(?:\.\d+)?", "#", note): note for note in reversed(notes)}
    for note in reversed(kinds.values()):
        warn(note)


def _parallel(call: Call, settings: dict[int, dict[str, Any]], measure: Measure) -> Iterator[list[Outcome]]:
    from joblib import Parallel, delayed, effective_n_jobs

    tasks = call.tasks(settings, effective_n_jobs(Parallel().n_jobs))
    jobs = [
        delayed(_run_task)(call, {number: settings[number] for number in task}, measure) for task in tasks
    ]
    try:
        yield from Parallel(return_as="generator")(jobs)
    except ValueError as error:  # a backend that cannot stream (Ray) gives all at the end
        if "return_as" not in str(error):
            raise
        yield from Parallel()(jobs)


def _run_task(call: Call, settings: dict[int, dict[str, Any]], measure: Measure) -> list[Outcome]:
    """Measure the settings of one task; those that were computed at once share its time."""
    start = time.perf_counter()
    with warnings_kept() as notes:
        try:
            found = call.together(list(settings.values()))
        except Exception:  # one of them is wrong: called by itself, it says so in its own row
            found = None
    if found is None:
        return [_run_setting(call, number, setting, measure) for number, setting in settings.items()]
    seconds = (time.perf_counter() - start) / len(found)
    outcomes = [_scored(number, run, seconds, measure) for number, run in zip(settings, found)]
    return [outcome._replace(notes=notes) for outcome in outcomes]


def _run_setting(call: Call, number: int, setting: dict[str, Any], measure: Measure) -> Outcome:
    start = time.perf_counter()
    with warnings_kept() as notes:
        try:
            found = call(setting)
        except Exception as error:  # one setting must not lose the others
            return _failed(number, time.perf_counter() - start, error)
    return _scored(number, found, time.perf_counter() - start, measure)._replace(notes=notes)


def _scored(number: int, found: Any, seconds: float, measure: Measure) -> Outcome:
    try:
        scores, unjudged, strange = score_found(found, measure)
    except Exception as error:
        return _failed(number, seconds, error)
    return Outcome(number, seconds, scores, "", unjudged, strange)


def _failed(number: int, seconds: float, error: Exception) -> Outcome:
    return Outcome(number, seconds, None, f"{type(error).__name__}: {error}", [], False)
