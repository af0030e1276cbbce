"""How a run waits on the host: it looks at its limits between the parts of a copy, and while others have a lock."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from qengine.errors import QueryTimeout
from qengine.exec.context import ExecutionContext
from qengine.exec.gpu import launch
from qengine.exec.gpu.launch import DeviceRun
from tests.emulator.device import device_memory


class Context(ExecutionContext):
    """Counts how often its limits are looked at; they are exceeded from ``most`` on."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.looks, self.most = 0, most

    __slots__ = ("looks", "most")

    def check(self) -> None:
        self.looks += 1
        if self.looks >= self.most:
            raise QueryTimeout("It took too long.")


@pytest.fixture
def copied(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Copies without a device: where to, and how many bytes."""
    seen: list[tuple[int, int]] = []
    runtime = SimpleNamespace(
        memcpyAsync=lambda to, start, size, kind, stream: seen.append((to, size)),
        memcpy=lambda to, start, size, kind: seen.append((start, size)),
    )
    monkeypatch.setattr(launch, "cupy", lambda: SimpleNamespace(cuda=SimpleNamespace(runtime=runtime)))
    monkeypatch.setattr(launch, "_COPY_BYTES", 100)
    return seen


def run_of(context: ExecutionContext) -> DeviceRun:
    lane: Any = SimpleNamespace(stream=SimpleNamespace(ptr=0))
    device: Any = SimpleNamespace(memory_bytes=1_000)
    return DeviceRun(context, device, device_memory().account(context.gpu_memory_limit), lane)


def test_a_copy_is_made_in_parts(copied: list[tuple[int, int]]) -> None:
    context = Context(most=10)
    run, host = run_of(context), np.zeros(250, np.uint8)
    block: Any = SimpleNamespace(ptr=5_000)
    run.write(block, host)
    assert copied == [(5_000, 100), (5_100, 100), (5_200, 50)] and context.looks == 2
    copied.clear()
    run.read(5_000, host)
    assert copied == [(5_000, 100), (5_100, 100), (5_200, 50)]
    run.write(block, host[:0])
    assert len(copied) == 3


def test_a_copy_ends_with_the_query(copied: list[tuple[int, int]]) -> None:
    with pytest.raises(QueryTimeout):
        run_of(Context(most=2)).read(5_000, np.zeros(1_000, np.uint8))
    assert copied == [(5_000, 100), (5_100, 100)]


def test_who_waits_for_another_querys_lock_can_be_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launch, "_LOCK_SECONDS", 0.001)
    lock = threading.Lock()
    with run_of(Context(most=3)).alone(lock), pytest.raises(QueryTimeout), run_of(Context(most=3)).alone(lock):
        raise AssertionError("two have the lock")
    assert lock.acquire(blocking=False)


def test_what_is_free_is_what_the_limit_and_the_device_leave() -> None:
    memory = device_memory()
    other = memory.account(None).allocate(700, "rows")
    lane: Any = SimpleNamespace()
    device: Any = SimpleNamespace(memory_bytes=1_000)
    for limit, free in ((None, 300), (200, 200), (500, 300)):
        run = DeviceRun(ExecutionContext(gpu_memory_limit=limit), device, memory.account(limit), lane)
        assert run.free_bytes() == free
    own = run.allocate(250, "rows")
    assert run.free_bytes() == 50 and other.ptr != own.ptr
