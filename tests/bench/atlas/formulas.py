"""Homomorphisms of all undirected patterns of up to five vertices, each by a closed formula, for R-MAT 16 and smaller.

After Pinar, Seshadhri and Vishal, "ESCAPE: Efficiently counting all 5-vertex subgraphs" (WWW 2017): a pattern is cut at
few vertices, and the pieces are counted by vertex, edge, or pair. With N the adjacency matrix between the neighbours of
a vertex, P = N², s the row sums of N, and k those of P∘N, patterns that have a vertex v beside all others are sums over
v of a formula in these; the others are sums over rows of W = A² (numbers of common neighbours) and A³. d are degrees.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.bench.atlas.graphs import Edges
from tests.bench.atlas.patterns import Pattern
from tests.bench.atlas.trees import trees

Array = NDArray[Any]
MOST_VERTICES = 1 << 16
_EXACT = 2.0**53


class Formulas:
    """The homomorphisms of all connected patterns of at most five vertices in a plain graph; it takes 3 n² bytes.

    ``counts`` has them by name, exact.
    """

    def __init__(self, graph: Edges) -> None:
        """Count all.

        Raises
        ------
        ValueError
            If the graph has more than 2**16 vertices.
        """
        if graph.n > MOST_VERTICES:
            raise ValueError(f"{graph.n:,} vertices are more than {MOST_VERTICES:,}.")
        rows, columns = _by_degree(graph)
        self.n = 1 + int(rows[-1])
        self.degrees = np.bincount(rows)
        self.starts = np.cumsum(self.degrees) - self.degrees
        self.columns = columns
        self.rows = np.split(columns, self.starts[1:])
        self.adjacent = np.zeros((self.n, self.n), bool)
        self.adjacent[rows, columns] = True
        self.common = np.zeros((self.n, self.n), np.uint16)
        self.counts = Counter(trees(graph))
        for vertex in range(self.n):
            self._pairs(vertex)
        for vertex in range(self.n):
            self._cones(vertex)
            self._add("K5", 120 * self._cliques(vertex))

    def __call__(self, pattern: Pattern) -> int:
        """Return the homomorphisms of a pattern."""
        return self.counts[pattern.undirected().name]

    def _add(self, name: str, number: Any) -> None:
        """Add a number that a sum of integers has come to, as integers or exactly as floats."""
        assert isinstance(number, int | np.integer) or number < _EXACT
        self.counts[name] += int(number)

    def _reached(self, numbers: Array) -> Array:
        """Return for each vertex the sum of its neighbours' numbers."""
        return np.add.reduceat(numbers[self.columns], self.starts)

    def _pairs(self, vertex: int) -> None:
        """Add what is a sum over the vertex's row of W, and keep that row."""
        near = self.rows[vertex]
        d, reached = int(self.degrees[vertex]), int(self.degrees[near].sum())
        ends = np.concatenate([self.rows[each] for each in near])
        w = np.bincount(ends, minlength=self.n)
        by_degree = np.bincount(ends, np.repeat(self.degrees[near], self.degrees[near]), self.n).astype(np.int64)
        cubes = self._reached(w)  # a row of A**3
        on_edges, triangles, squares = w[near], int(w[near].sum()), int((w**2).sum())
        self.common[vertex] = w
        self._add("triangle", triangles)
        self._add("paw", triangles * d)
        self._add("cricket", triangles * d**2)
        self._add("butterfly", triangles**2)
        self._add("tadpole", triangles * reached)
        self._add("bull", d * (on_edges * self.degrees[near]).sum())
        self._add("diamond", (on_edges**2).sum())
        self._add("dart", d * (on_edges**2).sum())
        self._add("book", (on_edges**3).sum())
        self._add("kite", (on_edges * by_degree[near]).sum())
        self._add("house", (on_edges * cubes[near]).sum())
        self._add("C4", squares)
        self._add("banner", squares * d)
        self._add("K2.3", (w**3).sum())
        self._add("C5", (w * cubes).sum())

    def _cones(self, vertex: int) -> None:
        """Add what is a sum over pairs of the vertex's neighbours."""
        near = self.rows[vertex]
        between = self.adjacent[np.ix_(near, near)].astype(np.float32)
        paths = between @ between.T  # at most n: exact
        closed = (paths * between).astype(float)
        paths = paths.astype(float)
        s, k = between.sum(axis=1, dtype=float), closed.sum(axis=1)
        self._add("gem", s @ (between @ s))
        self._add("K4", k.sum())
        self._add("K4-tail", len(near) * k.sum())
        self._add("K5-P3", s @ k)
        self._add("K5-e", (closed**2).sum())
        self._add("wheel", (paths**2).sum())
        self._add("K2.3+e", (paths * self.common[np.ix_(near, near)]).sum())

    def _cliques(self, vertex: int) -> int:
        """Return the 4-cliques among the neighbours after the vertex."""
        near = self.rows[vertex]
        later = near[near > vertex]
        between = np.triu(self.adjacent[np.ix_(later, later)]).astype(np.float32)
        found = 0.0
        for row in between:
            places = np.flatnonzero(row)
            if len(places) > 2:
                part = between[np.ix_(places, places)]
                found += float(((part @ part) * part).sum(dtype=float))
        return int(found)


def _by_degree(graph: Edges) -> tuple[Array, Array]:
    """Return rows and columns of the adjacency matrix in order, vertices by ascending degree, without isolated ones."""
    here, there = np.concatenate([graph.source, graph.target]), np.concatenate([graph.target, graph.source])
    degrees = np.bincount(here, minlength=graph.n)
    rank = np.empty(graph.n, np.int64)
    rank[np.argsort(degrees, kind="stable")] = np.arange(graph.n) - int((degrees == 0).sum())
    order = np.lexsort((rank[there], rank[here]))
    return rank[here][order], rank[there][order]
