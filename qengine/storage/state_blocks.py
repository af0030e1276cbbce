"""New elements of a commit, many at a time: property by property rather than one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from qengine._frozen import frozen
from qengine.storage.arrays import Array
from qengine.storage.states import NodeState, RelationshipState
from qengine.storage.variant import from_python

__all__ = ["Block", "NodeBlock", "Part", "RelationshipBlock", "parts_of", "values_of"]

Columns: TypeAlias = Mapping[str, list[Any]]


@frozen
class NodeBlock:
    """New nodes with the same labels and the numbers from ``first`` on.

    ``columns``: by property the value of each of them, None for those that have none. Nobody changes these lists.
    """

    first: int
    count: int
    labels: tuple[str, ...]
    columns: Columns

    def state(self, number: int) -> NodeState:
        """Return one of the nodes."""
        return NodeState(self.labels, _properties(self.columns, number - self.first))

    def states(self) -> Iterator[tuple[int, NodeState]]:
        """Give all nodes by their numbers."""
        return ((number, self.state(number)) for number in range(self.first, self.first + self.count))


@frozen
class RelationshipBlock:
    """New relationships of one type, with the numbers from ``first`` on; ``starts``, ``ends``: int64, nodes' numbers.

    ``columns``: as of ``NodeBlock``.
    """

    first: int
    count: int
    type: str
    starts: Array
    ends: Array
    columns: Columns

    def state(self, number: int) -> RelationshipState:
        """Return one of the relationships."""
        row = number - self.first
        properties = _properties(self.columns, row)
        return RelationshipState(self.type, int(self.starts[row]), int(self.ends[row]), properties)

    def states(self) -> Iterator[tuple[int, RelationshipState]]:
        """Give all relationships by their numbers."""
        return ((number, self.state(number)) for number in range(self.first, self.first + self.count))


Block: TypeAlias = NodeBlock | RelationshipBlock


def _properties(columns: Columns, row: int) -> dict[str, Any]:
    found = ((key, values[row]) for key, values in columns.items())
    return {key: value for key, value in found if value is not None}


@frozen
class Part:
    """Rows of a block; ``rows``: int64, ascending, None for all."""

    block: Any
    rows: Array | None

    @property
    def count(self) -> int:
        """How many elements there are."""
        return int(self.block.count) if self.rows is None else len(self.rows)

    @property
    def numbers(self) -> Array:
        """The elements' numbers (int64)."""
        first: int = self.block.first
        rows = np.arange(self.block.count, dtype=np.int64) if self.rows is None else self.rows
        return rows + first

    def of(self, array: Array) -> Array:
        """Return what an array over the block has for the rows."""
        found: Array = array if self.rows is None else array[self.rows]
        return found


def parts_of(blocks: Iterable[Block], touched: Mapping[int, object]) -> list[Part]:
    """Return what the blocks say of elements that aren't among those ``touched`` one by one."""
    numbers = np.sort(np.fromiter(touched, np.int64, len(touched)))
    found = []
    for block in blocks:
        low, high = np.searchsorted(numbers, (block.first, block.first + block.count)).tolist()
        rows = None
        if low < high:
            rows = np.delete(np.arange(block.count, dtype=np.int64), numbers[low:high] - block.first)
        found.append(Part(block, rows))
    return [each for each in found if each.count]


def values_of(parts: Sequence[Part]) -> dict[str, list[tuple[Array, Any]]]:
    """Return by property which elements have values, as places (int64) in the parts, one after the other, and these.

    Raises
    ------
    StorageError
        For a value that can't be a property.
    """
    found: dict[str, list[tuple[Array, Any]]] = {}
    begin = 0
    for part in parts:
        for key, values in part.block.columns.items():
            array = from_python(values, "a property")
            array = array if part.rows is None else array.take(part.rows)
            if array.null_count < len(array):
                found.setdefault(key, []).append((np.arange(begin, begin + part.count, dtype=np.int64), array))
        begin += part.count
    return found
