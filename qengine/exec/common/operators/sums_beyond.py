"""Sums of what hangs at an end of a relationship's entries, found by the end first: a part of ``AggregateEntries``.

An entry adds the sum of its end as often as what hangs at its other end says. Where the entry itself is among what was
summed, its own value is summed apart, and taken off.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from qengine._frozen import replace
from qengine.exec.common.aggregates import State, weights_of
from qengine.exec.common.batch import Batch
from qengine.exec.common.columns import (
    ArrowColumn,
    Column,
    IntArray,
    ObjectColumn,
    concatenate,
    from_values,
    integer_column,
    null_column,
)
from qengine.exec.common.operators.folded import Folded, FoldedGroups
from qengine.exec.memory import Holding
from qengine.plan.expr import AggregateCall, Expr, Variable
from qengine.plan.folding import COUNTED, LEAST, SUMMED, beyond, column_beyond
from qengine.plan.logical import Aggregate
from qengine.plan.physical import Another
from qengine.types import INTEGER

_MOST_TAKEN = 2.0**10
"""How many times what is left of floats they may be before their own are taken off: 2**-53 of it is lost at most."""

Add = Callable[[Folded, str, bool], None]
"""Gives entries to a fold, as often as an end doesn't say; with True those alone that were summed there, too."""


class SumsBeyond:
    """The sums of an aggregate over entries that are of what hangs at their ends.

    Parameters
    ----------
    folded
        The aggregate over what is read; ``alone`` is that without such sums.
    others
        What is to be taken off.
    """

    def __init__(self, folded: Aggregate, others: Sequence[Another]) -> None:
        self._others = {each.end: dict(each.taken) for each in others}
        self._places: dict[str, list[int]] = {}
        calls = [call for _, call in folded.aggregates]
        for place, call in enumerate(calls):
            if call.name in SUMMED and not call.distinct and call.args and column_beyond(call.args[0]):
                self._places.setdefault(_end(call), []).append(place)
        self._calls = calls
        apart = set(chain.from_iterable(self._places.values()))
        left = (each for place, each in enumerate(folded.aggregates) if place not in apart)
        self.alone = replace(folded, aggregates=tuple(left))

    def groups(
        self, folded: Folded, given: Mapping[Expr, Column | None], add: Add, holding: Holding
    ) -> FoldedGroups | None:
        """Return the groups of ``alone`` that were folded, with the sums; None where values can't be folded.

        ``given``: what the aggregates by the ends have, by the expressions that read it.
        """
        groups = folded.groups()
        if not self._places or not groups.length:
            return groups
        codes = folded.codes
        states = dict[int, State]()
        for end, places in self._places.items():
            found = self._of_end(end, places, folded, codes, given, add, holding)
            if found is None:
                return None
            states.update(zip(places, found, strict=True))
        rest = iter(groups.states)
        every = [states[place] if place in states else next(rest) for place in range(len(self._calls))]
        return FoldedGroups(groups.length, groups.keys, every)

    def _of_end(
        self,
        end: str,
        places: Sequence[int],
        folded: Folded,
        codes: IntArray,
        given: Mapping[Expr, Column | None],
        add: Add,
        holding: Holding,
    ) -> list[State] | None:
        """Return the states of the sums at an end, for groups of some codes."""
        calls = [self._calls[place] for place in places]
        columns = [column_beyond(call.args[0]) for call in calls]
        asked = list(chain.from_iterable(map(_asked, calls, columns)))
        found = _states(folded.beside(asked), codes, lambda each: add(each, end, False), holding)
        if found is None:
            return None
        sums = iter(found)
        states = [[next(sums)[0]] if call.name == "count" else [*next(sums)[:2], next(sums)[0]] for call in calls]
        if end not in self._others:
            return states
        own = [replace(call, args=(self._others[end][name],)) for call, name in zip(calls, columns, strict=True)]
        taken = _states(folded.beside(own), codes, lambda each: add(each, end, True), holding)
        if taken is None:
            return None
        left: list[State] = []
        for state, less, name in zip(states, taken, columns, strict=True):
            least = given.get(beyond(end, name + LEAST, INTEGER))
            if (rest := _left(state, less, least)) is None:
                return None
            left.append(rest)
        return left


def columns_at(rows: Batch, names: Sequence[str], places: IntArray) -> dict[str, Column]:
    """Return columns of an aggregate by an end at places of its rows, as many as there are for null.

    Sums of nothing are null, so that those of floats are floats.
    """
    found = {}
    for name in names:
        column = rows.columns[name]
        if (counts := rows.columns.get(name + COUNTED)) is not None:
            some = np.where(weights_of(counts) != 0, np.arange(rows.length), rows.length)
            column = concatenate([column, null_column(1)]).take(some)
            column = from_values(column.objects) if isinstance(column, ObjectColumn) else column
        found[name] = concatenate([column, null_column(1)]).take(places)
    return found


def _end(call: AggregateCall) -> str:
    (node, _) = call.args[0].args  # type: ignore[attr-defined]
    assert isinstance(node, Variable)
    return node.name


def _asked(call: AggregateCall, column: str) -> list[AggregateCall]:
    """Return what is added up of an end's columns: the sums where these are wanted, and of how many values they are."""
    names = [column + COUNTED] if call.name == "count" else [column, column + COUNTED]
    return [AggregateCall("sum", (beyond(_end(call), name, INTEGER),), type=call.type) for name in names]


def _states(folded: Folded, codes: IntArray, add: Callable[[Folded], None], holding: Holding) -> list[State] | None:
    """Return the states of what is folded for groups of some codes, 0 where there is none of them."""
    try:
        if not folded.open(holding):
            return None
        add(folded)
        groups = folded.groups()
        found = folded.codes
    finally:
        folded.close()
    places = np.searchsorted(found, codes)
    inside = places < len(found)
    inside[inside] = found[places[inside]] == codes[inside]
    places = np.where(inside, places, len(found))
    zero, no_float = integer_column(np.zeros(1, np.int64)), ArrowColumn(pa.nulls(1, pa.float64()))
    return [
        [concatenate([column, no_float if at == 1 else zero]).take(places) for at, column in enumerate(state)]
        for state in groups.states
    ]


def _left(state: State, less: State, least: Column | None) -> State | None:
    """Return sums less others of the same values; None where floats would lose too much."""
    if len(state) == 1:
        return [_difference(state[0], less[0])]
    integers, floats, counts = state
    left = _difference(counts, less[2])
    if floats.is_null().all() and less[1].is_null().all():
        return [_difference(integers, less[0]), floats, left]
    if np.any(weights_of(integers)) or np.any(weights_of(less[0])) or not _are_positive(least):
        return None
    whole, taken = (np.nan_to_num(each.array.to_numpy(zero_copy_only=False)) for each in (floats, less[1]))  # type: ignore[attr-defined]
    rest, none = whole - taken, weights_of(left) == 0
    if np.any(~none & (whole > _MOST_TAKEN * rest)):
        return None
    return [integers, ArrowColumn(pa.array(rest, pa.float64(), mask=none)), left]


def _are_positive(least: Column | None) -> bool:
    """Tell whether no value is below 0, given the least by each end."""
    if not isinstance(least, ArrowColumn) or not pa.types.is_float64(least.type):
        return False
    lowest = pc.min(least.array).as_py()
    return lowest is None or lowest >= 0


def _difference(one: Column, other: Column) -> Column:
    numbers: tuple[Any, Any] = weights_of(one), weights_of(other)
    if any(each.dtype == object for each in numbers):
        return ObjectColumn((numbers[0].astype(object) - numbers[1].astype(object)).tolist())
    return integer_column(numbers[0] - numbers[1])
