"""Temporal values: text, fields, zones, arithmetic, Arrow types; written out by hand."""

from __future__ import annotations

import datetime
import subprocess
import sys
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

import qengine
from qengine.errors import ExecutionError
from qengine.storage.variant import from_python
from qengine.temporal import (
    Date,
    DateTime,
    Duration,
    LocalTime,
    Time,
    parse_date,
    parse_date_time,
    parse_duration,
    parse_local_date_time,
    parse_local_time,
    parse_time,
    zones,
)
from qengine.temporal import arrow as arrays
from qengine.temporal.arrow import to_array, to_values
from qengine.temporal.native import from_native


@pytest.mark.parametrize(
    ("parse", "text", "shown"),
    [
        (parse_date, "2015-W30-2", "2015-07-21"),
        (parse_date, "2015Q260", "2015-05-30"),
        (parse_date, "-0044-03-15", "-0044-03-15"),
        (parse_date, "+12345-01-01", "+12345-01-01"),
        (parse_date, "2000-366", "2000-12-31"),
        (parse_local_time, "214032.142", "21:40:32.142"),
        (parse_time, "2140-02", "21:40-02:00"),
        (parse_local_date_time, "2015-W30T2140", "2015-07-20T21:40"),
        (parse_date_time, "2015-07-21T21:40[Europe/London]", "2015-07-21T21:40+01:00[Europe/London]"),
        (parse_date_time, "2015-07-21", "2015-07-21T00:00Z"),
        # Clocks go forward at 2:00 and back at 3:00: a time that is left out, and one that comes twice.
        (parse_date_time, "2017-03-26T02:30[Europe/Stockholm]", "2017-03-26T03:30+02:00[Europe/Stockholm]"),
        (parse_date_time, "2017-10-29T02:30[Europe/Stockholm]", "2017-10-29T02:30+02:00[Europe/Stockholm]"),
        (parse_date_time, "2017-10-29T02:30+01:00[Europe/Stockholm]", "2017-10-29T02:30+01:00[Europe/Stockholm]"),
        # Beyond the years of Python's dates.
        (parse_date_time, "+20170-07-01T00:00[Europe/Stockholm]", "+20170-07-01T00:00+02:00[Europe/Stockholm]"),
        (parse_duration, "P0.75M", "P22DT19H51M49.5S"),
        (parse_duration, "-P1Y-2DT0.5S", "P-1Y2DT-0.5S"),
        (parse_duration, "PT-1M-0.001S", "PT-1M-0.001S"),
    ],
)
def test_text(parse, text, shown) -> None:
    value = parse(text)
    assert str(value) == shown
    assert parse(shown) == value


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (parse_date, "2015-02-29"),
        (parse_date, "2015-W54"),
        (parse_date, "2015-00-01"),
        (parse_date, "12345-01-01"),
        (parse_date, "２０１５"),
        (parse_local_time, "24:00"),
        (parse_local_time, "12:00Z"),
        (parse_time, "12:00+19:00"),
        (parse_date_time, "2015-07-21T21:40[Europe/Atlantis]"),
        (parse_date_time, "2015-07-21T21:40+05:00[Europe/London]"),
        (parse_duration, "P"),
        (parse_duration, "P1DT"),
        (parse_duration, "1D"),
    ],
)
def test_malformed_text_is_refused(parse, text) -> None:
    with pytest.raises(ExecutionError) as caught:
        parse(text)
    assert caught.value.code == "InvalidArgumentValue"


@pytest.fixture(scope="module")
def graph() -> qengine.Graph:
    return qengine.Graph.from_records(
        [
            {
                "id": 1,
                "labels": ["A"],
                "properties": {
                    "day": datetime.date(2020, 2, 29),
                    "at": Time.from_utc(0, 3600),
                    "when": DateTime.from_utc(10**9, 0),
                    "span": Duration(1, 2, 3),
                    "mixed": Date.from_days(0),
                    "all": [Date.from_days(0), Date.from_days(1)],
                },
            },
            {
                "id": 2,
                "labels": ["A"],
                "properties": {"day": Date("1970-01-01"), "mixed": 1, "when": DateTime.from_utc(0, 3600)},
            },
        ]
    )


@pytest.mark.parametrize("device", ["reference", "cpu"])
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("RETURN date('2020-01-31') + duration({months: 1})", "2020-02-29"),
        ("RETURN date('2020-03-31') - duration('P1M')", "2020-02-29"),
        ("RETURN datetime('2017-10-28T12:00[Europe/Stockholm]') + duration({days: 1})",
         "2017-10-29T12:00+01:00[Europe/Stockholm]"),
        ("RETURN datetime('2017-10-28T12:00[Europe/Stockholm]') + duration({hours: 24})",
         "2017-10-29T11:00+01:00[Europe/Stockholm]"),
        ("RETURN duration.between(date('2019-12-31'), date('2020-02-29'))", "P1M29D"),
        ("RETURN duration.inDays(date('2020-03-01'), date('2020-02-28'))", "P-2D"),
        ("RETURN duration.between(date('2020-01-01'), localtime('16:30'))", "PT16H30M"),
        ("RETURN date({date: date('2020-01-31'), month: 2})", "2020-02-29"),
        ("RETURN datetime({epochSeconds: 1, nanosecond: 5})", "1970-01-01T00:00:01.000000005Z"),
        ("RETURN time.truncate('millisecond', time('12:00:00.123456+01:00'), {nanosecond: 2})",
         "12:00:00.123000002+01:00"),
        ("RETURN toString(-duration('P1DT1S'))", "P-1DT-1S"),
        ("RETURN [date('2020-01-01') < date('2020-01-02'), duration('P1D') < duration('P2D'), "
         "date('2020-01-01') = localdatetime('2020-01-01')]", "[True, None, False]"),
        ("MATCH (a) RETURN max(a.day)", "2020-02-29"),
        ("MATCH (a) RETURN min(a.day) + duration('P1D')", "1970-01-02"),
        ("MATCH (a) WHERE a.day.year = 2020 RETURN a.span", "P1M2DT0.000000003S"),
        ("MATCH (a) WHERE a.day < date('2000-01-01') RETURN a.when", "1970-01-01T01:00+01:00"),
        ("MATCH (a) WHERE a.at IS NOT NULL RETURN a.at", "01:00+01:00"),
        ("MATCH (a) WITH a ORDER BY a.when DESC LIMIT 1 RETURN a.day", "2020-02-29"),
        ("MATCH (a) WITH a ORDER BY a.mixed LIMIT 1 RETURN a.mixed", "1970-01-01"),
        ("MATCH (a) UNWIND a.all AS d WITH d ORDER BY d DESC LIMIT 1 RETURN d", "1970-01-02"),
    ],
)  # fmt: skip
def test_query(graph, device, query, expected) -> None:
    assert str(graph.query(query, device=device).value()) == expected


@pytest.mark.parametrize("device", ["reference", "cpu"])
def test_now_is_the_same_for_the_whole_query(graph, device) -> None:
    query = "UNWIND range(1, 2000) AS i WITH datetime() AS now RETURN count(DISTINCT now)"
    assert graph.query(query, device=device).value() == 1


def test_python_values_are_parameters(graph) -> None:
    day = datetime.date(2020, 2, 29)
    assert graph.query("MATCH (a {day: $day}) RETURN count(*)", {"day": day}).value() == 1


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("RETURN date({year: 2020, day: 1})", "InvalidArgumentValue"),
        ("RETURN date({year: 2020, week: 1, month: 1})", "InvalidArgumentValue"),
        ("RETURN date({yaer: 2020})", "InvalidArgumentValue"),
        ("RETURN date({year: '2020'})", "InvalidArgumentType"),
        ("RETURN date('2020-01-01').hour", "InvalidArgumentValue"),
        ("RETURN date(localtime('12:00'))", "InvalidArgumentValue"),
        ("RETURN date.truncate('hour', date('2020-01-01'))", "InvalidArgumentValue"),
        ("RETURN date('+999999999-12-31') + duration('P1D')", "InvalidArgumentValue"),
        ("RETURN duration({days: 1}) / 0", "DivisionByZero"),
    ],
)
def test_errors(graph, query, code) -> None:
    with pytest.raises(ExecutionError) as caught:
        graph.query(query, device="reference").fetchall()
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("values", "arrow"),
    [
        ([Date.from_days(1), None], pa.date32()),
        ([Date.from_days(2**31)], None),
        ([LocalTime.from_nanoseconds(1)], pa.time64("ns")),
        ([LocalTime.from_nanoseconds(1000)], pa.time64("us")),
        ([DateTime.from_utc(0), DateTime.from_utc(5000)], pa.timestamp("us", "UTC")),
        ([DateTime.from_utc(1, 3600)], pa.timestamp("ns", "+01:00")),
        ([DateTime.from_utc(0), DateTime.from_utc(0, 3600)], None),
        ([DateTime.from_utc(1 << 70)], None),
        ([DateTime.from_utc(0, 0, "UTC")], None),
        ([Duration(0, 0, 1000)], pa.duration("us")),
        ([Duration(1, 0, 1)], pa.month_day_nano_interval()),
        ([Duration(2**40)], None),
        ([Time.from_utc(0, 0), None], None),
    ],
)
def test_arrow_holds_values_exactly(values, arrow) -> None:
    array = to_array(values)
    assert array.type == arrow if arrow is not None else pa.types.is_struct(array.type)
    assert to_values(array) == values
    assert to_values(array.slice(1)) == values[1:]


@pytest.mark.parametrize("mixed", [[], ["text", 1, Date(2020, 1, 1)]])
def test_few_values_of_a_column_read_no_others(mixed, monkeypatch) -> None:
    values = [each for i in range(200) for each in ([i, i + 1], [], None, [i], *mixed)]
    array, lengths = from_python(values, "a property"), []

    def counted(part):
        lengths.append(len(part))
        return to_values(part)

    monkeypatch.setattr(arrays, "to_values", counted)
    for begin in range(0, len(values), 7):
        for count in (0, 1, 2, 5):
            assert to_values(array.slice(begin, count)) == values[begin : begin + count]
    assert max(lengths) <= 8
    assert to_values(array) == values


def test_results_as_arrow(graph) -> None:
    table = graph.query("MATCH (a) RETURN a.day AS day, a.at AS at, localdatetime('2020-01-01') AS local").to_arrow()
    assert table.schema.types == [pa.date32(), pa.string(), pa.timestamp("us")]
    assert table["at"].to_pylist() == ["01:00+01:00", None]


def test_a_saved_graph_keeps_them(graph, tmp_path) -> None:
    graph.save(tmp_path / "g")
    query = "MATCH (a) RETURN a.day, a.at, a.when, a.span, a.mixed, a.all ORDER BY a.day"
    assert qengine.open(tmp_path / "g").query(query).fetchall() == graph.query(query).fetchall()


@pytest.mark.parametrize(
    "value",
    [
        datetime.date(1, 1, 1),
        datetime.time(12, 30, 0, 5),
        datetime.datetime(9999, 12, 31, 23, 59),
        datetime.datetime(2017, 10, 29, 2, 30, tzinfo=ZoneInfo("Europe/Stockholm"), fold=1),
        datetime.timedelta(days=-1, microseconds=5),
    ],
)
def test_python_values(value) -> None:
    ours = from_native(value)
    assert ours is not None
    assert ours.to_native() == value


def test_the_classes_are_public_and_loaded_when_asked_for() -> None:
    code = (
        "import sys, qengine; assert 'qengine.temporal' not in sys.modules; assert qengine.Date(1970, 1, 1).days == 0"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError):
        _ = qengine.Datum


@pytest.mark.parametrize("device", ["cpu", "reference"])
def test_zones_are_those_of_iana_before_1970_too(graph, device) -> None:
    text = "RETURN toString(datetime({year: 1818, week: 1, timezone: 'Europe/Stockholm'})) AS t"
    assert graph.query(text, device=device).value() == "1817-12-29T00:00+00:53:28[Europe/Stockholm]"


@pytest.mark.parametrize("name", ["../tzdata/zoneinfo/UTC", "/etc/passwd", "Europe/../UTC", "Europe", "", "tzdata.zi"])
def test_names_of_zones_are_no_paths(name) -> None:
    with pytest.raises(ExecutionError, match="There is no time zone"):
        parse_date_time(f"2020-01-01T00:00[{name or ' '}]")


def test_a_moment_before_1970_goes_to_python_and_back() -> None:
    value = parse_date_time("1818-01-01T00:00[Europe/Stockholm]")
    assert value.to_native() == value and from_native(value.to_native()).utc == value.utc
    native = datetime.datetime(1818, 1, 1, tzinfo=ZoneInfo("Europe/Stockholm"))
    ours = from_native(native)
    assert ours == native and type(ours)(str(ours)) == ours


def test_without_the_package_the_machine_s_zones_are_read(monkeypatch) -> None:
    zones._zone.cache_clear()
    monkeypatch.setattr(zones, "_tables", lambda: None)
    try:
        assert str(parse_date_time("2020-07-01T00:00[Europe/Stockholm]")) == "2020-07-01T00:00+02:00[Europe/Stockholm]"
    finally:
        zones._zone.cache_clear()


def test_values_are_written_in_other_forms_as_those_of_python_are() -> None:
    moment = qengine.DateTime("2020-01-31T10:11:12.000000001+01:00")
    date, time = qengine.Date("2020-01-31"), qengine.LocalTime("10:11")
    assert f"{date:%d.%m.%Y} {moment:%H:%M:%S%z} {time:%H}" == "31.01.2020 10:11:12+0100 10"
    assert date.strftime("%Y") == "2020" and f"{date}|{date:>12}|" == "2020-01-31|  2020-01-31|"
