"""Percentiles of many groups of numbers at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from qengine.exec.common.columns import ArrowColumn, Column, ListColumn
from qengine.exec.scalar.values import NUMBERS

__all__ = ["PERCENTILES", "percentiles"]

PERCENTILES = frozenset({"percentilecont", "percentiledisc"})

_FEW = 32  # numbers of a group: groups of fewer are sorted together

Numbers = npt.NDArray[Any]


def percentiles(name: str, lists: Column, shares: Column) -> Column | None:
    """Return the percentile of each group's numbers; null where it has none.

    None where values are no integers or floats of 64 bits, or where the shares aren't the same number from 0 to 1.

    Parameters
    ----------
    name
        "percentilecont", between the two numbers next to the place, or "percentiledisc", the nearest one.
    lists
        The values of each group, null left out.
    shares
        The percentile of each group.
    """
    if not isinstance(lists, ListColumn) or not len(lists):
        return None
    given, items = shares.values(), lists.flat()
    share: Any = given[0]
    if type(share) not in NUMBERS or not 0 <= share <= 1 or any(each != share for each in given):
        return None
    if not isinstance(items, ArrowColumn):
        return None
    if not (pa.types.is_int64(items.type) or pa.types.is_float64(items.type)) or items.array.null_count:
        return None
    lengths = np.asarray(lists.lengths())
    numbers = items.array.to_numpy()
    if name == "percentilecont":
        places = share * (lengths - 1.0)
        lower = places.astype(np.int64)
        below, above = _ordered(numbers, lengths, lower, np.minimum(lower + 1, lengths - 1))
        exact = places == lower
        with np.errstate(invalid="ignore"):
            between = below * (lower + 1 - places) + above * (places - lower)
        return _with_nulls(np.where(exact, below, between), lengths)
    reached = share * lengths.astype(np.float64)
    nearest = reached.astype(np.int64)
    nearest -= (reached == nearest) & (nearest > 0)
    return _with_nulls(_ordered(numbers, lengths, nearest, nearest)[0], lengths)


def _ordered(numbers: Numbers, lengths: Numbers, first: Numbers, second: Numbers) -> tuple[Numbers, Numbers]:
    """Return of each group's numbers those at two places of their order, NaN last; any number where it has none."""
    ends = np.cumsum(lengths)
    begins = ends - lengths
    some = np.flatnonzero(lengths)
    if len(numbers) < _FEW * len(lengths):
        ordered = numbers[np.lexsort((numbers, np.repeat(np.arange(len(lengths)), lengths)))]
    else:
        ordered = numbers.copy()
        bounds = (each[some].tolist() for each in (begins, ends, first, second))
        for begin, end, *both in zip(*bounds, strict=True):
            ordered[begin:end].partition(sorted(set(both)))
    found = []
    for places in (first, second):
        result = np.zeros(len(lengths), numbers.dtype)
        result[some] = ordered[begins[some] + places[some]]
        found.append(result)
    return found[0], found[1]


def _with_nulls(results: Numbers, lengths: Numbers) -> Column:
    return ArrowColumn(pa.array(results, mask=lengths == 0))
