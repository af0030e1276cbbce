"""A bounded cache that evicts what was used least recently: plans by their texts, a graph's arrays by their keys."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

Made = TypeVar("Made")


class LruCache(Generic[Made]):
    """A cache with least-recently-used eviction; any number of threads may use it.

    Parameters
    ----------
    most
        How much is kept.
    size
        How much of it one thing is: 1 each where it isn't given.
    """

    def __init__(self, most: int, size: Callable[[Made], int] = lambda _: 1) -> None:
        self.most = most
        self._size = size
        self._made: OrderedDict[Hashable, Made] = OrderedDict()
        self._lock = threading.Lock()
        self.held = 0

    def find(self, key: Hashable) -> Made | None:
        """Return what a key stands for, None where it isn't kept."""
        with self._lock:
            if (made := self._made.get(key)) is not None:
                self._made.move_to_end(key)
            return made

    def get(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """Return what a key stands for; ``make`` makes it if it isn't kept. What ``make`` raises is not kept."""
        if (made := self.find(key)) is not None:
            return made
        made = make()
        size = self._size(made)
        if size > self.most:
            return made
        with self._lock:
            if key in self._made:  # another thread was quicker
                return self._made[key]
            self._made[key] = made
            self.held += size
            while self.held > self.most:
                self.held -= self._size(self._made.popitem(last=False)[1])
        return made

    def clear(self) -> None:
        """Keep nothing of what was made."""
        with self._lock:
            self._made.clear()
            self.held = 0

    def items(self) -> list[tuple[Hashable, Made]]:
        """Return what is kept, by key, what was asked for last at the end."""
        with self._lock:
            return list(self._made.items())
