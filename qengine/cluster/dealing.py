"""Deals tasks to the workers of an engine until each is answered once."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence

from qengine.cluster.engine import Engine
from qengine.errors import ResourceError

_MOST_DEATHS = 3
"""A task that so many workers have died of isn't given to another."""
_POLL = 0.05
"""Seconds between two looks whether to stop."""
_LAGS = 2.0
"""A task lags once it has taken so many times as long as the longest that was answered."""
_LEAST_LAG = 1.0
"""Seconds, before which none lags."""


def deal(
    engine: Engine, tasks: Sequence[bytes], check: Callable[[], None], clock: Callable[[], float] = time.monotonic
) -> list[bytes]:
    """Return the answers to tasks, in their order.

    Tasks are taken from one queue. Those of a worker that dies go back to its front; a task that lags is given to a
    second worker once one has nothing else to do. The first answer counts, who still works on the task is killed.

    Parameters
    ----------
    check
        Raises where all must stop; called several times a second. All workers that are busy are killed then.

    Raises
    ------
    ResourceError
        ``WorkerLost`` where several workers have died of one task.
    """
    dealt = _Dealt(engine, tasks, clock)
    try:
        while len(dealt.answers) < len(tasks):
            dealt.submit()
            dealt.receive()
            check()
    finally:
        for worker in dealt.running:
            engine.kill(worker)
    return [dealt.answers[place] for place in range(len(tasks))]


class _Dealt:
    """Which tasks wait, run and are answered. ``running``: of each busy worker the task, and since when."""

    def __init__(self, engine: Engine, tasks: Sequence[bytes], clock: Callable[[], float]) -> None:
        self.engine, self.tasks, self.clock = engine, tasks, clock
        self.waiting = deque(range(len(tasks)))
        self.running: dict[int, tuple[int, float]] = {}
        self.answers: dict[int, bytes] = {}
        self.deaths = [0] * len(tasks)
        self.longest = 0.0

    def submit(self) -> None:
        """Give every idle worker a task, as far as there are."""
        for worker in range(self.engine.workers):
            if worker in self.running:
                continue
            place = self.waiting.popleft() if self.waiting else self.laggard()
            if place is None:
                return
            self.running[worker] = place, self.clock()
            self.engine.submit(worker, self.tasks[place])

    def laggard(self) -> int | None:
        """Return the task that lags the most, and that one worker alone has."""
        places = [place for place, _ in self.running.values()]
        alone = [(since, place) for place, since in self.running.values() if places.count(place) == 1]
        since, place = min(alone, default=(0.0, -1))
        lags = place >= 0 and self.clock() - since >= max(_LEAST_LAG, _LAGS * self.longest)
        return place if lags else None

    def receive(self) -> None:
        """Note what has become of tasks."""
        for worker, answer in self.engine.wait(_POLL):
            if worker not in self.running:  # it was killed meanwhile, since another was quicker
                continue
            place, since = self.running.pop(worker)
            if answer is None:
                self.lost(place)
                continue
            self.longest = max(self.longest, self.clock() - since)
            self.answers[place] = answer
            for other in [each for each, (same, _) in self.running.items() if same == place]:
                del self.running[other]
                self.engine.kill(other)

    def lost(self, place: int) -> None:
        """Put a task of a worker that has died back, unless another has it, too."""
        self.deaths[place] += 1
        if self.deaths[place] >= _MOST_DEATHS:
            raise ResourceError(
                f"{_MOST_DEATHS} workers have died of the same part of the query.",
                hint="If they have printed nothing, the system may have ended them for want of memory: give "
                "memory_limit, or fewer workers.",
                code="WorkerLost",
            )
        if all(same != place for same, _ in self.running.values()):
            self.waiting.appendleft(place)
