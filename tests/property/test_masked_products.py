"""Masked products and squares of rows, by the kernels of elimination, against products of dense matrices."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine import _native
from qengine.exec.common.relations import MATRIX, SparseMatrix
from qengine.exec.context import ExecutionContext
from qengine.exec.host.kernels import ROW_SQUARES

Array = npt.NDArray[Any]

OK, OVERFLOW = 0, 4
LITTLE = 40_000
"""Bytes in which kernels run, but not the bits of a block of 600 rows."""


def sparse(dense: Array, values: bool = False, rows: Array | None = None) -> SparseMatrix:
    """Return a matrix of small numbers as the kernels read it: as values, or as entries that repeat."""
    counts = (dense != 0).astype(np.int64) if values else dense
    row, column = np.nonzero(counts)
    often = counts[row, column]
    offsets = np.append(0, np.cumsum(counts.sum(axis=1))).astype(np.uint64)
    factors = (dense[row, column].astype(np.uint32),) if values else ()
    ids = np.repeat(column, often).astype(np.uint32)
    return SparseMatrix(offsets, ids, 0, len(dense), factors=factors, rows=rows)


def call(name: str, matrices: list[SparseMatrix], *rest: Any, threads: int = 1, limit: int = 0) -> int:
    context = ExecutionContext(threads=threads)
    context.control.memory_limit = limit
    records = [np.array([each.record()], MATRIX) for each in matrices]
    where = [ctypes.c_void_p(each.ctypes.data) for each in records]
    status: int = getattr(_native.load(), name)(*where, *rest, ctypes.byref(context.control))
    assert context.control.memory_used == 0
    return status


def at(array: Array | None) -> ctypes.c_void_p:
    return ctypes.c_void_p(None if array is None else array.ctypes.data)


def closed(across: Array, left: Array, right: Array, vector: Array) -> Array:
    """Return the masked product of small numbers, an entry each."""
    product = (left * vector) @ right.T
    row, column = np.nonzero(across)
    return np.repeat(product[row, column], across[row, column])


@settings(max_examples=40)
@given(
    seed=st.integers(0, 2**32),
    n=st.sampled_from([1, 30, 300]),
    density=st.sampled_from([0.02, 0.5]),
    most=st.sampled_from([1, 3]),
    values=st.booleans(),
    wide=st.booleans(),
    large=st.booleans(),
    threads=st.sampled_from([1, 3]),
)
def test_masked_products(
    seed: int, n: int, density: float, most: int, values: bool, wide: bool, large: bool, threads: int
) -> None:
    rng = np.random.default_rng(seed)
    skew = density / np.sqrt(np.arange(1, n + 1))[rng.permutation(n), None]
    across, left, right = ((rng.random((n, n)) < skew) * rng.integers(1, most + 1, (n, n)) for _ in range(3))
    vector = rng.integers(0, 2**40 if large else 100, n)
    out = np.full((int(across.sum()), 1 + wide), 7, np.uint64)
    given = np.stack((vector, np.zeros_like(vector)), axis=1) if wide else vector
    given = np.ascontiguousarray(given.astype(np.uint64))
    matrices = [sparse(across), sparse(left, values), sparse(right, values)]
    status = call("qe_masked_product", matrices, n, at(given), int(wide), at(out), threads=threads)
    assert status == OK
    assert (out[:, 0] == closed(across, left, right, vector).astype(np.uint64)).all()
    assert not out[:, 1:].any()


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("weights", ["none", "ones", "numbers", "wide"])
@pytest.mark.parametrize("limit", [0, 30_000], ids=["turned", "no room to turn"])
def test_masked_products_of_hubs(limit: int, weights: str, threads: int) -> None:
    """Few rows of the right matrix have most of its columns, each of which is in few rows: its transpose is read."""
    rng, n = np.random.default_rng(7), 400
    across, left, right = np.zeros((3, n, n), np.int64)
    across[rng.integers(0, n, 2_000), rng.integers(0, 8, 2_000)] = rng.integers(1, 3, 2_000)
    left[rng.integers(0, n, 2_000), rng.integers(0, n, 2_000)] = rng.integers(1, 3, 2_000)
    right[rng.integers(0, 8, 3_000), rng.integers(0, n, 3_000)] = rng.integers(1, 3, 3_000)
    vector = rng.integers(0, 2, n) if weights == "ones" else rng.integers(0, 2**30, n)
    given = np.stack((vector, vector * 0), axis=1) if weights == "wide" else vector
    given = None if weights == "none" else np.ascontiguousarray(given.astype(np.uint64))
    wide = weights == "wide"
    out = np.full((int(across.sum()), 1 + wide), 7, np.uint64)
    matrices = [sparse(across), sparse(left, values=weights == "numbers"), sparse(right)]
    assert call("qe_masked_product", matrices, n, at(given), int(wide), at(out), threads=threads, limit=limit) == OK
    expected = closed(across, left, right, np.ones(n, np.int64) if given is None else vector)
    assert (out[:, 0] == expected.astype(np.uint64)).all()
    assert not out[:, 1:].any()


def test_a_masked_product_that_does_not_fit() -> None:
    ones = np.ones((3, 3), np.int64)
    vector = np.full(3, 2**63, np.uint64)
    wide = np.stack((vector, np.zeros(3, np.uint64)), axis=1)
    out = np.zeros((9, 2), np.uint64)
    three = [sparse(ones)] * 3
    assert call("qe_masked_product", three, 3, at(vector), 0, at(out)) == OVERFLOW
    assert call("qe_masked_product", three, 3, at(wide), 1, at(out)) == OK
    assert (out == [2**63, 1]).all()
    none = np.zeros(9, np.uint64)
    assert call("qe_masked_product", three, 3, None, 0, at(none)) == OK
    assert (none == 3).all()


def blocks_of(rng: np.random.Generator, sizes: list[int], density: float) -> tuple[Array, Array]:
    """Make a symmetric matrix that links rows of one block only, and where blocks begin."""
    begins = np.append(0, np.cumsum(sizes)).astype(np.uint64)
    block = np.repeat(np.arange(len(sizes)), sizes)
    weight = np.minimum(1, density / np.sqrt(rng.random(len(block)) + 1e-3))
    linked = np.triu((rng.random((len(block),) * 2) < weight[:, None]) & (block[:, None] == block), 1)
    return (linked | linked.T).astype(np.int64), begins


@pytest.mark.parametrize("limit", [0, LITTLE], ids=["bits", "no room for bits"])
@pytest.mark.parametrize("isa", [0, 1, 2], ids=["baseline", "avx2", "avx512"])
@settings(max_examples=6)
@given(
    seed=st.integers(0, 2**32),
    sizes=st.sampled_from([[1], [3, 0, 70, 2], [600], [20, 511, 1, 600, 0, 40]]),
    density=st.sampled_from([0.01, 0.1, 0.6]),
    threads=st.sampled_from([1, 2]),
)
def test_blocks(isa: int, limit: int, seed: int, sizes: list[int], density: float, threads: int) -> None:
    linked, begins = blocks_of(np.random.default_rng(seed), sizes, density)
    matrix = sparse(linked)
    triangles = np.full(len(matrix.ids), 7, np.uint32)
    walks = np.full(len(linked), 7, np.uint64)
    where = at(begins), ctypes.c_uint64(len(sizes))
    _native.load().qe_force_isa(isa)
    try:
        for name, out in (("qe_eliminate_local_triangles", triangles), ("qe_eliminate_local_walks", walks)):
            assert call(name, [matrix], *where, at(out), threads=threads, limit=limit) == OK
    finally:
        _native.load().qe_force_isa(-1)
    two = linked.astype(np.float64) @ linked
    assert (triangles == two[np.nonzero(linked)]).all()
    assert (walks == (two**2).sum(axis=1)).all()


@pytest.mark.parametrize("limit", [0, 150_000], ids=["bits", "no room for bits"])
@pytest.mark.parametrize("turned", [False, True], ids=["rows", "rows of ends"])
@settings(max_examples=4)
@given(seed=st.integers(0, 2**32), density=st.sampled_from([0.02, 0.3]), threads=st.sampled_from([1, 2]))
def test_squares_of_rows(turned: bool, limit: int, seed: int, density: float, threads: int) -> None:
    rng = np.random.default_rng(seed)
    n, columns = 500, 17_000  # more than a head has
    start = (rng.random((n, n)) < density).astype(np.int64)
    sparser = np.minimum(1, 40 / np.arange(1, columns + 1))
    link = (rng.random((n, columns)) < sparser * rng.random((n, 1)) * 2).astype(np.int64)
    ends = rng.integers(0, n, n).astype(np.uint32) if turned else None
    first, second = sparse(start), sparse(link, rows=ends)
    out = np.full(n, 7, np.uint64)
    records = [np.array([each.record()], MATRIX) for each in (first, second)]
    task = np.array([(*(each.ctypes.data for each in records), out.ctypes.data, n, columns)], ROW_SQUARES)
    context = ExecutionContext(threads=threads)
    context.control.memory_limit = limit
    assert _native.load().qe_row_squares(at(task), ctypes.byref(context.control)) == OK
    assert context.control.memory_used == 0
    ways = start.astype(np.float64) @ (link if ends is None else link[ends])
    assert (out == (ways**2).sum(axis=1)).all()
