"""Walk kernels on graphs too large for enumeration: bounds, threads, limits, and walks that would never end."""

from __future__ import annotations

import functools
import threading
from typing import Any

import numpy as np
import pytest

from qengine.errors import InternalError, OutOfMemory, QueryInterrupted, QueryTimeout
from qengine.exec.context import ExecutionContext
from qengine.exec.host.walk_kernel import (
    ChunkSize,
    EndFilter,
    WalkMode,
    WalkRows,
    WalkRules,
    WalkSpace,
    pack_bits,
    walk_chunks,
)
from qengine.plan.pattern import Direction, PathMode
from qengine.storage.records import from_records


def random_store(vertices: int, edges: int, *, undirected: bool = False, seed: int = 5) -> Any:
    pairs = np.random.default_rng(seed).integers(0, vertices, (edges, 2)).tolist()
    return from_records(
        [{"id": v} for v in range(vertices)],
        [{"type": "T", "start": a, "end": b} for a, b in pairs],
        undirected=("T",) if undirected else (),
    )


def cycle(length: int) -> Any:
    return from_records(
        [{"id": v} for v in range(length)],
        [{"type": "T", "start": v, "end": (v + 1) % length} for v in range(length)],
    )


def collect(
    store: Any, rows: WalkRows, direction: Direction = Direction.OUT, **options: Any
) -> list[tuple[int, int, Any]]:
    context = options.pop("context", None) or ExecutionContext(threads=2)
    size = [options.pop("size")] if "size" in options else []
    settings = {"mode": WalkMode.EVERY_WALK, "minimum": 1, "maximum": None, "lists": True} | options
    found: list[tuple[int, int, Any]] = []
    space, ends = WalkSpace(store, (0,), direction), EndFilter(0, store.vertex_count)
    for chunk in walk_chunks(space, ends, rows, context, WalkRules(**settings), *size):
        lists = [None] * len(chunk.row)
        if chunk.offsets is not None and chunk.relationships is not None:
            lists = [tuple(part.tolist()) for part in np.split(chunk.relationships, chunk.offsets[1:-1])]
        found += zip(chunk.row.tolist(), chunk.end.tolist(), lists, strict=True)
    return found


@pytest.mark.parametrize("direction", list(Direction))
@pytest.mark.parametrize("undirected", [False, True])
def test_bound_ends_are_those_of_all_walks(direction: Direction, undirected: bool) -> None:
    """Enough steps for the bounds to grow; the same walks as without bounds."""
    store = random_store(60, 240, undirected=undirected)
    wide = direction is Direction.BOTH or undirected
    starts = np.array([3, 4, 5, 50])
    targets = np.array([40, 40, 5, 59])
    options = {"minimum": 2, "maximum": 5 if wide else 8}
    found = collect(store, WalkRows(starts, targets), direction, **options)
    every = collect(store, WalkRows(starts), direction, **options)
    assert sorted(found) == sorted(walk for walk in every if walk[1] == targets[walk[0]])
    assert len(every) > 100_000
    assert found


@functools.cache
def many_walks() -> tuple[Any, WalkRows, list[Any]]:
    """Return a store, rows, and their walks in order, which one thread has found."""
    store, rows = random_store(2000, 10_000), WalkRows(np.arange(-1, 1500))
    return store, rows, sorted(collect(store, rows, context=ExecutionContext(threads=1), maximum=3))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("size", [ChunkSize(), ChunkSize(100, 300, 10)])
def test_threads_and_chunks_give_the_same_walks(threads: int, size: ChunkSize) -> None:
    store, rows, expected = many_walks()
    assert len(expected) > 2 * size.rows  # the first chunk comes from one thread, the others from all
    found = collect(store, rows, context=ExecutionContext(threads=threads), maximum=3, size=size)
    assert sorted(found) == expected
    by_end = collect(store, rows, context=ExecutionContext(threads=threads), maximum=3, lists=False, size=size)
    assert sorted(walk[:2] for walk in by_end) == sorted(walk[:2] for walk in expected)


def test_ends_in_one_range_and_as_bits_agree() -> None:
    store = random_store(200, 1500)
    space, rows = WalkSpace(store, (0,), Direction.BOTH), WalkRows(np.arange(200))
    mask = np.zeros(200, bool)
    mask[50:70] = True

    def count(ends: EndFilter) -> int:
        rules = WalkRules(WalkMode.EVERY_WALK, minimum=1, maximum=2, lists=False)
        return sum(len(chunk.row) for chunk in walk_chunks(space, ends, rows, ExecutionContext(), rules))

    assert count(EndFilter(50, 70)) == count(EndFilter(0, 200, pack_bits(mask))) > 0
    assert count(EndFilter(50, 50)) == count(EndFilter(0, 200, pack_bits(~mask & mask))) == 0


def test_walks_of_thousands_of_hops() -> None:
    found = collect(cycle(5000), WalkRows(np.array([7])), minimum=4999)
    assert sorted(len(ids) for *_, ids in found) == [4999, 5000]
    assert all(len(set(ids)) == len(ids) for *_, ids in found)
    (path,) = collect(cycle(5000), WalkRows(np.array([7]), np.array([7])), mode=WalkMode.ANY_SHORTEST)
    assert len(path[2]) == 5000


def endless(store: Any, context: ExecutionContext, **options: Any) -> None:
    settings = {"mode": WalkMode.EVERY_WALK, "minimum": 1, "maximum": None, "lists": False} | options
    ends = EndFilter(0, store.vertex_count, pack_bits(np.zeros(store.vertex_count, bool)))
    space, rows = WalkSpace(store, (0,), Direction.OUT), WalkRows(np.arange(store.vertex_count))
    for _ in walk_chunks(space, ends, rows, context, WalkRules(**settings)):
        pytest.fail("no vertex is an end")


@pytest.mark.parametrize("threads", [1, 2])
def test_endless_walks_time_out(threads: int) -> None:
    with pytest.raises(QueryTimeout):
        endless(random_store(100, 2000), ExecutionContext(timeout=0.1, threads=threads))


def test_endless_walks_are_interrupted() -> None:
    context = ExecutionContext()
    timer = threading.Timer(0.1, context.interrupt)
    timer.start()
    with pytest.raises(QueryInterrupted):
        endless(random_store(100, 2000), context)
    timer.join()


@pytest.mark.parametrize("lists", [False, True])
def test_memory_limit_holds(lists: bool) -> None:
    context = ExecutionContext(memory_limit=1 << 20)
    with pytest.raises(OutOfMemory):
        collect(cycle(100_000), WalkRows(np.array([0])), context=context, lists=lists, minimum=100_000)


def test_a_consumer_may_stop() -> None:
    store = random_store(100, 2000)
    space, rows = WalkSpace(store, (0,), Direction.OUT), WalkRows(np.arange(100))
    rules = WalkRules(WalkMode.EVERY_WALK, minimum=1, maximum=None, lists=False)
    chunks = walk_chunks(space, EndFilter(0, 100), rows, ExecutionContext(), rules)
    assert len(next(chunks).row) > 0
    chunks.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "options",
    [
        {"mode": WalkMode.ANY_SHORTEST, "minimum": 2},
        {"mode": WalkMode.EVERY_END, "lists": True},
        {"repeats": PathMode.WALK},
        {"minimum": -1},
    ],
)
def test_senseless_plans_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InternalError):
        collect(cycle(3), WalkRows(np.array([0])), **options)
