"""A search stops when it must: timeout, interrupt, Ctrl-C, a consumer that has enough, memory; and counts overflow."""

from __future__ import annotations

import signal
import threading
from typing import Any

import numpy as np
import pytest

from qengine import storage
from qengine.errors import OutOfMemory, QueryInterrupted, QueryTimeout, ResourceError, Unsupported
from qengine.exec.context import ExecutionContext
from qengine.exec.host.native_search import SearchHandle
from qengine.exec.host.search import run_search
from qengine.plan.logical import Unit
from qengine.plan.pattern import Direction
from qengine.plan.physical import Search, Source, VertexLevel

threads = pytest.mark.parametrize("threads", [1, 2])
strategies = pytest.mark.parametrize("strategy", ["search", "extend"])


def clique(n: int) -> Any:
    start, end = np.triu_indices(n, 1)
    return storage.from_edge_list((start, end), undirected=True)


def star(leaves: int) -> Any:
    return storage.from_edge_list((np.zeros(leaves, np.int64), np.arange(1, leaves + 1)), undirected=True)


@pytest.fixture(scope="module")
def dense() -> Any:
    return clique(120)


def search(sources: list[list[int]], seeds: int = 0, **options: Any) -> Search:
    levels = [
        VertexLevel(f"v{j}", sources=tuple(Source(k, (), Direction.BOTH) for k in each))
        for j, each in enumerate(sources)
    ]
    return Search(Unit(), tuple(levels), seeds, options.pop("emit", ()), **options)


ENDLESS = [list(range(j)) for j in range(10)]  # the 10-cliques of a 120-clique: 4e20 of them


def start(store: Any, plan: Search, context: ExecutionContext, seeds: Any = (), rows: int = 1) -> Any:
    return run_search(store, plan, seeds, rows, context, None)


def plans() -> list[Any]:
    """Return every way to run for long: counting, rows, one root only."""
    counted = search(ENDLESS, count="n")
    kinds = {
        "count": (counted, [], 1),
        "rows": (search(ENDLESS, emit=("v9",)), [], 1),
        "rows breadth first": (search(ENDLESS, emit=("v9",), strategy="extend"), [], 1),
        "prefixes": (search(ENDLESS, emit=("v1",), count="n"), [], 1),
        "one root": (search(ENDLESS, 1, count="n"), [np.zeros(1, np.int64)], 1),
    }
    return [pytest.param(*kind, id=name) for name, kind in kinds.items()]


@threads
@pytest.mark.parametrize(("plan", "seeds", "rows"), plans())
def test_timeout(dense: Any, plan: Search, seeds: Any, rows: int, threads: int) -> None:
    context = ExecutionContext(timeout=0.1, threads=threads)
    with pytest.raises(QueryTimeout):
        for _ in start(dense, plan, context, seeds, rows):
            pass
    assert context.control.memory_used == 0


@threads
def test_interrupt(dense: Any, threads: int) -> None:
    context = ExecutionContext(threads=threads)
    threading.Timer(0.1, context.interrupt).start()
    with pytest.raises(QueryInterrupted):
        list(start(dense, search(ENDLESS, count="n"), context))


def test_ctrl_c(dense: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    main, waited, wait = threading.main_thread().ident, threading.Event(), SearchHandle.wait
    assert main is not None

    def press_once_it_is_waited_for() -> None:
        waited.wait()
        signal.pthread_kill(main, signal.SIGINT)

    def noted(*arguments: Any) -> tuple[int, bool]:
        waited.set()
        return wait(*arguments)

    monkeypatch.setattr(SearchHandle, "wait", noted)
    threading.Thread(target=press_once_it_is_waited_for).start()
    with pytest.raises(QueryInterrupted):
        list(start(dense, search(ENDLESS, count="n"), ExecutionContext()))


@threads
@strategies
def test_a_consumer_that_stops_ends_the_work(dense: Any, strategy: str, threads: int) -> None:
    context = ExecutionContext(threads=threads)
    rows = start(dense, search(ENDLESS, emit=tuple(f"v{j}" for j in range(10)), strategy=strategy), context)
    first = next(rows)
    assert len({column[0] for column in first.columns.values()}) == 10
    rows.close()
    assert context.control.memory_used == 0
    assert context.control.stop == 0


@strategies
def test_memory_limit_bounds_the_chunks(strategy: str) -> None:
    context = ExecutionContext(memory_limit=200_000, threads=2)
    everything = 25 * 24 * 23 * 22
    rows = start(clique(25), search(ENDLESS[:4], emit=("v0", "v1", "v2", "v3"), strategy=strategy), context)
    total = 0
    for chunk in rows:
        total += len(chunk.row)
        assert 0 < context.control.memory_used <= 200_000 or total == everything
    assert total == everything


def test_too_little_memory() -> None:
    with pytest.raises(OutOfMemory, match="1,000 bytes"):
        list(start(clique(400), search(ENDLESS[:4], count="n"), ExecutionContext(memory_limit=1000)))


def test_a_product_that_overflows() -> None:
    hub = search([[], *[[0]] * 6], count="n")
    with pytest.raises(ResourceError, match="64 bits"):
        list(start(star(10_000), hub, ExecutionContext()))


def test_orbits_beyond_64_bits() -> None:
    hub = search([[], *[[0]] * 3], count="n", orbits=10**8)
    (chunk,) = start(star(10_000), hub, ExecutionContext())
    assert chunk.count.tolist() == [(10_000**3 + 10_000) * 10**8]


def test_a_large_total_that_fits() -> None:
    hub = search([[], *[[0]] * 4], count="n")
    (chunk,) = start(star(10_000), hub, ExecutionContext())
    assert chunk.count.tolist() == [10_000**4 + 10_000]


def test_more_levels_than_kernels_take() -> None:
    with pytest.raises(Unsupported, match="1,025 nodes and relationships exceeds the 1,024"):
        list(start(clique(3), search([[], *[[0]] * 1024], count="n"), ExecutionContext()))


def test_breadth_first_rows_come_in_one_order(dense: Any) -> None:
    plan = search(ENDLESS[:3], emit=("v0", "v1", "v2"), strategy="extend")
    runs = []
    for context in (ExecutionContext(threads=1), ExecutionContext(threads=2), ExecutionContext(memory_limit=10**6)):
        chunks = list(start(dense, plan, context))
        runs.append(np.concatenate([np.stack(list(chunk.columns.values())) for chunk in chunks], axis=1))
    assert runs[0].shape == (3, 120 * 119 * 118)
    assert (runs[0] == runs[1]).all()
    assert (runs[0] == runs[2]).all()


@threads
@strategies
def test_rows_stay_as_they_are_while_somebody_reads_them(
    dense: Any, strategy: str, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qengine.exec.host.search._CHUNK_ROWS", 4096)
    context = ExecutionContext(threads=threads)
    plan = search(ENDLESS[:3], emit=("v0", "v1", "v2"), strategy=strategy)
    kept = []
    for place, chunk in enumerate(start(dense, plan, context)):
        if place % 3:  # the others' memory is written to again
            kept.append((chunk, {name: column.copy() for name, column in chunk.columns.items()}))
    assert context.control.memory_used == 0
    assert len(kept) > 100
    for chunk, columns in kept:
        assert all((chunk.columns[name] == column).all() for name, column in columns.items())


@threads
def test_every_row_comes_once_whoever_had_its_memory_before(
    dense: Any, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qengine.exec.host.search._CHUNK_ROWS", 4096)
    plan = search(ENDLESS[:3], emit=("v0", "v1", "v2"))
    seen = np.zeros(120**3, np.int64)
    for chunk in start(dense, plan, ExecutionContext(threads=threads)):
        v0, v1, v2 = (chunk.columns[name] for name in plan.emit)
        np.add.at(seen, (v0 * 120 + v1) * 120 + v2, 1)
        assert not chunk.row.any()
    assert seen.max() == 1
    assert seen.sum() == 120 * 119 * 118
