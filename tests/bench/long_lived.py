"""What becomes of a graph that is changed and read for a long time: memory, and how long its reads take.

Run as ``python -m tests.bench.long_lived``. Statements, a transaction each and drawn at random, make nodes and
relationships, delete relationships, set properties, and give and take labels; after every so many of them a count is
read, which makes a version. In the end the same is read of the graph that was changed and of one that was loaded anew
with the same content, by turns. Processor time, the least of the turns.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from pathlib import Path
from typing import Any

import qengine
from tests.bench.timing import seconds

READS = {
    "two steps, counted": "MATCH (a:P)-[:R]->(b)-[:R]->(c) WHERE a.v < 5 RETURN count(*)",
    "triangles": "MATCH (a)-[:R]->(b)-[:R]->(c)-[:R]->(a) RETURN count(*)",
    "a sum by a property": "MATCH (a:P)-[r:R]->(b) RETURN a.v, sum(r.w), count(*)",
    "the nodes of a label": "MATCH (n:L1) RETURN count(n), sum(n.v)",
}
CHANGES = {
    "CREATE (:P {id: $id, v: $v})": 1,
    "MATCH (a:P {id: $a}), (b:P {id: $b}) CREATE (a)-[:R {w: $v}]->(b)": 3,
    "MATCH (a:P {id: $a})-[r:R]->() WITH r LIMIT 1 DELETE r": 2,
    "MATCH (a:P {id: $a}) SET a.v = $v": 2,
    "MATCH (a:P {id: $a}) SET a:L1": 1,
    "MATCH (a:P {id: $a}) SET a:L2 REMOVE a:L1": 1,
}


def main() -> None:
    parser = argparse.ArgumentParser(description="what becomes of a graph that is changed for long")
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--commits", type=int, default=100_000)
    parser.add_argument("--every", type=int, default=500, help="commits between two reads")
    parser.add_argument("--repeat", type=int, default=7)
    options = parser.parse_args()
    graph = made(options.nodes)
    change(graph, options.nodes, options.commits, options.every)
    compare(graph, options.repeat)


def made(nodes: int) -> qengine.Graph:
    """Return a graph with five times as many relationships as nodes."""
    chance = random.Random(7)
    people = [{"id": n, "labels": ["P"], "properties": {"id": n, "v": n % 100}} for n in range(nodes)]
    ends = [(chance.randrange(nodes), chance.randrange(nodes)) for _ in range(5 * nodes)]
    links = [{"type": "R", "start": a, "end": b, "properties": {"w": a}} for a, b in ends]
    return qengine.Graph.from_records(people, links)


def change(graph: qengine.Graph, nodes: int, commits: int, every: int) -> None:
    """Change a graph, and print what it takes from time to time."""
    print("| commits | µs a commit | a read that makes a version, ms | resident, MiB | groups of labels |")
    print("|---|---|---|---|---|")
    chance = random.Random(5)
    statements = [graph.prepare(text) for text in CHANGES]
    drawn = chance.choices(range(len(statements)), [*CHANGES.values()], k=commits)
    reading = begin = reads = 0.0
    for number, index in enumerate(drawn, 1):
        given: dict[str, Any] = {"a": chance.randrange(nodes), "b": chance.randrange(nodes), "v": chance.randrange(100)}
        given["id"] = nodes + number
        begin -= time.process_time()
        statements[index].run({name: value for name, value in given.items() if f"${name}" in statements[index].text})
        begin += time.process_time()
        if number % every == 0:
            reading += seconds(lambda: graph.query("MATCH (:P)-[:R]->(n) RETURN count(n)").value())
            reads += 1
        if number % max(1, commits // 10) == 0:
            groups = len(graph._store.groups)
            cells = f"{1e6 * begin / (commits // 10):,.0f} | {1e3 * reading / max(1, reads):,.1f} | {resident():,}"
            print(f"| {number:,} | {cells} | {groups} |", flush=True)
            reading = begin = reads = 0.0


def compare(graph: qengine.Graph, repeat: int) -> None:
    """Print what the reads take, and what they take on the same graph, loaded anew."""
    with tempfile.TemporaryDirectory() as folder:
        graph.export(Path(folder) / "all", format="parquet")
        clean = qengine.Graph.from_parquet(Path(folder) / "all")
        print("\n| read | changed, ms | loaded anew, ms | factor |\n|---|---|---|---|")
        for name, text in READS.items():
            took: dict[bool, list[float]] = {True: [], False: []}
            for _ in range(repeat):
                for changed, each in ((True, graph), (False, clean)):
                    took[changed].append(seconds(lambda each=each, text=text: each.query(text).fetchall()))
            one, other = (1e3 * min(took[changed]) for changed in (True, False))
            print(f"| {name} | {one:.2f} | {other:.2f} | {one / other:.2f} |")


def resident() -> int:
    """Return the process's resident memory in MiB."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 >> 20


if __name__ == "__main__":
    main()
