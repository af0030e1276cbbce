"""What a graph exports gives an equal graph when it is loaded again: labels, types, and properties of every type."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine import Date, DateTime, Duration, Graph, LocalDateTime, LocalTime, Point, Time
from qengine.testing.random_graph import random_graph

LOADERS = {
    "parquet": Graph.from_parquet,
    "csv": Graph.from_csv,
    "cypher": Graph.from_cypher,
    "graphml": Graph.from_graphml,
    "jsonl": Graph.from_jsonl,
}
DAY = 86_400 * 10**9
TEXTS = st.text(st.characters(codec="utf-8"), max_size=5) | st.sampled_from(
    ["", ";", "a;b", "'", '"', "\\", "\\n", "\r\n", "\x00", "<&>", "null", "1", "é😀", "//", "/*", "`", "a,b", " "]
)
OFFSETS = st.sampled_from([0, 3600, -12600, "Europe/Stockholm"])
SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "integer": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(),
    "boolean": st.booleans(),
    "string": TEXTS,
    "date": st.integers(-800_000, 2_900_000).map(Date.from_days),
    "local time": st.integers(0, DAY - 1).map(LocalTime.from_nanoseconds),
    "time": st.sampled_from([Time("10:00+01:00"), Time("23:59:59.999999999Z"), Time("00:00-12:30")]),
    "local datetime": st.integers(-(2**62), 2**62).map(LocalDateTime.from_nanoseconds),
    "datetime": st.sampled_from(
        [DateTime("2020-01-01T00:00Z"), DateTime("2020-06-01T00:00:00.000000001+02:00[Europe/Stockholm]")]
    ),
    "duration": st.builds(
        Duration, months=st.integers(-99, 99), days=st.integers(-99, 99), nanoseconds=st.integers(-(2**60), 2**60)
    ),
    "point": st.builds(Point, st.integers(-5, 5), st.floats(-9, 9))
    | st.sampled_from([Point(1, 2, 3), Point(13.4, 52.5, crs="wgs-84"), Point(1, 2, 3, crs="wgs-84-3d")]),
}
LISTS = st.sampled_from(list(SCALARS)).flatmap(lambda kind: st.lists(SCALARS[kind], max_size=3))
VALUES = st.one_of(*SCALARS.values(), LISTS, st.lists(st.one_of(*SCALARS.values()), max_size=3))
NAMES = st.sampled_from(["a", "b", "name", "A B", "x:y", ":ID", "ü", "`", "labels", "type", "id", "row", "start", "1"])
ENDS = st.integers(0, 4)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    columns = draw(st.dictionaries(NAMES, st.one_of(st.just(VALUES), *map(st.just, (*SCALARS.values(), LISTS)))))

    def properties() -> dict[str, Any]:
        return {name: draw(values) for name, values in columns.items() if draw(st.booleans())}

    labels = st.lists(st.sampled_from(["A", "B", "C;D", "E:F", "G`", "h i"]), unique=True, max_size=3)
    nodes = [
        {"id": key, "labels": draw(labels), "properties": {**properties(), "key": key}}
        for key in range(draw(st.integers(0, 5)))
    ]
    links = [
        {"type": draw(st.sampled_from(["R", "S T", "u:v", "U"])), "start": start % len(nodes), "end": end % len(nodes),
         "properties": properties()}
        for start, end in (draw(st.lists(st.tuples(ENDS, ENDS), max_size=6)) if nodes else ())
    ]  # fmt: skip
    undirected = ["U"] if any(each["type"] == "U" for each in links) and draw(st.booleans()) else []
    return Graph.from_records(nodes, links, undirected=undirected)


def content(graph: Graph) -> tuple[Counter[str], Counter[str], set[str]]:
    """Return what a graph holds, whatever its ids; nodes are told apart by a property that they have."""
    nodes = Counter(shown([*sorted(n.labels)], n.properties) for (n,) in graph.query("MATCH (n) RETURN n"))
    links: Counter[str] = Counter()
    for start, link, end in graph.query("MATCH (a)-[r]->(b) RETURN a, r, b"):
        links[shown([link.type, start.get("key", start.get("k")), end.get("key", end.get("k"))], link.properties)] += 1
    return nodes, links, {each.name for each in graph._store.types if each.undirected and each.count}


def shown(names: list[Any], properties: Any) -> str:
    return repr((names, sorted((key, repr(value)) for key, value in properties.items())))


def assert_comes_back(graph: Graph, format: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "graph"
        graph.export(path, format)
        assert content(LOADERS[format](path)) == content(graph)


@pytest.mark.parametrize("format", LOADERS)
@settings(max_examples=25)
@given(graphs())
def test_what_goes_out_comes_in_again(format: str, graph: Graph) -> None:
    assert_comes_back(graph, format)


@pytest.mark.parametrize("format", LOADERS)
def test_a_graph_that_was_changed_comes_back(format: str) -> None:
    graph = Graph(random_graph("changed", most_nodes=12, most_relationships=20).store())
    graph.query("MATCH (n) WHERE n.k % 3 = 0 DETACH DELETE n")
    graph.query("MATCH (n) WHERE n.k % 3 = 1 SET n:A:Z, n.new = n.k")
    graph.query("MATCH (a), (b) WHERE a.k < b.k CREATE (a)-[:NEW {w: [a.k, b.k]}]->(b)")
    assert_comes_back(graph, format)


@pytest.mark.slow
@pytest.mark.parametrize("format", LOADERS)
def test_many_random_graphs_come_back(format: str) -> None:
    for number in range(10_000):
        assert_comes_back(Graph(random_graph(f"format {number}").store()), format)


@pytest.mark.parametrize("format", ["parquet", "csv", "graphml", "jsonl"])
@settings(max_examples=10)
@given(st.lists(st.none() | st.integers(0, 3) | st.lists(st.none() | st.text(max_size=2), max_size=2), max_size=3))
def test_lists_that_only_arrow_brings_come_back(format: str, value: list[Any]) -> None:
    graph = Graph.from_records([{"id": 0, "properties": {"key": 0, "x": value}}])
    assert_comes_back(graph, format)
