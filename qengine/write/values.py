"""What can be a property: booleans, numbers, strings, points, temporal values, and lists of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from qengine.errors import ExecutionError, Span
from qengine.exec.scalar.values import kind_of
from qengine.spatial import Point
from qengine.temporal import Temporal

_PLAIN = frozenset((bool, int, float, str))


def storable_value(key: str, value: Any, span: Span | None) -> Any:
    """Return a value that a property may have.

    Raises
    ------
    ExecutionError
        ``InvalidPropertyType`` for maps, nodes, relationships, paths, and lists that hold such, lists or nulls.
    """
    if type(value) in _PLAIN or isinstance(value, Temporal | Point):
        return value
    if type(value) in (list, range):
        for item in value:
            if item is None or type(item) in (list, range):
                what = "null" if item is None else "a list"
                raise ExecutionError(
                    f"The property {key} can't hold a list with {what} in it.",
                    code="InvalidPropertyType",
                    span=span,
                    hint="Leave nulls out: [x IN list WHERE x IS NOT NULL | x]." if item is None else None,
                )
        return [storable_value(key, item, span) for item in value]
    raise ExecutionError(
        f"The property {key} can't hold a value of type {kind_of(value)}.",
        code="InvalidPropertyType",
        span=span,
        hint="Properties are booleans, numbers, strings, points, temporal values, and lists of them.",
    )


def storable_properties(given: Mapping[str, Any], span: Span | None) -> dict[str, Any]:
    """Return the properties of a map that are not null.

    Raises
    ------
    ExecutionError
        As ``storable_value``; ``InvalidArgumentValue`` for one without a name.
    """
    if given.get("") is not None:
        raise ExecutionError("A property's name can't be empty.", code="InvalidArgumentValue", span=span)
    return {key: storable_value(key, value, span) for key, value in given.items() if value is not None}
