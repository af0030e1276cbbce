"""Aggregates over groups of rows, in three steps: ``partial`` of each batch, ``merge`` of partials, ``final``.

The state of an aggregate is one or more columns with a row for each group, so partials are merged by
grouping them like rows. Numbers are added by NumPy where the sum provably fits, else exactly in Python.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from qengine.exec.common.batch_parts import working_bytes
from qengine.exec.common.columns import (
    ArrowColumn,
    BoolArray,
    Column,
    ConstantColumn,
    IntArray,
    ListColumn,
    ObjectColumn,
    concatenate,
    from_values,
    integer_column,
    null_column,
)
from qengine.exec.common.expressions.growth import object_bytes
from qengine.exec.common.expressions.operand import operand
from qengine.exec.common.grouping import Groups, by_code, group_rows
from qengine.exec.common.number_column import NumberColumn
from qengine.exec.common.ordering import ranks
from qengine.exec.common.weighed_values import of_weighed_values
from qengine.exec.context import ExecutionContext
from qengine.exec.scalar.aggregates import accumulator, mean, plus, summed
from qengine.plan.expr import AggregateCall
from qengine.temporal import Duration

_SAFE = 2.0**62
_SORTED = 160  # bytes of a value among those that are sorted: the key of its order, and its places

State = list[Column]


class Aggregator(ABC):
    """One aggregate call. ``groups`` says which row belongs to which group.

    Attributes
    ----------
    arguments
        How many it has.
    of_fixed_size
        Whether a group's state is as large however many rows it has.
    """

    arguments = 1
    of_fixed_size = True

    def empty(self, count: int) -> State:
        """Return the states of groups without rows."""
        groups = Groups(np.zeros(0, dtype=np.int64), np.arange(count, dtype=np.int64))
        return self.partial(groups, [null_column(0) for _ in range(self.arguments)], None)

    @abstractmethod
    def partial(self, groups: Groups, args: list[Column], weights: IntArray | None) -> State:
        """Return the state after the rows with these arguments, one row a group."""

    @abstractmethod
    def merge(self, groups: Groups, state: State) -> State:
        """Return the states of the same group joined into one."""

    def final_bytes(self, state: State) -> int:
        """Return what ``final`` takes for a while."""
        return 0

    @abstractmethod
    def final(self, state: State) -> Column:
        """Return the aggregate's value for each group.

        Raises
        ------
        ExecutionError
            Where the values make it fail.
        """


def aggregator(call: AggregateCall, context: ExecutionContext) -> Aggregator:
    """Return the aggregator for a call; ``context``: in which it works."""
    if not call.args:
        return _CountRows()
    inner: Aggregator
    match call.name:
        case "count":
            inner = _Count()
        case "sum" | "avg":
            inner = _Sum(call)
        case "min" | "max":
            return _Extreme(greatest=call.name == "max")
        case "collect":
            inner = _Collected()
        case _:
            inner = _OfWeighedValues(call, context)
    return DistinctValues(inner) if call.distinct else inner


def weights_of(column: Column) -> IntArray:
    """Return how many times each row counts, from the column that says it: as objects where 64 bits don't do."""
    if isinstance(column, ConstantColumn):
        kind = np.int64 if column.value < _SAFE else object
        return np.full(len(column), column.value, dtype=kind)
    if isinstance(column, ObjectColumn):
        return np.array(column.objects, dtype=object)
    assert isinstance(column, ArrowColumn)
    weights: IntArray = column.array.to_numpy()
    return weights


def total_weight(column: Column) -> int:
    """Return how many rows some rows count for, given the column that says it."""
    if isinstance(column, ConstantColumn):
        return int(column.value) * len(column)
    weights = weights_of(column)
    return int(weights.sum()) if _magnitude(weights) * len(weights) < _SAFE else sum(weights.tolist())


def _totals(groups: Groups, values: Column, weights: IntArray | None = None) -> Column:
    """Return the sum of integers in each group, exactly: a column of Python integers where 64 bits don't do."""
    if isinstance(values, ConstantColumn):
        values = values.expanded()
    if groups.alone and weights is None:
        return values
    if isinstance(values, ArrowColumn):
        numbers = values.array.to_numpy()
        heaviest = _magnitude(weights) if weights is not None else 1.0
        if _magnitude(numbers) * heaviest * len(numbers) < _SAFE:
            if weights is not None:
                numbers = numbers * weights
            if groups.alone:
                return integer_column(numbers)
            if groups.count == 1:
                return integer_column(numbers.sum(keepdims=True))
            sums = np.zeros(groups.count, dtype=np.int64)
            np.add.at(sums, groups.codes, numbers)
            return integer_column(sums)
    totals: list[Any] = [0] * groups.count
    times = [1] * len(values) if weights is None else weights.tolist()
    for code, value, weight in zip(groups.codes.tolist(), values.values(), times, strict=True):
        totals[code] = plus(totals[code], value, weight)
    return ObjectColumn(totals)


def _magnitude(numbers: Any) -> float:
    return max(abs(float(numbers.min())), abs(float(numbers.max()))) if len(numbers) else 0.0


def _checked(totals: Column) -> Column:
    """Return sums, all of which must fit 64 bits; counts may exceed them as long as nobody reads them out."""
    if isinstance(totals, ArrowColumn):
        return totals
    return from_values([summed(total, None) for total in totals.values()])


def _weights(weights: IntArray) -> Column:
    return ObjectColumn(weights.tolist()) if weights.dtype == object else integer_column(weights)


def _rows(groups: Groups, kept: BoolArray | IntArray) -> Groups:
    return Groups(groups.codes[kept], groups.first)


class _CountRows(Aggregator):
    """``count(*)``: state is the number of rows."""

    arguments = 0

    def partial(self, groups: Groups, args: list[Column], weights: IntArray | None) -> State:
        if weights is None and groups.alone:
            return [integer_column(np.ones(groups.count, dtype=np.int64))]
        if weights is None and groups.count == 1:
            return [integer_column(np.array([len(groups.codes)], dtype=np.int64))]
        if weights is None:
            return [integer_column(np.bincount(groups.codes, minlength=groups.count))]
        return [_totals(groups, _weights(weights))]

    def merge(self, groups: Groups, state: State) -> State:
        return [_totals(groups, state[0])]

    def final(self, state: State) -> Column:
        return state[0]


class _Count(_CountRows):
    """``count(x)``: nulls don't count."""

    arguments = 1

    def partial(self, groups: Groups, args: list[Column], weights: IntArray | None) -> State:
        kept = ~args[0].is_null()
        if kept.all():
            return super().partial(groups, [], weights)
        return super().partial(_rows(groups, kept), [], None if weights is None else weights[kept])


class _Sum(Aggregator):
    """``sum`` and ``avg``: state is the sum of the integers, that of the floats (null: none), the number of both."""

    def __init__(self, call: AggregateCall) -> None:
        self._call = call

    def partial(self, groups: Groups, args: list[Column], weights: IntArray | None) -> State:
        (column,) = args
        kept = np.flatnonzero(~column.is_null())
        if len(kept) < len(column):
            column, groups = column.take(kept), _rows(groups, kept)
            weights = None if weights is None else weights[kept]
        if isinstance(column, ConstantColumn) and len(column):
            column = column.expanded()
        times = np.ones(len(column), dtype=np.int64) if weights is None else weights
        count = _totals(groups, _weights(times))
        match operand(column).kind:
            case "integer":
                return [_totals(groups, column, weights), _no_floats(groups.count), count]
            case "float":
                return [_zeros(groups.count), self._floats(groups, column, weights), count]
            case "null":
                return [_zeros(groups.count), _no_floats(groups.count), count]
        return [*self._mixed(groups, column.values(), times.tolist()), count]

    def _floats(self, groups: Groups, column: Column, weights: IntArray | None) -> Column:
        numbers = column.array.to_numpy()  # type: ignore[attr-defined]
        with np.errstate(invalid="ignore", over="ignore"):
            weighed = numbers if weights is None else numbers * weights.astype(np.float64)
            if groups.alone:
                return ArrowColumn(pa.array(weighed + 0.0))  # as what is added to 0
            sums = np.bincount(groups.codes, weights=weighed, minlength=groups.count)
        # Without rows NumPy gives zeros that are integers.
        sums = sums.astype(np.float64, copy=False)
        return ArrowColumn(pa.array(sums, mask=np.bincount(groups.codes, minlength=groups.count) == 0))

    def _mixed(self, groups: Groups, values: list[Any], times: list[int]) -> State:
        integers: list[Any] = [0] * groups.count
        floats: list[float | None] = [None] * groups.count
        refusing = accumulator(self._call)
        for code, value, weight in zip(groups.codes.tolist(), values, times, strict=True):
            if type(value) is int or type(value) is Duration:
                integers[code] = plus(integers[code], value, weight)
            elif type(value) is float:
                floats[code] = (floats[code] or 0.0) + value * weight
            else:
                refusing.add((value,))
        return [ObjectColumn(integers), ArrowColumn(pa.array(floats, pa.float64()))]

    def merge(self, groups: Groups, state: State) -> State:
        integers, floats, count = state
        kept = np.flatnonzero(~floats.is_null())
        return [
            _totals(groups, integers),
            self._floats(_rows(groups, kept), floats.take(kept), None),
            _totals(groups, count),
        ]

    def final(self, state: State) -> Column:
        average = self._call.name == "avg"
        integers, floats, count = state
        no_floats = floats.is_null()
        if not average and no_floats.all():
            return _checked(integers)
        if isinstance(integers, ArrowColumn) and isinstance(count, ArrowColumn) and isinstance(floats, ArrowColumn):
            whole, number = integers.array.to_numpy(), count.array.to_numpy()
            if _magnitude(whole) < 2.0**53:
                total = whole + floats.array.fill_null(0.0).to_numpy()
                none = number == 0
                if average or not no_floats.any():
                    return ArrowColumn(pa.array(total / np.where(none, 1, number) if average else total, mask=none))
                return NumberColumn(total, no_floats)
        results: list[Any] = []
        for whole, part, number in zip(integers.values(), floats.values(), count.values(), strict=True):
            if average:
                results.append(mean(whole, part, number) if number else None)
            else:
                results.append(summed(whole, part))
        return from_values(results)


def _zeros(count: int) -> Column:
    return integer_column(np.zeros(count, dtype=np.int64))


def _no_floats(count: int) -> Column:
    return ArrowColumn(pa.nulls(count, pa.float64()))


class _Extreme(Aggregator):
    """``min`` and ``max`` in the global order: state is the best value so far."""

    def __init__(self, *, greatest: bool) -> None:
        self._greatest = greatest

    def partial(self, groups: Groups, args: list[Column], weights: IntArray | None) -> State:
        (column,) = args
        if groups.alone:
            return [column]
        null = column.is_null()
        if null.all():
            return [null_column(groups.count)]
        whole = not null.any()
        kept = None if whole else np.flatnonzero(~null)
        order = ranks(column if kept is None else column.take(kept))
        if groups.count == 1:
            place = order.argmax() if self._greatest else order.argmin()
            return [column.take(np.array([place if kept is None else kept[place]], dtype=np.int64))]
        if kept is None:
            kept = np.arange(len(column), dtype=np.int64)
        codes = groups.codes[kept]
        best = np.full(groups.count, -(2**63) if self._greatest else 2**63 - 1, dtype=np.int64)
        (np.maximum if self._greatest else np.minimum).at(best, codes, order)
        hits = np.flatnonzero(order == best[codes])[::-1]
        rows = np.full(groups.count, -1, dtype=np.int64)
        rows[codes[hits]] = kept[hits]
        if (rows >= 0).all():
            return [column.take(rows)]
        rows[rows < 0] = len(column)
        return [concatenate([column, null_column(1)]).take(rows)]

    def merge(self, groups: Groups, state: State) -> State:
        return self.partial(groups, state, None)

    def final(self, state: State) -> Column:
        return state[0]


def _gathered(groups: Groups, columns: Sequence[Column]) -> list[Column]:
    """Return for each column the values of each group as a list, in the order of the rows."""
    offsets = np.zeros(groups.count + 1, dtype=np.int64)
    np.cumsum(np.bincount(groups.codes, minlength=groups.count), out=offsets[1:])
    if groups.count == 1:
        return [ListColumn(offsets, column) for column in columns]
    order = by_code(groups.codes, groups.count)
    return [ListColumn(offsets, column.take(order)) for column in columns]


def _joined(groups: Groups, lists: Column) -> ListColumn:
    """Return the lists of each group as one, in the order of the rows."""
    assert isinstance(lists, ListColumn)
    order = by_code(groups.codes, groups.count)
    offsets = np.zeros(groups.count + 1, dtype=np.int64)
    offsets[1:] = np.cumsum(np.bincount(groups.codes, lists.lengths(), groups.count))
    return ListColumn(offsets, lists.over(lists.starts[order], lists.ends[order], None).flat())


def _scattered(groups: Groups, lists: Column) -> tuple[Groups, Column]:
    """Return the items of all lists with the group of each."""
    assert isinstance(lists, ListColumn)
    return Groups(np.repeat(groups.codes, lists.lengths()), groups.first), lists.flat()


class _Collected(Aggregator):
    """``collect``: state is the list of the values that aren't null."""

    of_fixed_size = False

    def partial(self, groups: Groups, args: list[Column], weights: IntArray | None) -> State:
        (column,) = args
        rows = np.flatnonzero(~column.is_null())
        if weights is not None:
            rows = np.repeat(rows, weights[rows])
        if len(rows) != len(column) or weights is not None:
            column, groups = column.take(rows), _rows(groups, rows)
        return _gathered(groups, [column])

    def merge(self, groups: Groups, state: State) -> State:
        return [_joined(groups, state[0])]

    def final(self, state: State) -> Column:
        return state[0]


class _OfWeighedValues(Aggregator):
    """Percentiles and deviations: state is the values that aren't null, how often each counts, then other arguments."""

    of_fixed_size = False

    def __init__(self, call: AggregateCall, context: ExecutionContext) -> None:
        self._call = call
        self._context = context
        self.arguments = len(call.args)

    def partial(self, groups: Groups, args: list[Column], weights: IntArray | None) -> State:
        column, *others = args
        details = [_first_of(groups, other) for other in others]
        kept = np.flatnonzero(~column.is_null())
        once = weights is None or bool((weights == 1).all())
        times = ConstantColumn(1, len(kept)) if weights is None or once else _weights(weights[kept])
        if len(kept) != len(column):
            column, groups = column.take(kept), _rows(groups, kept)
        return [*_gathered(groups, [column, times]), *details]

    def merge(self, groups: Groups, state: State) -> State:
        values, times, *others = state
        return [_joined(groups, values), _joined(groups, times), *(_first_of(groups, other) for other in others)]

    def final_bytes(self, state: State) -> int:
        values = state[0]
        return object_bytes(values) + _SORTED * len(values.items) if isinstance(values, ListColumn) else 0

    def final(self, state: State) -> Column:
        values, times, *others = state
        assert isinstance(values, ListColumn)
        assert isinstance(times, ListColumn)
        found = of_weighed_values(self._call.name, values, times, others, self._context)
        if found is not None:
            return found
        results = []  # some value is wrong, which is told here
        for items, often, *details in zip(values.values(), times.values(), *(o.values() for o in others), strict=True):
            gathering = accumulator(AggregateCall(self._call.name, self._call.args))
            for value, count in zip(items, often, strict=True) if items or None in details else [(None, 1)]:
                gathering.add((value, *details), count)
            results.append(gathering.result())
        return from_values(results)


def _first_of(groups: Groups, column: Column) -> Column:
    """Return the value of each group's first row, null for groups without rows."""
    if len(column) == 0:
        return null_column(groups.count)
    return column.take(groups.first)


class DistinctValues(Aggregator):
    """Hands each different value of a group once to the ``inner`` aggregator: state is the list of them."""

    of_fixed_size = False

    def __init__(self, inner: Aggregator) -> None:
        self.inner = inner
        self.arguments = inner.arguments

    def partial(self, groups: Groups, args: list[Column], weights: IntArray | None) -> State:
        column, *others = args
        details = [_first_of(groups, other) for other in others]
        kept = np.flatnonzero(~column.is_null())
        return [*self._lists(_rows(groups, kept), column.take(kept)), *details]

    def merge(self, groups: Groups, state: State) -> State:
        lists, *others = state
        return [*self._lists(*_scattered(groups, lists)), *(_first_of(groups, other) for other in others)]

    def _lists(self, groups: Groups, column: Column) -> list[Column]:
        pairs = group_rows([integer_column(groups.codes), column], len(column))
        kept = np.sort(pairs.first)
        return _gathered(_rows(groups, kept), [column.take(kept)])

    def final_bytes(self, state: State) -> int:
        return working_bytes(state) + self.inner.final_bytes(state)

    def items_of(self, state: State) -> tuple[IntArray, Column]:
        """Return the different values of all groups, and which group each is of."""
        every = np.arange(len(state[0]), dtype=np.int64)
        groups, items = _scattered(Groups(every, every), state[0])
        return groups.codes, items

    def final(self, state: State) -> Column:
        lists, *others = state
        codes, items = self.items_of(state)
        assert isinstance(lists, ListColumn)
        begins = np.minimum(lists.offsets()[:-1], max(len(items) - 1, 0))
        args = [items, *(other.take(codes) for other in others)]
        found = self.inner.partial(Groups(codes, begins), args, None)
        return self.inner.final([*found[: len(found) - len(others)], *others])  # a group without items has them, too
