"""Brings foreign Arrow columns to the few types that the engine keeps, and names their types in the language.

Integers become int64, floats double, all kinds of strings ``string`` (``large_string`` where 2 GiB don't do),
lists ``list``; booleans and temporal types (``qengine.temporal.arrow``) stay. What can't be a property is refused
with its place.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from qengine.errors import ExecutionError, StorageError
from qengine.temporal.arrow import text_kind
from qengine.temporal.zones import parse_zone
from qengine.types import ANY, BOOLEAN, FLOAT, INTEGER, NULL, STRING, Kind, Type, list_of

STRING_LIMIT = 2**31 - 1  # bytes that 32-bit string offsets reach


def normal_array(column: Any, place: str) -> Any:
    """Return an Arrow column as one array of a type that the engine keeps.

    Parameters
    ----------
    column
        ``pa.Array`` or ``pa.ChunkedArray`` of any type.
    place
        What the errors call it, for example ``"nodes Person, column age"``.

    Raises
    ------
    StorageError
        Where a value doesn't fit (uint64 above 2**63 - 1) or the type can't be a property.
    """
    array = _single(column)
    target = _normal_type(array.type, place)
    if pa.types.is_string(target) and array.nbytes > STRING_LIMIT:
        target = pa.large_string()
    if array.type == target:
        return array
    try:
        if isinstance(array.type, pa.BaseExtensionType):
            return normal_array(array.storage, place)
        if pa.types.is_dictionary(array.type):
            return normal_array(array.dictionary, place).take(array.indices)
        if pa.types.is_run_end_encoded(array.type):
            return normal_array(pc.run_end_decode(array), place)
        return array.cast(target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise StorageError(
            f"{place}: a value of {array.type} doesn't fit {target}: {error}", hint="Cast the column before loading it."
        ) from None


def language_type(arrow: Any) -> Type:
    """Return the language's type for the type of a normal array; ANY for a mixed one."""
    if pa.types.is_list(arrow) or pa.types.is_large_list(arrow):
        return list_of(language_type(arrow.value_type))
    for test, result in _LANGUAGE:
        if test(arrow):
            return result
    kind = text_kind(arrow)
    if kind is not None:
        return Type(kind)
    if pa.types.is_timestamp(arrow):
        return Type(Kind.LOCAL_DATETIME if arrow.tz is None else Kind.DATETIME)
    return ANY


def is_normal(arrow: Any) -> bool:
    """Tell whether the engine keeps columns of an Arrow type."""
    t = pa.types
    if t.is_list(arrow) or t.is_large_list(arrow):
        return is_normal(arrow.value_type)
    if t.is_union(arrow):
        fields = [arrow.field(number) for number in range(arrow.num_fields)]
        plain = arrow.mode == "dense" and arrow.type_codes == list(range(len(fields)))
        return plain and all(is_normal(field.type) for field in fields)
    if t.is_timestamp(arrow) and arrow.tz is not None:
        try:
            parse_zone(arrow.tz)
        except ExecutionError:
            return False
    if t.is_temporal(arrow):
        return bool(not t.is_interval(arrow) or arrow == pa.month_day_nano_interval())
    plain = (pa.null(), pa.bool_(), pa.int64(), pa.float64(), pa.string(), pa.large_string())
    return text_kind(arrow) is not None or arrow in plain


def _single(column: Any) -> Any:
    if not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    if column.num_chunks == 0:
        return pa.array([], column.type)
    if (pa.types.is_string(column.type) or pa.types.is_binary(column.type)) and column.nbytes > STRING_LIMIT:
        column = column.cast(pa.large_string())
    combined = column.combine_chunks()
    return pa.concat_arrays(combined.chunks) if isinstance(combined, pa.ChunkedArray) else combined


def _normal_type(arrow: Any, place: str) -> Any:
    t = pa.types
    if isinstance(arrow, pa.BaseExtensionType):
        return _normal_type(arrow.storage_type, place)
    if t.is_dictionary(arrow) or t.is_run_end_encoded(arrow):
        return _normal_type(arrow.value_type, place)
    if t.is_integer(arrow):
        return pa.int64()
    if t.is_decimal(arrow):
        return pa.int64() if arrow.scale == 0 else pa.float64()
    if t.is_floating(arrow):
        return pa.float64()
    if t.is_string(arrow) or t.is_large_string(arrow) or t.is_string_view(arrow):
        return pa.string()
    if t.is_date(arrow):
        return pa.date32()
    if t.is_timestamp(arrow) and arrow.tz is not None:
        try:
            parse_zone(arrow.tz)
        except ExecutionError as error:
            raise StorageError(f"{place}: {error.message}", hint="Cast the column to the time zone UTC.") from None
    if text_kind(arrow) is not None:
        return arrow
    if t.is_boolean(arrow) or t.is_null(arrow) or t.is_temporal(arrow) or t.is_union(arrow):
        return arrow
    if t.is_list(arrow) or t.is_large_list(arrow) or t.is_fixed_size_list(arrow) or t.is_list_view(arrow):
        return pa.list_(_normal_type(arrow.value_type, place))
    raise StorageError(
        f"{place}: {arrow} can't be a property's type",
        hint="Properties hold booleans, numbers, strings, dates and times, and lists of them. Drop or cast the column.",
    )


_LANGUAGE = (
    (pa.types.is_boolean, BOOLEAN),
    (pa.types.is_integer, INTEGER),
    (pa.types.is_floating, FLOAT),
    (pa.types.is_string, STRING),
    (pa.types.is_large_string, STRING),
    (pa.types.is_null, NULL),
    (pa.types.is_date, Type(Kind.DATE)),
    (pa.types.is_time, Type(Kind.LOCAL_TIME)),
    (pa.types.is_duration, Type(Kind.DURATION)),
    (pa.types.is_interval, Type(Kind.DURATION)),
)
