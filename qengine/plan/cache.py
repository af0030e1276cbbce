"""What was planned lately, by its text."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

__all__ = ["PlanCache"]

_MOST = 256

Planned = TypeVar("Planned")


class PlanCache(Generic[Planned]):
    """Keeps the plans that were asked for last; any number of threads may use it."""

    def __init__(self) -> None:
        self._plans: OrderedDict[Hashable, Planned] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Planned]) -> Planned:
        """Return the plan of a key; ``make`` plans it if it isn't kept. What ``make`` raises is not kept."""
        with self._lock:
            if key in self._plans:
                self._plans.move_to_end(key)
                return self._plans[key]
        planned = make()
        with self._lock:
            self._plans[key] = planned
            while len(self._plans) > _MOST:
                self._plans.popitem(last=False)
        return planned
