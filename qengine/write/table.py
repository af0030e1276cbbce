"""The rows between the steps of an update as columns, where many are carried out at once."""

from __future__ import annotations

from collections.abc import Collection
from itertools import repeat
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from qengine._frozen import frozen
from qengine.exec.scalar.values import NodeHandle, RelationshipHandle
from qengine.storage.arrays import Array

Rows: TypeAlias = list[dict[str, Any]]
_NULL = type(None)
_VALUE = 80  # bytes of a value


@frozen
class Elements:
    """A column of nodes or of relationships: numbers (int64), -1 for null. ``handle``: the class of its values."""

    numbers: Array
    handle: type[NodeHandle] | type[RelationshipHandle]

    def values(self) -> list[Any]:
        """Return the column's values."""
        handle = self.handle
        if (self.numbers >= 0).all():
            return list(map(handle, self.numbers.tolist()))
        return [handle(number) if number >= 0 else None for number in self.numbers.tolist()]


class Plain:
    """A column of values that are an Arrow ``array``: of booleans, int64, doubles or strings, or of nulls alone."""

    def __init__(self, array: Any) -> None:
        self.array = array

    @classmethod
    def repeated(cls, value: Any, count: int) -> Plain:
        """Return a column of one value: a boolean, a number of 64 bits, a string or null."""
        return cls(pa.array([value]).take(pa.array(np.zeros(count, np.int64))))

    def values(self) -> list[Any]:
        """Return the column's values."""
        return self.array.to_pylist()  # type: ignore[no-any-return]


Column: TypeAlias = list[Any] | Elements | Plain


class Table:
    """Rows as columns of the same length, by name. Nobody changes its lists."""

    def __init__(self, length: int, columns: dict[str, Column]) -> None:
        self.length = length
        self.columns = columns

    def __len__(self) -> int:
        return self.length

    @classmethod
    def of(cls, rows: Rows) -> Table:
        """Return rows, all with the same names, as a table."""
        names = rows[0] if rows else ()
        return cls(len(rows), {name: column_of([row[name] for row in rows]) for name in names})

    def values(self, name: str) -> list[Any]:
        """Return a column's values."""
        column = self.columns[name]
        return column if isinstance(column, list) else column.values()

    @property
    def nbytes(self) -> int:
        """Bytes of arrays, and about those of values."""
        return sum(_nbytes(column) for column in self.columns.values())

    def without(self, names: Collection[str]) -> Table:
        """Return the table without some columns."""
        return Table(self.length, {name: column for name, column in self.columns.items() if name not in names})

    def with_column(self, name: str, column: Column) -> Table:
        """Return the table with one more column."""
        return Table(self.length, {**self.columns, name: column})

    def take(self, places: Array) -> Table:
        """Return the rows at some places (int64), in their order."""
        if len(places) == self.length and (places == np.arange(self.length)).all():
            return self
        if len(places) < 2:
            listed = places.tolist()
            taken = {name: _few(column, listed) for name, column in self.columns.items()}
            return Table(len(places), taken)
        pick = itemgetter(*places.tolist()) if any(isinstance(each, list) for each in self.columns.values()) else None
        columns: dict[str, Column] = {}
        for name, column in self.columns.items():
            if isinstance(column, list):
                assert pick is not None
                columns[name] = list(pick(column))
            else:
                columns[name] = _taken(column, places)
        return Table(len(places), columns)

    def rows(self) -> Rows:
        """Return the table as rows."""
        names = tuple(self.columns)
        if not names:
            return [{} for _ in range(self.length)]
        columns = [self.values(name) for name in names]
        return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]


def as_rows(given: Rows | Table) -> Rows:
    """Return rows, of which it isn't known how they are kept."""
    return given.rows() if isinstance(given, Table) else given


def _taken(column: Elements | Plain, places: Array) -> Column:
    if isinstance(column, Elements):
        return Elements(column.numbers[places], column.handle)
    return Plain(column.array.take(pa.array(places)))


def _few(column: Column, places: list[int]) -> Column:
    if isinstance(column, list):
        return [column[place] for place in places]
    return _taken(column, np.array(places, np.int64))


def _nbytes(column: Column) -> int:
    if isinstance(column, list):
        return len(column) * _VALUE
    return int(column.numbers.nbytes if isinstance(column, Elements) else column.array.nbytes)


def column_of(values: list[Any]) -> Column:
    """Return values as a column."""
    classes = set(map(type, values))
    for handle in (NodeHandle, RelationshipHandle):
        if handle in classes and classes <= {handle, _NULL}:
            numbers = (-1 if value is None else value.id for value in values)
            return Elements(np.fromiter(numbers, np.int64, len(values)), handle)
    return values


def repeated(value: Any, count: int) -> list[Any]:
    """Return a column of one value."""
    return list(repeat(value, count))
