"""Hashes of rows, equal where grouping takes rows as equal, whatever class of column holds their values.

They hold as long as the process does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from qengine import _native
from qengine.exec.common.columns import (
    ArrowColumn,
    Column,
    ConstantColumn,
    IntArray,
    ListColumn,
    NodeColumn,
    RelationshipColumn,
    text_offsets,
)
from qengine.exec.scalar.compare import group_key
from qengine.exec.scalar.values import NodeHandle, RelationshipHandle

Hashes = NDArray[np.uint64]

_NULL, _TRUE, _FALSE, _LIST = (np.uint64(n) for n in (0x9E37, 0x79B9, 0x7F4A, 0x7C15))
_PLACE = np.uint64(0xFF51AFD7ED558CCD)  # what tells the places of a list's items apart
_MASK = (1 << 64) - 1
_PIECE = 1 << 12


def row_hashes(columns: Sequence[Column], length: int) -> Hashes:
    """Return a hash of each of ``length`` rows, uint64."""
    found = np.zeros(length, np.uint64)
    for column in columns:
        _mix(found, _words(column))
    return found


def _mix(hashes: Hashes, words: Hashes) -> None:
    """Mix words into hashes."""
    words = np.ascontiguousarray(words)
    _library().qe_hash_words(words.ctypes.data, len(words), hashes.ctypes.data)


def _words(column: Column) -> Hashes:
    """Return 64 bits for each value, the same for those that are grouped as one."""
    if isinstance(column, NodeColumn | RelationshipColumn):
        return np.where(column.ids < 0, _NULL, column.ids.view(np.uint64))
    if isinstance(column, ConstantColumn):
        return np.full(len(column), _of_values([column.value])[0], np.uint64)
    words = None
    if isinstance(column, ListColumn):
        words = _of_lists(column.offsets(), _words(column.flat()))
    elif isinstance(column, ArrowColumn):
        words = _of_array(column.array)
    if words is None:  # by pieces: values as the language has them, and their keys, take much memory
        pieces = (column.slice(begin, _PIECE) for begin in range(0, max(len(column), 1), _PIECE))
        return np.concatenate([_of_values(piece.values()) for piece in pieces])
    null = column.is_null()
    return np.where(null, _NULL, words) if null.any() else words


def _of_array(array: Any) -> Hashes | None:
    """Return the words of a flat array, null's anything; None for types whose values are looked at one by one."""
    kind = array.type
    if pa.types.is_int64(kind) or pa.types.is_float64(kind):
        return _of_numbers(
            np.frombuffer(array.buffers()[1], np.dtype(kind.to_pandas_dtype()))[array.offset :][: len(array)]
        )
    if (offsets := text_offsets(array)) is not None:
        return _of_texts(array.buffers()[2], offsets)
    if pa.types.is_boolean(kind):
        return np.where(array.fill_null(False).to_numpy(zero_copy_only=False), _TRUE, _FALSE)
    return None


def _of_numbers(numbers: NDArray[Any]) -> Hashes:
    """Return the bits of numbers as doubles: integers beyond 2⁵³ may share theirs, equal numbers do."""
    doubles = numbers.astype(np.float64) + 0.0  # the zeros of either sign are one
    doubles[np.isnan(doubles)] = np.nan
    return doubles.view(np.uint64)


def _of_texts(data: Any, offsets: NDArray[Any]) -> Hashes:
    places: IntArray = np.ascontiguousarray(offsets, dtype=np.int64)
    found = np.empty(len(places) - 1, np.uint64)
    address = 0 if data is None else data.address
    _library().qe_hash_texts(address, places.ctypes.data, len(found), found.ctypes.data)
    return found


def _of_lists(offsets: IntArray, items: Hashes) -> Hashes:
    """Return the words of lists by those of their items, and the places of these."""
    lengths = np.diff(offsets)
    places = np.arange(len(items), dtype=np.int64) - np.repeat(offsets[:-1], lengths)
    mixed = places.view(np.uint64) * _PLACE
    _mix(mixed, items)
    sums = np.concatenate(([np.uint64(0)], np.cumsum(mixed, dtype=np.uint64)))
    found = lengths.astype(np.uint64) + _LIST
    _mix(found, sums[offsets[1:]] - sums[offsets[:-1]])
    return found


def _of_values(values: Sequence[Any]) -> Hashes:
    """Return the words of Python values of any type."""
    found = np.empty(len(values), np.uint64)
    by_kind: dict[type, list[int]] = {}
    for place, value in enumerate(values):
        by_kind.setdefault(type(value), []).append(place)
    for kind, places in by_kind.items():
        found[places] = _of_kind(kind, [values[place] for place in places])
    return found


def _of_kind(kind: type, values: list[Any]) -> Any:
    if kind is type(None):
        return _NULL
    if kind is bool:
        return np.where(values, _TRUE, _FALSE)
    if kind is float or kind is int:
        return _of_numbers(np.array([_double(value) for value in values]))
    if kind is str:
        return _of_strings(values)
    if kind in (NodeHandle, RelationshipHandle):
        return np.array([value.id for value in values], np.uint64)
    if kind is list:
        offsets = np.cumsum([0, *map(len, values)], dtype=np.int64)
        return _of_lists(offsets, _of_values([item for value in values for item in value]))
    return np.array([hash(group_key(value)) & _MASK for value in values], np.uint64)


def _double(number: float) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("inf")


def _of_strings(values: list[str]) -> Hashes:
    """Return the words of strings, halves of UTF-16 pairs among them."""
    texts = pa.array([value.encode(errors="surrogatepass") for value in values], pa.large_binary())
    offsets = np.frombuffer(texts.buffers()[1], np.int64, len(values) + 1)
    return _of_texts(texts.buffers()[2], offsets)


_library = _native.declared("qe_hash_words p u8 p; qe_hash_texts p p u8 p")
