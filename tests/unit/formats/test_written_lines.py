"""Files of many lines: those read by their form, together, are read as one by one."""

from __future__ import annotations

from pathlib import Path

import pytest

from qengine import Graph
from qengine.errors import StorageError

COUNT = 12_000  # more than a block of lines


@pytest.fixture(scope="module")
def graph() -> Graph:
    nodes = [
        {"id": i, "labels": ["A", "B"], "properties": {"i": i, "t": f'é "{i}"', "f": i / 4, "b": i % 2 == 0}}
        for i in range(COUNT)
    ]
    # Some have other properties, others need escapes or have types of their own, in blocks of their own.
    nodes += [{"id": COUNT + i, "labels": [], "properties": {"t": f"a & <{i}> \\ {{}}"}} for i in range(300)]
    edges = [{"type": "R", "start": i, "end": (i * 7) % COUNT, "properties": {"w": i}} for i in range(COUNT)]
    edges += [{"type": "S", "start": i, "end": i + 1, "properties": {"l": [1, i]}} for i in range(300)]
    return Graph.from_records(nodes, edges)


@pytest.mark.parametrize("format", ["jsonl", "graphml"])
def test_many_lines_come_in_again(graph: Graph, tmp_path: Path, format: str) -> None:
    path = tmp_path / f"graph.{format}"
    graph.export(path)
    back = Graph.from_jsonl(path) if format == "jsonl" else Graph.from_graphml(path)
    for text in (
        "MATCH (n) RETURN labels(n) AS labels, properties(n) AS p ORDER BY n.i, n.t",
        "MATCH (a)-[r]->(b) RETURN type(r), properties(r) AS p, a.i, b.i ORDER BY type(r), a.i, b.i",
    ):
        assert [repr(row) for row in back.query(text)] == [repr(row) for row in graph.query(text)]


@pytest.mark.parametrize("format", ["jsonl", "graphml"])
def test_a_wrong_line_among_many_is_named(graph: Graph, tmp_path: Path, format: str) -> None:
    path = tmp_path / f"graph.{format}"
    graph.export(path)
    lines = path.read_text(encoding="utf-8").split("\n")
    place = next(place for place, line in enumerate(lines) if "relationship" in line or "<edge" in line) + 11_000
    if format == "jsonl":
        lines[place] = '{"type":"relationship","start":{"id":"1"}}'
    else:
        lines[place] = lines[place].replace("</data></edge>", "x</data></edge>")
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(StorageError, match=f"(object|line) {place + 1}\\b"):
        Graph.from_jsonl(path) if format == "jsonl" else Graph.from_graphml(path)
