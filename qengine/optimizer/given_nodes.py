"""What a search finds from a node that rows give: seen at some of the nodes that rows come to.

These have other relationships than all nodes with their labels: more of them where many lead there, and to others where
conditions on what the rows hold go along relationships.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import expm1
from typing import Any

from qengine.catalog.view import CatalogView, Incidence
from qengine.optimizer.correlation import Joint, admitted_nodes
from qengine.optimizer.filters import Below, below
from qengine.optimizer.labels import matching_types
from qengine.optimizer.peeking import known_values
from qengine.plan.expr import Expr, Variable
from qengine.plan.logical import Filter, Operator, Project
from qengine.plan.pattern import Direction, LabelIs, LabelOr, named
from qengine.plan.physical import Attach, EdgeLevel, Search, VertexLevel
from qengine.plan.traverse import free_variables

_NODES = 1024  # that are looked at
_ENTRIES = 4096  # of their lists
_FEW = 16  # rows of a sample
_SEED = 23


def found_from(search: Search, rows: Operator, catalog: CatalogView) -> tuple[float, float] | None:
    """Return how many embeddings a row is expected to have, and how many of the rows have some.

    ``rows``: the plan that gives the node. None for other searches than one relationship away from it, and where that
    isn't known.
    """
    hop = _one_hop(search)
    if hop is None or search.rows is None:
        return None
    start, end, edge = hop
    nodes = given_nodes(name_below(start.name, rows), below(rows, catalog))
    if nodes is None or not len(nodes):
        return None
    hits = _hits(nodes, end, edge, catalog)
    if hits is None:
        return None
    found, count = hits  # one more node is as if nothing were known of it
    mean = (float(found.sum()) + search.rows) / (count + 1.0)
    return mean, (float((found > 0.0).sum()) - expm1(-search.rows)) / (count + 1.0)


def _one_hop(search: Search) -> tuple[VertexLevel, VertexLevel, EdgeLevel | None] | None:
    """Return the node that is given, the one next to it, and the relationship if the search binds it."""
    if search.seeds != 1 or len(search.levels) > 3 or len(search.levels) < 2:
        return None
    start, end, *rest = search.levels
    edge = rest[0] if rest else None
    if not isinstance(start, VertexLevel) or not isinstance(end, VertexLevel) or len(end.sources) != 1:
        return None
    if end.conditions or end.pairs or end.access or (edge is not None and not isinstance(edge, EdgeLevel)):
        return None
    return None if edge is not None and edge.conditions else (start, end, edge)


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
    if not joints:
        node = known.nodes.get(name)
        return None if node is None else _drawn(admitted_nodes(node.predicates, node.labels, catalog), None)
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
    return _drawn(ids, weights)


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


def _hits(nodes: Any, end: VertexLevel, edge: EdgeLevel | None, catalog: CatalogView) -> tuple[Any, int] | None:
    """Return how many embeddings each of some nodes has, and of how many that is; None where it can't be told."""
    import numpy as np

    from qengine.optimizer.sampled import conjunction

    (source,) = end.sources
    admitted = LabelOr(tuple(map(LabelIs, source.types))) if source.types else None
    types = matching_types(catalog, admitted)
    out, into = source.direction is not Direction.IN, source.direction is not Direction.OUT
    names = tuple(info.name for info in types)
    degrees = catalog.degrees_of(nodes, Incidence(names, out, into, named(end.labels)))
    if degrees is None:
        return None
    conditions: Sequence[Expr] = [*end.predicates, *(edge.predicates if edge is not None else ())]
    if not conditions:
        return degrees, len(nodes)
    count = max(1, int(np.searchsorted(np.cumsum(degrees), _ENTRIES, side="right")))
    unique, place = np.unique(nodes[:count], return_inverse=True)
    found = np.zeros(len(unique))
    for info in types:
        both = (out and into) or info.undirected
        near, far = ("start", "end") if out else ("end", "start")
        sample = catalog.relationships_at(info.name, unique, near, named(end.labels), both=both)
        if sample is None:
            return None
        if not sample.size:
            continue
        at = {end.name: (sample, far), **({} if edge is None else {edge.name: (sample, "relationship")})}
        mask, known = conjunction(conditions, at, known_values())
        if mask is None or len(known) < len(conditions):
            return None
        np.add.at(found, np.searchsorted(unique, sample.ids(near, mask)), sample.total / sample.size)
    return found[place], count
