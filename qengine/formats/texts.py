"""Columns as text in the types of neo4j-admin's headers, and back.

==============================================  ================================================
header's type                                   values
==============================================  ================================================
``int``, ``long``, ``short``, ``byte``          integers
``float``, ``double``                           floats
``boolean``, ``string``, ``char``               the same
``date``, ``localtime``, ``time``,              temporal values, in ISO 8601
``localdatetime``, ``datetime``, ``duration``
``point``                                       ``{x: 1.0, y: 2.0, crs: cartesian}``
``long[]`` and the like                         lists, their items joined by the array delimiter
``any``                                         ours alone: literals of the language, of any types
==============================================  ================================================
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from qengine.errors import ExecutionError, StorageError
from qengine.formats.literals import literal_text, parse_literal, point_of
from qengine.storage.normal import language_type
from qengine.storage.variant import from_python
from qengine.temporal import Date, DateTime, Duration, LocalDateTime, LocalTime, Time
from qengine.temporal.arrow import is_text, to_values
from qengine.types import Kind

_Number = TypeVar("_Number", int, float)
_NAMES = {
    Kind.BOOLEAN: "boolean",
    Kind.INTEGER: "long",
    Kind.FLOAT: "double",
    Kind.STRING: "string",
    Kind.DATE: "date",
    Kind.LOCAL_TIME: "localtime",
    Kind.TIME: "time",
    Kind.LOCAL_DATETIME: "localdatetime",
    Kind.DATETIME: "datetime",
    Kind.DURATION: "duration",
    Kind.POINT: "point",
}
_POINT_TEXT, _POINT_CELL = r"^point\((\{.*), crs: '(.*)'\}\)$", r"\1, crs: \2}"
_FIELD = re.compile(r"""\s*"?(\w+)"?\s*:\s*(?:'([^']*)'|"([^"]*)"|([^,'"{}]*))\s*(?:,|$)""")
_ISO = "Dates and times are read in ISO form, as 2026-01-31; leave the type out to load them as texts."
_LOCAL = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?"
_TRUTHS = pa.array(["true", "false"])


def column_texts(array: Any, delimiter: str = ";") -> tuple[str, Any]:
    """Return the name of a type for a normal array, and its values as strings; null stays null.

    ``delimiter``: what joins the items of lists.
    """
    if pa.types.is_list(array.type) or pa.types.is_large_list(array.type):
        return _list_texts(array, delimiter) or ("any", literal_texts(array))
    name = _NAMES.get(language_type(array.type).kind)
    if name is None:
        return "any", literal_texts(array)
    return name, _plain_texts(array, name)


def column_values(texts: Any, type: str, place: str, delimiter: str = ";", zone: str | None = None) -> Any:
    """Return the values of a column of strings as a normal array; null stays null.

    Parameters
    ----------
    texts
        String array.
    type
        A name of the table above, in lower case.
    place
        What errors call the column.
    delimiter
        What joins the items of lists.
    zone
        The time zone of moments that have none.

    Raises
    ------
    StorageError
        For an unknown type, and a text that is no value of it, with its row.
    """
    if isinstance(type, str) and type.endswith("[]"):
        return _lists(texts, type[:-2], place, delimiter, zone)
    if not isinstance(type, str) or type not in TYPES:
        raise StorageError(f"{place}: {type!r} is no type", hint=f"The types are {', '.join(TYPES)}, and each with [].")
    if type in ("datetime", "time") and zone is not None:
        return _parsed(texts, lambda text: TYPES[type](_zoned(text, zone)), place)
    convert = _CASTS.get(type)
    if convert is not None:
        try:
            return convert(texts)
        except pa.ArrowInvalid:
            pass  # slowly, to tell which it is, or since Arrow knows fewer forms
    return _parsed(texts, TYPES[type], place)


def literal_texts(array: Any) -> Any:
    """Return the values of a normal array as literals, null for null."""
    values = to_values(array)
    return pa.array([None if value is None else literal_text(value) for value in values], pa.string())


def literal_values(texts: Any, place: str) -> Any:
    """Return what a column of literals holds, null for null, as a normal array.

    Raises
    ------
    StorageError
        For a text that is no literal, with its row.
    """
    return _parsed(texts, parse_literal, place)


def _plain_texts(array: Any, name: str) -> Any:
    """Return plain values as strings."""
    if name == "string":
        return array
    if name in ("boolean", "long", "double"):
        return array.cast(pa.string())
    if is_text(array.type):
        texts = array.flatten()[0]
        return pc.replace_substring_regex(texts, _POINT_TEXT, _POINT_CELL) if name == "point" else texts
    return pa.array([None if value is None else str(value) for value in to_values(array)], pa.string())


def _list_texts(array: Any, delimiter: str) -> tuple[str, Any] | None:
    """Return lists as joined items; None where that doesn't tell them."""
    name = _NAMES.get(language_type(array.type.value_type).kind)
    items = array.flatten()
    if name is None or items.null_count:
        return None
    texts = _plain_texts(items, name)
    if name == "string" and (
        pc.any(pc.match_substring(texts, delimiter)).as_py()
        or pc.any(pc.and_(pc.equal(pc.list_value_length(array), 1), _first_is_empty(array))).as_py()
    ):
        return None
    lengths = pc.list_value_length(array).fill_null(0).to_numpy(zero_copy_only=False)
    offsets = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
    mask = array.is_null() if array.null_count else None
    if len(texts) and offsets[-1] >= 2**31:
        return None
    lists = pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), texts.cast(pa.string()), mask=mask)
    return f"{name}[]", pc.binary_join(lists, delimiter)


def _first_is_empty(array: Any) -> Any:
    """Tell of each list whether it begins with an empty string; null where it is empty."""
    filled = pc.if_else(pc.greater(pc.list_value_length(array), 0), array, None)
    return pc.equal(pc.list_element(filled, 0), "")


def _lists(texts: Any, type: str, place: str, delimiter: str, zone: str | None) -> Any:
    parts = pc.split_pattern(texts, delimiter)
    empty = pc.equal(texts, "")
    items = parts.flatten()
    lengths = pc.list_value_length(parts).fill_null(0).to_numpy(zero_copy_only=False)
    none = empty.fill_null(False).to_numpy(zero_copy_only=False)
    if none.any():  # an empty text is an empty list, not one of an empty item
        items = items.filter(pa.array(np.repeat(~none, lengths)))
        lengths = np.where(none, 0, lengths)
    values = column_values(items, type, f"{place}, items of its lists", delimiter, zone)
    offsets = pa.array(np.concatenate(([0], np.cumsum(lengths))).astype(np.int32))
    return pa.ListArray.from_arrays(offsets, values, mask=texts.is_null() if texts.null_count else None)


def _parsed(texts: Any, parse: Callable[[str], Any], place: str) -> Any:
    """Return what each text means; one that comes often is parsed once."""
    encoded = texts.dictionary_encode()
    values: list[Any] = []
    for number, text in enumerate(encoded.dictionary.to_pylist()):
        try:
            values.append(None if text is None else parse(text))
        except (StorageError, ExecutionError, ValueError) as error:
            row = pc.index(encoded.indices, pa.scalar(number, encoded.indices.type)).as_py()
            message = error.message if isinstance(error, StorageError | ExecutionError) else str(error)
            hint = _ISO if isinstance(error, ExecutionError) else None
            raise StorageError(f"{place}: row {row} has {text!r:.100}: {message}", hint=hint) from None
    return from_python(values, place).take(encoded.indices)


def _moments(texts: Any) -> Any:
    """Return moments without a zone, where all are told to the microsecond at most."""
    if not pc.all(pc.match_substring_regex(texts, _LOCAL + "$"), min_count=0).as_py():
        raise pa.ArrowInvalid("other forms")
    return texts.cast(pa.timestamp("us"))


def _zoned_moments(texts: Any) -> Any:
    """Return moments that all have the same offset, as ``_moments``."""
    if not pc.all(pc.match_substring_regex(texts, _LOCAL + "(?:Z|[+-][0-9]{2}:[0-9]{2})$"), min_count=0).as_py():
        raise pa.ArrowInvalid("other forms")
    parts = pc.extract_regex(texts, "^(?P<local>.*[0-9])(?P<offset>Z|[+-][0-9]{2}:[0-9]{2})$")
    offsets = pc.struct_field(parts, "offset").drop_null().unique().to_pylist()
    if len(offsets) != 1:
        raise pa.ArrowInvalid("several zones")
    (offset,) = offsets
    hours, minutes = (0, 0) if offset == "Z" else (int(offset[:3]), int(offset[0] + offset[4:]))
    if abs(hours) > 14 or abs(minutes) > 59:
        raise pa.ArrowInvalid("no offset")
    local = _moments(pc.struct_field(parts, "local")).cast(pa.int64())
    utc = pc.subtract_checked(local, (hours * 60 + minutes) * 60_000_000)
    return utc.cast(pa.timestamp("us", "UTC" if hours == minutes == 0 else offset))


def _truths(texts: Any) -> Any:
    lower = pc.utf8_lower(pc.utf8_trim_whitespace(texts))
    if not pc.all(pc.is_in(lower.drop_null(), _TRUTHS)).as_py():
        raise pa.ArrowInvalid("neither true nor false")
    return pc.equal(lower, "true")


def _truth(text: str) -> bool:
    if text.strip().lower() not in ("true", "false"):
        raise ValueError("it is neither true nor false")
    return text.strip().lower() == "true"


def _whole_numbers(texts: Any) -> Any:
    """Return integers in decimal; Arrow would read hexadecimal ones, too."""
    if any(pc.any(pc.starts_with(texts, begin)).as_py() for begin in ("0x", "0X")):
        raise pa.ArrowInvalid("other forms")
    return texts.cast(pa.int64())


def _integer(text: str) -> int:
    number = int(_numeral(text, "an integer", int))
    if not -(2**63) <= number < 2**63:
        raise ValueError("no INTEGER of 64 bits holds it")
    return number


def _float(text: str) -> float:
    return _numeral(text, "a number", float)


def _numeral(text: str, what: str, parse: Callable[[str], _Number]) -> _Number:
    """Return the number that a text is, without what Python allows beside digits of ASCII."""
    try:
        if text.isascii() and "_" not in text:
            return parse(text)
    except ValueError:
        pass
    raise ValueError(f"it is not {what}")


def _point(text: str) -> Any:
    if text.lstrip().startswith("point("):
        return parse_literal(text)
    inner = text.strip()
    if not (inner.startswith("{") and inner.endswith("}")):
        raise ValueError("points are written like {x: 1.0, y: 2.0}")
    fields, place = {}, 1
    while place < len(inner) - 1:
        found = _FIELD.match(inner, place, len(inner) - 1)
        if found is None:
            raise ValueError("points are written like {x: 1.0, y: 2.0}")
        fields[found[1]] = found[2] or found[3] or (found[4] or "").strip()
        place = found.end()
    return point_of(fields)


def _zoned(text: str, zone: str) -> str:
    """Return a moment's text with a zone, unless it has one."""
    time = text.partition("T")[2] or text
    if re.search(r"[Zz\[+]|-", time):
        return text
    return f"{text}{zone if zone[:1] in '+-Z' else f'[{zone}]'}"


TYPES: Mapping[str, Callable[[str], Any]] = {
    "int": _integer,
    "long": _integer,
    "short": _integer,
    "byte": _integer,
    "float": _float,
    "double": _float,
    "boolean": _truth,
    "string": str,
    "char": str,
    "date": Date,
    "localtime": LocalTime,
    "time": Time,
    "localdatetime": LocalDateTime,
    "datetime": DateTime,
    "duration": Duration,
    "point": _point,
    "any": parse_literal,
}
"""What reads a text of each type."""

_CASTS: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("int", "long", "short", "byte"), _whole_numbers),
    **dict.fromkeys(("float", "double"), lambda texts: texts.cast(pa.float64())),
    **dict.fromkeys(("string", "char"), lambda texts: texts),
    "boolean": _truths,
    "date": lambda texts: texts.cast(pa.date32()),
    "localdatetime": _moments,
    "datetime": _zoned_moments,
}
