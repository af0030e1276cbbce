"""Results as data frames: columns of types that pandas or polars lack hold Python values."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from qengine.temporal.arrow import to_values

if TYPE_CHECKING:
    import pandas
    import polars

__all__ = ["to_pandas", "to_polars"]


def to_pandas(table: pa.Table) -> pandas.DataFrame:
    """Return a table as a pandas data frame.

    Columns of values of different types, and of dates and times that Python's ``datetime`` lacks, hold objects.
    """
    lacking = _holding(table, pa.types.is_union)
    if not lacking:
        with suppress(pa.ArrowInvalid, ValueError, OverflowError):
            return table.to_pandas()
    import pandas

    def series(name: str, column: pa.ChunkedArray) -> Any:
        if name not in lacking:
            with suppress(pa.ArrowInvalid, ValueError, OverflowError):
                return column.to_pandas()
        return pandas.Series(_values(column), dtype=object)

    return pandas.DataFrame({name: series(name, table.column(name)) for name in table.column_names})


def to_polars(table: pa.Table) -> polars.DataFrame:
    """Return a table as a polars data frame; columns of durations and of values of different types hold objects."""
    import polars

    lacking = _holding(table, lambda kind: pa.types.is_union(kind) or pa.types.is_interval(kind))

    def series(name: str, column: pa.ChunkedArray) -> Any:
        return polars.Series(name, _values(column), polars.Object) if name in lacking else polars.Series(name, column)

    if not lacking:
        return polars.DataFrame(table)
    return polars.DataFrame([series(name, table.column(name)) for name in table.column_names])


def _values(column: pa.ChunkedArray) -> list[Any]:
    return [value for chunk in column.chunks for value in to_values(chunk)]


def _holding(table: pa.Table, lacks: Callable[[Any], bool]) -> set[str]:
    """Return the columns that have a type somewhere inside."""

    def holds(kind: Any) -> bool:
        if lacks(kind):
            return True
        if pa.types.is_list(kind):
            return holds(kind.value_type)
        return pa.types.is_struct(kind) and any(holds(kind.field(i).type) for i in range(kind.num_fields))

    return {field.name for field in table.schema if holds(field.type)}
