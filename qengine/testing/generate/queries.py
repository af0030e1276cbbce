"""Labelled query graphs drawn from a data graph by a random walk, so that each has at least one embedding."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from qengine._frozen import frozen
from qengine.testing.generate.graphs import Csr
from qengine.testing.generate.raw import RawStream

Density = Literal["dense", "sparse", "any"]

_QUERY_STREAM = 2_000_003
_STEPS_PER_VERTEX = 50
_TRIES = 10_000


@frozen
class LabelledQuery:
    """An undirected query graph.

    Attributes
    ----------
    labels
        One label a vertex.
    edges
        Pairs of vertex numbers, the smaller first.
    """

    labels: tuple[int, ...]
    edges: tuple[tuple[int, int], ...]

    def is_dense(self) -> bool:
        """Return whether the average degree is at least 3."""
        return 2 * len(self.edges) >= 3 * len(self.labels)

    def to_text(self) -> str:
        """Return the ``t/v/e`` text of the subgraph-matching literature."""
        degree = [sum(vertex in edge for edge in self.edges) for vertex in range(len(self.labels))]
        lines = [f"t {len(self.labels)} {len(self.edges)}"]
        lines += [f"v {vertex} {label} {degree[vertex]}" for vertex, label in enumerate(self.labels)]
        lines += [f"e {first} {second}" for first, second in self.edges]
        return "\n".join(lines)


def walk_query(
    graph: Csr,
    labels: NDArray[np.int32],
    size: int,
    stream: RawStream,
    *,
    density: Density = "any",
    max_edges: int = 30,
    max_hub: int | None = None,
) -> LabelledQuery | None:
    """Draw one connected query: the subgraph induced by the first distinct vertices of a random walk.

    Parameters
    ----------
    graph, labels
        The data graph and its vertex labels.
    size
        Vertices of the query.
    stream
        Where the random words come from; it advances.
    density
        ``"dense"`` keeps an average degree of at least 3, ``"sparse"`` keeps one below.
    max_edges
        Queries with more edges are drawn anew.
    max_hub
        The walk never steps onto a vertex of larger degree.

    Returns
    -------
    LabelledQuery or None
        None where 10,000 walks gave nothing that fits.
    """
    degree = graph.degrees()
    for _ in range(_TRIES):
        visited = _walk(graph, degree, size, stream, max_hub)
        if visited is None:
            continue
        edges = tuple(
            (i, j) for i in range(size) for j in range(i + 1, size) if _adjacent(graph, visited[i], visited[j])
        )
        query = LabelledQuery(tuple(int(labels[vertex]) for vertex in visited), edges)
        if len(edges) <= max_edges and (density == "any" or query.is_dense() == (density == "dense")):
            return query
    return None


def walk_queries(
    graph: Csr, labels: NDArray[np.int32], seed: int, max_hub: int | None = None
) -> dict[str, LabelledQuery]:
    """Draw the usual set: eight dense (``q8d_0`` …) and eight sparse queries of 8 and of 12 vertices.

    A query that could not be drawn is left out.
    """
    stream = RawStream(seed + _QUERY_STREAM)
    densities: tuple[Density, ...] = ("dense", "sparse")
    queries: dict[str, LabelledQuery] = {}
    for size in (8, 12):
        for density in densities:
            for number in range(8):
                query = walk_query(graph, labels, size, stream, density=density, max_hub=max_hub)
                if query is not None:
                    queries[f"q{size}{density[0]}_{number}"] = query
    return queries


def _walk(graph: Csr, degree: NDArray[np.int64], size: int, stream: RawStream, max_hub: int | None) -> list[int] | None:
    """Return ``size`` distinct vertices in the order of their first visit, None where the walk gets stuck."""

    def is_hub(vertex: int) -> bool:
        return max_hub is not None and int(degree[vertex]) > max_hub

    # A random end of a random edge: proportional to the degree, never isolated.
    vertex = int(graph.neighbors[stream.below(len(graph.neighbors))])
    if is_hub(vertex):
        return None
    visited = [vertex]
    for _ in range(_STEPS_PER_VERTEX * size):
        row = graph.row(vertex)
        step = int(row[stream.below(len(row))])
        if is_hub(step):
            continue
        vertex = step
        if vertex not in visited:
            visited.append(vertex)
            if len(visited) == size:
                return visited
    return None


def _adjacent(graph: Csr, first: int, second: int) -> bool:
    row = graph.row(first)
    place = int(np.searchsorted(row, second))
    return place < len(row) and int(row[place]) == second
