"""The GPU's search against naive backtracking, its kernel run on the host: no GPU is needed, only a compiler.

Rows, too, come from the depth-first search here; the extension has a test of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine import storage
from qengine.errors import OutOfMemory
from qengine.exec.gpu import dfs
from qengine.exec.gpu import search as search_module
from qengine.exec.gpu.dfs_plan import trees
from qengine.exec.gpu.search import run_search
from qengine.exec.host.search import run_search as run_on_cpu
from qengine.plan.logical import Unit
from qengine.plan.pattern import Direction
from qengine.plan.physical import Search, Source, VertexLevel
from qengine.testing.generate import rmat, to_csr
from tests.emulator.device import WARPS, EmulatedDevice, Pool, device_memory, emulated
from tests.examples import examples
from tests.property.search_cases import (
    added_up,
    cases,
    count_by_sets,
    dense_cases,
    equals_backtracking_in_chunks,
    few_rows,
    found,
)


@pytest.fixture(scope="module", autouse=True)
def depth_first() -> Iterator[None]:
    with emulated(device_memory()) as patch:  # without memory for frontiers
        patch.setattr(dfs, "_THREADS", 32 * WARPS)
        patch.setattr(dfs, "_MOST_MEMO_BITS", 5)  # tables that are soon full
        patch.setattr(search_module, "_total", lambda *_: None)
        yield


@settings(max_examples=examples(200))
@given(cases(), st.sampled_from([1, 3, 1 << 16]), st.sampled_from(["as chosen", "no slices", "stacks in memory"]))
def test_equals_backtracking(case: Any, chunk_rows: int, way: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if way != "as chosen":
            patch.setattr(dfs, "trees", lambda resolved, levels, viewed: trees(resolved, levels, viewed=False))
        if way == "stacks in memory":
            patch.setattr(dfs, "LEVEL_VARIANTS", (64,))
        assert equals_backtracking_in_chunks(case, chunk_rows)


def test_a_full_device_is_searched_without_slices_and_by_fewer_warps() -> None:
    """Slices take 16 bytes a vertex; three blocks of warps more than one block's."""
    start, end = to_csr(rmat(10, 4, 42)).edges()
    store = storage.from_edge_list((start.astype(np.int64), end.astype(np.int64)), undirected=True)
    levels = tuple(VertexLevel(f"v{j}", sources=(Source(j - 1, (), Direction.BOTH),) if j else ()) for j in range(3))
    search = Search(Unit(), levels, 0, ("v0",), count="n")
    wanted = found(run_on_cpu, store, search, [], 1)
    pool = Pool(1 << 30)
    wide, blocks = [], []
    with emulated(device_memory(pool)) as patch, few_rows(64):
        patch.setattr(search_module, "_total", lambda *_: None)
        patch.setattr(EmulatedDevice, "resident_blocks", lambda *_: 64)
        place, allocate = dfs._place, dfs._Launches.allocate

        def no_slices(tree: Any, *given: Any) -> Any:
            wide.append(tree.wide)
            if not tree.wide:
                raise OutOfMemory("There is no room for slices.")
            part = place(tree, *given)
            pool.size = pool.used_bytes() + 700_000
            return part

        def fewer(launches: Any) -> None:
            allocate(launches)
            blocks.append(launches.blocks)

        patch.setattr(dfs, "_place", no_slices)
        patch.setattr(dfs._Launches, "allocate", fewer)
        result = found(run_search, store, search, [], 1)
    assert added_up(result, search) == added_up(wanted, search)
    assert wide == [False, True] and 1 <= blocks[0] < 64


@settings(max_examples=10)
@given(dense_cases((6, 20, 70)))
def test_denser_patterns(case: Any) -> None:
    store, search = case
    result = found(run_search, store, search, [], 1)
    assert sum(row[-1] for row in result) == count_by_sets(store, search)


def test_no_row_is_lost_between_launches() -> None:
    """Warps share work while others are stopped for want of places: each row of a launch after the other comes once."""
    start, end = to_csr(rmat(6, 6, 42)).edges()
    store = storage.from_edge_list((start.astype(np.int64), end.astype(np.int64)), undirected=True)
    levels = tuple(
        VertexLevel(f"v{j}", sources=tuple(Source(k, (), Direction.BOTH) for k in range(j))) for j in range(3)
    )
    rows = Search(Unit(), levels, 0, ("v0", "v1", "v2"))
    counts = Search(Unit(), levels, 0, ("v0",), count="n")
    for search in (rows, counts):
        wanted = added_up(found(run_on_cpu, store, search, [], 1), search)
        for _ in range(5):
            with few_rows(64), pytest.MonkeyPatch.context() as patch:
                patch.setattr(dfs, "_THREADS", 32 * 16)
                assert added_up(found(run_search, store, search, [], 1), search) == wanted
