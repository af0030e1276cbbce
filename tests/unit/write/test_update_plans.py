"""Statements that change the graph are bound once for all of its versions, but for the types without direction."""

from __future__ import annotations

import pyarrow as pa
import pytest

from qengine import Graph
from qengine.write import reading

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


@pytest.mark.parametrize("list_of", ["$ids", "[row IN $ids | row]"])
@pytest.mark.parametrize(("count", "planned"), [(3, False), (2_000, True)])
def test_a_list_to_compare_with_each_node_is_read_by_the_engine_where_it_is_long(list_of, count, planned, monkeypatch):
    changed = Graph.from_records([{"labels": ["A"], "properties": {"v": each}} for each in range(30)])
    plans = []
    own = reading.PartPlans.of
    monkeypatch.setattr(reading.PartPlans, "of", lambda *given: plans.append(given) or own(*given))
    text = f"MATCH (n:A) WHERE n.v IN {list_of} SET n.seen = true RETURN count(*)"
    assert changed.query(text, {"ids": list(range(0, 2 * count, 2))}).value() == min(count, 15)
    assert bool(plans) == planned
