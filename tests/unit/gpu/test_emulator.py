"""The emulated device is as strict with shared memory as a small GPU: what fails there fails in tests without one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from qengine.errors import InternalError
from qengine.exec.context import ExecutionContext
from qengine.exec.gpu.dfs_plan import LANES
from tests.emulator.device import SMALL, EmulatedRun, device_memory

WORDS, HUBS = 4, 8
SLICE = np.dtype([("begin", "<u4"), ("tail", "<u4"), ("end", "<u4"), ("words", "<u2", 2)])


def hub_rows(asked: int, launched: int) -> Any:
    """Make rows of bits, a warp a row, with so much shared memory."""
    run = EmulatedRun(ExecutionContext(), device_memory())
    slices, neighbours = np.zeros(HUBS, SLICE), np.arange(HUBS, dtype=np.uint32)
    slices["tail"] = slices["end"] = np.arange(HUBS)  # hub k: all before it
    rows = np.zeros((HUBS, WORDS), np.uint32)
    kernel = run.kernel("count_views", "hub_rows", None, asked)
    pointers = [np.uint64(each.ctypes.data) for each in (neighbours, slices)]
    sizes = (np.uint32(0), np.uint32(HUBS), np.uint32(WORDS))
    run.launch(kernel, 1, HUBS * LANES, (*pointers, *sizes, np.uint64(rows.ctypes.data)), launched)
    return rows


def test_a_kernel_has_what_its_launch_asks_for() -> None:
    assert hub_rows(0, 4 * WORDS * HUBS)[:, 0].tolist() == [2**k - 1 for k in range(HUBS)]


def test_it_cannot_write_beyond() -> None:
    with pytest.raises(AssertionError, match="hub_rows writes beyond its shared memory"):
        hub_rows(0, 4 * WORDS * HUBS - 1)


def test_no_kernel_gets_more_than_the_device_has() -> None:
    assert SMALL.dynamic_bytes == 63 * 1024
    hub_rows(63 * 1024, 63 * 1024)
    with pytest.raises(InternalError, match="hub_rows asks for 64,513 bytes of shared memory"):
        hub_rows(63 * 1024 + 1, 1)


def test_much_must_be_asked_for_before_the_launch() -> None:
    hub_rows(0, 40 * 1024)
    with pytest.raises(AssertionError, match="hub_rows has not asked for so much"):
        hub_rows(0, 40 * 1024 + 1)
    with pytest.raises(AssertionError, match="hub_rows has not asked for so much"):
        hub_rows(50_000, 50_001)
