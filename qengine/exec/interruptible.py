"""Long work on Python values in parts, so that it can be stopped between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

CHECKED_ITEMS = 4096
"""Values that become others between two looks at the clock."""


def unchecked() -> None:
    """Stop nothing."""


def in_parts(items: Any, check: Callable[[], None], size: int = CHECKED_ITEMS) -> Iterator[Any]:
    """Yield a sequence in parts of at most ``size``; ``check``, called before each, raises to stop."""
    for begin in range(0, len(items), size):
        check()
        yield items if len(items) <= size else items[begin : begin + size]
