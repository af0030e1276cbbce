"""The statements that a graph has accepted and not ended, so that one call from any thread can stop them all."""

from __future__ import annotations

from itertools import count
from time import time
from weakref import ref

from qengine.exec.context import ExecutionContext

_NUMBERS = count(1)


class Executions:
    """The executions of one graph, from the moment that a statement is accepted until its context is dropped.

    They are held weakly: a result that is dropped takes its execution with it. There is no lock, since a reference may
    die, and take itself out, wherever Python frees memory: each step is one operation on a set.
    """

    __slots__ = ("__weakref__", "_accepted")

    def __init__(self) -> None:
        self._accepted: set[ref[ExecutionContext]] = set()

    def accept(self, context: ExecutionContext) -> ExecutionContext:
        """Let ``interrupt`` reach an execution from now on, and return it."""
        context.running, context.number, context.began = self.running, next(_NUMBERS), time()
        self._accepted.add(ref(context, self._accepted.discard))
        return context

    def running(self) -> list[ExecutionContext]:
        """Return those of which a statement runs, or waits for its rows to be read, oldest first."""
        found = [context for each in self._accepted.copy() if (context := each()) is not None and context.text]
        return sorted(found, key=lambda context: context.number)

    def interrupt(self) -> None:
        """Stop all of them soon; those that are accepted later go on."""
        for each in self._accepted.copy():
            if (context := each()) is not None:
                context.interrupt()
