"""Which stored lists a pattern's relationship stands for: types by their names, directions by how they are stored."""

from __future__ import annotations

from collections.abc import Sequence

from qengine.exec.view import ExecView
from qengine.plan.pattern import Direction

Part = tuple[int, Direction]
"""The lists of a type in a direction."""


def type_indices(store: ExecView, names: tuple[str, ...]) -> Sequence[int]:
    """Return the indices of types, of those that there are; of all where none is named."""
    if not names:
        return range(len(store.types))
    found = (store.type_index(name) for name in dict.fromkeys(names))
    return [index for index in found if index is not None]


def stored_ways(store: ExecView, index: int, direction: Direction) -> tuple[Direction, ...]:
    """Return the stored directions of a type that a pattern's direction stands for."""
    if store.types[index].undirected:
        return (Direction.BOTH,)
    return (Direction.OUT, Direction.IN) if direction is Direction.BOTH else (direction,)


def parts_read(store: ExecView, names: tuple[str, ...], direction: Direction) -> tuple[Part, ...]:
    """Return the lists that lead from a vertex to the neighbours that a pattern's relationship joins it with."""
    indices = type_indices(store, names)
    return tuple([(index, way) for index in indices for way in stored_ways(store, index, direction)])
