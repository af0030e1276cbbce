"""Percentiles and standard deviations of many groups at once, of values of which each counts so often."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from qengine.exec.common.columns import ArrowColumn, Column, ConstantColumn, ListColumn, concatenate, null_column
from qengine.exec.common.expressions.operand import operand
from qengine.exec.common.grouping import by_code
from qengine.exec.common.ordering import ranks
from qengine.exec.scalar.values import NUMBERS

_LOST = {"stdev": 1, "stdevp": 0}

_SAFE = 2.0**62

Numbers = npt.NDArray[Any]


def of_weighed_values(name: str, values: ListColumn, times: ListColumn, others: Sequence[Column]) -> Column | None:
    """Return an aggregate for each group; null, or 0.0 of a deviation, where it has no values.

    None where a value is no number and has to be one, or a share isn't one from 0 to 1.

    Parameters
    ----------
    name
        "percentilecont", between the two numbers next to the place, "percentiledisc", the nearest one, "stdev" or
        "stdevp", of a sample or of all.
    values
        Those of each group, null left out.
    times
        How often each counts, in lists of the same lengths.
    others
        Of percentiles the share of each group.
    """
    items = values.flat()
    numbers = None if name == "percentiledisc" else _numbers(items)
    if numbers is None and name != "percentiledisc":
        return None
    lengths = np.asarray(values.lengths())
    often = _often(times.flat())
    if name in _LOST:
        assert numbers is not None
        return _deviations(numbers, often, lengths, _LOST[name])
    totals = lengths if often is None else _sums(often, lengths)
    shares = _shares(others[0], totals)
    if shares is None:
        return None
    if not len(items):
        return null_column(len(lengths))
    if name == "percentilecont":
        places = shares * (totals - 1).astype(np.float64)
        lower = _whole(places, totals)
        below, above = _ordered(items, often, lengths, lower, np.minimum(lower + 1, totals - 1))
        least, most = (_floats(column) for column in (below, above))
        before = lower.astype(np.float64)
        with np.errstate(invalid="ignore"):
            between = least * (before + 1 - places) + most * (places - before)
        return ArrowColumn(pa.array(np.where(places == before, least, between), mask=totals == 0))
    reached = shares * totals.astype(np.float64)
    nearest = _whole(reached, totals)
    nearest -= (reached == nearest.astype(np.float64)) & (nearest > 0)
    found, _ = _ordered(items, often, lengths, nearest, nearest)
    if (totals > 0).all():
        return found
    return concatenate([found, null_column(1)]).take(np.where(totals == 0, len(found), np.arange(len(found))))


def _numbers(items: Column) -> Numbers | None:
    """Return values as floats; None where one is no number."""
    if operand(items).kind in ("integer", "float", "null") or all(type(value) in NUMBERS for value in items.values()):
        return _floats(items)
    return None


def _floats(items: Column) -> Numbers:
    if isinstance(items, ArrowColumn) and not pa.types.is_null(items.type):
        return np.asarray(items.array.to_numpy(zero_copy_only=False)).astype(np.float64, copy=False)
    return np.array([float(value) for value in items.values()], np.float64)


def _often(times: Column) -> Numbers | None:
    """Return how often each value counts, as Python's integers where 64 bits don't do for all; None: once."""
    if isinstance(times, ConstantColumn):
        return None
    if not isinstance(times, ArrowColumn):
        return np.array(times.values(), object)
    found: Numbers = times.array.to_numpy()
    return found if float(found.sum(dtype=np.float64)) < _SAFE else found.astype(object)


def _sums(numbers: Numbers, lengths: Numbers) -> Numbers:
    """Return the sum of so many numbers after each other for each group."""
    ends = np.cumsum(lengths)
    sums = np.concatenate((np.zeros(1, numbers.dtype), np.cumsum(numbers)))
    return np.asarray(sums[ends] - sums[ends - lengths])


def _shares(column: Column, totals: Numbers) -> Numbers | None:
    """Return the share of each group, any where it has no values; None where one isn't a number from 0 to 1."""
    shares = np.zeros(len(totals))
    given = [column.value] * len(totals) if isinstance(column, ConstantColumn) else column.values()
    for place, share in enumerate(given):
        if type(share) in NUMBERS and 0 <= share <= 1:
            shares[place] = share
        elif share is not None or totals[place]:
            return None
    return shares


def _whole(places: Numbers, totals: Numbers) -> Numbers:
    """Return places rounded down, below the totals that they are of."""
    if totals.dtype == object:
        return np.array([min(int(place), total - 1) for place, total in zip(places, totals, strict=True)], object)
    return np.asarray(np.minimum(places.astype(np.int64), totals - 1))


def _ordered(
    items: Column, often: Numbers | None, lengths: Numbers, first: Numbers, second: Numbers
) -> tuple[Column, Column]:
    """Return of each group's values those at two places of their order, NaN last; any value where it has none."""
    plain = isinstance(items, ArrowColumn) and (pa.types.is_int64(items.type) or pa.types.is_float64(items.type))
    if plain and often is None and _one_place(lengths, first):
        return _partitioned(items, lengths, first, second)
    order = _sorted(np.repeat(np.arange(len(lengths)), lengths), ranks(items))
    begins = np.cumsum(lengths) - lengths
    counted = np.arange(1, len(items) + 1) if often is None else np.cumsum(often[order])
    before = np.concatenate((np.zeros(1, counted.dtype), counted))[begins]
    found = []
    for place in (first, second):
        at = np.searchsorted(counted, before + np.maximum(place, 0), side="right")
        found.append(items.take(order[np.minimum(at, len(items) - 1)]))
    return found[0], found[1]


def _sorted(codes: Numbers, order: Numbers) -> Numbers:
    """Return rows by their codes, from 0 on, and those of one code by their order."""
    count, rows = int(codes[-1]) + 1, len(order)
    least = int(order.min())
    span = int(order.max()) - least + 1
    if count * span * rows < _SAFE:  # all in one number, which sorts in a fraction of the time
        keys = ((codes * span + (order - least)) * rows) + np.arange(rows)
        keys.sort()
        return np.asarray(keys % rows)
    found = np.argsort(order)
    return found[by_code(codes[found], count)]


def _one_place(lengths: Numbers, places: Numbers) -> bool:
    """Tell whether groups of one length have the same place."""
    by_length = np.zeros(int(lengths.max()) + 1, np.int64)
    by_length[lengths] = places
    return bool((by_length[lengths] == places).all())


def _partitioned(items: Column, lengths: Numbers, first: Numbers, second: Numbers) -> tuple[Column, Column]:
    """Return what ``_ordered`` does; groups of one length are partitioned together, as rows of a matrix."""
    assert isinstance(items, ArrowColumn)
    numbers = items.array.to_numpy()
    begins = np.cumsum(lengths) - lengths
    found = np.zeros((2, len(lengths)), numbers.dtype)
    groups = by_code(lengths, int(lengths.max()) + 1)
    for same in np.split(groups, np.flatnonzero(np.diff(lengths[groups])) + 1):
        length = int(lengths[same[0]])
        if length:
            both = int(first[same[0]]), int(second[same[0]])
            if len(same) == 1:
                rows = numbers[None, begins[same[0]] : begins[same[0]] + length].copy()
            else:
                rows = numbers[begins[same][:, None] + np.arange(length)]
            rows.partition(sorted(set(both)), axis=1)
            found[:, same] = rows[:, both].T
    return ArrowColumn(pa.array(found[0])), ArrowColumn(pa.array(found[1]))


def _deviations(numbers: Numbers, often: Numbers | None, lengths: Numbers, lost: int) -> Column:
    """Return deviations by two passes; between them the mean is put right by what it is off."""
    count = len(lengths)
    codes = np.repeat(np.arange(count), lengths)
    weights = np.ones(len(numbers)) if often is None else often.astype(np.float64)

    def added(values: Numbers) -> Numbers:
        return np.bincount(codes, values * weights, count)

    totals = np.bincount(codes, weights, count)
    with np.errstate(invalid="ignore", over="ignore"):
        some = np.maximum(totals, 1)
        differences = numbers - (added(numbers) / some)[codes]
        off = added(differences) / some
        differences -= np.where(np.isfinite(off), off, 0)[codes]
        squares = added(differences * differences)
        found = np.sqrt(squares / np.maximum(totals - lost, 1))
    return ArrowColumn(pa.array(np.where(totals > lost, found, 0.0)))
