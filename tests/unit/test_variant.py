"""Arrays of values that differ in type: which are null, whatever Arrow's version says of unions."""

from __future__ import annotations

import pyarrow as pa
import pytest

from qengine.storage.variant import from_python, is_present

VALUES = [1, None, "a", 2.5, None, True, [1], "b", None]


@pytest.mark.parametrize("values", [VALUES, VALUES[::-1], [None, 1, 2], [None, None], ["a"], []])
def test_nulls_of_unions_are_seen(values: list[object]) -> None:
    array = from_python(values, "a property")
    assert is_present(array).tolist() == [each is not None for each in values]
    for first in range(len(values)):
        there = [each is not None for each in values[first:]]
        assert is_present(array.slice(first)).tolist() == there
        assert is_present(array.take(pa.array(range(first, len(values))))).tolist() == there


def test_children_may_have_nulls_of_their_own() -> None:
    codes, offsets = pa.array([0, 1, 1, 0], pa.int8()), pa.array([0, 0, 1, 1], pa.int32())
    union = pa.UnionArray.from_dense(codes, offsets, [pa.array([1, None]), pa.array(["a", None])])
    assert is_present(union).tolist() == [True, True, False, False]
