"""Graphs on which small texts take long: skewed degrees, a grid of paths, a clique, a star."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pyarrow as pa

from qengine import Graph

_VERTICES, _EDGES = 20_000, 400_000


def _skewed() -> Graph:
    """20,000 nodes and 400,000 relationships with a few hubs; numbers, fractions and strings as properties."""
    chance = np.random.default_rng(1)
    start = chance.zipf(1.6, _EDGES) % _VERTICES
    end = chance.integers(0, _VERTICES, _EDGES)
    nodes = {
        "id": np.arange(_VERTICES),
        "k": chance.integers(0, 100, _VERTICES),
        "s": [f"name{i % 997}" + "x" * (i % 30) for i in range(_VERTICES)],
        "f": chance.random(_VERTICES),
    }
    edges = {"start": start, "end": end, "w": chance.integers(0, 9, _EDGES)}
    return Graph.from_arrow([("A", pa.table(nodes))], [("T", "A", "A", pa.table(edges))], key="id")


def _grid() -> Graph:
    """A grid of 40 x 40: long shortest paths, and trails without end."""
    side = 40
    ends = [(v, v + 1) for v in range(side * side) if (v + 1) % side]
    ends += [(v, v + side) for v in range(side * (side - 1))]
    start, end = np.array(ends, np.int64).T
    return Graph.from_edge_list((start, end), label="V")


def _clique() -> Graph:
    """60 nodes, each with a relationship to each later one."""
    start, end = np.triu_indices(60, 1)
    return Graph.from_edge_list((start.astype(np.int64), end.astype(np.int64)), label="V")


def _star() -> Graph:
    """One node with 65,536 neighbours."""
    leaves = np.arange(1, 1 + (1 << 16), dtype=np.int64)
    return Graph.from_edge_list((np.zeros_like(leaves), leaves), label="V")


_GRAPHS: dict[str, Callable[[], Graph]] = {"skewed": _skewed, "grid": _grid, "clique": _clique, "star": _star}


@cache
def graph(name: str) -> Graph:
    """Return a graph by its name, made when it is first asked for."""
    return _GRAPHS[name]()
