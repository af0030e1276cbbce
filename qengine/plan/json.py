"""Plans as JSON: every node an object of its class's name and fields. Stable, and generic over the plan's classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from qengine.catalog.procedures import Procedure
from qengine.catalog.user_functions import UserFunction
from qengine.plan.logical import LogicalPlan, Operator
from qengine.plan.physical import PhysicalPlan
from qengine.plan.schedule import Schedules
from qengine.types import Type


def to_json(
    plan: LogicalPlan | PhysicalPlan | Operator, note: Callable[[Operator], Mapping[str, Any]] | None = None
) -> dict[str, Any]:
    """Return a plan as objects, lists, text, numbers, booleans and None, ready for ``json.dumps``.

    A node is ``{"node": class name, field: value, …}`` with the fields in the order of the class; ``note`` gives more
    entries of an operator, which stand behind its name. Types are text (``"LIST<INTEGER>"``), enumerations their
    values, procedures and functions of users their signatures. Places in the query's text are left out.
    """

    def converted(value: Any) -> Any:
        if isinstance(value, Type):
            return str(value)
        if isinstance(value, Procedure | UserFunction):
            return str(value.signature)
        if isinstance(value, Enum):
            return value.value
        if isinstance(value, tuple | Schedules):
            return [converted(item) for item in value]
        if isinstance(value, frozenset):
            return sorted(value)
        if is_dataclass(value):
            more = note(value) if note is not None and isinstance(value, Operator) else {}
            named = [field.name for field in fields(value) if field.name != "span"]
            return {"node": type(value).__name__, **more, **{name: converted(getattr(value, name)) for name in named}}
        return value

    found = converted(plan)
    assert isinstance(found, dict)
    return found
