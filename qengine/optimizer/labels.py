"""What label and type expressions select in a graph, by the catalogue."""

from __future__ import annotations

from qengine.catalog.view import CatalogView, RelationshipTypeInfo
from qengine.plan.pattern import LabelAnd, LabelAny, LabelExpr, LabelIs, LabelNot, LabelOr


def satisfies(labels: frozenset[str], condition: LabelExpr | None) -> bool:
    """Tell whether a set of labels (or the one type of a relationship) satisfies a label expression."""
    match condition:
        case None:
            return True
        case LabelIs(name):
            return name in labels
        case LabelAny():
            return bool(labels)
        case LabelAnd(args):
            return all(satisfies(labels, arg) for arg in args)
        case LabelOr(args):
            return any(satisfies(labels, arg) for arg in args)
        case LabelNot(arg):
            return not satisfies(labels, arg)
    raise TypeError(f"not a label expression: {condition!r}")


def matching_types(catalog: CatalogView, condition: LabelExpr | None) -> tuple[RelationshipTypeInfo, ...]:
    """Return the types of the graph that a relationship's type expression admits, in the catalogue's order."""
    found = (catalog.relationship_type(name) for name in catalog.relationship_types)
    return tuple(info for info in found if info is not None and satisfies(frozenset((info.name,)), condition))


def vertex_count(catalog: CatalogView, condition: LabelExpr | None) -> int:
    """Return how many vertices satisfy a label expression."""
    return sum(count for labels, count in catalog.label_sets if satisfies(labels, condition))
