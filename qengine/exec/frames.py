"""Results as data frames: columns of types that pandas or polars lack hold Python values."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from qengine.temporal.arrow import to_values

if TYPE_CHECKING:
    import pandas
    import polars

_EXACT = 2**53  # up to here every integer is a double
_YEARS = (-62_135_596_800, 253_402_300_799)  # 0001-01-01 to 9999-12-31 in seconds since 1970
_UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def to_pandas(table: pa.Table) -> pandas.DataFrame:
    """Return a table as a pandas data frame.

    Columns hold objects where pandas would lose something: values of different types; dates and times that Python's
    ``datetime`` lacks; in lists and maps times, and nulls beside numbers. Integers beside nulls become floats, as
    always in pandas, or ``Int64`` where floats would lose digits.
    """
    import pandas

    def series(column: pa.ChunkedArray) -> Any:
        if not _lacks_in_pandas(column):
            with suppress(pa.ArrowInvalid, ValueError, OverflowError):
                return column.to_pandas(types_mapper={pa.int64(): pandas.Int64Dtype()}.get if _rounds(column) else None)
        return pandas.Series(_values(column), dtype=object)

    if not any(map(_special, table.columns)):
        with suppress(pa.ArrowInvalid, ValueError, OverflowError):
            return table.to_pandas()
    return pandas.DataFrame({name: series(table.column(name)) for name in table.column_names})


def to_polars(table: pa.Table) -> polars.DataFrame:
    """Return a table as a polars data frame.

    Columns of durations with months or days, of values of different types, and of moments with an offset that polars
    has no zone for, hold objects.
    """
    import polars

    def series(name: str, column: pa.ChunkedArray) -> Any:
        if not _holds(column.type, lambda kind: pa.types.is_union(kind) or pa.types.is_interval(kind)):
            with suppress(polars.exceptions.ComputeError):
                return polars.Series(name, column)
        return polars.Series(name, _values(column), polars.Object)

    return polars.DataFrame([series(name, table.column(name)) for name in table.column_names])


def _values(column: pa.ChunkedArray) -> list[Any]:
    return [value for chunk in column.chunks for value in to_values(chunk)]


def _special(column: pa.ChunkedArray) -> bool:
    return _lacks_in_pandas(column) or _rounds(column)


def _lacks_in_pandas(column: pa.ChunkedArray) -> bool:
    kind = column.type
    if pa.types.is_timestamp(kind):
        return _beyond_years(column)
    if not pa.types.is_nested(kind):
        return bool(pa.types.is_interval(kind))
    if _holds(
        kind, lambda each: pa.types.is_union(each) or (pa.types.is_temporal(each) and not pa.types.is_date(each))
    ):
        return True
    return any(map(_numbers_beside_nulls, column.chunks))


def _rounds(column: pa.ChunkedArray) -> bool:
    """Tell whether integers beside nulls lose digits as floats."""
    if not pa.types.is_int64(column.type) or column.null_count in (0, len(column)):
        return False
    ends = pc.min_max(column).as_py()
    return bool(max(-ends["min"], ends["max"]) > _EXACT)


def _beyond_years(column: pa.ChunkedArray) -> bool:
    """Tell whether moments lie outside the years of Python's ``datetime``, in which pandas shows them."""
    ends = pc.min_max(column.cast(pa.int64())).as_py()
    first, last = (seconds * _UNITS[column.type.unit] for seconds in _YEARS)
    # A day at both ends, as local times are up to 18 hours apart.
    day = 86_400 * _UNITS[column.type.unit]
    return ends["min"] is not None and (ends["min"] < first + day or ends["max"] > last - day)


def _numbers_beside_nulls(array: pa.Array) -> bool:
    """Tell whether there are nulls among the numbers of lists and structs."""
    kind = array.type
    if pa.types.is_struct(kind):
        return any(_numbers_beside_nulls(array.field(i)) for i in range(kind.num_fields))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return _numbers_beside_nulls(array.values)
    return bool(pa.types.is_int64(kind) or pa.types.is_float64(kind)) and array.null_count > 0


def _holds(kind: Any, lacks: Callable[[Any], bool]) -> bool:
    """Tell whether a type is one that is lacking, or has it inside."""
    if lacks(kind):
        return True
    return bool(pa.types.is_nested(kind)) and any(_holds(kind.field(i).type, lacks) for i in range(kind.num_fields))
