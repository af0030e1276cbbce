"""The graph as plain Python lists: which relationships touch a vertex, and where each leads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from typing import Protocol

import numpy as np

from qengine._frozen import frozen
from qengine.exec.scalar.environment import Environment, Row
from qengine.exec.view import GraphReader
from qengine.plan.expr import Expr
from qengine.plan.pattern import Direction, LabelExpr, PatternNode


@frozen
class Edge:
    """One relationship: global ``id``, index of its type, ends; ``undirected`` as its type says."""

    id: int
    type: int
    start: int
    end: int
    undirected: bool

    def leads(self, vertex: int, direction: Direction) -> int | None:
        """Return where it leads from ``vertex`` when walked in ``direction``, None if it can't be."""
        if self.undirected or direction is Direction.BOTH:
            return self.end if vertex == self.start else self.start if vertex == self.end else None
        if direction is Direction.OUT:
            return self.end if vertex == self.start else None
        return self.start if vertex == self.end else None


@frozen
class Finder:
    """Vertices that a node of a pattern may be bound to, each once, in a row: all that satisfy it, perhaps others.

    ``share``: about which share of all vertices these are. ``settles``: the one of the node's own predicates that all
    of them satisfy, so that it needn't be asked again.
    """

    share: float
    find: Callable[[Row], Iterable[int]]
    settles: Expr | None = None


class WalkedGraph(Protocol):
    """What a pattern is matched in, vertex by vertex."""

    @property
    def vertex_count(self) -> int:
        """Number of vertices."""

    @property
    def edge_count(self) -> int:
        """Number of edges."""

    def types(self, expr: LabelExpr | None) -> frozenset[int]:
        """Return the indices of the types that satisfy a label expression."""

    def edge(self, id: int) -> Edge:
        """Return an edge by its id."""

    def steps(self, vertex: int, direction: Direction, types: frozenset[int]) -> Iterator[tuple[Edge, int]]:
        """Give each edge of ``types`` that can be walked from ``vertex``, and where it leads."""

    def between(
        self, vertex: int, other: int, direction: Direction, types: frozenset[int]
    ) -> Iterator[tuple[Edge, int]]:
        """Give those ``steps`` that lead to ``other``, and perhaps more."""

    def has_vertex(self, vertex: int) -> bool:
        """Tell whether a vertex that was there is still there."""

    def finder(self, node: PatternNode, predicates: Sequence[Expr], unknown: Set[str], env: Environment) -> Finder:
        """Return what finds a node of a pattern.

        Parameters
        ----------
        node
            The node, with predicates of its own.
        predicates
            Those over several variables.
        unknown
            Variables of the pattern that rows lack when the node is looked for.
        env
            Evaluates what the node's properties are compared with.
        """


class PlainGraph:
    """All edges of a store, and for each vertex those that touch it, each once (a self-loop too)."""

    def __init__(self, store: GraphReader) -> None:
        self.vertex_count = store.vertex_count
        self.edges: dict[int, Edge] = {}
        self.incident: list[list[Edge]] = [[] for _ in range(store.vertex_count)]
        self._type_names = [kind.name for kind in store.types]
        for index, kind in enumerate(store.types):
            ids = np.arange(kind.base, kind.base + kind.count, dtype=np.int64)
            starts, ends = store.endpoints(ids)
            for id, start, end in zip(ids.tolist(), starts.tolist(), ends.tolist(), strict=True):
                edge = Edge(id, index, start, end, kind.undirected)
                self.edges[id] = edge
                self.incident[start].append(edge)
                if end != start:
                    self.incident[end].append(edge)

    @property
    def edge_count(self) -> int:
        """Number of edges."""
        return len(self.edges)

    def edge(self, id: int) -> Edge:
        """Return an edge by its id."""
        return self.edges[id]

    def types(self, expr: LabelExpr | None) -> frozenset[int]:
        """Return the indices of the types that satisfy a label expression."""
        names = enumerate(self._type_names)
        return frozenset(index for index, name in names if expr is None or expr.admits(frozenset((name,))))

    def steps(self, vertex: int, direction: Direction, types: frozenset[int]) -> Iterator[tuple[Edge, int]]:
        """Give each edge of ``types`` that can be walked from ``vertex``, and where it leads."""
        for edge in self.incident[vertex]:
            if edge.type in types:
                other = edge.leads(vertex, direction)
                if other is not None:
                    yield edge, other

    def between(
        self, vertex: int, other: int, direction: Direction, types: frozenset[int]
    ) -> Iterator[tuple[Edge, int]]:
        """Give all ``steps``: nothing is known of where they lead."""
        return self.steps(vertex, direction, types)

    def has_vertex(self, vertex: int) -> bool:
        """Return True: nothing is deleted."""
        return True

    def finder(self, node: PatternNode, predicates: Sequence[Expr], unknown: Set[str], env: Environment) -> Finder:
        """Return what gives all vertices."""
        return Finder(1.0, lambda row: range(self.vertex_count))
