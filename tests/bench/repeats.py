"""Quantified paths of several relationships, beside the plain patterns that have the same matches.

``python -m tests.bench.repeats [--nodes N] [--degree D]``: processor time of whole statements, the least of some turns.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator

from qengine import Graph

QUERIES = {
    "rows of 2 repetitions": (
        "MATCH (x) ((a)-[r:R]->(b)-[s:S]->(c)){2} (y) RETURN sum(size(r)), count(y)",
        "MATCH (x)-[r:R]->(b)-[s:S]->(c)-[r2:R]->(b2)-[s2:S]->(y) RETURN sum(size([r, r2])), count(y)",
    ),
    "count of 1 to 3": (
        "MATCH ((a)-[:R]->(b)-[:S]->(c)){1,3} RETURN count(*)",
        "MATCH (a)-[:R|S*2..6]->(c) RETURN count(*)",
    ),
    "group variables of 1 to 3": (
        "MATCH (x {k: 1}) ((a)-[r:R]->(b)-[s:S]->(c)){1,3} (y) RETURN sum(size(b))",
        "MATCH (x {k: 1})-[r:R|S*2..6]->(y) RETURN sum(size(r))",
    ),
    "condition across, 1 to 3": (
        "MATCH ((a)-[:R]->(b)-[:S]->(c) WHERE a.k < c.k){1,3} RETURN count(*)",
        "MATCH (a)-[:R|S*2..6]->(c) WHERE a.k < c.k RETURN count(*)",
    ),
    "different ends, any length": (
        "MATCH (x {k: 1}) ((a)-[:R]->(b)-[:S]->(c))+ (y) RETURN count(DISTINCT y)",
        "MATCH (x {k: 1})-[:R|S*]->(y) RETURN count(DISTINCT y)",
    ),
    "existence, any length": (
        "MATCH (x {k: 1}) WHERE EXISTS { (x) ((a)-[:R]->(b)-[:S]->(c))+ (y {k: 2}) } RETURN count(*)",
        "MATCH (x {k: 1}) WHERE EXISTS { (x)-[:R|S*]->(y {k: 2}) } RETURN count(*)",
    ),
    "acyclic, 1 to 3": (
        "MATCH p = ACYCLIC (x {k: 1}) ((a)-[:R]->(b)-[:S]->(c)){1,3} (y) RETURN count(p)",
        "MATCH p = ACYCLIC (x {k: 1})-[:R|S*2..6]->(y) RETURN count(p)",
    ),
}


def graph_of(nodes: int, degree: int) -> Graph:
    """Return a random graph: each node has ``degree`` relationships of each of two types; one in 100 has a k of 1."""
    chance = random.Random(1)
    records = [{"id": i, "labels": ["N"], "properties": {"k": chance.randrange(100)}} for i in range(nodes)]
    edges = (
        {"type": type, "start": start, "end": chance.randrange(nodes), "properties": {}}
        for type in "RS"
        for start in range(nodes)
        for _ in range(degree)
    )
    return Graph.from_records(records, list(edges))


def measured(nodes: int, degree: int, turns: int) -> Iterator[tuple[str, float, float]]:
    """Yield each query with the milliseconds of both ways of writing it."""
    graph = graph_of(nodes, degree)
    for name, texts in QUERIES.items():
        least = [float("inf")] * 2
        for _ in range(turns):
            for place, text in enumerate(texts):
                begin = time.process_time()
                graph.query(text).fetchall()
                least[place] = min(least[place], time.process_time() - begin)
        yield name, least[0] * 1e3, least[1] * 1e3


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--degree", type=int, default=3)
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    print(f"{options.nodes:,} nodes, {options.degree} relationships of each type\n")
    print("| pattern | quantified, ms | plain, ms |\n|---|---|---|")
    for name, quantified, plain in measured(options.nodes, options.degree, options.turns):
        print(f"| {name} | {quantified:,.1f} | {plain:,.1f} |", flush=True)


if __name__ == "__main__":
    main()
