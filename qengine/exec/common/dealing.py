"""Work on many elements that is dealt to the threads of an execution, part by part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from qengine.exec.common.columns import Column, IntArray, concatenate
from qengine.exec.context import ExecutionContext

_Made = TypeVar("_Made")

_LEAST, _MOST = 1 << 16, 1 << 19
"""Elements of a part: enough that Python's share of it is small, and no more than fit into caches."""
_MANY, _LONG = 1 << 26, 1 << 21
"""From so many elements on parts are longer."""
_ALONE_SECONDS = 1e-3
"""Of work before other threads are begun, which takes about a tenth of that for each of them."""
_A_THREAD = 2
"""Parts for each thread, where there are enough elements: the first is done before the others, and some end late."""


def part_size(n: int, context: ExecutionContext) -> int:
    """Return how many of n elements the threads of an execution take at a time: whole words of bits."""
    each = -(-n // (_A_THREAD * context.threads))
    return max(_LEAST, min(_MOST if n < _MANY else _LONG, -(-each // _LEAST) * _LEAST))


def deal(work: Callable[[int], None], places: Sequence[int], context: ExecutionContext) -> None:
    """Call a function for each of some places, the first before all others, these on all threads once it takes long.

    Where memory is limited they come one after the other, so that no more is held than by one. The function must let go
    of Python's lock for most of the time, as NumPy and Arrow do, and look at the limits itself. Where it fails for
    several, the error of the first is raised, as if they came one after the other.
    """
    begin, alone = perf_counter(), 0
    while alone < len(places):
        work(places[alone])  # what is found once for all is there after the first
        alone += 1
        if perf_counter() - begin >= _ALONE_SECONDS:
            break
    left = iter(places[alone:])
    failed: dict[int, BaseException] = {}

    def run() -> None:
        for place in left:
            if failed:
                return
            try:
                work(place)
            except BaseException as error:
                failed[place] = error

    threads = 1 if context.memory.limit is not None else min(context.threads, len(places) - alone)
    helpers = [context.begun(run) for _ in range(threads - 1)]
    run()
    for each in helpers:
        context.awaited(each)
    if failed:
        raise failed[min(failed)]


def assign(to: npt.NDArray[Any], values: Any, context: ExecutionContext) -> None:
    """Set numbers of an array to as many values, or all to one. Errors as of ``deal``."""
    size = part_size(len(to), context)

    def copy(begin: int) -> None:
        context.check()
        part = slice(begin, begin + size)
        to[part] = values[part] if np.ndim(values) else values

    deal(copy, range(0, len(to), size), context)


def computed(
    n: int, kind: npt.DTypeLike, compute: Callable[[slice], npt.ArrayLike], context: ExecutionContext
) -> npt.NDArray[Any]:
    """Return an array of n numbers, of which ``compute`` returns some in a row. Errors as of ``deal``."""
    made, size = np.empty(n, kind), part_size(n, context)

    def fill(begin: int) -> None:
        context.check()
        part = slice(begin, min(begin + size, n))
        made[part] = compute(part)

    deal(fill, range(0, n, size), context)
    return made


def greatest(numbers: npt.NDArray[Any], context: ExecutionContext) -> int:
    """Return the greatest of numbers, 0 where there is none above it. Errors as of ``deal``."""
    return max(made_of(len(numbers), lambda part: int(numbers[part].max(initial=0)), context))


def packed(mask: npt.NDArray[np.bool_], context: ExecutionContext) -> npt.NDArray[np.uint8]:
    """Return a mask as bits, padded to whole 64-bit words. Errors as of ``deal``."""
    bits = np.empty(-(-len(mask) // 64) * 8 or 8, np.uint8)
    bits[-8:] = 0
    size = part_size(len(mask), context)

    def pack(begin: int) -> None:
        context.check()
        part = np.packbits(mask[begin : begin + size], bitorder="little")
        bits[begin // 8 : begin // 8 + len(part)] = part

    deal(pack, range(0, len(mask), size), context)
    return bits


def made_of(n: int, make: Callable[[slice], _Made], context: ExecutionContext) -> list[_Made]:
    """Return what is made of n elements, part by part; of all together where they are few or memory is limited.

    Errors as of ``deal``.
    """
    size = part_size(n, context)
    if n <= 2 * size or context.memory.limit is not None:
        return [make(slice(0, n))]
    begins = range(0, n, size)
    made: dict[int, _Made] = {}

    def of(begin: int) -> None:
        context.check()
        made[begin] = make(slice(begin, min(begin + size, n)))

    deal(of, begins, context)
    return [made[begin] for begin in begins]


def taken(column: Column, places: IntArray, context: ExecutionContext) -> Column:
    """Return what ``Column.take`` does, many values by all threads. Errors as of ``deal``."""
    parts = made_of(len(places), lambda part: column.take(places[part]), context)
    return parts[0] if len(parts) == 1 else concatenate(parts)
