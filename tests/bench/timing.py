"""How long calls take, in seconds: of this process's processors, or by the clock (``time.perf_counter``)."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Clock = Callable[[], float]
_Found = TypeVar("_Found")


def timed(call: Callable[[], _Found], clock: Clock = time.process_time) -> tuple[float, _Found]:
    """Return what a call takes, and what it returns."""
    begin = clock()
    found = call()
    return clock() - begin, found


def seconds(call: Callable[[], object], clock: Clock = time.process_time) -> float:
    """Return what a call takes."""
    return timed(call, clock)[0]


def least(call: Callable[[], object], runs: int, clock: Clock = time.process_time) -> float:
    """Return what the fastest of some runs takes."""
    return min(seconds(call, clock) for _ in range(runs))
