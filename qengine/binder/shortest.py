"""Selected paths: which selector a pattern asks for.

``shortestPath()`` and ``allShortestPaths()`` choose among the paths that satisfy the WHERE; GQL's selectors choose
first and filter then.
"""

from __future__ import annotations

from qengine.binder.binding import Binding
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
        if isinstance(element, (ast.RelationshipPattern, ast.QuantifiedPath))
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
