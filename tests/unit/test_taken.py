"""Values of numbers and moments, some null, taken in any order: as Arrow takes them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from qengine.storage.taken import taken

KINDS = (
    *(pa.int64(), pa.float64(), pa.date32(), pa.date64(), pa.time32("s"), pa.time64("ns")),
    *(pa.timestamp("us"), pa.timestamp("ns", "UTC"), pa.duration("ms"), pa.int32(), pa.string(), pa.bool_()),
)


def _values(kind: Any, length: int) -> pa.Array:
    dice = np.random.default_rng(5)
    numbers = pa.array(dice.integers(0, 80_000, length), mask=dice.random(length) < 0.3)
    if pa.types.is_boolean(kind):
        return pa.array([None if each is None else each % 2 == 0 for each in numbers.to_pylist()])
    if pa.types.is_date64(kind):
        return numbers.cast(pa.int32()).cast(pa.date32()).cast(kind)
    narrow = pa.int32() if kind.id in (pa.date32().id, pa.time32("s").id) else pa.int64()
    return numbers.cast(narrow).cast(kind)


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("begin", [0, 1, 13])
def test_values_are_those_that_arrow_takes(kind: Any, begin: int) -> None:
    array = _values(kind, 4_000)[begin : 3_000 + begin]
    assert array.null_count and array.offset == begin
    for rows in (np.random.default_rng(6).integers(0, len(array), 5_003), np.arange(len(array))[::-1].copy()):
        found = taken(array, rows)
        found.validate(full=True)
        assert found.equals(array.take(pa.array(rows)))
        assert found.null_count == array.take(pa.array(rows)).null_count
