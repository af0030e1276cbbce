"""Estimated against counted: how many elements satisfy conditions on their properties."""

from __future__ import annotations

from statistics import median

import numpy as np
import pyarrow as pa
import pytest

from qengine import Graph
from qengine.plan.physical import LookUp, RelationshipScan, Search
from qengine.plan.traverse import operators
from qengine.testing.generate.social import SocialSize, social

PERSONS = """
    a.age = 30; a.age <> 30; a.age > 80; a.age >= 80; a.age < 20; a.age > 30 AND a.age < 40; 30 <= a.age < 32;
    a.age IN [20, 30, 40]; a.age IN [20, 200]; a.age = 200; a.age > 200; a.age < 0; a.age = 'x'; a.age > 'x'
    a.id = 77; a.id < 100; a.id >= 9900; a.id IN [1, 2, 3, 99999999]; a.id > 2000 AND a.id < 3000 AND a.age > 50
    a.name = 'Nobody'; a.name STARTS WITH 'Name00'; a.name STARTS WITH 'Name012'; a.name STARTS WITH 'X'
    a.name ENDS WITH '7'; a.name CONTAINS '12'; a.name < 'Name1000'; a.age > 60 AND a.name < 'Name1500'
    a.age IS NULL; a.age IS NOT NULL; a.nothing = 3; a.nothing IS NULL; NOT a.nothing = 3
    NOT a.age > 60; NOT a.age IN [20, 30]; a.age < 20 OR a.age > 80; a.age = 20 OR a.age = 30; a.age > 90 - 10
"""
POSTS = """
    a.score > 0.9; a.score < 0.01; a.score > 0.25 AND a.score <= 0.5; a.lang = 3; a.lang IN [1, 2]; a.lang > 5
    a.score > 0.5 AND a.lang = 1; a.id = 5; a.name = 'x'
"""
KNOWS = """
    a.since > 2015; a.since = 2000; a.since IN [1990, 1991]; a.since >= 2000 AND a.since < 2010; a.since IS NULL
    a.since < 1980; 1999 < a.since <= 2001
"""
PATTERNS = {"(a:Person)": PERSONS, "(a:Post)": POSTS, "(:Person)-[a:knows]->(:Person)": KNOWS}


@pytest.fixture(scope="module", name="graph")
def _graph() -> Graph:
    size = SocialSize(persons=10_000, knows=60_000, cities=100, posts=20_000, tags=500, likes=20_000)
    tables = social(size)
    parts = {name: name.split("_") for name in tables}
    return Graph.from_arrow(
        {part[1]: tables[name] for name, part in parts.items() if part[0] == "nodes"},
        {(part[1], "_".join(part[2:-1]), part[-1]): tables[name] for name, part in parts.items() if part[0] == "rels"},
    )


def estimated(graph: Graph, text: str) -> float:
    searches = (
        each
        for each in operators(graph.explain(text).plan.root)
        if isinstance(each, Search | LookUp | RelationshipScan)
    )
    return max((each.rows or 0.0 for each in searches), default=0.0)


def conditions() -> list[str]:
    return [
        f"MATCH {pattern} WHERE {condition.strip()}"
        for pattern, text in PATTERNS.items()
        for line in text.strip().splitlines()
        for condition in line.split(";")
        if condition.strip()
    ]


def q_error(graph: Graph, match: str) -> float:
    counted = graph.query(f"{match} RETURN count(*)").value()
    one, other = max(estimated(graph, f"{match} RETURN count(*)"), 1.0), max(counted, 1)
    return max(one / other, other / one)


def test_conditions_on_properties_are_estimated_well(graph: Graph) -> None:
    errors = {match: q_error(graph, match) for match in conditions()}
    assert len(errors) > 50
    assert median(errors.values()) < 1.1
    assert {match: error for match, error in errors.items() if error > 1.7} == {}


def test_a_label_expression_has_values_of_its_own(graph: Graph) -> None:
    assert q_error(graph, "MATCH (a:Person|Tag) WHERE a.id < 400") < 1.3
    assert q_error(graph, "MATCH (a) WHERE a.id < 400") < 1.3
    assert q_error(graph, "MATCH (a:Person|Post) WHERE a.age > 50") < 1.3


def test_a_parameter_is_taken_for_any_of_the_values(graph: Graph) -> None:
    assert estimated(graph, "MATCH (a:Person {id: $id}) RETURN count(*)") == pytest.approx(1, rel=0.05)
    assert estimated(graph, "MATCH (a:Person) WHERE a.age = $age RETURN count(*)") == pytest.approx(
        10_000 / 75, rel=0.01
    )
    assert 1 < estimated(graph, "MATCH (a:Person) WHERE a.age IN $ages RETURN count(*)") < 2_000
    assert 1_000 < estimated(graph, "MATCH (a:Person) WHERE a.age > $age RETURN count(*)") < 5_000


def test_what_has_an_id_is_one(graph: Graph) -> None:
    assert estimated(graph, "MATCH (a:Person) WHERE id(a) = 7 RETURN count(*)") == pytest.approx(1)
    assert estimated(graph, "MATCH (a) WHERE '7' = elementId(a) RETURN count(*)") == pytest.approx(1)
    assert estimated(graph, "MATCH ()-[a:knows]->() WHERE id(a) = 7 RETURN count(*)") == pytest.approx(1, rel=1e-3)


def test_values_of_several_kinds_leave_the_guess() -> None:
    nodes = [{"id": row, "labels": "A", "properties": {"x": row if row % 2 else str(row)}} for row in range(100)]
    graph = Graph.from_records([*nodes, *({"id": 100 + row, "labels": "A"} for row in range(100))])
    assert estimated(graph, "MATCH (a:A) WHERE a.x = 3 RETURN count(*)") == pytest.approx(200 * 0.5 * 0.1)
    assert estimated(graph, "MATCH (a:A) WHERE a.x IS NULL RETURN count(*)") == pytest.approx(100)


def test_rare_integers_are_as_frequent_as_those_near_them() -> None:
    ages = np.clip(np.random.default_rng(1).normal(40, 12, 20_000), 0, 99).astype(np.int64)
    counts = np.bincount(ages)
    graph = Graph.from_arrow({"A": pa.table({"id": np.arange(len(ages)), "age": ages})})
    errors = [q_error(graph, f"MATCH (a:A) WHERE a.age = {age}") for age in np.flatnonzero(counts).tolist()]
    assert max(errors) < 30 and sorted(errors)[len(errors) * 9 // 10] < 5  # a hundred and 80 where all are alike
    assert q_error(graph, "MATCH (a:A) WHERE a.id = 7") == 1.0
