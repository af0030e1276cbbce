"""A graph that is nothing but edges: how often small patterns occur in it.

``python examples/edge_list.py FILE`` counts in an edge list, plain or gzipped; without a file, in a generated graph.
"""

from __future__ import annotations

import sys
import time

import numpy as np

import qengine

# Each count is of embeddings; divided by the pattern's symmetries it is one of subgraphs.
MOTIFS = {
    "triangle": ("(a)--(b)--(c)--(a)", 6),
    "4-cycle": ("(a)--(b)--(c)--(d)--(a)", 8),
    "diamond": ("(a)--(b)--(c)--(d)--(a), (a)--(c)", 4),
    "4-clique": ("(a)--(b)--(c)--(d)--(a), (a)--(c), (b)--(d)", 24),
}


def generated(vertices: int = 5_000, edges: int = 40_000) -> qengine.Graph:
    """Return a graph in which a few vertices have many neighbours; the same in every run."""
    random = np.random.default_rng(7)
    ends = np.floor(vertices * random.random((2, edges)) ** 2).astype(np.int64)
    ends = np.sort(ends[:, ends[0] != ends[1]], axis=0)
    start, end = np.unique(ends, axis=1)
    return qengine.Graph.from_edge_list((start, end), undirected=True)


def main(arguments: list[str]) -> int:
    """Count the motifs; return the exit code."""
    graph = qengine.Graph.from_edge_list(arguments[0], undirected=True) if arguments else generated()
    print(f"{graph!r}\n")
    print(f"{'motif':10}{'subgraphs':>14}{'seconds':>10}")
    for name, (pattern, symmetries) in MOTIFS.items():
        begin = time.perf_counter()
        embeddings = graph.query(f"MATCH DIFFERENT NODES {pattern} RETURN count(*)").value()
        print(f"{name:10}{embeddings // symmetries:14,}{time.perf_counter() - begin:10.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
