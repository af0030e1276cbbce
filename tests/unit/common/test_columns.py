"""Columns keep values and their kinds through every operation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from qengine.exec.common.columns import (
    ArrowColumn,
    Column,
    ConstantColumn,
    ListColumn,
    NodeColumn,
    ObjectColumn,
    RelationshipColumn,
    concatenate,
    from_arrow,
    from_values,
    null_column,
)
from qengine.exec.common.expressions.functions import chosen_rows
from qengine.exec.common.expressions.temporal import field_of
from qengine.exec.common.grouping import group_rows, known_apart
from qengine.exec.scalar.compare import group_key
from qengine.exec.scalar.values import NodeHandle, RelationshipHandle
from qengine.storage import variant

N, R = NodeHandle, RelationshipHandle
COLUMNS: dict[str, tuple[list[Any], type[Column]]] = {
    "integers": ([1, None, -(2**63), 4, 5], ArrowColumn),
    "floats": ([1.0, None, float("inf"), -0.5, 2.0], ArrowColumn),
    "strings": (["a", None, "", "ä", "b"], ArrowColumn),
    "booleans": ([True, None, False, True, False], ArrowColumn),
    "nodes": ([N(3), None, N(0), N(3), N(1)], NodeColumn),
    "relationships": ([R(3), None, R(0), R(3), R(1)], RelationshipColumn),
    "lists": ([[1, 2], None, [], [3], [None]], ListColumn),
    "lists of nodes": ([[N(1)], None, [], [N(2), N(3)], []], ListColumn),
    "lists of lists": ([[[1]], None, [], [[2, 3], []], [None]], ListColumn),
    "mixed lists": ([[1, "a"], None, [], [1.0], [N(2)]], ObjectColumn),
    "mixed": ([1, 1.0, None, "a", [1]], ObjectColumn),
    "maps": ([{"a": 1}, None, {}, {"a": None}, {"b": 2}], ObjectColumn),
    "nulls": ([None] * 5, ConstantColumn),
}


def same(found: list[Any], wanted: list[Any]) -> bool:
    return list(map(repr, found)) == list(map(repr, wanted))


@pytest.mark.parametrize("name", COLUMNS)
def test_operations(name: str) -> None:
    values, kind = COLUMNS[name]
    column = from_values(values)
    assert type(column) is kind
    assert len(column) == 5
    assert same(column.values(), values)
    assert column.is_null().tolist() == [value is None for value in values]
    assert column.nbytes >= 0
    order = np.array([4, 0, 0, 3], dtype=np.int64)
    assert same(column.take(order).values(), [values[i] for i in order])
    assert same(column.take(order[:0]).values(), [])
    part = column.slice(1, 3)
    assert same(part.values(), values[1:4])
    assert part.is_null().tolist() == [value is None for value in values[1:4]]
    assert same(part.take(np.array([2, 1])).values(), [values[3], values[2]])
    assert same(concatenate([part, column, null_column(1)]).values(), [*values[1:4], *values, None])


@pytest.mark.parametrize("first", COLUMNS)
@pytest.mark.parametrize("second", COLUMNS)
def test_columns_of_any_kinds_join(first: str, second: str) -> None:
    left, right = COLUMNS[first][0], COLUMNS[second][0]
    joined = concatenate([from_values(left), from_values(right)])
    assert same(joined.values(), [*left, *right])


def test_groups_are_those_of_group_keys() -> None:
    values = [1, 1.0, True, None, "1", [1], [1.0], float("nan"), float("nan"), -0.0, 0, N(0), R(0), None, {"a": 1}]
    for some in (values, [0.0, -0.0, float("nan"), None, -float("nan"), None], [2**62, -(2**62), 2**62, 0]):
        keys = [("handle", type(v), v.id) if isinstance(v, N | R) else group_key(v) for v in some]
        groups = group_rows([from_values(some)], len(some))
        for i, own in enumerate(keys):
            assert keys[groups.first[groups.codes[i]]] == own
            assert keys.index(own) == groups.first[groups.codes[i]]
        assert groups.count == len(set(map(repr, map(keys.index, keys))))


@pytest.mark.parametrize("ids", [[2, 5, 9], [5, 2, 9], [2, 5, 5], [-1, 0, 2_000_000]])
def test_groups_of_nodes(ids: list[int]) -> None:
    groups = group_rows([NodeColumn(np.array(ids))], len(ids))
    assert groups.count == len(set(ids))
    assert [ids[groups.first[code]] for code in groups.codes] == ids


def test_values_that_ascend_are_apart() -> None:
    parts = [NodeColumn(np.array(ids)) for ids in ([-1, 3], [], [4, 9])]
    assert known_apart(parts)
    assert not known_apart(parts[::-1])
    assert not known_apart([*parts, NodeColumn(np.array([9, 10]))])
    assert not known_apart([NodeColumn(np.array([1, 1]))])
    assert not known_apart([from_values([1, 2]), from_values([2.5, 3.0])])


def test_groups_of_many_wide_columns() -> None:
    """The product of the columns' ranges passes 64 bits."""
    random = np.random.default_rng(0)
    columns = [random.choice(random.integers(-(2**62), 2**62, 40), 500) for _ in range(15)]
    columns = [np.concatenate([column, column[:100]]) for column in columns]
    groups = group_rows([ArrowColumn(pa.array(column)) for column in columns], 600)
    assert groups.count == 500
    assert groups.codes[500:].tolist() == groups.codes[:100].tolist()


def test_rows_share_the_items_of_lists() -> None:
    """Else a list of n items, carried along while it is unwound, would take n² places."""
    column = from_values([list(range(10_000)), [1], None])
    many = column.take(np.zeros(10_000, dtype=np.int64))
    assert many.nbytes < 10 * column.nbytes
    assert many.values()[9_999] == list(range(10_000))
    joined = concatenate([many.slice(0, 3), many.slice(5, 2), column])
    assert isinstance(joined, ListColumn) and len(joined.items) == len(column.items)
    few = column.take(np.array([1]))
    assert isinstance(few, ListColumn) and len(few.items) == 1


def test_arrow_lists_and_unions_become_columns() -> None:
    lists = pa.array([[0], [1, 2], None, [], [3]], pa.list_(pa.int64())).slice(1)
    assert from_arrow(lists).values() == [[1, 2], None, [], [3]]
    union = pa.UnionArray.from_dense(
        pa.array([0, 1, 0], pa.int8()), pa.array([0, 0, 1], pa.int32()), [pa.array([1, None]), pa.array(["a"])]
    )
    assert from_arrow(union).values() == [1, "a", None]


def test_a_union_of_nothing_has_no_buffers() -> None:
    empty = pa.Array.from_buffers(
        pa.dense_union([pa.field("a", pa.int64()), pa.field("b", pa.string())]), 0, [None, None, None],
        children=[pa.array([], pa.int64()), pa.array([], pa.string())],
    )  # fmt: skip
    assert variant.concatenate([empty, pa.nulls(2)]).to_pylist() == [None, None]


def test_constants_stay_constant_when_joined() -> None:
    joined = concatenate([ConstantColumn(3, 2), ConstantColumn(3, 4)])
    assert isinstance(joined, ConstantColumn) and len(joined) == 6
    assert same(
        concatenate([ConstantColumn(1, 1), ConstantColumn(1.0, 1), ConstantColumn(True, 1)]).values(), [1, 1.0, True]
    )


def test_text_that_needs_wide_offsets(monkeypatch: pytest.MonkeyPatch) -> None:
    """32-bit offsets reach 2 GiB of text; here, so that little is enough, 40 bytes of columns."""
    monkeypatch.setattr("qengine.exec.common.columns.STRING_LIMIT", 40)
    values = ["abcdefgh", None, "", "ä"]
    narrow = from_values(values)
    wide = concatenate([narrow, narrow, null_column(2)])
    assert isinstance(wide, ArrowColumn) and wide.array.type == pa.large_string()
    assert wide.values() == [*values, *values, None, None]
    both = concatenate([wide, narrow])
    assert isinstance(both, ArrowColumn) and both.values() == [*values, *values, None, None, *values]
    lists = concatenate([from_values([values]), from_values([values, None])])
    assert lists.values() == [values, values, None]


def test_taking_more_text_than_narrow_offsets_reach() -> None:
    class Full:
        """An array whose rows taken would exceed 2 GiB."""

        type = pa.string()

        def take(self, positions: Any) -> Any:
            raise pa.ArrowInvalid("Take operation overflowed binary array capacity")

        def cast(self, kind: Any) -> Any:
            return pa.array(["a", "b"], kind)

    taken = ArrowColumn(Full()).take(np.array([1, 1, 0]))
    assert isinstance(taken, ArrowColumn) and taken.array.type == pa.large_string()
    assert taken.values() == ["b", "b", "a"]


@pytest.mark.parametrize(
    "columns",
    [
        [ConstantColumn(1, 5), ConstantColumn(2, 5), ConstantColumn(None, 5)],
        [ConstantColumn("a", 5), from_values(["b", None, "c", "d", "e"]), ConstantColumn(2.5, 5)],
        [from_values([1, 2, 3, 4, 5]), from_values([6, None, 8, 9, 10]), from_values([0.5] * 5)],
        [from_values([True, False, None, True, True]), ConstantColumn(False, 5), ConstantColumn(False, 5)],
    ],
)
def test_each_row_is_of_the_column_that_is_chosen_for_it(columns: list[Column]) -> None:
    chosen = np.array([2, 1, 0, 1, 2])
    expected = [columns[each].values()[row] for row, each in enumerate(chosen)]
    assert chosen_rows(columns, chosen).values() == expected


@pytest.mark.parametrize(
    "of", [(1, 0), (1, 0.5), (0.5, None), (2**70, 1), (True, 1), (None, None), ("a", "b"), (2, [3])]
)
@pytest.mark.parametrize("beside", [False, True])
def test_either_of_two_is_chosen(of: tuple[Any, Any], beside: bool) -> None:
    """As it is: an integer beside a float remains one."""
    columns = [ConstantColumn(of[0], 3), from_values([of[1]] * 3) if beside else ConstantColumn(of[1], 3)]
    found = chosen_rows(columns, np.array([1, 0, 1], np.uint8)).values()
    assert list(map(repr, found)) == list(map(repr, (of[1], of[0], of[1])))


@pytest.mark.parametrize("days", [[], [-1], [0, 30, 31, -365, 30, 31, 0], [3, 2, 3, 2, 3, 3], [-800, 10**6]])
def test_fields_of_few_different_days_are_those_of_each(days: list[int]) -> None:
    dates = ArrowColumn(pa.array(days, pa.int32()).cast(pa.date32()))
    for field in ("year", "month", "day"):
        found = field_of(dates, field)
        assert found is not None
        assert found.values() == [getattr(np.datetime64(day, "D").item(), field) for day in days]
