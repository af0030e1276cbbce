"""Equations by which a node is looked up: of its property, or of what else it alone determines, with what rows give."""

from __future__ import annotations

from qengine._frozen import frozen
from qengine.catalog.view import CatalogView
from qengine.optimizer.access import LEAST_ROWS, looked_up_rows
from qengine.optimizer.labels import vertex_count
from qengine.plan.access import equality
from qengine.plan.expr import Comparison, Expr, Subquery
from qengine.plan.pattern import PatternNode
from qengine.plan.traverse import free_variables, is_repeatable, preorder

__all__ = ["Equation", "equation_of"]


@frozen
class Equation:
    """``key``: of the node's property that equals ``value``; None where it is ``of``, another expression of the node.

    ``rows``: nodes that one value is expected to find. ``all``: how many nodes there are.
    """

    key: str | None
    of: Expr | None
    value: Expr
    rows: float
    all: float


def equation_of(predicate: Expr, node: PatternNode, catalog: CatalogView) -> Equation | None:
    """Return how a condition tells which nodes may take a node's place; None where it doesn't, or they are few."""
    found = equality(predicate, node.name)
    if found is not None:
        key, value = found
        rows = looked_up_rows(node, key, catalog) if is_repeatable(value) else None
        return None if rows is None else Equation(key, None, value, rows, 0.0)
    match predicate:
        case Comparison(ops=("=",), args=(left, right)):
            sides = ((left, right), (right, left))
        case _:
            return None
    every = vertex_count(catalog, node.labels)
    for of, value in sides:
        if every < LEAST_ROWS or free_variables(of) != {node.name} or node.name in free_variables(value):
            continue
        if not (_is_simple(of) and _is_simple(value)):
            continue
        return Equation(None, of, value, every**0.5, every)  # how many different values there are isn't known
    return None


def _is_simple(expr: Expr) -> bool:
    return is_repeatable(expr) and not any(isinstance(part, Subquery) for part in preorder(expr))
