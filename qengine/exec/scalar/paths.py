"""Builds path values from the matched elements of a pattern."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from qengine.exec.scalar.environment import Environment, Row
from qengine.exec.scalar.values import NodeHandle, PathHandle


def compile_path(elements: Sequence[str], env: Environment) -> Callable[[Row], PathHandle | None]:
    """Return the path through variables ``elements``: node, relationship or list of them, node, …

    The nodes inside a list of relationships are found by walking it. Null if any element is null.
    """
    first, *rest = elements
    steps = list(zip(rest[::2], rest[1::2], strict=True))

    def path(row: Row) -> PathHandle | None:
        current = row[first]
        if current is None:
            return None
        nodes, relationships = [current], []
        for hop, end in steps:
            hops = row[hop]
            if hops is None or row[end] is None:
                return None
            for relationship in hops if type(hops) is list else [hops]:
                _, source, target = env.relationship(relationship.id)
                current = NodeHandle(target if source == current.id else source)
                nodes.append(current)
                relationships.append(relationship)
        return PathHandle(tuple(nodes), tuple(relationships))

    return path
