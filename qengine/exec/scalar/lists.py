"""Functions of lists, some of which take strings or maps too, and those that choose between values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qengine._limits import stop_if_due
from qengine.errors import ExecutionError
from qengine.exec.interruptible import in_parts
from qengine.exec.scalar.compare import equals
from qengine.exec.scalar.strict import strict
from qengine.exec.scalar.values import wrong_argument

_LONG = 1 << 20  # numbers that are made between two looks at the clock


@strict
def _size(value: Any) -> int:
    if type(value) is list or type(value) is str:
        return len(value)
    raise wrong_argument("size()", "a list or string", value)


@strict
def _is_empty(value: Any) -> bool:
    if type(value) in (list, str, dict):
        return not value
    raise wrong_argument("isEmpty()", "a list, map or string", value)


@strict
def _head(items: Any) -> Any:
    if type(items) is not list:
        raise wrong_argument("head()", "a list", items)
    return items[0] if items else None


@strict
def _last(items: Any) -> Any:
    if type(items) is not list:
        raise wrong_argument("last()", "a list", items)
    return items[-1] if items else None


@strict
def _tail(items: Any) -> list[Any]:
    if type(items) is not list:
        raise wrong_argument("tail()", "a list", items)
    return list(items[1:])


@strict
def _reverse(value: Any) -> Any:
    if type(value) is list or type(value) is str:
        return value[::-1]
    raise wrong_argument("reverse()", "a list or string", value)


def range_of(start: Any, end: Any, step: Any = 1) -> range:
    """Return the numbers ``start``, ``start + step``, … as far as ``end``, which is included.

    Raises
    ------
    ExecutionError
        For what is no integer, and for the step 0.
    """
    for value in (start, end, step):
        if type(value) is not int:
            raise wrong_argument("range()", "integers", value)
    if step == 0:
        raise ExecutionError("range() got the step 0.", code="NumberOutOfRange", hint="Leave it out, or count by 1.")
    return range(start, end + (1 if step > 0 else -1), step)


def count_of(numbers: range) -> int:
    """Return how many numbers a range has; ``len`` knows no more than 2⁶³ - 1."""
    return max(0, -((numbers.start - numbers.stop) // numbers.step))


@strict
def _range(start: Any, end: Any, step: Any = 1) -> list[int]:
    numbers = range_of(start, end, step)
    items: list[int] = []
    for part in in_parts(numbers, stop_if_due, _LONG):
        items += part
    return items


def _null_if(value: Any, other: Any) -> Any:
    return None if equals(value, other) else value


LISTS: dict[str, Callable[..., Any]] = {
    "size": _size,
    "isempty": _is_empty,
    "head": _head,
    "last": _last,
    "tail": _tail,
    "reverse": _reverse,
    "range": _range,
    "nullif": _null_if,
}
