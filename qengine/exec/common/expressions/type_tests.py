"""Functions of values' types alone, ``IS ::`` and ``valueType``: asked once for all values of one kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from qengine.exec.common.columns import (
    ArrowColumn,
    Column,
    ConstantColumn,
    IntArray,
    ListColumn,
    NodeColumn,
    ObjectColumn,
    PathColumn,
    RelationshipColumn,
    from_values,
)
from qengine.exec.common.runtime import Runtime
from qengine.exec.scalar.conversion import CONVERSIONS
from qengine.exec.scalar.type_tests import TYPE_TESTS

_OF_ONE_TYPE = (ArrowColumn, NodeColumn, RelationshipColumn, PathColumn)
_NESTED = frozenset((list,))


def _by_type(function: Callable[..., Any]) -> Callable[..., Column | None]:
    """Return a function of a value's type, and of constants, on columns."""

    def columnar(_: Runtime, column: Column, *details: Column) -> Column | None:
        if not all(isinstance(each, ConstantColumn) for each in details) or not len(column):
            return None
        codes = _codes(column)
        if codes is None:
            return None
        first, places = np.unique(codes, return_index=True, return_inverse=True)[1:]
        constants = [each.value for each in details if isinstance(each, ConstantColumn)]
        found = [function(value, *constants) for value in column.take(first).values()]
        return from_values(found).take(places)

    return columnar


def _codes(column: Column) -> IntArray | None:
    """Return a number for each row, the same for values of one type; None where they are looked at one by one."""
    if isinstance(column, _OF_ONE_TYPE):
        return column.is_null().astype(np.int64)
    if isinstance(column, ListColumn) and isinstance(column.items, _OF_ONE_TYPE):
        items = column.flat()
        rows = np.repeat(np.arange(len(column)), column.lengths())
        nulls = np.bincount(rows[items.is_null()], minlength=len(column))
        codes = 1 + 2 * (nulls > 0) + (column.lengths() > nulls)
        return np.where(column.is_null(), 0, codes)
    if isinstance(column, ObjectColumn):
        kinds = list(map(type, column.objects))
        different = list(dict.fromkeys(kinds))
        if not _NESTED.isdisjoint(different):
            return None
        numbers = {kind: number for number, kind in enumerate(different)}
        return np.fromiter(map(numbers.__getitem__, kinds), np.int64, len(kinds))
    return None


TYPES: dict[str, Callable[..., Column | None]] = {
    "IS ::": _by_type(TYPE_TESTS["IS ::"]),
    "valuetype": _by_type(CONVERSIONS["valuetype"]),
}
