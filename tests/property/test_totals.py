"""Sums of products of vectors, by the kernel of elimination on each instruction set, against Python's integers."""

from __future__ import annotations

import ctypes
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine import _native
from qengine._control import Status
from qengine.exec.common.relations import NUMBERS, numbers
from qengine.exec.context import ExecutionContext
from tests.property.test_triangles_of_pairs import forced

WIDTHS = st.sampled_from([0, 1, 12, 16, 27, 32, 33, 54, 55, 63, 64])


def drawn(rng: np.random.Generator, n: int, width: int) -> npt.NDArray[np.uint64]:
    """Draw numbers of so many bits."""
    numbers = rng.integers(0, 2**64 - 1, n, np.uint64, endpoint=True)
    return numbers >> np.uint64(64 - width) if width else np.zeros(n, np.uint64)


def narrowed(numbers: npt.NDArray[np.uint64], spare: int) -> npt.NDArray[np.unsignedinteger[Any]]:
    """Return numbers in the narrowest type that holds them, or in one that is so many steps wider."""
    fitting = [kind for kind in (np.uint16, np.uint32, np.uint64) if numbers.max(initial=0) <= np.iinfo(kind).max]
    return numbers.astype(fitting[min(spare, len(fitting) - 1)])


@pytest.mark.parametrize("isa", [0, 1, 2])
@settings(max_examples=60)
@given(
    seed=st.integers(0, 2**16),
    n=st.sampled_from([0, 1, 7, 511, 512, 513, 1500]),
    widths=st.lists(st.lists(WIDTHS | st.just(16), max_size=4), min_size=1, max_size=3),
    spare=st.integers(0, 2),
    zeros=st.booleans(),
)
def test_totals(isa: int, seed: int, n: int, widths: list[list[int]], spare: int, zeros: bool) -> None:
    rng = np.random.default_rng(seed)
    sums = [[narrowed(drawn(rng, n, width), spare) for width in each] for each in widths]
    if zeros:
        for each in sums:
            for vector in each:
                vector[: n // 2] = 0
    products = [
        [prod(row) for row in zip(*(vector.tolist() for vector in each), strict=True)] if each else [1] * n
        for each in sums
    ]
    expected = list(map(sum, products))
    fits = max(map(max, filter(None, (*products, expected))), default=0) < 2**128
    factors = [vector for each in sums for vector in each]
    records = np.array([numbers(vector) for vector in factors], NUMBERS)
    first = np.cumsum([0, *map(len, sums)], dtype=np.int32)
    halves = (ctypes.c_uint64 * (2 * len(sums)))()
    context = ExecutionContext(threads=2)
    with forced(isa):
        status = _native.load().qe_eliminate_totals(
            ctypes.c_void_p(records.ctypes.data), ctypes.c_void_p(first.ctypes.data), len(sums), ctypes.c_uint64(n),
            ctypes.byref(halves), ctypes.byref(context.control),
        )  # fmt: skip
    assert status == (Status.OK if fits else Status.OVERFLOW)
    if fits:
        assert [halves[2 * k] | halves[2 * k + 1] << 64 for k in range(len(sums))] == expected
