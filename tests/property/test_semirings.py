"""Matrices times vectors, vectors times counts, and totals in the semirings of aggregates, against Python's numbers."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine import _native
from qengine.exec.common.relations import MATRIX, NUMBERS, SparseMatrix, numbers
from qengine.exec.context import ExecutionContext

Array = npt.NDArray[Any]

EXISTS, MIN_INT, MAX_INT, MIN_FLOAT, MAX_FLOAT, SUM_INT, SUM_FLOAT = range(7)
ALL = range(7)
FLOATS = (MIN_FLOAT, MAX_FLOAT, SUM_FLOAT)
OK, OVERFLOW, INVALID = 0, 4, 5

WEIGHTS = np.dtype([("factors", "<u8"), ("count", "<i4"), ("unused", "<i4")])
VECTOR = np.dtype([("numbers", "<u8"), ("present", "<u8")])


class Vector:
    """Numbers as a semiring's, with which of them there are; None for all."""

    def __init__(self, semiring: int, given: Array, present: Array | None) -> None:
        if semiring == EXISTS:
            self.numbers: Array = np.zeros(0, np.uint8)
        elif semiring == SUM_INT:
            self.numbers = np.array([_halves(int(each)) for each in given], np.uint64).reshape(-1, 2)
        else:
            self.numbers = np.array(given, np.float64 if semiring in FLOATS else np.int64)
        self.present = None if present is None else present.astype(np.uint8)
        where = 0 if self.present is None else self.present.ctypes.data
        self.record = np.array([(self.numbers.ctypes.data, where)], VECTOR)

    @classmethod
    def empty(cls, semiring: int, n: int) -> Vector:
        return cls(semiring, np.full(n, 7), np.full(n, 1))

    def value(self, semiring: int, i: int) -> Any:
        assert self.present is not None
        if not self.present[i]:
            assert semiring == EXISTS or not self.numbers[i].any()
            return None
        if semiring == EXISTS:
            return True
        if semiring == SUM_INT:
            low, high = map(int, self.numbers[i])
            return low + ((high - 2**64 if high >= 2**63 else high) << 64)
        return self.numbers[i].item()


def _halves(number: int) -> tuple[int, int]:
    return number & (2**64 - 1), number >> 64 & (2**64 - 1)


def _run(name: str, threads: int, *args: Any) -> int:
    context = ExecutionContext(threads=threads)
    status: int = getattr(_native.load(), name)(*args, ctypes.byref(context.control))
    assert context.control.memory_used == 0
    return status


def _at(record: Array) -> ctypes.c_void_p:
    return ctypes.c_void_p(record.ctypes.data)


class Weights:
    """Counts that are multiplied, as the kernels read them."""

    def __init__(self, factors: list[Array]) -> None:
        self.factors = factors
        self.records = np.array([numbers(each) for each in factors], NUMBERS)
        self.record = np.array([(self.records.ctypes.data, len(factors), 0)], WEIGHTS)

    def product(self, i: int) -> int:
        return math.prod(int(each[i]) for each in self.factors)


def expected(semiring: int, terms: list[tuple[Any, int]]) -> Any:
    """Add up (number, weight) with Python's exact numbers; None for the sum of none."""
    terms = [(number, weight) for number, weight in terms if weight != 0]
    if not terms:
        return None
    values = [number for number, _ in terms]
    match semiring:
        case 0:
            return True
        case 1 | 3:
            return min(values)
        case 2 | 4:
            return max(values)
        case 5:
            return sum(int(number) * weight for number, weight in terms)
    return math.fsum(number * weight for number, weight in terms)


def same(semiring: int, found: Any, wanted: Any) -> bool:
    if semiring == SUM_FLOAT and None not in (found, wanted):
        return math.isclose(found, wanted, rel_tol=1e-15, abs_tol=1e-9)
    return bool(found == wanted)


def drawn(seed: int, semiring: int, n: int, entries: int) -> tuple[Array, Array | None, list[Array]]:
    """Draw a vector's numbers, which there are, and weights of entries."""
    rng = np.random.default_rng(seed)
    values: Array = rng.integers(-(2**62), 2**62, n)
    if semiring in FLOATS:
        values = rng.normal(size=n) * 10.0 ** rng.integers(-3, 12, n)
    present = None if seed % 3 == 0 else rng.random(n) < 0.7
    widths = (np.uint16, np.uint32, np.uint64)
    factors = [rng.integers(0, 4, entries).astype(widths[k]) for k in range(seed % 4)]
    return values, present, factors


cases = given(
    seed=st.integers(0, 2**32),
    n=st.sampled_from([1, 40, 700]),
    degree=st.sampled_from([1, 6, 200]),
    lo=st.sampled_from([0, 3]),
    threads=st.sampled_from([1, 3]),
)


@pytest.mark.parametrize("semiring", ALL)
@settings(max_examples=12)
@cases
def test_a_matrix_times_a_vector(semiring: int, seed: int, n: int, degree: int, lo: int, threads: int) -> None:
    rng = np.random.default_rng(seed + 1)
    lengths = rng.integers(0, degree + 1, n)
    offsets = np.append(0, np.cumsum(lengths)).astype(np.uint64)
    ids = np.concatenate([np.sort(rng.integers(0, n, length)) for length in lengths]).astype(np.uint32)
    record = np.array([SparseMatrix(offsets, ids, lo, lo + n).record()], MATRIX)
    values, present, factors = drawn(seed, semiring, n, len(ids))
    vector, weights, out = Vector(semiring, values, present), Weights(factors), Vector.empty(semiring, lo + n)
    where = [_at(each) for each in (record, weights.record, vector.record)]
    assert _run("qe_semiring_matvec", threads, *where, lo + n, semiring, _at(out.record)) == OK
    for u in range(lo + n):
        row = range(*map(int, offsets[u - lo : u - lo + 2])) if u >= lo else range(0)
        kept = [e for e in row if present is None or present[ids[e]]]
        wanted = expected(semiring, [(values[ids[e]].item(), weights.product(e)) for e in kept])
        assert same(semiring, out.value(semiring, u), wanted)


@pytest.mark.parametrize("semiring", ALL)
@settings(max_examples=12)
@given(seed=st.integers(0, 2**32), n=st.sampled_from([0, 1, 4095, 4097, 70_000]), threads=st.sampled_from([1, 3]))
def test_products_and_totals(semiring: int, seed: int, n: int, threads: int) -> None:
    values, present, factors = drawn(seed, semiring, n, n)
    vector, weights = Vector(semiring, values, present), Weights(factors)
    where = _at(weights.record), _at(vector.record), ctypes.c_uint64(n), semiring
    products, total = Vector.empty(semiring, n), Vector.empty(semiring, 1)
    assert _run("qe_semiring_product", threads, *where, _at(products.record)) == OK
    assert _run("qe_semiring_total", threads, *where, _at(total.record)) == OK
    terms = [(values[i].item(), weights.product(i)) for i in range(n) if present is None or present[i]]
    assert same(semiring, total.value(semiring, 0), expected(semiring, terms))
    for i in np.random.default_rng(seed).integers(0, n, min(n, 50)).tolist():
        term = [(values[i].item(), weights.product(i))] if present is None or present[i] else []
        assert same(semiring, products.value(semiring, i), expected(semiring, term))


def test_sums_of_floats_are_the_same_on_all_threads() -> None:
    values = np.random.default_rng(5).normal(size=300_001) * 10.0 ** np.random.default_rng(6).integers(-8, 8, 300_001)
    vector, weights = Vector(SUM_FLOAT, values, None), Weights([])
    found = set()
    for threads in (1, 2, 3, 5):
        out = Vector.empty(SUM_FLOAT, 1)
        where = _at(weights.record), _at(vector.record), ctypes.c_uint64(len(values)), SUM_FLOAT
        assert _run("qe_semiring_total", threads, *where, _at(out.record)) == OK
        found.add(out.value(SUM_FLOAT, 0))
    assert len(found) == 1
    assert math.isclose(found.pop(), math.fsum(values), rel_tol=1e-15)


@pytest.mark.parametrize(
    ("semiring", "given", "wanted"),
    [
        (MIN_FLOAT, [math.nan, 2.0, math.inf], 2.0),
        (MAX_FLOAT, [2.0, math.nan, math.inf], math.nan),
        (MIN_FLOAT, [math.nan], math.nan),
        (SUM_FLOAT, [1e308, 1e308, -1e308], math.inf),
        (SUM_FLOAT, [math.inf, -math.inf], math.nan),
        (SUM_FLOAT, [1e16, 1.0, -1e16], 1.0),
        (MIN_INT, [2**63 - 1], 2**63 - 1),
        (MAX_INT, [-(2**63)], -(2**63)),
        (SUM_INT, [2**126, 2**126 - 1], 2**127 - 1),
    ],
)
def test_numbers_at_the_edge(semiring: int, given: list[Any], wanted: Any) -> None:
    vector, weights, out = Vector(semiring, np.array(given, object), None), Weights([]), Vector.empty(semiring, 1)
    where = _at(weights.record), _at(vector.record), ctypes.c_uint64(len(given)), semiring
    assert _run("qe_semiring_total", 1, *where, _at(out.record)) == OK
    found = out.value(semiring, 0)
    assert found == wanted or (math.isnan(wanted) and math.isnan(found))


@pytest.mark.parametrize(
    ("semiring", "given", "factors", "status"),
    [
        (SUM_INT, [2**126, 2**126], [], OVERFLOW),
        (SUM_INT, [1], [np.array([2**64 - 1], np.uint64), np.array([2**63 + 1], np.uint64)], OVERFLOW),
        (SUM_INT, [2**70], [np.array([2**64 - 1], np.uint64)], OVERFLOW),
        (SUM_INT, [1], [*[np.array([2**64 - 1], np.uint64)] * 3, np.array([0], np.uint64)], OK),
        (7, [1], [], INVALID),
    ],
)
def test_statuses(semiring: int, given: list[Any], factors: list[Array], status: int) -> None:
    vector, weights, out = Vector(semiring, np.array(given, object), None), Weights(factors), Vector.empty(semiring, 1)
    where = _at(weights.record), _at(vector.record), ctypes.c_uint64(len(given)), semiring
    assert _run("qe_semiring_total", 1, *where, _at(out.record)) == status
