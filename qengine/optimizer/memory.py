"""What is worked out once while one statement is planned, or once for a graph: several ways to do the same ask again.

What a statement's memory has is found by the identity of parts of the plan, which it keeps alive with what was found.
What lasts for a version of a graph is found by content: other statements ask for it with patterns of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from qengine._beside import Beside
from qengine._lru import LruCache
from qengine.catalog.view import CatalogView

_LASTING = 8192
"""Vertices, relationships and steps of what is kept of a kind: of some thousand patterns."""

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


class Lasting:
    """What is remembered of a kind for each version of a graph: each thing with the size of what it is of.

    A key tells all that what is found depends on.
    """

    def __init__(self) -> None:
        self._kept: Beside[LruCache[tuple[Any, int]]] = Beside()

    def of(self, catalog: CatalogView) -> LruCache[tuple[Any, int]]:
        """Return what is remembered of a version."""
        every = self._kept.of(catalog)
        found = every.get(0)
        return every.setdefault(0, LruCache(_LASTING, size=_size)) if found is None else found


def _size(kept: tuple[Any, int]) -> int:
    return kept[1]
