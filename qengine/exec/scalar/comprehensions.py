"""Expressions that bind a variable to each item of a list: comprehension, quantifiers, reduce."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from qengine.exec.scalar.environment import Row

__all__ = ["compile_list_comprehension", "compile_quantifier", "compile_reduce"]

_Source = Callable[[Row], list[Any] | None]
_Condition = Callable[[Row], bool | None]
_Check = Callable[[], None]

_CHECKED_ITEMS = 512  # items between two looks at the clock


def _checked(items: list[Any], check: _Check) -> Iterable[Any]:
    """Return the items; where they are many, ``check`` is called while they are gone through."""
    return items if len(items) < _CHECKED_ITEMS else _in_pieces(items, check)


def _in_pieces(items: list[Any], check: _Check) -> Iterator[Any]:
    for begin in range(0, len(items), _CHECKED_ITEMS):
        check()
        yield from items[begin : begin + _CHECKED_ITEMS]


def compile_list_comprehension(
    variable: str,
    source: _Source,
    condition: Callable[[Row], bool] | None,
    result: Callable[[Row], Any] | None,
    check: _Check,
) -> Callable[[Row], list[Any] | None]:
    """Return ``[variable IN source WHERE condition | result]``; null for a null source.

    ``check``, here and below, raises if the execution must stop.
    """

    def listed(row: Row) -> list[Any] | None:
        items = source(row)
        if items is None:
            return None
        inner = dict(row)
        found = []
        for item in _checked(items, check):
            inner[variable] = item
            if condition is None or condition(inner):
                found.append(item if result is None else result(inner))
        return found

    return listed


def compile_quantifier(
    quantifier: str, variable: str, source: _Source, condition: _Condition, check: _Check
) -> _Condition:
    """Return ``quantifier(variable IN source WHERE condition)``; null for a null source.

    A null condition counts as "perhaps": the result is null where it could be either.
    """

    def holds(row: Row) -> bool | None:
        items = source(row)
        if items is None:
            return None
        inner = dict(row)
        true = false = unknown = 0
        for item in _checked(items, check):
            inner[variable] = item
            value = condition(inner)
            if value is None:
                unknown += 1
            elif value:
                true += 1
            else:
                false += 1
        return _DECISIONS[quantifier](true, false, unknown)

    return holds


def _all(true: int, false: int, unknown: int) -> bool | None:
    return False if false else None if unknown else True


def _any(true: int, false: int, unknown: int) -> bool | None:
    return True if true else None if unknown else False


def _none(true: int, false: int, unknown: int) -> bool | None:
    return False if true else None if unknown else True


def _single(true: int, false: int, unknown: int) -> bool | None:
    return False if true > 1 else None if unknown else true == 1


_DECISIONS = {"all": _all, "any": _any, "none": _none, "single": _single}


def compile_reduce(
    accumulator: str,
    initial: Callable[[Row], Any],
    variable: str,
    source: _Source,
    step: Callable[[Row], Any],
    check: _Check,
) -> Callable[[Row], Any]:
    """Return ``reduce(accumulator = initial, variable IN source | step)``; null for a null source."""

    def reduced(row: Row) -> Any:
        items = source(row)
        if items is None:
            return None
        inner = dict(row)
        inner[accumulator] = initial(row)
        for item in _checked(items, check):
            inner[variable] = item
            inner[accumulator] = step(inner)
        return inner[accumulator]

    return reduced
