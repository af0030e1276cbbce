"""Predicates over ranges of ids, by native code on all threads: ``kernels/host/ops/predicates.cpp``."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine import _native
from qengine.exec.common.columns import BoolArray
from qengine.exec.common.predicate_programs import STEP, Step
from qengine.exec.context import ExecutionContext


def fill(holds: BoolArray, steps: Sequence[Step], first: int, context: ExecutionContext) -> None:
    """Write for each id from ``first`` on whether a program is true.

    Raises
    ------
    QueryInterrupted, QueryTimeout
        Where the execution must stop.
    """
    records = np.array([_record(step) for step in steps], STEP)
    context.run(
        _library().qe_predicate_holds, records.ctypes.data, len(steps), first, len(holds), holds.ctypes.data,
        ctypes.byref(context.control), reads=len(holds) * len(steps),
    )  # fmt: skip


def places(
    mask: BoolArray, first: int, dtype: type[np.uint32 | np.int64], context: ExecutionContext
) -> npt.NDArray[Any]:
    """Return where a mask is true, counted from ``first``, ascending: of ``dtype``. Errors as of ``fill``."""
    found: npt.NDArray[Any] = np.empty(np.count_nonzero(mask), dtype)
    context.run(
        _library().qe_predicate_places, mask.ctypes.data, len(mask), first, dtype is np.int64, found.ctypes.data,
        ctypes.byref(context.control), reads=len(mask),
    )  # fmt: skip
    return found


def _record(step: Step) -> tuple[object, ...]:
    source = step.source
    values = 0 if source is None else source.numbers.ctypes.data
    validity = 0 if source is None or source.validity is None else source.validity.ctypes.data
    table, zones = (0 if each is None else each.ctypes.data for each in (step.table, step.zones))
    return step.record(values, validity, table, zones)


_library = _native.declared("qe_predicate_holds p i4 i8 u8 p p; qe_predicate_places p u8 i8 i4 p p")
