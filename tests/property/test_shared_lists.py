"""Lists that many rows have: grouped, and searched for nodes, as lists that each row has for itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from qengine.exec.common.columns import Column, ListColumn, NodeColumn, from_values
from qengine.exec.common.expressions.compiler import COLUMNAR
from qengine.exec.common.grouping import group_rows
from qengine.exec.common.runtime import Runtime
from qengine.exec.context import ExecutionContext
from qengine.exec.scalar.operators import MEMBERSHIP
from qengine.exec.scalar.values import NodeHandle
from qengine.storage import from_records

STORE = from_records([{"id": id} for id in range(5)])
NODES = st.integers(0, 4).map(NodeHandle)


KINDS: list[list[Any]] = [[-2, 0, 1, 2**53 + 1], [0.0, -0.0, 1.0, 1.5, float("nan")], ["a", "b"], [True, False]]
VALUES = st.sampled_from([None, *(value for kind in KINDS for value in kind)])


@st.composite
def columns(
    draw: st.DrawFn, *, nullable: bool = True, items: st.SearchStrategy[Any] = NODES
) -> tuple[ListColumn, list[Any]]:
    """Draw lists of which rows are taken, again and again, and their values."""
    some = st.lists(items, max_size=4)
    lists = draw(st.lists(st.none() | some if nullable else some, min_size=1, max_size=4))
    lengths = [len(each or ()) for each in lists]
    held = from_values([item for each in lists for item in each or ()] or [NodeHandle(0)])
    offsets = np.cumsum([0, *lengths])
    column = ListColumn(offsets, held, np.array([each is not None for each in lists]))
    rows = draw(st.lists(st.integers(0, len(lists) - 1), min_size=8, max_size=20))
    taken = column.take(np.array(rows))
    assert isinstance(taken, ListColumn)
    return taken, [lists[row] for row in rows]


@given(columns())
def test_shared_lists_are_those_of_the_rows(case: tuple[ListColumn, list[Any]]) -> None:
    column, values = case
    if (shared := column.shared()) is not None:
        places, lists = shared
        assert len(lists) <= len(column) // 2
        assert [lists.values()[place] for place in places.tolist()] == values


def test_rows_that_share_little_or_nothing_are_left_alone() -> None:
    items = NodeColumn(np.arange(4))
    assert ListColumn(np.array([0, 2, 4]), items).shared() is None
    assert ListColumn(np.array([0, 2, 4]), items).take(np.array([0, 1, 0])).shared() is None
    assert ListColumn(np.array([0, 2, 4]), items).take(np.array([0, 0, 1, 1])).shared() is not None


@given(columns())
def test_rows_are_grouped_by_lists(case: tuple[ListColumn, list[Any]]) -> None:
    column, values = case
    groups = group_rows([column], len(column))
    expected: dict[str, int] = {}
    codes = [expected.setdefault(repr(value), len(expected)) for value in values]
    assert groups.count == len(expected)
    assert len(set(zip(codes, groups.codes.tolist(), strict=True))) == len(expected)


@given(columns() | columns(nullable=False), st.data())
def test_nodes_are_found_in_shared_lists(case: tuple[ListColumn, list[Any]], data: st.DataObject) -> None:
    column, values = case
    nodes = data.draw(st.lists(NODES, min_size=len(values), max_size=len(values)))
    found: Column | None = COLUMNAR["IN"](Runtime(STORE, ExecutionContext({})), from_values(nodes), column)
    assert found is not None
    account = ExecutionContext({}).memory
    assert found.values() == [MEMBERSHIP["IN"](account, *pair) for pair in zip(nodes, values, strict=True)]


@given(columns(items=VALUES), st.data())
def test_values_are_found_in_shared_lists(case: tuple[ListColumn, list[Any]], data: st.DataObject) -> None:
    column, lists = case
    some = st.sampled_from([None, *data.draw(st.sampled_from(KINDS))])
    values = data.draw(st.lists(some, min_size=len(lists), max_size=len(lists)))
    account = ExecutionContext({}).memory
    found: Column | None = COLUMNAR["IN"](Runtime(STORE, ExecutionContext({})), from_values(values), column)
    if found is not None:
        expected = [MEMBERSHIP["IN"](account, value, each) for value, each in zip(values, lists, strict=True)]
        assert found.values() == expected


def test_values_are_looked_for_list_by_list() -> None:
    lists = ListColumn(np.array([0, 3, 3, 5]), from_values([1, 2, None, 4, 1])).take(np.array([0, 1, 2, 0, 1, 2]))
    found: Column | None = COLUMNAR["IN"](
        Runtime(STORE, ExecutionContext({})), from_values([1, 1, 1, 4, None, None]), lists
    )
    assert found is not None
    assert found.values() == [True, False, True, None, False, None]
