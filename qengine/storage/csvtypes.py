"""Which columns of a CSV file stay text, because the type that was found for them would change what is written there.

Arrow finds types by trying: whatever can be read as a number is one. It so reads 007 as 7, 9223372036854775809 as
9.223372036854776e+18, and a date among moments as its midnight. A column keeps a type only where that holds all of its
fields; what can't be told from the values alone is looked up in the file's bytes, and then in the fields' text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from qengine.errors import LoadingWarning
from qengine.storage.kernels import MANY_DIGITS, ODDLY_WRITTEN, changed_numeral, scan_numerals
from qengine.temporal.arrow import UNITS
from qengine.temporal.values import DAY

_DATE = r"^\s*[0-9]{4}-[0-9]{2}-[0-9]{2}\s*$"
_OFFSET = r"(?P<offset>Z|[+-][0-9]{2}(?::?[0-9]{2})?)\s*$"


def doubtful_columns(path: Path, table: Any) -> list[str]:
    """Return the columns whose text must be seen: their fields may not be what their type makes of them."""
    fields = list(table.schema)
    integers = [field.name for field in fields if pa.types.is_integer(field.type)]
    floats = [field.name for field in fields if pa.types.is_floating(field.type)]
    moments = [(field, column) for field, column in zip(fields, table.columns, strict=True) if _is_moment(field)]
    doubtful = {field.name for field, column in moments if field.type.tz or _has_midnight(column)}
    wanted = (ODDLY_WRITTEN if integers or floats else 0) | (MANY_DIGITS if floats else 0)
    if wanted:
        found = scan_numerals(np.memmap(path, np.uint8, "r"), wanted)
        doubtful.update(integers if found & ODDLY_WRITTEN else (), floats if found else ())
    return [name for name in table.column_names if name in doubtful]


def as_written(path: Path, table: Any, texts: Mapping[str, Any], told: list[LoadingWarning], first_row: int = 0) -> Any:
    """Return a table with text for each column that changes what is written.

    Parameters
    ----------
    table
        The table with the types that were found.
    texts
        Columns of it as text.
    told
        Warnings are added here.
    first_row
        The number that they give the table's first row.
    """
    columns = dict(zip(table.column_names, table.columns, strict=True))
    for name, text in texts.items():
        values = columns[name]
        found = _moments(values, text) if pa.types.is_timestamp(values.type) else _numbers(values, text)
        if (
            found is text
            and pa.types.is_floating(values.type)
            and pc.any(pc.match_substring_regex(text, "[.eE]")).as_py()
        ):
            row = _first_changed(values, text) or 0
            told.append(
                LoadingWarning(
                    f"{path}, column {name}: it stays text, because no FLOAT holds "
                    f"{text[row].as_py().strip():.80} of row {row + first_row}",
                    hint="Use toFloat() in queries, or round the numbers to 15 digits.",
                )
            )
        columns[name] = found
    return pa.table(columns)


def _numbers(values: Any, text: Any) -> Any:
    return values if _first_changed(values, text) is None else text


def _first_changed(values: Any, text: Any) -> int | None:
    """Return the first row whose number isn't what is written."""
    row = 0
    for numbers, texts in _aligned(values, text):
        changed = changed_numeral(texts, numbers)
        if changed is not None:
            return row + changed
        row += len(numbers)
    return None


def _aligned(*columns: Any) -> Iterable[tuple[Any, ...]]:
    """Yield the arrays of chunked columns in pieces of equal length."""
    for batch in pa.Table.from_arrays(columns, [str(index) for index in range(len(columns))]).to_batches():
        yield tuple(batch.columns)


def _is_moment(field: Any) -> bool:
    return bool(pa.types.is_timestamp(field.type))


def _has_midnight(column: Any) -> bool:
    """Tell whether a moment may be a date that was read as its midnight."""
    day = DAY // UNITS[column.type.unit]
    return any((chunk.drop_null().cast(pa.int64()).to_numpy() % day == 0).any() for chunk in column.chunks)


def _moments(values: Any, text: Any) -> Any:
    """Return moments with the offset that all are written with; the text where one is a date, or offsets differ."""
    if values.type.tz is None:
        return text if pc.any(pc.match_substring_regex(text, _DATE)).as_py() else values
    offsets = pc.unique(pc.struct_field(pc.extract_regex(text.drop_null(), _OFFSET), "offset")).to_pylist()
    zones = {_zone(offset) for offset in offsets if offset is not None}
    if len(zones) > 1 or None in offsets:
        return text
    return values.cast(pa.timestamp(values.type.unit, zones.pop())) if zones else values


def _zone(offset: str) -> str:
    """Return Arrow's name of an offset such as Z, +02, +0200 or +02:00."""
    digits = offset[1:].replace(":", "").ljust(4, "0")
    return "UTC" if not digits.strip("0") else f"{offset[0]}{digits[:2]}:{digits[2:]}"
