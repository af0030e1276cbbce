"""Counting by extension on the GPU against naive backtracking, its kernel run on the host: no GPU is needed."""

from __future__ import annotations

import ctypes
import functools
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine.exec.context import ExecutionContext
from qengine.exec.gpu import extend_total
from qengine.exec.gpu import search as search_module
from qengine.exec.gpu.memory import DeviceMemory
from qengine.exec.gpu.search import run_search
from tests.emulator.device import CHECKOUT, EmulatedRun, Full, Pool
from tests.property.search_cases import cases, count_by_sets, counted, dense_cases, expected, found

WARPS = 4


@functools.cache
def library() -> ctypes.CDLL:
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "extend_total.so"
        places = [CHECKOUT / "kernels" / "include", CHECKOUT / "kernels" / "cuda", CHECKOUT / "tests" / "emulator"]
        source = CHECKOUT / "tests" / "emulator" / "extend_total.cpp"
        command = ["g++", "-std=c++17", "-O1", "-shared", "-fPIC", *(f"-I{place}" for place in places)]
        subprocess.run([*command, "-o", target, source], check=True)
        return ctypes.CDLL(str(target))


class Run(EmulatedRun):
    """Launches the one kernel."""

    def kernel(self, family: str, name: str, macros: Mapping[str, int], shared_bytes: int = 0) -> Any:
        return library().extend_total_on_host

    def launch(
        self,
        kernel: Any,
        blocks: int,
        threads: int,
        arguments: Sequence[Any],
        shared_bytes: int = 0,
        *,
        together: bool = False,
    ) -> None:
        assert together
        kernel(blocks, min(threads, 32 * WARPS), ctypes.c_uint64(int(arguments[0])))

    def free_bytes(self) -> int:
        return 1 << 30


@pytest.fixture(scope="module", autouse=True)
def memory() -> Iterator[DeviceMemory]:
    made = DeviceMemory(Pool(), Full)

    @contextmanager
    def emulated(context: ExecutionContext) -> Iterator[Run]:
        yield Run(context, made)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search_module, "device_run", emulated)
        for name in ("try_count", "counted_by_tree"):
            patch.setattr(search_module, name, lambda *_: None)
        yield made


@settings(max_examples=60)
@given(case=cases().map(counted), room=st.sampled_from([32, 64, 1 << 18]), piece=st.sampled_from([1, 3, 1 << 18]))
def test_equals_backtracking(case: Any, room: int, piece: int) -> None:
    store, search, seeds, rows = case
    made = extend_total.total_plan

    def in_pieces(resolved: Any) -> Any:
        plan = made(resolved)
        if plan is not None and plan.last == (1, 0):
            plan.piece = piece
        return plan

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(extend_total, "_FIRST_ROWS", room)
        patch.setattr(extend_total, "total_plan", in_pieces)
        result = found(run_search, store, search, seeds, rows)
    assert result == expected(store, search, seeds, rows)


@settings(max_examples=10)
@given(dense_cases())
def test_denser_patterns(case: Any) -> None:
    store, search = case
    result = found(run_search, store, search, [], 1)
    assert sum(row[-1] for row in result) == count_by_sets(store, search)
