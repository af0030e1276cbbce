"""Loading stops at Ctrl-C, also inside the longest native call, and takes no more memory than its input is worth."""

from __future__ import annotations

import ctypes
import gzip
import signal
import threading
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from qengine import StorageError
from qengine._control import Control, Status
from qengine.storage import from_edge_list, kernels


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


def test_a_line_without_end_is_refused_before_it_fills_memory(tmp_path: Path) -> None:
    path = tmp_path / "edges.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(64):
            file.write(bytes(1 << 20))
    tracemalloc.start()
    try:
        with pytest.raises(StorageError, match="a line is longer than 16 MiB"):
            from_edge_list(path)
        assert tracemalloc.get_traced_memory()[1] < 40 << 20
    finally:
        tracemalloc.stop()
