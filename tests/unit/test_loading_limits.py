"""Loading stops at Ctrl-C, also inside the longest native call."""

from __future__ import annotations

import ctypes
import signal
import threading

import numpy as np
import pytest

from qengine._control import Control, Status
from qengine.storage import kernels


@pytest.mark.parametrize("order", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_stopped_sort_says_so(order: bool, threads: int) -> None:
    n = 1 << 18
    lists, entries = np.arange(n, dtype=np.uint32) % 1000, np.zeros(n, np.uint32)
    offsets, neighbours, rows = np.zeros(1001, np.uint64), np.zeros(n, np.uint32), np.zeros(n, np.uint32)
    control = Control(stop=1, threads=threads)
    status = kernels._library().qe_pcsr_sort(
        lists.ctypes.data, 0, 1000, entries.ctypes.data, n, offsets.ctypes.data, neighbours.ctypes.data,
        rows.ctypes.data if order else None, ctypes.addressof(control),
    )  # fmt: skip
    assert status == Status.INTERRUPTED and not offsets.any()


def test_ctrl_c_ends_sorting() -> None:
    main = threading.main_thread().ident
    assert main is not None
    n = 8 << 20
    lists = np.random.default_rng(1).integers(0, n // 4, n, np.uint32)
    press = threading.Timer(0.1, lambda: signal.pthread_kill(main, signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        press.start()
        while True:
            kernels.sort_lists(lists, 0, n // 4, lists, order=True)
    offsets, _, _ = kernels.sort_lists(lists, 0, n // 4, lists, order=False)
    assert offsets[-1] == n
