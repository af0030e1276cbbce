"""The least and the greatest number of each run of a stored column, made when first asked for and kept with the graph.

A comparison with a constant reads none of a run that these settle: of ids, which come in order with a type's
tables, and of what grows with them. A column whose runs are about as wide as all of it has none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from qengine.exec.common.dealing import deal
from qengine.exec.common.runtime import Runtime

ZONE = 2048
"""Values of a run, as ``qe::kZone``."""
_LEAST = 1 << 18
"""Values of a column that isn't read faster than anything is known of it."""
_SEEN, _NARROW = 64, 0.5
"""Runs that tell whether a column has zones: they are narrower than this share of all of them, in the mean."""
_PART = 256  # runs that a thread takes at a time

Zones = npt.NDArray[Any]
"""Shape (runs, 2), int64, or float64 for floats: the least and the greatest number, NaN where one is; none if empty."""


def zones_of(key: tuple[int | str, ...], numbers: npt.NDArray[Any], runtime: Runtime) -> Zones | None:
    """Return the zones of a property's column: of all numbers, also those that stand for null; None where it has none.

    Parameters
    ----------
    key
        The property of nodes, or before it the type of relationships.
    numbers
        int64, int32 or float64, as they are stored.
    """
    if len(numbers) < _LEAST:
        return None
    found: Zones = runtime.store.derived.get(("zones", *key), lambda: _made(numbers, runtime))
    return found if len(found) else None


def _made(numbers: npt.NDArray[Any], runtime: Runtime) -> Zones:
    kind = np.float64 if numbers.dtype.kind == "f" else np.int64
    runs = -(-len(numbers) // ZONE)
    zones = np.empty((runs, 2), kind)
    some = np.linspace(0, runs - 1, min(runs, _SEEN), dtype=np.int64)
    for run in some.tolist():
        _fill(zones, numbers, run, run + 1)
    low, high = zones[some].astype(np.float64).T
    with np.errstate(invalid="ignore"):
        narrow = np.mean(high - low) < _NARROW * (high.max() - low.min())
    if not narrow:
        return zones[:0].copy()

    def fill(begin: int) -> None:
        runtime.context.check()
        _fill(zones, numbers, begin, min(begin + _PART, runs))

    deal(fill, range(0, runs, _PART), runtime.context)
    return zones


def _fill(zones: Zones, numbers: npt.NDArray[Any], begin: int, end: int) -> None:
    read = numbers[begin * ZONE : end * ZONE]
    places = np.arange(0, len(read), ZONE)
    zones[begin:end, 0] = np.minimum.reduceat(read, places)
    zones[begin:end, 1] = np.maximum.reduceat(read, places)
