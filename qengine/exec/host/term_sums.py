"""Sums of the terms of an elimination by vertex: exact, by all threads."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine import _native
from qengine.errors import ResourceError
from qengine.exec.context import ExecutionContext

SUM_TERM = _native.record("u8 numbers; i8 factor; i4 wide unused")
"""As ``qe::eliminate::SumTerm``."""

_MOST_FACTOR = 2**63 - 1

Array = npt.NDArray[Any]
Terms = Sequence[tuple[int, Array]]
"""Factors, and a vector for each: uint64[n], or [n, 2] of 128 bits, the lower words first."""


def summed_terms(terms: Terms, n: int, context: ExecutionContext) -> Array:
    """Return the sums of terms: int64[n], or Python's integers where 64 bits don't do."""
    whole = np.empty(n, np.int64)
    return whole if _natively(terms, n, whole, None, context) else _exact(terms, n)


def rounded_terms(terms: Terms, n: int, context: ExecutionContext) -> Array:
    """Return the sums of terms, each rounded once: float64[n]. Errors as of ``summed_terms``."""
    rounded = np.empty(n)
    return rounded if _natively(terms, n, None, rounded, context) else _exact(terms, n).astype(np.float64)


def _natively(terms: Terms, n: int, whole: Array | None, rounded: Array | None, context: ExecutionContext) -> bool:
    """Write sums; False where numbers exceed what native code takes."""
    if any(abs(factor) > _MOST_FACTOR for factor, _ in terms):
        return False
    vectors = [np.ascontiguousarray(vector, np.uint64) for _, vector in terms]
    records = np.array(
        [(vector.ctypes.data, factor, vector.ndim - 1, 0) for (factor, _), vector in zip(terms, vectors, strict=True)],
        SUM_TERM,
    )
    written = (None if each is None else each.ctypes.data for each in (whole, rounded))
    try:
        context.run(
            _library().qe_term_sums, records.ctypes.data, len(records), n, *written, ctypes.byref(context.control),
            reads=n * len(records),
        )  # fmt: skip
    except ResourceError as error:
        if error.code != "CountOverflow":
            raise
        return False
    return True


def _exact(terms: Terms, n: int) -> Array:
    total: Array = np.zeros(n, object)
    for factor, vector in terms:
        total += factor * _integers(vector)
    return total


def _integers(vector: Array) -> Array:
    if vector.ndim == 1:
        return vector.astype(object)
    found: Array = (vector[:, 1].astype(object) << 64) + vector[:, 0].astype(object)
    return found


_library = _native.declared("qe_term_sums p i4 u8 p p p")
