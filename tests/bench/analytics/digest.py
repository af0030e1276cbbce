"""A small summary of a result by which two engines' answers are compared, whatever order their rows have."""

from __future__ import annotations

from math import isclose
from typing import Any
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_TOLERANCE = 1e-9
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_NULL = np.uint64(0x1B873593CC9E2D51)

_Hashes = NDArray[np.uint64]


def digest(table: pa.Table, exact: int) -> dict[str, Any]:
    """Return the number of rows, a sum of hashes of the exact columns, and of each other column a weighted sum.

    A float's weight follows from the exact columns of its row, so that a value in another row is noticed.
    """
    hashes = np.zeros(table.num_rows, np.uint64)
    for column in table.columns[:exact]:
        hashes = _mixed(hashes * np.uint64(31) + _hashed(column))
    weights = 1 + (hashes % np.uint64(1009)) / 1009
    floats = []
    for column in table.columns[exact:]:
        if pa.types.is_union(column.type):  # a sum of no floats is the integer 0
            column = pa.chunked_array([pa.array(column.to_pylist(), pa.float64())])
        values = pc.fill_null(column.cast(pa.float64()), 0.0).to_numpy()
        floats.append((float(weights @ values), float(weights @ np.abs(values)), column.null_count))
    return {"rows": table.num_rows, "hash": int(hashes.sum()) % 2**61, "floats": floats}


def agree(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Tell whether two summaries are of the same answer: floats within 1e-9 of the sum of their amounts."""
    if one["rows"] != other["rows"] or one["hash"] != other["hash"]:
        return False
    return all(
        mine[2] == theirs[2] and isclose(mine[0], theirs[0], rel_tol=0, abs_tol=_TOLERANCE * (mine[1] + theirs[1]))
        for mine, theirs in zip(one["floats"], other["floats"], strict=True)
    )


def _hashed(column: pa.ChunkedArray) -> _Hashes:
    """Return a hash of each value; whole numbers and truth values of every width have those of int64."""
    kind = column.type
    if pa.types.is_integer(kind) or pa.types.is_boolean(kind) or pa.types.is_decimal(kind):
        numbers = pc.fill_null(column.cast(pa.int64()), 0).to_numpy().astype(np.int64)
        found = _mixed(numbers.view(np.uint64))
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
        codes = column.combine_chunks().dictionary_encode()
        of_texts = np.array([crc32(text.encode()) for text in codes.dictionary.to_pylist()] or [0], np.uint64)
        found = _mixed(of_texts)[pc.fill_null(codes.indices, 0).to_numpy()]
    else:
        found = np.array([crc32(repr(_plain(value)).encode()) for value in column.to_pylist()], np.uint64)
    return np.where(pc.is_null(column).to_numpy(), _NULL, found)


def _mixed(numbers: _Hashes) -> _Hashes:
    numbers = (numbers ^ (numbers >> np.uint64(32))) * _FACTOR
    return numbers ^ (numbers >> np.uint64(29))


def _plain(value: object) -> object:
    """Return a list sorted, since engines collect items in any order."""
    return sorted(value) if isinstance(value, list) else value
