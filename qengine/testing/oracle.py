"""The truth about a query on a small graph, as the reference executor finds it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from qengine.binder import bind
from qengine.builtin_procedures import EVERYWHERE
from qengine.exec import reference
from qengine.exec.context import ExecutionContext
from qengine.plan.logical import LogicalPlan
from qengine.storage import GraphStore
from qengine.syntax import parse


class TooExpensive(Exception):
    """The query would take the reference executor too long."""


class _Steps(ExecutionContext):
    """Counts the steps of an execution, so that it ends after as many on every machine."""

    def __init__(self, parameters: Mapping[str, Any], most: int) -> None:
        super().__init__(parameters)
        self._left = most

    def check(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise TooExpensive


def true_rows(
    store: GraphStore, text: str, parameters: Mapping[str, Any] | None = None, *, steps: int = 50_000
) -> list[tuple[Any, ...]]:
    """Return all rows of one statement.

    Raises
    ------
    TooExpensive
        After so many ``steps`` (partial embeddings and rows), the same on every machine.
    QengineError
        As the query's execution does.
    """
    (statement,) = parse(text)
    plan = bind(statement, text, store, parameters or {}, procedures=EVERYWHERE).plan
    return rows_of(plan, store, parameters, steps=steps)


def rows_of(
    plan: LogicalPlan, store: GraphStore, parameters: Mapping[str, Any] | None = None, *, steps: int = 50_000
) -> list[tuple[Any, ...]]:
    """Return all rows of a bound statement; errors as ``true_rows``."""
    return list(reference.run(plan, store, _Steps(parameters or {}, steps)))
