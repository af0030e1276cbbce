"""The GPU's extension against naive backtracking, its kernels run on the host: no GPU is needed, only a compiler."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine import Graph, OutOfMemory
from qengine.exec import choice
from qengine.exec.gpu import bfs_plan, extend, extend_search
from qengine.exec.gpu import search as search_module
from qengine.exec.gpu.extend import block_warps
from qengine.exec.gpu.extend_counts import CountingExtension
from qengine.exec.gpu.memory import DeviceMemory
from qengine.exec.gpu.search import run_search
from tests.emulator.device import device_memory, emulated
from tests.examples import examples
from tests.property.search_cases import cases, expected, found

FREE = 1 << 20


@pytest.fixture(scope="module", autouse=True)
def memory() -> Iterator[DeviceMemory]:
    made = device_memory()
    with emulated(made, FREE) as patch:
        patch.setattr(search_module, "_total", lambda *_: None)
        yield made


@settings(max_examples=examples(130))
@given(case=cases(), slots=st.sampled_from([1, 3, 1 << 20]), tile=st.sampled_from([1, 5, 64]),
       window=st.sampled_from([5, 32]), buffer=st.sampled_from([1, 1 << 20]),
       room=st.sampled_from([1, 1 << 26]), shared=st.sampled_from([1, 1 << 14]))  # fmt: skip
def test_equals_backtracking(
    case: Any, slots: int, tile: int, window: int, buffer: int, room: int, shared: int
) -> None:
    store, search, seeds, rows = case
    with pytest.MonkeyPatch.context() as patch:
        made = functools.partial(CountingExtension, tile=tile, window=window)
        patch.setattr(extend_search, "CountingExtension", made)
        patch.setattr(extend_search, "_PIECE_SLOTS", slots)
        for name in ("_FIRST_BYTES", "_MOST_BYTES"):
            patch.setattr(bfs_plan, name, room)
        patch.setattr(bfs_plan, "_SHARED_ROWS", shared)
        for name in ("_FIRST_SLOTS", "_LEAST_SLOTS"):
            patch.setattr(extend, name, slots)
        patch.setattr(extend_search, "_MOST_BUFFER", buffer)
        result = found(run_search, store, search, seeds, rows)
    assert result == expected(store, search, seeds, rows)


@settings(max_examples=40)
@given(case=cases(), fails=st.integers(0, 40))
def test_a_failed_allocation_gives_smaller_pieces_or_a_clear_error(memory: DeviceMemory, case: Any, fails: int) -> None:
    store, search, seeds, rows = case
    memory.fail_from = memory.allocations + fails
    try:
        assert found(run_search, store, search, seeds, rows) == expected(store, search, seeds, rows)
    except OutOfMemory as error:
        assert "device memory" in str(error)
    finally:
        memory.fail_from = None


@pytest.mark.parametrize(("linked", "warps"), [(4, 7), (40, 1), (60, 0)])
def test_rows_with_many_operands_have_as_many_warps_as_shared_memory_has_room_for(
    linked: int, warps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 64 KB; where not even one fits the general search takes over."""
    monkeypatch.setattr(choice, "choose", lambda asked, *_: (asked, "as asked"))
    seen = []
    monkeypatch.setattr(search_module, "block_warps", lambda *given: (seen.append(block_warps(*given)), seen[-1])[1])
    chain = [{"type": "N", "start": k, "end": k + 1} for k in range(linked - 1)]
    to_last = [{"type": "ABC"[k % 3], "start": k, "end": linked} for k in range(linked)]
    graph = Graph.from_records([{"id": k, "labels": ["L"]} for k in range(linked + 1)], [*chain, *to_last])
    path = "-[:N]->".join(f"(v{k})" for k in range(linked))
    all_linked = ", ".join(f"(v{k})-[:A|B|C]->(x)" for k in range(linked))
    names = ", ".join(f"v{k}" for k in range(linked))
    query = f"/*+ order({names}, x) */ MATCH DIFFERENT NODES {path}, {all_linked} RETURN DISTINCT id(x)"
    with emulated(device_memory(), 1 << 26):
        assert graph.query(query, device="gpu").fetchall() == graph.query(query, device="cpu").fetchall()
    assert seen == [warps]
