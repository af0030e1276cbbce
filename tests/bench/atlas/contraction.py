"""Homomorphisms of a pattern by contracting dense matrices, for graphs of a few thousand vertices.

A vertex with one neighbour becomes a vector beside it, one with two a matrix between them. Where every vertex has three
or more, each image of one of them is taken by itself, which leaves its neighbours only what is adjacent to that image.
All numbers are floats that hold integers, and none may exceed what floats hold exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.bench.atlas.graphs import Edges
from tests.bench.atlas.listed import adjacency
from tests.bench.atlas.patterns import Pattern

Array = NDArray[Any]
_EXACT = 2.0**53


class Counter:
    """Counts homomorphisms in one graph; those of isomorphic plain patterns once."""

    def __init__(self, graph: Edges) -> None:
        self._matrices = {kind: adjacency(graph, kind).astype(float) for kind in range(1 if graph.types is None else 2)}
        self._graph = graph
        self._known: dict[object, int] = {}

    def __call__(self, pattern: Pattern) -> int:
        """Return the number of homomorphisms.

        Raises
        ------
        OverflowError
            If a number on the way is too large to be exact.
        """
        key = (pattern.edges, pattern.types, pattern.labels) if pattern.key != pattern.shape else pattern.canonical
        if key not in self._known:
            self._known[key] = self._count(pattern)
        return self._known[key]

    def _count(self, pattern: Pattern) -> int:
        labels = self._graph.labels
        domains = [
            slice(None) if labels is None else np.flatnonzero(labels == pattern.labels[vertex])
            for vertex in range(pattern.size)
        ]
        every = np.ones(self._graph.n)
        network = _Network({vertex: every[domain] for vertex, domain in enumerate(domains)}, {})
        kinds = pattern.types or (0,) * len(pattern.edges)
        for (a, b), kind in zip(pattern.edges, kinds, strict=True):
            network = network.joined(a, b, self._matrices[kind][domains[a]][:, domains[b]])
        return int(network.total())


@dataclass(frozen=True)
class _Network:
    """Weights of the images of each vertex, and matrices between vertices, by (smaller, larger)."""

    weights: Mapping[int, Array]
    matrices: Mapping[tuple[int, int], Array]

    def total(self) -> float:
        """Return the sum over all images of the products of weights and entries."""
        if len(self.weights) == 1:
            return float(_exact(next(iter(self.weights.values())).sum()))
        neighbours = {vertex: self._neighbours(vertex) for vertex in self.weights}
        vertex = min(neighbours, key=lambda each: len(neighbours[each]))
        if len(neighbours[vertex]) <= 2:
            return self._without(vertex, neighbours[vertex]).total()
        return self._by_image(min(neighbours, key=lambda each: self._density(each, neighbours[each])))

    def joined(self, a: int, b: int, matrix: Array) -> _Network:
        """Return the network with a matrix more between two vertices, multiplied into what is there."""
        pair, matrix = ((a, b), matrix) if a < b else ((b, a), matrix.T)
        known = self.matrices.get(pair)
        product = matrix if known is None else _exact(known * matrix)
        return _Network(self.weights, {**self.matrices, pair: product})

    def _neighbours(self, vertex: int) -> list[int]:
        return [a + b - vertex for a, b in self.matrices if vertex in (a, b)]

    def _density(self, vertex: int, neighbours: list[int]) -> float:
        """Return the share of their images that the neighbours keep for one of the vertex, less the more they are."""
        matrices = [self._matrix(vertex, each) for each in neighbours]
        return sum(np.count_nonzero(matrix) / max(matrix.size, 1) - 1 for matrix in matrices)

    def _matrix(self, a: int, b: int) -> Array:
        return self.matrices[a, b] if a < b else self.matrices[b, a].T

    def _without(self, vertex: int, neighbours: list[int]) -> _Network:
        """Sum a vertex with at most two neighbours out."""
        weights = {each: weight for each, weight in self.weights.items() if each != vertex}
        matrices = {pair: matrix for pair, matrix in self.matrices.items() if vertex not in pair}
        first = self._matrix(neighbours[0], vertex) * self.weights[vertex]
        if len(neighbours) == 1:
            weights[neighbours[0]] = _exact(weights[neighbours[0]] * _exact(first.sum(axis=1)))
            return _Network(weights, matrices)
        one, other = neighbours
        return _Network(weights, matrices).joined(one, other, _exact(first @ self._matrix(vertex, other)))

    def _by_image(self, vertex: int) -> float:
        """Sum the totals for each image of a vertex."""
        neighbours = self._neighbours(vertex)
        total = 0.0
        for image in np.flatnonzero(self.weights[vertex]):
            weights = {each: weight for each, weight in self.weights.items() if each != vertex}
            kept = {}
            for each in neighbours:
                row = weights[each] * self._matrix(vertex, each)[image]
                kept[each] = np.flatnonzero(row)
                weights[each] = row[kept[each]]
            if any(len(places) == 0 for places in kept.values()):
                continue
            matrices = {}
            for (a, b), matrix in self.matrices.items():
                if vertex not in (a, b):
                    rows = matrix[kept[a]] if a in kept else matrix
                    matrices[a, b] = rows[:, kept[b]] if b in kept else rows
            total = _exact(total + self.weights[vertex][image] * _Network(weights, matrices).total())
        return total


def _exact(numbers: Any) -> Any:
    """Return numbers that are exact.

    Raises
    ------
    OverflowError
        If one of them is too large.
    """
    if np.max(numbers, initial=0.0) >= _EXACT:
        raise OverflowError("A number on the way exceeds what floats hold exactly.")
    return numbers
