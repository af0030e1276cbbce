"""Functions of nodes, relationships, paths and maps, and those that read the query's surroundings.

Each takes the ``Environment`` first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qengine.errors import ExecutionError
from qengine.exec.scalar.environment import Environment
from qengine.exec.scalar.points import part_of
from qengine.exec.scalar.temporal.accessors import field_of
from qengine.exec.scalar.values import NodeHandle, PathHandle, RelationshipHandle, wrong_argument
from qengine.spatial import Point
from qengine.temporal import Temporal

_DIGITS = 19  # of numbers that can't be reached

_BAD_VALUE = "InvalidArgumentValue"


def property_of(env: Environment, subject: Any, key: str) -> Any:
    """Return ``subject.key``: null where absent.

    Raises
    ------
    ExecutionError
        ``InvalidArgumentType`` where ``subject`` has no properties; ``InvalidArgumentValue`` for a field that a
        temporal value or point doesn't have.
    """
    kind = type(subject)
    if kind is NodeHandle:
        return env.node_property(subject.id, key)
    if kind is RelationshipHandle:
        return env.relationship_property(subject.id, key)
    if kind is dict:
        return subject.get(key)
    if subject is None:
        return None
    if isinstance(subject, Temporal):
        return field_of(subject, key)
    if type(subject) is Point:
        return part_of(subject, key)
    raise wrong_argument(f".{key}", "a node, relationship, map, point or temporal value before it", subject)


def _item(env: Environment, subject: Any, index: Any) -> Any:
    """Return ``subject[index]``: an item of a list, counted from the end if negative, or a property."""
    if subject is None or index is None:
        return None
    if type(subject) is list:
        if type(index) is not int:
            raise wrong_argument("[]", "an integer as a list's index", index)
        return subject[index] if -len(subject) <= index < len(subject) else None
    if type(subject) in (dict, NodeHandle, RelationshipHandle):
        if type(index) is not str:
            raise wrong_argument("[]", "a string as key", index, "MapElementAccessByNonString")
        return property_of(env, subject, index)
    raise wrong_argument("[]", "a list, map, node or relationship before it", subject)


def _labels(env: Environment, node: Any) -> list[str] | None:
    if node is None:
        return None
    if type(node) is NodeHandle:
        return list(env.store.labels_of(node.id))
    raise wrong_argument("labels()", "a node", node, _BAD_VALUE)


def label_names(value: Any) -> list[str]:
    """Return the names that ``$(value)`` gives where labels or a type stand.

    Raises
    ------
    ExecutionError
        ``InvalidArgumentType`` for what is neither a string nor a list of strings; for an empty one.
    """
    names = value if type(value) is list else [value]
    for name in names:
        if type(name) is not str:
            raise wrong_argument("$(…) as a label or type", "a string or a list of strings", name)
        if not name:
            raise ExecutionError("A label or type can't be empty.", code=_BAD_VALUE)
    return names


def _has_all(env: Environment, entity: Any, names: Any) -> bool | None:
    return None if entity is None or names is None else _own(env, entity).issuperset(label_names(names))


def _has_any(env: Environment, entity: Any, names: Any) -> bool | None:
    return None if entity is None or names is None else not _own(env, entity).isdisjoint(label_names(names))


def _own(env: Environment, entity: Any) -> set[str]:
    """Return the labels of a node, or the type of a relationship."""
    if type(entity) is NodeHandle:
        return set(_labels(env, entity) or ())
    if type(entity) is RelationshipHandle:
        return {_type(env, entity) or ""}
    raise wrong_argument(":$(…)", "a node or relationship before it", entity)


def _type(env: Environment, relationship: Any) -> str | None:
    if relationship is None:
        return None
    return env.type_name(_relationship("type", relationship))


def _start_node(env: Environment, relationship: Any) -> NodeHandle | None:
    if relationship is None:
        return None
    return NodeHandle(env.relationship(_relationship("startNode", relationship))[1])


def _end_node(env: Environment, relationship: Any) -> NodeHandle | None:
    if relationship is None:
        return None
    return NodeHandle(env.relationship(_relationship("endNode", relationship))[2])


def _relationship(name: str, value: Any) -> int:
    if type(value) is RelationshipHandle:
        return value.id
    raise wrong_argument(f"{name}()", "a relationship", value, _BAD_VALUE)


def _id(env: Environment, entity: Any, name: str = "id") -> int | None:
    if entity is None:
        return None
    if type(entity) is NodeHandle:
        return env.store.node_numbers.number(int(entity.id))
    if type(entity) is RelationshipHandle:
        return env.store.relationship_numbers.number(int(entity.id))
    raise wrong_argument(f"{name}()", "a node or relationship", entity, _BAD_VALUE)


def _element_id(env: Environment, entity: Any) -> str | None:
    number = _id(env, entity, "elementId")
    return None if number is None else str(number)


def number_of(name: str, value: Any) -> int | None:
    """Return the number of the node whose ``id`` or ``elementId`` equals a value, None where none can."""
    if name == "elementid":
        is_number = type(value) is str and len(value) < _DIGITS and value.isascii() and value.isdecimal()
        return int(value) if is_number and str(int(value)) == value else None
    if type(value) is float and value.is_integer():
        value = int(value)
    return value if type(value) is int and 0 <= value < 1 << 63 else None


def _properties(env: Environment, value: Any) -> dict[str, Any] | None:
    if value is None or type(value) is dict:
        return value
    if type(value) in (NodeHandle, RelationshipHandle):
        return env.properties(value)
    raise wrong_argument("properties()", "a node, relationship or map", value)


def _keys(env: Environment, value: Any) -> list[str] | None:
    if value is None:
        return None
    if type(value) is dict:
        return list(value)
    if type(value) in (NodeHandle, RelationshipHandle):
        return list(env.properties(value))
    raise wrong_argument("keys()", "a node, relationship or map", value)


def _nodes(env: Environment, path: Any) -> list[Any] | None:
    return None if path is None else list(_path("nodes", path).nodes)


def _relationships(env: Environment, path: Any) -> list[Any] | None:
    return None if path is None else list(_path("relationships", path).relationships)


def _length(env: Environment, value: Any) -> int | None:
    if type(value) is list or type(value) is str:
        return len(value)
    return None if value is None else len(_path("length", value).relationships)


def _path(name: str, value: Any) -> PathHandle:
    if type(value) is PathHandle:
        return value
    raise wrong_argument(f"{name}()", "a path", value)


def _rand(env: Environment) -> float:
    return env.random()


def _random_uuid(env: Environment) -> str:
    from uuid import UUID

    digits = int(env.random() * 2**53) << 75 ^ int(env.random() * 2**53) << 37 ^ int(env.random() * 2**53)
    return str(UUID(int=digits & (1 << 128) - 1, version=4))


def _timestamp(env: Environment) -> int:
    """Return the milliseconds since 1970 at which the query began."""
    return env.now // 1_000_000


ENTITIES: dict[str, Callable[..., Any]] = {
    "[]": _item,
    "$all": _has_all,
    "$any": _has_any,
    "labels": _labels,
    "type": _type,
    "startnode": _start_node,
    "endnode": _end_node,
    "id": _id,
    "elementid": _element_id,
    "properties": _properties,
    "keys": _keys,
    "nodes": _nodes,
    "relationships": _relationships,
    "length": _length,
    "rand": _rand,
    "randomuuid": _random_uuid,
    "timestamp": _timestamp,
}
