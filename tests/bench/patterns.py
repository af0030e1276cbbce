"""Pattern graphs to count, their automorphisms, and the order constraints that count each subgraph once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, permutations


@dataclass(frozen=True)
class Pattern:
    """A small connected pattern.

    Attributes
    ----------
    name
        As in the tables.
    edges
        Pairs of vertex numbers from 0.
    labels
        A label for each vertex, or empty. A labelled pattern is counted in embeddings (vertices pairwise different),
        an unlabelled one in subgraphs, each once.
    oriented
        Whether the pattern is directed, edge by edge from the first to the second vertex, and to be found in the
        acyclic orientation of the graph, from low to high degree. Embeddings are then counted.
    crossing
        Whether vertices may coincide where all edges differ, which must then be ruled out.
    """

    name: str
    edges: tuple[tuple[int, int], ...]
    labels: tuple[int, ...] = ()
    oriented: bool = False
    crossing: bool = False

    @property
    def size(self) -> int:
        return 1 + max(max(edge) for edge in self.edges)

    @property
    def counts_embeddings(self) -> bool:
        return self.oriented or bool(self.labels)

    @cached_property
    def automorphisms(self) -> tuple[tuple[int, ...], ...]:
        """All symmetries of an unlabelled, undirected pattern, as the image of each vertex."""
        edges = {frozenset(edge) for edge in self.edges}
        return tuple(
            image
            for image in permutations(range(self.size))
            if all(frozenset((image[first], image[second])) in edges for first, second in self.edges)
        )

    @cached_property
    def order(self) -> frozenset[tuple[int, int]]:
        """Pairs (i, j) that need id(i) < id(j), so that of each orbit of embeddings exactly one is left.

        Grochow and Kellis, "Network Motif Discovery Using Subgraph Enumeration and Symmetry-Breaking" (RECOMB 2007):
        fix the vertices one after the other; each must be the least of its orbit under what is still free.
        """
        if self.counts_embeddings:
            return frozenset()
        group = list(self.automorphisms)
        pairs: set[tuple[int, int]] = set()
        for vertex in range(self.size):
            pairs |= {(vertex, image[vertex]) for image in group if image[vertex] != vertex}
            group = [image for image in group if image[vertex] == vertex]
        return frozenset(pairs)

    def may_coincide(self) -> Iterator[tuple[int, int]]:
        """Pairs that nothing else keeps apart: not adjacent, not ordered, of one label."""
        if self.oriented:
            return
        adjacent = {frozenset(edge) for edge in self.edges} | {frozenset(pair) for pair in self.order}
        for first, second in combinations(range(self.size), 2):
            same_label = not self.labels or self.labels[first] == self.labels[second]
            if same_label and frozenset((first, second)) not in adjacent:
                yield first, second


def clique(size: int) -> Pattern:
    """The complete pattern."""
    return Pattern("triangle" if size == 3 else f"{size}-clique", tuple(combinations(range(size), 2)))


def path(length: int) -> Pattern:
    """The directed path of ``length`` edges, found in the acyclic orientation."""
    return Pattern(f"{length}-path", tuple((i, i + 1) for i in range(length)), oriented=True)


TRIANGLE = clique(3)
FOUR_CYCLE = Pattern("4-cycle", ((0, 1), (1, 2), (2, 3), (0, 3)))
DIAMOND = Pattern("diamond", ((0, 1), (0, 2), (1, 2), (1, 3), (2, 3)))
HOUSE = Pattern("house", ((0, 1), (1, 2), (2, 3), (0, 3), (0, 4), (1, 4)))
CYCLIC = (TRIANGLE, FOUR_CYCLE, DIAMOND, clique(4), clique(5), HOUSE)
TAILED_TRIANGLE = Pattern("tailed-triangle", ((0, 1), (0, 2), (1, 2), (0, 3)))
STAR = Pattern("3-star", ((0, 1), (0, 2), (0, 3)))
SIX_CYCLE = Pattern("6-cycle", ((0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5)), crossing=True)
TREE = Pattern("tree", ((0, 1), (0, 2), (0, 3), (3, 4)), crossing=True)
PATHS = (path(2), path(3))
SUMMABLE = (*PATHS, path(4), STAR, TREE, TAILED_TRIANGLE, DIAMOND, FOUR_CYCLE, HOUSE, SIX_CYCLE)
