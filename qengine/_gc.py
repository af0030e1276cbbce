"""Pauses the cyclic garbage collector while many acyclic objects are built."""

from __future__ import annotations

import gc


class gc_paused:  # noqa: N801 - it is called like a function
    """Look for no reference cycles in a ``with`` block: all that is made there would be looked at again and again."""

    __slots__ = ("_was_enabled",)

    def __enter__(self) -> None:
        self._was_enabled = gc.isenabled()
        if self._was_enabled:
            gc.disable()

    def __exit__(self, *error: object) -> None:
        if self._was_enabled:
            gc.enable()
