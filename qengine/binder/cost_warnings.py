"""Warnings of patterns that may take long, for those who ask for the plan: EXPLAIN and PROFILE show them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from qengine.binder.binding import Binding
from qengine.plan.pattern import QueryGraph
from qengine.plan.traverse import free_variables
from qengine.syntax import ast


def warn_of_cost(binding: Binding, written: Sequence[tuple[ast.PathPattern, str]], graph: QueryGraph) -> None:
    """Warn of walks without an upper bound, and of path patterns that nothing joins.

    Parameters
    ----------
    written
        The path patterns of the match, each with the name of its first node.
    """
    for pattern, _ in written:
        for element in pattern.elements if pattern.selector in (None, "ALL") else ():
            if isinstance(element, ast.RelationshipPattern) and element.hops and element.hops.maximum is None:
                binding.notice(
                    "UnboundedWalk",
                    str(element.span),
                    "This relationship has no upper bound: every walk is followed, however long.",
                    element.span,
                    "Bound it, as in *1..5, or ask for a shortest path.",
                )
    joined = _components(graph)
    first = joined[written[0][1]]
    apart = next((pattern for pattern, name in written if joined[name] != first), None)
    if apart is not None:
        binding.notice(
            "CartesianProduct",
            str(apart.span),
            "Nothing joins this part of the pattern to the others: all its matches are combined with all of theirs.",
            apart.span,
            "Join them by a relationship or a condition, if they belong together.",
        )


def _components(graph: QueryGraph) -> dict[str, str]:
    """Return for each element a name that it shares with all that are joined to it, by whatever condition."""
    parent: dict[str, str] = {}

    def root(name: str) -> str:
        while parent.setdefault(name, name) != name:
            name = parent[name]
        return name

    def join(names: Iterable[str]) -> None:
        roots = [root(name) for name in names]
        for each in roots[1:]:
            parent[root(each)] = root(roots[0])

    given = [node.name for node in graph.nodes if node.bound] + [
        edge.name for edge in graph.relationships if edge.bound
    ]
    join(given)
    for edge in graph.relationships:
        join((edge.name, edge.start, edge.end))
    for predicate in graph.predicates:
        join(sorted(free_variables(predicate)))
    return {name: root(name) for name in (*(node.name for node in graph.nodes), *list(parent))}
