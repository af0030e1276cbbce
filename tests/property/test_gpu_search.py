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
from qengine.exec.gpu import search as search_module
from qengine.exec.gpu.search import run_search
from qengine.exec.host.search import run_search as run_on_cpu
from qengine.plan.logical import Unit
from qengine.plan.pattern import Direction
from qengine.plan.physical import Search, Source, VertexLevel
from qengine.testing.generate import rmat, to_csr
from tests.emulator.device import WARPS, device_memory, emulated
from tests.examples import examples
from tests.property.search_cases import cases, count_by_sets, dense_cases, equals_backtracking_in_chunks, found


@pytest.fixture(scope="module", autouse=True)
def depth_first() -> Iterator[None]:
    with emulated(device_memory()) as patch:  # without memory for frontiers
        patch.setattr(search_module, "_THREADS", 32 * WARPS)
        patch.setattr(search_module, "_total", lambda *_: None)
        yield


@settings(max_examples=examples(200))
@given(cases(), st.sampled_from([1, 3, 1 << 16]))
def test_equals_backtracking(case: Any, chunk_rows: int) -> None:
    assert equals_backtracking_in_chunks(search_module, case, chunk_rows)


@settings(max_examples=10)
@given(dense_cases())
def test_denser_patterns(case: Any) -> None:
    store, search = case
    result = found(run_search, store, search, [], 1)
    assert sum(row[-1] for row in result) == count_by_sets(store, search)


def test_no_row_is_lost_between_launches() -> None:
    """Warps share work while others are stopped for want of places: each row of a launch after the other comes once."""
    start, end = to_csr(rmat(7, 6, 42)).edges()
    store = storage.from_edge_list((start.astype(np.int64), end.astype(np.int64)), undirected=True)
    levels = tuple(
        VertexLevel(f"v{j}", sources=tuple(Source(k, (), Direction.BOTH) for k in range(j))) for j in range(3)
    )
    rows = Search(Unit(), levels, 0, ("v0", "v1", "v2"))
    counts = Search(Unit(), levels, 0, ("v0",), count="n")
    for search in (rows, counts):
        wanted = found(run_on_cpu, store, search, [], 1)
        for _ in range(5):
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(search_module, "_FIRST_ROWS", 64)
                patch.setattr(search_module, "_MOST_ROWS", 256)
                patch.setattr(search_module, "_THREADS", 32 * 16)
                assert found(run_search, store, search, [], 1) == wanted
