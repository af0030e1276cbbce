"""Walks along a quantified path: what is repeated is matched by itself, once more where it has ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from qengine._frozen import replace
from qengine.errors import Unsupported
from qengine.exec.reference.graph import WalkedGraph
from qengine.exec.reference.walks import Walk
from qengine.exec.scalar.values import NodeHandle, RelationshipHandle
from qengine.plan.expr import Expr
from qengine.plan.pattern import (
    Chain,
    MatchMode,
    PathMode,
    PathSelector,
    PatternPath,
    PatternRelationship,
    QueryGraph,
)

_MOST = 4  # repetitions that are tried where relationships may repeat

Embeddings = Callable[[dict[str, Any]], Iterator[dict[str, Any]]]


def repetitions(
    edge: PatternRelationship,
    graph: WalkedGraph,
    embeddings: Callable[[QueryGraph], Embeddings],
    *,
    forward: bool,
    trail: bool,
) -> Callable[[int], Iterator[Walk]]:
    """Return what gives all walks of an edge with a repetition from a vertex.

    Parameters
    ----------
    embeddings
        Returns what matches a query graph.
    forward
        The walk begins at the edge's start; else at its end, backwards.
    trail
        No relationship comes twice.

    Raises
    ------
    Unsupported
        Where relationships may repeat and there is no greatest number of repetitions.
    """
    repetition = edge.repetition
    assert repetition is not None and edge.hops is not None
    minimum, maximum = edge.hops
    if not trail and maximum is None:
        raise Unsupported("A pattern of unbounded length has infinitely many matches under REPEATABLE ELEMENTS.")
    nodes, relationships = repetition.nodes, repetition.relationships
    if not forward:
        nodes, relationships = nodes[::-1], relationships[::-1]
    begin = nodes[0]
    bound = tuple(replace(each, bound=each.name == begin) for each in repetition.graph.nodes)
    mode = repetition.graph.mode
    if mode is MatchMode.DIFFERENT_NODES:  # the whole walk's nodes are compared, of which the ends may be one
        mode = MatchMode.DIFFERENT_RELATIONSHIPS
    match = embeddings(replace(repetition.graph, nodes=bound, mode=mode))

    def extend(start: int, walk: Walk, count: int) -> Iterator[Walk]:
        if count >= minimum:
            yield walk
        if maximum is not None and count >= maximum:
            return
        for row in match({begin: NodeHandle(walk.end(start))}):
            longer = walk
            for relationship, node in zip(relationships, nodes[1:], strict=True):
                longer = longer.then(graph.edge(row[relationship].id), row[node].id)
            if not (trail and len({each.id for each in longer.edges}) < len(longer.edges)):
                yield from extend(start, longer, count + 1)

    return lambda start: extend(start, Walk((), ()), 0)


class ChainPath(NamedTuple):
    """A path along a chain: its relationships, and behind how many of them each inner node of the chain comes."""

    edges: list[RelationshipHandle]
    bounds: list[int]


def chain_paths(
    edge: PatternRelationship,
    chain: Chain,
    mode: PathMode | None,
    embeddings: Callable[[QueryGraph], Embeddings],
    predicate: Callable[[Expr], Callable[[dict[str, Any]], bool]],
) -> Callable[[int, int], list[ChainPath]]:
    """Return what gives all paths along a chain between two vertices that satisfy its condition.

    Where relationships may repeat, few are tried. ``predicate``: compiles a condition on a row.
    """
    first, last = chain.elements[0], chain.elements[-1]
    target = first if edge.start == edge.end else last
    elements = (*chain.elements[:-1], target)
    repeats = chain.graph.mode is MatchMode.REPEATABLE_ELEMENTS and mode is None
    graph = replace(
        chain.graph,
        nodes=tuple(
            replace(each, bound=each.name in (first, last))
            for each in chain.graph.nodes
            if each.name != last or last == target
        ),
        relationships=tuple(_bounded(each, {last: target}, repeats) for each in chain.graph.relationships),
        paths=(PatternPath(None, elements, None, mode),) if mode is not None else (),
    )
    match = embeddings(graph)
    chosen = chain.condition
    holds = None if chosen is None else predicate(chosen.expr)

    def find(start: int, end: int) -> list[ChainPath]:
        found = []
        for row in match({first: NodeHandle(start), target: NodeHandle(end)}):
            path = ChainPath([], [])
            for name in chain.elements[1::2]:
                taken = row[name]
                path.edges.extend(taken if isinstance(taken, list) else [taken])
                path.bounds.append(len(path.edges))
            path.bounds.pop()
            if chosen is not None and holds is not None:
                ends = {chosen.first: NodeHandle(start), chosen.last: NodeHandle(end)}
                if not holds({**ends, chosen.relationships: path.edges, chosen.bounds: path.bounds}):
                    continue
            found.append(path)
        return found

    return find


def _bounded(edge: PatternRelationship, names: dict[str, str], repeats: bool) -> PatternRelationship:
    hops = edge.hops
    if repeats and hops is not None and hops[1] is None:
        hops = hops[0], hops[0] + _MOST
    start, end = names.get(edge.start, edge.start), names.get(edge.end, edge.end)
    return replace(edge, hops=hops, start=start, end=end)


def selected_paths(every: list[ChainPath], selector: PathSelector) -> list[ChainPath]:
    """Return the paths that a selector takes of all."""
    lengths = sorted({len(path.edges) for path in every})[: selector.count]
    if selector.groups:
        return [path for path in every if len(path.edges) in lengths]
    return sorted(every, key=lambda path: len(path.edges))[: selector.count]
