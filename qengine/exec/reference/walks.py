"""Walks along one relationship pattern: plain, of variable length, or the shortest ones between two vertices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from qengine._frozen import frozen, replace
from qengine.errors import Unsupported
from qengine.exec.reference.graph import Edge, WalkedGraph
from qengine.plan.pattern import Direction, PathSelector


@frozen
class Walk:
    """Edges in walking order, and the vertices reached after each."""

    edges: tuple[Edge, ...]
    vertices: tuple[int, ...]

    def then(self, edge: Edge, vertex: int) -> Walk:
        """Return the walk one hop longer."""
        return Walk((*self.edges, edge), (*self.vertices, vertex))

    def end(self, start: int) -> int:
        """Return its last vertex, if it began at ``start``."""
        return self.vertices[-1] if self.vertices else start


@frozen
class Hop:
    """What each hop of a pattern must be, and how many there are.

    ``admits`` says whether an edge satisfies the hop's predicates, ``passes`` whether a vertex may lie between the
    ends. ``trail``: no edge comes twice. ``maximum`` None: any number.
    """

    direction: Direction
    types: frozenset[int]
    admits: Callable[[Edge], bool]
    passes: Callable[[int], bool]
    minimum: int
    maximum: int | None
    trail: bool

    def reversed(self) -> Hop:
        """Return the same hops seen from the other end."""
        return replace(self, direction=self.direction.reversed())

    def from_vertex(self, graph: WalkedGraph, vertex: int) -> Iterator[tuple[Edge, int]]:
        """Give each edge that one hop from ``vertex`` may take, and where it leads."""
        for edge, other in graph.steps(vertex, self.direction, self.types):
            if self.admits(edge):
                yield edge, other


def walks(
    graph: WalkedGraph, start: int, hop: Hop, check: Callable[[], None], end: int | None = None
) -> Iterator[Walk]:
    """Give all walks from ``start`` of an allowed length; where ``end`` is known they have one hop, and end there.

    Raises
    ------
    Unsupported
        Where edges may repeat and the length has no bound: there could be infinitely many.
    """
    if not hop.trail and hop.maximum is None:
        raise Unsupported(
            "A pattern of unbounded length has infinitely many matches under REPEATABLE ELEMENTS.",
            code="UnboundedPattern",
            hint="Give an upper bound: *1..5.",
        )

    if end is not None:
        return (
            Walk((edge,), (vertex,))
            for edge, vertex in graph.between(start, end, hop.direction, hop.types)
            if vertex == end and hop.admits(edge)
        )

    def extend(walk: Walk) -> Iterator[Walk]:
        check()
        if len(walk.edges) >= hop.minimum:
            yield walk
        if (hop.maximum is None or len(walk.edges) < hop.maximum) and (not walk.edges or hop.passes(walk.vertices[-1])):
            for edge, vertex in hop.from_vertex(graph, walk.end(start)):
                if not (hop.trail and edge in walk.edges):
                    yield from extend(walk.then(edge, vertex))

    return extend(Walk((), ()))


def follow(graph: WalkedGraph, start: int, hop: Hop, edges: list[Edge]) -> Walk | None:
    """Return the walk from ``start`` along exactly ``edges``, None if it isn't allowed."""
    if len(edges) < hop.minimum or (hop.maximum is not None and len(edges) > hop.maximum):
        return None
    if hop.trail and len(set(edges)) < len(edges):
        return None
    walk = Walk((), ())
    for edge in edges:
        if walk.vertices and not hop.passes(walk.vertices[-1]):
            return None
        vertex = edge.leads(walk.end(start), hop.direction) if edge.type in hop.types and hop.admits(edge) else None
        if vertex is None:
            return None
        walk = walk.then(edge, vertex)
    return walk


def shortest(
    graph: WalkedGraph, start: int, end: int, hop: Hop, selector: PathSelector, check: Callable[[], None]
) -> list[Walk]:
    """Return the walks from ``start`` to ``end`` that a selector selects, of the allowed lengths.

    Lengths are tried one after the other. ``exact[k]`` holds the vertices from which ``end`` is k hops away (edges may
    repeat): a walk of length n stays in ``exact[n - i]`` after hop i, so that few walks are begun in vain. A walk of
    least length that edges don't repeat in has at most all edges; one that may repeat them, fewer than ``minimum`` and
    all vertices together (else a cycle could be cut out), and all vertices more for each further length.
    """
    bound = graph.edge_count if hop.trail else hop.minimum + selector.count * graph.vertex_count
    bound = bound if hop.maximum is None else min(bound, hop.maximum)
    back = hop.reversed()
    exact = [{end}]
    # One of the least length of all meets no vertex twice, but for its start as its end.
    simple = hop.minimum <= 1 and selector.count == 1
    found: list[Walk] = []
    left = selector.count
    for length in range(bound + 1):
        if length:
            check()
            passed = [vertex for vertex in exact[-1] if length == 1 or hop.passes(vertex)]
            exact.append({other for vertex in passed for _, other in back.from_vertex(graph, vertex)})
        if not exact[-1]:
            break
        if length >= hop.minimum and start in exact[-1]:
            these = _of_length(graph, start, length, hop, exact, check, simple=simple)
            more = list(these if selector.groups else islice(these, left))
            found += more
            left -= min(1, len(more)) if selector.groups else len(more)
            if not left:
                break
    return found


def _of_length(
    graph: WalkedGraph,
    start: int,
    length: int,
    hop: Hop,
    exact: list[set[int]],
    check: Callable[[], None],
    *,
    simple: bool,
) -> Iterator[Walk]:
    def extend(walk: Walk) -> Iterator[Walk]:
        check()
        left = length - len(walk.edges)
        if not left:
            yield walk
            return
        for edge, vertex in hop.from_vertex(graph, walk.end(start)):
            met = vertex in walk.vertices or (vertex == start and left > 1)
            if left > 1 and not hop.passes(vertex):
                continue
            if vertex in exact[left - 1] and not (simple and met) and not (hop.trail and edge in walk.edges):
                yield from extend(walk.then(edge, vertex))

    return extend(Walk((), ()))
