"""What each rule makes of a plan and what it leaves alone; the plans before and after give the same rows.

Where a condition that a tentative rule has moved fails on some node, the plan after it may fail instead: what is run
then is the plan before.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from qengine import Graph
from qengine.binder import bind
from qengine.errors import ExecutionError
from qengine.exec import reference
from qengine.exec.context import ExecutionContext
from qengine.optimizer.rules import RULES, TENTATIVE, steps
from qengine.plan.logical import LogicalPlan
from qengine.plan.text import to_text
from qengine.syntax import parse
from qengine.testing.compare import difference
from qengine.testing.verify import verify
from tests.golden.conftest import FOLDER, read

GOLDEN = "rules"
TENTATIVE_NAMES = {rule.__name__ for rule in TENTATIVE}


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
        told = f"-- {name}"
        try:
            assert difference(expected, rows(graph, changed)) is None, name
        except ExecutionError:
            assert name in TENTATIVE_NAMES
            told += ", which fails"
        lines += [told, to_text(root)]
    golden_case.check("\n".join(lines) or "unchanged")
    assert difference(expected, [tuple(row) for row in graph.query(golden_case.query)]) is None


def test_each_rule_has_cases_that_it_changes_and_such_that_it_leaves_alone() -> None:
    for rule in (*RULES, *TENTATIVE):
        cases = read(FOLDER / GOLDEN / f"{rule.__name__}.txt")
        changes = [f"-- {rule.__name__}" in case.expected for case in cases]
        assert any(changes) and not all(changes), rule.__name__


def test_explain_steps_shows_each_rule() -> None:
    found = social().query("EXPLAIN STEPS MATCH (n) WHERE 1 = 1 RETURN n")
    assert [row["step"] for row in found] == ["bound", "fold_constants", "lowered"]
