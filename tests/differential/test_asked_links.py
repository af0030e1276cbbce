"""Conditions that a relationship is there between two nodes of a match, or that none is: the reference's rows."""

from __future__ import annotations

import pytest

from qengine import Graph
from qengine.optimizer import elimination
from qengine.optimizer.lower import match_strategy
from qengine.testing.compare import agree

PATTERNS = [
    "(a)-[:R]->(b)-[:R]->(c)",
    "(a)-[:R]-(b)-[:S]-(c)",
    "(a:A)-[:S]->(b), (c:B)",
    "(c)<-[:R]-(b)-[:R]->(a), (b)-[:S]->(d)",
    "(a)-[:T]->(b)-[:R]-(c)-[:U]-(d)",
]
MODES = ["", "REPEATABLE ELEMENTS ", "DIFFERENT NODES "]
CASES = [(MODES[0], each) for each in PATTERNS] + [(mode, each) for mode in MODES[1:] for each in PATTERNS[:2]]
CONDITIONS = [
    "(a)-[:S]->(c)",
    "(a)-[:R]-(c)",
    "(c)-[:U]-(a)",
    "(a)-[:T]->(c)",
    "(b)-[:R]->(a)",
    "EXISTS { (a:A)-[:S]->(c) }",
    "EXISTS { (a)-[s:S WHERE s.w > 1]->(c) }",
    "(a)-[:R|S]->(c)",
    "(a)-[:S]->(a)",
]
RETURNED = ["count(*)", "a.x, count(*)", "a.x, c.x, count(*)", "a.x, min(c.x), count(b)", "a, c"]


@pytest.fixture(scope="module")
def graph() -> Graph:
    """Return a graph whose S join two nodes at most once, T more often, U without a direction; R may go both ways."""
    nodes = [{"id": row, "labels": "AB"[row % 2], "properties": {"x": row % 4}} for row in range(9)]
    ends = {
        "R": [(row, (4 * row + k) % 9) for row in range(9) for k in (0, 1, 2)],
        "S": [(row, (2 * row + k) % 9) for row in range(9) for k in (1, 3)],
        "T": [(row, (row + k) % 9) for row in range(0, 9, 2) for k in (1, 1, 2)],
        "U": [(row, (row + 2) % 9) for row in range(9)],
    }
    edges = [
        {"type": name, "start": start, "end": end, "properties": {"w": (start + end) % 4}}
        for name, pairs in ends.items()
        for start, end in pairs
    ]
    return Graph.from_records(nodes, edges, undirected=["U"])


@pytest.mark.parametrize(("mode", "pattern"), CASES)
def test_links_that_are_there_and_those_that_are_not(
    graph: Graph, mode: str, pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(elimination, "_LEAST", 0.0)
    monkeypatch.setattr(match_strategy, "_ASKED", 1e12)  # whatever can be is counted by elimination
    negated = [f"NOT {each}" for each in CONDITIONS]
    some = f"({CONDITIONS[0]} OR {CONDITIONS[1]})"
    conditions = [*CONDITIONS, *negated, f"{negated[0]} AND {negated[1]} AND a.x < 3", f"{some} AND {negated[2]}"]
    without = {True: 0, False: 0}  # by whether the link must be there: plans that make no row to ask for it
    for number, condition in enumerate(conditions):
        for returned in RETURNED[number % 3 :: 3]:
            text = f"MATCH {mode}{pattern} WHERE {condition} RETURN {returned}"
            without[number < len(CONDITIONS)] += "Attach" not in str(graph.explain(text))
            agree(graph, text)
    assert min(without.values()) >= 3, without


def test_pairs_without_a_link_are_counted_without_a_row() -> None:
    ends = dict.fromkeys((row % 3000, (7 * row + row // 3000) % 3000) for row in range(60_000))
    graph = Graph.from_records(
        [{"id": row, "labels": "P"} for row in range(3000)],
        [{"type": "R", "start": start, "end": end} for start, end in ends],
    )
    pattern = "(a:P)-[:R]->(b)-[:R]->(c:P)"
    for text, returned in (("MATCH {} WHERE NOT (a)-[:R]->(c)", "count(*)"), ("MATCH {} WHERE (a)-[:R]->(c)", "a, c")):
        plan = str(graph.explain(f"{text.format(pattern)} RETURN {returned}"))
        assert "Attach" not in plan, plan
    without = graph.query(f"MATCH {pattern} WHERE NOT (a)-[:R]->(c) RETURN count(*)").fetchall()[0][0]
    linked = {(start, end) for start, end in ends}
    after: dict[int, list[int]] = {}
    for start, end in linked:
        after.setdefault(start, []).append(end)
    ways = ((one, two, far) for one, two in linked for far in after.get(two, ()) if (one, two) != (two, far))
    assert without == sum((one, far) not in linked for one, _, far in ways)
