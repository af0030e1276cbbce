"""What sets of vertices reach, by the kernels of the GPU on the host, against naive enumeration: no GPU is needed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine import Graph
from qengine.exec import choice
from qengine.exec.context import ExecutionContext
from qengine.exec.gpu import reach, search
from qengine.exec.host.reach_kernel import ReachKernels
from qengine.plan.pattern import PathMode
from tests.emulator.device import Pool, device_memory, emulated
from tests.examples import examples
from tests.property.test_reach import check_large_graph, check_sets, check_starts

KERNELS = ReachKernels(reach.reach_chunks, reach.reach_counts)


@pytest.fixture(scope="module", autouse=True)
def on_the_host() -> Iterator[None]:
    with emulated(device_memory()):
        yield


@pytest.mark.parametrize("repeats", list(PathMode))
@settings(max_examples=examples(60))
@given(data=st.data(), piece=st.sampled_from([1, 3, 1 << 22]))
def test_ends_and_hops_of_each_start(repeats: PathMode, data: Any, piece: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reach, "_PIECE", piece)
        check_starts(repeats, data, KERNELS)


@pytest.mark.parametrize("repeats", list(PathMode))
@settings(max_examples=examples(60))
@given(data=st.data(), piece=st.sampled_from([1, 3, 1 << 22]))
def test_ends_of_sets(repeats: PathMode, data: Any, piece: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reach, "_PIECE", piece)
        check_sets(repeats, data, KERNELS)


@pytest.mark.parametrize("masked", [False, True])
def test_a_graph_in_which_levels_are_pulled(masked: bool) -> None:
    check_large_graph(ExecutionContext(), masked, KERNELS, 9)


@pytest.mark.parametrize("pattern", ["shortestPath((a)-[:R*]->(b))", "SHORTEST 1 (a)-[:R]-+(b)"])
@pytest.mark.parametrize("ends", ["id(a) = 3 AND id(b) = $v", "a.id = 3 AND id(b) = $v"])
def test_the_host_finds_ends_that_are_named(pattern: str, ends: str, monkeypatch: pytest.MonkeyPatch) -> None:
    nodes = [{"id": k, "labels": ["A"], "properties": {"id": k}} for k in range(2_000)]
    links = [{"type": "R", "start": k, "end": (k * j + j) % 2_000} for k in range(2_000) for j in (2, 5)]
    graph = Graph.from_records(nodes, links)
    query = f"MATCH p = {pattern} WHERE {ends} RETURN length(p), id(a), id(b)"
    expected = [graph.query(query, {"v": v}, device="cpu").fetchall() for v in (77, 1_500, 3)]
    monkeypatch.setattr(choice, "choose", lambda asked, *_: (asked, "as asked"))
    monkeypatch.setattr(search, "resolve", None)
    assert [graph.query(query, {"v": v}, device="gpu").fetchall() for v in (77, 1_500, 3)] == expected


def test_the_host_follows_where_the_device_has_no_room() -> None:
    with emulated(device_memory(Pool(1 << 10))):
        check_large_graph(ExecutionContext(), False, KERNELS, 8)
