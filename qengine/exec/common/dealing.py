"""Work on many elements that is dealt to the threads of an execution, part by part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine.exec.common.columns import Column, IntArray, concatenate
from qengine.exec.context import ExecutionContext

__all__ = ["assign", "computed", "deal", "packed", "places_of", "taken"]

_PART = 1 << 21
"""Truth values that are looked at together, whole words of bits."""
_PIECE, _TAKEN = 1 << 17, 1 << 18
"""Numbers that are computed together, and values that are taken."""


def deal(work: Callable[[int], None], places: Sequence[int], context: ExecutionContext) -> None:
    """Call a function for each of some places, the first before all others, these on all threads.

    Where memory is limited they come one after the other, so that no more is held than by one. The function must let go
    of Python's lock for most of the time, as NumPy and Arrow do, and look at the limits itself. Where it fails for
    several, the error of the first is raised, as if they came one after the other.

    Raises
    ------
    QueryTimeout, QueryInterrupted
        By the context's limits.
    """
    if not places:
        return
    work(places[0])  # what is found once for all is there then
    left = iter(places[1:])
    failed: dict[int, BaseException] = {}

    def run() -> None:
        for place in left:
            if failed:
                return
            try:
                work(place)
            except BaseException as error:
                failed[place] = error

    threads = 1 if context.memory.limit is not None else min(context.threads, len(places) - 1)
    helpers = [context.begun(run) for _ in range(threads - 1)]
    run()
    for each in helpers:
        context.awaited(each)
    if failed:
        raise failed[min(failed)]


def assign(to: npt.NDArray[Any], values: Any, context: ExecutionContext) -> None:
    """Set numbers of an array to as many values, or all to one. Errors as of ``deal``."""

    def copy(begin: int) -> None:
        context.check()
        part = slice(begin, begin + _PART)
        to[part] = values[part] if np.ndim(values) else values

    deal(copy, range(0, len(to), _PART), context)


def computed(
    n: int, kind: npt.DTypeLike, compute: Callable[[slice], npt.ArrayLike], context: ExecutionContext
) -> npt.NDArray[Any]:
    """Return an array of n numbers, of which ``compute`` returns some in a row. Errors as of ``deal``."""
    made = np.empty(n, kind)

    def fill(begin: int) -> None:
        context.check()
        part = slice(begin, min(begin + _PIECE, n))
        made[part] = compute(part)

    deal(fill, range(0, n, _PIECE), context)
    return made


def packed(mask: npt.NDArray[np.bool_], context: ExecutionContext) -> npt.NDArray[np.uint8]:
    """Return a mask as bits, padded to whole 64-bit words. Errors as of ``deal``."""
    bits = np.empty(-(-len(mask) // 64) * 8 or 8, np.uint8)
    bits[-8:] = 0

    def pack(begin: int) -> None:
        context.check()
        part = np.packbits(mask[begin : begin + _PART], bitorder="little")
        bits[begin // 8 : begin // 8 + len(part)] = part

    deal(pack, range(0, len(mask), _PART), context)
    return bits


def taken(column: Column, places: IntArray, context: ExecutionContext) -> Column:
    """Return what ``Column.take`` does, many values by all threads. Errors as of ``deal``."""
    if len(places) <= 2 * _TAKEN or context.memory.limit is not None:
        return column.take(places)
    parts: dict[int, Column] = {}

    def take(begin: int) -> None:
        context.check()
        parts[begin] = column.take(places[begin : begin + _TAKEN])

    begins = range(0, len(places), _TAKEN)
    deal(take, begins, context)
    return concatenate([parts[begin] for begin in begins])


def places_of(mask: npt.NDArray[np.bool_], first: int, context: ExecutionContext) -> npt.NDArray[np.uint32]:
    """Return where a mask is true, counted from ``first``, ascending. Errors as of ``deal``."""
    parts = range(0, len(mask), _PART)
    counts = [int(np.count_nonzero(mask[begin : begin + _PART])) for begin in parts]
    ends = np.cumsum(counts, dtype=np.int64)
    found = np.empty(int(ends[-1]) if len(ends) else 0, np.uint32)

    def find(begin: int) -> None:
        context.check()
        part = begin // _PART
        there = np.flatnonzero(mask[begin : begin + _PART])
        np.add(there, begin + first, out=found[ends[part] - counts[part] : ends[part]], casting="unsafe")

    deal(find, parts, context)
    return found
