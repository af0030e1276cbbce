"""The executions that run at a time, so that one call from any thread can stop them all."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from qengine.exec.context import ExecutionContext

__all__ = ["Executions"]


class Executions:
    """The executions that run on one graph now."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[ExecutionContext] = set()

    @contextmanager
    def running(self, context: ExecutionContext) -> Iterator[None]:
        """Let ``interrupt`` reach an execution for the time of a block."""
        with self._lock:
            self._running.add(context)
        try:
            yield
        finally:
            with self._lock:
                self._running.discard(context)

    def interrupt(self) -> None:
        """Stop all of them soon."""
        with self._lock:
            running = list(self._running)
        for context in running:
            context.interrupt()
