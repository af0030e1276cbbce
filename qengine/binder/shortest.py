"""Selected paths: which selector a pattern asks for, and what its WHERE means to the choice of a path.

``shortestPath()`` and ``allShortestPaths()`` choose among the paths that satisfy the WHERE; GQL's selectors choose
first and filter then. So conditions on the path of the former must become conditions on its hops, or be refused.
"""

from __future__ import annotations

from collections.abc import Mapping

from qengine.binder.binding import Binding
from qengine.plan.expr import Expr
from qengine.plan.path_conditions import EachCondition, each_condition
from qengine.plan.pattern import PathSelector
from qengine.syntax import ast

_SELECTORS = {
    None: PathSelector.ALL,
    "ALL": PathSelector.ALL,
    "ANY": PathSelector.ANY_SHORTEST,  # any path will do: the shortest is one
    "ANY 1": PathSelector.ANY_SHORTEST,
    "SHORTEST 1": PathSelector.ANY_SHORTEST,
    "ANY SHORTEST": PathSelector.ANY_SHORTEST,
    "shortestPath": PathSelector.ANY_SHORTEST,
    "ALL SHORTEST": PathSelector.ALL_SHORTEST,
    "SHORTEST 1 GROUPS": PathSelector.ALL_SHORTEST,
    "allShortestPaths": PathSelector.ALL_SHORTEST,
}


def selector_of(binding: Binding, pattern: ast.PathPattern) -> PathSelector:
    """Return the selector of a path pattern."""
    selector = _SELECTORS.get(pattern.selector)
    if selector is None:
        raise binding.unsupported(
            f"{pattern.selector} isn't built.", pattern.span, "ANY SHORTEST and ALL SHORTEST are."
        )
    if pattern.selector in ("shortestPath", "allShortestPaths"):
        _check_function_form(binding, pattern)
    return selector


def _check_function_form(binding: Binding, pattern: ast.PathPattern) -> None:
    elements = pattern.elements
    if len(elements) != 3 or not isinstance(elements[1], ast.RelationshipPattern):
        raise binding.error(
            "InvalidRelationshipPattern",
            f"{pattern.selector}() takes one relationship between two nodes.",
            pattern.span,
            "For example shortestPath((a)-[:T*]-(b)).",
        )
    hops = elements[1].hops
    if hops is not None and hops.minimum > 1:
        raise binding.unsupported(
            f"{pattern.selector}() with at least {hops.minimum} hops isn't built.", hops.span, "Begin at 0 or 1."
        )


def path_condition(binding: Binding, predicate: Expr, edges: Mapping[str, str]) -> tuple[str, EachCondition]:
    """Return the relationship that a condition on a path speaks of, and the condition on each of its elements.

    ``edges`` maps a path's or relationship list's name to the relationship. ``all(r IN relationships(p) WHERE c)``
    is ``c`` for each hop; with ``none`` it is ``NOT c``. Anything else can't be checked hop by hop.
    """
    each = each_condition(predicate)
    if each is not None and each.source in edges:
        return edges[each.source], each
    raise binding.unsupported(
        "This condition would decide which path is the shortest, and isn't built.",
        predicate.span,
        "Use all(r IN relationships(p) WHERE …) or all(n IN nodes(p) WHERE …) with conditions on r or n alone, "
        "or ANY SHORTEST to filter afterwards.",
    )
