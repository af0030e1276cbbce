"""Walks along a quantified path: what is repeated is matched by itself, once more where it has ended."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from qengine._frozen import replace
from qengine.errors import Unsupported
from qengine.exec.reference.graph import WalkedGraph
from qengine.exec.reference.walks import Walk
from qengine.exec.scalar.values import NodeHandle
from qengine.plan.pattern import PatternRelationship, QueryGraph

__all__ = ["repetitions"]

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
