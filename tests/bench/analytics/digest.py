"""A small summary of a result by which two engines' answers are compared, whatever order their rows have."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from math import fsum, isclose
from typing import Any
from zlib import crc32

import pyarrow as pa

_TOLERANCE = 1e-9


def digest(table: pa.Table, exact: int) -> dict[str, Any]:
    """Return the number of rows, a sum of hashes of the exact columns, and of each other column a weighted sum.

    A float's weight follows from the exact columns of its row, so that a value in another row is noticed.
    """
    columns = [column.to_pylist() for column in table.columns]
    hashes = [_hash(row) for row in zip(*columns[:exact], strict=True)] if exact else [0] * table.num_rows
    floats = []
    for column in columns[exact:]:
        weighed = [
            (1 + key % 1009 / 1009) * value for key, value in zip(hashes, column, strict=True) if value is not None
        ]
        floats.append((fsum(weighed), fsum(map(abs, weighed)), column.count(None)))
    return {"rows": table.num_rows, "hash": sum(hashes) % 2**61, "floats": floats}


def agree(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Tell whether two summaries are of the same answer: floats within 1e-9 of the sum of their amounts."""
    if one["rows"] != other["rows"] or one["hash"] != other["hash"]:
        return False
    return all(
        mine[2] == theirs[2] and isclose(mine[0], theirs[0], rel_tol=0, abs_tol=_TOLERANCE * (mine[1] + theirs[1]))
        for mine, theirs in zip(one["floats"], other["floats"], strict=True)
    )


def _hash(row: Sequence[object]) -> int:
    return crc32(repr([_plain(value) for value in row]).encode()) * 2_654_435_761


def _plain(value: object) -> object:
    """Return the value in one form: integers as such, lists, of which engines collect items in any order, sorted."""
    if isinstance(value, list):
        return sorted(value)
    return int(value) if isinstance(value, Decimal) else value
