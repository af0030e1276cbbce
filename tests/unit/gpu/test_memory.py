"""The device's allocator and queries' accounts, over a pool that needs no device."""

from __future__ import annotations

import gc
import threading
from dataclasses import asdict
from types import SimpleNamespace
from typing import Any

import pytest

from qengine import Graph
from qengine.errors import OutOfMemory
from qengine.exec.gpu import memory as module
from qengine.exec.gpu import paged
from qengine.exec.gpu.device import Device
from qengine.exec.gpu.memory import DeviceMemory, QueryMemory, Resident, bound_of
from tests.devices import RTX_2070
from tests.emulator.device import Pool, device_memory


class Owner:
    nbytes = 0


@pytest.fixture(autouse=True)
def bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LEAST_BOUND", 1_000)


def keep(query: QueryMemory, owner: Owner, name: str, n_bytes: int) -> Resident:
    """Make a block resident that the query uses."""
    resident = query.add((id(owner), name), query.allocate(n_bytes, name), n_bytes, name)
    query.follow(owner)
    return resident


def left(memory: DeviceMemory, owner: Owner, *names: str, n_bytes: int) -> None:
    """Make blocks resident that no query uses any more, one query after the other."""
    for name in names:
        query = memory.account(None)
        query.unpin(keep(query, owner, name, n_bytes))


def kept(memory: DeviceMemory, owner: Owner, names: str) -> str:
    """Return the names of those that are resident."""
    query, found = memory.account(None), []
    for name in names:
        resident = query.pin((id(owner), name))
        if resident is not None:
            found.append(name)
            query.unpin(resident)
    return "".join(found)


def test_the_least_recently_used_makes_room_where_the_device_is_full() -> None:
    memory, owner = device_memory(Pool(100)), Owner()
    left(memory, owner, "a", "b", "c", n_bytes=30)
    assert kept(memory, owner, "a") == "a"  # used last now
    block = memory.account(None).allocate(40, "rows")
    assert kept(memory, owner, "abc") == "ac" and block.ptr
    assert memory.pool.used_bytes() == 100


def test_what_a_query_uses_stays() -> None:
    memory, owner = device_memory(Pool(100)), Owner()
    left(memory, owner, "a", n_bytes=60)
    found = memory.account(None).pin((id(owner), "a"))
    with pytest.raises(OutOfMemory, match=r"the device has: 50 bytes for rows, beside 60 in use") as caught:
        memory.account(None).allocate(50, "rows")
    assert caught.value.hint
    assert found is not None and found.address


def test_a_limit_counts_what_the_query_uses_and_nothing_else() -> None:
    memory, owner = device_memory(), Owner()
    left(memory, owner, "a", "b", n_bytes=60)
    other = memory.account(None)
    others = [other.allocate(500, "rows"), other.pin((id(owner), "b"))]
    query = memory.account(100)
    held = query.allocate(40, "rows")
    resident = query.pin((id(owner), "a"))
    assert resident is not None and query.pin((id(owner), "a")) is resident  # charged once
    assert query.used_bytes == 100 and query.left_bytes() == 0
    with pytest.raises(OutOfMemory, match=r"gpu_memory_limit, 100 bytes, allows: 1 bytes for more, beside 100 that it"):
        query.allocate(1, "more")
    query.unpin(resident)
    assert query.used_bytes == 100
    query.unpin(resident)
    del held
    assert query.used_bytes == 0 and query.allocate(100, "rows").ptr
    assert memory.used_bytes() == 120 + 500 and others


def test_a_resident_beyond_the_limit_is_made_anew_so_that_the_error_says_so() -> None:
    memory, owner = device_memory(), Owner()
    left(memory, owner, "a", n_bytes=60)
    query = memory.account(59)
    assert query.pin((id(owner), "a")) is None and query.used_bytes == 0
    with pytest.raises(OutOfMemory, match="59 bytes, allows: 60"):
        query.allocate(60, "a")
    assert kept(memory, owner, "a") == "a"


def test_what_a_query_makes_resident_is_charged_once() -> None:
    memory, owner = device_memory(), Owner()
    query = memory.account(100)
    made = keep(query, owner, "a", 60)
    again = query.pin((id(owner), "a"))
    assert again is made and query.used_bytes == 60
    query.unpin(made)
    query.unpin(made)
    assert memory.account(100).left_bytes() == 100


def test_two_queries_may_make_the_same() -> None:
    memory, owner = device_memory(), Owner()
    one, two = memory.account(None), memory.account(None)
    first, second = keep(one, owner, "a", 60), keep(two, owner, "a", 60)
    assert first.address and second.address and memory.resident_bytes() == 60
    one.unpin(first)
    assert first.address is None and memory.used_bytes() == 60
    two.unpin(second)
    assert memory.resident_bytes() == memory.used_bytes() == 60


def test_what_stays_of_a_graph_is_bounded_by_its_size() -> None:
    memory, owner, other = device_memory(), Owner(), Owner()
    owner.nbytes = 50  # type: ignore[misc]
    assert bound_of(50) == 1_200
    left(memory, other, "x", n_bytes=900)
    left(memory, owner, "a", "b", "c", n_bytes=400)
    assert kept(memory, owner, "abc") == "abc"
    query = memory.account(None)
    used = query.pin((id(owner), "b"))
    assert used is not None
    large = keep(query, owner, "d", 2_000)
    assert memory.resident_bytes() == 900 + 1_200 + 2_000
    query.unpin(large)
    assert kept(memory, owner, "abcd") == "b"  # in use
    query.unpin(used)
    assert kept(memory, owner, "b") == "b" and kept(memory, other, "x") == "x"


def test_a_graph_is_released_when_asked_for() -> None:
    memory, owner, other = device_memory(), Owner(), Owner()
    left(memory, owner, "a", "b", n_bytes=60)
    left(memory, other, "x", n_bytes=5)
    query = memory.account(None)
    used = query.pin((id(owner), "b"))
    assert used is not None
    memory.release(owner)
    assert memory.resident_bytes() == 5 and used.address and memory.used_bytes() == 65
    assert kept(memory, owner, "ab") == "" and memory.pool.trimmed
    query.unpin(used)
    assert memory.used_bytes() == 5 and used.address is None and used.keep is None
    left(memory, owner, "a", n_bytes=60)
    assert memory.resident_bytes() == 65


def test_an_owner_that_is_gone_takes_its_blocks_along() -> None:
    memory, owner, other = device_memory(), Owner(), Owner()
    left(memory, owner, "a", n_bytes=60)
    left(memory, other, "x", n_bytes=5)
    del owner
    gc.collect()
    assert memory.resident_bytes() == memory.pool.used_bytes() == 5


def test_an_owner_may_go_while_the_allocator_is_busy() -> None:
    """The garbage collector asks for no lock that this thread has already."""
    memory, owners = device_memory(), [Owner()]
    left(memory, owners[0], "a", n_bytes=60)
    malloc = memory.pool.malloc

    def collecting(n_bytes: int) -> Any:
        owners.clear()
        gc.collect()
        return malloc(n_bytes)

    memory.pool.malloc = collecting
    block = memory.account(None).allocate(1, "rows")
    assert block.ptr and memory.resident_bytes() == 0 and memory.used_bytes() == 1


def test_allocations_fail_from_a_number_on() -> None:
    memory = device_memory()
    query = memory.account(None)
    memory.fail_from = 1
    first = query.allocate(1, "one")
    with pytest.raises(OutOfMemory):
        query.allocate(1, "two")
    assert query.used_bytes == 1
    memory.fail_from = None
    assert query.allocate(1, "three").ptr != first.ptr


def test_threads_with_limits_do_not_disturb_each_other() -> None:
    """Twelve queries at a time, each within its own limit, on a device on which all have room."""
    memory, owners = device_memory(Pool(12 * 100 + 400)), [Owner() for _ in range(3)]
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(200):
                owner, query = owners[(number + turn) % 3], memory.account(100)
                resident = query.pin((id(owner), "lists")) or keep(query, owner, "lists", 60)
                blocks = [query.allocate(20, "rows") for _ in range(2)]
                assert query.used_bytes == 100 and resident.address
                with pytest.raises(OutOfMemory, match="gpu_memory_limit"):
                    query.allocate(1, "more")
                del blocks
                query.unpin(resident)
                if turn % 50 == number:
                    memory.release(owner)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(12)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert errors == []
    for owner in owners:
        memory.release(owner)
    assert memory.used_bytes() == 0


@pytest.mark.parametrize(("own", "limit"), [(0, 8 << 30), (1 << 40, 8 << 30), (1 << 20, 1 << 20)])
def test_the_pool_takes_no_more_than_the_device_is_said_to_have(
    own: int, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``own``: the limit that CuPy's users have set, if any."""
    given: list[int] = []
    pool = SimpleNamespace(get_limit=lambda: own, set_limit=lambda *, size: given.append(size))
    cuda = SimpleNamespace(MemoryPool=lambda: pool, memory=SimpleNamespace(OutOfMemoryError=MemoryError))
    monkeypatch.setattr(module, "cupy", lambda: SimpleNamespace(cuda=cuda))
    monkeypatch.setattr(module, "device", lambda: Device(**asdict(RTX_2070), number=3))
    monkeypatch.setattr(module, "_memories", {})
    assert module.device_memory().pool is pool
    assert module.device_memory() is module.device_memory()
    assert given == [limit]


def test_releasing_a_graph_does_nothing_where_no_query_used_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_memories", {})
    graph = Graph.from_edge_list(([0, 1], [1, 2]))
    graph.release_device()
    assert not module._memories


def test_no_more_of_the_hosts_memory_is_touched_than_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paged, "_available", lambda: 1e6)
    with pytest.raises(paged.NoPages, match="mmap"):
        paged._Registered(1 << 20)
