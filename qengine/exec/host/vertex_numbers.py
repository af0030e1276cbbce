"""Numbers by vertex as eliminations take and give them, made and read by all threads."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from qengine import _native
from qengine._frozen import frozen
from qengine.exec.context import ExecutionContext

_MANTISSA = 53
_NARROW = 62
"""Bits of values that are summed in 64 bits first."""
_SPAN = _native.record("i4 top lowest")
_NONE = -(2**31)

Ids = npt.NDArray[np.int64]


@frozen
class WholeNumbers:
    """Values as ``sign`` times ``2**exponent`` times ``numbers``: uint64[n], or [n, 2] with the lower words first."""

    sign: int
    exponent: int
    numbers: npt.NDArray[np.uint64]


def float_parts(values: npt.NDArray[np.float64], width: int, context: ExecutionContext) -> Iterator[WholeNumbers]:
    """Yield finite floats in parts of so many bits: one for each sign where the values' range isn't wide."""
    library, n, control = _library(), len(values), ctypes.byref(context.control)
    values = np.ascontiguousarray(values)
    span = np.zeros(1, _SPAN)
    for sign in (1, -1):
        most = 2**31 - 1
        while True:
            context.run(
                library.qe_float_span, values.ctypes.data, n, sign, most, width, span.ctypes.data, control, reads=2 * n
            )
            top, lowest = (int(each) for each in span[0])
            if top == _NONE:
                break
            wide = top - lowest > _NARROW
            numbers = np.empty((n, 2) if wide else n, np.uint64)
            context.run(
                library.qe_float_parts, values.ctypes.data, n, sign, span.ctypes.data, width, wide,
                numbers.ctypes.data, control, reads=n,
            )  # fmt: skip
            yield WholeNumbers(sign, lowest, numbers)
            most = top - (width - _MANTISSA)


def counts_found(counts: Ids, context: ExecutionContext) -> tuple[Ids, Ids]:
    """Return the places of all counts but 0, ascending, and these counts. Errors as of ``float_parts``."""
    n = len(counts)
    places, numbers, found = np.empty(n, np.int64), np.empty(n, np.int64), ctypes.c_uint64()
    context.run(
        _library().qe_counts_found, counts.ctypes.data, n, places.ctypes.data, numbers.ctypes.data,
        ctypes.byref(found), ctypes.byref(context.control), reads=2 * n,
    )  # fmt: skip
    return places[: found.value], numbers[: found.value]


_library = _native.declared(
    "qe_float_span p u8 f8 i4 i4 p p; qe_float_parts p u8 f8 p i4 i4 p p; qe_counts_found p u8 p p p p"
)
