"""A count that takes long is overtaken by searches in other orders, which find the same total."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine import Graph, storage
from qengine.errors import OutOfMemory, QueryInterrupted
from qengine.estimate import rival
from qengine.exec.common.masks import Masks
from qengine.exec.common.runtime import Runtime
from qengine.exec.context import ExecutionContext
from qengine.exec.host import race
from qengine.exec.host.search import run_search
from qengine.plan.levels import links, reordered, without_order
from qengine.plan.logical import Unit
from qengine.plan.pattern import Direction
from qengine.plan.physical import Search, Source, VertexLevel
from qengine.testing.plans import planned

TRIANGLES = 10 * 9 * 8


class Endless:
    """Stands for a native search that never ends, unless its context is stopped."""

    def __init__(self, context: ExecutionContext) -> None:
        self.context = context

    def wait(self, milliseconds: int = 0) -> tuple[int, bool]:
        self.context.check()
        return 0, False


class Known(Endless):
    """Stands for one that ends when it is waited for the ``after``-th time."""

    def __init__(self, context: ExecutionContext, after: int) -> None:
        super().__init__(context)
        self.after = after

    def wait(self, milliseconds: int = 0) -> tuple[int, bool]:
        self.after -= 1
        return 0, self.after <= 0

    def total(self) -> int:
        return TRIANGLES


@pytest.fixture
def clique() -> Any:
    start, end = np.triu_indices(10, 1)
    return storage.from_edge_list((start, end), undirected=True)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(race, "_PATIENCE", 0.0)


def cliques(n: int) -> Search:
    levels = [VertexLevel(f"v{j}", sources=tuple(Source(k, (), Direction.BOTH) for k in range(j))) for j in range(n)]
    return Search(Unit(), tuple(levels), 0, (), count="n")


def run(store: Any, running: Any, context: ExecutionContext) -> tuple[int, Search]:
    return race.raced(running, store, cliques(3), context, Masks(Runtime(store, context)), 100)


def test_the_first_rival_that_ends_wins(clique: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    context = ExecutionContext()
    hopeless, soon = cliques(9), reordered(without_order(cliques(3)), ("v2", "v1", "v0"))
    context.rivals = lambda *_: [hopeless, soon]
    monkeypatch.setattr(race, "SearchHandle", _endless_for(hopeless))
    assert run(clique, Endless(context), context) == (TRIANGLES, soon)


def _endless_for(hopeless: Search) -> Any:
    from qengine.exec.host.native_search import SearchHandle

    def start(resolved: Any, seeds: Any, rows: int, context: ExecutionContext, chunk_rows: int) -> Any:
        if int(resolved.plan["n_levels"][0]) < len(hopeless.levels):
            return SearchHandle(resolved, seeds, rows, context, chunk_rows)
        endless: Any = Endless(context)
        endless.close = lambda: None
        return endless

    return start


def test_a_search_that_ends_by_itself_wins(clique: Any) -> None:
    context = ExecutionContext()
    context.rivals = lambda *_: []
    total, winner = run(clique, Known(context, 5), context)
    assert total == TRIANGLES
    assert winner == cliques(3)


def test_a_fixed_order_runs_alone(clique: Any) -> None:
    context = ExecutionContext()

    def look(*_: Any) -> list[Search]:
        raise AssertionError("other orders were looked for")

    context.rivals = look
    search = replace(cliques(3), fixed=True)
    masks = Masks(Runtime(clique, context))
    assert race.raced(Known(context, 5), clique, search, context, masks, 100) == (TRIANGLES, search)


@pytest.mark.parametrize(
    ("hint", "fixed"),
    [("", False), ("search", False), ("order(c, a, b)", True), ("order(b)", True), ("order(ri)", True)],
)
def test_hints_fix_an_order(hint: str, fixed: bool) -> None:
    graph = Graph.from_records([{"id": i} for i in range(3)], [{"type": "R", "start": i, "end": i - 1} for i in (1, 2)])
    text = "MATCH (a)-->(b)-->(c), (a)-->(c) RETURN count(*)"
    assert largest_of(graph, f"/*+ {hint} */ {text}" if hint else text).fixed is fixed


def test_rivals_that_fail_are_dropped(clique: Any) -> None:
    context = ExecutionContext()

    def fail(*_: Any) -> list[Search]:
        raise OutOfMemory("no memory to look for another order")

    context.rivals = fail
    assert run(clique, Known(context, 5), context)[0] == TRIANGLES


def test_an_interrupt_ends_the_race(clique: Any) -> None:
    context = ExecutionContext()

    def interrupt(*_: Any) -> list[Search]:
        context.interrupt()
        return []

    context.rivals = interrupt
    with pytest.raises(QueryInterrupted):
        run(clique, Endless(context), context)


def test_an_interrupt_while_others_are_looked_for_is_one_of_the_query(clique: Any) -> None:
    context = ExecutionContext()

    def interrupted(*args: Any) -> list[Search]:
        beside: ExecutionContext = args[3]
        context.interrupt()
        beside.check()
        raise AssertionError("not stopped")

    context.rivals = interrupted
    with pytest.raises(QueryInterrupted):
        run(clique, Endless(context), context)


def test_ctrl_c_while_samples_are_drawn_is_not_lost(clique: Any) -> None:
    context = ExecutionContext()

    def stop(*_: Any) -> list[Search]:
        raise QueryInterrupted("Ctrl-C, as seen by a native call")

    context.rivals = stop
    with pytest.raises(QueryInterrupted):
        run(clique, Endless(context), context)


def test_limits_of_work_beside() -> None:
    context = ExecutionContext(timeout=60, memory_limit=1000)
    context.control.memory_used = 400
    beside = context.beside()
    assert beside.memory_limit == 600
    assert beside.control.deadline_ns == context.control.deadline_ns
    beside.control.memory_used = 100
    assert context.control.memory_used == 400


@st.composite
def labelled(draw: Any) -> Graph:
    n = draw(st.integers(4, 9))
    labels = draw(st.lists(st.sampled_from("AB"), min_size=n, max_size=n))
    edges = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), min_size=n, max_size=3 * n))
    return Graph.from_records(
        nodes=[{"id": i, "labels": [label]} for i, label in enumerate(labels)],
        relationships=[{"type": "R", "start": a, "end": b} for a, b in edges],
    )


PATTERNS = (
    "(a:A)--(b)--(c)--(d)--(a), (c)--(e:B)--(f)--(g)--(h:A), (f)--(h)",
    "(a)-->(b:A)-->(c)<--(d), (b)--(d)--(e:B), (e)-->(f)-->(g)--(h), (g)-->(e)",
)


@settings(max_examples=15)
@given(labelled(), st.sampled_from(PATTERNS), st.sampled_from(["", "REPEATABLE ELEMENTS ", "DIFFERENT NODES "]))
def test_every_order_has_the_same_total(graph: Graph, pattern: str, mode: str) -> None:
    search = largest_of(graph, f"MATCH {mode}{pattern} RETURN count(*)")
    store = graph._store
    plain = without_order(search)
    orders = list(dict.fromkeys(rival._orders(links(plain))))
    assert len(orders) > 8
    expected = total(store, search)
    for order in orders[:: len(orders) // 6]:
        assert total(store, reordered(plain, order)) == expected


def largest_of(graph: Graph, text: str) -> Search:
    return planned(graph, text, Search)[0]


def total(store: Any, search: Search) -> int:
    context = ExecutionContext(threads=1)
    chunks = list(run_search(store, search, (), 1, context, Masks(Runtime(store, context))))
    return sum(int(chunk.count.sum()) for chunk in chunks if chunk.count is not None)


def test_orders_that_look_better_are_returned() -> None:
    """From its common end a path to the one vertex with a rare label looks worse than from the rare one."""
    graph = Graph.from_records(
        nodes=[{"id": i, "labels": ["Rare" if i == 0 else "Common"]} for i in range(60)],
        relationships=[{"type": "R", "start": i, "end": j} for i in range(60) for j in range(i + 1, 60) if (i + j) % 3],
    )
    names = "abcdefgh"
    nodes = [f"({n}:{'Rare' if n == 'a' else 'Common'})" for n in names]
    order = ", ".join(reversed(names))
    text = f"MATCH /*+ order({order}) */ DIFFERENT NODES {'--'.join(nodes)}, (a)--(c)--(e)--(a) RETURN count(*)"
    search = largest_of(graph, text)
    context = ExecutionContext()
    store = graph._store
    found = rival.other_orders(store, search, Masks(Runtime(store, context)), context, 200)
    assert found
    assert "a" in [level.name for level in found[0].levels][:2]
