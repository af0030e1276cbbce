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
            total = _added(total, part.sign, _whole(operator, part.numbers, runtime, masks))
        return total
    for bits in _WIDTHS:
        total = np.zeros(n)
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                for part in _float_parts(values, bits):
                    total += part.sign * np.ldexp(_rounded(operator, part.numbers, runtime, masks), part.exponent)
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


def _whole(operator: Eliminate, numbers: npt.NDArray[np.uint64], runtime: Runtime, masks: MaskProvider) -> Array:
    """Return the sum of the terms: int64, or Python's integers."""
    total: Array = np.zeros(len(numbers), np.int64)
    for factor, vector in term_vectors(operator, runtime, masks, numbers):
        total = _added(total, factor, vector.astype(np.uint64) if vector.ndim == 1 else _objects(vector))
    return total


def _rounded(operator: Eliminate, numbers: npt.NDArray[np.uint64], runtime: Runtime, masks: MaskProvider) -> Array:
    """Return the sum of the terms as float64."""
    terms = term_vectors(operator, runtime, masks, numbers)
    if len(terms) == 1:
        ((factor, vector),) = terms
        low, high = (vector, None) if vector.ndim == 1 else (vector[:, 0], vector[:, 1])
        whole = low.astype(np.float64) if high is None else np.ldexp(high.astype(np.float64), 64) + low
        return float(factor) * whole
    if sum(abs(factor) for factor, _ in terms) > _MOST_FACTORS:
        total: Array = np.zeros(len(numbers), object)
        for factor, vector in terms:
            total += factor * _objects(vector)
        return total.astype(np.float64)
    halves = np.zeros((2 * max(vector.ndim for _, vector in terms) + 1, len(numbers)), np.int64)
    for factor, vector in terms:
        for place, word in enumerate(vector.reshape(len(numbers), -1).T):
            halves[2 * place] += factor * (word & _HALF).astype(np.int64)
            halves[2 * place + 1] += factor * (word >> np.uint64(32)).astype(np.int64)
    for place in range(len(halves) - 1):
        halves[place + 1] += halves[place] >> 32
        halves[place] &= np.int64(_HALF)
    whole = np.zeros(len(numbers))
    for place, half in enumerate(halves):  # none is negative now, nor is their sum: nothing cancels
        whole += np.ldexp(half.astype(np.float64), 32 * place)
    return whole


def _objects(vector: Array) -> Array:
    if vector.ndim == 1:
        return vector.astype(object)
    found: Array = (vector[:, 1].astype(object) << 64) + vector[:, 0].astype(object)
    return found


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
