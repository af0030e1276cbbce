"""Groups of rows: equal exactly where grouping equality says so, and each with its first row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qengine.exec.common.columns import ArrowColumn, Column, NodeColumn, ObjectColumn, from_values
from qengine.exec.common.grouping import by_code, group_rows
from qengine.exec.common.map_column import MapColumn, maps_of
from qengine.exec.scalar.compare import group_key

INTEGERS = st.one_of(st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1), st.sampled_from([0, 2**32, 2**62, -(2**63)]))
FLOATS = st.one_of(st.sampled_from([0.0, -0.0, 1.5, float("nan"), float("inf")]), st.floats())
ITEMS = [
    st.integers(0, 2),
    st.none() | st.sampled_from([0.0, -0.0, float("nan")]),
    st.lists(st.none() | st.integers(0, 1)),
]


def values_of(values: list[object], kind: str) -> Column:
    """Return lists, or maps with a null here and there, as columns of what is in them."""
    if kind == "list":
        return from_values(values)
    rows = np.array([value is not None for value in values], dtype=np.bool_)
    filled = [{"x": None, "y": 0} if value is None else value for value in values]
    made = maps_of(filled)
    return ObjectColumn(values) if made is None else MapColumn(made.fields, len(values), None if rows.all() else rows)


def _column(kind: str, values: list[object]) -> Column:
    if kind == "object":
        return ObjectColumn(values)
    if kind in ("list", "map"):
        return values_of(values, kind)
    if kind == "node":
        return NodeColumn(np.array(values, dtype=np.int64))
    return ArrowColumn(pa.array(values, type=pa.int64() if kind == "integer" else pa.float64()))


@st.composite
def _columns(draw: st.DrawFn) -> tuple[list[tuple[str, list[object]]], int]:
    length = draw(st.integers(0, 200))
    columns = []
    for _ in range(draw(st.integers(0, 3))):
        kind = draw(st.sampled_from(["integer", "float", "node", "object", "list", "map"]))
        values: st.SearchStrategy[object] = {
            "integer": st.one_of(INTEGERS, st.none()) if draw(st.booleans()) else INTEGERS,
            "float": st.one_of(FLOATS, st.none()) if draw(st.booleans()) else FLOATS,
            "node": st.integers(0, draw(st.sampled_from([3, 2**40]))),
            "object": st.one_of(INTEGERS, FLOATS, st.none(), st.text(max_size=2)),
            "list": st.none() | st.lists(draw(st.sampled_from(ITEMS)), max_size=draw(st.sampled_from([2, 20]))),
            "map": st.none() | st.fixed_dictionaries({"x": draw(st.sampled_from(ITEMS)), "y": st.integers(0, 2)}),
        }[kind]
        few = draw(st.lists(values, min_size=1, max_size=draw(st.sampled_from([2, 200]))))
        places = draw(st.lists(st.integers(0, len(few) - 1), min_size=length, max_size=length))
        columns.append((kind, [few[place] for place in places]))
    return columns, length


def _check(columns: Sequence[tuple[str, list[object]]], length: int) -> None:
    groups = group_rows([_column(kind, values) for kind, values in columns], length)
    keys = [tuple(group_key(values[row]) for _, values in columns) for row in range(length)]
    first: dict[object, int] = {}
    for row, key in enumerate(keys):
        first.setdefault(key, row)
    assert sorted(groups.first.tolist()) == sorted(first.values())
    assert all(groups.first[code] == first[key] for code, key in zip(groups.codes.tolist(), keys, strict=True))


@given(_columns())
def test_rows_are_of_one_group_where_all_keys_are_equal(case: tuple[list[tuple[str, list[object]]], int]) -> None:
    _check(*case)


@pytest.mark.parametrize("different", [1, 7, 1_000, 700_000])
@pytest.mark.parametrize("stride", [1, 9, 2**20, 2**43 + 1])
def test_many_rows(different: int, stride: int) -> None:
    chance = np.random.default_rng(different)
    values = chance.integers(0, different, 100_000) * stride
    groups = group_rows([NodeColumn(values)], len(values))
    kinds, first = np.unique(values, return_index=True)
    assert groups.count == len(kinds)
    assert sorted(groups.first) == sorted(first)
    assert (values[groups.first][groups.codes] == values).all()


@pytest.mark.parametrize("count", [1, 2, 1 << 16, (1 << 16) + 1, 1 << 33])
def test_rows_are_sorted_by_their_codes(count: int) -> None:
    codes = np.random.default_rng(count).integers(0, count, 500)
    codes[::7] = codes[3]
    codes[5] = count - 1
    expected = sorted(range(len(codes)), key=codes.tolist().__getitem__)
    assert by_code(codes, count).tolist() == expected
    assert by_code(codes[:0], count).tolist() == []
