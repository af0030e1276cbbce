"""What one execution of a statement that changes a graph brings along; what is compiled of the statement stays."""

from __future__ import annotations

from collections.abc import Callable

from qengine._frozen import frozen
from qengine.exec.context import ExecutionContext
from qengine.plan.physical import PhysicalPlan
from qengine.storage.store import GraphStore


@frozen
class Execution:
    """One execution.

    ``commit``: ends a transaction in the middle, for ``IN TRANSACTIONS``; None where the statement is part of a larger
    one. ``sealed``: returns the overlay's present state as a version, for procedures and for what is planned; it may
    take long where much was touched. ``shown``: of a statement that is profiled, the plans by which parts were read, by
    ``id`` of the part; then the engine reads all that it can. Else None.
    """

    context: ExecutionContext
    commit: Callable[[], None] | None
    sealed: Callable[[], GraphStore]
    shown: dict[int, PhysicalPlan] | None = None
