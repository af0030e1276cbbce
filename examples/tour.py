"""A short tour of qengine: load the example graph, ask three questions, look at a plan."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import qengine
from qengine.cli.formats import write

QUESTIONS = (
    (
        "Where do three countries meet pairwise, each a neighbour of the other two? The most populous such corners:",
        """MATCH (a:Country)-[:borders]-(b:Country)-[:borders]-(c:Country)-[:borders]-(a)
WHERE a.name < b.name AND b.name < c.name
RETURN a.name, b.name, c.name, a.population + b.population + c.population AS people
ORDER BY people DESC LIMIT 5""",
    ),
    (
        "Which languages are official in the most countries?",
        """MATCH (c:Country)-[s:speaks]->(l:Language)
WHERE s.official
RETURN l.name AS language, count(*) AS countries, sum(c.population) AS people
ORDER BY countries DESC, language LIMIT 5""",
    ),
    (
        "How does one get from Portugal to China over land, crossing the fewest borders?",
        """MATCH (a:Country {name: 'Portugal'}), (b:Country {name: 'China'}), p = shortestPath((a)-[:borders*]-(b))
RETURN [n IN nodes(p) | n.name] AS route, length(p) AS borders""",
    ),
)


def main() -> int:
    """Run the tour; return the exit code."""
    folder = Path(__file__).parent / "world"
    begin = time.perf_counter()
    graph = qengine.Graph.from_csv(folder)
    print(f"Loaded {graph!r} from {folder} in {(time.perf_counter() - begin) * 1e3:.0f} ms\n")
    for title, text in QUESTIONS:
        print(f"{title}\n\n{text}\n")
        write(graph.query(text), "table", sys.stdout)
        print(f"\n{graph.explain(text)}\n")
    print("Next: `qengine examples/world` opens a shell on this graph; README.md tells more.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
