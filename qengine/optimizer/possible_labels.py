"""Which label sets the nodes of a pattern may have, by those that relationships join: arc consistency (Mackworth 1977).

A node without labels, as those within ``(a)-[*3]-(b)``, has one of the sets that its relationships lead from and to,
and these lead on to the sets that further ones have. Where a node has none left the pattern has no match.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from qengine.catalog.view import CatalogView
from qengine.optimizer.label_ways import LabelWays, label_ways
from qengine.optimizer.labels import sets_of
from qengine.optimizer.memory import Lasting
from qengine.optimizer.pattern_edges import PatternEdge
from qengine.plan.pattern import Direction, PatternNode

_MOST_ROUNDS = 64  # of looking at each edge: a pattern is done in about as many as it is wide

_possible = Lasting()


def ways_of(edge: PatternEdge, catalog: CatalogView, origin: str) -> LabelWays:
    """Return the ways of an edge's relationships, seen from one of its ends."""
    forward = origin == edge.ends[0]
    out, into = edge.relationship.direction is not Direction.IN, edge.relationship.direction is not Direction.OUT
    return label_ways(catalog, edge.types, out if forward else into, into if forward else out)


def possible_sets(
    nodes: Mapping[str, PatternNode], edges: Sequence[PatternEdge], catalog: CatalogView
) -> dict[str, Any]:
    """Return which label sets each end of some edges may have in a match: bool[sets], by name."""
    names = {name: place for place, name in enumerate(dict.fromkeys(name for edge in edges for name in edge.ends))}
    labels = tuple(nodes[name].labels for name in names)
    hops = tuple(
        (names[edge.ends[0]], names[edge.ends[1]], edge.type_names(), edge.relationship.direction) for edge in edges
    )
    found, _ = _possible.of(catalog).get(
        (labels, hops), lambda: (_consistent(labels, edges, names, catalog), len(hops))
    )
    return dict(zip(names, found, strict=True))


def is_impossible(nodes: Mapping[str, PatternNode], edges: Sequence[PatternEdge], catalog: CatalogView) -> bool:
    """Tell whether some node has no label set left: then there is no match."""
    if len(catalog.label_sets) < 2 or not edges:
        return False
    return any(not sets.any() for sets in possible_sets(nodes, edges, catalog).values())


def _consistent(
    labels: Sequence[Any], edges: Sequence[PatternEdge], names: Mapping[str, int], catalog: CatalogView
) -> list[Any]:
    sets = [sets_of(catalog, each) for each in labels]
    hops = [(names[edge.ends[0]], names[edge.ends[1]], ways_of(edge, catalog, edge.ends[0]).ends) for edge in edges]
    for _ in range(_MOST_ROUNDS):
        before = [int(each.sum()) for each in sets]
        for one, other, ends in hops:
            fits = sets[one][ends[:, 0]] & sets[other][ends[:, 1]]
            if one == other:
                fits &= ends[:, 0] == ends[:, 1]
            for node, side in ((one, 0), (other, 1)):
                sets[node] = np.zeros(len(sets[node]), np.bool_)
                sets[node][ends[fits, side]] = True
        if [int(each.sum()) for each in sets] == before:
            break
    return sets
