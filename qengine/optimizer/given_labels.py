"""Which labels the nodes of a match have, or are likely to: what earlier clauses ask, and what relationships lead to.

``UNWIND nodes AS f MATCH (f)-[:hasMember]->(p)`` says no label of ``f``; where all relationships of that type begin at
a ``Forum``, a given node that matters is one, and has as many members as a forum has, not as any node of the graph.
What an earlier clause has asked of it holds: ``MATCH (f:Person) … WITH f`` gives persons, and a walk from these leads
where its hops do.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from qengine._frozen import replace
from qengine.catalog.view import CatalogView
from qengine.optimizer.label_ways import LabelWays, label_ways
from qengine.optimizer.labels import any_of, matching_types, sets_of
from qengine.optimizer.memory import memory
from qengine.optimizer.pattern_edges import PatternEdge
from qengine.optimizer.possible_labels import possible_sets
from qengine.plan.expr import Variable
from qengine.plan.logical import Aggregate, Operator, Project
from qengine.plan.pattern import Direction, LabelExpr, LabelIs, LabelOr, PatternNode
from qengine.plan.physical import FewOrMany, HashJoin, LookUp, Reach, Search, VertexLevel, Walk


def with_likely_labels(
    nodes: Mapping[str, PatternNode],
    edges: Sequence[PatternEdge],
    given: Collection[str],
    rows: Operator,
    catalog: CatalogView,
) -> dict[str, PatternNode]:
    """Return nodes by name, for estimates: given ones without labels have those that rows and relationships imply.

    ``rows``: the plan that gives them.
    """
    found = dict(nodes)
    likely = [name for name in given if nodes[name].labels is None]
    for name in likely:
        found[name] = replace(nodes[name], labels=labels_given(rows, name, catalog))
    possible = possible_sets(found, edges, catalog) if likely else {}
    for name in likely:
        if name in possible and possible[name].any():
            found[name] = replace(nodes[name], labels=any_of(catalog, possible[name]))
    return found


def labels_given(rows: Operator | None, name: str, catalog: CatalogView) -> LabelExpr | None:
    """Return the labels that a plan asks of a node in one of its columns; None where that can't be told."""
    known, key = memory("given labels"), (id(rows), name)
    if key not in known:
        known[key] = rows, _labels_given(rows, name, catalog)
    found: LabelExpr | None = known[key][1]
    return found


def _labels_given(rows: Operator | None, name: str, catalog: CatalogView) -> LabelExpr | None:
    while rows is not None:
        match rows:
            case Project(items=items) | Aggregate(keys=items):
                found = dict(items).get(name)
                if not isinstance(found, Variable):
                    return None
                name = found.name
            case Search(levels=levels, seeds=seeds):
                for place, level in enumerate(levels):
                    if level.name == name and isinstance(level, VertexLevel) and place >= seeds:
                        return any_of(catalog, _sets_of_level(rows, place, catalog))
            case Walk(end=end, end_bound=False) | Reach(end=end) if end.name == name:
                return _walked_to(rows, catalog)
            case LookUp(name=given, labels=labels) if given == name:
                return labels
            case HashJoin(build=build, emit=emit) if name in emit:
                rows = build
                continue
            case FewOrMany(many=many) if (below := labels_given(many, name, catalog)) is not None:
                return below
        rows = getattr(rows, "input", None)
    return None


def _walked_to(walk: Walk | Reach, catalog: CatalogView) -> LabelExpr | None:
    """Return the labels that the ends of a walk have."""
    start = sets_of(catalog, labels_given(walk.input, walk.start, catalog))
    ends = _ways(walk.types, walk.direction, catalog).reached(start, walk.minimum, walk.maximum)
    return any_of(catalog, ends & sets_of(catalog, walk.end.labels))


def _sets_of_level(search: Search, place: int, catalog: CatalogView) -> Any:
    """Return which label sets a vertex of a search may have, by what it is found from: bool[sets]."""
    level = search.levels[place]
    assert isinstance(level, VertexLevel)
    if place < search.seeds:
        return sets_of(catalog, labels_given(search.input, level.name, catalog))
    sets = sets_of(catalog, level.labels)
    if level.labels is not None:
        return sets
    for source in level.sources:
        near = _sets_of_level(search, source.level, catalog)
        sets = sets & _ways(source.types, source.direction, catalog).reached(near, 1, 1)
    return sets


def _ways(types: Sequence[str], direction: Direction, catalog: CatalogView) -> LabelWays:
    found = matching_types(catalog, LabelOr(tuple(map(LabelIs, types))) if types else None)
    return label_ways(catalog, found, direction is not Direction.IN, direction is not Direction.OUT)
