"""Builds path values; the ends of the relationships inside lists are looked up for all rows at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from qengine.exec.common.columns import Column, ListColumn, NodeColumn, ObjectColumn, RelationshipColumn
from qengine.exec.common.runtime import Runtime
from qengine.exec.scalar.values import NodeHandle, PathHandle, RelationshipHandle

__all__ = ["paths"]

_CHECKED_HOPS, _CHECKED_ROWS = 1 << 14, 1 << 12  # that are walked between two looks at the clock

# What a hop adds to a path: the relationships, and the nodes behind each of them.
_Hop = tuple[list[RelationshipHandle], list[NodeHandle]]


def paths(elements: Sequence[Column], runtime: Runtime) -> Column | None:
    """Return the path through node, relationship or list of relationships, node, … of each row.

    Null where an element is null. None where a column has neither nodes nor relationships.
    """
    nodes, hops = elements[::2], elements[1::2]
    if not all(isinstance(column, NodeColumn) for column in nodes) or not all(map(_walkable, hops)):
        return None
    length = len(elements[0])
    walked: list[PathHandle | None] = [
        None if first is None else PathHandle((first,), ()) for first in elements[0].values()
    ]
    for start, hop, end in zip(nodes, hops, nodes[1:], strict=False):
        steps = _list_steps(start, hop, runtime) if isinstance(hop, ListColumn) else _single_steps(hop, end)
        known = ~end.is_null()
        for row in range(length):
            if not row % _CHECKED_ROWS:
                runtime.context.check()
            path, step = walked[row], steps[row]
            if path is None or step is None or not known[row]:
                walked[row] = None
            else:
                walked[row] = PathHandle((*path.nodes, *step[1]), (*path.relationships, *step[0]))
    return ObjectColumn(list(walked))


def _walkable(column: Column) -> bool:
    if isinstance(column, ListColumn):
        return isinstance(column.items, RelationshipColumn) or len(column.items) == 0
    return isinstance(column, RelationshipColumn)


def _single_steps(hop: Column, end: Column) -> list[_Hop | None]:
    return [
        None if relationship is None or node is None else ([relationship], [node])
        for relationship, node in zip(hop.values(), end.values(), strict=True)
    ]


def _list_steps(start: Column, hops: ListColumn, runtime: Runtime) -> list[_Hop | None]:
    """Walk each list from its row's start: a relationship leads from the node reached so far to its other end."""
    items = hops.flat()
    ids = items.ids if isinstance(items, RelationshipColumn) else np.zeros(0, dtype=np.int64)
    sources, targets = (ends.tolist() for ends in runtime.store.endpoints(ids))
    offsets = hops.offsets().tolist()
    nulls = hops.is_null()
    relationships = items.values()
    steps: list[_Hop | None] = []
    check = runtime.context.check
    pause = 0
    for row, first in enumerate(start.values()):
        if offsets[row] >= pause:
            check()
            pause = offsets[row] + _CHECKED_HOPS
        if first is None or nulls[row]:
            steps.append(None)
            continue
        reached = first.id
        found: list[NodeHandle] = []
        begin, end = offsets[row], offsets[row + 1]
        for place in range(begin, end):
            reached = targets[place] if sources[place] == reached else sources[place]
            found.append(NodeHandle(reached))
        steps.append((relationships[begin:end], found))
    return steps
