"""The blocks of new elements that an overlay keeps: which one has a number, a value, a node as an end."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from qengine.exec.scalar.compare import group_key
from qengine.storage.states import NodeBlock, RelationshipBlock

_B = TypeVar("_B", NodeBlock, RelationshipBlock)
_OWN_PLACE = frozenset((int, str))


def place_of(value: Any) -> Any:
    """Return what equal values have in common."""
    return value if type(value) in _OWN_PLACE else group_key(value)


def places_of(values: Sequence[Any]) -> Sequence[Any]:
    """Return ``place_of`` of each of some values."""
    return values if _OWN_PLACE.issuperset(map(type, values)) else [place_of(value) for value in values]


class BlockTable(Generic[_B]):
    """Blocks by their first numbers, ascending; changed by whoever has them, who then says so (``changed``)."""

    def __init__(self) -> None:
        self.by_first: dict[int, _B] = {}
        self.version = 0
        self.size = 0
        """How many elements all blocks have."""
        self._firsts: list[int] = []

    def added(self, block: _B) -> None:
        """Take note of a block that came behind all others, which costs nothing for these."""
        self.version += 1
        self.size += block.count
        self._firsts.append(block.first)

    def changed(self) -> None:
        """Take note that blocks came, went or were replaced."""
        self.version += 1
        self.size = sum(block.count for block in self.by_first.values())
        self._firsts = list(self.by_first)

    def replaced(self) -> None:
        """Take note that a block has others values: those are its elements that were."""
        self.version += 1

    def __bool__(self) -> bool:
        return bool(self.by_first)

    def __iter__(self) -> Iterator[_B]:
        return iter(self.by_first.values())

    def of(self, number: int) -> _B | None:
        """Return the block that has a number, None where none has."""
        at = bisect_right(self._firsts, number) - 1
        if at < 0:
            return None
        block = self.by_first[self._firsts[at]]
        return block if number < block.first + block.count else None


class BlockValues(Generic[_B]):
    """By key, which elements of a table's blocks have a value; gathered when a key is first asked for."""

    def __init__(self, table: BlockTable[_B]) -> None:
        self._table: BlockTable[_B] = table
        self._by_key: dict[str, _Places] = {}

    def places(self, key: str) -> _Places:
        """Return which elements have which values of a key."""
        found = self._by_key.setdefault(key, _Places(key))
        found.follow(self._table)
        return found


class _Places:
    """The elements that have the values of one key.

    Attributes
    ----------
    first
        By ``place_of`` each value the first element that has it.
    repeated
        The others, in the order of their numbers.
    """

    def __init__(self, key: str) -> None:
        self.first: dict[Any, int] = {}
        self.repeated: dict[Any, list[int]] = {}
        self._key = key
        self._version = -1
        self._columns: dict[int, list[Any] | None] = {}  # those that were taken in, by the blocks' first numbers

    def all_of(self, place: Any) -> Sequence[int]:
        """Return all elements that have a value, ascending, by its ``place_of``."""
        number = self.first.get(place)
        return () if number is None else (number, *self.repeated.get(place, ()))

    def follow(self, table: BlockTable[Any]) -> None:
        """Take in what has changed of the blocks."""
        if self._version == table.version:
            return
        now = {first: block.columns.get(self._key) for first, block in table.by_first.items()}
        if any(first not in now or now[first] is not column for first, column in self._columns.items()):
            self.first, self.repeated, self._columns = {}, {}, {}
        for first, column in now.items():
            if first not in self._columns and column is not None:
                self._add(first, column)
        self._columns, self._version = now, table.version

    def _add(self, first: int, column: list[Any]) -> None:
        places = places_of(column)
        fresh = dict(zip(places, range(first, first + len(column)), strict=True))
        if len(fresh) == len(column) and None not in fresh and self.first.keys().isdisjoint(fresh):
            self.first.update(fresh)
            return
        for number, place in enumerate(places, first):
            if place is not None and self.first.setdefault(place, number) != number:
                self.repeated.setdefault(place, []).append(number)


class BlockLinks:
    """Which relationships of a table's blocks begin or end at a node, or lead from one to another."""

    def __init__(self, table: BlockTable[RelationshipBlock]) -> None:
        self._table = table
        self._version = -1
        self._ends: dict[int, tuple[Any, Any]] = {}  # of the blocks that were taken in, by their first numbers
        self._of: dict[int, list[int]] = {}
        self._between: dict[tuple[int, int], list[int]] = {}

    def of(self, node: int) -> Iterable[int]:
        """Return the numbers of those that a node is an end of, each once."""
        self._follow()
        return self._of.get(node, ())

    def between(self, start: int, end: int) -> Iterable[int]:
        """Return the numbers of those that lead from one node to another."""
        self._follow()
        return self._between.get((start, end), ())

    def _follow(self) -> None:
        if self._version == self._table.version:
            return
        now = {first: (block.starts, block.ends) for first, block in self._table.by_first.items()}
        if any(first not in now or now[first][0] is not ends[0] for first, ends in self._ends.items()):
            self._ends, self._of, self._between = {}, {}, {}
        for first, (starts, ends) in now.items():
            if first not in self._ends:
                self._add(first, starts.tolist(), ends.tolist())
        self._ends, self._version = now, self._table.version

    def _add(self, first: int, starts: list[int], ends: list[int]) -> None:
        of, between = self._of, self._between
        for number, (start, end) in enumerate(zip(starts, ends, strict=True), first):
            of.setdefault(start, []).append(number)
            if end != start:
                of.setdefault(end, []).append(number)
            between.setdefault((start, end), []).append(number)
