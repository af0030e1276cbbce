"""What each rule makes of a plan and what it leaves alone; the plans before and after give the same rows."""

from __future__ import annotations

from functools import cache
from typing import Any

from qengine import Graph
from qengine.binder import bind
from qengine.exec import reference
from qengine.exec.context import ExecutionContext
from qengine.optimizer.rules import steps
from qengine.plan.logical import LogicalPlan
from qengine.plan.text import to_text
from qengine.syntax import parse
from qengine.testing.compare import difference
from qengine.testing.verify import verify

GOLDEN = "rules"


@cache
def social() -> Graph:
    people = [
        {"id": i, "labels": ["Person"] + ["Actor"] * (i % 3 == 0), "properties": {"name": name, "age": 20 + 7 * i}}
        for i, name in enumerate(["Ann", "Bob", "Cy", "Di", "Eve", "Flo"])
    ]
    cities = [
        {"id": 10 + i, "labels": ["City"], "properties": {"name": name}} for i, name in enumerate(["Rome", "Oslo"])
    ]
    knows = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3), (0, 3), (1, 0)]
    return Graph.from_records(
        people + cities,
        [{"type": "knows", "start": a, "end": b, "properties": {"since": 2000 + a}} for a, b in knows]
        + [{"type": "lives_in", "start": i, "end": 10 + i % 2} for i in range(5)],
    )


def rows(graph: Graph, plan: LogicalPlan) -> list[Any]:
    return list(reference.run(plan, graph._store, ExecutionContext()))


def test_rules(golden_case: Any) -> None:
    graph = social()
    (statement,) = parse(golden_case.query)
    plan = bind(statement, golden_case.query, graph._store).plan
    expected = rows(graph, plan)
    assert len(expected) > 0 or "empty" in golden_case.title
    lines = []
    for name, root in steps(plan.root):
        changed = LogicalPlan(root, plan.columns)
        verify(changed)
        assert difference(expected, rows(graph, changed)) is None, name
        lines += [f"-- {name}", to_text(root)]
    golden_case.check("\n".join(lines) or "unchanged")
    assert difference(expected, [tuple(row) for row in graph.query(golden_case.query)]) is None


def test_explain_steps_shows_each_rule() -> None:
    found = social().query("EXPLAIN STEPS MATCH (n) WHERE 1 = 1 RETURN n")
    assert [row["step"] for row in found] == ["bound", "fold_constants", "lowered"]
