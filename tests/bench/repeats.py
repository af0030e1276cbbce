"""Quantified paths of several relationships, beside the plain patterns that have the same matches, if there are such.

``python -m tests.bench.repeats [--nodes N] [--degree D]``: processor time of whole statements, the least of some turns.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator

from qengine import Graph
from tests.bench.timing import seconds

_LINKS = "-[:R]->()-[:S]->"


def _together(start: str, returned: str, condition: str = "") -> str:
    """Return the plain patterns of 1 to 3 repetitions, as one query that sums what each returns."""
    parts = []
    for count in (1, 2, 3):
        names = [f"(n{place})" for place in range(count + 1)]
        conditions = " AND ".join(condition.format(place, place + 1) for place in range(count)) if condition else ""
        where = f" WHERE {conditions}" if conditions else ""
        path = f"({start})" + "".join(_LINKS + name for name in names[1:])
        parts.append(f"MATCH {path}{where} RETURN {returned.format(count)} AS n")
    return f"CALL () {{ {' UNION ALL '.join(parts)} }} RETURN sum(n)"


QUERIES = {
    "rows of 2 repetitions": (
        "MATCH (x) ((a)-[r:R]->(b)-[s:S]->(c)){2} (y) RETURN sum(size(r)), count(y)",
        "MATCH (x)-[r:R]->(b)-[s:S]->(c)-[r2:R]->(b2)-[s2:S]->(y) RETURN sum(size([r, r2])), count(y)",
    ),
    "count of 1 to 3": (
        "MATCH ((a)-[:R]->(b)-[:S]->(c)){1,3} RETURN count(*)",
        _together("n0", "count(*)"),
    ),
    "group variables of 1 to 3": (
        "MATCH (x {k: 1}) ((a)-[r:R]->(b)-[s:S]->(c)){1,3} (y) RETURN sum(size(b))",
        _together("n0 {k: 1}", "{0} * count(*)"),
    ),
    "group variables of 1 to 4, not unrolled": (
        "MATCH (x {k: 1}) ((a)-[r:R]->(b)-[s:S]->(c)){1,4} (y) RETURN sum(size(b))",
        "",
    ),
    "condition across, 1 to 3": (
        "MATCH ((a)-[:R]->(b)-[:S]->(c) WHERE a.k < c.k){1,3} RETURN count(*)",
        _together("n0", "count(*)", "n{0}.k < n{1}.k"),
    ),
    "different ends, any length": (
        "MATCH (x {k: 1}) ((a)-[:R]->(b)-[:S]->(c))+ (y) RETURN count(DISTINCT y)",
        "",
    ),
    "ends by start, any length": (
        "MATCH (x {k: 1}) ((a)-[:R]->(b)-[:S]->(c))+ (y) WITH x, count(DISTINCT y) AS n RETURN sum(n)",
        "",
    ),
    "existence, any length": (
        "MATCH (x {k: 1}) WHERE EXISTS { (x) ((a)-[:R]->(b)-[:S]->(c))+ (y {k: 2}) } RETURN count(*)",
        "",
    ),
    "acyclic, 1 to 4": (
        "MATCH p = ACYCLIC (x {k: 1}) ((a)-[:R]->(b)-[:S]->(c)){1,4} (y) RETURN count(p)",
        "",
    ),
    "shortest over parts": (
        "MATCH p = ANY SHORTEST (x {k: 1})-[:R]->(m) ((a)-[:R]->(b)-[:S]->(c)){0,2} (y {k: 2}) RETURN count(p)",
        "",
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
                if not text:
                    continue
                least[place] = min(least[place], seconds(lambda text=text: graph.query(text).fetchall()))
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
        shown = f"{plain:,.1f}" if plain < float("inf") else ""
        print(f"| {name} | {quantified:,.1f} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
