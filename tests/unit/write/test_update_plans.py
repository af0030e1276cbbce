"""Statements that change the graph are bound once for all of its versions, but for the types without direction."""

from __future__ import annotations

import pyarrow as pa

from qengine import Graph

NODES = [{"id": each, "labels": ["A"], "properties": {"v": each}} for each in range(3)]


def walk(type, start=0, op="<"):
    return f"MATCH (:A {{v: {start}}}) ((a)-[:{type}]->(b) WHERE a.v {op} b.v){{1,2}} (y) SET y.seen = true"


def graph():
    """Return 0 - 1 - 2, of a type with a direction and of one without."""
    relationships = [{"type": type, "start": start, "end": start + 1} for type in ("R", "S") for start in (0, 1)]
    return Graph.from_records(NODES, relationships, undirected=["S"])


def seen(graph):
    return [row[0] for row in graph.query("MATCH (n:A {seen: true}) RETURN n.v ORDER BY n.v")]


def test_conditions_inside_a_quantified_path_hold_where_it_has_a_direction():
    changed = graph()
    changed.query(walk("R"))
    assert seen(changed) == [1, 2]


def test_conditions_inside_an_undirected_quantified_path_hold_both_ways():
    changed = graph()
    changed.query(walk("R", 2, ">"))
    assert seen(changed) == []
    changed.query(walk("S", 2, ">"))
    assert seen(changed) == [0, 1]


def test_a_type_that_a_table_brings_without_direction_is_learnt_of():
    changed = Graph.from_records(NODES, [])
    changed.query(walk("S", 2, ">"))  # no such type yet
    with changed.transaction() as transaction:
        ends = pa.table({"start": [0, 1], "end": [1, 2]})
        transaction.append_arrow(relationships={"S": ends}, key="v", undirected=["S"])
        transaction.query(walk("S", 1, ">"))
        assert seen(transaction) == [0]
    changed.query(walk("S", 2, ">"))
    assert seen(changed) == [0, 1]
