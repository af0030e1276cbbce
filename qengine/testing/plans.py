"""What statements are planned to: operators of their lowered plans, which are checked on the way."""

from __future__ import annotations

from typing import Any, TypeVar

from qengine.errors import QengineError
from qengine.graph import Graph
from qengine.plan.physical import Eliminate, PhysicalPlan
from qengine.plan.traverse import operators
from qengine.testing.verify_physical import verify_physical

_T = TypeVar("_T")


def lowered(graph: Graph, text: str, **options: Any) -> PhysicalPlan:
    """Return the lowered plan of a statement that reads; ``options``: of ``Graph.prepare``."""
    plan = graph.prepare(text, **options)._planned.physical
    assert plan is not None, f"not lowered: {text}"
    verify_physical(plan)
    return plan


def planned(graph: Graph, text: str, *kinds: type[_T], **options: Any) -> list[_T]:
    """Return the operators of some classes in a statement's lowered plan."""
    return [each for each in operators(lowered(graph, text, **options).root) if isinstance(each, kinds)]


def kernels_of(graph: Graph, text: str, device: str) -> set[str]:
    """Return the kernels by which a device would compute the eliminations of a statement; none where it is refused."""
    try:
        schedules = [each.schedule(device) for each in planned(graph, text, Eliminate)]
    except QengineError:
        return set()
    return {call.kernel for schedule in schedules if schedule for call in schedule.every}
