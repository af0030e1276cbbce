"""Masked products of any three matrices, counted or summed with numbers, against products of dense matrices."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine import _native
from qengine.exec.common.relations import MATRIX, SparseMatrix
from qengine.exec.context import ExecutionContext
from tests.instruction_sets import forced

Array = npt.NDArray[Any]


def dense(rng: np.random.Generator, n: int, density: float, hubs: str) -> Array:
    """Make a 0/1 matrix whose dense columns and rows stand first, scattered, or nowhere."""
    weight = np.minimum(1.0, density / np.sqrt(np.arange(1, n + 1) / n)) if hubs != "none" else np.full(n, density)
    rows, columns = (rng.permutation(weight) if hubs == "scattered" else weight for _ in range(2))
    return rng.random((n, n)) < np.sqrt(np.outer(rows, columns))


def sparse(linked: Array, lo: int) -> SparseMatrix:
    """Return the rows of a matrix from ``lo`` on, which is all that it has."""
    row, column = np.nonzero(linked)
    own = np.bincount(row, minlength=len(linked))[lo:]
    offsets = np.concatenate(([0], np.cumsum(own))).astype(np.uint64)
    return SparseMatrix(offsets, column.astype(np.uint32), lo, len(linked))


def masked_product(
    across: SparseMatrix,
    left: SparseMatrix,
    right: SparseMatrix,
    n: int,
    vector: Array | None,
    wide: bool,
    threads: int,
) -> Array:
    """Call the kernel; return its sums as Python's integers."""
    context = ExecutionContext(threads=threads)
    records = [np.array([each.record()], MATRIX) for each in (across, left, right)]
    out = np.full((len(across.ids), 2) if wide else len(across.ids), 2**64 - 1, np.uint64)
    if vector is not None and wide:
        vector = np.stack((vector, np.zeros_like(vector)), axis=1)
    at = 0 if vector is None else vector.ctypes.data
    places = [ctypes.c_void_p(each.ctypes.data) for each in records]
    status = _native.load().qe_masked_product(
        *places, n, ctypes.c_void_p(at), int(wide), ctypes.c_void_p(out.ctypes.data), ctypes.byref(context.control)
    )
    assert status == 0
    assert context.control.memory_used == 0
    if wide:
        assert not out[:, 1].any()
        return out[:, 0]
    return out


@pytest.mark.parametrize("isa", [0, 1, 2], ids=["baseline", "avx2", "avx512"])
@settings(max_examples=14)
@given(
    seed=st.integers(0, 2**32),
    shape=st.tuples(
        st.sampled_from([2, 40, 513, 1400]),
        st.sampled_from([0.003, 0.05, 0.4]),
        st.sampled_from(["first", "scattered", "none"]),
    ),
    weights=st.sampled_from(["none", "some", "numbers"]),
    numbered=st.sampled_from(["", "left", "right"]),
    repeats=st.booleans(),
    wide=st.booleans(),
    threads=st.sampled_from([1, 3]),
)
def test_sums_are_those_of_dense_matrices(
    isa: int,
    seed: int,
    shape: tuple[int, float, str],
    weights: str,
    numbered: str,
    repeats: bool,
    wide: bool,
    threads: int,
) -> None:
    rng = np.random.default_rng(seed)
    n = shape[0]
    own = [dense(rng, *shape) for _ in range(3)]
    lows = rng.integers(0, n // 2 + 1, 3)
    for each, lo in zip(own, lows, strict=True):
        each[:lo] = False
    across, left, right = (sparse(each, int(lo)) for each, lo in zip(own, lows, strict=True))
    sums = [each.astype(np.int64) for each in own]
    if repeats and len(right.ids):  # each entry of the last row twice
        last = int(right.offsets[-2])
        offsets = right.offsets.copy()
        offsets[-1] += len(right.ids) - last
        right = replace(right, ids=np.concatenate((right.ids[:last], np.repeat(right.ids[last:], 2))), offsets=offsets)
        sums[2][-1] *= 2
    elif numbered:
        k, matrix = (1, left) if numbered == "left" else (2, right)
        numbers = rng.integers(0, 9, len(matrix.ids)).astype(np.uint32)
        sums[k][np.nonzero(own[k])] = numbers
        left, right = (
            (replace(left, factors=(numbers,)), right) if k == 1 else (left, replace(right, factors=(numbers,)))
        )
    vector = None if weights == "none" else rng.integers(0, 2 if weights == "some" else 50, n).astype(np.uint64)
    weighed = sums[1] * (1 if vector is None else vector.astype(np.int64))
    found_by = (weighed.astype(np.float64) @ sums[2].T.astype(np.float64)).astype(np.int64)  # all below 2⁵³
    with forced(isa):
        found = masked_product(across, left, right, n, vector, wide, threads)
    assert np.array_equal(found.astype(np.int64), found_by[np.nonzero(own[0])])
