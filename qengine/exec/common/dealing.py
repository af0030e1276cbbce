"""Work on many elements that is dealt to the threads of an execution, part by part."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from qengine.exec.context import ExecutionContext

__all__ = ["deal"]


def deal(work: Callable[[int], None], places: Sequence[int], context: ExecutionContext) -> None:
    """Call a function for each of some places, the first before all others, these on all threads.

    Where memory is limited they come one after the other, so that no more is held than by one. The function must let go
    of Python's lock for most of the time, as NumPy and Arrow do, and look at the limits itself. Where it fails for
    several, the error of the first is raised, as if they came one after the other.

    Raises
    ------
    QueryTimeout, QueryInterrupted
        By the context's limits.
    """
    if not places:
        return
    work(places[0])  # what is found once for all is there then
    left = iter(places[1:])
    failed: dict[int, BaseException] = {}

    def run() -> None:
        for place in left:
            if failed:
                return
            try:
                work(place)
            except BaseException as error:
                failed[place] = error

    threads = 1 if context.memory.limit is not None else min(context.threads, len(places) - 1)
    helpers = [context.begun(run) for _ in range(threads - 1)]
    run()
    for each in helpers:
        context.awaited(each)
    if failed:
        raise failed[min(failed)]
