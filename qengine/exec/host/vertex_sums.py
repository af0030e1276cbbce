"""Sums of a node's values over the embeddings of a pattern, by another node's vertices.

The values become vectors of whole numbers that aren't negative, which a program takes as ``NodeValues``: integers as
they are, floats times a power of two, those below zero apart. Nothing is rounded before the sum of a vertex is done,
so sums are the same in any order, on any number of threads, and where terms of inclusion and exclusion cancel.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from qengine.errors import ResourceError
from qengine.exec.common.runtime import Runtime
from qengine.exec.host.eliminate import Array, term_vectors
from qengine.exec.host.term_sums import rounded_terms, summed_terms
from qengine.exec.host.vertex_numbers import WholeNumbers, float_parts
from qengine.exec.view import MaskProvider
from qengine.plan.physical import Eliminate

_WIDTHS = (90, 60)
"""Bits of a part of floats: summed in 128, the fewer there are the more embeddings can be added up."""


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
    ResourceError
        If a sum exceeds 128 bits.
    """
    n = len(values)
    total: Array | None = None
    if values.dtype == np.int64:
        for part in _integer_parts(values):
            terms = term_vectors(operator, runtime, masks, part.numbers)
            total = _added(total, part.sign, summed_terms(terms, n, runtime.context))
        return np.zeros(n, np.int64) if total is None else total
    for bits in _WIDTHS:
        total = None
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                for part in float_parts(values, bits, runtime.context):
                    terms = term_vectors(operator, runtime, masks, part.numbers)
                    found = rounded_terms(terms, n, runtime.context)
                    np.ldexp(found if part.sign > 0 else np.negative(found, out=found), part.exponent, out=found)
                    total = found if total is None else np.add(total, found, out=total)
            return np.zeros(n) if total is None else total
        except ResourceError as error:
            if error.code != "CountOverflow" or bits == _WIDTHS[-1]:
                raise
    raise AssertionError


def _integer_parts(values: Array) -> Iterator[WholeNumbers]:
    lowest = int(values.min(initial=0))
    if lowest >= 0:
        yield WholeNumbers(1, 0, values.view(np.uint64))
        return
    if int(values.max(initial=0)) > 0:
        yield WholeNumbers(1, 0, np.maximum(values, 0).astype(np.uint64))
    yield WholeNumbers(-1, 0, (-np.minimum(values, 0)).view(np.uint64))


def _added(total: Array | None, factor: int, more: Array) -> Array:
    """Return ``total + factor * more``, None being 0: in 64 bits where they surely do, else in Python's integers."""
    if total is None:
        if factor == 1:
            return more
        total = np.zeros(len(more), np.int64)
    if total.dtype == more.dtype == object or not len(total):
        return np.asarray(total + factor * more)
    bound = _greatest(total) + abs(factor) * _greatest(more)
    if bound < 2**63:
        return np.asarray(total.astype(np.int64) + factor * more.astype(np.int64))
    return np.asarray(total.astype(object) + factor * more.astype(object))


def _greatest(numbers: Any) -> int:
    return max(abs(int(numbers.min())), abs(int(numbers.max())))
