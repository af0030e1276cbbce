"""Which levels of a search begin with named nodes, or an index of property values, instead of a scan of the column.

An index pays where it leaves few of many vertices; how many a range leaves that depends on parameters is seen when it
runs. Small columns are read faster than anything is looked up.
"""

from __future__ import annotations

from collections.abc import Sequence

from qengine._frozen import replace
from qengine.catalog.view import CatalogView
from qengine.optimizer.labels import vertex_count
from qengine.optimizer.memory import memory
from qengine.optimizer.pattern_edges import PatternEdge
from qengine.optimizer.peeking import counts_rare, is_peeked
from qengine.optimizer.selectivity import selectivity
from qengine.plan.access import FEW, IDENTITY, SORTED, Access, Equality, access_paths
from qengine.plan.expr import Comparison, Expr, Parameter, Property, Variable
from qengine.plan.fallible import condition_can_fail
from qengine.plan.pattern import LabelExpr, PatternNode
from qengine.plan.physical import Level, VertexLevel
from qengine.plan.traverse import preorder

LEAST_ROWS = 1024
"""Vertices with a node's labels from which indexes are used: fewer are scanned in some microseconds."""


def with_access(levels: tuple[Level, ...], seeds: int, catalog: CatalogView) -> tuple[Level, ...]:
    """Return the levels of a search, each with the indexes that may find its vertices."""
    found = list(levels)
    for place, level in enumerate(levels[seeds:], seeds):
        if isinstance(level, VertexLevel) and level.predicates:
            access = accessed(level.name, level.labels, level.predicates, catalog)
            found[place] = replace(level, access=access) if access else level
    return tuple(found)


def accessed(
    name: str, labels: LabelExpr | None, predicates: Sequence[Expr], catalog: CatalogView
) -> tuple[Access, ...]:
    """Return the indexes that may find a node by its predicates, that of the fewest vertices first."""
    return _paying("node", name, predicates, (vertex_count(catalog, labels), labels), catalog)


def accessed_relationships(edge: PatternEdge, catalog: CatalogView) -> tuple[Access, ...]:
    """Return the indexes that may find a relationship of a pattern by its predicates, that of the fewest first."""
    relationship = edge.relationship
    count = sum(each.count for each in edge.types)
    found = _paying("relationship", edge.name, relationship.predicates, (count, relationship.types), catalog)
    return tuple(access for access in found if access.kind != IDENTITY and access.rows * FEW <= count)


def _paying(
    entity: str, name: str, predicates: Sequence[Expr], owners: tuple[int, LabelExpr | None], catalog: CatalogView
) -> tuple[Access, ...]:
    """Return the indexes that may find an element by its predicates; ``owners``: how many there are, and the labels."""
    count, labels = owners
    if count < LEAST_ROWS:
        return ()
    remembered, asked = memory("access"), (name, id(predicates), id(labels), counts_rare())
    known: tuple[tuple[Access, ...], object] | None = remembered.get(asked)
    if known is not None:
        return known[0]
    found = []
    for access in access_paths(name, predicates):
        if any(catalog.property_type(entity, key) is None for key in access.keys):
            continue
        whole = len(access.answers) == len(predicates)
        answered = predicates if whole else [predicates[place] for place in access.answers]
        rows = count * selectivity(answered, catalog, entity, labels)
        parts = (part for each in answered for part in preorder(each))
        open_ended = access.kind == SORTED and any(
            isinstance(part, Parameter) and not is_peeked(part.name) for part in parts
        )
        if rows * FEW <= count or open_ended:
            one = len(access.probes) == 1 and access.probes[0].op == "="
            unique = one if access.kind == IDENTITY else _is_key(access, entity, catalog)
            found.append(replace(access, rows=rows, unique=unique))
    paying = tuple(sorted(found, key=lambda access: access.rows))
    remembered[asked] = paying, (predicates, labels)
    return paying


def _is_key(access: Access, entity: str, catalog: CatalogView) -> bool:
    return entity == "node" and len(access.probes) == 1 and catalog.is_key(access.keys[0])


def looked_up_relationships(edge: PatternEdge, key: str, catalog: CatalogView) -> float | None:
    """Return how many relationships of a pattern are expected to have one value of a property; None where not few."""
    relationship, count = edge.relationship, sum(each.count for each in edge.types)
    if catalog.property_type("relationship", key) is None:
        return None
    equation = Comparison(("=",), (Property(Variable(edge.name), key), Parameter("")))
    rows = count * selectivity((equation,), catalog, "relationship", relationship.types)
    return rows if rows * FEW <= count else None


def looked_up_rows(node: PatternNode, equality: Equality, catalog: CatalogView) -> float | None:
    """Return how many nodes are expected to have one value of a property; None where these are not looked up.

    One has an identity.

    The value is another one for each row, so an index that the user has declared is of use however few nodes there are.
    """
    count, key = vertex_count(catalog, node.labels), equality.key
    if equality.identity:
        return None if count < LEAST_ROWS or any(map(condition_can_fail, node.predicates)) else 1.0
    if (
        (count < LEAST_ROWS and not catalog.rules.index_node_key(key))
        or catalog.property_type("node", key) is None
        or any(map(condition_can_fail, node.predicates))
    ):
        return None
    equation = Comparison(("=",), (Property(Variable(node.name), key), Parameter("")))
    rows = count * selectivity((equation,), catalog, "node", node.labels)
    return rows if rows * FEW <= count else None
