"""The functions ``coll.…`` of lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qengine.errors import ExecutionError
from qengine.exec.scalar.compare import equals, group_key, order_key
from qengine.exec.scalar.strict import strict
from qengine.exec.scalar.values import no_longer, wrong_argument


def _items(name: str, items: Any) -> list[Any]:
    if type(items) is not list:
        raise wrong_argument(f"{name}()", "a list", items)
    return items


def _place(name: str, index: Any, most: int) -> int:
    """Return an index that is at least 0, and at most ``most``."""
    if type(index) is not int:
        raise wrong_argument(f"{name}()", "an integer as index", index)
    if not 0 <= index <= most:
        message = f"{name}() got the index {index}, and the list's go from 0 to {most}."
        raise ExecutionError(message, code="InvalidArgumentValue")
    return index


@strict
def _distinct(items: Any) -> list[Any]:
    first: dict[Any, Any] = {}
    for item in _items("coll.distinct", items):
        first.setdefault(group_key(item), item)
    return list(first.values())


@strict
def _flatten(items: Any, depth: Any = 1) -> list[Any]:
    if type(depth) is not int or depth < 0:
        raise ExecutionError("coll.flatten() needs a depth of 0 or more.", code="InvalidArgumentValue")
    found = _items("coll.flatten", items)
    while depth and any(type(item) is list for item in found):
        no_longer(list, sum(len(item) if type(item) is list else 1 for item in found))
        found = [inner for item in found for inner in (item if type(item) is list else (item,))]
        depth -= 1
    return found


@strict
def _index_of(items: Any, value: Any) -> int:
    found = _items("coll.indexOf", items)
    return next((place for place, item in enumerate(found) if equals(item, value) is True), -1)


def _insert(items: Any, index: Any, value: Any) -> list[Any] | None:
    if items is None or index is None:
        return None
    place = _place("coll.insert", index, len(_items("coll.insert", items)))
    return [*items[:place], value, *items[place:]]


@strict
def _remove(items: Any, index: Any) -> list[Any]:
    place = _place("coll.remove", index, len(_items("coll.remove", items)) - 1)
    return [*items[:place], *items[place + 1 :]]


@strict
def _max(items: Any) -> Any:
    found = [item for item in _items("coll.max", items) if item is not None]
    return max(found, key=order_key) if found else None


@strict
def _min(items: Any) -> Any:
    found = [item for item in _items("coll.min", items) if item is not None]
    return min(found, key=order_key) if found else None


@strict
def _sort(items: Any) -> list[Any]:
    return sorted(_items("coll.sort", items), key=order_key)


def _only(items: Any) -> Any:
    """Return the only item of a list, as of the rows of ``VALUE { … }``; null of none."""
    if items is None:
        return None
    if len(_items("VALUE", items)) > 1:
        message = f"VALUE {{ … }} found {len(items):,} rows."
        raise ExecutionError(message, code="InvalidArgumentValue", hint="Aggregate, or LIMIT 1.")
    return items[0] if items else None


COLLECTIONS: dict[str, Callable[..., Any]] = {
    "coll.distinct": _distinct,
    "coll.flatten": _flatten,
    "coll.indexof": _index_of,
    "coll.insert": _insert,
    "coll.max": _max,
    "coll.min": _min,
    "coll.remove": _remove,
    "coll.sort": _sort,
    "VALUE": _only,
}
