"""Predicates and functions of strings.

The patterns and lengths that they take are constants, else the row-wise evaluator does it. Changes of case are
columnar for ASCII only: Python and Arrow know different versions of Unicode.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from functools import partial
from itertools import repeat
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from qengine.exec.common.columns import ArrowColumn, Column, ConstantColumn, boolean_column, from_arrow, null_column
from qengine.exec.common.expressions.operand import Operand, null_rows, operand
from qengine.exec.common.expressions.texts import mended
from qengine.exec.common.property_texts import PropertyTexts
from qengine.exec.common.runtime import Runtime
from qengine.exec.scalar.regular import linear

_TEXT_BYTES = 128  # of a string and its pattern as Python objects

_SCALARS = frozenset({"boolean", "integer", "float", "string", "node", "relationship"})


def _search(
    find: Callable[[Any, str], Any], holds: Callable[[str, str], bool]
) -> Callable[[Runtime, Column, Column], Column | None]:
    """Return a predicate of strings, null where either is none; ``find`` is for one pattern, ``holds`` for any two."""

    def function(runtime: Runtime, column: Column, pattern: Column) -> Column | None:
        a, b = operand(column), operand(pattern)
        if a.kind == "null" or b.kind == "null":
            return null_column(len(column))
        if a.kind == "string" and not a.constant and b.kind == "string" and b.constant:
            if (coded := _of_codes(column, find, b.datum.as_py())) is not None:
                return coded
            return ArrowColumn(find(a.datum, b.datum.as_py()))
        if a.kind == b.kind == "string" and not b.constant:
            return _found_in(runtime, a, b, holds)
        if a.kind in _SCALARS and b.kind in _SCALARS and not a.kind == b.kind == "string":
            return null_column(len(column))
        return None

    return function


def _of_codes(column: Column, find: Callable[[Any, str], Any], text: str) -> Column | None:
    """Return a predicate evaluated for each different string once; None where the graph has no codes of these."""
    coded = column.places() if isinstance(column, PropertyTexts) else None
    if coded is None or 2 * len(coded[1].texts) > len(column):
        return None
    codes, of = coded
    known = np.append(find(of.texts, text).to_numpy(zero_copy_only=False), False).astype(np.bool_)
    return boolean_column(known[codes], codes < 0)


def _found_in(runtime: Runtime, a: Operand, b: Operand, holds: Callable[[str, str], bool]) -> Column:
    """Return for each row whether a predicate holds for two strings, of which one may be the same in all."""
    count = len(b.column)
    runtime.memory.room(count, 2 * (a.column.nbytes + b.column.nbytes) + _TEXT_BYTES * count)
    null = null_rows(a.column, b.column)
    texts = repeat(a.datum.as_py()) if a.constant else _strings(a.datum)
    found = np.fromiter(map(holds, texts, _strings(b.datum)), np.bool_, count)
    return boolean_column(found, null)


def _strings(array: Any) -> Any:
    """Return strings as Python's, null as an empty one."""
    return (array.fill_null("") if array.null_count else array).to_numpy(zero_copy_only=False)


def _matches(_: Runtime, column: Column, expression: Column) -> Column | None:
    a, b = operand(column), operand(expression)
    if a.kind != "string" or a.constant or b.kind != "string" or not b.constant:
        return None
    pattern = linear(b.datum.as_py())
    form = pattern.ascii if pattern.ascii == pattern.any or _all_ascii(a.datum) else pattern.any
    if form is None:
        return None
    try:
        return ArrowColumn(pc.match_substring_regex(a.datum, form))
    except pa.ArrowInvalid:  # too many repetitions for RE2
        return None


def _of_string(change: Callable[[Any], Any], one: Callable[[str], str] | None = None) -> Callable[..., Column | None]:
    """Return a function of strings, and of nothing else; ``one``: what ``change`` does, for more than ASCII."""

    def function(_: Runtime, column: Column, *details: Column) -> Column | None:
        a = operand(column)
        if details:
            return None
        if a.kind != "string" or a.constant:
            return null_column(len(column)) if a.kind == "null" else None
        if one is None or _all_ascii(a.datum):
            return ArrowColumn(change(a.datum))
        others = ~pc.string_is_ascii(a.datum).fill_null(True).to_numpy(zero_copy_only=False)
        return ArrowColumn(mended(change(pc.if_else(pa.array(others), "", a.datum)), others, a.datum, one))

    return function


def _all_ascii(strings: Any) -> bool:
    return pc.all(pc.string_is_ascii(strings)).as_py() is not False


def _length(strings: Any) -> Any:
    return pc.utf8_length(strings).cast(pa.int64())


def _natural(*columns: Column) -> list[int] | None:
    """Return constants that are integers from 0 on; None where one is anything else."""
    numbers = []
    for column in columns:
        if not isinstance(column, ConstantColumn) or type(column.value) is not int or column.value < 0:
            return None
        numbers.append(column.value)
    return numbers


def _string_column(column: Column) -> Operand | None:
    a = operand(column)
    return a if a.kind == "string" and not a.constant else None


def _substring(_: Runtime, column: Column, *bounds: Column) -> Column | None:
    a, numbers = _string_column(column), _natural(*bounds)
    if a is None or numbers is None:
        return None
    begin, *length = numbers
    stop = begin + length[0] if length else None
    if begin >= 2**31 or (stop or 0) >= 2**31:
        return None
    return ArrowColumn(pc.utf8_slice_codeunits(a.datum, begin, stop))


def _left(_: Runtime, column: Column, length: Column) -> Column | None:
    a, numbers = _string_column(column), _natural(length)
    if a is None or numbers is None or numbers[0] >= 2**31:
        return None
    return ArrowColumn(pc.utf8_slice_codeunits(a.datum, 0, numbers[0]))


def _right(_: Runtime, column: Column, length: Column) -> Column | None:
    a, numbers = _string_column(column), _natural(length)
    if a is None or numbers is None or not 0 < numbers[0] < 2**31:
        return None
    return ArrowColumn(pc.utf8_slice_codeunits(a.datum, -numbers[0], None))


def _replace(_: Runtime, column: Column, old: Column, new: Column) -> Column | None:
    a = _string_column(column)
    texts = [part.value for part in (old, new) if isinstance(part, ConstantColumn) and type(part.value) is str]
    if a is None or len(texts) < 2 or not texts[0]:
        return None
    return ArrowColumn(pc.replace_substring(a.datum, pattern=texts[0], replacement=texts[1]))


def _split(_: Runtime, column: Column, separator: Column) -> Column | None:
    a = _string_column(column)
    if a is None or not isinstance(separator, ConstantColumn):
        return None
    text = separator.value
    if type(text) is not str or not text:
        return None
    return from_arrow(pc.split_pattern(a.datum, pattern=text))


STRINGS: dict[str, Callable[..., Column | None]] = {
    "STARTS WITH": _search(lambda strings, text: pc.starts_with(strings, pattern=text), str.startswith),
    "ENDS WITH": _search(lambda strings, text: pc.ends_with(strings, pattern=text), str.endswith),
    "CONTAINS": _search(lambda strings, text: pc.match_substring(strings, pattern=text), str.__contains__),
    "=~": _matches,
    "tolower": _of_string(pc.ascii_lower, str.lower),
    "toupper": _of_string(pc.ascii_upper, str.upper),
    "char_length": _of_string(_length),
    "substring": _substring,
    "left": _left,
    "right": _right,
    "trim": _of_string(pc.utf8_trim_whitespace),
    "ltrim": _of_string(pc.utf8_ltrim_whitespace),
    "rtrim": _of_string(pc.utf8_rtrim_whitespace),
    "normalize": _of_string(lambda strings: strings, partial(unicodedata.normalize, "NFC")),
    "replace": _replace,
    "split": _split,
}
