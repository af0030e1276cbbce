"""Set operations of every instruction set against Python's sets; the lists' ends and the blocks' edges included."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qengine import _native

MERGE, MERGE_COUNT, GALLOP, GALLOP_COUNT, UNITE = range(5)
SLACK = 16
LARGEST = 2**31 - 1


def available() -> list[int]:
    force = _native.load().qe_force_isa
    best = force(-1)
    return list(range(best + 1))


ISAS = {0: "baseline", 1: "avx2", 2: "avx512"}
every_isa = pytest.mark.parametrize("isa", available(), ids=lambda isa: ISAS[isa])


def pointer(array: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p(None if array is None else array.ctypes.data)


def operate(isa: int, operation: int, a: Any, b: Any, store: bool) -> Any:
    function = _native.load().qe_set_operation
    function.restype = ctypes.c_int64
    room = len(a) + len(b) + SLACK
    out = np.full(room + 1, 0xABCDABCD, np.uint32) if store else None
    n = function(isa, operation, pointer(a), ctypes.c_int64(len(a)), pointer(b), ctypes.c_int64(len(b)), pointer(out))
    if out is None:
        return n
    limit = (min(len(a), len(b)) if operation != UNITE else len(a) + len(b)) + SLACK
    assert (out[limit:] == 0xABCDABCD).all(), "wrote past min(na, nb) + slack"
    return out[:n]


@st.composite
def lists(draw: st.DrawFn, repeats: bool = False) -> Any:
    """Sorted ids: dense or sparse, near 0 or near the largest id, of lengths round the block sizes."""
    width = draw(st.sampled_from([4, 40, 300, 100_000]))
    base = draw(st.sampled_from([0, LARGEST - width]))
    values = draw(st.lists(st.integers(0, width), max_size=80, unique=not repeats))
    return np.array(sorted(values), np.uint32) + np.uint32(base)


class BitCounters(ctypes.Structure):
    """Mirror of ``qe::BitCounters``."""

    _fields_ = (("words", ctypes.c_void_p), ("digits", ctypes.c_size_t))


@every_isa
@given(a=lists(), b=lists())
def test_intersections(isa: int, a: Any, b: Any) -> None:
    common = sorted(set(a.tolist()) & set(b.tolist()))
    for store, count in ((MERGE, MERGE_COUNT), (GALLOP, GALLOP_COUNT)):
        assert operate(isa, store, a, b, True).tolist() == common
        assert operate(isa, count, a, b, False) == len(common)


@every_isa
@pytest.mark.parametrize("na", [0, 1, 7, 8, 9, 15, 16, 17, 31, 33, 1000])
@pytest.mark.parametrize("nb", [0, 1, 8, 9, 16, 40, 5000])
def test_lengths_round_the_blocks(isa: int, na: int, nb: int) -> None:
    generator = np.random.default_rng(na * 10_000 + nb)
    a = np.sort(generator.choice(8000, na, replace=False)).astype(np.uint32)
    b = np.sort(generator.choice(8000, nb, replace=False)).astype(np.uint32)
    common = np.intersect1d(a, b)
    for store, count in ((MERGE, MERGE_COUNT), (GALLOP, GALLOP_COUNT)):
        np.testing.assert_array_equal(operate(isa, store, a, b, True), common)
        assert operate(isa, count, a, b, False) == len(common)


@given(a=lists(repeats=True), b=lists(repeats=True))
def test_union(a: Any, b: Any) -> None:
    assert operate(0, UNITE, a, b, True).tolist() == sorted({*a.tolist(), *b.tolist()})


def bitmap(values: list[int], words: int) -> Any:
    bits = np.zeros(words, np.uint64)
    for value in values:
        bits[value // 64] |= np.uint64(1 << value % 64)
    return bits


@every_isa
@given(marked=st.sets(st.integers(0, 1500)), values=st.sets(st.integers(0, 1500)))
def test_bitmaps(isa: int, marked: set[int], values: set[int]) -> None:
    function = _native.load().qe_bitmap_operation
    function.restype = ctypes.c_int64
    bits, other = bitmap(sorted(marked), 24), bitmap(sorted(values), 24)
    array = np.array(sorted(values), np.uint32)
    out = np.zeros(len(array) + SLACK, np.uint32)
    n = ctypes.c_int64(len(array))
    common = sorted(marked & values)
    assert function(isa, pointer(bits), pointer(array), n, pointer(None), pointer(None)) == len(common)
    assert function(isa, pointer(bits), pointer(array), n, pointer(out), pointer(None)) == len(common)
    assert out[: len(common)].tolist() == common
    assert function(isa, pointer(bits), pointer(None), ctypes.c_int64(24), pointer(None), pointer(other)) == len(common)


@every_isa
@pytest.mark.parametrize("words", [1, 2, 7, 8, 9, 17])
@pytest.mark.parametrize("below", [False, True])
def test_pairs_within_a_set(isa: int, words: int, below: bool) -> None:
    generator = np.random.default_rng(words)
    n = 64 * words
    matrix = generator.random((n, n)) < 0.3
    if below:
        matrix = np.tril(matrix, -1)
    members = generator.random(n) < 0.5
    rows = np.packbits(matrix, axis=1, bitorder="little").view(np.uint64)
    bits = np.packbits(members, bitorder="little").view(np.uint64)
    function = _native.load().qe_bitmap_operation
    function.restype = ctypes.c_int64
    flag = np.array([below], np.uint32)
    count = function(isa, pointer(bits), pointer(None), ctypes.c_int64(words), pointer(flag), pointer(rows))
    assert count == int(matrix[np.ix_(members, members)].sum())


@every_isa
@pytest.mark.parametrize("words", [8, 16, 64])
def test_rows_against_a_set(isa: int, words: int) -> None:
    generator = np.random.default_rng(words)
    rows = generator.integers(0, 2**64, (9, words), np.uint64)
    members = generator.integers(0, 2**64, words, np.uint64)
    counts = np.arange(9, dtype=np.uint32)
    n = ctypes.c_int64(len(rows))
    _native.load().qe_row_counts(isa, pointer(members), pointer(rows), n, ctypes.c_int64(words), pointer(counts))
    assert counts.tolist() == [k + int(np.bitwise_count(row & members).sum()) for k, row in enumerate(rows)]


@every_isa
@pytest.mark.parametrize("words", [8, 16, 64])
@pytest.mark.parametrize("n", [1, 7, 8, 9, 40, 300])
def test_rows_added_up(isa: int, words: int, n: int) -> None:
    generator = np.random.default_rng(n + words)
    bits = generator.random((n, 64 * words)) < generator.random(64 * words)
    rows = np.packbits(bits, axis=1, bitorder="little").view(np.uint64)
    digits = max(4, n.bit_length())
    counters = np.zeros(digits * words, np.uint64)
    places = np.sort(generator.choice(64 * words, 5 * words, replace=False)).astype(np.uint32)
    counts = np.arange(len(places), dtype=np.uint32)
    first = 2**31
    shifted = places + np.uint32(first)
    every = np.empty(64 * words, np.uint32)
    sizes = [ctypes.c_int64(size) for size in (n, words, digits, len(places))]
    library = _native.load()
    library.qe_spread_counters.restype = ctypes.c_uint64
    to = pointer(counters), sizes[2]
    library.qe_add_rows(isa, pointer(rows), *sizes[:2], *to)
    library.qe_read_counters(isa, *to, pointer(shifted), sizes[3], first, pointer(counts))
    pairs = library.qe_spread_counters(isa, *to, sizes[1], pointer(every))
    sums = bits.sum(axis=0)
    assert counts.tolist() == [k + int(count) for k, count in enumerate(sums[places])]
    assert every.tolist() == sums.tolist()
    assert pairs == int((sums * (sums - 1)).sum())


@every_isa
@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 40, 300])
def test_lines_added_up(isa: int, n: int) -> None:
    generator = np.random.default_rng(n)
    bits = generator.random((50, 512)) < generator.random(512)
    lines = np.packbits(bits, axis=1, bitorder="little").view(np.uint64)
    ids = generator.integers(0, len(lines), n).astype(np.uint32)
    kept = generator.random(512) < 0.7
    own = np.packbits(kept, bitorder="little").view(np.uint64)
    digits, begin = max(3, n.bit_length()), n // 3
    counters = np.full(8 * digits, 2**64 - 1, np.uint64)
    counts = np.arange(n - begin, dtype=np.uint32)
    sums = np.ones(16 * digits, np.uint64)
    to = BitCounters(counters.ctypes.data, digits)
    given = pointer(lines), pointer(ids), ctypes.c_int64(n), pointer(own), ctypes.byref(to), ctypes.c_int64(begin)
    _native.load().qe_add_lines(isa, *given, pointer(counts))
    _native.load().qe_add_squares(isa, ctypes.byref(to), pointer(sums))
    common = bits[ids] & kept
    read = np.unpackbits(counters.view(np.uint8), bitorder="little").reshape(digits, 512).astype(np.int64)
    assert (read * 2 ** np.arange(digits)[:, None]).sum(axis=0).tolist() == common.sum(axis=0).tolist()
    assert counts.tolist() == [k + int(found) for k, found in enumerate(common[begin:].sum(axis=1))]
    squares = (sums.reshape(-1, 8) - 1).sum(axis=1) * 2 ** np.arange(2 * digits, dtype=np.uint64)
    assert int(squares.sum()) == int((common.sum(axis=0) ** 2).sum())


@every_isa
@given(marked=st.sets(st.integers(0, 1500)), values=st.sets(st.integers(0, 1500)))
def test_bits_of_members(isa: int, marked: set[int], values: set[int]) -> None:
    list_ = np.array(sorted(values), np.uint32)
    out = np.full(24, 2**64 - 1, np.uint64)
    bits, n = bitmap(sorted(marked), 24), ctypes.c_int64(len(values))
    _native.load().qe_member_bits(isa, pointer(bits), pointer(list_), n, pointer(out))
    words = (len(values) + 63) // 64
    expected = bitmap([k for k, value in enumerate(sorted(values)) if value in marked], 24)
    assert out[:words].tolist() == expected[:words].tolist()
