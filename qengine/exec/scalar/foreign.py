"""Finds the nodes and relationships that parameters hold, by their numbers; those of another graph are refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from qengine.errors import ExecutionError
from qengine.exec.scalar.values import Given
from qengine.exec.view import GraphReader
from qengine.storage.numbers import Numbers
from qengine.types import Node, Relationship


def find_in_graph(given: Sequence[Given], store: GraphReader) -> None:
    """Find what was given with parameters in the graph.

    In a graph that was never changed it must have the same labels or type, and properties, so that an element of
    another graph is told apart.

    Parameters
    ----------
    given
        What the parameters hold. Their handles get the internal ids.
    store
        A ``GraphStore``.

    Raises
    ------
    ExecutionError
        ``InvalidArgumentValue`` for the first that isn't there.
    """
    nodes = [each for each in given if isinstance(each[1], Node)]
    relationships = [each for each in given if isinstance(each[1], Relationship)]
    _find(nodes, store.node_numbers, store.nodes)
    _find(relationships, store.relationship_numbers, store.relationships)


def _find(given: Sequence[Given], numbers: Numbers, read: Callable[[list[int]], list[Any]]) -> None:
    if not given:
        return
    ids = numbers.places([each.id if 0 <= each.id < 2**63 else -1 for _, each, _ in given]).tolist()
    for (name, each, handle), own, id in zip(given, read(ids), ids, strict=True):
        if own is None or not (numbers.changed or _same(each, own)):
            raise _foreign(name, each)
        handle.id = id


def _same(one: Any, other: Any) -> bool:
    facts = ("labels",) if isinstance(one, Node) else ("type", "start", "end")
    if any(getattr(one, fact) != getattr(other, fact) for fact in facts):
        return False
    mine, its = dict(one.properties), dict(other.properties)
    return mine == its or repr(mine) == repr(its)  # NaN is equal to nothing


def _foreign(name: str, entity: Node | Relationship) -> ExecutionError:
    kind = "node" if isinstance(entity, Node) else "relationship"
    return ExecutionError(
        f"{name} holds a {kind} of another graph.",
        code="InvalidArgumentValue",
        hint="Give what a result of this graph has, or a property to find it by.",
    )
