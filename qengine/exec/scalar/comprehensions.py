"""Expressions that bind a variable to each item of a list: comprehension, quantifiers, reduce."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from qengine.exec.scalar.environment import Row

__all__ = ["compile_list_comprehension", "compile_quantifier", "compile_reduce"]

_Source = Callable[[Row], list[Any] | None]
_Condition = Callable[[Row], bool | None]


def compile_list_comprehension(
    variable: str, source: _Source, condition: Callable[[Row], bool] | None, result: Callable[[Row], Any] | None
) -> Callable[[Row], list[Any] | None]:
    """Return ``[variable IN source WHERE condition | result]``; null for a null source."""

    def listed(row: Row) -> list[Any] | None:
        items = source(row)
        if items is None:
            return None
        inner = dict(row)
        found = []
        for item in items:
            inner[variable] = item
            if condition is None or condition(inner):
                found.append(item if result is None else result(inner))
        return found

    return listed


def compile_quantifier(quantifier: str, variable: str, source: _Source, condition: _Condition) -> _Condition:
    """Return ``quantifier(variable IN source WHERE condition)``; null for a null source.

    A null condition counts as "perhaps": the result is null where it could be either.
    """

    def holds(row: Row) -> bool | None:
        items = source(row)
        if items is None:
            return None
        inner = dict(row)
        true = false = unknown = 0
        for item in items:
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
    accumulator: str, initial: Callable[[Row], Any], variable: str, source: _Source, step: Callable[[Row], Any]
) -> Callable[[Row], Any]:
    """Return ``reduce(accumulator = initial, variable IN source | step)``; null for a null source."""

    def reduced(row: Row) -> Any:
        items = source(row)
        if items is None:
            return None
        inner = dict(row)
        inner[accumulator] = initial(row)
        for item in items:
            inner[variable] = item
            inner[accumulator] = step(inner)
        return inner[accumulator]

    return reduced
