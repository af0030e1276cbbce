"""Parts of a pattern that only equations of values join: rows are joined by these, or nodes looked up."""

from __future__ import annotations

import math
from collections import Counter
from random import Random
from typing import Any

import pytest

from qengine import Graph
from qengine.errors import ExecutionError
from qengine.exec.common.operators.folded_rows import FoldedRows
from qengine.optimizer import access
from qengine.optimizer.lower import match
from qengine.temporal import Date, DateTime, Duration, LocalDateTime
from tests.examples import examples

VALUES: list[list[Any]] = [
    [0, 1, 2, 3, -1, 2**53, 2**53 + 1, None],
    [0.0, -0.0, 1.0, 2.5, math.nan, math.inf, None],
    ["a", "A", "b", "", "1", None],
    [Date("2024-02-29"), Date("2026-01-01"), LocalDateTime("2024-02-29T00:00"), None],
    [True, False, None],
    [1, 1.0, "1", True, None, 2],
    [[1], [1, None], [], None, [1.0]],
    [Duration("P1D"), Duration("PT24H"), None],
    [DateTime("2024-01-01T00:00Z"), DateTime("2024-01-01T01:00+01:00"), DateTime("2024-01-01T01:00Z"), None],
]
SIDES = [
    "{v}.p", "{v}.q", "{v}.p + {v}.q", "toString({v}.p)", "coalesce({v}.p, {v}.q)", "{v}.i + 1", "toUpper({v}.q)",
    "[{v}.i]", "date({v}.p)", "{v}.i % 3", "{v}.p IS NULL", "size(labels({v}))", "id({v})", "{v}.i * 1.0",
]  # fmt: skip
PATTERNS = [
    "MATCH (a), (b)", "MATCH (a:L), (b:M)", "MATCH (a)-->(c), (b)", "MATCH (a)-->(c), (b)-->(d)",
    "MATCH (a), (b), (c)", "MATCH (a) OPTIONAL MATCH (b)", "MATCH (a) WITH a, a.i AS k MATCH (b)-->(c)",
    "MATCH (a) OPTIONAL MATCH (b:M)-->(d)",
]  # fmt: skip


@pytest.fixture(autouse=True)
def _however_few_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "LEAST_ROWS", 0)
    monkeypatch.setattr(match, "_MANY_PAIRS", 0.0)


def graph(random: Random) -> Graph:
    kinds = random.choice(VALUES), random.choice(VALUES)
    nodes = [
        {
            "id": k,
            "labels": random.choice([["L"], ["M"], ["L", "M"], []]),
            "properties": {"p": random.choice(kinds[0]), "q": random.choice(kinds[1]), "i": random.randint(0, 4)},
        }
        for k in range(random.randint(1, 7))
    ]
    ends = [(random.randrange(len(nodes)), random.randrange(len(nodes))) for _ in range(6)]
    return Graph.from_records(nodes, [{"type": "R", "start": start, "end": end} for start, end in ends])


def outcome(made: Graph, text: str, device: str) -> Counter[str] | str:
    try:
        return Counter(map(repr, made.query(text, device=device).fetchall()))
    except Exception as error:
        return type(error).__name__


@pytest.mark.parametrize("seed", range(examples(60)))
def test_equal_to_the_reference(seed: int) -> None:
    random = Random(seed)
    made = graph(random)
    for _ in range(6):
        left, right = (random.choice(SIDES).format(v=name) for name in "ab")
        more = random.choice(["", "", " AND a.i <= b.i", " AND b.q = a.q"])
        text = f"{random.choice(PATTERNS)} WHERE {left} = {right}{more} RETURN id(a), id(b)"
        assert outcome(made, text, "cpu") == outcome(made, text, "reference"), text


@pytest.mark.parametrize("condition", ["a.i + 1 = b.i + 2", "toUpper(a.s) = toLower(b.s)", "a.i * 1.0 = toFloat(b.s)"])
def test_parts_are_joined_by_values(condition: str) -> None:
    nodes = [{"id": k, "properties": {"i": k, "s": str(k % 5)}} for k in range(20)]
    plan = str(Graph.from_records(nodes).explain(f"MATCH (a), (b) WHERE {condition} RETURN count(*)"))
    assert "HashJoin on " in plan and "key of" in plan


def test_a_property_is_rather_looked_up() -> None:
    """Whichever side of the equation it stands on, and whichever node comes first."""
    made = Graph.from_records([{"id": k, "properties": {"i": k}} for k in range(20)])
    for condition in ("a.i = b.i + 1", "b.i + 1 = a.i", "b.i = a.i + 1"):
        plan = str(made.explain(f"MATCH (a), (b) WHERE {condition} RETURN count(*)"))
        assert "by hash index on i" in plan


def test_a_value_that_cannot_be_computed_is_told_where_its_row_has_a_partner() -> None:
    made = Graph.from_records([{"id": k, "labels": ["L" if k < 5 else "M"], "properties": {"i": k}} for k in range(9)])
    text = "MATCH (a:L), (b:M) WHERE 10 / (a.i - 3) = b.i - 1{} RETURN a.i, b.i"
    with pytest.raises(ExecutionError, match="division by zero"):
        made.query(text.format("")).fetchall()
    assert made.query(text.format(" AND a.i <> 3")).fetchall() == []


def test_groups_of_looked_up_nodes_are_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    folded: list[int] = []
    run = FoldedRows.run
    monkeypatch.setattr(FoldedRows, "run", lambda self, *given: folded.append(1) or run(self, *given))
    nodes = [
        {"id": k, "labels": ["LM"[k % 3 == 0]], "properties": {"p": k % 101, "q": f"q{k % 11}", "f": k / 8}}
        for k in range(400)
    ]
    wide = Graph.from_records(nodes, [])
    for ending in ("a.q, count(*), min(b.f)", "b.q, sum(a.p), max(a.q)", "a.p % 2, b.p % 3, count(DISTINCT b.q)"):
        query = f"MATCH (a:L), (b:M) WHERE b.p = a.p AND b.q <> 'q3' RETURN {ending}"
        assert "LookUp" in str(wide.explain(query))
        expected, found = (wide.query(query, device=device).fetchall() for device in ("reference", "cpu"))
        assert Counter(expected) == Counter(found), query
    assert len(folded) == 3
