"""All small connected patterns, undirected and directed, each once up to isomorphism."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from itertools import combinations, permutations

import numpy as np

from qengine.testing.generate.raw import RawStream

Edge = tuple[int, int]


class Semantics(StrEnum):
    """What must differ between the parts of a match, as written after ``MATCH``."""

    NODES = "DIFFERENT NODES"
    RELATIONSHIPS = "DIFFERENT RELATIONSHIPS"
    REPEATABLE = "REPEATABLE ELEMENTS"


@dataclass(frozen=True)
class Pattern:
    """A small connected pattern without loops.

    Attributes
    ----------
    size
        The number of vertices, which are numbered from 0.
    edges
        Pairs of vertices; of an undirected pattern the smaller first.
    labels
        A label number for each vertex (label 2 is ``:L2``), or empty.
    types
        A number for each edge (0 is the type ``E``, 1 ``F``), or empty: all have type ``E``.
    """

    name: str
    size: int
    edges: tuple[Edge, ...]
    directed: bool = False
    labels: tuple[int, ...] = ()
    types: tuple[int, ...] = ()

    @property
    def shape(self) -> str:
        """The edges in short, as ``01 02 12``; directed ones as ``0>1``; ``9a`` leads from 9 to 10."""
        return " ".join(f"{a:x}{'>' if self.directed else ''}{b:x}" for a, b in self.edges)

    @property
    def key(self) -> str:
        """The shape, with labels or types where the pattern has them: ``01 02 12: 3 0 1``."""
        drawn = " ".join(map(str, self.labels or self.types))
        return f"{self.shape}: {drawn}" if drawn else self.shape

    @property
    def canonical(self) -> tuple[int, int]:
        """What all patterns have in common that are the same but for labels, types, and the order of the vertices."""
        return self.size, _canonical(self.size, self.edges, directed=self.directed)

    def degrees(self) -> list[int]:
        """Return the number of edges at each vertex."""
        return [sum(vertex in edge for edge in self.edges) for vertex in range(self.size)]

    def vertices_apart(self) -> list[int]:
        """Return the first vertex of each set of those that symmetries of the edges exchange."""
        edges = set(self.edges) if self.directed else {*self.edges, *((b, a) for a, b in self.edges)}
        symmetries = [
            image for image in permutations(range(self.size)) if all((image[a], image[b]) in edges for a, b in edges)
        ]
        return sorted({min(image[vertex] for image in symmetries) for vertex in range(self.size)})

    def undirected(self) -> Pattern:
        """Return the pattern without directions, labels and types, from the atlas."""
        pairs = {(min(edge), max(edge)) for edge in self.edges}
        plain = Pattern(self.name, self.size, tuple(pairs))
        return next(each for each in connected(self.size) if each.canonical == plain.canonical)

    def with_labels(self, count: int) -> Pattern:
        """Return the pattern with a label below ``count`` for each vertex, drawn by a seed made of its edges."""
        stream = self._stream(count)
        return replace(self, labels=tuple(stream.below(count) for _ in range(self.size)))

    def with_types(self) -> Pattern:
        """Return the pattern with one of two types for each edge, drawn by a seed made of its edges."""
        stream = self._stream(0)
        return replace(self, types=tuple(stream.below(2) for _ in self.edges))

    def _stream(self, salt: int) -> RawStream:
        return RawStream(int("".join(f"{a}{b}" for a, b in self.edges)) * 100 + salt)

    def match(self, semantics: Semantics) -> str:
        """Return the ``MATCH`` clause: labelled nodes first, then an edge a path."""
        mode = "" if semantics is Semantics.RELATIONSHIPS else f"{semantics} "
        nodes = [f"(v{vertex}:L{label})" for vertex, label in enumerate(self.labels)]
        head = ">" if self.directed else ""
        types = self.types or (0,) * len(self.edges)
        paths = [f"(v{a})-[:{'EF'[kind]}]-{head}(v{b})" for (a, b), kind in zip(self.edges, types, strict=True)]
        return f"MATCH {mode}{', '.join(nodes + paths)}"


NAMES = {
    "edge": "01",
    "wedge": "01 02",
    "triangle": "01 02 12",
    "P4": "01 12 23",
    "claw": "01 02 03",
    "C4": "01 12 23 03",
    "paw": "01 02 12 03",
    "diamond": "01 02 12 13 23",
    "K4": "01 02 03 12 13 23",
    "P5": "01 12 23 34",
    "fork": "01 02 03 34",
    "K1.4": "01 02 03 04",
    "C5": "01 12 23 34 04",
    "bull": "01 02 12 13 24",
    "cricket": "01 02 12 03 04",
    "banner": "01 12 23 03 04",
    "tadpole": "01 02 12 03 34",
    "butterfly": "01 02 12 03 04 34",
    "house": "01 12 23 03 04 14",
    "K2.3": "02 03 04 12 13 14",
    "dart": "01 02 12 13 23 14",
    "kite": "01 02 12 13 23 04",
    "gem": "01 02 03 04 12 23 34",
    "book": "01 02 03 04 12 13 14",
    "K4-tail": "01 02 03 12 13 23 04",
    "K2.3+e": "02 03 04 12 13 14 23",
    "wheel": "01 02 03 04 12 23 34 14",
    "K5-P3": "01 02 03 12 13 23 04 14",
    "K5-e": "01 02 03 04 12 13 14 23 24",
    "K5": "01 02 03 04 12 13 14 23 24 34",
}
"""The names in use of patterns of up to 5 vertices; those of more are called by vertices, edges, and a number."""


@cache
def connected(size: int) -> tuple[Pattern, ...]:
    """Return all connected undirected patterns of so many vertices: 2, 6, 21, 112 of 3, 4, 5, 6."""
    return _named(size, directed=False)


@cache
def weakly_connected(size: int) -> tuple[Pattern, ...]:
    """Return all weakly connected directed patterns, antiparallel edges allowed: 2, 13, 199 of 2, 3, 4 vertices."""
    return _named(size, directed=True)


def _named(size: int, *, directed: bool) -> tuple[Pattern, ...]:
    known = {} if directed else {_read(text, name).canonical: name for name, text in NAMES.items()}
    patterns: list[Pattern] = []
    numbers: dict[int, int] = {}
    for edges in sorted(_grown(size, directed), key=lambda edges: (len(edges), edges)):
        number = numbers[len(edges)] = numbers.get(len(edges), 0) + 1
        pattern = Pattern(f"{size}{'d' if directed else 'v'}{len(edges)}e{number}", size, edges, directed)
        patterns.append(replace(pattern, name=known.get(pattern.canonical, pattern.name)))
    return tuple(patterns)


@cache
def _grown(size: int, directed: bool) -> frozenset[tuple[Edge, ...]]:
    """Return the canonical edges of all patterns: each is a smaller one with a vertex more, linked in any way.

    Every connected graph has a vertex whose removal leaves it connected.
    """
    if size == 1:
        return frozenset({()})
    last = size - 1
    links = [(vertex, last) for vertex in range(last)]
    links += [(last, vertex) for vertex in range(last)] if directed else []
    found = {}
    for smaller in _grown(last, directed):
        for count in range(1, len(links) + 1):
            for added in combinations(links, count):
                key = _canonical(size, (*smaller, *added), directed=directed)
                found[key] = _edges(size, key, directed)
    return frozenset(found.values())


def _slots(size: int, directed: bool) -> list[Edge]:
    return list(permutations(range(size), 2)) if directed else list(combinations(range(size), 2))


@cache
def _slots_permuted(size: int, directed: bool) -> tuple[dict[Edge, int], np.ndarray]:
    """Return the number of each possible edge, and the bit of its image for each permutation of the vertices."""
    slots = {edge: number for number, edge in enumerate(_slots(size, directed))}
    bits = [
        [
            1 << slots[(image[a], image[b]) if directed or image[a] < image[b] else (image[b], image[a])]
            for a, b in slots
        ]
        for image in permutations(range(size))
    ]
    return slots, np.array(bits, np.int64)


def _canonical(size: int, edges: Iterable[Edge], *, directed: bool) -> int:
    """Return a number that two patterns share if and only if they are isomorphic: the least set of edges' bits."""
    slots, bits = _slots_permuted(size, directed)
    columns = [slots[edge if directed or edge[0] < edge[1] else edge[::-1]] for edge in edges]
    return int(bits[:, columns].sum(axis=1).min())


def _edges(size: int, key: int, directed: bool) -> tuple[Edge, ...]:
    return tuple(edge for number, edge in enumerate(_slots(size, directed)) if key >> number & 1)


def _read(text: str, name: str) -> Pattern:
    edges = tuple((int(pair[0]), int(pair[1])) for pair in text.split())
    return Pattern(name, 1 + max(max(edge) for edge in edges), edges)
