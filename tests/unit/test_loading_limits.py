"""Loading stops at Ctrl-C, also inside the longest native call, and takes no more memory than its input is worth."""

from __future__ import annotations

import ctypes
import gzip
import signal
import threading
import tracemalloc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from qengine import OutOfMemory, StorageError
from qengine._control import Control, Status
from qengine.storage import (
    assemble,
    from_arrow,
    from_csv,
    from_edge_list,
    from_parquet,
    from_records,
    kernels,
    pcsr_build,
)
from qengine.storage.structs import ListEntries


@pytest.mark.parametrize("order", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_stopped_sort_says_so(order: bool, threads: int) -> None:
    n = 1 << 18
    lists, entries = np.arange(n, dtype=np.uint32) % 1000, np.zeros(n, np.uint32)
    offsets, neighbours, rows = np.zeros(1001, np.uint64), np.zeros(n, np.uint32), np.zeros(n, np.uint32)
    control = Control(stop=1, threads=threads)
    given = ListEntries(lists.ctypes.data, entries.ctypes.data, n, 0, 1000)
    status = kernels._library().qe_pcsr_sort(
        ctypes.byref(given), offsets, neighbours, rows if order else None, ctypes.addressof(control)
    )
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


@pytest.mark.parametrize("error", [MemoryError, pa.ArrowMemoryError])
@pytest.mark.parametrize(
    "place",
    ["pyarrow.csv.read_csv", "pyarrow.parquet.ParquetFile.read", "pyarrow.table", "qengine.storage.assemble._degrees"],
)
def test_where_memory_ends_loading_says_so(
    place: str, error: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: object, **kwargs: object) -> None:
        raise error("realloc of size 1073741824 failed")

    (tmp_path / "nodes_A.csv").write_text("id\n1\n")
    pq.write_table(pa.table({"id": [1]}), tmp_path / "nodes_A.parquet")
    loads = {
        "pyarrow.csv.read_csv": lambda: from_csv(tmp_path),
        "pyarrow.parquet.ParquetFile.read": lambda: from_parquet(tmp_path),
        "pyarrow.table": lambda: from_arrow({"A": {"id": [1]}}),
        "qengine.storage.assemble._degrees": lambda: from_records([{}]),
    }
    monkeypatch.setattr(place, full)
    with pytest.raises(OutOfMemory, match="Loading needs more memory than there is"):
        loads[place]()


def test_ends_are_freed_before_lists_of_the_other_direction_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """That is when most memory is in use."""
    ends, turned = list[weakref.ref[np.ndarray]](), list[int]()
    renumber, turn = assemble._renumbered, pcsr_build.turned_lists

    def renumbered(*given: Any) -> Any:
        array = renumber(*given)
        ends.append(weakref.ref(array))
        return array

    def turned_lists(*given: Any, **options: Any) -> Any:
        turned.append(sum(each() is not None for each in ends))
        return turn(*given, **options)

    monkeypatch.setattr(assemble, "_renumbered", renumbered)
    monkeypatch.setattr(pcsr_build, "turned_lists", turned_lists)
    for undirected in (False, True):
        from_edge_list((np.arange(100), np.arange(100) % 7), undirected=undirected)
    assert turned == [0, 0] and len(ends) == 4


@pytest.mark.parametrize("undirected", [False, True])
def test_lists_take_little_beside_what_is_kept(undirected: bool) -> None:
    """Kept are 8 bytes of a directed relationship and 12 of an undirected one, where no list has a neighbour twice."""
    ends = [np.ascontiguousarray(each, np.int32) for each in np.triu_indices(1500, 1)]
    tracemalloc.start()
    try:
        graph = from_edge_list(tuple(ends), undirected=undirected)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert graph.types[0].count == len(ends[0]) and peak < 17 * len(ends[0])
