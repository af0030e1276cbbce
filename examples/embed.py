"""qengine inside a service: prepared queries, parameters, limits that hold, answers as columns, typed errors."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa

import qengine

NEIGHBOURS = """
MATCH (c:Country {name: $country})-[b:borders]-(n:Country)
RETURN n.name AS neighbour, b.length_km AS length_km
ORDER BY length_km DESC
"""


class Atlas:
    """A service's own face for a few questions: one graph, planned once, asked from many threads."""

    def __init__(self, folder: Path) -> None:
        self._graph = qengine.Graph.from_csv(folder)
        self._neighbours = self._graph.prepare(NEIGHBOURS)

    def neighbours(self, country: str) -> pa.Table:
        """Return the neighbours of a country with the lengths of the borders, as columns."""
        result = self._neighbours.run({"country": country}, timeout=30.0, memory_limit=64_000_000)
        return result.to_arrow()

    def count(self, pattern: str, seconds: float) -> int | None:
        """Count the matches of a pattern that somebody sent; None where that takes longer than ``seconds``."""
        try:
            count: int = self._graph.query(f"MATCH {pattern} RETURN count(*)", timeout=seconds).value()
        except qengine.QueryTimeout:
            return None
        return count


def main() -> int:
    """Ask the service; return the exit code."""
    atlas = Atlas(Path(__file__).parent / "world")

    with ThreadPoolExecutor(4) as pool:  # queries release the interpreter's lock
        names = ("Brazil", "Laos", "Chad", "Iceland")
        for name, table in zip(names, pool.map(atlas.neighbours, names), strict=True):
            total = sum(table["length_km"].to_pylist())
            print(f"{name}: {table.num_rows} neighbours, {total:,.0f} km of borders")

    triangles = atlas.count("(a)-[:borders]-(b)-[:borders]-(c)-[:borders]-(a)", seconds=60)
    print("\nmatches of three countries that border each other:", triangles)
    endless = atlas.count("p = (:Country)-[:borders*]-(:Country)", seconds=0.2)
    print("all trails over land:", "given up after 0.2 s" if endless is None else endless)

    try:
        atlas.count("(a)-[:borders]->(b", seconds=1)
    except qengine.QuerySyntaxError as error:
        print(f"\n{error}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
