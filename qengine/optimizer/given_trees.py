"""Trees of relationships around a node that rows give: how many embeddings they have at some nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from qengine._frozen import frozen
from qengine.catalog.view import CatalogView, Incidence, RelationshipTypeInfo
from qengine.optimizer.labels import matching_types
from qengine.optimizer.peeking import known_values
from qengine.plan.expr import Expr
from qengine.plan.pattern import Direction, LabelExpr, LabelIs, LabelOr, named
from qengine.plan.physical import EdgeLevel, Search, Source, VertexLevel
from qengine.plan.traverse import free_variables

ENTRIES = 1 << 13  # of lists of nodes
_FEW = 4  # nodes that say too little
_LESS = 0.75  # of so many entries as would be few enough if all ends had as many relationships


@frozen
class Hop:
    """A relationship to the vertex of level ``place``, from one that is nearer to the given one.

    ``edge``: the relationship, if the search binds it. ``taken``: how many of the relationships that it may be are
    others of the tree.
    """

    place: int
    end: VertexLevel
    edge: EdgeLevel | None
    taken: int

    @property
    def conditions(self) -> Sequence[Expr]:
        """What is asked of the vertex, and of the relationship."""
        return (*self.end.predicates, *(self.edge.predicates if self.edge is not None else ()))

    def kind(self, catalog: CatalogView) -> Incidence:
        """Return the relationships that a node of the nearer level may have it of."""
        types, out, into = _way(self, catalog)
        return Incidence(tuple(info.name for info in types), out, into, named(self.end.labels))


def hops_of(search: Search) -> dict[int, list[Hop]] | None:
    """Return the relationships of a tree around its one given node, by the level that each begins at; else None."""
    if search.seeds != 1 or len(search.levels) < 2:
        return None
    edges = {}
    for edge in search.levels:
        if isinstance(edge, EdgeLevel):
            if edge.conditions or frozenset((edge.start, edge.end)) in edges:
                return None
            edges[frozenset((edge.start, edge.end))] = edge
    hops: dict[int, list[Hop]] = {}
    for place, level in enumerate(search.levels):
        if place == 0 or not isinstance(level, VertexLevel):
            continue
        if len(level.sources) != 1 or level.conditions or level.less or level.greater:
            return None
        (source,) = level.sources
        around = [each.end.sources[0] for each in hops.get(source.level, ())]
        near = search.levels[source.level]
        if isinstance(near, VertexLevel) and near.sources:
            (back,) = near.sources
            around.append(Source(back.level, back.types, back.direction.reversed()))
        bound = edges.get(frozenset((source.level, place)))
        apart = level.different or level.pairs or (bound is not None and bound.different)
        taken = sum(_same_kind(source, other) for other in around) if apart else 0
        hops.setdefault(source.level, []).append(Hop(place, level, bound, taken))
    return hops


def _same_kind(one: Source, other: Source) -> bool:
    """Tell whether relationships that lead to two levels from the same one are the same, which way aside if either."""
    return one.types == other.types and (
        one.direction is other.direction or Direction.BOTH in (one.direction, other.direction)
    )


def embeddings(nodes: Any, level: int, hops: Mapping[int, Sequence[Hop]], catalog: CatalogView) -> Any:
    """Return how many embeddings of what hangs at a level nodes have that are there: float64; None if it isn't known.

    Of nodes with many relationships, perhaps only of the first of them.
    """
    found: Any = None
    for hop in hops.get(level, ()):
        each = _hits(nodes, hop, hops, catalog)
        if each is None:
            return None
        found = each if found is None else found[: len(each)] * each[: len(found)]
    return found


def _hits(nodes: Any, hop: Hop, hops: Mapping[int, Sequence[Hop]], catalog: CatalogView) -> Any:
    """Return how many embeddings of a relationship, and of what hangs at its other end, some nodes have."""
    import numpy as np

    degrees = catalog.degrees_of(nodes, hop.kind(catalog))
    if degrees is None:
        return None
    left = (degrees - hop.taken).clip(0.0)
    if not hop.conditions and hop.place not in hops:
        return left
    every, entries = np.cumsum(degrees), float(ENTRIES)
    while True:
        count = max(1, int(np.searchsorted(every, entries, side="right")))
        unique, place = np.unique(nodes[:count], return_inverse=True)
        found, seen = _at(unique, hop, hops, catalog)
        if found is not None:
            return found[place] * np.where(degrees > 0.0, left / np.maximum(degrees, 1.0), 0.0)[:count]
        if not seen or count <= _FEW:
            return None
        entries = min(entries, every[count - 1]) * seen * _LESS


def _at(nodes: Any, hop: Hop, hops: Mapping[int, Sequence[Hop]], catalog: CatalogView) -> tuple[Any, float]:
    """Return how many embeddings of a relationship, none left out, nodes have: float64; None if it isn't known.

    And of which share of the relationships' other ends what hangs there is known.
    """
    import numpy as np

    from qengine.optimizer.sampled import conjunction

    types, out, into = _way(hop, catalog)
    found = np.zeros(len(nodes))
    for info in types:
        near, far = ("start", "end") if out else ("end", "start")
        both = (out and into) or info.undirected
        sample = catalog.relationships_at(info.name, nodes, near, named(hop.end.labels), both=both)
        if sample is None:
            return None, 0.0
        if not sample.size:
            continue
        at = {hop.end.name: (sample, far), **({} if hop.edge is None else {hop.edge.name: (sample, "relationship")})}
        mask, known = conjunction(hop.conditions, at, known_values())
        if len(known) < len(hop.conditions):
            return None, 0.0
        mask = np.ones(sample.size, np.bool_) if mask is None else mask
        weights = sample.total / sample.size
        if hop.place in hops and mask.any():
            ends, of = np.unique(sample.ids(far, mask), return_inverse=True)
            beyond = embeddings(ends, hop.place, hops, catalog)
            if beyond is None or len(beyond) < len(ends):
                return None, 0.0 if beyond is None else len(beyond) / len(ends)
            weights = weights * beyond[of]
        np.add.at(found, np.searchsorted(nodes, sample.ids(near, mask)), weights)
    return found, 1.0


def may_have(level: int, hops: Mapping[int, Sequence[Hop]], catalog: CatalogView) -> Any:
    """Return the ids of the nodes that may have what hangs at a level: int64, sorted.

    Found from the far ends, where conditions leave few. None where that leaves too many.
    """
    import numpy as np

    best: Any = None
    for hop in hops.get(level, ()):
        ids = _near(hop, hops, catalog)
        if ids is not None:
            best = ids if best is None else np.intersect1d(best, ids)
    return best


def _near(hop: Hop, hops: Mapping[int, Sequence[Hop]], catalog: CatalogView) -> Any:
    """Return the nodes with such a relationship to a node that may be at its other end; None where these are many."""
    import numpy as np

    ends = may_have(hop.place, hops, catalog)
    admitted = every_node(hop.end.predicates, hop.end.labels, catalog) if hop.end.predicates else None
    if admitted is not None:
        ends = admitted if ends is None else np.intersect1d(ends, admitted)
    if ends is None:
        return None
    types, out, into = _way(hop, catalog)
    back = catalog.degrees_of(ends, Incidence(tuple(info.name for info in types), into, out, None))
    if back is None or back.sum() > ENTRIES:
        return None
    far, near = ("end", "start") if out else ("start", "end")
    found = [np.empty(0, np.int64)]
    for info in types:
        sample = catalog.relationships_at(info.name, ends, far, None, both=(out and into) or info.undirected)
        if sample is None:
            return None
        found.append(sample.ids(near, np.ones(sample.size, np.bool_)))
    return np.unique(np.concatenate(found))


def every_node(predicates: Sequence[Expr], labels: LabelExpr | None, catalog: CatalogView) -> Any:
    """Return the ids of all nodes with some labels that satisfy conditions: int64; None where they are too many."""
    from qengine.optimizer.sampled import conjunction

    sample = catalog.node_sample(labels, every=True)
    if sample is None:
        return None
    names = frozenset[str]().union(*map(free_variables, predicates))
    mask, known = conjunction(predicates, dict.fromkeys(names, (sample, "node")), known_values())
    return sample.ids("node", slice(None) if mask is None else mask) if len(known) == len(predicates) else None


def _way(hop: Hop, catalog: CatalogView) -> tuple[Sequence[RelationshipTypeInfo], bool, bool]:
    """Return the types of a hop's relationships, and whether these lead away from the nearer level, and to it."""
    (source,) = hop.end.sources
    admitted = LabelOr(tuple(map(LabelIs, source.types))) if source.types else None
    direction = source.direction
    return matching_types(catalog, admitted), direction is not Direction.IN, direction is not Direction.OUT
