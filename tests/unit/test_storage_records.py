"""Graphs from Python values: ids, labels, properties of mixed type, relationships by every direction."""

from __future__ import annotations

import numpy as np
import pytest

from qengine.errors import StorageError
from qengine.plan.pattern import Direction, LabelAnd, LabelAny, LabelIs, LabelNot, LabelOr
from qengine.storage import from_records
from qengine.testing.expand import expand
from qengine.types import ANY, INTEGER, STRING

NODES = [
    {"id": 1, "labels": ["A", "B"], "properties": {"x": 1, "y": "s"}},
    {"id": "b", "labels": "C", "properties": {"x": 2.5}},
    {"id": 3, "labels": ["B", "A"], "properties": {"x": "q", "l": [1, "a", None]}},
    {"id": 4},
]
RELATIONSHIPS = [
    {"type": "R", "start": 3, "end": "b", "properties": {"w": 1}},
    {"type": "R", "start": 3, "end": "b"},
    {"type": "U", "start": 3, "end": 3},
    {"type": "U", "start": "b", "end": 3},
]


@pytest.fixture(name="store")
def _store():
    return from_records(NODES, RELATIONSHIPS, undirected=["U"])


def test_ids_are_grouped_by_label_set_and_ordered_by_degree(store):
    assert [(group.labels, group.begin, group.end) for group in store.groups] == [
        ({"A", "B"}, 0, 2),
        ({"C"}, 2, 3),
        (frozenset(), 3, 4),
    ]
    assert store.nodes([0])[0].properties == {"x": "q", "l": [1, "a", None]}


def test_label_expressions_give_merged_ranges(store):
    def ranges(expr):
        return store.label_ranges(expr).tolist()

    assert ranges(None) == [[0, 4]]
    assert ranges(LabelIs("A")) == [[0, 2]]
    assert ranges(LabelAny()) == [[0, 3]]
    assert ranges(LabelNot(LabelIs("C"))) == [[0, 2], [3, 4]]
    assert ranges(LabelOr((LabelIs("C"), LabelAnd((LabelIs("A"), LabelIs("B")))))) == [[0, 3]]
    assert ranges(LabelIs("Nowhere")) == []


def test_nodes_and_relationships_come_back_as_they_were_given(store):
    assert store.labels_of(1) == ("A", "B")
    assert store.nodes([1, 2, -1, None])[2:] == [None, None]
    assert [node.properties for node in store.nodes(np.array([1, 2, 3]))] == [{"x": 1, "y": "s"}, {"x": 2.5}, {}]
    edges = store.relationships([0, 1, 2, 3, None])
    assert [(edge.type, edge.start, edge.end, edge.properties) for edge in edges[:4]] == [
        ("R", 0, 2, {"w": 1}),
        ("R", 0, 2, {}),
        ("U", 0, 0, {}),
        ("U", 2, 0, {}),
    ]
    assert edges[4] is None


def test_mixed_properties_keep_each_value_and_type(store):
    assert store.property_type("node", "x") == ANY
    assert store.property_type("node", "y") == STRING
    assert store.property_type("relationship", "w") == INTEGER
    assert store.property_type("node", "w") is None
    column = store.node_property("x")
    assert column.take(np.array([0, -1, 2, 1, 99])).to_pylist() == ["q", None, 2.5, 1, None]
    assert column.slice(1, 4).to_pylist() == [1, 2.5, None]
    assert [type(value) for value in column.values(np.array([1, 2]))] == [int, float]


def test_expand_gives_each_relationship_once(store):
    def around(vertex, type_index, direction):
        neighbours, ids = expand(store, vertex, type_index, direction)
        return sorted(zip(neighbours.tolist(), ids.tolist(), strict=True))

    assert around(0, 0, Direction.OUT) == [(2, 0), (2, 1)]
    assert around(0, 0, Direction.IN) == []
    assert around(2, 0, Direction.BOTH) == [(0, 0), (0, 1)]
    for direction in Direction:
        assert around(0, 1, direction) == [(0, 2), (2, 3)]
        assert around(2, 1, direction) == [(0, 3)]


def test_what_is_seen_of_types(store):
    directed, undirected = store.types
    assert (directed.parallel, directed.loops, directed.undirected, directed.property_keys) == (
        True,
        False,
        False,
        ("w",),
    )
    assert (undirected.parallel, undirected.loops, undirected.undirected, undirected.base) == (False, True, True, 2)
    found = store.edge_statistics("A", "U", None)
    assert (found.edges, found.sources, found.targets, found.max_out) == (2, 1, 2, 2)
    assert store.edge_statistics("A", "R", "C").edges == 2
    assert store.edge_statistics("C", "R", "A").edges == 0


def test_schema_is_readable(store):
    assert repr(store.schema).splitlines() == [
        "(:A:B {x: ANY, y: STRING, l: LIST<ANY>})  2",
        "(:C {x: ANY})  1",
        "()  1",
        "(:A:B)-[:R {w: INTEGER}]->(:C)  2",
        "(:A:B)-[:U]-(:A:B)  2",
        "(:A:B)-[:U]-(:C)",
    ]


def test_an_empty_graph_is_a_graph():
    store = from_records([])
    assert (store.vertex_count, store.types, store.label_ranges(None).tolist()) == (0, (), [])
    assert store.edge_statistics(None, None, None).edges == 0
    assert repr(store.schema) == "an empty graph"


@pytest.mark.parametrize(
    ("nodes", "relationships", "message"),
    [
        ([{"id": 1}, {"id": 1}], [], "nodes: row 1 has the id 1 that an earlier node has"),
        (
            [{"id": 1}],
            [{"type": "R", "start": 1, "end": 2}],
            "relationships: row 0 has the end 2, which is no node's id",
        ),
        ([{"id": 1}], [{"type": "R", "start": 1}], "relationships: row 0 has no 'end'"),
        ([{"id": 1, "properties": {"x": {}}}], [], "nodes, property x: a value of Python's dict can't be a property"),
        (
            [{"id": 1, "properties": {"x": 2**63}}],
            [],
            "nodes, property x: an integer needs more than 64 bits: 9223372036854775808",
        ),
        (
            [{"id": 1, "properties": {"x": "a\ud800"}}],
            [],
            "nodes, property x holds a string with half of a surrogate pair: '\\ud800'",
        ),
        ([{"id": 1, "labels": "\ud800"}], [], "nodes: a label of row 0 is '\\ud800', not a name"),
    ],
)
def test_bad_records_are_refused_with_their_place(nodes, relationships, message):
    with pytest.raises(StorageError) as raised:
        from_records(nodes, relationships)
    assert raised.value.message == message


@pytest.mark.parametrize(
    ("nodes", "relationships", "message"),
    [
        ([{"id": 1, "label": "A"}], [], "nodes: row 0 has 'label', which is none of id, labels, properties"),
        ([{"id": 1}, {"id": 2, "name": "x"}], [], "nodes: row 1 has 'name', which is none of id, labels, properties"),
        (
            [{"id": 1}],
            [{"type": "R", "start": 1, "end": 1, "since": 2020}],
            "relationships: row 0 has 'since', which is none of type, start, end, properties, id",
        ),
    ],
)
def test_entries_that_would_be_left_out_are_refused(nodes, relationships, message):
    with pytest.raises(StorageError) as raised:
        from_records(nodes, relationships)
    assert raised.value.message == message and "'properties'" in raised.value.hint
