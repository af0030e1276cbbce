"""The GPU's search against naive backtracking, its kernel run on the host: no GPU is needed, only a compiler.

Rows, too, come from the depth-first search here; the extension has a test of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine.exec.gpu import search as search_module
from qengine.exec.gpu.memory import DeviceMemory
from qengine.exec.gpu.search import run_search
from tests.emulator.device import WARPS, Full, Pool, emulated_run
from tests.property.search_cases import cases, count_by_sets, dense_cases, expected, found


@pytest.fixture(scope="module", autouse=True)
def emulated() -> Iterator[None]:
    memory = DeviceMemory(Pool(), Full)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search_module, "device_run", lambda context: emulated_run(context, memory))
        patch.setattr(search_module, "_THREADS", 32 * WARPS)
        patch.setattr(search_module, "try_count", lambda *_: None)  # the emulator runs the search's kernel alone
        patch.setattr(search_module, "shape_of", lambda resolved: SimpleNamespace(extendable=False))
        yield


@settings(max_examples=300)
@given(cases(), st.sampled_from([1, 3, 1 << 16]))
def test_equals_backtracking(case: Any, chunk_rows: int) -> None:
    store, search, seeds, rows = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search_module, "_FIRST_ROWS", chunk_rows)
        patch.setattr(search_module, "_MOST_ROWS", 2 * chunk_rows)
        patch.setattr(search_module, "_LEAST_ROWS", 1)
        result = found(run_search, store, search, seeds, rows)
    assert result == expected(store, search, seeds, rows)


@settings(max_examples=15)
@given(dense_cases())
def test_denser_patterns(case: Any) -> None:
    store, search = case
    result = found(run_search, store, search, [], 1)
    assert sum(row[-1] for row in result) == count_by_sets(store, search)
