"""Summaries of property values: exact counts, the least and the greatest; the rest from a sample where there are many.

The sample takes one value at a random place of each of equally long parts, always the same ones. Where it says that
many values occur but once, the number of different values comes from a sketch of all of them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from qengine.catalog.values import ValueSummary
from qengine.storage.arrays import Array
from qengine.storage.columns import is_ordered
from qengine.storage.kernels import distinct_sketch, text_ends
from qengine.storage.normal import is_string
from qengine.storage.variant import is_present
from qengine.temporal.arrow import to_values

_SAMPLE = 4096
_COMMON = 64
_PARTS = 64
_OUTSTANDING = 1.25  # times the mean frequency: from there on a value is a common one
_SEEN = 4  # times in the sample, at least
_SINGLES = 0.01  # share of the sample's values that occur once: below it, few values were missed
_SEED = 20


def summarize(array: Any) -> ValueSummary:
    """Return the summary of an Arrow array of a normal type (``storage.normal``)."""
    count, nulls = len(array), _nulls(array)
    if nulls == count or not is_ordered(array.type):
        return ValueSummary(count, nulls, 0 if nulls == count else None)
    present = array.drop_null() if nulls else array
    sampled = len(present) > _SAMPLE
    sample = present.take(_places(len(present))) if sampled else present
    values, times = _counted(sample)
    ends = _ends(present) if sampled else None
    common, rest = _common(times, sampled)
    bounds = _bounds(times, rest)
    chosen = to_values(values.take(pa.array(np.concatenate((common, bounds)))))
    shown = tuple(zip(chosen[: len(common)], (times[common] / len(sample)).tolist(), strict=True))
    low, high = to_values(_outer(values) if ends is None else ends)
    parts = list(chosen[len(common) :])
    if ends is not None and len(parts) > 1:
        parts[0], parts[-1] = low, high
    return ValueSummary(
        count, nulls, _distinct(times, present) if sampled else len(values), low, high, shown, tuple(parts)
    )


def _counted(array: Any) -> tuple[Any, Array]:
    """Return the different values of an array, ascending, and how often each occurs. NaN has no place."""
    if pa.types.is_primitive(array.type) and not pa.types.is_boolean(array.type):
        numbers = array.to_numpy() if pa.types.is_floating(array.type) else array.view(f"int{array.type.bit_width}")
        found, times = np.unique(np.asarray(numbers), return_counts=True)
        kept = ~np.isnan(found) if pa.types.is_floating(array.type) else slice(None)
        return pa.array(found[kept]).view(array.type), times[kept]
    counted = pc.value_counts(array)
    order = pc.array_sort_indices(counted.field(0))
    return counted.field(0).take(order), counted.field(1).to_numpy()[order.to_numpy()]


def _nulls(array: Any) -> int:
    if pa.types.is_union(array.type):  # has no nulls of its own, but its children have
        return int(np.count_nonzero(~is_present(array)))
    return int(array.null_count)


@lru_cache(maxsize=64)
def _places(size: int) -> Any:
    """Return the places of a sample, ascending: one in each of equally long parts."""
    begins = np.arange(_SAMPLE + 1, dtype=np.int64) * size // _SAMPLE
    inside = np.random.default_rng(_SEED).random(_SAMPLE)
    return pa.array(begins[:-1] + (inside * np.diff(begins)).astype(np.int64))


def _common(times: Array, sampled: bool) -> tuple[Array, Array]:
    """Return the indices of the common values, the most common first, and of the others."""
    if len(times) <= _COMMON and not (sampled and len(times) and times.min() < _SEEN):
        common = np.argsort(-times, kind="stable")
        return common, np.empty(0, np.int64)
    least = max(_OUTSTANDING * times.mean() if len(times) else 0.0, _SEEN if sampled else 2)
    found = np.flatnonzero(times >= least)
    common = found[np.argsort(-times[found], kind="stable")][:_COMMON]
    rest = np.ones(len(times), np.bool_)
    rest[common] = False
    return common, np.flatnonzero(rest)


def _bounds(times: Array, rest: Array) -> Array:
    """Return the indices of the values that cut the rest into parts of equal size."""
    if not len(rest):
        return rest
    reached = np.cumsum(times[rest])
    wanted = np.arange(_PARTS + 1) * (reached[-1] - 1) // _PARTS
    cuts: Array = rest[np.searchsorted(reached, wanted, side="right")]
    return cuts


def _distinct(times: Array, present: Any) -> int:
    """Return about how many different values there are, given how often each of the sample's was drawn."""
    once = int(np.count_nonzero(times == 1))
    if once <= _SINGLES * _SAMPLE:
        twice = int(np.count_nonzero(times == 2))
        return len(times) + once * (once - 1) // (2 * (twice + 1))  # Chao 1984
    return max(len(times), min(round(distinct_sketch(present)), len(present)))


def _ends(present: Any) -> Any:
    """Return the least and the greatest of values without nulls, NaN aside."""
    if pa.types.is_floating(present.type):  # an order of magnitude faster than Arrow's
        numbers = present.to_numpy()
        return pa.array([np.fmin.reduce(numbers), np.fmax.reduce(numbers)], present.type)
    if is_string(present.type):  # again
        return present.take(pa.array(text_ends(present)))
    found = pc.min_max(present)
    return pa.array([found["min"], found["max"]], present.type)


def _outer(values: Any) -> Any:
    """Return the first and the last of sorted values, of nulls where there are none."""
    return values.take(pa.array([0, len(values) - 1] if len(values) else [None, None], pa.int64()))
