"""What goes out comes in again: labels, types, and properties of every type, by files and by other libraries."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine import Graph
from qengine.storage import of_types
from tests.property.exported_graphs import Described, content, described

LOADERS: dict[str, Callable[[Path], Graph]] = {
    "parquet": Graph.from_parquet,
    "csv": Graph.from_csv,
    "cypher": Graph.from_cypher,
    "graphml": Graph.from_graphml,
    "jsonl": Graph.from_jsonl,
}
LIBRARIES = ("networkx", "igraph", "rustworkx")
FEW, MANY = range(30), range(10_000)


def exported(format: str, graph: Graph, folder: Path) -> Graph:
    path = folder / "graph"
    graph.export(path, format)
    return LOADERS[format](path)


def saved(graph: Graph, folder: Path) -> Graph:
    graph.save(folder / "saved")
    return Graph.open(folder / "saved")


def written(given: Described) -> Graph:
    """Make a graph by statements, one relationship at a time."""
    graph = Graph(of_types(given.undirected))
    for node in given.nodes:
        graph.query("CREATE (n:$($labels)) SET n = $p" if node["labels"] else "CREATE (n) SET n = $p",
                    {"labels": node["labels"], "p": node["properties"]})  # fmt: skip
    for link in given.links:
        named = {"a": link["start"], "b": link["end"], "type": link["type"], "p": link["properties"]}
        graph.query("MATCH (a {key: $a}), (b {key: $b}) CREATE (a)-[r:$($type)]->(b) SET r = $p", named)
    return graph


WAYS: dict[str, Callable[[Graph, Path], Graph]] = {
    **{format: partial(exported, format) for format in LOADERS},
    "saved": saved,
}


def assert_comes_back(given: Described, graph: Graph, way: Callable[[Graph, Path], Graph]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        back = way(graph, Path(folder))
        assert content(back) == given.content(), given
        back.close()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("seeds", [FEW, pytest.param(MANY, marks=pytest.mark.slow)], ids=["few", "many"])
def test_what_goes_out_comes_in_again(way: str, seeds: range) -> None:
    for seed in seeds:
        given = described(seed)
        assert_comes_back(given, given.graph(), WAYS[way])


@pytest.mark.parametrize("way", WAYS)
def test_what_statements_have_made_comes_back(way: str) -> None:
    for seed in range(8):
        given = described(f"written {seed}")
        assert_comes_back(given, written(given), WAYS[way])


@pytest.mark.parametrize("library", LIBRARIES)
def test_graphs_of_other_libraries_come_back(library: str) -> None:
    pytest.importorskip(library)
    for seed in FEW:
        given = described(f"{library} {seed}")
        names = set(chain.from_iterable(each["properties"] for each in (*given.nodes, *given.links)))
        if names.isdisjoint(("id", "labels", "type")):  # which say something else there
            given = Described(given.nodes, given.links, [])  # what results become has directions
            rows = given.graph().query("MATCH (n) OPTIONAL MATCH (n)-[r]->() RETURN n, r")
            made = getattr(rows, f"to_{library}")()
            back = getattr(Graph, f"from_{library}")(made, key=None)
            back.query("MATCH (n) REMOVE n.id")
            assert content(back) == given.content(), given


@pytest.mark.parametrize("way", ["parquet", "csv", "graphml", "jsonl", "saved"])
@settings(max_examples=10)
@given(st.lists(st.none() | st.integers(0, 3) | st.lists(st.none() | st.text(max_size=2), max_size=2), max_size=3))
def test_lists_that_only_arrow_brings_come_back(way: str, value: list[Any]) -> None:
    given = Described([{"id": 0, "labels": [], "properties": {"key": 0, "x": value}}], [], [])
    assert_comes_back(given, given.graph(), WAYS[way])
