"""Text properties read late: a column remembers whose property it is, and its strings are taken only where needed.

Grouping, ordering and comparing need no strings at all where a property has few different ones: the graph keeps the
place of each element's string in the order of all different ones, its *code*, made when it is first asked for (order-
preserving dictionary compression: Antoshenkov, Lomet, Murray, "Order Preserving Compression", ICDE 1996).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from qengine.exec.common.columns import (
    ArrowColumn,
    BoolArray,
    Column,
    ConstantColumn,
    IntArray,
    text_offsets,
)
from qengine.exec.common.dealing import made_of
from qengine.exec.context import ExecutionContext
from qengine.exec.view import ExecView
from qengine.storage.columns import PropertyColumn
from qengine.storage.patched_columns import Change

_LEAST = 1_024
"""Rows that are worth making codes for."""

_SAMPLED, _MOST_DIFFERENT = 65_536, 0.5
"""Of all values at most this part may differ, else codes would be as large as the strings; of so many it is known
before all are looked at. A small sample has few strings twice even where all are of a few thousand."""


_Parts: TypeAlias = tuple[NDArray[np.int32], Any, int]
"""Codes, strings, and the first id."""


class Codes:
    """The codes of a property: int32, -1 for null, the last -1 for ids that the property lacks. ``texts``: by code.

    ``begin``: the id of the first code.
    """

    __slots__ = ("_made", "_make", "_ordered", "nbytes")

    def __init__(self, codes: NDArray[np.int32], texts: Any, begin: int = 0) -> None:
        self._made: _Parts | None = (codes, texts, begin)
        self._make: Callable[[], _Parts] | None = None
        self._ordered: OrderedTexts | None = None
        self.nbytes = int(codes.nbytes + texts.nbytes)

    @property
    def codes(self) -> NDArray[np.int32]:
        """The code of each id, the last of those that there aren't."""
        return self._parts()[0]

    @property
    def texts(self) -> Any:
        """The different strings, in order."""
        return self._parts()[1]

    def _parts(self) -> _Parts:
        if self._made is None:
            assert self._make is not None
            self._made = self._make()
            self._make = None
        return self._made

    def with_change(self, change: Change) -> Codes:
        """Return the codes of the column in which some values differ, made when somebody asks for them."""
        if self is _NONE:
            return self
        found = copy(self)
        found._made, found._make, found._ordered = None, lambda: self._changed(*change()), None
        return found

    def _changed(self, ids: IntArray, values: Any) -> _Parts:
        codes, texts, begin = self._parts()
        values = values.cast(texts.type)
        new = pc.unique(values).drop_null()
        new = new.filter(pc.invert(pc.is_in(new, texts)))
        if len(new):
            whole = pa.concat_arrays([texts, new])
            order = pc.sort_indices(whole).to_numpy()
            rank = np.empty(len(order) + 1, np.int32)
            rank[order] = np.arange(len(order), dtype=np.int32)
            rank[-1] = -1
            codes, texts = rank[codes], whole.take(order)
        first, end = min(begin, int(ids[0])), max(begin + len(codes) - 1, int(ids[-1]) + 1)
        found = np.full(end - first + 1, -1, np.int32)
        found[begin - first : begin - first + len(codes) - 1] = codes[:-1]
        found[ids - first] = pc.index_in(values, texts).fill_null(-1).to_numpy()
        return found, texts, first

    def decoded(self, codes: IntArray) -> PropertyTexts:
        """Return the strings of codes, null for -1, as a column that knows their codes."""
        if self._ordered is None:
            self._ordered = OrderedTexts(self.texts)
        return PropertyTexts(self._ordered, codes.astype(np.int64, copy=False))

    def place(self, text: str) -> tuple[int, bool]:
        """Return how many of the strings stand before ``text``, and whether it is one of them."""
        low, high = 0, len(self.texts)
        while low < high:
            middle = (low + high) // 2
            if self.texts[middle].as_py() < text:
                low = middle + 1
            else:
                high = middle
        return low, low < len(self.texts) and self.texts[low].as_py() == text


_NONE = Codes(np.zeros(0, np.int32), pa.array([], pa.string()))
"""For a property with too many different strings."""


class TextProperty:
    """One property of strings, of nodes or of the relationships of a type. ``key`` names it in the graph's cache."""

    __slots__ = ("column", "key", "store")

    def __init__(self, store: ExecView, column: PropertyColumn, key: tuple[object, ...]) -> None:
        self.store = store
        self.column = column
        self.key = ("codes", *key)

    def codes(self, rows: int) -> Codes | None:
        """Return the codes, made now if the graph doesn't keep them and ``rows`` are many; None without them."""
        cached = self.store.derived
        found = cached.find(self.key) if rows < _LEAST else cached.get(self.key, self._made)
        return None if found is None or found is _NONE else found

    def ranks(self) -> Any:
        """Return the column with an int64 in place of each string, in their order, the same for the same: Arrow's.

        The graph keeps it.
        """
        return self.store.derived.get(("ranks", *self.key), self._ranked)

    def _ranked(self) -> Any:
        found = self.codes(max(_LEAST, len(self.column.array))) or _coded(self.column)
        codes = found.codes[:-1]
        return pa.array(codes, pa.int64(), mask=codes < 0)

    def _made(self) -> Codes:
        array = self.column.array
        sample = array.slice(0, _SAMPLED)
        if len(pc.unique(sample)) > _MOST_DIFFERENT * len(sample):
            return _NONE
        found = _coded(self.column)
        return _NONE if len(found.texts) > _MOST_DIFFERENT * len(array) else found


class OrderedTexts:
    """Different strings in their order, like a property of which each is the value of its code."""

    __slots__ = ("_codes", "column")

    def __init__(self, texts: Any) -> None:
        self.column = PropertyColumn(0, texts)
        self._codes = Codes(np.append(np.arange(len(texts), dtype=np.int32), np.int32(-1)), texts)

    def codes(self, rows: int) -> Codes:
        """Return the codes, however few ``rows`` ask."""
        return self._codes


def _coded(column: PropertyColumn) -> Codes:
    encoded = column.array.dictionary_encode()
    order = pc.sort_indices(encoded.dictionary)
    rank = np.empty(len(order) + 1, np.int32)
    rank[order.to_numpy()] = np.arange(len(order), dtype=np.int32)
    rank[-1] = -1
    places = encoded.indices.fill_null(len(order)).to_numpy()
    return Codes(np.append(rank[places], np.int32(-1)), encoded.dictionary.take(order), column.begin)


class PropertyTexts(ArrowColumn):
    """A text property of some elements, a row each.

    Parameters
    ----------
    of
        The property.
    ids
        int64, by which its column has them; -1 and others that it doesn't cover: null. None for all of ``bounds``.
    bounds
        The ids ``[begin, end)``, where rows are those.
    """

    __slots__ = ("_array", "_ids", "bounds", "of")

    def __init__(
        self, of: TextProperty | OrderedTexts, ids: IntArray | None, bounds: tuple[int, int] | None = None
    ) -> None:
        self.of = of
        self._ids = ids
        self.bounds = bounds
        self._array: Any = None

    @property
    def array(self) -> Any:
        """The strings, taken when first asked for."""
        if self._array is None:
            column = self.of.column
            self._array = column.take(self.ids) if self.bounds is None else column.slice(*self.bounds)
        return self._array

    def made(self, context: ExecutionContext) -> Any:
        """Return ``array``, taken by all threads. Errors as of ``deal``."""
        if self._array is None and self.bounds is None and not self._is_picked:
            column, ids = self.of.column, self.ids
            parts = made_of(len(ids), lambda part: column.take(ids[part]), context)
            self._array = parts[0] if len(parts) == 1 else pa.concat_arrays(parts)
        return self.array

    @property
    def type(self) -> Any:
        return self.of.column.arrow_type

    @property
    def has_nulls(self) -> bool:
        if self._is_picked:
            return bool(self.array.null_count)
        return bool(self._outside().any()) or (self.of.column.array.null_count > 0 and self.array.null_count > 0)

    def __len__(self) -> int:
        if self.bounds is not None:
            return self.bounds[1] - self.bounds[0]
        assert self._ids is not None
        return len(self._ids)

    @property
    def ids(self) -> IntArray:
        """The id of each row, int64."""
        if self._ids is None:
            assert self.bounds is not None
            self._ids = np.arange(*self.bounds, dtype=np.int64)
        return self._ids

    def take(self, indices: IntArray) -> Column:
        return PropertyTexts(self.of, self.ids[indices])

    def slice(self, offset: int, length: int) -> Column:
        if self.bounds is not None:
            begin = min(self.bounds[0] + offset, self.bounds[1])
            return PropertyTexts(self.of, None, (begin, min(begin + length, self.bounds[1])))
        return PropertyTexts(self.of, self.ids[offset : offset + length])

    def is_null(self) -> BoolArray:
        if self._array is None and not self._is_picked:
            if self.of.column.array.null_count == 0:
                return self._outside()
            if self.of.codes(0) is not None and (coded := self.codes()) is not None:  # they are there already
                return coded[0] < 0
        return ArrowColumn(self.array).is_null()

    @property
    def nbytes(self) -> int:
        """Bytes of the strings."""
        if self._array is not None or self._is_picked:
            return int(self.array.nbytes)
        return int(self.widths().sum()) + 4 * len(self)

    @property
    def _is_picked(self) -> bool:
        """Whether the strings are taken for less than it takes to make their column."""
        return self.bounds is None and self.of.column.picks(len(self))

    def widths(self) -> IntArray:
        if self._is_picked:
            found: IntArray = np.diff(text_offsets(self.array)).astype(np.int64)
            return found
        offsets = text_offsets(self.of.column.array)
        outside = self._outside()
        places = np.where(outside, 0, self.ids - self.of.column.begin)
        if len(offsets) == 1:
            return np.zeros(len(self), np.int64)
        return np.where(outside, 0, offsets[places + 1] - offsets[places]).astype(np.int64)

    def joined(self, columns: Sequence[Column]) -> Column | None:
        ids: list[IntArray] = []
        for each in columns:
            if isinstance(each, PropertyTexts) and each.of.column is self.of.column:
                ids.append(each.ids)
            elif isinstance(each, ConstantColumn) and each.value is None:
                ids.append(np.full(len(each), -1, np.int64))
            else:
                return None
        return PropertyTexts(self.of, np.concatenate(ids))

    def codes(self) -> tuple[IntArray, Codes] | None:
        """Return the code of each row, -1 for null, and what codes stand for; None where the property has none."""
        found = self.places()
        return None if found is None else (found[0].astype(np.int64), found[1])

    def places(self) -> tuple[NDArray[np.int32], Codes] | None:
        """Return the same as ``codes``, as they are kept."""
        found = self.of.codes(len(self))
        if found is None:
            return None
        column = self.of.column
        if self.bounds is not None and column.begin <= self.bounds[0] and self.bounds[1] <= column.end:
            codes = found.codes[self.bounds[0] - column.begin : self.bounds[1] - column.begin]
        else:
            places = self.ids - column.begin if column.begin else self.ids
            if len(places) and places.view(np.uint64).max() >= column.length:  # negative ones are large
                places = np.where(self._outside(), -1, places)
            codes = found.codes.take(places)
        return codes, found

    def _outside(self) -> BoolArray:
        """Return where the property has no values: its column doesn't cover the id."""
        column = self.of.column
        if self.bounds is not None and column.begin <= self.bounds[0] and self.bounds[1] <= column.end:
            return np.zeros(len(self), np.bool_)
        outside: BoolArray = (self.ids < column.begin) | (self.ids >= column.end)
        return outside
