"""What is worked out once while one statement is planned: several ways to do the same ask for it again.

What a memory has is found by the identity of parts of the plan, which it keeps alive with what was found.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_MEMORY: ContextVar[dict[str, dict[Any, Any]] | None] = ContextVar("what planning remembers", default=None)


@contextmanager
def remembering() -> Iterator[None]:
    """Remember meanwhile what is worked out; nothing of it outlives the statement."""
    token = _MEMORY.set({})
    try:
        yield
    finally:
        _MEMORY.reset(token)


def memory(of: str) -> dict[Any, Any]:
    """Return what is remembered of a kind; outside of planning a new dictionary, which nobody keeps."""
    known = _MEMORY.get()
    if known is None:
        return {}
    found = known.get(of)
    if found is None:
        found = known[of] = {}
    return found
