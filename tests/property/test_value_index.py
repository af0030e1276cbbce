"""Indexes of property values against the language's own comparison, value by value, over columns of any types."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qengine.errors import QueryInterrupted
from qengine.exec.common.value_index import ChangedIndex, ChangedOrder, HashIndex, SortedIndex, Unanswered
from qengine.exec.context import ExecutionContext
from qengine.exec.scalar.compare import equals, ordered
from qengine.storage.arrays import Array
from qengine.storage.columns import PropertyColumn
from qengine.storage.variant import from_python
from qengine.temporal import Date, LocalDateTime, LocalTime

COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
EDGES = [0, -0.0, 1, 1.0, -1, 2**53, 2**53 + 1, float(2**53), 2**63 - 1, -(2**63), 2.0**63, 0.5]
EDGES += [float("nan"), float("inf"), -float("inf")]

integers = st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3)
floats = st.floats() | st.integers(-3, 3).map(float)
texts = st.text(max_size=3) | st.sampled_from(["", "a", "ab", "b", "é", "e\u0301", "\U0010ffff", "\uffff", "a\0"])
dates = st.integers(-3, 3).map(Date.from_days)
times = st.integers(0, 5).map(lambda n: LocalTime.from_nanoseconds(500 * n))
moments = st.integers(-5, 5).map(lambda n: LocalDateTime.from_nanoseconds(500 * n))
scalars = st.sampled_from(EDGES) | integers | floats | texts | st.booleans() | dates | times | moments
kinds = [integers, floats, texts, st.booleans(), dates, times, moments, scalars, st.sampled_from(EDGES)]
columns = st.sampled_from(kinds).flatmap(lambda kind: st.lists(st.none() | kind, max_size=24))


def column_of(values: list[Any], begin: int) -> PropertyColumn:
    """Return a column of values, as a part of a longer array."""
    return PropertyColumn(begin, from_python([None, *values, *values[:1]], "here").slice(1, len(values)))


@given(columns, st.lists(scalars | columns.map(lambda found: found[0] if found else 1), max_size=4), st.integers(0, 5))
def test_equality(values: list[Any], asked: list[Any], begin: int) -> None:
    index = HashIndex(column_of(values, begin), ExecutionContext())
    asked += values[:2]
    expected = [
        (row, begin + place)
        for row, one in enumerate(asked)
        for place, value in enumerate(values)
        if equals(value, one)
    ]
    found = index.pairs(asked, ExecutionContext())
    assert list(zip(*map(np.ndarray.tolist, found), strict=True)) == expected
    for row, one in enumerate(asked):
        if one is not None:
            ids = [id for which, id in expected if which == row]
            assert index.ids(one, ExecutionContext()).tolist() == index.few(one, ExecutionContext()) == ids
    repeated = any(equals(a, b) for k, a in enumerate(values) for b in values[:k])
    assert not (index.unique and repeated)


def change_of(given: dict[int, Any]) -> tuple[Array, Any]:
    """Return what differs of a column, by id."""
    ids = sorted(given)
    return np.array(ids, np.int64), from_python([given[id] for id in ids], "here")


@given(columns, st.lists(st.dictionaries(st.integers(0, 30), scalars | st.none(), max_size=4), max_size=3), st.data())
def test_an_index_of_a_column_in_which_values_differ(values: list[Any], steps: list[dict[int, Any]], data: Any) -> None:
    context, now = ExecutionContext(), dict(enumerate(values))
    index: Any = HashIndex(column_of(values, 0), context)
    for step in steps:
        now.update(step)
        index = index.with_change(lambda step=step: change_of(step))
        if index is None:  # more differs than it is worth
            return
    assert isinstance(index, ChangedIndex) == bool(steps)
    asked = data.draw(st.lists(scalars | st.sampled_from([*now.values(), 1]), max_size=4))
    expected = [(row, id) for row, one in enumerate(asked) for id in sorted(now) if equals(now[id], one)]
    try:
        found = index.pairs(asked, context)
    except Unanswered:
        assert not set(map(type, asked)) <= {int, float, str, bool, type(None)}
        return
    assert list(zip(*map(np.ndarray.tolist, found), strict=True)) == expected
    for row, one in enumerate(asked):
        if one is not None:
            ids = [id for which, id in expected if which == row]
            assert index.ids(one, context).tolist() == index.few(one, context) == ids
    present = [value for value in now.values() if value is not None]
    assert not (index.unique and any(equals(a, b) for k, a in enumerate(present) for b in present[:k]))


@given(columns, st.lists(st.tuples(st.sampled_from(list(COMPARE)), scalars), min_size=1, max_size=3))
def test_ranges(values: list[Any], bounds: list[tuple[str, Any]]) -> None:
    index = SortedIndex(column_of(values, 3), ExecutionContext())
    if values and values[0] is not None:
        bounds.append((">=", values[0]))
    expected = [
        3 + place
        for place, value in enumerate(values)
        if value is not None and all(ordered(value, bound, COMPARE[op]) for op, bound in bounds)
    ]
    found = index.ids(bounds, len(values))
    assert found is not None and found.tolist() == expected
    assert not expected or index.ids(bounds, len(expected) - 1) is None


@given(columns, st.lists(st.dictionaries(st.integers(0, 30), scalars | st.none(), max_size=4), max_size=3),
       st.lists(st.tuples(st.sampled_from(list(COMPARE)), scalars), min_size=1, max_size=2))  # fmt: skip
def test_ranges_of_a_column_in_which_values_differ(
    values: list[Any], steps: list[dict[int, Any]], bounds: list[tuple[str, Any]]
) -> None:
    now = dict(enumerate(values))
    index: Any = SortedIndex(column_of(values, 0), ExecutionContext())
    for step in steps:
        now.update(step)
        index = index.with_change(lambda step=step: change_of(step))
        if index is None:  # more differs than it is worth
            return
    assert isinstance(index, ChangedOrder) == bool(steps)
    expected = [
        id
        for id, value in sorted(now.items())
        if value is not None and all(ordered(value, bound, COMPARE[op]) for op, bound in bounds)
    ]
    try:
        found = index.ids(bounds, 31)
    except Unanswered:
        assert not {type(bound) for _, bound in bounds} <= {int, float, str, bool}
        return
    assert found is not None and found.tolist() == expected
    assert not expected or index.ids(bounds, len(expected) - 1) is None


@given(st.lists(st.none() | texts, max_size=24), texts, st.none() | texts)
def test_prefixes(values: list[str | None], prefix: str, least: str | None) -> None:
    bounds = [("STARTS WITH", prefix)] + ([] if least is None else [(">", least)])
    expected = [
        place
        for place, value in enumerate(values)
        if value is not None and value.startswith(prefix) and (least is None or value > least)
    ]
    found = SortedIndex(column_of(values, 0), ExecutionContext()).ids(bounds, len(values))
    assert found is not None and found.tolist() == expected


@pytest.mark.parametrize("value", [[1], {"a": 1}, None])
def test_other_values_are_not_answered(value: Any) -> None:
    index = HashIndex(column_of([1, [1], "a"], 0), ExecutionContext())
    with pytest.raises(Unanswered):
        index.ids(value, ExecutionContext())
    with pytest.raises(Unanswered):  # a list is there, which isn't indexed, and might be a date
        index.ids(Date.from_days(1), ExecutionContext())
    with pytest.raises(Unanswered):
        SortedIndex(column_of([1, "a"], 0), ExecutionContext()).ids([("STARTS WITH", "a")], 2)


@pytest.mark.parametrize("look", [1, 2, 3, 4])
def test_building_stops(look: int) -> None:
    context = ExecutionContext()
    context.control.stop_at = look
    with pytest.raises(QueryInterrupted):
        HashIndex(column_of(list(range(100_000)), 0), context)


@pytest.mark.parametrize("values", [[5], ["a"]])
def test_more_than_a_few_are_all_found(values: list[Any]) -> None:
    (value,) = values
    index = HashIndex(column_of([None, *values * 20], 3), ExecutionContext())
    assert index.few(value, ExecutionContext()) == list(range(4, 24))
    assert index.few(2**70 if value == 5 else "other", ExecutionContext()) == []


def test_a_look_up_stops() -> None:
    index = HashIndex(column_of([5] * 200_000, 0), ExecutionContext())
    context = ExecutionContext()
    context.interrupt()
    with pytest.raises(QueryInterrupted):
        index.few(5, context)


def test_keys_are_recognised() -> None:
    many = list(range(5000))
    assert HashIndex(column_of(many, 0), ExecutionContext()).unique
    assert HashIndex(column_of([*map(str, many), None, None], 0), ExecutionContext()).unique
    assert not HashIndex(column_of([*many, 7], 0), ExecutionContext()).unique
    assert not HashIndex(column_of([0.0, -0.0], 0), ExecutionContext()).unique
    assert not HashIndex(column_of([1, 1.0, "a"], 0), ExecutionContext()).unique
