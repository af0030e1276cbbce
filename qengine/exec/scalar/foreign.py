"""Refuses nodes and relationships of another graph as parameters: ids mean something in one graph alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from qengine.errors import ExecutionError
from qengine.exec.scalar.values import Given
from qengine.exec.view import GraphReader
from qengine.types import Node, Relationship

__all__ = ["check_of_graph"]


def check_of_graph(given: Sequence[Given], store: GraphReader) -> None:
    """Check that what was given with parameters is in the graph, with the same labels or type, and properties.

    Parameters
    ----------
    given
        The parameters' names, each with a node or a relationship.
    store
        A ``GraphStore``.

    Raises
    ------
    ExecutionError
        ``InvalidArgumentValue`` for the first that isn't.
    """
    nodes = [(name, each) for name, each in given if isinstance(each, Node)]
    relationships = [(name, each) for name, each in given if isinstance(each, Relationship)]
    _check(nodes, store.vertex_count, store.nodes)
    _check(relationships, sum(kind.count for kind in store.types), store.relationships)


def _check(given: Sequence[Given], count: int, read: Any) -> None:
    for name, each in given:
        if not 0 <= each.id < count:
            raise _foreign(name, each)
    for (name, each), own in zip(given, read([each.id for _, each in given]) if given else (), strict=True):
        if not _same(each, own):
            raise _foreign(name, each)


def _same(one: Any, other: Any) -> bool:
    facts = ("labels",) if isinstance(one, Node) else ("type", "start", "end")
    if any(getattr(one, fact) != getattr(other, fact) for fact in facts):
        return False
    mine, its = dict(one.properties), dict(other.properties)
    return mine == its or repr(mine) == repr(its)  # NaN is equal to nothing


def _foreign(name: str, entity: Node | Relationship) -> ExecutionError:
    kind = "node" if isinstance(entity, Node) else "relationship"
    return ExecutionError(
        f"${name} holds a {kind} of another graph.",
        code="InvalidArgumentValue",
        hint="Give what a result of this graph has, or a property to find it by.",
    )
