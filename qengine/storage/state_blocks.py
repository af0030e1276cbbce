"""What a commit says of new elements many at a time, as the next version takes it: numbers and columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from qengine._frozen import frozen
from qengine.storage.arrays import Array
from qengine.storage.states import Block
from qengine.storage.variant import from_python


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
            array = from_python(values, "a property") if isinstance(values, list) else values
            array = array if part.rows is None else array.take(pa.array(part.rows))
            if array.null_count < len(array):
                found.setdefault(key, []).append((np.arange(begin, begin + part.count, dtype=np.int64), array))
        begin += part.count
    return found
