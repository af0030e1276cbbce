"""Percentiles and standard deviations of many groups at once, of values of which each counts so often."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from qengine import _native
from qengine.exec.common.columns import ArrowColumn, Column, ConstantColumn, ListColumn, concatenate, null_column
from qengine.exec.common.expressions.operand import operand
from qengine.exec.common.ordering import ranks
from qengine.exec.context import ExecutionContext
from qengine.exec.scalar.values import NUMBERS

_LOST = {"stdev": 1, "stdevp": 0}

_SAFE = 2.0**62

Numbers = npt.NDArray[Any]


def of_weighed_values(
    name: str, values: ListColumn, times: ListColumn, others: Sequence[Column], context: ExecutionContext
) -> Column | None:
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
    context
        Whose threads look for places.

    Raises
    ------
    QueryTimeout, QueryInterrupted, OutOfMemory
        By the context's limits.
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
        below, above = _ordered(items, often, lengths, np.stack((lower, np.minimum(lower + 1, totals - 1)), 1), context)
        least, most = (_floats(column) for column in (below, above))
        before = lower.astype(np.float64)
        with np.errstate(invalid="ignore"):
            between = least * (before + 1 - places) + most * (places - before)
        return ArrowColumn(pa.array(np.where(places == before, least, between), mask=totals == 0))
    reached = shares * totals.astype(np.float64)
    nearest = _whole(reached, totals)
    nearest -= (reached == nearest.astype(np.float64)) & (nearest > 0)
    found, _ = _ordered(items, often, lengths, np.stack((nearest, nearest), 1), context)
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
    if isinstance(column, ConstantColumn) and type(column.value) in NUMBERS and 0 <= column.value <= 1:
        return np.full(len(totals), column.value, np.float64)
    shares = np.zeros(len(totals))
    for place, share in enumerate(column.values()):
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
    items: Column, often: Numbers | None, lengths: Numbers, places: Numbers, context: ExecutionContext
) -> tuple[Column, Column]:
    """Return of each group's values those at two ``places`` of their order, NaN last; any value where it has none."""
    plain = isinstance(items, ArrowColumn) and (pa.types.is_int64(items.type) or pa.types.is_float64(items.type))
    if plain and (often is None or often.dtype != object):
        values = np.ascontiguousarray(items.array.to_numpy())  # type: ignore[attr-defined]
        below, above = _selected(values, often, lengths, places, context).view(values.dtype).T
        return ArrowColumn(pa.array(below)), ArrowColumn(pa.array(above))
    order = ranks(items)
    if often is None or often.dtype != object:
        _, any_with, order = np.unique(order, return_index=True, return_inverse=True)
        below, above = _selected(order, often, lengths, places, context).T
        return items.take(any_with[below]), items.take(any_with[above])
    found = np.lexsort((order, np.repeat(np.arange(len(lengths)), lengths)))
    counted = np.cumsum(often[found])
    before = np.concatenate((np.zeros(1, object), counted))[np.cumsum(lengths) - lengths]
    at = (np.searchsorted(counted, before + np.maximum(each, 0), side="right") for each in places.T)
    below, above = (items.take(found[np.minimum(each, len(items) - 1)]) for each in at)
    return below, above


def _selected(
    values: Numbers, often: Numbers | None, lengths: Numbers, places: Numbers, context: ExecutionContext
) -> Numbers:
    """Return for each group the numbers at two ``places`` of its order, as int64; 0 where it has none."""
    begins = np.concatenate((np.zeros(1, np.int64), np.cumsum(lengths)))
    found = np.zeros((len(lengths), 2), np.int64)
    two = np.ascontiguousarray(places, np.int64)
    times = None if often is None else np.ascontiguousarray(often, np.int64)
    context.run(
        _library().qe_select_places, len(lengths), begins.ctypes.data, values.ctypes.data, values.dtype == np.float64,
        None if times is None else times.ctypes.data, two.ctypes.data, found.ctypes.data, ctypes.byref(context.control),
        reads=len(values),
    )  # fmt: skip
    return found


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


_library = _native.declared("qe_select_places u8 p p i4 p p p p")
