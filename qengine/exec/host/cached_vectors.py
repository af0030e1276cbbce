"""Vectors that follow from a graph alone, which keeps them: degrees and which vertices have some labels.

Counts that are nothing but sums of products of such vectors, as those of stars and paths of two relationships, are
computed from them in one native call, without the steps that make the vectors.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from qengine import _native
from qengine._frozen import frozen
from qengine.errors import InternalError
from qengine.exec.context import ExecutionContext
from qengine.exec.view import ExecView
from qengine.plan.elimination import Step, Term

_MAX_COUNT = 2**63 - 1

Array = npt.NDArray[Any]


class VectorKey:
    """By what a graph keeps a vector: the steps that make it. Its hash is computed once, and not at each look-up."""

    __slots__ = ("_hash", "steps")

    def __init__(self, steps: tuple[Step | None, ...]) -> None:
        self.steps = steps
        self._hash = hash(steps)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VectorKey) and self.steps == other.steps


@lru_cache(1024)
def vector_key(*steps: Step | None) -> VectorKey:
    """Return the key of what some steps make: the same object for the same steps, which is found without comparing."""
    return VectorKey(steps)


class _CachedVector:
    """An array that nobody writes to, and where it is."""

    __slots__ = ("array", "nbytes", "record")

    def __init__(self, array: Array) -> None:
        array.flags.writeable = False
        self.array = array
        self.nbytes = array.nbytes
        self.record = array.ctypes.data, array.itemsize  # as qe::eliminate::Numbers


def cached_vector(store: ExecView, key: VectorKey, make: Callable[[], Array]) -> Array:
    """Return a vector that the graph keeps, in the narrowest of 16, 32 and 64 bits that hold its numbers.

    Parameters
    ----------
    store
        The ``GraphStore``.
    key
        What it is kept by.
    make
        Computes it, uint64[n], where the graph doesn't have it.
    """
    found: Array = store.derived.get(key, lambda: _CachedVector(_narrowed(make()))).array
    return found


def _narrowed(numbers: Array) -> Array:
    most = int(numbers.max(initial=0))
    return numbers.astype(np.uint16 if most < 2**16 else np.uint32 if most < 2**32 else np.uint64)


@frozen
class CachedSums:
    """A count as signed terms of sums of products of kept vectors.

    ``keys``: the vectors, sum by sum. ``first``: where each sum's begin, as ctypes' int32[sums + 1]. ``terms``: for
    each its factor, and the sums that it multiplies.
    """

    keys: tuple[VectorKey, ...]
    first: Any
    terms: tuple[tuple[int, tuple[int, ...]], ...]

    def total(self, store: ExecView, context: ExecutionContext) -> int | None:
        """Return the count, None where the graph doesn't keep all of the vectors now.

        Raises
        ------
        ResourceError
            If a sum exceeds 128 bits.
        """
        words: list[int] = []
        found = [store.derived.find(key) for key in self.keys]  # kept until the sums are there
        for vector in found:
            if vector is None:
                return None
            words += vector.record
        sums = product_sums(words, self.first, store.vertex_count, context)
        return not_negative(sum(factor * prod(sums[k] for k in of) for factor, of in self.terms))


def cached_sums(totals: Sequence[tuple[VectorKey, ...]], places: Sequence[int], terms: Sequence[Term]) -> CachedSums:
    """Return a count by its terms, given for each step that they add up the vectors whose product it is.

    ``places``: those steps, as terms name them.
    """
    first = [0]
    for each in totals:
        first.append(first[-1] + len(each))
    index = {place: k for k, place in enumerate(places)}
    return CachedSums(
        tuple(key for each in totals for key in each),
        _native.array_of(ctypes.c_int32, len(first))(*first),
        tuple((term.factor, tuple(index[place] for place in term.totals)) for term in terms),
    )


def not_negative(count: int) -> int:
    """Return a count, which may exceed 64 bits, after a look at the terms that it is added of."""
    if count < 0:
        raise InternalError("An elimination's terms add up to a negative count.")
    return count


def product_sums(records: Sequence[int], first: Any, n: int, context: ExecutionContext) -> list[int]:
    """Return sums of products of vectors, of none that of ones.

    Parameters
    ----------
    records
        For each vector its address and the bytes of a number; the caller keeps the arrays.
    first
        Where each sum's vectors begin, as ctypes' int32[sums + 1].
    n
        Numbers of each vector.

    Raises
    ------
    ResourceError
        If a sum exceeds 128 bits.
    """
    count = len(first) - 1
    halves = _native.array_of(ctypes.c_uint64, 2 * count)()
    words = _native.array_of(ctypes.c_uint64, len(records))(*records)
    where = words, first, count, n, halves, ctypes.byref(context.control)
    context.run(_library().qe_eliminate_totals, *where, reads=len(records) * n)
    return [halves[2 * k] | halves[2 * k + 1] << 64 for k in range(count)]


_library = _native.declared("qe_eliminate_totals p p i4 u8 p p")
