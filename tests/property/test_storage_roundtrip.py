"""Any small graph comes back from the store, and from a saved directory, as it was given."""

from __future__ import annotations

from collections import Counter
from datetime import UTC
from zoneinfo import ZoneInfo

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qengine.plan.pattern import Direction
from qengine.storage import from_records, open_saved, save
from qengine.temporal import Date, Duration, Time
from qengine.temporal.native import from_native
from qengine.temporal.values import DAY, SECOND
from qengine.testing.expand import expand

TIMES = st.integers(0, DAY - 1)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(max_size=4),
    st.dates(),
    st.times(),
    st.datetimes(),
    st.datetimes(timezones=st.sampled_from((UTC, ZoneInfo("Europe/Stockholm")))),
    st.timedeltas(),
    st.builds(Duration, st.integers(-50, 50), st.integers(-(2**40), 2**40), st.integers(-(2**70), 2**70)),
    st.builds(
        lambda time, offset: Time.from_utc(time - offset * SECOND, offset), TIMES, st.sampled_from((0, 3600, -90))
    ),
    st.builds(Date.from_days, st.integers(-(2**38), 2**38)),
)
VALUES = st.one_of(SCALARS, st.lists(SCALARS, max_size=3))
PROPERTIES = st.dictionaries(st.sampled_from("xyz"), VALUES, max_size=3)
LABELS = st.lists(st.sampled_from("ABC"), max_size=3, unique=True)


@st.composite
def graphs(draw):
    nodes = [
        {"id": row, "labels": draw(LABELS), "properties": {**draw(PROPERTIES), "key": row}}
        for row in range(draw(st.integers(1, 8)))
    ]
    vertices = st.integers(0, len(nodes) - 1)
    edge = st.fixed_dictionaries(
        {"type": st.sampled_from("RSU"), "start": vertices, "end": vertices, "properties": PROPERTIES}
    )
    return nodes, draw(st.lists(edge, max_size=15))


def exact(value):
    """Tell 1, 1.0 and True apart; values of Python's datetime come back as ours."""
    value = from_native(value) or value
    return tuple(map(exact, value)) if isinstance(value, list) else (type(value), repr(value))


def facts(labels, properties):
    return frozenset(labels), frozenset((key, exact(value)) for key, value in properties.items() if value is not None)


def check(store, nodes, edges):
    found = store.nodes(range(store.vertex_count))
    assert Counter(facts(node.labels, node.properties) for node in found) == Counter(
        facts(node["labels"], node["properties"]) for node in nodes
    )
    key = [node["key"] for node in found]
    relationships = store.relationships(range(store.relationship_count))
    assert Counter(
        (edge.type, key[edge.start], key[edge.end], facts((), edge.properties)) for edge in relationships
    ) == Counter((edge["type"], edge["start"], edge["end"], facts((), edge["properties"])) for edge in edges)
    degrees = Counter(end for edge in edges for end in (edge["start"], edge["end"]))
    for group in store.groups:
        assert {store.labels_of(vertex) for vertex in range(group.begin, group.end)} <= {store.labels_of(group.begin)}
        own = [degrees[key[vertex]] for vertex in range(group.begin, group.end)]
        assert own == sorted(own, reverse=True)
    for vertex in range(store.vertex_count):
        for edge_type in store.types:
            expected = sorted(
                (edge.end if edge.start == vertex else edge.start, edge.id)
                for edge in relationships
                if edge.type == edge_type.name and vertex in (edge.start, edge.end)
            )
            neighbours, ids = expand(store, vertex, edge_type.index, Direction.BOTH)
            assert sorted(zip(neighbours.tolist(), ids.tolist(), strict=True)) == expected


@given(graph=graphs())
def test_a_graph_comes_back_from_the_store(graph):
    nodes, edges = graph
    check(from_records(nodes, edges, undirected=["U"]), nodes, edges)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(graph=graphs())
def test_a_graph_comes_back_from_a_directory(graph, tmp_path):
    nodes, edges = graph
    save(from_records(nodes, edges, undirected=["U"]), tmp_path / "graph")
    check(open_saved(tmp_path / "graph"), nodes, edges)
