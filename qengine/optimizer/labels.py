"""What label and type expressions select in a graph, by the catalogue."""

from __future__ import annotations

from qengine.catalog.view import CatalogView, RelationshipTypeInfo
from qengine.plan.pattern import LabelExpr


def matching_types(catalog: CatalogView, condition: LabelExpr | None) -> tuple[RelationshipTypeInfo, ...]:
    """Return the types of the graph that a relationship's type expression admits, in the catalogue's order."""
    found = (catalog.relationship_type(name) for name in catalog.relationship_types)
    infos = tuple(info for info in found if info is not None)
    return infos if condition is None else tuple(info for info in infos if condition.admits(frozenset((info.name,))))


def vertex_count(catalog: CatalogView, condition: LabelExpr | None) -> int:
    """Return how many vertices satisfy a label expression."""
    if condition is None:
        return catalog.vertex_count
    return sum(count for labels, count in catalog.label_sets if condition.admits(labels))
