"""Statements that change many elements which are there: labels, properties, deletions, updates by key.

Run as ``python -m tests.bench.changing --nodes 1000000``. Each statement changes a tenth of the nodes, or the
relationships of a tenth; then something is read, which makes the next version. Nodes have a number and another integer;
the tenth is of consecutive numbers, or, where it says "scattered", every tenth node. Processor time of this process and
its threads, each line one run on what the lines before have left. What was changed is counted before times are printed.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

import qengine

ACTIVE, IDLE = "MATCH (n:Active) RETURN count(*)", "MATCH (n:Idle) RETURN count(*)"
UPDATE = "UNWIND $rows AS row MATCH (n:N {id: row.id}) SET n.x = row.x"
_SMALL = 10_000  # nodes of the graph on which statements are carried out before


def main() -> None:
    parser = argparse.ArgumentParser(description="how fast many elements are changed")
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--relationships", type=int, default=1_000_000)
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows that update nodes by key")
    parser.add_argument("--batch", type=int, default=10_000, help="rows that a statement is given")
    options = parser.parse_args()
    for _ in changes(made(_SMALL, _SMALL), _SMALL):
        pass
    graph = made(options.nodes, options.relationships)
    print("| statement | changes | it, ms | first read after it, ms |\n|---|---|---|---|")
    for line in changes(graph, options.nodes):
        print(line, flush=True)
    print(f"\n| rows that set a property by key, of {options.nodes:,} nodes | in memory | in a folder |\n|---|---|---|")
    for way, size in (("one statement", options.rows), (f"{options.batch:,} a statement", options.batch)):
        print(f"| {way} | {' | '.join(updates(options.nodes, options.rows, size))} |", flush=True)


def made(nodes: int, relationships: int) -> qengine.Graph:
    chance = np.random.default_rng(7)
    people = pa.table({"id": np.arange(nodes), "x": np.arange(nodes) % 1000})
    ends = chance.integers(0, nodes, (2, relationships))
    links = pa.table({"start": ends[0], "end": ends[1], "w": np.arange(relationships)})
    return qengine.Graph.from_arrow({"N": people}, [("R", "N", "N", links)] if relationships else [])


def changes(graph: qengine.Graph, nodes: int) -> Iterator[str]:
    """Give a line for each statement, carried out one after the other."""
    tenth, active = nodes // 10, False
    first, second, third = (f"n.id >= {part * tenth} AND n.id < {(part + 1) * tenth}" for part in range(3))
    for name, text, count in (
        ("SET n:Active", f"MATCH (n) WHERE {first} SET n:Active", tenth),
        ("SET n:Idle, scattered", "MATCH (n) WHERE n.id % 10 = 3 SET n:Idle", tenth),
        ("SET n.x = 7", f"MATCH (n) WHERE {second} SET n.x = 7", tenth),
        ("SET n.x = n.id + 1", f"MATCH (n) WHERE {second} SET n.x = n.id + 1", tenth),
        ("SET n.x = n.x + 1, scattered", "MATCH (n) WHERE n.id % 10 = 4 SET n.x = n.x + 1", tenth),
        ("SET n += {y: n.x, z: 'a'}", f"MATCH (n) WHERE {second} SET n += {{y: n.x, z: 'a'}}", 2 * tenth),
        ("REMOVE n:Active", f"MATCH (n) WHERE {first} REMOVE n:Active", tenth),
        ("REMOVE n.y", f"MATCH (n) WHERE {second} REMOVE n.y", tenth),
        ("SET r.w = 1", f"MATCH (n)-[r]->() WHERE {first} SET r.w = 1", None),
        ("DELETE r", f"MATCH (n)-[r]->() WHERE {first} DELETE r", None),
        ("DETACH DELETE n", f"MATCH (n) WHERE {third} DETACH DELETE n", None),
    ):
        begin = time.process_time()
        done = graph.query(text).stats.changes
        middle = time.process_time()
        read = graph.query(ACTIVE).fetchall(), graph.query(IDLE).fetchall()
        end = time.process_time()
        counted = done.labels_added + done.labels_removed + done.properties_set
        assert count in (None, counted), (text, done)
        active = active or name == "SET n:Active"
        active = active and name != "REMOVE n:Active"
        assert read[0][0][0] == (tenth if active else 0), (text, read)
        yield f"| {name} | {done} | {(middle - begin) * 1e3:,.0f} | {(end - middle) * 1e3:,.0f} |"


def updates(nodes: int, count: int, size: int) -> Iterator[str]:
    """Give how many rows a second set a property of nodes, in memory and in an opened folder."""
    rows = [{"id": number % nodes, "x": number} for number in range(count)]
    with tempfile.TemporaryDirectory() as scratch:
        made(nodes, 0).save(Path(scratch) / "graph")
        with qengine.open(Path(scratch) / "graph", durability="batched") as opened:
            for graph in (made(nodes, 0), opened):
                graph.query(UPDATE, {"rows": rows[:1000]})
                begin = time.process_time()
                for first in range(0, count, size):
                    graph.query(UPDATE, {"rows": rows[first : first + size]})
                took = time.process_time() - begin
                (total,) = graph.query("MATCH (n:N) WHERE n.id < $count RETURN sum(n.x)", {"count": count}).fetchall()
                assert nodes < count or tuple(total) == (count * (count - 1) // 2,)
                yield f"{count / took:,.0f}/s"


if __name__ == "__main__":
    main()
