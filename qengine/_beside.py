"""What is known of a graph, kept by the graph itself: so it may refer to the graph, and goes with it.

A dictionary with graphs as weak keys would keep a graph for ever that one of its values refers to, as plans do.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

_NAME = "_beside"

Kept = TypeVar("Kept")


class Beside(Generic[Kept]):
    """A dictionary for each graph, which ends with the graph or with this, whichever is first. Threads may share it."""

    def of(self, graph: Any) -> dict[Hashable, Kept]:
        """Return a graph's dictionary, by content or by the ``id`` of what is kept alive in it."""
        every = vars(graph).get(_NAME)
        if every is None:
            every = vars(graph).setdefault(_NAME, WeakKeyDictionary())
        found: dict[Hashable, Kept] | None = every.get(self)
        return every.setdefault(self, {}) if found is None else found
