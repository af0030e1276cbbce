"""Temporal values as Python's: constructors, ``repr``, fields, equality, order, hash, pickling, ``datetime``."""

from __future__ import annotations

import copy
import datetime
import json
import pickle
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import qengine
from qengine import Date, DateTime, Duration, ExecutionError, Graph, LocalDateTime, LocalTime, Time
from qengine.temporal.native import from_native
from qengine.temporal.values import DAY, FIELDS
from qengine.temporal.zones import at_moment

GRAPH = Graph.from_records([])
DAYS = st.integers(-365_000_000_000, 365_000_000_000) | st.integers(-800_000, 2_900_000)
NANOSECONDS = st.integers(0, DAY - 1) | st.integers(0, 86_399).map(lambda second: second * 10**9)
LOCALS = st.builds(lambda day, time: day * DAY + time, DAYS, NANOSECONDS)
OFFSETS = st.integers(-18 * 3600, 18 * 3600) | st.sampled_from([0, 3600, -5 * 3600])
ZONES = OFFSETS | st.sampled_from(["Europe/Stockholm", "America/New_York", "Australia/Lord_Howe"])
VALUES = st.one_of(
    st.builds(Date.from_days, DAYS),
    st.builds(LocalTime.from_nanoseconds, NANOSECONDS),
    st.builds(lambda time, offset: Time.from_utc(time - offset * 10**9, offset), NANOSECONDS, OFFSETS),
    st.builds(LocalDateTime.from_nanoseconds, LOCALS),
    st.builds(at_moment, LOCALS, ZONES),
    st.builds(Duration, *[st.integers(-(2**40), 2**40)] * 3),
)
ZONED = st.sampled_from([None, datetime.UTC, datetime.timezone(datetime.timedelta(hours=-3)), ZoneInfo("Europe/Paris")])
NATIVE = st.one_of(
    st.dates(),
    st.times(timezones=st.sampled_from([None, datetime.UTC, datetime.timezone(datetime.timedelta(minutes=90))])),
    st.datetimes(min_value=datetime.datetime(1, 1, 3), max_value=datetime.datetime(9999, 12, 29), timezones=ZONED),
    st.timedeltas(),
)


@given(VALUES)
def test_repr_makes_the_value(value: Any) -> None:
    assert eval(repr(value), vars(qengine) | FIELDS_BY_NAME) == value
    assert type(value)(str(value)) == value == type(value)(value)
    assert value.isoformat() == str(value).partition("[")[0]


FIELDS_BY_NAME = {kind.__name__: kind for kind in FIELDS}


@given(VALUES)
def test_values_can_be_pickled_and_copied(value: Any) -> None:
    for other in (pickle.loads(pickle.dumps(value)), copy.copy(value), copy.deepcopy([value])[0]):
        assert other == value and type(other) is type(value) and hash(other) == hash(value)
        assert str(other) == str(value)


@given(VALUES)
def test_fields_are_those_of_the_language(value: Any) -> None:
    names = FIELDS[type(value)]
    found = GRAPH.query(f"RETURN [{', '.join(f'$x.{name}' for name in names)}]", {"x": value}, device="reference")
    assert [getattr(value, name) for name in names] == found.value()
    assert set(names) <= set(dir(value))


@given(VALUES)
def test_values_cannot_be_changed(value: Any) -> None:
    for name in (*value.__match_args__, "other"):
        with pytest.raises(AttributeError):
            setattr(value, name, 1)
    with pytest.raises(AttributeError):
        del value.days


@given(NATIVE)
def test_python_s_values_are_equal_to_ours(native: Any) -> None:
    ours = from_native(native)
    assert type(ours)(native) == ours
    if native.__class__ is datetime.datetime and native.replace(fold=1).utcoffset() != native.utcoffset():
        assert ours != native  # as Python has it between two zones
        return
    assert ours == native and native == ours and hash(ours) == hash(native)
    assert {ours: 1}[native] == 1
    assert ours.to_native() == native


@given(NATIVE, NATIVE)
def test_order_is_python_s(one: Any, other: Any) -> None:
    ours = from_native(other)
    try:
        wanted = [one < other, one <= other, one > other, one >= other]
    except TypeError:
        with pytest.raises(TypeError):
            _ = one < ours
        return
    assert [one < ours, one <= ours, one > ours, one >= ours] == wanted
    assert [ours > one, ours >= one, ours < one, ours <= one] == wanted


@given(st.lists(st.one_of(st.dates(), st.dates().map(Date))))
def test_dates_are_sorted_together(dates: list[Any]) -> None:
    assert [str(each) for each in sorted(dates)] == sorted(str(each) for each in dates)


@given(VALUES, VALUES)
def test_equal_values_have_equal_hashes(one: Any, other: Any) -> None:
    assert one != other or hash(one) == hash(other)
    assert (one == other) is (str(one) == str(other) and type(one) is type(other))


@given(VALUES)
def test_what_python_holds_is_exact(value: Any) -> None:
    try:
        native = value.to_native()
    except ExecutionError as error:
        assert error.code == "InvalidArgumentValue" and error.hint
        return
    assert value == native or getattr(native, "tzinfo", None)
    if not (isinstance(value, DateTime) and value.zone):
        assert hash(value) == hash(native)


@pytest.mark.parametrize(
    ("value", "native"),
    [
        (pd.Timestamp("2020-01-01T00:00:00.123456789"), "2020-01-01T00:00:00.123456789"),
        (pd.Timestamp("2020-01-01T00:00:00.123456789", tz="UTC"), "2020-01-01T00:00:00.123456789Z"),
        (pd.Timestamp("2020-01-01"), "2020-01-01T00:00"),
        (pd.Timedelta(5, "ns"), "PT0.000000005S"),
    ],
)
def test_values_of_pandas_are_equal_too(value: Any, native: str) -> None:
    ours = from_native(value)
    assert str(ours) == native and ours == value and value == ours and hash(ours) == hash(value)


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (lambda: Date(2020, 1, 31), "2020-01-31"),
        (lambda: Date(year=2020, month=1, day=31), "2020-01-31"),
        (lambda: LocalTime(21, 40, 32, 5), "21:40:32.000000005"),
        (lambda: Time(21, 40, offset="+01:00"), "21:40+01:00"),
        (lambda: LocalDateTime(2020, 1, 31, 21), "2020-01-31T21:00"),
        (lambda: DateTime(2020, 7, 1, zone="Europe/Stockholm"), "2020-07-01T00:00+02:00[Europe/Stockholm]"),
        (lambda: DateTime(2020, 7, 1), "2020-07-01T00:00Z"),
        (lambda: Duration(hours=1.5, years=2, weeks=1), "P2Y7DT1H30M"),
        (lambda: Duration(datetime.timedelta(days=1, seconds=5)), "P1DT5S"),
        (Duration, "PT0S"),
    ],
)
def test_constructors(made: Any, text: str) -> None:
    assert str(made()) == text


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        (Date, (18_000,)), (Date, (2020, 1)), (Date, (2020, 13, 1)), (Date, (2021, 2, 29)), (Date, ("x",)),
        (Date, (2020.0, 1, 1)), (Date, (True, 1, 1)), (Date, (None,)), (Date, ("2020-01-01", 1)),
        (Date, (datetime.datetime(2020, 1, 1),)), (Date, (Decimal(1), 1, 1)), (Date, (LocalTime(1),)),
        (LocalTime, (24,)), (LocalTime, (1, 60)), (LocalTime, ("25:00",)),
        (LocalTime, (datetime.time(1, tzinfo=datetime.UTC),)),
        (Time, (1, 2, 3, 4, "Europe/Paris")), (Time, (1, 2, 3, 4, 3600)), (Time, (datetime.time(1),)),
        (LocalDateTime, (2020,)), (LocalDateTime, ("2020-01-01T00:00Z",)),
        (LocalDateTime, (2020, 1, 1, 0, 0, 0, 10**9)),
        (DateTime, (2020, 1, 1, 0, 0, 0, 0, "Europe/Atlantis")), (DateTime, (2020, 1, 1, 0, 0, 0, 0, None)),
        (DateTime, (datetime.datetime(2020, 1, 1),)),
        (Duration, ("1D",)), (Duration, (None,)), (Duration, (float("nan"),)), (Duration, (True,)),
        (Duration, ("P1D", 1)), (Duration, (2**64,)),
    ],
)  # fmt: skip
def test_wrong_arguments_are_clean_errors(kind: Any, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(ExecutionError) as caught:
        kind(*arguments)
    assert caught.value.code in ("InvalidArgumentValue", "InvalidArgumentType", "IntegerOverflow")


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (LocalTime(0, 0, 0, 1), "no nanoseconds"),
        (Date("+10000-01-01"), "years are 1 to 9999"),
        (DateTime("-0001-01-01T00:00Z"), "years are 1 to 9999"),
        (Duration(months=1), "no months"),
        (Duration(days=10**10), "longer"),
    ],
)
def test_what_python_lacks_is_refused(value: Any, reason: str) -> None:
    with pytest.raises(ExecutionError, match=reason) as caught:
        value.to_native()
    assert caught.value.hint


def test_nanoseconds_are_cut_off_where_that_is_asked_for() -> None:
    assert LocalTime("10:00:00.000001999").to_native(exact=False) == datetime.time(10, 0, 0, 1)


def test_unordered_values() -> None:
    for one, other in ((Date(2020, 1, 1), LocalTime(1)), (Duration(1), Duration(2)), (Date(2020, 1, 1), 5)):
        assert one != other
        with pytest.raises(TypeError):
            _ = one < other  # type: ignore[operator]


def test_rows_become_json_by_text() -> None:
    row = GRAPH.query("RETURN date('2020-01-31') AS d, duration('P1M') AS p").fetchone()
    assert row is not None
    assert json.dumps(row.asdict(), default=str) == '{"d": "2020-01-31", "p": "P1M"}'
