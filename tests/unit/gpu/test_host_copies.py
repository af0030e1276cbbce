"""Copies within the host's memory by several threads."""

from __future__ import annotations

import numpy as np
import pytest

from qengine.errors import QueryTimeout
from qengine.exec.context import ExecutionContext
from qengine.exec.gpu.host_copies import copy, widened


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("n", [0, 1, 7, 131_072, 600_001])
def test_arrays_are_copied_and_widened(n: int, threads: int) -> None:
    context = ExecutionContext(threads=threads)
    given = [np.arange(n, dtype=np.uint32) * np.uint32(7_000_001), np.arange(n, dtype=np.int64) << 33]
    given.append(np.arange(2 * n, dtype=np.uint32)[::2])
    made = widened(given, context)
    assert all(each.dtype == np.int64 and (each == one).all() for each, one in zip(made, given, strict=True))
    found = np.zeros(8 * n + 2, np.uint8)
    copy(found.ctypes.data + 1, given[1].ctypes.data, 8 * n, context)
    assert (found[1:-1] == given[1].view(np.uint8)).all() and found[0] == found[-1] == 0
    assert not widened([], context)


def test_a_copy_ends_with_the_query() -> None:
    context, array = ExecutionContext(timeout=0.0), np.zeros(1 << 22, np.uint32)
    with pytest.raises(QueryTimeout):
        widened([array], context)
