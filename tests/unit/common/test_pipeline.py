"""The pipeline pulls no more than it needs, holds no more than it may, and carries rows through a search."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import qengine
from qengine.errors import OutOfMemory, QueryInterrupted, QueryTimeout
from qengine.exec.common import pipeline
from qengine.exec.common.operators import aggregate
from qengine.exec.context import ExecutionContext
from qengine.plan import logical as op
from qengine.plan.expr import AggregateCall, Call, Comparison, Expr, Literal, MapOf, Property, Variable
from qengine.plan.pattern import Direction
from qengine.plan.physical import Attach, EdgeLevel, Optional, PhysicalPlan, Search, VertexLevel
from qengine.storage import from_records

COUNT = 1000
STORE = from_records(
    [{"id": i, "labels": ["A"], "properties": {"v": i % 10}} for i in range(COUNT)],
    [{"type": "R", "start": 0, "end": 1, "properties": {"w": 5}}],
)


@dataclass
class Chunk:
    row: Any
    columns: dict[str, Any]
    count: Any = None


class FakeSearch:
    """Finds for each row as many vertices as ``fanout`` says, in chunks; counts the chunks that were pulled."""

    def __init__(self, fanout: int, chunk: int) -> None:
        self.fanout = fanout
        self.chunk = chunk
        self.chunks = 0
        self.seeds: list[Any] = []

    def run_search(
        self, store: Any, search: Search, seeds: list[Any], rows: int, context: Any, masks: Any, diversion: Any = None
    ) -> Iterator[Chunk]:
        self.seeds.append(seeds)
        row = np.repeat(np.arange(rows), self.fanout)
        if seeds:
            row = row[np.repeat(seeds[0] >= 0, self.fanout)]
        for begin in range(0, len(row), self.chunk):
            self.chunks += 1
            part = row[begin : begin + self.chunk]
            ids = np.arange(begin, begin + len(part)) % COUNT
            columns = {name: np.zeros_like(ids) if name == "r" else ids for name in search.emit}
            yield Chunk(part, columns, np.full(len(part), 3) if search.count else None)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeSearch:
    search = FakeSearch(2000, 500)
    module = types.ModuleType("qengine.exec.host.search")
    module.run_search = search.run_search  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "qengine.exec.host.search", module)
    return search


def scan(source: op.Operator | None = None, seeds: tuple[str, ...] = (), **options: Any) -> Search:
    """Return a search for the fake: breadth first, as one level alone would be read without a search."""
    options.setdefault("strategy", "extend")
    levels = (*(VertexLevel(name) for name in seeds), VertexLevel("n"))
    return Search(source or op.Unit(), levels, len(seeds), options.pop("emit", ("n",)), **options)


def rows(plan: op.Operator, *columns: str, context: ExecutionContext | None = None) -> list[tuple[Any, ...]]:
    found = []
    for batch in pipeline.run(PhysicalPlan(plan, columns), STORE, context or ExecutionContext({})):
        assert batch.length > 0
        found += list(zip(*(batch.values(name) for name in columns), strict=True))
    return found


V = Property(Variable("n"), "v")


@pytest.mark.parametrize("predicates", [(), (Comparison((">=",), (Property(Variable("n"), "v"), Literal(7))),)])
def test_one_level_alone_is_read_without_a_search(fake: FakeSearch, predicates: tuple[Expr, ...]) -> None:
    search = Search(op.Unit(), (VertexLevel("n", None, predicates),), 0, ("n",))
    context = ExecutionContext({})
    found = [batch.length for batch in pipeline.run(PhysicalPlan(op.Limit(search, Literal(3)), ("n",)), STORE, context)]
    assert found == [3] and not fake.seeds
    kept = [i for i in range(COUNT) if not predicates or i % 10 >= 7]
    assert [node.id for (node,) in rows(search, "n")] == kept
    counted = Search(op.Unit(), (VertexLevel("n", None, predicates),), 0, (), count="c")
    assert rows(op.Aggregate(counted, (), (("n", AggregateCall("count", ())),), "c"), "n") == [(len(kept),)]
    once = op.Project(search, (("v", V),))
    assert rows(once, "v") == [(i % 10,) for i in kept]
    assert not fake.seeds


def test_limit_stops_the_search(fake: FakeSearch) -> None:
    assert len(rows(op.Limit(op.Project(scan(), (("v", V),)), Literal(10)), "v")) == 10
    assert fake.chunks == 1


def test_limit_above_a_filter_asks_for_few_rows(fake: FakeSearch) -> None:
    plan = op.Limit(op.Filter(scan(), Call("=", (V, Literal(3)))), Literal(2))
    assert len(rows(plan, "n")) == 2
    assert fake.chunks == 1


def test_skip_counts_toward_what_is_pulled(fake: FakeSearch) -> None:
    plan = op.Limit(op.Skip(scan(), Literal(700)), Literal(10))
    assert [node.id for (node,) in rows(plan, "n")] == list(range(700, 710))
    assert fake.chunks == 2


def test_distinct_gives_its_first_rows_at_once(fake: FakeSearch) -> None:
    plan = op.Limit(op.Distinct(op.Project(scan(), (("v", V),))), Literal(3))
    assert rows(plan, "v") == [(STORE.nodes([i])[0].get("v"),) for i in range(3)]  # type: ignore[union-attr]
    assert fake.chunks == 1


def test_union_does_not_start_what_is_not_needed(fake: FakeSearch) -> None:
    rows(op.Limit(op.Union((scan(), scan()), True), Literal(5)), "n")
    assert len(fake.seeds) == 1


def test_results_are_computed_when_asked_for(fake: FakeSearch) -> None:
    batches = pipeline.run(PhysicalPlan(scan(), ("n",)), STORE, ExecutionContext({}))
    assert fake.chunks == 0
    next(batches)
    assert fake.chunks == 1


def test_exists_stops_when_all_rows_have_some(fake: FakeSearch) -> None:
    source = op.Unwind(op.Unit(), Literal([1, 2, 2]), "i")
    plan = Attach(source, scan(op.Argument(("i",))), "exists", "e", ("i",))
    assert rows(plan, "i", "e") == [(1, True), (2, True), (2, True)]
    assert fake.chunks == 5  # two different rows of 2000 in chunks of 500: the second begins in the fifth


def test_an_uncorrelated_subplan_runs_once(fake: FakeSearch) -> None:
    source = op.Unwind(op.Unit(), Literal([1, 2, 3]), "i")
    plan = Attach(source, scan(op.Argument(())), "count", "c", ())
    assert rows(plan, "i", "c") == [(1, 2000), (2, 2000), (3, 2000)]
    assert len(fake.seeds) == 1


def test_counts_of_subplans_are_weighed(fake: FakeSearch) -> None:
    source = op.Unwind(op.Unit(), Literal([1, 2, 1]), "i")
    plan = Attach(source, scan(op.Argument(("i",)), emit=(), count="w"), "count", "c", ("i",), "w")
    assert rows(plan, "i", "c") == [(1, 6000), (2, 6000), (1, 6000)]


def test_search_joins_the_input_back(fake: FakeSearch) -> None:
    fake.fanout, fake.chunk = 3, 4
    source = op.Unwind(op.Unit(), Literal([7, 8]), "i")
    plan = Search(source, (VertexLevel("n"), EdgeLevel("r", 0, 0, (), Direction.OUT)), 0, ("n", "r"), count="c")
    found = rows(plan, "i", "n", "r", "c")
    assert [(i, n.id, r.type, c) for i, n, r, c in found] == [
        (7, 0, "R", 3), (7, 1, "R", 3), (7, 2, "R", 3), (8, 3, "R", 3), (8, 4, "R", 3), (8, 5, "R", 3)
    ]  # fmt: skip


def test_search_starts_from_nodes_of_any_column(fake: FakeSearch) -> None:
    fake.fanout = 1
    source = op.Project(scan(), (("a", Variable("n")),))
    first = op.Limit(source, Literal(3))
    assert [a.id for a, _ in rows(scan(first, ("a",)), "a", "n")] == [0]
    nothing = Optional(op.Unit(), op.Filter(scan(op.Argument(())), Literal(False)), ("n",))
    plan = scan(op.Project(nothing, (("a", Variable("n")),)), ("a",))
    assert rows(plan, "a", "n") == []
    assert [seeds[0].tolist() for seeds in fake.seeds if seeds] == [[0], [-1]]


def counting(name: str = "count", *args: Expr, keys: tuple[tuple[str, Expr], ...] = ()) -> op.Aggregate:
    return op.Aggregate(scan(), keys, (("c", AggregateCall(name, args)),))


def test_weight_of_a_search_is_summed(fake: FakeSearch) -> None:
    plan = op.Aggregate(scan(emit=(), count="w"), (), (("c", AggregateCall("count", ())),), "w")
    assert rows(plan, "c") == [(6000,)]


@pytest.mark.parametrize(
    "plan",
    [
        op.Sort(scan(), (op.SortKey(V),)),
        op.Distinct(op.Project(scan(), (("n", Variable("n")), ("v", V)))),
        counting("collect", V),
        counting(keys=(("n", Property(Variable("n"), "v")), ("m", Variable("n")))),
        op.Union((scan(), scan()), False),
        Attach(op.Unit(), scan(op.Argument(())), "collect", "n", ()),
    ],
    ids=["sort", "distinct", "collect", "group", "union", "attach"],
)
def test_memory_limits_hold(plan: op.Operator, fake: FakeSearch) -> None:
    columns = ("c",) if isinstance(plan, op.Aggregate) else ("n",)
    rows(plan, *columns, context=ExecutionContext({}, memory_limit=10_000_000))
    with pytest.raises(OutOfMemory, match=r"more than the memory limit of 1,000") as caught:
        rows(plan, *columns, context=ExecutionContext({}, memory_limit=1_000))
    assert caught.value.hint


def test_counting_needs_no_memory_for_rows(fake: FakeSearch) -> None:
    fake.fanout = 100_000
    context = ExecutionContext({}, memory_limit=60_000)
    assert sum(c for _, c in rows(counting(keys=(("v", V),)), "v", "c", context=context)) == 100_000


def test_memory_is_given_back() -> None:
    runtime = pipeline.Runtime(STORE, ExecutionContext({}, memory_limit=100))
    with runtime.memory.holding("Sort") as first, runtime.memory.holding("Distinct") as second:
        first.add(60)
        with pytest.raises(OutOfMemory, match="Distinct needs 50 bytes for its rows, and other operators hold 60"):
            second.add(50)
        first.set(10)
        second.add(50)
    assert (runtime.memory.charged, runtime.memory.peak) == (0, 60)


def test_timeouts_fire_between_batches(fake: FakeSearch) -> None:
    context = ExecutionContext({}, timeout=1e-9)
    with pytest.raises(QueryTimeout):
        rows(counting(), "c", context=context)


def test_interrupts_fire_between_batches(fake: FakeSearch) -> None:
    context = ExecutionContext({})
    context.interrupt()
    with pytest.raises(QueryInterrupted):
        rows(op.Sort(scan(), (op.SortKey(V),)), "n", context=context)


class CountingContext(ExecutionContext):
    """Counts how often operators look whether they must stop."""

    __slots__ = ("checks",)

    def check(self) -> None:
        self.checks = getattr(self, "checks", 0) + 1
        super().check()


def test_row_wise_evaluation_looks_whether_it_must_stop() -> None:
    numbers = op.Unwind(op.Unit(), Literal(list(range(20_000))), "i")
    text = Call("point", (MapOf((("x", Variable("i")), ("y", Literal(2.0)), ("crs", Literal("cartesian")))),))
    context = CountingContext({})
    assert len(rows(op.Project(numbers, (("x", text),)), "x", context=context)) == 20_000
    assert context.checks >= 20


def test_profile_counts_rows_of_each_operator(fake: FakeSearch) -> None:
    search = scan()
    plan = op.Filter(search, Call("<", (V, Literal(1))))
    context = ExecutionContext({})
    context.profile = {}
    found = rows(plan, "n", context=context)
    assert context.profile[id(search)].rows == 2000
    assert context.profile[id(plan)].rows == len(found) == 200
    assert context.profile[id(plan)].seconds >= context.profile[id(search)].seconds > 0


@pytest.mark.parametrize("chunk", [7, 500, 1_500, 100_000])
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("name", ["count", "sum", "avg", "min", "max"])
def test_counting_nodes_first_changes_nothing(
    name: str, weight: str | None, chunk: int, fake: FakeSearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.fanout, fake.chunk = 3700, chunk
    calls = (("x", AggregateCall(name, (V,))), ("d", AggregateCall("sum", (V,), True)))
    plan = op.Aggregate(scan(count=weight), (("k", Call("%", (V, Literal(3)))),), calls, weight)
    counted = sorted(rows(plan, "k", "x", "d"))
    monkeypatch.setattr(aggregate, "_fits", lambda runtime: False)
    assert sorted(rows(plan, "k", "x", "d")) == counted
    values = [node.get("v") for node in STORE.nodes(np.arange(3700) % COUNT)]  # type: ignore[union-attr]
    groups = {k: [v for v in values if v % 3 == k] for k in range(3)}
    expected = {"count": len, "sum": sum, "avg": lambda v: sum(v) / len(v), "min": min, "max": max}[name]
    times = 3 if weight and name in ("count", "sum") else 1
    assert counted == [(k, expected(v) * times, sum(set(v))) for k, v in groups.items()]  # type: ignore[operator]


def test_a_plan_runs_again_with_what_differs() -> None:
    nodes = [{"id": i, "labels": ["A"], "properties": {"p": i}} for i in range(100)]
    graph = qengine.Graph.from_records(nodes, [{"type": "R", "start": i, "end": i + 1} for i in range(99)])
    fixed = graph.prepare("MATCH (a:A)-[:R]->(b) WHERE a.p > 90 AND b.p <> 95 RETURN count(*)")
    assert [fixed.run().value() for _ in range(3)] == [7, 7, 7]
    given = graph.prepare("MATCH (a:A)-[:R]->(b) WHERE a.p > $p RETURN count(*)")
    assert [given.run({"p": p}).value() for p in (90, 50, 90, None)] == [8, 48, 8, 0]
    chance = graph.prepare("MATCH (a:A)-[:R]->(b) WHERE rand() < 0.5 AND a.p >= 0 RETURN count(*)")
    assert len({chance.run().value() for _ in range(20)}) > 1
    clock = graph.prepare("MATCH (a:A)-[:R]->(b) WHERE a.p < timestamp() % 1000 RETURN count(*), timestamp() % 1000")
    for _ in range(20):
        count, now = clock.run().fetchone() or (0, 0)
        assert count == min(now, 99)


@pytest.mark.parametrize("key", ["x", "x / 2", "x % 100000", "100000 - x"])
def test_groups_of_rows_that_ascend(key: str) -> None:
    """Parts whose groups ascend from one to the next are not merged; others are."""
    x = np.arange(150_000)
    groups, counts = np.unique(eval(key.replace("/", "//"), {"x": x}), return_counts=True)
    row = qengine.Graph.from_records([]).query(
        f"UNWIND range(0, 149999) AS x WITH {key} AS g, count(*) AS n, max(x) AS m "
        "RETURN count(*), min(g), max(g), sum(g), sum(n), max(n), max(m), sum(g * n)"
    )
    expected = len(groups), groups.min(), groups.max(), groups.sum(), len(x), counts.max(), x.max(), groups @ counts
    assert tuple(row.fetchone()) == expected
