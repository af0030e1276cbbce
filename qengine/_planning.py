"""How long planning may take: a time that its stages look at, from reading the text to choosing orders."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic

from qengine.errors import QueryTimeout

__all__ = ["check_planning", "planning_deadline", "planning_ends"]

_LEAST = 0.1  # seconds that planning may always take, so that a timeout is met by what executes, if by anything

_limit: ContextVar[tuple[float, object]] = ContextVar("limit", default=(math.inf, None))


@contextmanager
def planning_ends(timeout: object) -> Iterator[None]:
    """Let ``check_planning`` raise in this block once it has taken ``timeout`` seconds; no number is no limit."""
    seconds = timeout if isinstance(timeout, int | float) and timeout >= 0 else math.inf
    token = _limit.set((monotonic() + max(seconds, _LEAST), timeout))
    try:
        yield
    finally:
        _limit.reset(token)


def check_planning() -> None:
    """Raise where planning has taken too long; called where it may go on for more than milliseconds.

    Raises
    ------
    QueryTimeout
        Once the time is over.
    """
    end, timeout = _limit.get()
    if end < math.inf and monotonic() >= end:
        raise QueryTimeout(
            f"Planning the query took longer than its timeout of {timeout} s.",
            hint="Give a longer timeout, or split the query; pass long lists as parameters.",
            code="Timeout",
        )


def planning_deadline() -> int:
    """Return when planning must end, on the monotonic clock in nanoseconds; 0 where it may go on."""
    end, _ = _limit.get()
    return int(end * 1e9) if end < math.inf else 0
