"""A property column of the next version of a graph: values taken over, replaced, added."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from qengine.storage.arrays import Array
from qengine.storage.columns import PropertyColumn
from qengine.storage.normal import language_type
from qengine.storage.variant import concatenate, from_python, is_variant
from qengine.temporal.arrow import to_values, union_parts

__all__ = ["NOTHING", "extended_column", "patched", "same_value"]

NOTHING = -1
"""The origin of an element that the version before doesn't have."""


def same_value(one: Any, other: Any) -> bool:
    """Tell whether two values are of one type and can't be told apart: 1 and 1.0 can, and 0.0 and -0.0."""
    if type(one) is not type(other):
        return False
    return bool(one == other) if isinstance(one, int | str) else repr(one) == repr(other)


def patched(
    column: PropertyColumn | None,
    origins: Array | None,
    count: int,
    values: Mapping[int, Any],
    *,
    whole: bool,
    added: Sequence[tuple[Array, Any]] = (),
) -> PropertyColumn | None:
    """Return a column by the ids of the next version; None where no value is left.

    Parameters
    ----------
    column
        That of the version before; None where it has none.
    origins
        int64[count]: each element's id in the version before, ``NOTHING`` for new ones; None where all ids stay.
    count
        How many elements the next version has.
    values
        By new id: what differs from the version before; None where there is no value any more.
    whole
        Cover all ids, whether they have a value or not.
    added
        New ids (int64) that aren't among ``values``, and normal Arrow arrays of their values, null for none.

    Raises
    ------
    StorageError
        For a value that can't be a property.
    """
    if column is not None and origins is None and not values and not added:
        return column
    present = {id: value for id, value in values.items() if value is not None}
    old = pa.nulls(0) if column is None else column.array
    begin, rows = _rows(column, origins, count)
    if whole:
        begin, rows = _widened(begin, rows, 0, count)
    fresh = np.concatenate([np.fromiter(present, np.int64, len(present)), *(ids for ids, _ in added)])
    if len(fresh):
        begin, rows = _widened(begin, rows, int(fresh.min()), int(fresh.max()) + 1)
    if not len(rows):
        return None
    if values:
        changed = np.fromiter(values, np.int64, len(values))
        changed = changed[(changed >= begin) & (changed < begin + len(rows))]
        rows[changed - begin] = -1
    rows[fresh - begin] = len(old) + np.arange(len(fresh))
    arrays = [from_python(list(present.values()), "a property")] if present else []
    return _taken(begin, rows, _all_aligned(old, [*arrays, *(array for _, array in added)]))


def extended_column(
    column: PropertyColumn | None,
    origins: Array | None,
    count: int,
    parts: Sequence[tuple[Array, Any]],
    *,
    whole: bool,
) -> PropertyColumn | None:
    """Return a column by the ids of the next version, as ``patched``, where what differs comes as arrays.

    ``parts``: new ids (int64), each once, and a normal array with the value of each, null for those that have none
    any more. Of an id that several parts have, the last one counts.
    """
    own: Any = pa.nulls(0) if column is None else column.array
    begin, rows = _rows(column, origins, count)
    if whole:
        begin, rows = _widened(begin, rows, 0, count)
    parts = [(ids, array) for ids, array in parts if len(ids)]
    for ids, _ in parts:
        begin, rows = _widened(begin, rows, int(ids.min()), int(ids.max()) + 1)
    if not len(rows):
        return None
    for ids, array in parts:
        rows[ids - begin] = np.arange(len(own), len(own) + len(array))
        own = concatenate(_aligned(own, array)) if len(own) else array
    return _taken(begin, rows, (own,))


def _taken(begin: int, rows: Array, parts: Sequence[Any]) -> PropertyColumn | None:
    """Return the column of some rows of arrays that stand one after the other, -1 for none."""
    missing = rows < 0
    if missing.any():
        rows[missing] = sum(map(len, parts))
        parts = (*parts, pa.nulls(1))
    whole = concatenate(list(parts))
    in_place = len(rows) == len(whole) and bool((rows == np.arange(len(rows))).all())
    taken = _plain(whole if in_place else whole.take(pa.array(rows)))
    if pa.types.is_null(taken.type) or pc.all(pc.is_null(taken)).as_py():
        return None
    return PropertyColumn(begin, taken)


def _rows(column: PropertyColumn | None, origins: Array | None, count: int) -> tuple[int, Array]:
    """Return the first new id that a column covers, and the row of each id from there on; -1 for none."""
    if column is None:
        return 0, np.empty(0, np.int64)
    if origins is None:
        return column.begin, np.arange(min(len(column.array), count - column.begin), dtype=np.int64)
    covered = (origins >= column.begin) & (origins < column.end)
    if not covered.any():
        return 0, np.empty(0, np.int64)
    begin, end = int(covered.argmax()), count - int(covered[::-1].argmax())
    return begin, np.where(covered[begin:end], origins[begin:end] - column.begin, -1)


def _widened(begin: int, rows: Array, low: int, high: int) -> tuple[int, Array]:
    """Return the range ``[begin, …)`` with the ids ``[low, high)``, too."""
    if not len(rows):
        return low, np.full(high - low, -1, np.int64)
    before, after = max(0, begin - low), max(0, high - begin - len(rows))
    if not before and not after:
        return begin, rows
    return begin - before, np.pad(rows, (before, after), constant_values=-1)


def _all_aligned(old: Any, added: Iterable[Any]) -> list[Any]:
    """Return arrays that follow each other with one Arrow type, as ``_aligned`` does two of them."""
    parts = [old]
    for array in added:
        if array.type == parts[-1].type and not is_variant(array.type):
            parts.append(array)
        else:
            parts = list(_aligned(concatenate(parts), array))
    return parts


def _aligned(old: Any, added: Any) -> tuple[Any, Any]:
    """Return both with one Arrow type where the language has one type for them, and Arrow can have it so."""
    if old.type == added.type or is_variant(old.type) or is_variant(added.type):
        return old, added
    if pa.types.is_null(old.type) or pa.types.is_null(added.type):
        return old, added
    if _is_list(old) and _is_list(added):
        if pa.types.is_null(added.type.value_type):
            return old, added.cast(old.type)
        return (old.cast(added.type), added) if pa.types.is_null(old.type.value_type) else (old, added)
    if language_type(old.type) != language_type(added.type) or pa.types.is_string(added.type):
        return old, added
    if getattr(old.type, "tz", None) == getattr(added.type, "tz", None):
        for wanted in (old.type, added.type):
            try:
                return old.cast(wanted), added.cast(wanted)
            except pa.ArrowException:
                continue
    whole = from_python([*to_values(old), *to_values(added)], "")
    return whole.slice(0, len(old)), whole.slice(len(old))


def _is_list(array: Any) -> bool:
    return bool(pa.types.is_list(array.type) or pa.types.is_large_list(array.type))


def _plain(array: Any) -> Any:
    """Return an array without the children of a union that no value is left of; plain where all have one type."""
    if not is_variant(array.type):
        return array
    codes, offsets = union_parts(array)
    used = [code for code in np.unique(codes).tolist() if array.field(code).null_count < len(array.field(code))]
    if len(used) == array.type.num_fields:
        return array
    if len(used) > 1:
        return concatenate([array.field(code) for code in used] + [pa.nulls(1)]).take(pa.array(_joined(array, used)))
    return array.field(used[0]).take(pa.array(offsets, mask=codes != used[0])) if used else pa.nulls(len(array))


def _joined(array: Any, used: list[int]) -> Array:
    """Return for each value of a union its row in the used children, one after the other; after them for null."""
    codes, offsets = union_parts(array)
    begins = np.cumsum([0, *(len(array.field(code)) for code in used)])
    rows = np.full(len(array), begins[-1], np.int64)
    for code, begin in zip(used, begins.tolist(), strict=False):
        rows[codes == code] = offsets[codes == code] + begin
    return rows
