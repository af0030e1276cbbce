"""A property of a sample's rows, and for which of them comparisons of it are true."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from qengine._cached import cached_property
from qengine._lru import LruCache
from qengine.storage.arrays import Array
from qengine.storage.columns import PropertyColumn, is_ordered
from qengine.temporal.arrow import to_values
from qengine.temporal.arrow_numbers import number_beside, numbers_in
from qengine.temporal.values import FIELDS

_ASKED = 32  # comparisons of texts, each of which Arrow does in a fiftieth of the time that sorting them takes
_ASKED_OF_FEW = 4  # the same, of few different texts
_FIRST, _FEW = 256, 64  # rows that are looked at for that, and how many different texts they have then
_ANSWERS = 1 << 16  # bytes of what comparisons told last: other patterns, and other statements, ask the same again
_EXACT = 1 << 53  # integers up to which floats have all
_BITS = 63  # of a number's fraction that hold all integers
_ARROW = {
    "=": pc.equal, "<>": pc.not_equal,
    "<": pc.less, "<=": pc.less_equal, ">": pc.greater, ">=": pc.greater_equal,
}  # fmt: skip


class SampledColumn:
    """One property of a sample's rows, by an Arrow array or by ``values``, ``codes`` and ``numbers``. ``kind``: its
    type.

    What conditions don't ask for isn't made.
    """

    def __init__(
        self, kind: Any, array: Any = None, coded: tuple[list[Any], Array] | None = None, numbers: Array | None = None
    ) -> None:
        self.kind = kind
        self._array = array
        self._asked = 0
        self._fields: dict[str, SampledColumn] = {}
        self._answers: LruCache[Array] = LruCache(_ANSWERS, size=attrgetter("nbytes"))
        if coded is not None:
            self._coded = coded
            self.numbers = numbers

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays; values aside."""
        made = [self.__dict__.get("numbers"), self.__dict__.get("_coded", (None, None))[1], self._array]
        own: int = sum(each.nbytes for each in [*made, *self._fields.values()] if each is not None)
        return own + self._answers.held

    @property
    def values(self) -> list[Any]:
        """The different values, ascending."""
        return self._coded[0]

    @property
    def codes(self) -> Array:
        """Each row's place among the values, -1 for null: int32[rows]."""
        return self._coded[1]

    @cached_property
    def _coded(self) -> tuple[list[Any], Array]:
        encoded = self._array.dictionary_encode()
        order = pc.array_sort_indices(encoded.dictionary)
        rank = np.empty(len(order) + 1, np.int32)
        rank[order.to_numpy()] = np.arange(len(order))
        rank[-1] = -1
        codes = rank[encoded.indices.fill_null(len(order)).to_numpy()]
        return to_values(encoded.dictionary.take(order)), codes

    @cached_property
    def numbers(self) -> Array | None:
        """float64[rows], or longdouble for large integers, where the values are numbers, NaN for null; else None."""
        if not (pa.types.is_integer(self.kind) or pa.types.is_floating(self.kind)):
            return None
        numbers: Array = self._array.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy()
        if pa.types.is_integer(self.kind) and (np.abs(numbers) > _EXACT).any():
            numbers = self._array.fill_null(0).to_numpy().astype(np.longdouble)
            numbers[self.missing] = np.nan
        return numbers

    @cached_property
    def _moments(self) -> Array:
        """What the array holds of dates and times: int64[rows]."""
        numbers: Array = numbers_in(self._array)
        return numbers

    @cached_property
    def missing(self) -> Array:
        """Which rows have no value: bool[rows]."""
        if self._array is None:
            return self.codes < 0
        nulls: Array = self._array.is_null().to_numpy(zero_copy_only=False)
        return nulls

    @cached_property
    def complete(self) -> bool:
        """Whether each row has a value."""
        return not self.missing.any()

    @cached_property
    def _exact(self) -> bool:
        """Whether ``numbers`` hold all values as they are."""
        if self.numbers is None:
            return False
        whole = np.finfo(self.numbers.dtype).nmant >= _BITS or not (np.abs(self.numbers) > _EXACT).any()
        return pa.types.is_floating(self.kind) or whole

    def compare(self, op: str, value: Any, *, keep: bool = True) -> Array | None:
        """Return of which rows ``row OP value`` is true: bool[rows]; None where values can't be compared.

        ``keep``: the answer, which may be asked for again.
        """
        if not keep or isinstance(value, list | dict):
            return self._compare(op, value)
        key = op, type(value), value
        found = self._answers.find(key)
        if found is None and (found := self._compare(op, value)) is not None:
            found.flags.writeable = False
            self._answers.get(key, lambda: found)
        return found

    @cached_property
    def _most_asked(self) -> int:
        """How many comparisons of texts Arrow does before these are sorted."""
        few = len(set(self._array.slice(0, _FIRST).to_pylist())) < _FEW
        return _ASKED_OF_FEW if few else _ASKED

    def _compare(self, op: str, value: Any) -> Array | None:
        if isinstance(value, int | float) and not isinstance(value, bool):
            if self._exact or (self.numbers is not None and isinstance(value, float)):
                return self.present(_compared(op, self.numbers, value))
        elif "_coded" not in self.__dict__:
            if isinstance(value, str) and pa.types.is_string(self.kind) and self._asked < self._most_asked:
                self._asked += 1
                found = _ARROW[op](self._array, value).fill_null(False)
                return np.asarray(found.to_numpy(zero_copy_only=False))
            if isinstance(beside := number_beside(op, self.kind, value), tuple):
                return self.present(_compared(beside[0], self._moments, beside[1]))
        if not self.values:
            return np.zeros(len(self.codes), np.bool_)
        if type(value) is not type(self.values[0]):
            return None
        low, high = bisect_left(self.values, value), bisect_right(self.values, value)
        match op:
            case "<" | ">=":
                found = self.codes < low
            case "<=" | ">":
                found = self.codes < high
            case _ if low == high:
                found = np.zeros(len(self.codes), np.bool_)
            case _:
                found = self.codes == low
        return self.present(~found if op in (">", ">=", "<>") else found)

    def against(self, op: str, other: SampledColumn) -> Array | None:
        """Return of which rows ``row OP row of other`` is true; None where that can't be told."""
        if self.numbers is not None and other.numbers is not None:
            found: Array = _compared(op, self.numbers, other.numbers)
        elif self.values is other.values:
            found = _compared(op, self.codes, other.codes)
        elif self.kind != other.kind:
            return None
        elif op in ("=", "<>"):
            found = _compared(op, self.keys, other.keys)
        else:
            places = np.array([bisect_left(self.values, each) for each in other.values] or [0], np.int64)
            same = np.array([at < len(self.values) and self.values[at] == each
                             for at, each in zip(places.tolist(), other.values, strict=False)] or [False])  # fmt: skip
            theirs = 2 * places[other.codes] - ~same[other.codes]  # between two of ours where it is none of them
            found = _compared(op, 2 * self.codes, theirs)
        return self.present(other.present(found))

    @cached_property
    def keys(self) -> Array:
        """A number for each row that is equal where values are."""
        return np.array([hash(each) for each in self.values] or [0], np.int64)[self.codes]

    def present(self, found: Array) -> Array:
        """Return which of the rows found have a value."""
        return found if self.complete else found & ~self.missing

    def where(self, tested: Callable[[Sequence[Any]], list[bool] | None]) -> Array:
        """Return for which rows a test of the value is true, given what tells it of all values; None: of none."""
        known = np.array(tested(self.values) or [False] * (len(self.values) + 1), np.bool_)
        return self.present(known[self.codes])

    def mapped(self, function: Callable[[Any], Any]) -> SampledColumn:
        """Return the column of what a function gives for each value; see ``catalog.view.SampledColumn``."""
        given = [function(each) for each in self.values]
        values = sorted(set(given))
        places = {each: place for place, each in enumerate(values)}
        codes = np.array([places[each] for each in given] + [-1], np.int32)[self.codes]
        numbers = None
        if values and isinstance(values[0], int):
            numbers = np.array([*values, np.nan])[codes]
        return SampledColumn(self.kind if numbers is None else pa.int64(), None, (values, codes), numbers)

    def field(self, name: str) -> SampledColumn | None:
        """Return the column of a field of temporal values, made once; None where one has none of this name."""
        if name not in self._fields:
            kinds = set(map(type, self.values))
            if not kinds or any(name not in FIELDS.get(kind, ()) for kind in kinds):
                return None
            if any(getattr(each, name) is None for each in self.values):
                return None
            self._fields[name] = self.mapped(attrgetter(name))
        return self._fields[name]

    def at(self, rows: Array) -> SampledColumn:
        """Return the column of some rows."""
        numbers = None if self.numbers is None else self.numbers[rows]
        return SampledColumn(self.kind, None, (self.values, self.codes[rows]), numbers)


def sampled_column(column: PropertyColumn | None, ids: Array) -> SampledColumn | None:
    """Return a property of some elements, by their ids; None where its values can't be compared."""
    if column is None:
        return SampledColumn(pa.null(), pa.nulls(len(ids)), ([], np.full(len(ids), -1, np.int32)))
    array = column.take(ids)
    return SampledColumn(array.type, array) if is_ordered(array.type) else None


def _compared(op: str, left: Any, right: Any) -> Array:
    match op:
        case "=":
            found = left == right
        case "<>":
            found = left != right
        case "<":
            found = left < right
        case "<=":
            found = left <= right
        case ">":
            found = left > right
        case _:
            found = left >= right
    return np.asarray(found)
