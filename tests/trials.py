"""Searches begin on the caller's thread, and go on by others where that takes long: tests say where."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager

from qengine import _native

_NANOSECONDS, ENDLESS = 1_000_000, (1 << 63) - 1


@contextmanager
def trial(nanoseconds: int = _NANOSECONDS, work: int = ENDLESS) -> Iterator[None]:
    """Let searches begin so.

    Parameters
    ----------
    nanoseconds
        How long they may take on the caller's thread; 0: they aren't begun there.
    work
        After how many ids that are read they go on by other threads, unless they are breadth first.
    """
    try:
        _set(nanoseconds, work)
        yield
    finally:
        _set(_NANOSECONDS, ENDLESS)


def _set(nanoseconds: int, work: int) -> None:
    _native.load().qe_search_trial(ctypes.c_int64(nanoseconds), ctypes.c_int64(work))
