"""Values of the model: what is compared, calculated, stored, and how rows are ordered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from qengine.temporal import Temporal


class ModelError(Exception):
    """A statement fails; the text is the error's code."""


class Undefined(Exception):
    """The model gives a statement no meaning: it makes many rows, or matches by what fails or was deleted."""


@dataclass(frozen=True)
class NodeRef:
    """A node, by its number."""

    id: int


@dataclass(frozen=True)
class RelationshipRef:
    """A relationship, by its number."""

    id: int


@dataclass(frozen=True)
class PathRef:
    """A walk: one more node than relationships."""

    nodes: tuple[NodeRef, ...]
    relationships: tuple[RelationshipRef, ...]


@dataclass(frozen=True)
class Shown:
    """An element of a result: its number, labels or type, and properties."""

    id: int
    names: tuple[str, ...]
    properties: dict[str, Any]


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _of_one_kind(left: Any, right: Any) -> bool:
    """Tell whether two values are compared: of one type, or both numbers."""
    return type(left) is type(right) or {type(left), type(right)} == {int, float}


def calculated(op: str, left: Any, right: Any) -> Any:
    """Return ``left - right`` or ``left / right`` of integers, null where one is."""
    if left is None or right is None:
        return None
    if isinstance(left, Temporal | float) or isinstance(right, Temporal | float):
        raise Undefined  # dates, durations and floats have an arithmetic of their own
    if not (_is_number(left) and _is_number(right)):
        raise ModelError("InvalidArgumentType")
    if op == "-":
        return left - right
    if right == 0:
        raise ModelError("DivisionByZero")
    return abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)


def equal(left: Any, right: Any) -> bool | None:
    """Return ``left = right``."""
    if left is None or right is None:
        return None
    if isinstance(left, list) and isinstance(right, list):
        if len(left) != len(right):
            return False
        parts = [equal(one, other) for one, other in zip(left, right, strict=True)]
        return False if False in parts else None if None in parts else True
    return _of_one_kind(left, right) and bool(left == right)


def less(left: Any, right: Any) -> bool | None:
    """Return ``left < right``."""
    if not (_of_one_kind(left, right) and isinstance(left, int | float | str)):
        return None
    found: bool = left < right
    return found


def storable(value: Any) -> Any:
    """Return a value that a property may have; a ``ModelError`` for others."""
    if isinstance(value, NodeRef | RelationshipRef | PathRef | dict):
        raise ModelError("InvalidPropertyType")
    if isinstance(value, list) and any(each is None or isinstance(each, list) for each in value):
        raise ModelError("InvalidPropertyType")
    return [storable(each) for each in value] if isinstance(value, list) else value


def key_of(value: Any) -> Any:
    """Return what values that DISTINCT takes for the same have in common."""
    if isinstance(value, dict):
        return tuple((key, key_of(each)) for key, each in sorted(value.items()))
    if isinstance(value, float):
        raise Undefined  # it may be the same as an integer, which is shown then
    return tuple(map(key_of, value)) if isinstance(value, list) else (type(value), value)


def order_of(value: Any) -> tuple[bool, Any]:
    """Return what orders integers, with nulls behind them."""
    if value is not None and not _is_number(value):
        raise Undefined
    return value is None, 0 if value is None else value


def names_of(value: Any) -> tuple[str, ...]:
    """Return the labels or types that ``$(value)`` gives."""
    names = value if isinstance(value, list) else [value]
    for name in names:
        if not isinstance(name, str) or not name:
            raise ModelError("InvalidArgumentValue" if name == "" else "InvalidArgumentType")
    return tuple(dict.fromkeys(names))
