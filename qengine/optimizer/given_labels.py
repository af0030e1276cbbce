"""Which labels the nodes that earlier clauses give have, or are likely to: those that ends of their relationships have.

``UNWIND nodes AS f MATCH (f)-[:hasMember]->(p)`` says no label of ``f``; where all relationships of that type begin at
a ``Forum``, a given node that matters is one, and has as many members as a forum has, not as any node of the graph.
What an earlier clause has asked of it holds: ``MATCH (f:Person) … WITH f`` gives persons.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from weakref import WeakKeyDictionary

from qengine._frozen import replace
from qengine.catalog.view import CatalogView, RelationshipTypeInfo
from qengine.optimizer.labels import matching_types, vertex_count
from qengine.optimizer.pattern_edges import PatternEdge
from qengine.plan.expr import Variable
from qengine.plan.logical import Aggregate, Operator, Project
from qengine.plan.pattern import Direction, LabelExpr, LabelIs, LabelOr, PatternNode
from qengine.plan.physical import FewOrMany, HashJoin, LookUp, Reach, Search, VertexLevel, Walk

_MOST_LABELS = 64  # of a graph that are looked through

_ends: WeakKeyDictionary[CatalogView, dict[tuple[object, ...], LabelExpr | None]] = WeakKeyDictionary()
"""By a type, and whether its relationships begin there: the labels of their ends. By several, and both: of any."""


def with_likely_labels(
    nodes: Mapping[str, PatternNode],
    edges: Sequence[PatternEdge],
    given: Collection[str],
    rows: Operator,
    catalog: CatalogView,
) -> dict[str, PatternNode]:
    """Return nodes by name, for estimates: given ones without labels have those that rows or relationships imply.

    ``rows``: the plan that gives them.
    """
    found = dict(nodes)
    for name in given:
        if nodes[name].labels is not None:
            continue
        likely = _asked(rows, name, catalog)
        if likely is None:
            implied = [labels for edge in edges if (labels := _implied(edge, name, catalog)) is not None]
            likely = implied[0] if len(implied) == 1 else min(implied, key=partial(vertex_count, catalog), default=None)
        if likely is not None:
            found[name] = replace(nodes[name], labels=likely)
    return found


def _asked(rows: Operator | None, name: str, catalog: CatalogView) -> LabelExpr | None:
    """Return the labels that a plan asks of a node in one of its columns; None where that can't be told."""
    while rows is not None:
        match rows:
            case Project(items=items) | Aggregate(keys=items):
                found = dict(items).get(name)
                if not isinstance(found, Variable):
                    return None
                name = found.name
            case Search(levels=levels, seeds=seeds):
                for level in levels[seeds:]:
                    if level.name == name and isinstance(level, VertexLevel):
                        return level.labels
            case Reach(end=end) if end.name == name:
                return end.labels
            case Walk(end=end, end_bound=False) if end.name == name:
                if end.labels is not None or not rows.minimum or not rows.types:
                    return end.labels
                types = matching_types(catalog, LabelOr(tuple(map(LabelIs, rows.types))))
                return _of_ends(types, rows.direction.reversed(), catalog)
            case LookUp(name=given, labels=labels) if given == name:
                return labels
            case HashJoin(build=build, emit=emit) if name in emit:
                rows = build
                continue
            case FewOrMany(many=many) if (below := _asked(many, name, catalog)) is not None:
                return below
        rows = getattr(rows, "input", None)
    return None


def _implied(edge: PatternEdge, name: str, catalog: CatalogView) -> LabelExpr | None:
    """Return labels one of which an end of an edge must have; None where that says nothing."""
    start, end = edge.ends
    if start == end or name not in edge.ends:
        return None
    direction = edge.relationship.direction
    return _of_ends(tuple(edge.types), direction if name == start else direction.reversed(), catalog)


def _of_ends(types: Sequence[RelationshipTypeInfo], leaving: Direction, catalog: CatalogView) -> LabelExpr | None:
    """Return labels one of which nodes with relationships of some types must have, seen from them; None: any."""
    sides = {Direction.OUT: (True,), Direction.IN: (False,)}.get(leaving, (True, False))
    ways = tuple((info.name, side) for info in types for side in ((True, False) if info.undirected else sides))
    known = _ends.setdefault(catalog, {})
    if ways not in known:
        parts = dict.fromkeys(_end_labels(catalog, *way) for way in ways)
        one = next(iter(parts), None)
        known[ways] = None if None in parts else one if len(parts) < 2 else LabelOr(tuple(filter(None, parts)))
    return known[ways]


def _end_labels(catalog: CatalogView, type: str, begins: bool) -> LabelExpr | None:
    """Return the label that all ends of a type's relationships have, or the labels of which each has one."""
    known = _ends.setdefault(catalog, {})
    key = type, begins
    if key not in known:
        known[key] = _found_labels(catalog, type, begins)
    return known[key]


def _found_labels(catalog: CatalogView, type: str, begins: bool) -> LabelExpr | None:
    if len(catalog.labels) > _MOST_LABELS:
        return None

    def number(label: str | None) -> int:
        source, target = (label, None) if begins else (None, label)
        return catalog.edge_statistics(source, type, target).edges

    total = number(None)
    numbers = {label: found for label in catalog.labels if (found := number(label))}
    whole = [LabelIs(label) for label, found in numbers.items() if found == total]
    if whole:
        return min(whole, key=lambda label: vertex_count(catalog, label))
    if sum(numbers.values()) < total or not numbers:
        return None  # some end may have no label
    return LabelOr(tuple(map(LabelIs, numbers)))
