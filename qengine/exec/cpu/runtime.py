"""What all operators and expressions of one execution share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qengine.exec.context import ExecutionContext
from qengine.exec.cpu.memory import MemoryAccount
from qengine.exec.scalar.environment import Environment

__all__ = ["Runtime"]


class Runtime:
    """One execution: the graph, its limits, and the environment of the row-wise evaluator.

    Parameters
    ----------
    store
        The ``GraphStore``.
    context
        Parameters and limits.
    search
        Runs a ``Search``, as ``cpu.search.run_search`` does; None for that.
    """

    __slots__ = ("context", "environment", "memory", "search", "store")

    def __init__(self, store: Any, context: ExecutionContext, search: Callable[..., Any] | None = None) -> None:
        self.search = search
        self.store = store
        self.context = context
        self.environment = Environment(store, context.parameters)
        self.memory = MemoryAccount(context.memory_limit)
