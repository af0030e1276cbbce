"""Match modes as constraints: which vertices and relationships of one match must differ.

Two pattern relationships can be the same data relationship only if they share a type and their ends can coincide, which
nodes can't that no label set of the graph allows to be one.
Where a pair of vertices has at most one relationship that matches, this is a statement about vertices alone
(a disequality, known at plan time); else the relationships themselves must be bound and compared.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import combinations, product

from qengine._frozen import record
from qengine.catalog.view import CatalogView
from qengine.optimizer.labels import satisfying_sets
from qengine.optimizer.pattern_edges import PatternEdge, given_name
from qengine.plan.pattern import MatchMode, PathMode, PatternPath, QueryGraph

Coincidence = tuple[tuple[str, str], tuple[str, str]]  # (vertex = vertex) and (vertex = vertex)


@record
class Differences:
    """``vertices``: pairs that must differ. ``pairs``: coincidences that must not hold. ``edges``: pairs of
    relationships to compare. ``contradiction``: two pattern relationships are always the same one.
    """

    vertices: set[frozenset[str]] = field(default_factory=set)
    pairs: list[Coincidence] = field(default_factory=list)
    edges: set[frozenset[str]] = field(default_factory=set)
    contradiction: bool = False


def differences(graph: QueryGraph, edges: Sequence[PatternEdge], catalog: CatalogView) -> Differences:
    """Return what must differ among the fixed-length relationships ``edges`` of a query graph and its nodes.

    Nodes that their labels tell apart are left out.
    """
    found = Differences()
    unlike = _unlike(graph, catalog)
    for path in graph.paths:
        if path.mode in (PathMode.ACYCLIC, PathMode.SIMPLE):
            _separate_nodes(path, edges, found)
    if graph.mode is MatchMode.REPEATABLE_ELEMENTS:
        found.vertices -= unlike
        return found
    nodes_differ = graph.mode is MatchMode.DIFFERENT_NODES
    if nodes_differ:
        pairs = map(frozenset, combinations((node.name for node in graph.nodes), 2))
        found.vertices.update(pairs if not graph.parts else (pair for pair in pairs if graph.together(*pair)))
    joined = _partners(joined_by(edges) | unlike)
    for first, second in _compared(edges, nodes_differ):
        if first.shares_type(second) and graph.together(first.name, second.name):
            _separate(first, second, joined, graph.mode, found)
    apart = _partners(found.vertices if found.pairs else ())
    found.pairs = [same for same in found.pairs if not any(b in apart.get(a, ()) for a, b in same)]
    found.vertices -= unlike
    return found


def _unlike(graph: QueryGraph, catalog: CatalogView) -> frozenset[frozenset[str]]:
    """Return the pairs of nodes that no vertex can be both of, by their labels."""
    alike: dict[int, list[str]] = {}
    for node in graph.nodes:
        if node.labels is not None:
            alike.setdefault(satisfying_sets(catalog, node.labels), []).append(node.name)
    apart = (pair for pair in combinations(alike, 2) if not pair[0] & pair[1])
    return frozenset(frozenset(names) for one, other in apart for names in product(alike[one], alike[other]))


def _compared(edges: Sequence[PatternEdge], nodes_differ: bool) -> Iterator[tuple[PatternEdge, PatternEdge]]:
    """Yield the pairs of relationships that may be one: where nodes differ, those between the same two."""
    alike: dict[frozenset[str], list[PatternEdge]] = {}
    for edge in edges:
        alike.setdefault(frozenset(edge.ends) if nodes_differ else frozenset(), []).append(edge)
    for group in alike.values():
        yield from combinations(group, 2)


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


def _separate(
    first: PatternEdge,
    second: PatternEdge,
    joined: Mapping[str, Collection[str]],
    mode: MatchMode,
    found: Differences,
) -> None:
    for same in _coincidences(first, second):
        equalities = [(a, b) for a, b in same if a != b]
        if mode is MatchMode.DIFFERENT_NODES and equalities:
            continue
        if _impossible(equalities, joined):
            continue
        if first.multiple or second.multiple:
            found.edges.add(frozenset((first.name, second.name)))
        elif not equalities:
            found.contradiction = True
        elif len(equalities) == 1:
            found.vertices.add(frozenset(equalities[0]))
        else:
            found.pairs.append(same)


def _coincidences(first: PatternEdge, second: PatternEdge) -> list[Coincidence]:
    (a, b), (c, d) = first.ends, second.ends
    found: list[Coincidence] = [((a, c), (b, d))]
    if first.swappable or second.swappable:
        found.append(((a, d), (b, c)))
    return found


def _impossible(equalities: Sequence[tuple[str, str]], joined: Mapping[str, Collection[str]]) -> bool:
    """Tell whether one or two equalities make two vertices one that can't be."""
    for a, b in equalities:
        if b in joined.get(a, ()):
            return True
    if len(equalities) < 2:
        return False
    (a, b), (c, d) = equalities
    if a not in (c, d) and b not in (c, d):
        return False
    return any(two in joined.get(one, ()) for one, two in combinations((a, b, c, d), 2))  # a = b and b = c
