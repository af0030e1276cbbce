"""Reads columns as operands of Arrow's functions, and names the kinds that columnar functions tell apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from qengine.exec.common.columns import (
    ArrowColumn,
    BoolArray,
    Column,
    ConstantColumn,
    IntArray,
    ListColumn,
    NodeColumn,
    RelationshipColumn,
)

_FAR = 1 << 40  # no list is as long

NUMERIC = frozenset({"integer", "float"})
COMPARE: dict[str, Callable[[Any, Any], BoolArray]] = {
    "=": np.equal,
    "<>": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}
"""NumPy's functions of the comparisons."""
MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""The comparison that holds with its sides exchanged."""

_CONSTANTS = {bool: "boolean", int: "integer", float: "float", str: "string"}
_ARROW = {pa.bool_(): "boolean", pa.int64(): "integer", pa.float64(): "float", pa.string(): "string",
          pa.large_string(): "string", pa.null(): "null"}  # fmt: skip
_ENTITIES: dict[type[Column], str] = {NodeColumn: "node", RelationshipColumn: "relationship", ListColumn: "list"}


class Operand:
    """A column as a function sees it.

    ``kind``: "null", "boolean", "integer", "float", "string", "node", "relationship", "list" or, for all that
    columnar functions leave to the row-wise evaluator, "other". ``datum``: an Arrow array, or a scalar for a
    constant; None unless the kind is one of the first five. ``constant`` says which of both.
    """

    __slots__ = ("_scalar", "column", "constant", "kind")

    def __init__(self, column: Column, kind: str, scalar: Any, constant: bool) -> None:
        self.column = column
        self.kind = kind
        self.constant = constant
        self._scalar = scalar

    @property
    def datum(self) -> Any:
        """The scalar of a constant, else the array of the column."""
        return self.column.array if isinstance(self.column, ArrowColumn) else self._scalar


def operand(column: Column) -> Operand:
    """Return a column as an operand."""
    if isinstance(column, ArrowColumn):
        return Operand(column, _ARROW.get(column.type, "other"), None, False)
    if isinstance(column, ConstantColumn):
        value = column.value
        if value is None:
            return Operand(column, "null", pa.scalar(None), True)
        kind = _CONSTANTS.get(type(value), "other")
        return Operand(column, kind, None if kind == "other" else pa.scalar(value), True)
    return Operand(column, _ENTITIES.get(type(column), "other"), None, False)


def null_rows(*columns: Column) -> BoolArray | None:
    """Return where any of the columns is null; None where none is."""
    found: BoolArray | None = None
    for column in columns:
        if isinstance(column, ConstantColumn) and column.value is not None:
            continue
        if isinstance(column, ArrowColumn) and not column.has_nulls:
            continue
        nulls = column.is_null()
        found = nulls if found is None else found | nulls
    return found


def as_double(number: Operand) -> Any:
    """Return a numeric operand's datum as doubles, integers rounded to the nearest."""
    if number.kind == "float":
        return number.datum
    if number.constant:
        return pa.scalar(float(number.datum.as_py()))
    return number.datum.cast(pa.float64(), safe=False)


def list_places(*columns: Column) -> tuple[Any, ...] | None:
    """Return places in lists, an array or a number of each column, no further than any list needs; what nulls hold is
    undefined. None for columns that aren't integers.
    """
    operands = list(map(operand, columns))
    if any(a.kind != "integer" for a in operands):
        return None
    return tuple(np.clip(numpy_values(a), -_FAR, _FAR) for a in operands)


def numpy_values(number: Operand) -> Any:
    """Return a numeric operand as a NumPy array (a NumPy scalar for a constant); what nulls hold is undefined."""
    dtype: Any = np.int64 if number.kind == "integer" else np.float64
    if number.constant:
        return dtype(number.datum.as_py())
    array = number.datum
    return np.frombuffer(array.buffers()[1], dtype, len(array), array.offset * 8)


def farthest(*numbers: IntArray) -> int:
    """Return how far from 0 numbers go; NumPy's absolute value of the least int64 is negative."""
    return max((max(int(each.max()), -int(each.min())) for each in numbers if each.size), default=0)
