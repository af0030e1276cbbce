"""What label and type expressions select in a graph, by the catalogue. Kept for each catalogue: no query changes it."""

from __future__ import annotations

from dataclasses import field
from typing import Any
from weakref import WeakKeyDictionary

from qengine._frozen import record
from qengine.catalog.view import CatalogView, RelationshipTypeInfo
from qengine.plan.pattern import LabelAnd, LabelExpr, LabelIs, LabelNot, LabelOr

_MOST_CACHED = 4096  # expressions


@record
class _LabelSets:
    """What was found out of one catalogue. ``sets``, ``masks``: by expression which label sets satisfy it."""

    label_sets: tuple[tuple[frozenset[str], int], ...]
    infos: tuple[RelationshipTypeInfo, ...]
    sets: dict[LabelExpr, tuple[int, int]] = field(default_factory=dict)
    types: dict[LabelExpr, tuple[RelationshipTypeInfo, ...]] = field(default_factory=dict)
    masks: dict[LabelExpr | None, Any] = field(default_factory=dict)
    expressions: dict[bytes, LabelExpr] = field(default_factory=dict)


_known: WeakKeyDictionary[CatalogView, _LabelSets] = WeakKeyDictionary()


def matching_types(catalog: CatalogView, condition: LabelExpr | None) -> tuple[RelationshipTypeInfo, ...]:
    """Return the types of the graph that a relationship's type expression admits, in the catalogue's order."""
    known = _of(catalog)
    if condition is None:
        return known.infos
    found = known.types.get(condition)
    if found is None:
        _make_room(known.types)
        found = tuple(info for info in known.infos if condition.admits(frozenset((info.name,))))
        known.types[condition] = found
    return found


def vertex_count(catalog: CatalogView, condition: LabelExpr | None) -> int:
    """Return how many vertices satisfy a label expression."""
    return catalog.vertex_count if condition is None else _satisfying(catalog, condition)[1]


def may_coincide(catalog: CatalogView, one: LabelExpr | None, other: LabelExpr | None) -> bool:
    """Tell whether some vertex satisfies both label expressions."""
    return one == other or satisfying_sets(catalog, one) & satisfying_sets(catalog, other) != 0


def satisfying_sets(catalog: CatalogView, condition: LabelExpr | None) -> int:
    """Return as a bit mask which of the graph's label sets satisfy an expression; all bits for none."""
    return -1 if condition is None else _satisfying(catalog, condition)[0]


def sets_of(catalog: CatalogView, condition: LabelExpr | None) -> Any:
    """Return which of the graph's label sets satisfy an expression: bool[sets], which nobody may change."""
    known = _of(catalog)
    found = known.masks.get(condition)
    if found is None:
        import numpy as np

        _make_room(known.masks)
        found = np.array([condition is None or condition.admits(labels) for labels, _ in known.label_sets], np.bool_)
        known.masks[condition] = found
    return found


def any_of(catalog: CatalogView, sets: Any) -> LabelExpr | None:
    """Return what satisfies the vertices of some label sets (bool[sets]) alone, in as few names as is easily found.

    None for all of them.
    """
    if sets.all():
        return None
    known, key = _of(catalog), sets.tobytes()
    found = known.expressions.get(key)
    if found is None:
        _make_room(known.expressions)
        left, parts = sets.copy(), list[LabelExpr]()
        inside = [
            (each, of) for each in map(LabelIs, catalog.labels) if not ((of := sets_of(catalog, each)) & ~sets).any()
        ]
        for each, of in sorted(inside, key=lambda label: -int(label[1].sum())):
            if (of & left).any():
                parts.append(each)
                left &= ~of
        parts += filter(None, (exactly(catalog, place) for place in left.nonzero()[0].tolist()))
        found = known.expressions[key] = parts[0] if len(parts) == 1 else LabelOr(tuple(parts))
    return found


def exactly(catalog: CatalogView, place: int) -> LabelExpr | None:
    """Return what satisfies the vertices of one of the catalogue's label sets, and no others; None for all of them."""
    sets = _of(catalog).label_sets
    labels = sets[place][0]
    others = frozenset[str]().union(*(each for each, _ in sets if labels < each)) - labels
    args = (*map(LabelIs, sorted(labels)), *(LabelNot(LabelIs(name)) for name in sorted(others)))
    return args[0] if len(args) == 1 else LabelAnd(args) if args else None


def _satisfying(catalog: CatalogView, condition: LabelExpr) -> tuple[int, int]:
    """Return the label sets of vertices that satisfy an expression as a bit mask, and how many vertices have them."""
    known = _of(catalog)
    found = known.sets.get(condition)
    if found is None:
        _make_room(known.sets)
        mask = count = 0
        for place, (labels, vertices) in enumerate(known.label_sets):
            if vertices and condition.admits(labels):
                mask |= 1 << place
                count += vertices
        found = known.sets[condition] = mask, count
    return found


def _of(catalog: CatalogView) -> _LabelSets:
    known = _known.get(catalog)
    if known is None:
        found = (catalog.relationship_type(name) for name in catalog.relationship_types)
        known = _known[catalog] = _LabelSets(catalog.label_sets, tuple(info for info in found if info is not None))
    return known


def _make_room(cached: dict[Any, Any]) -> None:
    if len(cached) >= _MOST_CACHED:
        cached.clear()
