"""Caches facts about cached plans' operators on a graph, computed when they first run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from qengine._beside import Beside
from qengine.exec.view import ExecView
from qengine.plan.logical import Operator

_MOST = 256  # operators of a graph

Found = TypeVar("Found")


class PerOperatorCache(Generic[Found]):
    """What is known of operators, by graph and by the operator's identity.

    The operators are kept with it, so that no others can get their identity. Any number of threads may use it.
    """

    def __init__(self) -> None:
        self._known: Beside[tuple[Operator, Found]] = Beside()

    def get(self, store: ExecView, operator: Operator, find: Callable[[], tuple[Found, bool]]) -> Found:
        """Return what is known of an operator; else what ``find`` returns, which also says whether to keep it."""
        known = self._known.of(store)
        if (entry := known.get(id(operator))) is not None:
            return entry[1]
        found, keep = find()
        if keep:
            if len(known) >= _MOST:
                known.clear()
            known[id(operator)] = operator, found
        return found
