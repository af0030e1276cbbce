"""A query of the replay, and the graphs that queries are asked of: all made from seeds, the same on every machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from qengine import Graph
from qengine.testing.generate import SocialSize, rmat, social, to_csr, vertex_labels
from qengine.testing.random_graph import random_graph
from tests.differential.test_plans_once_wrong import STORE
from tests.limits.graphs import graph as limits_graph
from tests.replay.foreign import graph_of

_CHECKOUT = Path(__file__).resolve().parents[2]
_SOCIAL = SocialSize(persons=1_000, knows=8_000, cities=10, posts=500, tags=30, likes=2_000)


@dataclass(frozen=True)
class Case:
    """A query: ``graph`` names what it is asked of.

    ``ordered``: its rows come in an order that it gives in full. ``lists_ordered``: so do the items of its lists.
    ``sure``: it has one result; without that only how it ends is kept. ``run``: whether it is run at all, which takes
    long for some. ``foreign``: the text is not ours to keep; ``graph`` names it, too, and checksums stand for the rest.
    """

    graph: str
    text: str
    parameters: dict[str, Any] = field(default_factory=dict)
    ordered: bool = False
    lists_ordered: bool = True
    sure: bool = True
    run: bool = True
    foreign: bool = False

    @property
    def title(self) -> str:
        """The text in one line, without its comments, after the graph."""
        if self.foreign:
            return self.graph
        lines = (line.strip() for line in self.text.splitlines())
        return f"{self.graph}: {' '.join(line for line in lines if line and not line.startswith('//'))}"


@cache
def graph(name: str) -> Graph:
    """Return a graph by its name, made when it is first asked for.

    ``random SEED`` is one of the random graphs, ``limits NAME`` one of those that take long, ``corpus PLACE`` and
    ``tck PLACE`` those that are made for a statement.
    """
    if name.startswith(("corpus ", "tck ")):
        return graph_of(name)
    if name.startswith("limits "):
        return limits_graph(name.removeprefix("limits "))
    if name.startswith("random "):
        return Graph(random_graph(name.removeprefix("random ")).store())
    return _GRAPHS[name]()


def _skewed() -> Graph:
    """A simple undirected R-MAT graph of 512 vertices: triangles and cycles enough for every way of counting."""
    start, end = to_csr(rmat(9, 8)).edges()
    return Graph.from_edge_list((start.astype(np.int64), end.astype(np.int64)), undirected=True)


def _labelled() -> Graph:
    """An undirected R-MAT graph of 2,048 vertices, each with one of three labels."""
    csr = to_csr(rmat(11, 12))
    start, end = csr.edges()
    labels = vertex_labels(csr.vertex_count, 3)
    nodes = [(f"L{k}", pa.table({"id": np.flatnonzero(labels == k)})) for k in range(3)]
    return Graph.from_arrow(nodes, [("E", pa.table({"start": start, "end": end}))], undirected=["E"])


def _typed() -> Graph:
    """Four types: R and S are directed with self-loops and parallel relationships, T simple, U has no direction."""
    draws = rmat(8, 8, seed=7, quadrants=(0.45, 0.22, 0.22))
    count = draws.vertex_count
    ends = np.stack([draws.source, draws.target]).astype(np.int64)
    kinds = vertex_labels(ends.shape[1], 4, seed=11)
    relationships = []
    for place, kind in enumerate("RSTU"):
        part = ends[:, kinds == place]
        if kind == "T":
            part = np.unique(part[:, part[0] != part[1]], axis=1)
        weights = np.arange(part.shape[1]) % 7
        relationships.append((kind, "A", "A", pa.table({"start": part[0], "end": part[1], "w": weights})))
    nodes = {"id": np.arange(count), "x": np.arange(count) % 10}
    return Graph.from_arrow([("A", pa.table(nodes))], relationships, key="id", undirected=["U"])


def _sparse() -> Graph:
    """A directed R-MAT graph of 8,192 vertices, three relationships each: long patterns are joined of two parts."""
    csr = to_csr(rmat(13, 3, seed=5))
    start, end = csr.edges()
    labels = vertex_labels(csr.vertex_count, 4, seed=5)
    nodes = [
        (f"L{k}", pa.table({"id": ids, "x": ids % 100})) for k in range(4) for ids in [np.flatnonzero(labels == k)]
    ]
    return Graph.from_arrow(nodes, [("E", pa.table({"start": start, "end": end}))])


def _society() -> Graph:
    """What the hand-written catalogue of the tests has (``qengine.testing.catalog.SOCIAL``), in a few elements."""
    people = [
        {
            "id": i,
            "labels": ["Person"] + ["Actor"] * (i % 3 == 0),
            "properties": {
                "name": f"Name{i % 7}", "age": 18 + 5 * (i % 11), "height": 1.5 + i / 64, "tags": ["a", "b"][: i % 3],
            },
        }
        for i in range(10)
    ]  # fmt: skip
    places = [
        {
            "id": 100 + i,
            "labels": [kind],
            "properties": {"name": f"{kind}{i}", "code": "XYZ"[i % 3], "population": 9 * i},
        }
        for i, kind in enumerate(["City"] * 8 + ["Country"] * 6)
    ]
    knows = [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3), (0, 3), (1, 0), (6, 7), (7, 8), (9, 8)]
    edges = [
        {
            "type": "knows",
            "start": a,
            "end": b,
            "properties": {"since": 1990 + a, "weight": b / 8, "note": "n" * (b % 3)},
        }
        for a, b in knows
    ]
    edges += [{"type": "lives_in", "start": i, "end": 100 + i * i % 8} for i in range(8)]
    edges += [{"type": "borders", "start": 108 + i, "end": 108 + (i + step) % 6} for i in range(6) for step in (1, 2)]
    return Graph.from_records(people + places, edges, undirected=["borders"])


def _persons() -> Graph:
    """The generated social graph of the benchmarks, small."""
    tables = social(_SOCIAL)
    nodes = [(name.removeprefix("nodes_"), table) for name, table in tables.items() if name.startswith("nodes_")]
    relationships = []
    for name, table in tables.items():
        if name.startswith("rels_"):
            start, *kind, end = name.removeprefix("rels_").split("_")
            relationships.append(("_".join(kind), start, end, table))
    return Graph.from_arrow(nodes, relationships, key="id")


def _world() -> Graph:
    """The example graph."""
    return Graph.from_csv(_CHECKOUT / "examples" / "world")


_GRAPHS: dict[str, Callable[[], Graph]] = {
    "skewed": _skewed,
    "labelled": _labelled,
    "typed": _typed,
    "sparse": _sparse,
    "society": _society,
    "persons": _persons,
    "world": _world,
    "small": lambda: Graph(STORE),
}
