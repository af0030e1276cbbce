"""Sums of a node's values over the embeddings of a pattern, by another node's vertices.

The values become vectors of whole numbers that aren't negative, which a program takes as ``NodeValues``: integers as
they are, floats times a power of two, those below zero apart. Nothing is rounded before the sum of a vertex is done,
so sums are the same in any order, on any number of threads, and where terms of inclusion and exclusion cancel.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine._frozen import frozen
from qengine.errors import ResourceError
from qengine.exec.common.runtime import Runtime
from qengine.exec.host.eliminate import Array, term_vectors
from qengine.exec.host.term_sums import rounded_terms, summed_terms
from qengine.exec.view import MaskProvider
from qengine.plan.physical import Eliminate

__all__ = ["is_summable", "vertex_sums"]

_NARROW = 62
"""Bits of values that are summed in 64 bits first."""
_WIDTHS = (90, 60)
"""Bits of a part of floats: summed in 128, the fewer there are the more embeddings can be added up."""
_MANTISSA = 53
_HALF = np.uint64(2**32 - 1)
_MOST_FACTORS = 2**30
"""Halves of words times the terms' factors are added up in 64 bits as long as these add up to so much."""


@frozen
class _Part:
    """Values as ``sign`` times ``2**exponent`` times ``numbers``: uint64[n], or [n, 2] with the lower words first."""

    sign: int
    exponent: int
    numbers: npt.NDArray[np.uint64]


def is_summable(values: Array) -> bool:
    """Tell whether values are finite."""
    return values.dtype == np.int64 or bool(np.isfinite(values).all())


def vertex_sums(operator: Eliminate, values: Array, runtime: Runtime, masks: MaskProvider) -> Array:
    """Return for each vertex the sum of values over its embeddings.

    Parameters
    ----------
    operator
        Counts by one node, and has ``NodeValues``.
    values
        int64[n] or finite float64[n], a value for each of the graph's n vertices.

    Returns
    -------
    array
        int64[n], or Python's integers where 64 bits don't do; float64[n] of floats, each rounded at the end.

    Raises
    ------
    QueryTimeout, QueryInterrupted, OutOfMemory
        By the context's limits.
    ResourceError
        If a sum exceeds 128 bits.
    """
    n = len(values)
    if values.dtype == np.int64:
        total: Array = np.zeros(n, np.int64)
        for part in _integer_parts(values):
            terms = term_vectors(operator, runtime, masks, part.numbers)
            total = _added(total, part.sign, summed_terms(terms, n, runtime.context))
        return total
    for bits in _WIDTHS:
        total = np.zeros(n)
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                for part in _float_parts(values, bits):
                    terms = term_vectors(operator, runtime, masks, part.numbers)
                    total += part.sign * np.ldexp(rounded_terms(terms, n, runtime.context), part.exponent)
            return total
        except ResourceError as error:
            if error.code != "CountOverflow" or bits == _WIDTHS[-1]:
                raise
    raise AssertionError


def _integer_parts(values: Array) -> Iterator[_Part]:
    lowest = int(values.min(initial=0))
    if lowest >= 0 or int(values.max(initial=0)) > 0:
        yield _Part(1, 0, np.maximum(values, 0).astype(np.uint64))
    if lowest < 0:
        yield _Part(-1, 0, (-np.minimum(values, 0)).view(np.uint64))


def _float_parts(values: Array, width: int) -> Iterator[_Part]:
    """Yield finite floats in parts of so many bits: one for each sign where the values' range isn't wide."""
    for sign in (1, -1):
        left = np.where(sign * values > 0, np.abs(values), 0.0)
        while left.any():
            mantissas, exponents = np.frexp(left)
            top = int(exponents[left > 0].max())
            near = (left > 0) & (exponents > top - (width - _MANTISSA))
            bits = np.ldexp(mantissas[near], _MANTISSA).astype(np.int64)
            lowest = np.frexp((bits & -bits).astype(np.float64))[1] - 1  # zeros at a mantissa's end
            exponent = int((exponents[near] - _MANTISSA + lowest).min())
            yield _Part(sign, exponent, _as_whole(np.ldexp(np.where(near, left, 0.0), -exponent), top - exponent))
            left = np.where(near, 0.0, left)


def _as_whole(numbers: Array, bits: int) -> npt.NDArray[np.uint64]:
    if bits <= _NARROW:
        return numbers.astype(np.uint64)
    high = np.floor(np.ldexp(numbers, -64))
    return np.stack((numbers - np.ldexp(high, 64), high), axis=1).astype(np.uint64)


def _added(total: Array, factor: int, more: Array) -> Array:
    """Return ``total + factor * more``: in 64 bits where they surely do, else in Python's integers."""
    if total.dtype == more.dtype == object or not len(total):
        return np.asarray(total + factor * more)
    bound = _greatest(total) + abs(factor) * _greatest(more)
    if bound < 2**63:
        return np.asarray(total.astype(np.int64) + factor * more.astype(np.int64))
    return np.asarray(total.astype(object) + factor * more.astype(object))


def _greatest(numbers: Any) -> int:
    return max(abs(int(numbers.min())), abs(int(numbers.max())))
