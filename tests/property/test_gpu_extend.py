"""The GPU's extension against naive backtracking, its kernels run on the host: no GPU is needed, only a compiler."""

from __future__ import annotations

import ctypes
import functools
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine import OutOfMemory
from qengine.exec.context import ExecutionContext
from qengine.exec.gpu import extend, extend_search, host_rows
from qengine.exec.gpu import search as search_module
from qengine.exec.gpu.memory import DeviceMemory
from qengine.exec.gpu.search import run_search
from tests.emulator.arrays import DeviceArray, Stream, cupy
from tests.emulator.device import CHECKOUT, EmulatedRun, Full, Pool
from tests.property.search_cases import cases, expected, found


@functools.cache
def library(window: int) -> ctypes.CDLL:
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "extend.so"
        places = [CHECKOUT / "kernels" / "include", CHECKOUT / "kernels" / "cuda", CHECKOUT / "tests" / "emulator"]
        command = ["g++", "-std=c++17", "-O1", "-shared", "-fPIC", f"-DQE_WINDOW_ROWS={window}"]
        source = CHECKOUT / "tests" / "emulator" / "extend.cpp"
        subprocess.run([*command, *(f"-I{place}" for place in places), "-o", target, source], check=True)
        return ctypes.CDLL(str(target))


class Run(EmulatedRun):
    """Launches the extension's kernels."""

    stream = Stream()

    def kernel(self, family: str, name: str, macros: Mapping[str, int], shared_bytes: int = 0) -> Any:
        return getattr(library(macros["QE_WINDOW_ROWS"]), f"{name}_on_host")

    def launch(self, kernel: Any, blocks: int, threads: int, arguments: Sequence[Any], shared_bytes: int = 0) -> None:
        given = [np.uint64(each.data.ptr) if isinstance(each, DeviceArray) else each for each in arguments]
        held = [np.array([each]) for each in given]
        kernel(blocks, threads, (ctypes.c_void_p * len(held))(*(each.ctypes.data for each in held)))

    def free_bytes(self) -> int:
        return 1 << 20


@pytest.fixture(scope="module", autouse=True)
def memory() -> Iterator[DeviceMemory]:
    made = DeviceMemory(Pool(), Full)

    @contextmanager
    def emulated(context: ExecutionContext) -> Iterator[Run]:
        yield Run(context, made)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search_module, "device_run", emulated)
        for module in (extend, host_rows):
            patch.setattr(module, "cupy", lambda: cupy)
        yield made


def extendable(case: Any) -> bool:
    """Does the search have rows that the extension gives?"""
    search = case[1]
    names = [level.name for level in search.levels]
    walked = 1 + max((names.index(name) for name in search.emit), default=-1)
    return walked > search.seeds and (not (search.count or search.exists) or walked + 1 >= len(names))


@settings(max_examples=200)
@given(case=cases().filter(extendable), slots=st.sampled_from([1, 3, 1 << 20]), tile=st.sampled_from([1, 5, 64]),
       window=st.sampled_from([5, 32]), buffer=st.sampled_from([1, 1 << 20]))  # fmt: skip
def test_equals_backtracking(case: Any, slots: int, tile: int, window: int, buffer: int) -> None:
    store, search, seeds, rows = case
    with pytest.MonkeyPatch.context() as patch:
        made = functools.partial(extend.Extension, tile=tile, window=window)
        patch.setattr(extend_search, "Extension", made)
        patch.setattr(extend_search, "_PIECE_SLOTS", slots)
        for name in ("_FIRST_SLOTS", "_LEAST_SLOTS"):
            patch.setattr(extend, name, slots)
        patch.setattr(extend_search, "_MOST_BUFFER", buffer)
        result = found(run_search, store, search, seeds, rows)
    assert result == expected(store, search, seeds, rows)


@settings(max_examples=40)
@given(case=cases().filter(extendable), fails=st.integers(0, 40))
def test_a_failed_allocation_gives_smaller_pieces_or_a_clear_error(memory: DeviceMemory, case: Any, fails: int) -> None:
    store, search, seeds, rows = case
    memory.allocations, memory.fail_at = 0, fails
    try:
        assert found(run_search, store, search, seeds, rows) == expected(store, search, seeds, rows)
    except OutOfMemory as error:
        assert "device memory" in str(error)
    finally:
        memory.fail_at = None
