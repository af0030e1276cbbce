"""Selected paths: which selector a pattern asks for, and what its WHERE means to the choice of a path.

``shortestPath()`` and ``allShortestPaths()`` choose among the paths that satisfy the WHERE; GQL's selectors choose
first and filter then. So conditions on the path of the former must become conditions on its hops, or be refused.
"""

from __future__ import annotations

from collections.abc import Mapping

from qengine.binder.binding import Binding
from qengine.plan.expr import Expr
from qengine.plan.path_conditions import EachCondition, each_condition
from qengine.plan.pattern import ALL_SHORTEST, ANY_SHORTEST, PathSelector
from qengine.syntax import ast

_FUNCTIONS = {"shortestPath": ANY_SHORTEST, "allShortestPaths": ALL_SHORTEST}


def selector_of(binding: Binding, pattern: ast.PathPattern) -> PathSelector | None:
    """Return the selector of a path pattern, None where all paths count."""
    written = pattern.selector
    if written is None or written == "ALL":
        return None
    if written in _FUNCTIONS:
        _check_function_form(binding, pattern)
        return _FUNCTIONS[written]
    words = written.split()
    if words == ["ALL", "SHORTEST"]:
        return ALL_SHORTEST
    count = next((int(word) for word in words if word.isdigit()), 1)
    if not count:
        raise binding.error(
            "InvalidNumberOfPaths", f"{written} asks for no path.", pattern.span, "The number is at least 1."
        )
    return PathSelector(count, "GROUPS" in words)  # ANY: any paths will do, so the shortest


def repeats_no_node(pattern: ast.PathPattern, selector: PathSelector) -> bool:
    """Tell whether no selected trail can meet a node twice, but for its start at its end: it could be cut shorter."""
    hops = [
        element.hops
        for element in pattern.elements
        if isinstance(element, ast.RelationshipPattern | ast.QuantifiedPath)
    ]
    return selector.count == 1 and all(each is None or each.minimum <= 1 for each in hops)


def _check_function_form(binding: Binding, pattern: ast.PathPattern) -> None:
    elements = pattern.elements
    if len(elements) != 3 or not isinstance(elements[1], ast.RelationshipPattern):
        raise binding.error(
            "InvalidRelationshipPattern",
            f"{pattern.selector}() takes one relationship between two nodes.",
            pattern.span,
            "For example shortestPath((a)-[:T*]-(b)).",
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
