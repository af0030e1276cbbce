"""Percentiles of many groups of numbers at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from qengine.exec.common.columns import ArrowColumn, Column, ListColumn
from qengine.exec.common.grouping import by_code
from qengine.exec.scalar.values import NUMBERS

__all__ = ["PERCENTILES", "percentiles"]

PERCENTILES = frozenset({"percentilecont", "percentiledisc"})

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
    given = shares.array.unique().to_pylist() if isinstance(shares, ArrowColumn) else shares.values()
    items = lists.flat()
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
    """Return of each group's numbers those at two places of their order, NaN last; any number where it has none.

    Groups of one length have the same places, and are partitioned together, as rows of a matrix.
    """
    begins = np.cumsum(lengths) - lengths
    found = np.zeros((2, len(lengths)), numbers.dtype)
    groups = by_code(lengths, int(lengths.max()) + 1)
    for same in np.split(groups, np.flatnonzero(np.diff(lengths[groups])) + 1):
        length = int(lengths[same[0]])
        if length:
            both = int(first[same[0]]), int(second[same[0]])
            rows = numbers[begins[same][:, None] + np.arange(length)]
            rows.partition(sorted(set(both)), axis=1)
            found[:, same] = rows[:, both].T
    return found[0], found[1]


def _with_nulls(results: Numbers, lengths: Numbers) -> Column:
    return ArrowColumn(pa.array(results, mask=lengths == 0))
