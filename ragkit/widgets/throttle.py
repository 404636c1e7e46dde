"""Run a function at most once per interval, first and last call always: for work that takes long."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any


class Throttle:
    """Call `function` at once, then at most every `wait()` seconds, and always after the last request.

    Where no event loop runs (plain Python, tests) every request runs at once, so that nothing is late.

    Parameters
    ----------
    function : callable
        Takes no arguments.
    wait : callable
        Seconds between two runs, asked anew each time; 0 runs every request at once.
    leading : bool, default=True
        False lets the first run wait as well, for work that must not hold up what is more urgent.
    """

    def __init__(self, function: Callable[[], None], wait: Callable[[], float], *, leading: bool = True):
        self._function = function
        self._wait = wait
        self._leading = leading
        self._handle: Any = None
        self._ended = -1e9

    def __call__(self) -> None:
        """Ask for a run."""
        if self._handle is not None:
            return  # the run that is due reads the newest state
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self._run()
            return
        left = self._wait() - (time.monotonic() - self._ended if self._leading else 0.0)
        if left <= 0:
            self._run()
        else:
            self._handle = loop.call_later(left, self._run)

    def now(self) -> None:
        """Run at once, in place of the run that may be due."""
        self.cancel()
        self._run()

    @property
    def due(self) -> bool:
        """Whether a run is waiting for its time."""
        return self._handle is not None

    def cancel(self) -> None:
        """Forget the run that is due, if one is."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _run(self) -> None:
        self._handle = None
        try:
            self._function()
        finally:
            self._ended = time.monotonic()
