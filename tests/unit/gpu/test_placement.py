"""Arrays for which the device has no room: which share lies where, and what accounts are charged."""

from __future__ import annotations

import ctypes
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qengine.errors import OutOfMemory
from qengine.exec.context import ExecutionContext
from qengine.exec.gpu import paged
from qengine.exec.gpu.list_pieces import segments
from qengine.exec.gpu.memory import DeviceMemory
from qengine.exec.gpu.paged import Pages, parts_at
from qengine.exec.gpu.placement import (
    STREAMED,
    VERTEX_BYTES,
    WHOLE,
    Placement,
    Use,
    page_runs,
    placement,
    scratch_bytes,
)
from qengine.exec.memory import MemoryAccount
from tests.emulator.device import Block, EmulatedPages, EmulatedRun, Full, Pool

BYTES = st.integers(0, 1 << 40)


@given(BYTES, BYTES, st.integers(0, 1 << 32), st.sampled_from([Use.SEARCH, Use.COPIES, Use.COLUMNS]))
def test_what_lies_on_the_device_leaves_room_for_scratch(limit: int, n_bytes: int, vertices: int, use: Use) -> None:
    found = placement(limit, n_bytes, vertices, use)
    derived = VERTEX_BYTES * vertices
    lists, by_vertex = found.bytes_of(n_bytes, by_vertex=False), found.bytes_of(derived, by_vertex=True)
    if found.is_whole:
        assert (lists, by_vertex) == (n_bytes, derived)
    assert lists + by_vertex + scratch_bytes(limit) <= limit * (1 + 1e-9) + 2
    assert 0 <= found.lists <= 1 and 0 <= found.vertices <= 1


@given(BYTES, BYTES, BYTES, st.integers(1, 1 << 32))
def test_more_memory_holds_no_less(one: int, other: int, n_bytes: int, vertices: int) -> None:
    less, more = (placement(limit, n_bytes, vertices) for limit in sorted((one, other)))
    total = [each.lists * n_bytes + each.vertices * VERTEX_BYTES * vertices for each in (less, more)]
    assert total[0] <= total[1] * (1 + 1e-9) + 2


@given(st.integers(1, 1 << 20), st.integers(0, 1 << 20), st.sampled_from([64, 4096]))
def test_runs_of_pages_hold_the_array_and_no_more_on_the_device(n_bytes: int, device_bytes: int, page: int) -> None:
    runs = page_runs(n_bytes, device_bytes, page)
    size = sum(each for each, _ in runs)
    assert n_bytes <= size < n_bytes + page and all(each > 0 and each % page == 0 for each, _ in runs)
    here = sum(each for each, on_device in runs if on_device)
    assert here <= device_bytes and min(size, device_bytes) - here < page
    assert [on_device for _, on_device in runs] in ([True], [False], [True, False])


@given(
    st.integers(1, 1 << 16),
    st.integers(0, 1 << 16),
    st.lists(st.integers(0, 1 << 16), max_size=5),
    st.sampled_from([64, 1024]),
)
def test_each_part_of_an_array_has_its_share_at_its_front(
    n_bytes: int, device_bytes: int, starts: list[int], page: int
) -> None:
    runs = page_runs(n_bytes, device_bytes, page, (0, *starts))
    size = sum(each for each, _ in runs)
    assert n_bytes <= size < n_bytes + page and all(each > 0 and each % page == 0 for each, _ in runs)
    assert sum(each for each, here in runs if here) <= device_bytes
    assert all(one[1] is not other[1] for one, other in pairwise(runs))
    where = [here for each, here in runs for _ in range(each // page)]  # of each page
    bounds = [*sorted({start // page for start in starts if start < n_bytes} | {0}), len(where)]
    for begin, end in pairwise(bounds):
        part = where[begin:end]
        share = min(1.0, device_bytes / size)
        assert part == sorted(part, reverse=True)
        assert share * len(part) - 1 <= sum(part) <= share * len(part) + 1e-9


@given(st.lists(st.integers(0, 50), max_size=60), st.integers(1, 900))
def test_segments_cover_all_ids_and_fit(sizes: list[int], most: int) -> None:
    found = segments(np.array(sizes, np.int64), most)
    assert [v for begin, end in found for v in range(begin, end)] == list(range(len(sizes)))
    for begin, end in found:
        assert end == begin + 1 or sum(sizes[begin:end]) <= most


@pytest.fixture
def memory() -> DeviceMemory:
    pool = Pool(2_000)
    return DeviceMemory(pool, Full, Block.hold, pages=EmulatedPages(pool=pool), capacity=pool.size)


def test_an_array_that_fits_is_one_block(memory: DeviceMemory) -> None:
    query = memory.account(1_000)
    query.expect(400, 0)
    assert query.placement == WHOLE
    block = query.place(500, "lists", by_vertex=False)
    assert isinstance(block, Block) and query.used_bytes == 500


def test_vectors_may_take_most_of_the_room(memory: DeviceMemory) -> None:
    """They are read at random, and little else is made beside them."""
    query = memory.account(1_024)
    query.expect(10_000, 4, Use.VECTORS)
    blocks = [query.place(256, "a vector", by_vertex=True) for _ in range(4)]
    assert [block.device_bytes for block in blocks] == [256, 256, 256, 128]
    assert query.used_bytes == 1_024 - scratch_bytes(1_024, Use.VECTORS) > 1_024 - scratch_bytes(1_024)


def test_accounts_are_charged_for_the_devices_pages_alone(memory: DeviceMemory) -> None:
    query = memory.account(1_000)
    query.expect(10_000, 0)
    block = query.place(10_000, "lists", by_vertex=False)
    share = query.placement.bytes_of(10_000, by_vertex=False)
    assert query.used_bytes == block.device_bytes == share // 64 * 64 > 0
    assert memory.used_bytes() == block.device_bytes
    count = query.allocate(50, "the count")
    other = query.place(10_000, "more lists", by_vertex=False)  # there is room for scratch alone
    assert other.device_bytes == 0 and query.used_bytes <= 1_000 - scratch_bytes(1_000)
    del block, other, count
    query.end()
    assert query.used_bytes == memory.used_bytes() == 0


def test_pages_of_the_host_are_charged_to_the_memory_limit(memory: DeviceMemory) -> None:
    """While a query uses them, whoever has made them; what its limit doesn't allow is told."""
    owner: Any = type("Owner", (), {"nbytes": 0})()
    first, second, third = (MemoryAccount(limit) for limit in (12_000, 12_000, 5_000))
    maker = memory.account(1_000, first.holding("GPU"))
    maker.expect(10_000, 0)
    block = maker.place(10_000, "lists", by_vertex=False)
    assert first.charged == block.host_bytes == 10_048 - block.device_bytes > 9_000
    with pytest.raises(OutOfMemory, match="memory_limit leaves less than"):
        maker.place(10_000, "more lists", by_vertex=False)
    maker.unpin(maker.add((id(owner), "a"), block, block.device_bytes, None))
    maker.end()
    assert first.charged == 0
    for account, found in ((second, True), (third, False)):
        query = memory.account(1_000, account.holding("GPU"))
        for _ in range(2):
            resident = query.pin((id(owner), "a"))
            assert (resident is not None) is found
            assert account.charged == (block.host_bytes if found else 0)
            if resident is not None:
                query.unpin(resident)
        query.end()
        assert account.charged == 0


def test_what_is_at_the_front_of_an_array_may_have_room_that_others_want(memory: DeviceMemory) -> None:
    query = memory.account(1_000)
    query.expect(10_000, 0, Use.COPIES)
    assert query.place(10_000, "copies", by_vertex=False, front=700).device_bytes == 640
    assert query.place(10_000, "copies", by_vertex=False, front=700).device_bytes == 320  # what is left


def test_a_full_device_gets_no_pages(memory: DeviceMemory) -> None:
    held = memory.account(None).allocate(1_990, "others")
    query = memory.account(1_000)
    query.expect(10_000, 0)
    assert query.place(10_000, "lists", by_vertex=False).device_bytes == 0
    assert query.place(40, "what shall not be there", by_vertex=True, front=0).device_bytes == 0
    assert held and query.used_bytes == 0


def test_what_is_less_than_a_page_lies_on_the_device_while_there_is_room(memory: DeviceMemory) -> None:
    query = memory.account(1_000)
    query.expect(10_000, 0)
    assert isinstance(query.place(60, "roots", by_vertex=True), Block)
    held = query.allocate(970, "tables")
    assert query.place(60, "roots", by_vertex=True).device_bytes == 0 and held


def test_residents_make_room_for_pages(memory: DeviceMemory) -> None:
    owner: Any = type("Owner", (), {"nbytes": 0})()
    first = memory.account(None)
    first.unpin(first.add((id(owner), "a"), first.allocate(1_900, "a"), 1_900, None))
    query = memory.account(1_000)
    query.expect(10_000, 0)
    assert query.place(10_000, "lists", by_vertex=False).device_bytes > 0
    assert memory.resident_bytes() == 0


def test_what_streams_leaves_the_device_to_segments(memory: DeviceMemory) -> None:
    query = memory.account(1_000)
    query.expect(10_000, 0, Use.COPIES)
    assert query.placement == STREAMED
    assert query.place(10_000, "lists", by_vertex=False).device_bytes == 0


def test_columns_leave_vectors_on_the_device_where_these_are_small() -> None:
    limit, vertices = 1 << 30, 1 << 20
    assert placement(limit, 1 << 40, vertices, Use.COLUMNS) == Placement(0.0, 1.0)
    assert placement(limit, 1 << 40, 16 * vertices, Use.COLUMNS) == STREAMED
    assert {placement(limit, 1 << 40, vertices, use) for use in (Use.COPIES, Use.SEGMENTS)} == {STREAMED}


@pytest.mark.parametrize("limit", [1 << 30, 1 << 28])
def test_where_nothing_is_derived_lists_get_the_room(limit: int) -> None:
    """Of the row index at most a quarter of the budget is on the device."""
    vertices, n_bytes = 1 << 24, 1 << 31
    budget, index = limit - scratch_bytes(limit), 8 * vertices
    found = placement(limit, n_bytes, vertices, Use.LISTS)
    assert found.vertices * index == pytest.approx(min(index, budget // 4))
    assert found.lists * (n_bytes - index) + found.vertices * index == pytest.approx(budget)
    assert found.lists > 1.5 * placement(limit, n_bytes, vertices).lists
    assert placement(4 * n_bytes, n_bytes, vertices, Use.LISTS).is_whole


def test_without_pages_there_is_an_error() -> None:
    query = DeviceMemory(Pool(2_000), Full, Block.hold).account(1_000)
    query.expect(10_000, 0)
    with pytest.raises(OutOfMemory, match="gpu_memory_limit"):
        query.place(10_000, "lists", by_vertex=False)


def test_copies_are_cut_where_pages_change_place(memory: DeviceMemory) -> None:
    run = EmulatedRun(ExecutionContext(gpu_memory_limit=1_000), memory)
    run.memory.expect(10_000, 0)
    array = np.arange(10_000 // 4, dtype=np.uint32)
    block: Any = run.copied(run.place(array.nbytes, "lists", by_vertex=False), array)
    here = block.device_bytes
    assert list(parts_at(block.ptr, 10_000)) == [(0, here, False), (here, 10_000, True)]
    assert list(parts_at(block.ptr + here - 8, 16)) == [(0, 8, False), (8, 16, True)]
    assert list(parts_at(block.ptr + here + 8, 16)) == [(0, 16, True)]
    assert list(parts_at(array.ctypes.data, 16)) == [(0, 16, False)]
    np.testing.assert_array_equal(run.fetched(block.ptr, len(array), np.uint32), array)


@pytest.mark.parametrize("n_bytes", [2 << 20, 70 << 20])
def test_memory_of_the_host_alone_is_touched_and_registered(n_bytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[tuple[str, int]] = []
    runtime = SimpleNamespace(
        free=lambda address: None,
        hostRegister=lambda address, size, flags: called.append(("register", address)),
        hostUnregister=lambda address: called.append(("unregister", address)),
        CUDARuntimeError=RuntimeError,
    )
    monkeypatch.setattr(paged, "cupy", lambda: SimpleNamespace(cuda=SimpleNamespace(runtime=runtime)))
    pages = Pages(0, maps_host=True)
    block = pages.make([(n_bytes, False)])
    address = block.ptr
    assert called == [("register", address)] and address % 4096 == 0 and block.host_bytes == n_bytes
    ctypes.memset(address, 7, n_bytes)
    del block
    block = pages.make([(n_bytes, False)])
    assert block.ptr == address and len(called) == 1, "what is free is used again"
    del block
    pages.trim()
    assert called[1:] == [("unregister", address)]
