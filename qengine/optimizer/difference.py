"""Match modes as constraints: which vertices and relationships of one match must differ.

Two pattern relationships can be the same data relationship only if they share a type and their ends can coincide, which
nodes can't that no label set of the graph allows to be one.
Where a pair of vertices has at most one relationship that matches, this is a statement about vertices alone
(a disequality, known at plan time); else the relationships themselves must be bound and compared.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import field
from functools import reduce
from itertools import combinations, product
from operator import or_

from qengine._frozen import record
from qengine.catalog.view import CatalogView
from qengine.optimizer.edge_pairs import EdgePairs
from qengine.optimizer.labels import satisfying_sets
from qengine.optimizer.order_problem import each_of, mask_of
from qengine.optimizer.pattern_edges import PatternEdge, given_name
from qengine.plan.expr import Comparison, Property, Variable
from qengine.plan.pattern import MatchMode, PathMode, PatternPath, QueryGraph

Coincidence = tuple[tuple[str, str], tuple[str, str]]  # (vertex = vertex) and (vertex = vertex)


@record
class Differences:
    """``vertices``: pairs that must differ. ``pairs``: coincidences that must not hold. ``edges``: pairs of
    relationships to compare. ``contradiction``: two pattern relationships are always the same one.
    """

    vertices: set[frozenset[str]] = field(default_factory=set)
    pairs: list[Coincidence] = field(default_factory=list)
    edges: EdgePairs = field(default_factory=EdgePairs)
    contradiction: bool = False

    def content(self) -> object:
        """Return what two are the same by."""
        return frozenset(self.vertices), tuple(self.pairs), self.edges.content(), self.contradiction


def differences(graph: QueryGraph, edges: Sequence[PatternEdge], catalog: CatalogView) -> Differences:
    """Return what must differ among the fixed-length relationships ``edges`` of a query graph and its nodes.

    Nodes that their labels, or an order of their values, tell apart are left out.
    """
    found = Differences()
    nodes_differ = graph.mode is MatchMode.DIFFERENT_NODES
    strict = [path for path in graph.paths if path.mode in (PathMode.ACYCLIC, PathMode.SIMPLE)]
    names = [name for edge in edges for name in edge.type_names()]
    if len(set(names)) == len(names) and not (nodes_differ or strict):  # none may be another
        return found
    unlike = _unlike(graph, catalog)
    for path in strict:
        _separate_nodes(path, edges, found)
    if graph.mode is MatchMode.REPEATABLE_ELEMENTS:
        found.vertices -= unlike
        return found
    if nodes_differ:
        pairs = map(frozenset, combinations((node.name for node in graph.nodes), 2))
        found.vertices.update(pairs if not graph.parts else (pair for pair in pairs if graph.together(*pair)))
    if nodes_differ:
        ends = {name for edge in edges for name in edge.ends}
        joined = {name: ends - {name} for name in ends}
    else:
        joined = _partners(joined_by(edges) | unlike)
    for group in _alike(graph, edges):
        _separate_ends(group, joined, found)
    if not nodes_differ or graph.parts or any(edge.multiple for edge in edges):  # else equal ends are all that is left
        _separate_pairs(graph, edges, joined, found)
    found.vertices -= unlike
    return found


def _unlike(graph: QueryGraph, catalog: CatalogView) -> frozenset[frozenset[str]]:
    """Return the pairs of nodes that no vertex can be both of, by their labels or by values of which one is less."""
    alike: dict[int, list[str]] = {}
    for node in graph.nodes:
        if node.labels is not None:
            alike.setdefault(satisfying_sets(catalog, node.labels), []).append(node.name)
    apart = (pair for pair in combinations(alike, 2) if not pair[0] & pair[1])
    by_labels = (frozenset(names) for one, other in apart for names in product(alike[one], alike[other]))
    return frozenset((*by_labels, *_ordered(graph)))


def _ordered(graph: QueryGraph) -> Iterator[frozenset[str]]:
    """Yield the pairs of nodes of which one has less of a property than the other, so that they differ."""
    greater: dict[str, dict[str, set[str]]] = {}
    for predicate in graph.predicates:
        match predicate:
            case (
                Comparison(ops=("<",), args=(Property() as one, Property() as other))
                | Comparison(ops=(">",), args=(Property() as other, Property() as one))
            ) if one.key == other.key:
                if isinstance(one.subject, Variable) and isinstance(other.subject, Variable):
                    greater.setdefault(one.key, {}).setdefault(one.subject.name, set()).add(other.subject.name)
    nodes = {node.name for node in graph.nodes}
    for each in greater.values():
        for name in each:
            above, news = set[str](), {name}
            while news:
                news = set[str]().union(*(each.get(one, ()) for one in news)) - above
                above |= news
            yield from (frozenset((name, other)) for other in above - {name} if {name, other} <= nodes)


def _separate_nodes(path: PatternPath, edges: Sequence[PatternEdge], found: Differences) -> None:
    """Say which nodes of a path differ by its mode, where all its relationships are of fixed length."""
    if not set(path.elements[1::2]) <= {given_name(edge.name) for edge in edges}:
        return
    names = path.elements[0::2]
    for i, one in enumerate(names):
        for j in range(i + 1, len(names)):
            if path.mode is PathMode.SIMPLE and (i, j) == (0, len(names) - 1):
                continue
            if one == names[j]:
                found.contradiction = True
            else:
                found.vertices.add(frozenset((one, names[j])))


def joined_by(edges: Sequence[PatternEdge]) -> frozenset[frozenset[str]]:
    """Return the pairs of vertices that can't be equal: a relationship joins them whose types have no self-loop."""
    return frozenset(frozenset(edge.ends) for edge in edges if not edge.loops)


def _partners(pairs: Iterable[frozenset[str]]) -> dict[str, set[str]]:
    """Return for each vertex of some pairs those that it makes a pair with."""
    found: dict[str, set[str]] = {}
    for pair in pairs:
        if len(pair) == 2:
            one, other = pair
            found.setdefault(one, set()).add(other)
            found.setdefault(other, set()).add(one)
    return found


def _alike(graph: QueryGraph, edges: Sequence[PatternEdge]) -> Iterable[list[PatternEdge]]:
    """Return the relationships of one type and part that vertices alone tell apart."""
    found: dict[tuple[str, int], list[PatternEdge]] = {}
    for edge in edges:
        if edge.multiple or not edge.types:
            continue
        (name,) = edge.type_names()
        for part in (k for k, names in enumerate(graph.parts) if edge.name in names) if graph.parts else (0,):
            found.setdefault((name, part), []).append(edge)
    return found.values()


def _separate_ends(edges: Sequence[PatternEdge], joined: Mapping[str, Set[str]], found: Differences) -> None:
    """Say that relationships of one type with an end in common differ at the other.

    At a vertex stand together those that may leave it (True), and those that may come into it: both, where one is
    traversed either way.
    """
    others: dict[tuple[str, bool], set[str]] = {}
    mixed = not all(edge.swappable for edge in edges)  # else all are in both places
    for edge in edges:
        start, end = edge.ends
        ends = {(start, True): end, (end, edge.swappable): start}
        if mixed and edge.swappable:
            ends |= {(start, False): end, (end, False): start}
        for at, other in ends.items():
            beside = others.setdefault(at, set())
            found.contradiction |= other in beside
            beside.add(other)
    for beside in others.values():
        for one in beside:
            found.vertices.update(
                frozenset((one, other)) for other in beside.difference(joined.get(one, ())) if other != one
            )


def _separate_pairs(
    graph: QueryGraph, edges: Sequence[PatternEdge], joined: Mapping[str, Set[str]], found: Differences
) -> None:
    """Separate relationships of which two ends must coincide to make them one, and those to be compared themselves.

    Sets of relationships are bit masks: in a dense pattern few of the many pairs can coincide.
    """
    apart = dict(joined)
    for name, others in _partners(found.vertices).items():
        apart[name] = others.union(joined.get(name, ()))
    multiple = mask_of(place for place, edge in enumerate(edges) if edge.multiple)
    comparable = _Coinciding(edges, joined) if multiple else None
    separable = _Coinciding(edges, apart)
    rivals = _rivals(graph, edges)
    beside = [0] * len(edges)  # those to be compared with each
    for place, first in enumerate(edges):
        rest = rivals[place] & ~(1 << place)
        later = -1 << place + 1
        if comparable is not None:
            alike = rest & (-1 if first.multiple else multiple) & comparable.with_(first)
            touching = alike & comparable.touching(first) if joined else 0
            beside[place] |= alike ^ touching
            for k in each_of(touching & later):
                if not all(_impossible(same, joined) for same in _coincidences(first, edges[k])):
                    beside[place] |= 1 << k
                    beside[k] |= 1 << place
        if not first.multiple:
            coinciding = rest & later & ~multiple & separable.with_(first)
            _add_pairs(first, coinciding, edges, separable, apart, found.pairs)
    if any(beside):
        found.edges = EdgePairs([edge.name for edge in edges], beside)


def _add_pairs(
    first: PatternEdge,
    seconds: int,
    edges: Sequence[PatternEdge],
    separable: _Coinciding,
    apart: Mapping[str, Set[str]],
    pairs: list[Coincidence],
) -> None:
    """Add how two ends of one relationship and of others, a set, must not coincide."""
    a, b = first.ends
    straight, swapped, touching = separable.straight(first), separable.swapped(first), separable.touching(first)
    for k in each_of(seconds):
        c, d = edges[k].ends
        for ways, same in ((straight, ((a, c), (b, d))), (swapped, ((a, d), (b, c)))):
            if not ways >> k & 1:
                continue
            (one, other), (third, fourth) = same
            if touching >> k & 1 and (one == other or third == fourth or _impossible(same, apart)):
                continue
            pairs.append(same)


def _rivals(graph: QueryGraph, edges: Sequence[PatternEdge]) -> list[int]:
    """Return for each relationship those that share a type with it and must not be the same."""
    of_type: dict[str, int] = {}
    for place, edge in enumerate(edges):
        for name in edge.type_names():
            of_type[name] = of_type.get(name, 0) | 1 << place
    found = [reduce(or_, map(of_type.__getitem__, edge.type_names()), 0) for edge in edges]
    if not graph.parts:
        return found
    together = [0] * len(edges)
    for part in graph.parts:
        within = [place for place, edge in enumerate(edges) if edge.name in part]
        mask = mask_of(within)
        for place in within:
            together[place] |= mask
    return [some & others for some, others in zip(found, together, strict=True)]


class _Coinciding:
    """Which relationships of a pattern may have the same ends as another, by the vertices that can't be equal."""

    def __init__(self, edges: Sequence[PatternEdge], apart: Mapping[str, Set[str]]) -> None:
        starts: dict[str, int] = {}
        ends: dict[str, int] = {}
        for place, edge in enumerate(edges):
            start, end = edge.ends
            starts[start] = starts.get(start, 0) | 1 << place
            ends[end] = ends.get(end, 0) | 1 << place
        names = starts.keys() | ends.keys()
        every = (1 << len(edges)) - 1
        self._touching = {name: starts.get(name, 0) | ends.get(name, 0) for name in names}
        self._starting = {name: every & ~_at(starts, apart.get(name, ())) for name in names}
        self._ending = {name: every & ~_at(ends, apart.get(name, ())) for name in names}
        self._swappable = mask_of(place for place, edge in enumerate(edges) if edge.swappable)

    def with_(self, edge: PatternEdge) -> int:
        """Return the set of those whose ends may be this one's, the two ends each for itself."""
        return self.straight(edge) | self.swapped(edge)

    def straight(self, edge: PatternEdge) -> int:
        """Return the set of those whose start and end may be its start and its end."""
        start, end = edge.ends
        return self._starting[start] & self._ending[end]

    def swapped(self, edge: PatternEdge) -> int:
        """Return the set of those whose end and start may be its start and its end, where they may be turned round."""
        start, end = edge.ends
        return self._ending[start] & self._starting[end] & (-1 if edge.swappable else self._swappable)

    def touching(self, edge: PatternEdge) -> int:
        """Return the set of those that share a vertex with one."""
        start, end = edge.ends
        return self._touching[start] | self._touching[end]


def _at(places: Mapping[str, int], names: Collection[str]) -> int:
    found = 0
    for name in names:
        found |= places.get(name, 0)
    return found


def _coincidences(first: PatternEdge, second: PatternEdge) -> list[Coincidence]:
    (a, b), (c, d) = first.ends, second.ends
    found: list[Coincidence] = [((a, c), (b, d))]
    if first.swappable or second.swappable:
        found.append(((a, d), (b, c)))
    return found


def _impossible(same: Coincidence, apart: Mapping[str, Set[str]]) -> bool:
    """Tell whether a coincidence makes two vertices one that can't be."""
    (a, b), (c, d) = same
    if b in apart.get(a, ()) or d in apart.get(c, ()):
        return True
    if a not in (c, d) and b not in (c, d):
        return False
    return any(two in apart.get(one, ()) for one, two in combinations((a, b, c, d), 2))  # a = b and b = c
