"""The deadline of planning: every long loop, from reading the text to choosing orders, checks it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


def _nothing() -> None:
    """Stop nothing: what is planned outside of a statement has no limit."""


_check: ContextVar[Callable[[], None]] = ContextVar("check", default=_nothing)


@contextmanager
def planning_deadline(check: Callable[[], None]) -> Iterator[None]:
    """Let ``check_planning`` call ``check`` in this block; it raises once the statement must stop."""
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


def check_planning() -> None:
    """Raise if the statement that is planned must stop; called where planning may go on for more than milliseconds.

    Raises
    ------
    QueryTimeout, QueryInterrupted
        By the limits of the statement.
    """
    _check.get()()
