"""The executions that run at a time, so that one call from any thread can stop them all."""

from __future__ import annotations

import threading

from qengine.exec.context import ExecutionContext

__all__ = ["Executions"]


class _Running:
    """A ``with`` block in which an execution is among those that run; a class, which is quicker than a generator."""

    __slots__ = ("_context", "_lock", "_running")

    def __init__(self, lock: threading.Lock, running: set[ExecutionContext], context: ExecutionContext) -> None:
        self._lock = lock
        self._running = running
        self._context = context

    def __enter__(self) -> None:
        with self._lock:
            self._running.add(self._context)

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._running.discard(self._context)


class Executions:
    """The executions that run on one graph now."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[ExecutionContext] = set()

    def running(self, context: ExecutionContext) -> _Running:
        """Let ``interrupt`` reach an execution for the time of a ``with`` block."""
        return _Running(self._lock, self._running, context)

    def interrupt(self) -> None:
        """Stop all of them soon."""
        with self._lock:
            running = list(self._running)
        for context in running:
            context.interrupt()
