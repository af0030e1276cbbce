"""Which stored lists a pattern's relationship stands for: types by their names, directions by how they are stored."""

from __future__ import annotations

from collections.abc import Sequence

from qengine._beside import Beside
from qengine._frozen import frozen
from qengine.exec.common.match_plan import SourceFlag
from qengine.exec.view import ExecView
from qengine.plan.pattern import Direction

Part = tuple[int, Direction]
"""The lists of a type in a direction."""

_MOST = 1024  # kinds of relationships of which it is kept what a graph has
_REPEATS, _LOOPS, _SYMMETRIC = int(SourceFlag.REPEATS), int(SourceFlag.LOOPS), int(SourceFlag.SYMMETRIC)


@frozen
class ListsRead:
    """The lists that a pattern's relationship stands for, and what they may hold, a ``SourceFlag``."""

    parts: tuple[Part, ...]
    flags: int


_known: Beside[ListsRead] = Beside()


def type_indices(store: ExecView, names: tuple[str, ...]) -> Sequence[int]:
    """Return the indices of types, of those that there are; of all where none is named."""
    if not names:
        return range(len(store.types))
    found = (store.type_index(name) for name in dict.fromkeys(names))
    return [index for index in found if index is not None]


def parts_read(store: ExecView, names: tuple[str, ...], direction: Direction) -> tuple[Part, ...]:
    """Return the lists that lead from a vertex to the neighbours that a pattern's relationship joins it with."""
    return lists_read(store, names, direction).parts


def lists_read(store: ExecView, names: tuple[str, ...], direction: Direction) -> ListsRead:
    """Return these lists with what they may hold."""
    known, key = _known.of(store), (names, direction)
    found = known.get(key)
    if found is None:
        if len(known) >= _MOST:
            known.clear()
        found = known[key] = _found(store, type_indices(store, names), direction)
    return found


def _found(store: ExecView, indices: Sequence[int], direction: Direction) -> ListsRead:
    infos = [store.types[index] for index in indices]
    flags = _REPEATS if any(info.parallel for info in infos) else 0
    flags |= _LOOPS if any(info.loops for info in infos) else 0
    flags |= _SYMMETRIC if all(info.undirected or direction is Direction.BOTH for info in infos) else 0
    parts = [(index, way) for index in indices for way in direction.stored(store.types[index].undirected)]
    return ListsRead(tuple(parts), flags)
