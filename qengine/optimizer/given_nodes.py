"""What a search finds from a node that rows give: seen at some of the nodes that rows come to.

These have other relationships than all nodes with their labels: more of them where many lead there, and to others where
conditions on what the rows hold go along relationships.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import expm1
from typing import Any

from qengine._frozen import frozen
from qengine.catalog.view import CatalogView, Incidence
from qengine.optimizer.correlation import Joint, admitted_nodes
from qengine.optimizer.filters import Below, below
from qengine.optimizer.labels import matching_types
from qengine.optimizer.peeking import known_values
from qengine.plan.expr import Expr, Variable
from qengine.plan.logical import Filter, Operator, Project
from qengine.plan.pattern import Direction, LabelIs, LabelOr, named
from qengine.plan.physical import Attach, EdgeLevel, Search, Source, VertexLevel, Walk
from qengine.plan.traverse import free_variables

_NODES = 1024  # that are looked at
_ENTRIES = 1 << 13  # of their lists
_FEW = 16  # rows of a sample
_SEED = 23


@frozen
class Found:
    """How many embeddings each of some rows has: float64, not all whole.

    ``expected``: of a row of which nothing is known, which is as if it had been looked at, too.
    """

    each: Any
    expected: float

    @property
    def mean(self) -> float:
        """How many embeddings a row is expected to have."""
        return float((self.each.sum() + self.expected) / (len(self.each) + 1.0))

    @property
    def some(self) -> float:
        """How many of the rows have any."""
        return float(((self.each > 0.0).sum() - expm1(-self.expected)) / (len(self.each) + 1.0))

    def share(self, op: str, number: float) -> float:
        """Return how many of the rows have as many as compare so with a number."""
        from qengine.optimizer.sampled import COMPARED

        return float((COMPARED[op](self.each.round(), number).sum() + 0.5) / (len(self.each) + 1.0))


def found_from(search: Search, rows: Operator, catalog: CatalogView) -> Found | None:
    """Return how many embeddings rows have of a search.

    ``rows``: the plan that gives the node. None for searches that aren't trees around it, and where that isn't known.
    """
    hops = _hops(search)
    if hops is None or search.rows is None:
        return None
    nodes = given_nodes(name_below(search.levels[0].name, rows), below(rows, catalog))
    if nodes is None or not len(nodes):
        return None
    import numpy as np

    _, first, place = np.unique(nodes, return_index=True, return_inverse=True)
    order = np.argsort(first)  # of the different nodes: as they were drawn
    found = _embeddings(nodes[first[order]], 0, hops, catalog)
    if found is None:
        return None
    count = len(nodes) if len(found) == len(order) else first[order[len(found)]]
    return Found(found[np.argsort(order)[place[:count]]], search.rows)


@frozen
class _Hop:
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


def _hops(search: Search) -> dict[int, list[_Hop]] | None:
    """Return the relationships of a tree around its one given node, by the level that each begins at; else None."""
    if search.seeds != 1 or len(search.levels) < 2:
        return None
    edges = {}
    for edge in search.levels:
        if isinstance(edge, EdgeLevel):
            if edge.conditions or frozenset((edge.start, edge.end)) in edges:
                return None
            edges[frozenset((edge.start, edge.end))] = edge
    hops: dict[int, list[_Hop]] = {}
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
        hops.setdefault(source.level, []).append(_Hop(place, level, bound, taken))
    return hops


def _same_kind(one: Source, other: Source) -> bool:
    """Tell whether relationships that lead to two levels from the same one are the same, which way aside if either."""
    return one.types == other.types and (
        one.direction is other.direction or Direction.BOTH in (one.direction, other.direction)
    )


def name_below(name: str, rows: Operator) -> str:
    """Return what a column of rows is called where a search finds it."""
    while isinstance(rows, Project | Filter | Attach | Search):
        if isinstance(rows, Search) and name in (level.name for level in rows.levels[rows.seeds :]):
            break
        if isinstance(rows, Project):
            item = dict(rows.items).get(name)
            if not isinstance(item, Variable):
                break
            name = item.name
        rows = rows.input
    return name


def given_nodes(name: str, known: Below) -> Any:
    """Return ids of nodes that are in a column of rows, as often as they are expected there: int64; None if unknown.

    ``known``: what the rows come from, in which the column has this name.
    """
    import numpy as np

    catalog = known.catalog
    joints = [each for each in known.joints if name in each.ends and len(set(each.ends)) == 2]
    walks = [each for each in known.walks if each.start == name and each.minimum]
    if not joints:
        node = known.nodes.get(name)
        ids = None if node is None else admitted_nodes(node.predicates, node.labels, catalog)
        return _drawn(ids, None if ids is None or not walks else _begun(ids, walks, joints, catalog))
    joint = max(joints, key=lambda each: _asked(each, known))
    of_types = (_ends(name, joint, type, known, catalog) for type, edges in joint.types if edges)
    parts = [found for found in of_types if found is not None]
    if not parts:
        return None
    ids, weights = parts[0][0], None
    if len(parts) > 1:
        ids = np.concatenate([found for found, _ in parts])
        weights = np.concatenate([np.full(len(found), each) for found, each in parts])
    for other in joints:
        if other is not joint:
            degrees = catalog.degrees_of(ids, other.incidence(name, known.nodes))
            weights = degrees if weights is None else weights * degrees
    if walks:
        begun = _begun(ids, walks, joints, catalog)
        weights = begun if weights is None else weights * begun
    return _drawn(ids, weights)


def _begun(nodes: Any, walks: Sequence[Walk], joints: Sequence[Joint], catalog: CatalogView) -> Any:
    """Return how many first hops of walks nodes have, which begin more of them for that: float64."""
    found: Any = 1.0
    for walk in walks:
        out, into = walk.direction is not Direction.IN, walk.direction is not Direction.OUT
        types = walk.types or catalog.relationship_types
        taken = sum(
            each.name in walk.different and all(type in types for type, _ in each.types) for each in joints
        )  # by the relationships that lead to the node, which the walk may not go back over
        found = found * (catalog.degrees_of(nodes, Incidence(types, out, into, None)) - taken).clip(0.0)
    return found


def _ends(name: str, joint: Joint, type: str, below: Below, catalog: CatalogView) -> tuple[Any, float] | None:
    """Return the ids of a column in some of a type's relationships that rows come from, and how many each stands for.

    None where a condition on them can't be evaluated.
    """
    import numpy as np

    from qengine.optimizer.sampled import conjunction, how_many

    ends = [below.nodes[end] for end in joint.ends]
    names = {joint.ends[0]: "start", joint.name: "relationship", joint.ends[1]: "end"}
    conditions = [*joint.predicates, *ends[0].predicates, *ends[1].predicates]
    conditions += [each for each in below.given if free_variables(each) <= names.keys()]
    found = None
    for many in (False, True):
        labels = named(ends[0].labels), named(ends[1].labels)
        sample = catalog.relationship_sample(type, *labels, both=joint.both, many=many)
        if sample is None or not sample.size:
            return None
        mask, known = conjunction(conditions, {each: (sample, at) for each, at in names.items()}, known_values())
        if len(known) < len(conditions):
            return None
        mask = np.ones(sample.size, np.bool_) if mask is None else mask
        found = sample.ids(names[name], mask), sample.total / sample.size
        if how_many(mask) >= _FEW:
            break
    return found


def _asked(joint: Joint, below: Below) -> int:
    return len(joint.predicates) + sum(len(below.nodes[end].predicates) for end in joint.ends)


def _drawn(ids: Any, weights: Any) -> Any:
    """Return some of the ids, in any order, as likely as their weights say."""
    import numpy as np

    if ids is None or not len(ids) or (weights is not None and not weights.any()):
        return None
    random = np.random.default_rng(_SEED)
    if weights is None:
        return random.permutation(ids)[:_NODES]
    return random.choice(ids, _NODES, p=weights / weights.sum())


def _embeddings(nodes: Any, level: int, hops: Mapping[int, Sequence[_Hop]], catalog: CatalogView) -> Any:
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


def _hits(nodes: Any, hop: _Hop, hops: Mapping[int, Sequence[_Hop]], catalog: CatalogView) -> Any:
    """Return how many embeddings of a relationship, and of what hangs at its other end, some nodes have."""
    import numpy as np

    from qengine.optimizer.sampled import conjunction

    (source,) = hop.end.sources
    admitted = LabelOr(tuple(map(LabelIs, source.types))) if source.types else None
    types = matching_types(catalog, admitted)
    out, into = source.direction is not Direction.IN, source.direction is not Direction.OUT
    names = tuple(info.name for info in types)
    degrees = catalog.degrees_of(nodes, Incidence(names, out, into, named(hop.end.labels)))
    if degrees is None:
        return None
    left = (degrees - hop.taken).clip(0.0)
    if not hop.conditions and hop.place not in hops:
        return left
    count = max(1, int(np.searchsorted(np.cumsum(degrees), _ENTRIES, side="right")))
    unique, place = np.unique(nodes[:count], return_inverse=True)
    found = np.zeros(len(unique))
    for info in types:
        both = (out and into) or info.undirected
        near, far = ("start", "end") if out else ("end", "start")
        sample = catalog.relationships_at(info.name, unique, near, named(hop.end.labels), both=both)
        if sample is None:
            return None
        if not sample.size:
            continue
        at = {hop.end.name: (sample, far), **({} if hop.edge is None else {hop.edge.name: (sample, "relationship")})}
        mask, known = conjunction(hop.conditions, at, known_values())
        if len(known) < len(hop.conditions):
            return None
        mask = np.ones(sample.size, np.bool_) if mask is None else mask
        weights = sample.total / sample.size
        if hop.place in hops and mask.any():
            ends, of = np.unique(sample.ids(far, mask), return_inverse=True)
            beyond = _embeddings(ends, hop.place, hops, catalog)
            if beyond is None or len(beyond) < len(ends):
                return None
            weights = weights * beyond[of]
        np.add.at(found, np.searchsorted(unique, sample.ids(near, mask)), weights)
    return found[place] * np.where(degrees > 0.0, left / np.maximum(degrees, 1.0), 0.0)[:count]
