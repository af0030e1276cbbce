"""Counts a pattern by listing all its homomorphisms: slow, obviously right, for small graphs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from tests.bench.atlas.graphs import Edges
from tests.bench.atlas.patterns import Pattern, Semantics

Rows = NDArray[np.int64]


def counts(graph: Edges, pattern: Pattern) -> dict[Semantics, int]:
    """Return the matches of a pattern in each of the semantics."""
    found = dict.fromkeys(Semantics, 0)
    for rows in homomorphisms(graph, pattern):
        found[Semantics.REPEATABLE] += len(rows)
        found[Semantics.NODES] += int(all_differ(rows).sum())
        found[Semantics.RELATIONSHIPS] += int(all_differ(relationships(graph, pattern, rows)).sum())
    return found


def homomorphisms(graph: Edges, pattern: Pattern) -> Iterator[Rows]:
    """Yield the images of the pattern's vertices, a row a homomorphism, for one image of the first vertex at a time."""
    order = _order(pattern)
    kinds = pattern.types or (0,) * len(pattern.edges)
    adjacent = {kind: adjacency(graph, kind) for kind in set(kinds)}
    for first in range(graph.n):
        rows = np.full((1, pattern.size), -1, np.int64)
        rows[:, order[0]] = first
        rows = _labelled(graph, pattern, order[0], rows)
        for place, vertex in enumerate(order[1:], 1):
            fits = np.ones((len(rows), graph.n), bool)
            for (a, b), kind in zip(pattern.edges, kinds, strict=True):
                if b == vertex and a in order[:place]:
                    fits &= adjacent[kind][rows[:, a]]
                elif a == vertex and b in order[:place]:
                    fits &= adjacent[kind].T[rows[:, b]]
            row, image = np.nonzero(fits)
            rows = rows[row]
            rows[:, vertex] = image
            rows = _labelled(graph, pattern, vertex, rows)
        yield rows


def adjacency(graph: Edges, kind: int = 0) -> NDArray[np.bool_]:
    """Return the matrix of the relationships of one type: symmetric where they have no direction."""
    mine = slice(None) if graph.types is None else graph.types == kind
    matrix = np.zeros((graph.n, graph.n), bool)
    matrix[graph.source[mine], graph.target[mine]] = True
    return matrix if graph.directed else matrix | matrix.T


def _order(pattern: Pattern) -> list[int]:
    """Return the vertices so that each but the first has a neighbour before it."""
    order = [0]
    while len(order) < pattern.size:
        order.append(next(b for edge in pattern.edges for a, b in (edge, edge[::-1]) if a in order and b not in order))
    return order


def _labelled(graph: Edges, pattern: Pattern, vertex: int, rows: Rows) -> Rows:
    return rows if graph.labels is None else rows[graph.labels[rows[:, vertex]] == pattern.labels[vertex]]


def relationships(graph: Edges, pattern: Pattern, rows: Rows) -> Rows:
    """Return a number for the relationship that each edge is matched to, which its ends fix in a simple graph."""
    ends = rows[:, pattern.edges]
    if not graph.directed:
        ends = np.sort(ends, axis=2)
    return ends[:, :, 0] * graph.n + ends[:, :, 1]


def all_differ(rows: Rows) -> NDArray[np.bool_]:
    """Return for each row whether no two of its numbers are equal."""
    differ = np.ones(len(rows), bool)
    for one, other in combinations(range(rows.shape[1]), 2):
        differ &= rows[:, one] != rows[:, other]
    return differ
