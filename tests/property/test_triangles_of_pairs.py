"""What vertices have in common, by the kernels of elimination, against products of dense matrices."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine import _native
from qengine.errors import QueryInterrupted
from qengine.exec.common.relations import MATRIX, SparseMatrix
from qengine.exec.context import ExecutionContext
from qengine.exec.host.ranked_pairs import RankedPairs
from tests.instruction_sets import forced

Array = npt.NDArray[Any]


def adjacency(seed: int, n: int, density: float, ordered: bool) -> Array:
    """Make a symmetric 0/1 matrix with hubs, by descending degree if ``ordered``."""
    rng = np.random.default_rng(seed)
    weight = np.minimum(1.0, density / np.sqrt(np.arange(1, n + 1) / n))
    linked = np.triu(rng.random((n, n)) < np.outer(weight, weight), 1)
    linked |= linked.T
    order = np.argsort(-linked.sum(axis=0), kind="stable") if ordered else rng.permutation(n)
    return linked[np.ix_(order, order)]


def sparse(linked: Array, lo: int) -> SparseMatrix:
    """Return a matrix as the kernels read it, whose first vertex has the id ``lo``."""
    row, column = np.nonzero(linked)
    offsets = np.zeros(len(linked) + 1, np.uint64)
    np.cumsum(np.bincount(row, minlength=len(linked)), out=offsets[1:])
    return SparseMatrix(offsets, (column + lo).astype(np.uint32), lo, lo + len(linked), pairs=True)


def call(name: str, matrix: SparseMatrix, threads: int, *rest: Any) -> None:
    context = ExecutionContext(threads=threads)
    record = np.array([matrix.record()], MATRIX)
    function = getattr(_native.load(), name)
    assert function(ctypes.c_void_p(record.ctypes.data), *rest, ctypes.byref(context.control)) == 0
    assert context.control.memory_used == 0


graphs = given(
    seed=st.integers(0, 2**32),
    n=st.sampled_from([2, 30, 511, 513, 1200]),
    density=st.sampled_from([0.02, 0.1, 0.4]),
    ordered=st.booleans(),
    lo=st.sampled_from([0, 1, 700]),
    threads=st.sampled_from([1, 2, 3]),
)


@pytest.mark.parametrize("isa", [0, 1, 2], ids=["baseline", "avx2", "avx512"])
@settings(max_examples=10)
@graphs
def test_counts(isa: int, seed: int, n: int, density: float, ordered: bool, lo: int, threads: int) -> None:
    linked = adjacency(seed, n, density, ordered)
    matrix = sparse(linked, lo)
    out = np.full(len(matrix.ids), 2**32 - 1, np.uint32)
    with forced(isa):
        context = ExecutionContext(threads=threads)
        index = RankedPairs(matrix, context)
        for _ in range(2):
            out[:] = 2**32 - 1
            index.count_triangles(context, out)
    dense = linked.astype(np.float64)
    assert (out == (dense @ dense)[np.nonzero(linked)]).all()


@pytest.mark.parametrize("isa", [0, 1, 2], ids=["baseline", "avx2", "avx512"])
@settings(max_examples=10)
@graphs
def test_closed_walks(isa: int, seed: int, n: int, density: float, ordered: bool, lo: int, threads: int) -> None:
    linked = adjacency(seed, n, density, ordered)
    with forced(isa):
        context = ExecutionContext(threads=threads)
        found = RankedPairs(sparse(linked, lo), context).closed_walks(context)
    dense = linked.astype(np.float64)
    assert found == int(((dense @ dense) ** 2).sum())


@pytest.mark.parametrize("isa", [0, 1, 2], ids=["baseline", "avx2", "avx512"])
@settings(max_examples=10)
@graphs
def test_long_walks(isa: int, seed: int, n: int, density: float, ordered: bool, lo: int, threads: int) -> None:
    linked = adjacency(seed, n, density, ordered)
    weights = np.random.default_rng(seed).integers(0, 2**32, lo + n).astype(np.uint64)
    with forced(isa):
        context = ExecutionContext(threads=threads)
        index = RankedPairs(sparse(linked, lo), context)
        found = index.long_walks(context, weights)
        assert index.long_walks(context) == (*found[:2], 0)
    assert context.control.memory_used == 0
    dense = linked.astype(np.float64)
    two = dense @ dense
    three = two @ dense
    fours = (two**2).sum(axis=1).astype(np.int64)  # what is exact in 53 bits, or added up as Python's integers
    sixes = (three**2).sum(axis=1).astype(np.int64)
    weighted = sum(int(weights[lo + v]) * int(fours[v]) for v in range(n))
    assert found == (int((two * three).sum(axis=1).astype(np.int64).sum()), sum(map(int, sixes)), weighted)


def test_long_walks_of_a_vertex_with_more_neighbours_than_lanes_count() -> None:
    """A hub that is linked to each vertex of a path: what returns to the hub, and the walks of the path alone."""
    m = 66_000
    weights = np.random.default_rng(1).integers(0, 2**32, m + 1).astype(np.uint64)
    steps = np.arange(m - 1)
    context = ExecutionContext(threads=2)
    path = _linked(m, steps, steps + 1)
    fives, sixes, weighted = RankedPairs(path, context).long_walks(context, weights[1:].copy())
    one = np.ones(m, np.int64)
    two = _pushed(path, one)
    three = _pushed(path, two)
    f2, f3, f4, f5, f6 = (int(each) for each in (m, two.sum(), two @ two, two @ three, three @ three))
    hub, others = int(weights[0]), [int(each) for each in weights[1:]]
    fives += 5 * (f5 + f2 * f3)
    sixes += 6 * (f6 + f2 * f4) + 3 * f3**2 + 2 * f2**3
    weighted += hub * (f4 + f2**2) + sum(
        weight * (int(met) ** 2 + 2 * int(beyond) + f2) for weight, met, beyond in zip(others, two, three, strict=True)
    )
    fan = _linked(m + 1, np.append(np.zeros(m, np.int64), steps + 1), np.append(np.arange(m) + 1, steps + 2))
    assert RankedPairs(fan, context).long_walks(context, weights) == (fives, sixes, weighted)


def _linked(n: int, one: Array, other: Array) -> SparseMatrix:
    """Return a matrix that links pairs of vertices."""
    row, column = np.append(one, other), np.append(other, one)
    order = np.lexsort((column, row))
    offsets = np.zeros(n + 1, np.uint64)
    np.cumsum(np.bincount(row, minlength=n), out=offsets[1:])
    return SparseMatrix(offsets, column[order].astype(np.uint32), 0, n, pairs=True)


def _pushed(matrix: SparseMatrix, numbers: Array) -> Array:
    """Return the sum of each row's numbers; no row is empty."""
    return np.add.reduceat(numbers[matrix.ids], matrix.offsets[:-1].astype(np.int64))


def test_long_walks_stop_when_they_are_told_to() -> None:
    index = RankedPairs(sparse(adjacency(1, 600, 0.4, True), 0), ExecutionContext(threads=2))
    stopped = ExecutionContext(threads=2)
    stopped.control.stop = 1
    with pytest.raises(QueryInterrupted):
        index.long_walks(stopped)
    assert stopped.control.memory_used == 0


@settings(max_examples=10)
@graphs
def test_sums(seed: int, n: int, density: float, ordered: bool, lo: int, threads: int) -> None:
    linked = adjacency(seed, n, density, ordered)
    matrix = sparse(linked, lo)
    vector = np.random.default_rng(seed).integers(0, 1000, lo + n).astype(np.uint64)
    out = np.zeros(len(matrix.ids), np.uint64)
    pointers = ctypes.c_void_p(vector.ctypes.data), 0, ctypes.c_void_p(out.ctypes.data)
    call("qe_eliminate_triangle_sums", matrix, threads, *pointers)
    dense = linked.astype(np.float64)
    assert (out == (dense @ (vector[lo:, None] * dense))[np.nonzero(linked)]).all()
