"""The device's allocator, over a pool that needs no device."""

from __future__ import annotations

import gc

import pytest

from qengine.errors import OutOfMemory
from qengine.exec.gpu.memory import DeviceMemory
from tests.emulator.device import Full, Pool


class Owner:
    pass


def keep(memory: DeviceMemory, owner: Owner, name: str, n_bytes: int) -> None:
    """Make a block resident that no query uses any more."""
    memory.unpin(memory.add((id(owner), name), memory.allocate(n_bytes, None, name), n_bytes, None))
    memory.follow(owner)


def test_the_longest_unused_makes_room() -> None:
    memory, owner = DeviceMemory(Pool(100), Full), Owner()
    for name in ("a", "b", "c"):
        keep(memory, owner, name, 30)
    found = memory.pin((id(owner), "a"))
    assert found is not None
    memory.unpin(found)
    block = memory.allocate(40, None, "rows")
    kept = [name for name in ("a", "b", "c") if memory.pin((id(owner), name))]
    assert kept == ["a", "c"] and block.ptr
    assert memory.pool.used_bytes() == 100


def test_what_a_query_uses_stays() -> None:
    memory, owner = DeviceMemory(Pool(100), Full), Owner()
    keep(memory, owner, "a", 60)
    found = memory.pin((id(owner), "a"))
    with pytest.raises(OutOfMemory, match=r"the device has: 50 bytes for rows, beside 60 in use") as caught:
        memory.allocate(50, None, "rows")
    assert caught.value.hint
    assert found is not None and found.address


def test_a_limit_counts_all_that_is_in_use() -> None:
    memory, owner = DeviceMemory(Pool(), Full), Owner()
    keep(memory, owner, "a", 60)
    assert memory.allocate(50, 100, "rows").ptr
    assert memory.resident_bytes() == 0
    with pytest.raises(OutOfMemory, match=r"gpu_memory_limit, 100 bytes, allows: 101 bytes for rows, beside 0 in use"):
        memory.allocate(101, 100, "rows")


def test_an_owner_that_is_gone_takes_its_blocks_along() -> None:
    memory, owner, other = DeviceMemory(Pool(), Full), Owner(), Owner()
    keep(memory, owner, "a", 60)
    keep(memory, other, "a", 5)
    del owner
    gc.collect()
    assert memory.resident_bytes() == memory.pool.used_bytes() == 5


def test_allocations_fail_from_a_number_on() -> None:
    memory = DeviceMemory(Pool(), Full)
    memory.fail_from = 1
    first = memory.allocate(1, None, "one")
    with pytest.raises(OutOfMemory):
        memory.allocate(1, None, "two")
    memory.fail_from = None
    assert memory.allocate(1, None, "three").ptr != first.ptr
