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

    A null condition counts as "perhaps": the result is null where it could be either. Items behind the one that
    decides aren't looked at.
    """
    deciding, most = _DECIDED_BY[quantifier]

    def holds(row: Row) -> bool | None:
        items = source(row)
        if items is None:
            return None
        inner = dict(row)
        found, unknown = 0, False
        for item in _checked(items, check):
            inner[variable] = item
            value = condition(inner)
            if value is None:
                unknown = True
            elif value is deciding:
                found += 1
                if found > most:
                    return quantifier == "any"
        return None if unknown else found == 1 if quantifier == "single" else quantifier != "any"

    return holds


# The value of the condition that decides a quantifier, and how many items may have it without deciding.
_DECIDED_BY = {"all": (False, 0), "any": (True, 0), "none": (True, 0), "single": (True, 1)}


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
