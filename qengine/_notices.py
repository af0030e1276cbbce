"""Warnings about statements: as a line, and to the logger ``qengine`` when a statement is planned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from qengine._printable import printable_line
from qengine.errors import Notice


def line(notice: Notice) -> str:
    """Return a warning and what to do about it as one line that is safe to show."""
    return printable_line(f"{notice.message} {notice.hint}" if notice.hint else notice.message)


def log(notices: Iterable[Notice]) -> None:
    """Log warnings. Python shows them on standard error as long as the program hasn't set its logging up otherwise."""
    for notice in notices:
        from logging import getLogger

        getLogger("qengine").warning("%s", line(notice))


@contextmanager
def shown_otherwise() -> Iterator[None]:
    """Keep standard error free of warnings that are shown with their result; handlers of the program get them still."""
    from logging import NullHandler, getLogger

    logger, handler = getLogger("qengine"), NullHandler()
    logger.addHandler(handler)  # without any, Python writes to standard error
    try:
        yield
    finally:
        logger.removeHandler(handler)
