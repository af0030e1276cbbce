"""Aggregates: each takes the argument values of one row at a time and gives one value at the end.

All but ``count(*)`` skip nulls. With no values: ``count`` and ``sum`` give 0, ``collect`` [], ``stdev`` 0.0, the
others null.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from qengine.errors import ExecutionError, InternalError
from qengine.exec.scalar.compare import group_key, order_key
from qengine.exec.scalar.mathematics import float_sum
from qengine.exec.scalar.temporal.arithmetic import add, divide, multiply
from qengine.exec.scalar.values import NUMBERS, checked, wrong_argument
from qengine.plan.expr import AggregateCall
from qengine.temporal import Duration


class Accumulator(Protocol):
    """The state of one aggregate of one group."""

    def add(self, args: Sequence[Any], times: int = 1) -> None:
        """Take the arguments' values of a row that counts ``times`` times."""

    def result(self) -> Any:
        """Return the aggregate of what was added so far."""


def accumulator(call: AggregateCall) -> Accumulator:
    """Return a fresh accumulator for an aggregate call."""
    if not call.args:
        return _CountRows()
    make = AGGREGATES.get(call.name)
    if make is None:
        raise InternalError(f"The aggregate {call.name!r} of the catalogue has no implementation.")
    return _Distinct(make()) if call.distinct else make()


class _CountRows:
    """``count(*)``."""

    def __init__(self) -> None:
        self._count = 0

    def add(self, args: Sequence[Any], times: int = 1) -> None:
        self._count += times

    def result(self) -> int:
        return self._count


class _Distinct:
    """Passes each different value on once."""

    def __init__(self, inner: Accumulator) -> None:
        self._inner = inner
        self._seen: set[Any] = set()

    def add(self, args: Sequence[Any], times: int = 1) -> None:
        key = group_key(args[0])
        if key not in self._seen:
            self._seen.add(key)
            self._inner.add(args)

    def result(self) -> Any:
        return self._inner.result()


class _Count:
    def __init__(self) -> None:
        self._count = 0

    def add(self, args: Sequence[Any], times: int = 1) -> None:
        if args[0] is not None:
            self._count += times

    def result(self) -> int:
        return self._count


def plus(total: Any, value: Any, times: int = 1) -> Any:
    """Return the sum of a total and so many times a value: exact integers, or durations alone (0 is no duration yet).

    Raises
    ------
    ExecutionError
        For durations among numbers.
    """
    if type(value) is not Duration:
        if type(total) is Duration and value:
            raise wrong_argument("A sum of durations", "durations", value)
        return total if type(total) is Duration else total + value * times
    if times != 1:
        value = multiply(value, times)
    if type(total) is not Duration:
        if total:
            raise wrong_argument("A sum of numbers", "numbers", value)
        return value
    return add(total, value)


class _Sum:
    """Integers are summed exactly and checked at the end; a float among them makes the sum a float.

    Durations have a sum, too.
    """

    name = "sum()"

    def __init__(self) -> None:
        self._integers: Any = 0
        self._floats: float | None = None
        self._count = 0

    def add(self, args: Sequence[Any], times: int = 1) -> None:
        value = args[0]
        if type(value) is int or type(value) is Duration:
            self._integers = plus(self._integers, value, times)
        elif type(value) is float:
            self._floats = (self._floats or 0.0) + value * times
        elif value is None:
            return
        else:
            raise wrong_argument(self.name, "numbers", value)
        self._count += times

    def result(self) -> Any:
        return summed(self._integers, self._floats)


def summed(whole: Any, part: float | None) -> Any:
    """Return the sum of what ``plus`` has added and of floats (None: there are none)."""
    if part is not None and type(whole) is Duration:
        raise wrong_argument("A sum of durations", "durations", part)
    if part is not None:
        return whole + part
    return whole if type(whole) is Duration else checked(whole)


def mean(whole: Any, part: float | None, count: int) -> Any:
    """Return the mean of so many values with such sums."""
    if type(whole) is Duration:
        return divide(summed(whole, part), count)
    return (whole if part is None else whole + part) / count


class _Average(_Sum):
    name = "avg()"

    def result(self) -> Any:
        if not self._count:
            return None
        return mean(self._integers, self._floats, self._count)


class _Extreme:
    """``min`` and ``max`` by the order of ``ORDER BY``."""

    def __init__(self, *, greatest: bool) -> None:
        self._greatest = greatest
        self._best: Any = None
        self._key: Any = None

    def add(self, args: Sequence[Any], times: int = 1) -> None:
        value = args[0]
        if value is None:
            return
        key = order_key(value)
        if self._key is None or (key > self._key if self._greatest else key < self._key):
            self._best, self._key = value, key

    def result(self) -> Any:
        return self._best


class _Collect:
    def __init__(self) -> None:
        self._items: list[Any] = []

    def add(self, args: Sequence[Any], times: int = 1) -> None:
        if args[0] is not None:
            self._items += [args[0]] * times

    def result(self) -> list[Any]:
        return self._items


class _Deviation:
    """Standard deviation in three passes: of a sample (divided by n - 1) or of the population (by n)."""

    def __init__(self, *, name: str, lost: int) -> None:
        self._name = name
        self._lost = lost
        self._numbers: list[float] = []

    def add(self, args: Sequence[Any], times: int = 1) -> None:
        if args[0] is None:
            return
        if type(args[0]) not in NUMBERS:
            raise wrong_argument(self._name, "numbers", args[0])
        self._numbers += [float(args[0])] * times

    def result(self) -> float:
        count = len(self._numbers)
        if count <= self._lost:
            return 0.0
        mean = float_sum(self._numbers) / count
        apart = [number - mean for number in self._numbers]
        off = float_sum(apart) / count  # of the mean, which is rounded
        if math.isfinite(off):
            apart = [each - off for each in apart]
        return math.sqrt(float_sum([each * each for each in apart]) / (count - self._lost))


class _Percentile:
    """The value at a share (second argument, 0 to 1) of the sorted values."""

    def __init__(self, *, name: str, pick: Callable[[list[Any], float], Any], numeric: bool) -> None:
        self._name = name
        self._pick = pick
        self._numeric = numeric
        self._values: list[Any] = []
        self._share: float | None = None

    def add(self, args: Sequence[Any], times: int = 1) -> None:
        value, share = args
        if type(share) not in NUMBERS:
            raise wrong_argument(self._name, "a number from 0 to 1 as percentile", share)
        if not 0 <= share <= 1:
            raise ExecutionError(
                f"{self._name} got the percentile {share}, which isn't between 0 and 1.", code="NumberOutOfRange"
            )
        self._share = float(share)
        if value is None:
            return
        if self._numeric and type(value) not in NUMBERS:
            raise wrong_argument(self._name, "numbers", value)
        self._values += [value] * times

    def result(self) -> Any:
        if not self._values or self._share is None:
            return None
        return self._pick(sorted(self._values, key=order_key), self._share)


def _nearest(values: list[Any], share: float) -> Any:
    """Return the first value that at least ``share`` of all are not greater than."""
    place = share * len(values)
    index = int(place)
    return values[index - 1 if index == place and index > 0 else index]


def _interpolated(numbers: list[Any], share: float) -> float:
    """Return the weighted mean of the two numbers next to the place."""
    place = share * (len(numbers) - 1)
    index = int(place)
    below = float(numbers[index])
    if index == place:
        return below
    return below * (index + 1 - place) + float(numbers[index + 1]) * (place - index)


AGGREGATES: dict[str, Callable[[], Accumulator]] = {
    "count": _Count,
    "sum": _Sum,
    "avg": _Average,
    "min": lambda: _Extreme(greatest=False),
    "max": lambda: _Extreme(greatest=True),
    "collect": _Collect,
    "stdev": lambda: _Deviation(name="stDev()", lost=1),
    "stdevp": lambda: _Deviation(name="stDevP()", lost=0),
    "percentilecont": lambda: _Percentile(name="percentileCont()", pick=_interpolated, numeric=True),
    "percentiledisc": lambda: _Percentile(name="percentileDisc()", pick=_nearest, numeric=False),
}
"""Makers of accumulators by the aggregate's name in lower case."""
