"""``to_arrow``, ``to_reader``, ``to_pandas`` and ``to_polars`` give the values of ``fetchall``, at any depth."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qengine import Graph
from qengine.temporal import Date, DateTime, Duration, LocalDateTime, LocalTime, Temporal, Time
from qengine.temporal.native import from_native, from_numpy
from qengine.types import Node, Path, Relationship

GRAPH = Graph.from_records(
    [
        {"id": 0, "labels": ["A", "B"], "properties": {"x": 1, "mixed": [1, 0.5, "s"], "day": Date(1970, 1, 1)}},
        {"id": 1, "labels": [], "properties": {"x": 2**53 + 1, "mixed": [True]}},
        {"id": 2, "labels": ["B"], "properties": {}},
    ],
    [
        {"type": "R", "start": 0, "end": 1, "properties": {"w": [0.5, 2**53 + 1]}},
        {"type": "S", "start": 1, "end": 2},
    ],
)
ELEMENTS = [
    value
    for text in ("MATCH (n) RETURN n AS x", "MATCH ()-[r]->() RETURN r AS x", "MATCH p = (:A)-->()-->() RETURN p AS x")
    for (value,) in GRAPH.query(text)
]
MICROSECONDS = st.integers(-(10**16), 10**16).map(lambda number: number * 1_000)
DAY = 86_400 * 10**9
TEMPORALS = st.one_of(
    st.integers(-700_000, 2_900_000).map(Date.from_days),
    st.integers(0, DAY // 1_000 - 1).map(lambda number: LocalTime.from_nanoseconds(number * 1_000)),
    MICROSECONDS.map(LocalDateTime.from_nanoseconds),
    MICROSECONDS.map(DateTime.from_utc),
    st.builds(Duration, months=st.integers(-99, 99), days=st.integers(-99, 99), nanoseconds=MICROSECONDS),
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.text(st.characters(codec="utf-8"), max_size=4),
    TEMPORALS,
    st.sampled_from(ELEMENTS),
)
KEYS = st.sampled_from(["a", "b", "c d", "id"])
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=12
)


def told(value: Any) -> Any:
    """Return a value in a form that tells its type, alike for results, Arrow, pandas and polars."""
    if isinstance(value, np.ndarray):
        return [told(each) for each in value]
    if isinstance(value, pa.MonthDayNano):
        value = Duration(value.months, value.days, value.nanoseconds)
    if isinstance(value, np.generic):
        value = from_numpy(value)
    if (native := from_native(value)) is not None:
        value = native
    match value:
        case None | bool() | str():
            return value
        case int():
            return ("integer", value)
        case float():
            return ("float", repr(value))
        case Duration():
            return ("duration", value.months, value.days * DAY + value.nanoseconds)
        case Temporal():
            return (type(value).__name__, str(value).removesuffix("[UTC]"))
        case list() | tuple():
            return [told(each) for each in value]
        case dict():
            return without_nulls({key: told(each) for key, each in value.items()})
        case Node():
            return told({"id": value.id, "labels": list(value.labels), "properties": properties(value)})
        case Relationship():
            ends = {"start": value.start, "end": value.end}
            return told({"id": value.id, "type": value.type, **ends, "properties": properties(value)})
        case Path():
            return told({"nodes": value.nodes, "relationships": value.relationships})
    raise AssertionError(f"{type(value)}: {value!r}")


def properties(value: Node | Relationship) -> dict[str, Any] | None:
    return dict(value.properties) or None


def without_nulls(value: dict[str, Any]) -> dict[str, Any]:
    """Return the structs of elements without the properties that they lack."""
    held = value.get("properties")
    if {"id", "properties"} <= set(value) and isinstance(held, dict):
        return value | {"properties": {key: each for key, each in held.items() if each is not None} or None}
    return value


def rows(values: list[Any]) -> Any:
    return GRAPH.query("UNWIND $values AS x RETURN x", {"values": values})


@given(st.lists(VALUES, max_size=6))
def test_values_come_out_of_arrow_as_they_are(values: list[Any]) -> None:
    wanted = [told(x) for (x,) in rows(values).fetchall()]
    assert wanted == list(map(told, values))
    for result in (rows(values), GRAPH.query("UNWIND $v AS x RETURN x", {"v": values}, device="reference")):
        table = result.to_arrow()
        assert list(map(told, table["x"].to_pylist())) == wanted
        assert list(map(told, table.slice(1)["x"].to_pylist())) == wanted[1:]
        assert result.notices == ()
    assert list(map(told, rows(values).to_reader().read_all()["x"].to_pylist())) == wanted
    assert list(map(told, pa.table(rows(values))["x"].to_pylist())) == wanted


@given(VALUES)
def test_a_constant_comes_out_as_it_is(value: Any) -> None:
    result = GRAPH.query("MATCH (n) RETURN $value AS x", {"value": value})
    assert list(map(told, result.to_arrow()["x"].to_pylist())) == [told(value)] * 3


@given(st.lists(VALUES, max_size=6))
def test_values_come_out_of_pandas_as_they_are(values: list[Any]) -> None:
    found = list(rows(values).to_pandas()["x"])
    numbers = {type(value) for value in values} <= {int, float, type(None)}
    for one, other in zip(values, found, strict=True):
        if one is None:
            assert other is None or other is pandas.NA or other is pandas.NaT or math.isnan(other)
        elif numbers and type(one) is int:  # beside nulls a float, which has the same value
            assert other == one
        else:
            assert told(other) == told(one)


@given(st.lists(VALUES, max_size=6))
def test_values_come_out_of_polars_as_they_are(values: list[Any]) -> None:
    assert list(map(told, rows(values).to_polars()["x"].to_list())) == list(map(told, values))


@given(st.integers(0, 300), st.integers(1, 9))
def test_batches_of_different_types_make_one_column(count: int, step: int) -> None:
    """Rows come in batches whose types differ."""
    values = [[1] if number % step else ["a", 0.5] for number in range(count)]
    result = GRAPH.query("UNWIND $values AS x MATCH (n) RETURN x", {"values": values})
    assert sorted(map(repr, result.to_arrow()["x"].to_pylist())) == sorted(map(repr, values * 3))


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("RETURN [time('10:00+01:00'), 1] AS x", [["10:00+01:00", 1]]),
        ("RETURN {t: time('10:00+01:00')} AS x", [{"t": "10:00+01:00"}]),
        ("RETURN time('10:00+01:00') AS x", ["10:00+01:00"]),
        (
            "UNWIND [datetime('2020-01-01T00:00Z'), datetime('2020-01-01T00:00+01:00')] AS x RETURN x",
            ["2020-01-01T00:00Z", "2020-01-01T00:00+01:00"],
        ),
        ("UNWIND [[localdatetime('+999999-01-01T00:00')], [1]] AS x RETURN x", [["+999999-01-01T00:00"], [1]]),
    ],
)
def test_what_arrow_cannot_hold_is_told(text: str, changed: list[Any]) -> None:
    result = GRAPH.query(text)
    assert result.notices == ()
    assert result.to_arrow()["x"].to_pylist() == changed
    (notice,) = result.notices
    assert notice.code == "ArrowConversion" and notice.message.startswith("Column 'x': ")
    assert [told(x) for (x,) in GRAPH.query(text).fetchall()] != list(map(told, changed))


def test_stored_times_inside_mixed_properties_are_text() -> None:
    graph = Graph.from_records(
        [
            {"id": 0, "labels": "A", "properties": {"x": Time("10:00+01:00")}},
            {"id": 1, "labels": "A", "properties": {"x": [1, Time("11:00Z")]}},
            {"id": 2, "labels": "A", "properties": {"x": [2]}},
        ]
    )
    result = graph.query("MATCH (n) RETURN n, n.x AS x ORDER BY id(n)")
    table = result.to_arrow()
    wanted = ["10:00+01:00", [1, "11:00Z"], [2]]
    assert table["x"].to_pylist() == wanted
    assert [each["properties"]["x"] for each in table["n"].to_pylist()] == wanted
    assert [notice.message[:10] for notice in result.notices] == ["Column 'n'", "Column 'x'"]


def test_more_sets_of_keys_than_a_union_tells_get_nulls() -> None:
    values = [{f"k{number}": number} for number in range(200)]
    result = rows([*values, 1])
    found = result.to_arrow()["x"].to_pylist()
    assert [each if each == 1 else {k: v for k, v in each.items() if v is not None} for each in found] == [*values, 1]
    assert "sets of keys" in result.notices[0].message
