"""Values of NumPy and pandas as parameters and as properties: nothing is lost, and what is missing is null."""

from __future__ import annotations

import collections
import dataclasses
import enum
import uuid
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from qengine import ExecutionError, Graph, SemanticError
from qengine.temporal import Date, Duration, LocalDateTime, parse_date_time, parse_local_date_time

pl = pytest.importorskip("polars")

LOCAL = parse_local_date_time("2020-01-01T00:00:00.123456789")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.datetime64("2020-01-01T00:00:00.123456789"), LOCAL),
        (np.datetime64(1_500, "ps"), LocalDateTime.from_nanoseconds(1)),
        (pd.Timestamp("2020-01-01T00:00:00.123456789"), LOCAL),
        (pd.Timestamp("2020-01-01T00:00", tz="Europe/Berlin"), parse_date_time("2020-01-01T00:00[Europe/Berlin]")),
        (np.timedelta64(1_500_000_000, "ns"), Duration(0, 0, 1_500_000_000)),
        (np.timedelta64(3, "D"), Duration(0, 3, 0)),
        (np.timedelta64(5, "M"), Duration(5, 0, 0)),
        (np.timedelta64(2, "Y"), Duration(24, 0, 0)),
        (pd.Timedelta("1 days 00:00:00.000000005"), Duration(0, 1, 5)),
        (np.datetime64("NaT", "ns"), None),
        (pd.NaT, None),
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (np.str_("x"), "x"),
    ],
)
def test_scalars(value: Any, expected: Any) -> None:
    graph = Graph.from_records([{"id": 1, "properties": {"p": value, "q": [value]}}, {"id": 2, "properties": {"p": 1}}])
    text = "MATCH (a) WHERE a.q IS NOT NULL RETURN a.p, a.q[0], $x, $y[0]"
    (row,) = graph.query(text, {"x": value, "y": [value]}).fetchall()
    assert tuple(row) == (expected,) * 4 and {type(each) for each in row} == {type(expected)}


def test_arrays() -> None:
    moments = np.array(["2020-01-01T00:00:00.123456789", "NaT"], "datetime64[ns]")
    graph = Graph.from_records([])
    assert graph.query("RETURN $x", {"x": moments}).value() == [LOCAL, None]
    assert graph.query("RETURN $x", {"x": moments.reshape(2, 1)}).value() == [[LOCAL], [None]]
    assert graph.query("RETURN $x", {"x": np.array(moments[0])}).value() == LOCAL
    assert graph.query("RETURN $x", {"x": np.array(7)}).value() == 7


def test_what_is_no_text_and_what_are_no_parameters_is_said() -> None:
    graph = Graph.from_records([])
    with pytest.raises(SemanticError, match="A statement is a str, not a value of Python's NoneType"):
        graph.query(None)  # type: ignore[arg-type]
    with pytest.raises(SemanticError, match="Parameters are a dict from names to values, not a str"):
        graph.query("RETURN $x", "Peru")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ({}, "Pass it: params={'name': …}."),
        ({"nmae": "Peru"}, "Did you mean $nmae? Or pass it: params={'name': …}."),
        ({"$name": "Peru"}, "Its name stands without the $: params={'name': …}."),
        ({1: "Peru", "other": "Peru"}, "Pass it: params={'name': …}."),
    ],
)
def test_what_is_done_about_a_parameter_without_a_value(given: dict[str, str], hint: str) -> None:
    with pytest.raises(SemanticError, match=r"Parameter \$name has no value") as caught:
        Graph.from_records([]).query("RETURN $name", given)
    assert caught.value.hint == hint


class Colour(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    HIGH = 3


class Mixed(str, enum.Enum):  # noqa: UP042
    A = "a"


@dataclasses.dataclass
class Point:
    x: int = 1


@pytest.fixture(scope="module")
def empty() -> Graph:
    return Graph.from_records([])


@pytest.mark.parametrize("device", ["cpu", "reference"])
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (range(3), [0, 1, 2]),
        ({7}, [7]),
        (frozenset("a"), ["a"]),
        ({"k": 1}.keys(), ["k"]),
        ({"k": 1}.values(), [1]),
        (collections.deque([1, 2]), [1, 2]),
        (collections.OrderedDict(k={1}), {"k": [1]}),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (Level.HIGH, 3),
        (Mixed.A, "a"),
        (pd.NA, None),
        ([pd.NA, {"k": pd.NA}], [None, {"k": None}]),
        (pd.Series([1, None], dtype="Int64"), [1, None]),
        (pd.Series(["a", None]), ["a", None]),
        (pd.Series([1.5, None]), [1.5, None]),
        (pd.Series(pd.to_datetime(["2020-01-01T00:00:00.123456789", None])), [LOCAL, None]),
        (pd.Index(["a", "b"]), ["a", "b"]),
        (pd.Categorical(["a", "b"]), ["a", "b"]),
        (pl.Series([1, None]), [1, None]),
        (pl.Series([1577836800123456789], dtype=pl.Datetime("ns")), [LOCAL]),
        (pl.Series([[1], [2]]), [[1], [2]]),
        (pl.Series([{"k": 1}]), [{"k": 1}]),
        (pl.Series([1, "a"], dtype=pl.Object), [1, "a"]),
        (pa.array([1, None], pa.int8()), [1, None]),
        (pa.chunked_array([["a"], ["b"]]), ["a", "b"]),
        (pa.array(["a", "b"]).dictionary_encode(), ["a", "b"]),
        (pa.array([1577836800123456789], pa.timestamp("ns")), [LOCAL]),
        (pa.array([{"k": [1]}]), [{"k": [1]}]),
        (pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())), [{"k": 1}]),
        (pa.scalar("x"), "x"),
        (pa.scalar(None, pa.int64()), None),
        (pa.scalar([1, 2]), [1, 2]),
        (np.datetime64("20000-01-01T00:00:00"), LocalDateTime("+20000-01-01T00:00")),
        (np.datetime64("12345", "Y"), Date("+12345-01-01")),
        (np.datetime64("12345-02", "M"), Date("+12345-02-01")),
        (np.timedelta64(10**15, "s"), Duration(seconds=10**15)),
        (np.ma.array([1, 2], mask=[False, True]), [1, None]),
    ],
)
def test_what_has_a_plain_meaning_is_taken(empty: Graph, value: Any, expected: Any, device: str) -> None:
    result = empty.query("RETURN $x, $y", {"x": value, "y": {"k": [value]}}, device=device).fetchone()
    assert tuple(result) == (expected, {"k": [expected]})  # type: ignore[arg-type]
    assert type(result[0]) is type(expected)  # type: ignore[index]


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (Decimal("1.5"), "float(value)"),
        (Fraction(1, 2), "float(value)"),
        (b"x", "value.decode()"),
        (bytearray(b"x"), "value.decode()"),
        (np.bytes_(b"x"), "value.decode()"),
        (Colour.RED, "value.value"),
        (Point(), "dataclasses.asdict(value)"),
        ((each for each in "ab"), "list(value)"),
        (iter([1]), "list(value)"),
        (pd.DataFrame({"k": [1]}), 'value.to_dict("records")'),
        (pl.DataFrame({"k": [1]}), "value.to_dicts()"),
        (pa.table({"k": [1]}), "value.to_pylist()"),
        (pa.array([Decimal("1.5")]), "cast to float or string"),
        (pa.array([b"x"]), "value.to_pylist()"),
        (1j, "dates and times"),
        (object(), "dates and times"),
        (pd.Period("2020"), "dates and times"),
    ],
)
def test_what_has_none_is_refused_with_what_to_give(empty: Graph, value: Any, hint: str) -> None:
    for given in (value, [value], {"k": value}):
        with pytest.raises(ExecutionError, match="which is no value of the language") as caught:
            empty.query("RETURN $x", {"x": given}).fetchall()
        assert hint in str(caught.value.hint) and "dates and times" in str(caught.value.hint)


def test_a_list_that_holds_itself_is_refused(empty: Graph) -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(ExecutionError, match="nested too deep"):
        empty.query("RETURN $x", {"x": endless}).fetchall()


def test_a_set_finds_what_is_in_it() -> None:
    graph = Graph.from_records([{"id": k, "properties": {"k": k}} for k in range(5)])
    assert graph.query("MATCH (n) WHERE n.k IN $ks RETURN count(*)", {"ks": {1, 3, 9}}).value() == 2


@pytest.mark.parametrize("value", [2**63, [1] * 20 + [2**63], {"deep": [-(2**63) - 1]}])
def test_an_integer_of_more_than_64_bits_is_refused_by_the_name_of_its_parameter(value: object) -> None:
    with pytest.raises(ExecutionError, match=r"\$n holds an integer of more than 64 bits") as raised:
        Graph().query("RETURN $n", {"n": value}).fetchall()
    assert raised.value.code == "IntegerOverflow" and "string or a float" in str(raised.value.hint)


class Untouchable(list[int]):
    """A list that must not be read."""

    def __iter__(self) -> Any:
        raise AssertionError("it was read")

    __len__ = __getitem__ = __iter__  # type: ignore[assignment]


@pytest.mark.parametrize(
    "text", ["RETURN $n", "MATCH (a {k: $n}) RETURN a", "MATCH (a {k: $n}) SET a.x = 1 RETURN a.k", "EXPLAIN RETURN $n"]
)
def test_a_parameter_that_no_statement_names_is_not_read(text: str) -> None:
    graph = Graph.from_records([{"id": 0, "properties": {"k": 0}}])
    given = {"n": 0, "other": Untouchable([1])}
    graph.query("MATCH (a) SET a.new = 1")  # from now on elements are read one by one
    for run in (partial(graph.query, text), graph.prepare(text).run, partial(graph.query, text, device="reference")):
        assert len(run(params=given).fetchall()) >= 1
    assert graph.estimate("MATCH (a {k: $n}) RETURN a", given).value == 1
