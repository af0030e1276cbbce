"""How fast graphs are exported and loaded in each format, and scripts are run, in processor time.

Run as ``python -m tests.bench.formats --nodes 100000``. A graph of persons with four properties and three times as many
relationships with one is written and loaded in each format; each script has statements of one kind, or two by turns.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from qengine import Graph
from tests.bench.timing import least, seconds

LOADERS: dict[str, Callable[[Path], Graph]] = {
    "parquet": Graph.from_parquet,
    "csv": Graph.from_csv,
    "jsonl": Graph.from_jsonl,
    "graphml": Graph.from_graphml,
    "cypher": Graph.from_cypher,
}


def main() -> None:
    parser = argparse.ArgumentParser(description="how fast graphs go out and come in")
    parser.add_argument("--nodes", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    Graph.from_cypher("CREATE (:A {k: 1}); CREATE (:A {k: 2});")  # the parser's tables are loaded once
    with tempfile.TemporaryDirectory() as scratch:
        print("| format | MB | out, k elements/s | in, k elements/s | in, MB/s |\n|---|---|---|---|---|")
        graph = persons(options.nodes)
        for format in LOADERS:
            print(exported(graph, Path(scratch), format, options.repeat), flush=True)
        print("\n| file of another program | MB | in, k elements/s |\n|---|---|---|")
        for name, load in foreign(graph, Path(scratch)):
            path, loader = load
            took = least(partial(loader, path), options.repeat)
            elements = graph.node_count + graph.relationship_count
            print(f"| {name} | {path.stat().st_size / 1e6:.1f} | {elements / took / 1e3:,.0f} |", flush=True)
        print("\n| script | MB | MB/s | k statements/s |\n|---|---|---|---|")
        for name, make in SCRIPTS.items():
            print(run(name, list(make(options.nodes)), Path(scratch), options.repeat), flush=True)


def persons(count: int) -> Graph:
    """Return a graph of so many nodes, and three times as many relationships."""
    chance = np.random.default_rng(1)
    nodes = pa.table(
        {
            "id": np.arange(count),
            "name": [f"Person {number}" for number in range(count)],
            "age": chance.integers(0, 90, count),
            "score": chance.random(count).round(4),
        }
    )
    ends = {name: chance.integers(0, count, 3 * count) for name in ("start", "end")}
    links = pa.table({**ends, "since": chance.integers(1990, 2030, 3 * count)})
    return Graph.from_arrow({"Person": nodes}, [("KNOWS", links)])


def exported(graph: Graph, folder: Path, format: str, repeat: int) -> str:
    """Return a line of the table of formats."""
    elements = graph.node_count + graph.relationship_count
    out, back = [], []
    for turn in range(repeat):
        path = folder / f"{format}{turn}"
        out.append(seconds(partial(graph.export, path, format)))
        back.append(seconds(partial(LOADERS[format], path)))
    files = list(path.iterdir()) if path.is_dir() else [path]
    size = sum(each.stat().st_size for each in files) / 1e6
    speeds = f"{elements / min(out) / 1e3:,.0f} | {elements / min(back) / 1e3:,.0f} | {size / min(back):.1f}"
    return f"| {format} | {size:.1f} | {speeds} |"


def foreign(graph: Graph, folder: Path) -> Iterator[tuple[str, tuple[Path, Callable[[Path], Graph]]]]:
    """Yield files as APOC and networkx write a graph, and what loads them."""
    nodes = [(str(n.id), dict(n.properties)) for (n,) in graph.query("MATCH (n) RETURN n")]
    links = [tuple(row) for row in graph.query("MATCH (a)-[r]->(b) RETURN id(a), id(b), r.since")]
    lines = [
        json.dumps({"type": "node", "id": key, "labels": ["Person"], "properties": own}, separators=(",", ":"))
        for key, own in nodes
    ]
    for number, (start, end, since) in enumerate(links):
        ends = {name: {"id": str(id), "labels": ["Person"]} for name, id in (("start", start), ("end", end))}
        own = {"id": str(number), "type": "relationship", "label": "KNOWS", "properties": {"since": since}, **ends}
        lines.append(json.dumps(own, separators=(",", ":")))
    for name, text in (("APOC's JSON lines", "\n".join(lines) + "\n"), ("APOC's JSON array", f"[{','.join(lines)}]")):
        path = folder / f"{name}.json"
        path.write_text(text, encoding="utf-8")
        yield name, (path, Graph.from_jsonl)
    import networkx

    made = networkx.MultiDiGraph()
    made.add_nodes_from(nodes)
    made.add_edges_from((str(start), str(end), {"since": since}) for start, end, since in links)
    networkx.write_graphml_xml(made, folder / "networkx.graphml")
    yield "networkx's GraphML", (folder / "networkx.graphml", Graph.from_graphml)
    networkx.write_gexf(made, folder / "networkx.gexf")
    yield "networkx's GEXF", (folder / "networkx.gexf", Graph.from_gexf)


def run(name: str, statements: list[str], folder: Path, repeat: int) -> str:
    """Return a line of the table of scripts."""
    path = folder / "script.cypher"
    path.write_text(";\n".join(statements) + ";\n", encoding="utf-8")
    took = least(lambda: Graph.from_cypher(path), repeat)
    size = path.stat().st_size / 1e6
    return f"| {name} | {size:.1f} | {size / took:.1f} | {len(statements) / took / 1e3:,.0f} |"


def _created(count: int) -> Iterator[str]:
    for k in range(count):
        yield f"CREATE (:Person {{id: {k}, name: 'Person number {k}', age: {k % 90}, email: \"p{k}@example.org\"}})"


def _by_turns(count: int) -> Iterator[str]:
    for k in range(count // 2):
        yield f"CREATE (:Person {{id: {k}, name: 'Person number {k}', age: {k % 90}}})"
        yield f"CREATE (:City {{id: {k}, name: 'City {k}'}})"


def _linked(count: int) -> Iterator[str]:
    chance = random.Random(1)
    yield "CREATE INDEX FOR (p:Person) ON (p.id)"
    yield from list(_created(count // 2))
    for k in range(count // 2):
        one, other = chance.randrange(count // 2), chance.randrange(count // 2)
        ends = f"MATCH (a:Person {{id: {one}}}), (b:Person {{id: {other}}})"
        yield f"{ends} CREATE (a)-[:KNOWS {{since: {1990 + k % 30}}}]->(b)"


def _merged(count: int) -> Iterator[str]:
    chance = random.Random(1)
    for k in range(count):
        yield f"MERGE (p:Person {{id: {chance.randrange(count)}}}) SET p.name = 'Person number {k}', p.age = {k % 90}"


def _merged_links(count: int) -> Iterator[str]:
    chance = random.Random(1)
    for k in range(count):
        person = f"MERGE (a:Person {{id: {chance.randrange(count)}}})"
        yield f"{person} MERGE (b:City {{name: 'City {k % 100}'}}) MERGE (a)-[:LIVES_IN]->(b)"


def _of_turns(count: int) -> Iterator[str]:
    chance = random.Random(1)
    for k in range(count // 4):
        user, item = chance.randrange(count // 16), chance.randrange(count // 40)
        yield f"MERGE (u:User {{id: {user}}}) SET u.name = 'User number {user}'"
        yield f"MERGE (i:Item {{code: 'item {item}'}})"
        ends = f"MATCH (u:User {{id: {user}}}), (i:Item {{code: 'item {item}'}})"
        yield f"{ends} MERGE (u)-[:BOUGHT]->(i)"
        yield f"MATCH (u:User {{id: {user}}}) SET u.age = {k % 90}, u.seen = true"


def _computed(count: int) -> Iterator[str]:
    for k in range(count):
        yield f"CREATE (:Person {{id: {k}, made: timestamp(), name: 'Person number {k}'}})"


def _read(count: int) -> Iterator[str]:
    for k in range(count // 2):
        yield f"CREATE (:Person {{id: {k}}})"
        yield f"MATCH (p:Person {{id: {k}}}) SET p.twice = 2 * p.id"


SCRIPTS: dict[str, Callable[[int], Iterator[str]]] = {
    "`CREATE` of nodes": _created,
    "`CREATE` of two labels by turns": _by_turns,
    "`CREATE`, then `MATCH … CREATE`": _linked,
    "`MERGE … SET`": _merged,
    "`MERGE` of two nodes and their link": _merged_links,
    "two `MERGE`, `MATCH … MERGE`, `MATCH … SET` by turns": _of_turns,
    "`CREATE` with a function": _computed,
    "`CREATE`, `MATCH … SET` of what it reads": _read,
}

if __name__ == "__main__":
    main()
