"""Values as numbers in their order under ``<``, and rows that are found by it: what lies between two values.

Values of different classes are not ordered; integers and floats are of one. A number that stands for a value is a
double, so close integers, and moments, may share theirs: what is found by it is then more than what lies between.
Strings are kept, as UTF-8, whose order is that of code points.
"""

from __future__ import annotations

from math import isnan
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from qengine._frozen import frozen
from qengine.exec.common.columns import ArrowColumn, BoolArray, Column, ConstantColumn, IntArray, ListColumn
from qengine.storage.normal import is_string
from qengine.temporal import Date, DateTime, LocalDateTime, LocalTime, Time
from qengine.temporal.arrow import UNITS

NONE, NUMBER, _TEXT, _BOOLEAN, _LIST, _DATE, _LOCAL_TIME, _TIME, _LOCAL_DATE_TIME, _DATE_TIME = range(10)
"""Classes of values: of none there is an order, as of null, NaN, nodes and maps."""

_EXACT = 2.0**53
_INSTANTS = {
    Date: (_DATE, "days"),
    LocalTime: (_LOCAL_TIME, "nanoseconds"),
    Time: (_TIME, "utc"),
    LocalDateTime: (_LOCAL_DATE_TIME, "nanoseconds"),
    DateTime: (_DATE_TIME, "utc"),
}
_NO_TEXTS = pa.array([], pa.large_binary())

Doubles = NDArray[np.float64]


@frozen
class OrderWords:
    """Classes, int8, of n values, and the numbers, float64, that stand for them.

    ``texts``: the strings among them, in their order, as Arrow's large_binary. ``exact``: numbers, strings and truth
    values are told apart by these, and there are no others that have an order.
    """

    classes: NDArray[np.int8]
    words: Doubles
    texts: Any
    exact: bool


def order_words(column: Column) -> OrderWords:
    """Return what stands for the values of a column in their order."""
    count = len(column)
    if isinstance(column, ConstantColumn) and column.value is not None:
        column = column.expanded()
    if isinstance(column, ArrowColumn):
        return _of_array(column.array)
    if isinstance(column, ConstantColumn) or not count:
        return _unordered(count)
    if isinstance(column, ListColumn):
        classes = np.where(column.is_null(), NONE, _LIST).astype(np.int8)
        return OrderWords(classes, np.zeros(count), _NO_TEXTS, False)
    return _of_values(column.values())


def _unordered(count: int) -> OrderWords:
    return OrderWords(np.zeros(count, np.int8), np.zeros(count), _NO_TEXTS, True)


def _of_array(array: Any) -> OrderWords:
    kind, count = array.type, len(array)
    texts, exact, unit = _NO_TEXTS, True, 1
    if is_string(kind):
        of, words = _TEXT, np.zeros(count)
        texts = (array.drop_null() if array.null_count else array).cast(pa.large_binary())
    elif pa.types.is_boolean(kind):
        of, words = _BOOLEAN, array.fill_null(False).to_numpy(zero_copy_only=False).astype(np.float64)
    elif pa.types.is_int64(kind) or pa.types.is_float64(kind):
        of, words = NUMBER, _numbers(array, kind.to_pandas_dtype())
        exact = pa.types.is_float64(kind) or not bool((np.abs(words) >= _EXACT).any())
    elif pa.types.is_date32(kind):
        of, words = _DATE, _numbers(array, np.int32)
    elif pa.types.is_time64(kind) or pa.types.is_timestamp(kind):
        of = _LOCAL_TIME if pa.types.is_time64(kind) else _LOCAL_DATE_TIME if kind.tz is None else _DATE_TIME
        exact, unit, words = False, UNITS[kind.unit], _numbers(array, np.int64)
    else:
        return _unordered(count)
    classes = np.full(count, of, np.int8)
    if array.null_count:
        classes[array.is_null().to_numpy(zero_copy_only=False)] = NONE
    if of == NUMBER:
        classes[np.isnan(words)] = NONE
    return OrderWords(classes, words * unit, texts, exact)


def _numbers(array: Any, dtype: Any) -> Doubles:
    found: Doubles = np.frombuffer(array.buffers()[1], dtype, len(array), array.offset * np.dtype(dtype).itemsize)
    return found.astype(np.float64)


def _of_values(values: list[Any]) -> OrderWords:
    classes, words = np.zeros(len(values), np.int8), np.zeros(len(values))
    texts: list[bytes] = []
    exact = True
    for row, value in enumerate(values):
        kind = type(value)
        if kind is str:
            classes[row] = _TEXT
            texts.append(value.encode(errors="surrogatepass"))
        elif kind is bool:
            classes[row], words[row] = _BOOLEAN, value
        elif kind is int or (kind is float and not isnan(value)):
            classes[row], words[row] = NUMBER, _double(value)
            exact = exact and (kind is float or abs(words[row]) < _EXACT)
        elif kind is list:
            classes[row], exact = _LIST, False
        elif kind in _INSTANTS:
            classes[row], field = _INSTANTS[kind]
            words[row], exact = _double(getattr(value, field)), False
    return OrderWords(classes, words, pa.array(texts, pa.large_binary()), exact)


def _double(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


class Ordered:
    """Rows in the order of a value, by group and class; those without an order are left out.

    Parameters
    ----------
    values
        Of n rows.
    groups
        int64[n]: rows of one group are ordered, below 0 for none; None for one group.

    Attributes
    ----------
    order
        int64, the rows in their order.
    """

    def __init__(self, values: OrderWords, groups: IntArray | None = None) -> None:
        self._exact = values.exact
        text = values.classes == _TEXT
        self._words = np.unique(values.words[~text & (values.classes != NONE)])
        texts = pc.unique(values.texts)
        self._texts = texts.take(pc.array_sort_indices(texts))
        self._span = max(len(self._words), len(self._texts)) + 1
        kinds, known = _kinds(values, groups)
        rows = np.flatnonzero(known)
        places = (kinds * self._span + self._ranks(values, False))[rows]
        by_place = np.argsort(places)
        self.order: IntArray = rows[by_place]
        self._places = places[by_place]

    def between(
        self,
        low: OrderWords | None,
        high: OrderWords | None,
        strict: tuple[bool, bool],
        prefix: bool = False,
        groups: IntArray | None = None,
    ) -> tuple[IntArray, IntArray, bool]:
        """Return for each of m pairs of bounds, one of which may be missing, the places [begin, end) between them.

        ``strict``: whether bounds themselves are left out. ``prefix``: places of strings that begin with ``low``.
        ``groups``: int64[m], in whose rows to look, below 0 for none. Also whether that is exactly what lies between.
        """
        given = [each for each in (low, high) if each is not None]
        exact = self._exact and all(each.exact for each in given)
        kinds, known = _kinds(given[0], groups)
        if len(given) == 2:
            known &= given[0].classes == given[1].classes
        if prefix:
            known &= given[0].classes == _TEXT
        begins = kinds * self._span
        ends = begins + self._span
        if high is not None:
            ends = begins + self._ranks(high, not (strict[1] and exact))
        if low is not None:
            if prefix:
                ends = begins + self._ranks(low, True, b"\xff")
            begins = begins + self._ranks(low, strict[0] and exact)
        first = np.where(known, np.searchsorted(self._places, begins), 0)
        behind = np.where(known, np.searchsorted(self._places, ends), 0)
        return first, np.maximum(first, behind), exact

    def _ranks(self, values: OrderWords, behind: bool, suffix: bytes = b"") -> IntArray:
        """Return how many different values stand before each, it counted or not; strings get a ``suffix``."""
        side: Literal["left", "right"] = "right" if behind else "left"
        ranks: IntArray = np.searchsorted(self._words, values.words, side=side)
        if len(values.texts):
            texts, nothing = values.texts, pa.scalar(b"", pa.large_binary())
            if suffix:
                texts = pc.binary_join_element_wise(texts, pa.scalar(suffix, pa.large_binary()), nothing)
            ranks[values.classes == _TEXT] = pc.search_sorted(self._texts, texts, side=side).to_numpy()
        return ranks


def _kinds(values: OrderWords, groups: IntArray | None) -> tuple[IntArray, BoolArray]:
    """Return a number for each value's group and class, and which have both."""
    known = values.classes != NONE
    kinds = values.classes.astype(np.int64)
    if groups is not None:
        kinds += groups * (_DATE_TIME + 1)
        known &= groups >= 0
    return kinds, known


def with_offset(base: OrderWords, offset: OrderWords, sign: float) -> OrderWords:
    """Return sums of numbers, a little less (``sign`` -1) or more (1) than they may be rounded to."""
    with np.errstate(invalid="ignore", over="ignore"):
        slack = (np.abs(base.words) + np.abs(offset.words)) * 2.0**-50
        words = base.words + offset.words + sign * slack
    numbers = (base.classes == NUMBER) & (offset.classes == NUMBER) & ~np.isnan(words)
    return OrderWords(np.where(numbers, NUMBER, NONE).astype(np.int8), words, _NO_TEXTS, False)
