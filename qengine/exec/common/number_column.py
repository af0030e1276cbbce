"""``NumberColumn``: floats, some of which stand for integers, as sums are where some groups had no float."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from qengine.exec.common.columns import BoolArray, Column, MaskedColumn


class NumberColumn(MaskedColumn):
    """Floats and integers, none null.

    Parameters
    ----------
    numbers
        float64, of each row; an integer is less than 2**53, so that it is exact.
    whole
        Which rows are integers.
    """

    __slots__ = ("numbers", "whole")

    def __init__(self, numbers: npt.NDArray[np.float64], whole: BoolArray) -> None:
        self.numbers = numbers
        self.whole = whole
        self.null = None

    def __len__(self) -> int:
        return len(self.numbers)

    def _at(self, which: Any) -> Column:
        return NumberColumn(self.numbers[which], self.whole[which])

    def values(self) -> list[Any]:
        """Return an ``int`` or a ``float`` for each row."""
        found: list[Any] = self.numbers.tolist()
        for row in np.flatnonzero(self.whole).tolist():
            found[row] = int(found[row])
        return found

    @property
    def nbytes(self) -> int:
        """Bytes of the parts."""
        return self.numbers.nbytes + self.whole.nbytes

    def joined(self, columns: Sequence[Column]) -> Column | None:
        """Return the rows of all columns, where all are of this class."""
        alike = [each for each in columns if isinstance(each, NumberColumn)]
        if len(alike) < len(columns):
            return None
        return NumberColumn(*(np.concatenate([getattr(each, part) for each in alike]) for part in self.__slots__))

    def array(self) -> Any:
        """Return an Arrow array: of one type where all rows are of one, else a dense union, as of any values."""
        parts = [pa.array(self.numbers[~self.whole]), pa.array(self.numbers[self.whole].astype(np.int64))]
        if not len(parts[0]) or not len(parts[1]):
            return parts[1] if len(parts[1]) else parts[0]
        before = np.cumsum(self.whole, dtype=np.int32)
        offsets = np.where(self.whole, before - 1, np.arange(len(self), dtype=np.int32) - before)
        return pa.UnionArray.from_dense(pa.array(self.whole.view(np.int8)), pa.array(offsets), parts, ["float", "int"])
