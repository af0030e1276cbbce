"""Expressions that bind a variable to each item of a list: comprehension, quantifiers, reduce."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from qengine._frozen import frozen
from qengine.exec.memory import ListBytes, MemoryAccount
from qengine.exec.scalar.environment import Row
from qengine.exec.sizes import ITEM, size_of

_Source = Callable[[Row], list[Any] | None]
_Condition = Callable[[Row], bool | None]

_TURNS = 512  # items between two looks at the clock


def _turns(items: list[Any], memory: MemoryAccount, size: int = 0) -> Iterable[Any]:
    """Return the items; while they are gone through the clock is looked at, and ``size`` bytes charged for each."""
    if len(items) <= _TURNS:
        memory.steps(len(items))
        memory.charge(size * len(items))
        return items
    return _in_pieces(items, memory, size)


def _in_pieces(items: list[Any], memory: MemoryAccount, size: int) -> Iterator[Any]:
    for begin in range(0, len(items), _TURNS):
        memory.steps(_TURNS)
        memory.charge(size * _TURNS)
        yield from items[begin : begin + _TURNS]


def compile_list_comprehension(
    variable: str,
    source: _Source,
    condition: Callable[[Row], bool] | None,
    result: Callable[[Row], Any] | None,
    memory: MemoryAccount,
    charges: bool,
) -> Callable[[Row], list[Any] | None]:
    """Return ``[variable IN source WHERE condition | result]``; null for a null source.

    ``memory``, here and below: where values are charged; raises if the execution must stop. ``charges``: whether a turn
    charges values.
    """

    def listed(row: Row) -> list[Any] | None:
        items = source(row)
        if items is None:
            return None
        inner = dict(row)
        found: list[Any] = []
        if not charges:
            for item in _turns(items, memory, ITEM):
                inner[variable] = item
                if condition is None or condition(inner):
                    found.append(item if result is None else result(inner))
            return found
        loop = memory.loop(ListBytes(found))
        try:
            for item in _turns(items, memory, ITEM):
                inner[variable] = item
                if condition is None or condition(inner):
                    found.append(item if result is None else result(inner))
                loop.begun = memory.charged
        finally:
            memory.close(loop)
        return found

    return listed


def compile_quantifier(
    quantifier: str, variable: str, source: _Source, condition: _Condition, memory: MemoryAccount
) -> _Condition:
    """Return ``quantifier(variable IN source WHERE condition)``; null for a null source.

    A null condition counts as "perhaps": the result is null where it could be either. Items behind the one that
    decides aren't looked at.
    """
    deciding, most = _DECIDED_BY[quantifier]

    def holds(row: Row) -> bool | None:
        mark = memory.charged
        items = source(row)
        if items is None:
            return None
        inner = dict(row)
        found, unknown = 0, False
        turn = memory.charged
        for item in _turns(items, memory):
            inner[variable] = item
            value = condition(inner)
            memory.charged = turn
            if value is None:
                unknown = True
            elif value is deciding:
                found += 1
                if found > most:
                    memory.charged = mark
                    return quantifier == "any"
        memory.charged = mark
        return None if unknown else found == 1 if quantifier == "single" else quantifier != "any"

    return holds


# The value of the condition that decides a quantifier, and how many items may have it without deciding.
_DECIDED_BY = {"all": (False, 0), "any": (True, 0), "none": (True, 0), "single": (True, 1)}


@frozen
class Steps:
    """What ``allReduce`` does for each item: its names, and how their values and the condition's are computed."""

    accumulator: str
    initial: Callable[[Row], Any]
    variable: str
    step: Callable[[Row], Any]
    condition: _Condition


def compile_all_reduce(steps: Steps, source: _Source, memory: MemoryAccount) -> _Condition:
    """Return ``allReduce(accumulator = initial, variable IN source | step, condition)``; null for a null source.

    The first step behind which the condition is false is the last one.
    """

    def holds(row: Row) -> bool | None:
        mark = memory.charged
        items = source(row)
        if items is None:
            return None
        inner = dict(row)
        inner[steps.accumulator] = steps.initial(row)
        unknown = False
        for item in _turns(items, memory):
            inner[steps.variable] = item
            inner[steps.accumulator] = steps.step(inner)
            value = steps.condition(inner)
            memory.charged = mark
            if value is False:
                return False
            unknown = unknown or value is None
        memory.charged = mark
        return None if unknown else True

    return holds


def compile_reduce(
    accumulator: str,
    initial: Callable[[Row], Any],
    variable: str,
    source: _Source,
    step: Callable[[Row], Any],
    memory: MemoryAccount,
) -> Callable[[Row], Any]:
    """Return ``reduce(accumulator = initial, variable IN source | step)``; null for a null source."""

    def reduced(row: Row) -> Any:
        mark = memory.charged
        items = source(row)
        if items is None:
            return None
        inner = dict(row)
        loop = memory.loop(lambda: size_of(inner.get(accumulator)))
        try:
            inner[accumulator] = initial(row)
            loop.begun = memory.charged
            for item in _turns(items, memory):
                inner[variable] = item
                inner[accumulator] = step(inner)
                loop.begun = memory.charged
        finally:
            memory.close(loop)
        result = inner[accumulator]
        memory.settle(mark, result)
        return result

    def unlimited(row: Row) -> Any:
        items = source(row)
        if items is None:
            return None
        inner = dict(row)
        inner[accumulator] = initial(row)
        for item in _turns(items, memory):
            inner[variable] = item
            inner[accumulator] = step(inner)
        return inner[accumulator]

    return unlimited if memory.limit is None else reduced
