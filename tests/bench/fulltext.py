"""How long a FULLTEXT index takes to make, to follow a commit, and to search: ``python -m tests.bench.fulltext``.

Texts of ten words are drawn from 100,000 words, a few of which come often, as in natural language. Times are the
processor's, the least of some.
"""

from __future__ import annotations

import argparse
import random
from typing import Any

import numpy as np
import pyarrow as pa

from qengine import Graph
from tests.bench.timing import least

QUERIES = {
    "a rare word": "{rare}",
    "a common word": "{common}",
    "two words, one common": "+{common} +{middle}",
    "three words, OR": "{common} {middle} {rare}",
    "a phrase": '"{common} {second}"',
    "a phrase, 3 apart": '"{middle} {rare}"~3',
    "a prefix": "{prefix}*",
    "a suffix": "*{prefix}",
    "fuzzy, 1 edit": "{rare}~1",
    "fuzzy, 2 edits": "{rare}~2",
}


def texts(count: int) -> tuple[list[str], Any]:
    """Return the words, the commonest first, and texts of them."""
    chance = random.Random(1)
    words = sorted(
        {"".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(3, 10))) for _ in range(100_000)}
    )
    chance.shuffle(words)
    places = (np.random.default_rng(1).random(10 * count) ** 6 * len(words)).astype(np.int64)
    drawn = pa.array(words).take(pa.array(places))
    lists = pa.ListArray.from_arrays(pa.array(np.arange(0, 10 * count + 1, 10, np.int32)), drawn)
    return words, pa.compute.binary_join(lists, " ")


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--texts", type=int, default=1_000_000)
    count = parser.parse_args().texts
    words, column = texts(count)
    graph = Graph.from_arrow({"T": pa.table({"k": range(count), "x": column})}, {})
    graph.query("CREATE FULLTEXT INDEX t FOR (n:T) ON EACH [n.x]")
    named = {"common": words[0], "second": words[1], "middle": words[500], "rare": words[-5], "prefix": words[0][:2]}

    def find(query: str) -> Any:
        text = "CALL db.index.fulltext.queryNodes('t', $q, {limit: 10}) YIELD node, score RETURN node.k, score"
        return graph.query(text, {"q": query.format(**named)}).fetchall()

    print(f"| {count:,} texts, {column.nbytes / 1e6:.0f} MB | ms |\n|---|---|")
    print(f"| made | {1e3 * least(lambda: find('{rare}'), 1):,.0f} |")
    print(f"| its size, MB | {graph._store.kept.nbytes / 1e6:.0f} |")
    for name, query in QUERIES.items():
        print(f"| {name} | {1e3 * least(lambda query=query: find(query), 5):,.1f} |")  # type: ignore[misc]
    graph.query("MATCH (n:T {k: 1}) SET n.x = 'other'").fetchall()
    print(f"| the first search after a commit | {1e3 * least(lambda: find('{rare}'), 1):,.1f} |")


if __name__ == "__main__":
    main()
