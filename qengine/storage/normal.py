"""Brings foreign Arrow columns to the few types that the engine keeps, and names their types in the language.

Integers become int64, floats double, all kinds of strings ``string`` (``large_string`` where 2 GiB don't do),
lists ``list``; booleans and temporal types (``qengine.temporal.arrow``) stay. Decimals become int64 or double where
these hold their digits. What can't be a property, or would be changed, is refused with its place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from qengine.errors import ExecutionError, StorageError
from qengine.storage.kernels import changed_numeral
from qengine.storage.variant import concatenate
from qengine.temporal.arrow import text_kind, to_values
from qengine.temporal.calendar import LARGEST_YEAR, days_of
from qengine.temporal.zones import parse_zone
from qengine.types import ANY, BOOLEAN, FLOAT, INTEGER, NULL, STRING, Kind, Type, list_of

STRING_LIMIT = 2**31 - 1  # bytes that 32-bit string offsets reach
_EXACT_DIGITS, _EXACT_SCALE = 15, 22  # digits of which a double is made by one exact division by a power of ten


def is_string(arrow: Any) -> bool:
    """Tell whether a normal type is that of texts."""
    return bool(pa.types.is_string(arrow) or pa.types.is_large_string(arrow))


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
        Where a value doesn't fit (uint64 above 2**63 - 1, decimals with more digits than a double holds), or the type
        can't be a property.
    """
    try:
        return _normal(_single(column), place)
    except MemoryError:
        raise
    except (pa.ArrowException, UnicodeDecodeError) as error:  # the name of a time zone is decoded when asked for
        raise _unreadable(column, place, error) from None


def check_array(column: Any, place: str) -> None:
    """Look at all values of an Arrow column: Arrow takes offsets and lengths from others unseen, and trusts them.

    Raises
    ------
    StorageError
        For offsets, lengths or indices that point elsewhere, strings that aren't UTF-8, and values beyond their type.
    """
    try:
        column.validate(full=True)
    except MemoryError:
        raise
    except pa.ArrowException as error:
        raise _unreadable(column, place, error) from None


def _unreadable(column: Any, place: str, error: Exception) -> StorageError:
    text = str(error).partition("\n")[0]
    return StorageError(f"{place}: its {column.type} can't be read: {text}", hint="Cast the column before loading it.")


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


def _normal(array: Any, place: str) -> Any:
    arrow = array.type
    for test, convert in _CONVERSIONS:
        if test(arrow):
            return convert(array, place)
    if text_kind(arrow) is not None:
        return _temporal_texts(array, place)
    raise _no_property(arrow, place)


def _no_property(arrow: Any, place: str) -> StorageError:
    return StorageError(
        f"{place}: {arrow} can't be a property's type",
        hint="Properties hold booleans, numbers, strings, dates and times, and lists of them. Drop or cast the column.",
    )


# ---------------------------------------------------------------- one conversion a kind of type


def _as_it_is(array: Any, place: str) -> Any:
    return array


def _extension(array: Any, place: str) -> Any:
    if array.type.extension_name == "arrow.uuid":  # as parameters are: the texts by which the language compares them
        return pa.array([None if each is None else str(UUID(bytes=each)) for each in array.storage.to_pylist()])
    if array.type.extension_name == "arrow.bool8":
        return array.cast(pa.bool_())
    if pa.types.is_primitive(array.type.storage_type):  # numbers that mean something else, such as pandas' periods
        raise _no_property(array.type, place)
    return _normal(array.storage, place)


def _dictionary(array: Any, place: str) -> Any:
    return _normal(array.dictionary, place).take(array.indices)


def _run_ends(array: Any, place: str) -> Any:
    return _normal(pc.run_end_decode(array), place)


def _integers(array: Any, place: str) -> Any:
    if pa.types.is_uint64(array.type):
        _refuse_first(
            pc.greater(array, pa.scalar(2**63 - 1, pa.uint64())), array, place, "which no INTEGER of 64 bits holds"
        )
    return array if pa.types.is_int64(array.type) else array.cast(pa.int64())


def _floats(array: Any, place: str) -> Any:
    return array if pa.types.is_float64(array.type) else array.cast(pa.float64())


def _strings(array: Any, place: str) -> Any:
    target = pa.large_string() if array.nbytes > STRING_LIMIT else pa.string()
    return array if array.type == target else array.cast(target)


def _decimals(array: Any, place: str) -> Any:
    if array.type.scale <= 0:
        wide = array.cast(pa.decimal256(76, 0))
        outside = pc.or_(pc.greater(wide, _decimal(2**63 - 1)), pc.less(wide, _decimal(-(2**63))))
        _refuse_first(outside, array, place, "which no INTEGER of 64 bits holds")
        return wide.cast(pa.int64())
    if array.type.precision <= _EXACT_DIGITS and array.type.scale <= _EXACT_SCALE:
        digits = array.cast(pa.decimal128(38, array.type.scale))
        whole = np.frombuffer(digits.buffers()[1], np.int64)[::2][digits.offset : digits.offset + len(digits)]
        return pa.array(whole / 10.0**array.type.scale, mask=digits.is_null().to_numpy(zero_copy_only=False))
    texts = array.cast(pa.string())
    numbers = texts.cast(pa.float64())
    row = changed_numeral(texts, numbers)
    if row is not None:
        _refuse(texts, row, place, "which no FLOAT holds")
    return numbers


def _dates(array: Any, place: str) -> Any:
    return array if pa.types.is_date32(array.type) else array.cast(pa.date32())


def _moments(array: Any, place: str) -> Any:
    if array.type.tz is not None:
        try:
            parse_zone(array.type.tz)
        except ExecutionError as error:
            raise StorageError(f"{place}: {error.message}", hint="Cast the column to the time zone UTC.") from None
    if array.type.unit == "s":  # those of other units hold fewer years
        seconds = array.view(pa.int64())
        beyond = pc.or_(pc.less(seconds, _SECONDS[0]), pc.greater_equal(seconds, _SECONDS[1]))
        if (row := pc.index(beyond, True).as_py()) >= 0:
            raise StorageError(
                f"{place}: row {row} has {seconds[row].as_py()} seconds, beyond the years ±{LARGEST_YEAR}",
                hint="Correct its unit, or leave the value out.",
            )
    return array


def _temporal_texts(array: Any, place: str) -> Any:
    try:
        to_values(array)
    except ExecutionError as error:
        raise StorageError(f"{place}: {error.message}", hint="Cast the column to strings before loading it.") from None
    return array


def _lists(array: Any, place: str) -> Any:
    given = array.flatten()
    items = _normal(given, f"{place}, items of its lists, one after the other")
    if items is given and pa.types.is_list(array.type):
        return array
    lengths = pc.list_value_length(array).fill_null(0).to_numpy(zero_copy_only=False)
    ends = np.cumsum(lengths, dtype=np.int64)
    offsets = np.concatenate(([0], ends))
    make = pa.ListArray if offsets[-1] <= STRING_LIMIT else pa.LargeListArray
    kind = np.int32 if make is pa.ListArray else np.int64
    return make.from_arrays(pa.array(offsets.astype(kind)), items, mask=array.is_null() if array.null_count else None)


def _union(array: Any, place: str) -> Any:
    here = slice(array.offset, array.offset + len(array))
    _, codes, *offsets = array.buffers()[: 3 if array.type.mode == "dense" else 2]
    codes = np.frombuffer(codes, np.int8)[here]
    places = np.frombuffer(offsets[0], np.int32)[here] if offsets else np.arange(len(array))
    rows = [np.flatnonzero(codes == code) for code in array.type.type_codes]
    parts = [_normal(array.field(i).take(pa.array(places[own])), place) for i, own in enumerate(rows) if len(own)]
    if not parts:
        return pa.nulls(0)
    return concatenate(parts).take(pa.array(np.argsort(np.concatenate(rows))))


_SECONDS = (days_of(-LARGEST_YEAR, 1, 1) * 86_400, days_of(LARGEST_YEAR + 1, 1, 1) * 86_400)


def _decimal(number: int) -> Any:
    return pa.scalar(number, pa.decimal256(76, 0))


def _refuse_first(bad: Any, array: Any, place: str, why: str) -> None:
    """Raise for the first value of which ``bad`` is true."""
    row = pc.index(bad, True).as_py()
    if row >= 0:
        _refuse(array.cast(pa.string()), row, place, why)


def _refuse(texts: Any, row: int, place: str, why: str) -> None:
    raise StorageError(
        f"{place}: row {row} has {texts[row].as_py()}, {why}",
        hint="Cast the column to strings to keep what it holds, or to doubles to round it.",
    )


_CONVERSIONS: tuple[tuple[Callable[[Any], bool], Callable[[Any, str], Any]], ...] = (
    (lambda arrow: isinstance(arrow, pa.BaseExtensionType), _extension),
    (pa.types.is_dictionary, _dictionary),
    (pa.types.is_run_end_encoded, _run_ends),
    (pa.types.is_integer, _integers),
    (pa.types.is_decimal, _decimals),
    (pa.types.is_floating, _floats),
    (pa.types.is_string, _strings),
    (pa.types.is_large_string, _strings),
    (pa.types.is_string_view, _strings),
    (pa.types.is_date, _dates),
    (pa.types.is_timestamp, _moments),
    (pa.types.is_boolean, _as_it_is),
    (pa.types.is_null, _as_it_is),
    (pa.types.is_time, _as_it_is),
    (pa.types.is_duration, _as_it_is),
    (pa.types.is_interval, _as_it_is),
    (pa.types.is_list, _lists),
    (pa.types.is_large_list, _lists),
    (pa.types.is_fixed_size_list, _lists),
    (pa.types.is_list_view, _lists),
    (pa.types.is_large_list_view, _lists),
    (pa.types.is_union, _union),
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
