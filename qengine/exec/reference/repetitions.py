"""Walks along a quantified path: what is repeated is matched by itself, once more where it has ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from qengine._frozen import replace
from qengine.errors import Unsupported
from qengine.exec.reference.graph import WalkedGraph
from qengine.exec.reference.walks import Walk
from qengine.exec.scalar.values import NodeHandle
from qengine.plan.pattern import PathSelector, PatternRelationship, QueryGraph

__all__ = ["repetitions", "shortest_repetitions"]

_MOST = 12  # repetitions that are tried where relationships may repeat

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
    match = embeddings(replace(repetition.graph, nodes=bound))

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


def shortest_repetitions(
    edge: PatternRelationship,
    graph: WalkedGraph,
    embeddings: Callable[[QueryGraph], Embeddings],
    selector: PathSelector,
    *,
    trail: bool,
) -> Callable[[int, int], list[Walk]]:
    """Return what gives the selected walks between two vertices: all are tried, those of each length after the other.

    Parameters as for ``repetitions``. Where relationships may repeat, few lengths are tried.
    """
    assert edge.repetition is not None and edge.hops is not None
    minimum, maximum = edge.hops
    most = graph.edge_count if trail else minimum + _MOST
    bound = most if maximum is None else min(most, maximum)

    def find(start: int, end: int) -> list[Walk]:
        found: list[Walk] = []
        left = selector.count
        for length in range(bound + 1):
            each = replace(edge, hops=(length, length))
            every = list(repetitions(each, graph, embeddings, forward=True, trail=trail)(start))
            if not every:
                break
            ending = [walk for walk in every if walk.end(start) == end]
            if length < minimum:
                continue
            taken = ending if selector.groups else ending[:left]
            found += taken
            left -= min(1, len(taken)) if selector.groups else len(taken)
            if not left:
                break
        return found

    return find
