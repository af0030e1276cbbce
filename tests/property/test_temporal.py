"""Laws of temporal values."""

from __future__ import annotations

import datetime
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from qengine.exec.scalar.compare import order_key
from qengine.exec.scalar.functions import FUNCTIONS
from qengine.exec.scalar.temporal.arithmetic import add, subtract
from qengine.temporal import (
    Date,
    Duration,
    LocalDateTime,
    LocalTime,
    Time,
    parse_date,
    parse_date_time,
    parse_duration,
    parse_local_date_time,
    parse_local_time,
    parse_time,
)
from qengine.temporal.calendar import civil, days_of, days_of_week_date, week_date
from qengine.temporal.native import from_native
from qengine.temporal.values import DAY, SECOND
from qengine.temporal.zones import at_local, at_moment

DAYS = st.integers(days_of(-999_999_999, 1, 1), days_of(999_999_999, 12, 31))
TIMES = st.integers(0, DAY - 1)
LOCALS = st.builds(lambda day, time: day * DAY + time, DAYS, TIMES)
ZONES = st.sampled_from((0, 3600, -90, "Europe/Stockholm", "Pacific/Honolulu", "Australia/Lord_Howe"))
MODERN = st.integers(days_of(1900, 1, 1) * DAY, days_of(2100, 1, 1) * DAY)
DURATIONS = st.builds(Duration, st.integers(-5000, 5000), st.integers(-90_000, 90_000), st.integers(-(10**20), 10**20))
VALUES = st.one_of(
    st.builds(Date.from_days, DAYS).map(lambda value: (value, parse_date)),
    st.builds(LocalTime.from_nanoseconds, TIMES).map(lambda value: (value, parse_local_time)),
    st.builds(lambda time, offset: (Time.from_utc(time - offset * SECOND, offset), parse_time), TIMES,
              st.integers(-64_800, 64_800)),
    st.builds(LocalDateTime.from_nanoseconds, LOCALS).map(lambda value: (value, parse_local_date_time)),
    st.builds(at_local, LOCALS, ZONES).map(lambda value: (value, parse_date_time)),
    DURATIONS.map(lambda value: (value, parse_duration)),
)  # fmt: skip


@given(VALUES)
def test_text_gives_the_value_back(pair) -> None:
    value, parse = pair
    assert parse(str(value)) == value
    assert hash(parse(str(value))) == hash(value)


@given(DAYS)
def test_calendar(days) -> None:
    assert days_of(*civil(days)) == days
    assert days_of_week_date(*week_date(days)) == days


@given(st.dates())
def test_calendar_as_python_has_it(day) -> None:
    value = from_native(day)
    assert isinstance(value, Date)
    assert civil(value.days) == (day.year, day.month, day.day)
    assert week_date(value.days) == tuple(day.isocalendar())


@given(st.datetimes(timezones=st.sampled_from((ZoneInfo("Europe/Stockholm"), ZoneInfo("America/New_York")))))
def test_moments_as_python_has_them(moment) -> None:
    value = from_native(moment)
    utc = moment.astimezone(datetime.UTC).replace(tzinfo=None) if 1 < moment.year < 9999 else None
    if utc is not None:
        assert value.utc // SECOND == (utc - datetime.datetime(1970, 1, 1)) // datetime.timedelta(seconds=1)


@given(MODERN, ZONES)
def test_zones_agree_both_ways(utc, zone) -> None:
    seen = at_moment(utc, zone)
    assert at_local(seen.nanoseconds, zone, seen.offset_seconds) == seen


@given(MODERN, st.integers(-90_000, 90_000), st.integers(-(10**20), 10**20))
def test_days_and_time_can_be_taken_back(local, days, time) -> None:
    value, by = LocalDateTime.from_nanoseconds(local), Duration(0, days, time)
    assert subtract(add(value, by), by) == value


@given(MODERN, MODERN, ZONES)
def test_between_leads_to_the_second_value(start, end, zone) -> None:
    first, second = at_moment(start, zone), at_moment(end, zone)
    if start <= end:
        assert add(first, FUNCTIONS["duration.between"](first, second)) == second
    assert add(first, FUNCTIONS["duration.inseconds"](first, second)) == second


@given(DURATIONS, DURATIONS)
def test_durations_add(a, b) -> None:
    assert add(a, b) == add(b, a)
    assert subtract(add(a, b), b) == a
    assert (order_key(a) < order_key(b)) + (order_key(b) < order_key(a)) + (a == b) == 1
