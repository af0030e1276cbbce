"""Values that go into users' code and come out of it, as their signatures declare them."""

from __future__ import annotations

from typing import Any

from qengine.catalog.fields import Field
from qengine.exec.scalar.values import kind_of
from qengine.types import Kind, Type


def told(field: Field) -> str:
    """Return a field's type with its article, for messages."""
    return f"{'an' if str(field.type)[0] in 'AEIOU' else 'a'} {field.type}"


def kind_told(value: Any) -> str:
    """Return what a value is, for messages."""
    return "null" if value is None else f"a value of type {kind_of(value)}"


def fitting(value: Any, field: Field) -> Any:
    """Return a value as one of a field's type; ``TypeError`` where it is none."""
    if value is None and not field.nullable:
        raise TypeError
    return _of_type(value, field.type)


def _of_type(value: Any, type: Type) -> Any:
    kind = type.kind
    if value is None or kind is Kind.ANY:
        return value
    found = kind_of(value)
    if found == "INTEGER" and kind is Kind.FLOAT:
        return float(value)
    if found == "LIST" and kind is Kind.LIST and type.item is not None:
        return [_of_type(item, type.item) for item in value]
    if found == kind.value or (kind is Kind.NUMBER and found in ("INTEGER", "FLOAT")):
        return value
    raise TypeError
