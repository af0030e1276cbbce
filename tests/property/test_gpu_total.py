"""Counting by extension on the GPU against naive backtracking, its kernels run on the host: no GPU is needed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine.exec.gpu import search as search_module
from qengine.exec.gpu import total_plan
from qengine.exec.gpu.memory import DeviceMemory
from qengine.exec.gpu.search import run_search
from tests.emulator.device import Full, Pool, emulated
from tests.property.search_cases import cases, count_by_sets, counted, dense_cases, expected, found


@pytest.fixture(scope="module", autouse=True)
def by_extension() -> Iterator[None]:
    with emulated(DeviceMemory(Pool(), Full), free=1 << 30) as patch:
        for name in ("try_count", "counted_by_tree"):
            patch.setattr(search_module, name, lambda *_: None)
        yield


@settings(max_examples=60)
@given(case=cases().map(counted), room=st.sampled_from([1, 5000, 1 << 26]))
def test_equals_backtracking(case: Any, room: int) -> None:
    store, search, seeds, rows = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(total_plan, "_FIRST_BYTES", room)
        patch.setattr(total_plan, "_MOST_BYTES", max(5000, room))  # what needs more is counted in parts
        result = found(run_search, store, search, seeds, rows)
    assert result == expected(store, search, seeds, rows)


@settings(max_examples=10)
@given(dense_cases())
def test_denser_patterns(case: Any) -> None:
    store, search = case
    result = found(run_search, store, search, [], 1)
    assert sum(row[-1] for row in result) == count_by_sets(store, search)
