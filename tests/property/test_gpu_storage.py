"""What is stored is built on the GPU as on the host, bit for bit: its kernels run on the host, no GPU is needed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from qengine import Graph, OutOfMemory
from qengine.exec.context import ExecutionContext
from qengine.exec.gpu import upload
from qengine.exec.gpu.memory import Resident
from qengine.exec.gpu.pcsr_build import lists_from_pairs, symmetric_lists
from qengine.exec.gpu.signatures import resident_signatures
from qengine.plan.pattern import Direction
from qengine.storage.adjacency import Adjacency, Form
from qengine.storage.pcsr_build import build_type
from tests.emulator.arrays import cupy
from tests.emulator.device import EmulatedRun, Pool, device_memory, emulated
from tests.property.search_cases import graphs
from tests.property.test_pcsr import EDGES, arrays

memory = device_memory(Pool())


@pytest.fixture(scope="module", autouse=True)
def device() -> Iterator[None]:
    with emulated(memory):
        yield


def new_run() -> Any:
    return EmulatedRun(ExecutionContext(), memory)


def check(run: Any, made: Any, expected: Adjacency) -> None:
    """Compare all arrays, byte by byte; relationship ids stay on the host."""
    found = made.to_host(run)
    assert (found.form, found.lo, found.hi, found.home_groups) == (
        *(expected.form, expected.lo, expected.hi),
        expected.home_groups,
    )
    for name in ("offsets", "keys", "groups", "neighbours"):
        mine, theirs = getattr(found, name), getattr(expected, name)
        assert (mine is None) == (theirs is None)
        assert mine is None or (mine.dtype == theirs.dtype and mine.tobytes() == theirs.tobytes())


def pairs_of(lists: Any, neighbours: Any) -> Any:
    return cupy.asarray(lists.astype(np.uint64) << np.uint64(32) | neighbours)


@pytest.mark.parametrize("form", Form)
@settings(max_examples=20)
@given(edges=EDGES)
def test_lists_are_the_hosts(form: Form, edges: Any) -> None:
    run = new_run()
    start, end = arrays(edges)
    directed = build_type(start, end, form=form).adjacencies
    both = build_type(start, end, undirected=True, form=form).adjacencies
    with cupy.cuda.using_allocator(lambda size: run.allocate(size, "test")):
        check(run, lists_from_pairs(run, pairs_of(start, end), form), directed[Direction.OUT])
        check(run, lists_from_pairs(run, pairs_of(end, start), form), directed[Direction.IN])
    loops = int((start == end).sum())
    for out in Form:
        given_lists = build_type(start, end, undirected=True, form=out).adjacencies[Direction.OUT]
        check(run, symmetric_lists(run, given_lists, loops, form), both[Direction.BOTH])


def test_groups_that_overflow_are_the_hosts() -> None:
    run, generator = new_run(), np.random.default_rng(1)
    start, end = (generator.integers(0, 100_000, 20_000).astype(np.uint32) for _ in range(2))
    expected = build_type(start, end, undirected=True, form=Form.GROUPS).adjacencies
    both = expected[Direction.BOTH]
    assert both.groups is not None and len(both.groups) > both.home_groups
    check(run, symmetric_lists(run, expected[Direction.OUT], int((start == end).sum()), Form.GROUPS), both)


@settings(max_examples=30)
@given(graphs())
def test_signatures_are_the_hosts(store: Any) -> None:
    run, held = new_run(), list[Resident]()
    signatures = store.signatures
    address = resident_signatures(store, signatures, run, held)
    assert not signatures.has_table and resident_signatures(store, signatures, run, held) == address
    found = np.empty((16, store.vertex_count), np.uint32)
    run.read(address, found)
    for resident in held:
        run.memory.unpin(resident)
    assert found.tobytes() == signatures.table.tobytes()


@pytest.mark.parametrize(("undirected", "room"), [(True, True), (True, False), (False, True)])
def test_queries_read_what_was_built(undirected: bool, room: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large lists in both directions are built of those in one; without room for that they are copied."""
    built: list[Adjacency] = []

    def build(run: Any, out: Adjacency, loops: int, form: Form) -> Any:
        built.append(out)
        if not room:
            raise OutOfMemory("There is no room.")
        return symmetric_lists(run, out, loops, form)

    monkeypatch.setattr("qengine.exec.choice.choose", lambda asked, *_: (asked, "as asked"))
    monkeypatch.setattr(upload, "_BUILT_BYTES", 1)
    monkeypatch.setattr(upload, "symmetric_lists", build)
    ends = np.random.default_rng(2).integers(0, 40, (200, 2))
    graph = Graph.from_edge_list((ends[:, 0], ends[:, 1]), undirected=undirected)
    text = "MATCH (a)--(b)--(c)--(a) RETURN id(a) AS a, id(b) AS b, count(*) ORDER BY a, b"
    expected = graph.query(text, device="cpu").fetchall()
    for _ in range(2):
        assert graph.query(text, device="gpu").fetchall() == expected
    assert len(built) == undirected
