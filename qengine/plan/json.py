"""Plans as JSON: every node an object of its class's name and fields. Stable, and generic over the plan's classes."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from qengine.plan.logical import LogicalPlan, Operator
from qengine.plan.physical import PhysicalPlan
from qengine.types import Type

__all__ = ["to_json"]


def to_json(plan: LogicalPlan | PhysicalPlan | Operator) -> dict[str, Any]:
    """Return a plan as objects, lists, text, numbers, booleans and None, ready for ``json.dumps``.

    A node is ``{"node": class name, field: value, …}`` with the fields in the order of the class. Types are text
    (``"LIST<INTEGER>"``), enumerations their values. Places in the query's text are left out.
    """
    found = _value(plan)
    assert isinstance(found, dict)
    return found


def _value(value: Any) -> Any:
    if isinstance(value, Type):
        return str(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [_value(item) for item in value]
    if is_dataclass(value):
        content = {field.name: _value(getattr(value, field.name)) for field in fields(value) if field.name != "span"}
        return {"node": type(value).__name__, **content}
    return value
