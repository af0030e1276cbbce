"""Copies within the host's memory by all threads of an execution (``kernels/host/ops/array_copies.cpp``)."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine import _native
from qengine.exec.context import ExecutionContext

_COPY = _native.record("u8 from_ to n widened")
"""As ``ArrayCopy`` of the kernel."""


def copy(to: int, address: int, n_bytes: int, context: ExecutionContext) -> None:
    """Copy bytes from one place of the host's memory to another."""
    _run([(address, to, n_bytes, 0)], n_bytes, context)


def widened(given: Sequence[npt.NDArray[Any]], context: ExecutionContext) -> list[npt.NDArray[np.int64]]:
    """Return copies in 64 bits of equally long arrays of uint32 or int64."""
    arrays = [np.ascontiguousarray(each) for each in given]
    made = [np.empty(len(each), np.int64) for each in given]
    copies = [
        (each.ctypes.data, to.ctypes.data, len(each) if each.itemsize == 4 else each.nbytes, each.itemsize == 4)
        for each, to in zip(arrays, made, strict=True)
    ]
    _run(copies, sum(each.nbytes for each in made), context)
    return made


def _run(copies: Sequence[tuple[int, int, int, int]], n_bytes: int, context: ExecutionContext) -> None:
    if not n_bytes:
        return
    records = np.array(copies, _COPY)
    context.run(
        _library().qe_copy_arrays, records.ctypes.data, len(records), ctypes.byref(context.control), reads=n_bytes // 8
    )


_library = _native.declared("qe_copy_arrays p u8 p")
