"""Results that are computed while earlier ones are used, as many as threads and memory allow."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from typing import TypeVar

from qengine.exec.context import ExecutionContext
from qengine.exec.memory import Holding
from qengine.exec.spill.given_back import give_back
from qengine.exec.spill.rows import WORKING

Computed = TypeVar("Computed")


def computed_ahead(
    jobs: Iterable[tuple[int, Callable[[], Computed]]], context: ExecutionContext, holding: Holding
) -> Iterator[Computed]:
    """Yield what functions return, in order; those of later ones are computed meanwhile, on threads of their own.

    Parameters
    ----------
    jobs
        Each with the bytes that it takes, its result included. It changes nothing that others see.
    holding
        Set to what the jobs take that are running or whose result is in use; they are kept within its share.

    Raises
    ------
    QueryInterrupted, QueryTimeout
        As ``ExecutionContext.check``.
    """
    waiting = iter(jobs)
    following = next(waiting, None)
    running: deque[tuple[int, Future[Computed]]] = deque()
    held = 0
    while running or following is not None:
        while following is not None and len(running) <= context.threads:
            if running and held + following[0] > holding.share():
                break
            needed, compute = following
            held += needed
            holding.set(held)
            running.append((needed, context.begun(compute)))
            following = next(waiting, None)
        needed, outcome = running.popleft()
        found = context.awaited(outcome)
        held -= needed - needed // WORKING
        holding.set(held)
        yield found
        del outcome, found
        held -= needed // WORKING
        holding.set(held)
        give_back(context)
