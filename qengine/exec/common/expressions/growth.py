"""What columnar functions are about to make: the bytes of each result that can be large, told from the columns.

A function that isn't named here gives a few bytes a row, or what was there before.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow.compute as pc

from qengine.exec.common.columns import (
    ArrowColumn,
    Column,
    ConstantColumn,
    IntArray,
    ListColumn,
    NodeColumn,
    PathColumn,
    RelationshipColumn,
    text_offsets,
)
from qengine.exec.common.map_column import MapColumn
from qengine.exec.common.text_rows import TextRows
from qengine.exec.sizes import ITEM, size_of
from qengine.exec.view import ExecView

_FIELD = 160  # of a row as a map: its entry, and the text
_MAP = 248  # of a map beside its values
_NORMALIZED = 18  # bytes of one that a compatible decomposition may take
_OFFSET = 4  # of a string in an array
_BUILDING = 2  # times what an array of unknown length takes while it is built
_SMALL = 1 << 20  # bytes that need no closer look


def object_bytes(column: Column) -> int:
    """Return the bytes of a column's values as Python objects, at least about."""
    if isinstance(column, ConstantColumn):
        return 8 * len(column)
    if isinstance(column, ListColumn):
        shared = column.shared()  # lists that many rows have become one object
        lengths = int((column if shared is None else shared[1]).lengths().sum())
        share = min(1.0, lengths / max(1, len(column.items)))
        return (64 + 8) * len(column) + int(share * object_bytes(column.items)) + 8 * lengths
    if isinstance(column, PathColumn):
        return column.object_bytes + object_bytes(column.nodes) + object_bytes(column.relationships)
    if isinstance(column, MapColumn):
        return _MAP * len(column) + sum(map(object_bytes, column.fields.values()))
    fields = len(column.fields) if isinstance(column, TextRows) else 0
    return column.nbytes + (ITEM + 24) * len(column) + fields * _FIELD * len(column)


def choice_bytes(*columns: Column) -> int:
    """Return the bytes of a column whose rows are taken from these: of all in one piece, then of those taken."""
    return 2 * sum(map(_written, columns))


def _written(column: Column) -> int:
    """Return the bytes of a column's rows in an array."""
    if isinstance(column, ConstantColumn):
        return len(column) * (16 + (size_of(column.value) if type(column.value) is str else 0))
    return column.nbytes


def property_bytes(store: ExecView, subject: Column, key: str) -> int:
    """Return the bytes of a property of nodes or relationships."""
    if not isinstance(subject, NodeColumn | RelationshipColumn) or len(subject) == 0:
        return 0
    if isinstance(subject, NodeColumn):
        column = store.node_property(key)
        return 0 if column is None else _gathered(column, subject, 0)
    size = 0
    for kind in store.types:
        column = store.relationship_property(kind.index, key)
        if column is not None:
            size += _gathered(column, subject, kind.base)
    return size


def _gathered(column: Any, subject: NodeColumn | RelationshipColumn, base: int) -> int:
    """Return the bytes of the values of ``column`` at the ids of ``subject``; those of fixed width are few."""
    rows, array = len(subject), column.array
    if subject.bounds is not None or not len(array):
        return 0
    offsets = text_offsets(array)
    if offsets is None:
        return int(array.nbytes / len(array) * rows) if array.type.num_fields else 0
    if int(offsets[-1] - offsets[0]) * rows <= _SMALL:
        return 0
    places: IntArray = subject.ids - (base + column.begin)
    places = places[(places >= 0) & (places < len(array))]
    return int((offsets[places + 1] - offsets[places]).sum(dtype=np.int64))


def _joined(*columns: Column) -> int:
    return sum(map(_written, columns))


def _texts(column: Column, *_: Column) -> int:
    return _written(column)


def _replaced(column: Column, old: Column, new: Column) -> int:
    size = _written(column)
    if not isinstance(column, ArrowColumn) or not (isinstance(old, ConstantColumn) and isinstance(new, ConstantColumn)):
        return size
    if not type(old.value) is type(new.value) is str or not old.value or text_offsets(column.array) is None:
        return size
    before, after = len(old.value.encode(errors="replace")), len(new.value.encode(errors="replace"))
    if after <= before:
        return size
    most = size // before * (after - before) + size
    if most <= _SMALL:
        return _BUILDING * most
    found = pc.sum(pc.count_substring(column.array, old.value)).as_py() or 0
    return _BUILDING * (size + int(found) * (after - before))


def _split(column: Column, separator: Column) -> int:
    size = _written(column)
    text = separator.value if isinstance(separator, ConstantColumn) else None
    least = len(text) if type(text) is str and text else 1
    return _BUILDING * (size + _OFFSET * (size // least + len(column)))


def _normalized(column: Column, *_: Column) -> int:
    return _NORMALIZED * _written(column)


def _reversed(column: Column, *_: Column) -> int:
    if isinstance(column, ListColumn):
        return 3 * 8 * int(column.lengths().sum()) + column.nbytes
    return _written(column)


GROWTH: dict[str, Callable[..., int]] = {
    "[::]": _reversed,
    "+": _joined,
    "coalesce": choice_bytes,
    "left": _texts,
    "right": _texts,
    "trim": _texts,
    "ltrim": _texts,
    "rtrim": _texts,
    "normalize": _normalized,
    "replace": _replaced,
    "reverse": _reversed,
    "split": _split,
    "substring": _texts,
    "tolower": _texts,
    "toupper": _texts,
    "=~": _texts,
    "CONTAINS": _texts,
    "STARTS WITH": _texts,
    "ENDS WITH": _texts,
    "char_length": _texts,
}
"""By the name of the function: the most bytes of its result, or where that is little, those that it reads."""
