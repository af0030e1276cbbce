"""The limits of the query that runs in this thread, for work far below executors: checks of saved blocks."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from qengine._control import Control


class Limits(Protocol):
    """What an ``ExecutionContext`` is for those that may not import it."""

    @property
    def control(self) -> Control:
        """What native functions poll."""

    def check(self) -> None:
        """Raise if the query must stop."""

    def raise_for(self, status: int) -> None:
        """Raise the error that a native function's status stands for; return if it is ``OK``."""


class _Running(threading.local):
    limits: Limits | None = None


running = _Running()
"""``running.limits`` are those of this thread's query while it executes, else None."""


@contextmanager
def limited_by(limits: Limits | None) -> Iterator[None]:
    """Let what runs in this block obey the limits of a query."""
    before = running.limits
    running.limits = limits
    try:
        yield
    finally:
        running.limits = before


def stop_if_due() -> None:
    """Raise if the query that runs in this thread, or is planned in it, must stop."""
    if running.limits is not None:
        running.limits.check()
