"""The native search against naive backtracking: random multigraphs, random plans, every mode and way to run it."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine import _native, storage
from qengine.exec.host import search as search_module
from qengine.exec.host.search import run_search
from qengine.plan.logical import Unit
from qengine.plan.pattern import Direction
from qengine.plan.physical import Search, Source, VertexLevel
from qengine.testing.expand import expand
from tests.examples import examples
from tests.property.search_cases import cases, count_by_sets, dense_cases, expected, found, told_apart
from tests.trials import trial


@settings(max_examples=examples(400))
@given(cases(), st.sampled_from([1, 2]), st.sampled_from([1, 3, 65_536]), st.booleans())
def test_equals_backtracking(case: Any, threads: int, chunk_rows: int, begun: bool) -> None:
    store, search, seeds, rows = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search_module, "_CHUNK_ROWS", chunk_rows)
        with trial() if begun else trial(0):
            result = found(run_search, store, search, seeds, rows, threads=threads)
    assert result == expected(store, search, seeds, rows)


@settings(max_examples=examples(100))
@given(dense_cases(), st.sampled_from([1, 2]), st.sampled_from([0, 1, 2]))
def test_denser_patterns(case: Any, threads: int, isa: int) -> None:
    store, search = case
    native = _native.load()
    native.qe_force_isa(isa)
    try:
        result = found(run_search, store, search, [], 1, threads=threads)
    finally:
        native.qe_force_isa(-1)
    assert sum(row[-1] for row in result) == count_by_sets(store, search)


@pytest.mark.parametrize("merged", [False, True])
def test_relationships_that_are_told_apart(merged: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if merged:
        for module in ("resolve", "merged_lists"):
            monkeypatch.setattr(f"qengine.exec.common.{module}.MANY", 2)
        monkeypatch.setattr("qengine.exec.common.merged_lists._MERGE", -1.0)  # always due
    for number in range(300):
        store, search = told_apart(random.Random(number))
        assert found(run_search, store, search, [], 1, threads=1) == expected(store, search, [], 1), number


# -- long lists: bitmaps of their heads, and what is behind these ----------------------------------------------------


@pytest.fixture(scope="module")
def hubs() -> Any:
    """A graph of 9,000 vertices with hubs, so that lists reach beyond the first 4,096 ids."""
    generator = np.random.default_rng(7)
    n = 9_000
    ends = [(generator.power(0.3, 60_000) * n).astype(np.int64) for _ in range(2)]
    ends[1][:20_000] = generator.integers(0, n, 20_000)
    return storage.from_edge_list((ends[0], ends[1]), undirected=True)


LONG_PATTERNS = {
    "triangle": ([(), (0,), (0, 1)], [(), (0,), (1,)], ()),
    "diamond": ([(), (0,), (0, 1), (0, 1)], [(), (0,), (), (2,)], ()),
    "diamond, each way": ([(), (0,), (0, 1), (0, 1)], [(), (), (), ()], (3,)),
    "two ends of a triangle": ([(), (0,), (0, 1), (0, 1)], [(), (0,), (1,), ()], ()),
}


@pytest.mark.parametrize("isa", [0, 1, 2])
@pytest.mark.parametrize("pattern", LONG_PATTERNS)
@pytest.mark.parametrize("lesser", [True, False])
def test_long_lists(hubs: Any, pattern: str, lesser: bool, isa: int) -> None:
    sources, orders, different = LONG_PATTERNS[pattern]
    levels = tuple(
        VertexLevel(
            f"v{j}",
            None,
            (),
            tuple(Source(k, (), Direction.BOTH) for k in sources[j]),
            (2,) if j in different else (),
            orders[j] if lesser else (),
            () if lesser else orders[j],
        )
        for j in range(len(sources))
    )
    native = _native.load()
    native.qe_force_isa(isa)
    try:
        result = found(run_search, hubs, Search(Unit(), levels, 0, (), count="n"), [], 1, threads=2)
    finally:
        native.qe_force_isa(-1)
    lists = [set(expand(hubs, v, 0, Direction.BOTH)[0].tolist()) for v in range(hubs.vertex_count)]
    total = 0
    for u, list_u in enumerate(lists):
        for v in list_u:
            common = list_u & lists[v]
            n = len(common)
            inner = sum(w < v if lesser else w > v for w in common)
            if orders[1] and not (v < u if lesser else v > u):
                continue
            if pattern == "triangle":
                total += inner
            elif pattern == "diamond":
                total += n * (n - 1) // 2
            elif pattern == "diamond, each way":
                total += n * (n - 1)
            else:
                total += inner * n
    assert sum(row[-1] for row in result) == total
