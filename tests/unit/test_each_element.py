"""The rule that puts conditions on all elements of a walk at its hops: where it applies, and where it must not."""

from __future__ import annotations

import pytest

from qengine import Graph

GRAPH = Graph.from_records(
    [{"id": 0, "labels": ["A"], "properties": {"x": 1, "mixed": 1}}, {"id": 1, "properties": {"x": 2, "mixed": "a"}}],
    [{"type": "R", "start": 0, "end": 1, "properties": {"w": 1}}],
)


def plan(text: str) -> str:
    return str(GRAPH.explain(f"{text} RETURN count(*)"))


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("(a)-[r*]->(b) WHERE all(x IN r WHERE x.w > 1)", "each r WHERE r.w > 1]"),
        ("(a)-[r*]->(b) WHERE none(x IN r WHERE x.w > 1)", "each r WHERE NOT r.w > 1]"),
        ("(a)-[r*]->(b) WHERE NOT any(x IN r WHERE x.w > 1)", "each r WHERE NOT r.w > 1]"),
        ("p = (a)-[r*]->(b) WHERE all(x IN relationships(p) WHERE x.w > 1)", "each r WHERE r.w > 1]"),
        ("p = (a)-[r*]->(b) WHERE all(x IN nodes(p) WHERE x.x > 1)", "(b WHERE b.x > 1) through (r WHERE r.x > 1)"),
        ("(a)-[r*]->(b) WHERE all(x IN r WHERE x.w > $least AND x.w < 9)", "each r WHERE r.w > $least AND r.w < 9]"),
        ("(a)-[r*]->(b) WHERE all(x IN r WHERE x.w + 1 > 1)", "each r WHERE r.w + 1 > 1]"),
    ],
)
def test_applies(text: str, part: str) -> None:
    found = plan(f"MATCH {text}")
    assert part in found
    assert "Filter" not in found


@pytest.mark.parametrize(
    "text",
    [
        "MATCH (a)-[r*]->(b) WHERE any(x IN r WHERE x.w > 1)",
        "MATCH (a)-[r*]->(b) WHERE single(x IN r WHERE x.w > 1)",
        "MATCH (a)-[r*]->(b) WHERE NOT all(x IN r WHERE x.w > 1)",
        "MATCH (a)-[r*]->(b) WHERE all(x IN r WHERE x.w > 1) OR a.x = 1",
        "MATCH (a)-[r*]->(b) WHERE all(x IN r WHERE x.w > a.x)",
        "MATCH (a)-[r*]->(b) WHERE all(x IN r WHERE rand() > x.w)",
        "MATCH (a)-[r*]->(b) WHERE all(x IN r[1..] WHERE x.w > 1)",
        "MATCH p = ANY SHORTEST (a)-[r*]->(b) WHERE all(x IN nodes(p) WHERE x.x > 1)",
        "MATCH (a)-[r*]->(b) WITH r MATCH (c)-[r*]->(d) WHERE all(x IN r WHERE x.w > 1)",
    ],
)
def test_does_not_apply(text: str) -> None:
    assert "Filter" in plan(text)
