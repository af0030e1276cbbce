"""Columnar expressions give what the row-wise evaluator gives: the same value in every row, or the same error."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qengine.errors import ExecutionError
from qengine.exec.common.batch import Batch
from qengine.exec.common.columns import Column, ConstantColumn, ObjectColumn, from_arrow, from_values
from qengine.exec.common.duration_column import DurationColumn
from qengine.exec.common.expressions.compiler import COLUMNAR, compile_expression
from qengine.exec.common.expressions.entities import property_of
from qengine.exec.common.expressions.mathematics import MATHEMATICS
from qengine.exec.common.map_column import MapColumn
from qengine.exec.common.runtime import Runtime
from qengine.exec.context import ExecutionContext
from qengine.exec.scalar import evaluate as scalar
from qengine.exec.scalar.environment import Environment
from qengine.exec.scalar.temporal.between import DISTANCES
from qengine.exec.scalar.temporal.truncate import TRUNCATIONS
from qengine.exec.scalar.values import NodeHandle, RelationshipHandle
from qengine.plan import expr as x
from qengine.plan.pattern import LabelAnd, LabelAny, LabelIs, LabelNot, LabelOr
from qengine.spatial import Point
from qengine.storage import from_records
from qengine.temporal import Date, DateTime, Duration, LocalDateTime, LocalTime
from qengine.temporal.arrow import to_array
from qengine.temporal.values import FIELDS
from qengine.temporal.zones import at_moment, in_zone
from tests.examples import examples

STORE = from_records(
    [
        {"id": 0, "labels": ["A"], "properties": {"i": 1, "f": 0.5, "s": "x", "m": 1, "l": [1, 2]}},
        {"id": 1, "labels": ["A", "B"], "properties": {"i": 2**53 + 1, "f": float("nan"), "m": "one"}},
        {"id": 2, "labels": ["B"], "properties": {"i": -7, "s": "Ärger", "m": 2.5, "l": []}},
        {"id": 3, "labels": [], "properties": {"f": -0.0, "s": "", "m": True}},
        {"id": 4, "labels": ["C"], "properties": {"l": [3]}},
    ],
    [
        {"type": "R", "start": 0, "end": 1, "properties": {"i": 1}},
        {"type": "R", "start": 1, "end": 1, "properties": {"i": None, "s": "a"}},
        {"type": "S", "start": 2, "end": 0, "properties": {"i": 2.5}},
        {"type": "T", "start": 3, "end": 4},
    ],
)

SMALL = st.integers(-3, 3)
INTEGERS = st.one_of(SMALL, st.integers(-(2**63), 2**63 - 1), st.sampled_from([2**53, 2**53 + 1, -(2**53) - 1]))
FLOATS = st.one_of(
    st.sampled_from([0.0, -0.0, 0.5, -1.5, 3.0, 2.0**53, 2.0**63, -(2.0**63), math.inf, -math.inf, math.nan]),
    st.floats(allow_subnormal=False),
    st.integers(-3, 3).map(float),
)
TEXTS = st.one_of(st.text("abAB. %_ä\n", max_size=5), st.text(max_size=4), st.sampled_from(["1", "2.5", "true"]))
PATTERNS = st.one_of(
    TEXTS, st.text(r"ab.*+?()|[]^-\d$", max_size=6), st.sampled_from(["a.*", "[ab]+", "(a|b)?c*", "a**"])
)
BOOLEANS = st.booleans()
NODES = st.integers(0, 4).map(NodeHandle)
RELATIONSHIPS = st.integers(0, 3).map(RelationshipHandle)
LISTS = st.lists(st.one_of(SMALL, st.none()), max_size=3)
PLACES = st.integers(-180, 180) | st.sampled_from([0.5, -0.0, 1e300])
POINTS = st.one_of(
    st.builds(lambda x, y: Point(x, y, crs="cartesian"), PLACES, PLACES),
    st.builds(lambda x, y, z: Point(x, y, z, crs="cartesian-3d"), PLACES, PLACES, PLACES),
    st.builds(lambda x, y: Point(x, y / 2, crs="wgs-84"), st.integers(-180, 180), st.integers(-180, 180)),
)
MIXED = st.one_of(
    SMALL, FLOATS, TEXTS, BOOLEANS, LISTS, NODES, st.dictionaries(st.sampled_from("ab"), SMALL, max_size=2)
)
DAYS = st.one_of(SMALL, st.integers(-(2**31) + 1, 2**31 - 1), st.integers(10_000, 20_000))
UNITS = st.sampled_from([1, 1_000, 1_000_000, 1_000_000_000])
MOMENTS = st.one_of(
    st.tuples(SMALL, UNITS).map(lambda parts: parts[0] * parts[1]),
    st.integers(-(2**63) + 1, 2**63 - 1),
    st.tuples(st.integers(-(2**55), 2**55), st.sampled_from([1_000, 1_000_000])).map(lambda parts: parts[0] * parts[1]),
)
DATES = DAYS.map(Date.from_days)
LOCAL_TIMES = st.integers(0, 86_400_000_000_000 - 1).map(LocalTime.from_nanoseconds)
LOCAL_DATE_TIMES = MOMENTS.map(LocalDateTime.from_nanoseconds)
UTC = MOMENTS.map(lambda moment: at_moment(moment, 0))
MODERN = st.integers(-(2**59), 2**59)
ZONED = MODERN.map(lambda moment: at_moment(moment, "Europe/Stockholm")) | MODERN.map(
    lambda moment: at_moment(moment, 3600)
)
TEMPORAL = ["date", "local time", "local datetime", "utc", "zoned"]
KINDS = {
    "date": DATES,
    "local time": LOCAL_TIMES,
    "local datetime": LOCAL_DATE_TIMES,
    "utc": UTC,
    "zoned": ZONED,
    "integer": INTEGERS,
    "float": FLOATS,
    "string": TEXTS,
    "pattern": PATTERNS,
    "boolean": BOOLEANS,
    "node": NODES,
    "relationship": RELATIONSHIPS,
    "list": LISTS,
    "point": POINTS,
    "mixed": MIXED,
    "small": SMALL,
    "mixed list": st.lists(MIXED, max_size=4),
    "nodes": st.lists(NODES | st.sampled_from([NodeHandle(0)]), max_size=3),
    "relationships": st.lists(RELATIONSHIPS, max_size=3),
    "null": st.none(),
    "modern": MODERN.map(lambda moment: LocalDateTime.from_nanoseconds(moment // 1_000 * 1_000)),
    "tenths": st.integers(-1000, 1000).map(lambda number: number / 20),
    "mode": st.sampled_from(["HALF_EVEN", "UP"]),
    "date text": DATES.map(str) | st.sampled_from(["2024-02-30", "2024-2-3", "20240203"]),
    "local text": LOCAL_DATE_TIMES.map(str) | st.sampled_from(["2024-02-03T25:00:00", "2024-02-03T10:00:00.1234567"]),
    "unit": st.sampled_from(["year", "weekYear", "quarter", "month", "week", "day", "hour", "SECOND", "decade",
                             "millennium", "century", "microsecond", "era"]),
    "duration": st.builds(Duration.from_parts, SMALL | st.integers(-40, 40), SMALL | st.integers(-400, 400),
                          MOMENTS | st.sampled_from([86_400_000_000_000, -86_400_000_000_001])),
    "date map": st.fixed_dictionaries({"year": st.integers(1995, 2030), "month": st.integers(1, 13),
                                       "day": st.integers(0, 31)}),
    "epoch": st.fixed_dictionaries({"epochSeconds": INTEGERS}) | st.fixed_dictionaries({"epochMillis": SMALL}),
    "units": st.fixed_dictionaries({"months": SMALL, "weeks": INTEGERS}) | st.fixed_dictionaries({"hours": FLOATS}),
    "map": st.fixed_dictionaries({"a": SMALL | st.none(), "b": TEXTS}),
    "number text": st.one_of(
        INTEGERS.map(str), FLOATS.map(str), TEXTS, st.text("0123.+-eE naIfity,x", max_size=6),
        st.sampled_from(["NaN", "-Infinity", " 1 ", "1e+5", "2024-01-02", "1.2.3", "12a", "+5.", ".5E-3", "\n7", "٣"]),
    ),
    "types": st.sampled_from(["INTEGER", "STRING NOT NULL", "NOTHING", "ANY", "NULL", "NODE | FLOAT", "PROPERTY VALUE",
                              "LIST<INTEGER>", "LIST<INTEGER NOT NULL> NOT NULL", "LIST<ANY> | BOOLEAN", "DATE"]),
    "number texts": st.lists(st.one_of(INTEGERS.map(str), FLOATS.map(str), st.none()), max_size=3),
}  # fmt: skip

# The kinds of arguments that are worth most tries, for each function; any others come, too.
CONVERTED = [f"to{kind}{either}" for kind in ("integer", "float", "string") for either in ("", "ornull")]
SIGNATURES: dict[str, list[list[str]]] = {
    **dict.fromkeys("+-*/%^", [["integer", "float", "small"]] * 2),
    **dict.fromkeys(["=", "<>", "<", "<=", ">", ">="], [["integer", "float", "string", "boolean", "node"]] * 2),
    **{key: [["integer", "float"]] for key in ["neg", "pos", "abs", "ceil", "floor", "sqrt", "sign", "isnan"]},
    **dict.fromkeys(["STARTS WITH", "ENDS WITH", "CONTAINS", "split"], [["string"]] * 2),
    "=~": [["string"], ["pattern"]],
    "IS ::": [["integer", "string", "mixed", "list", "mixed list", "nodes", "node", "date", "null"], ["types"]],
    "valuetype": [["integer", "string", "mixed", "list", "mixed list", "nodes", "relationship", "date", "null"]],
    "point.distance": [["point"]] * 2,
    "point.withinbbox": [["point"]] * 3,
    "IN": [["integer", "float", "string", "boolean", "node"], ["mixed list", "list", "nodes"]],
    "reverse": [["string", "list", "nodes"]],
    "NOT": [["boolean"]],
    **{key: [["string"]] for key in ["tolower", "toupper", "char_length"]},
    "size": [["string", "list"]],
    "substring": [["string"], ["small"], ["small"]],
    "[..]": [["list"], ["small"], ["small"]],
    "[::]": [["list"], ["small"], ["small"], ["small"]],
    "left": [["string"], ["small"]],
    "replace": [["string"]] * 3,
    "[]": [["list"], ["small"]],
    **{key: [["list"]] for key in ["head", "last"]},
    **{key: [["node", "relationship"]] for key in ["id"]},
    **{key: [["relationship"]] for key in ["type", "startnode", "endnode"]},
    "labels": [["node"]],
    "coalesce": [["integer", "float", "node", "string", "null"]] * 3,
    **{key: [["float", "integer", "small"]] for key in MATHEMATICS},
    "round": [["float", "float", "integer", "tenths"], ["small"], ["mode"]],
    "atan2": [["float", "integer"]] * 2,
    **{key: [["string", "number text"]] for key in ["trim", "ltrim", "rtrim", "normalize", "toboolean"]},
    **{key: [["number text", "float", "integer", "boolean"]] for key in CONVERTED},
    **{key: [["list", "nodes", "mixed list"]] for key in ["tail", "isempty"]},
    **{key: [["list", "number texts"]] for key in ["tointegerlist", "tofloatlist", "tostringlist"]},
    "right": [["string"], ["small"]],
    "nullif": [["integer", "float", "string", "boolean", "node"]] * 2,
    "range": [["small"], ["small"], ["small"]],
    "properties": [["node", "relationship", "map"]],
    "keys": [["node", "relationship", "map"]],
    "elementid": [["node", "relationship"]],
    **{key: [["date", "local datetime", "utc", "modern"]] * 2 for key in DISTANCES},
    **{key: [["unit"], ["date", "local datetime", "utc", "modern"]] for key in TRUNCATIONS},
    "date": [["date", "local datetime", "utc", "date text", "date map"]],
    "localdatetime": [["local datetime", "utc", "local text"]],
    "datetime": [["local datetime", "utc", "epoch"]],
    "duration": [["units", "duration"]],
}
OPTIONAL = {"substring": 2, "round": 1, "range": 2}
"""How many arguments a function takes at least, where some may be left out."""


def shown(value: Any) -> str:
    """A value with its type: 1 and 1.0, 0.0 and -0.0 differ, NaN is NaN."""
    return repr(value)


def outcome(compute: Callable[[], list[Any]]) -> list[str] | str:
    try:
        return [shown(value) for value in compute()]
    except ExecutionError as error:
        return f"error {error.code}: {error.message}"


def held(values: list[Any]) -> Column:
    """Return a column that holds values as densely as a graph would, dates and times as Arrow's integers."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {Duration}:
        return durations(values)
    if len(kinds) == 1 and kinds < FIELDS.keys():
        return from_arrow(to_array(values))
    keys = [list(value) for value in values if isinstance(value, dict)]
    if kinds == {dict} and keys.count(keys[0]) == len(keys):
        return maps(values, keys[0])
    return from_values(values)


def durations(values: list[Any]) -> Column:
    """Return durations part by part, if these fit; a null may have parts, too."""
    parts = [(1, 2, 3) if value is None else (value.months, value.days, value.nanoseconds) for value in values]
    if any(not -(2**63) <= part < 2**63 for row in parts for part in row):
        return from_values(values)
    null = np.array([value is None for value in values])
    return DurationColumn(*np.array(parts, np.int64).T, null if null.any() else None)


def maps(values: list[Any], keys: list[str]) -> Column:
    """Return maps key by key; a null may have values, too."""
    valid = np.array([value is not None for value in values])
    fields = {key: held([7 if value is None else value[key] for value in values]) for key in keys}
    return MapColumn(fields, len(values), None if valid.all() else valid)


def assert_same(expr: x.Expr, columns: dict[str, list[Any]]) -> None:
    (length,) = {len(values) for values in columns.values()}
    context = ExecutionContext({})
    batch = Batch(length, {name: held(values) for name, values in columns.items()})
    plain = Batch(length, {name: ObjectColumn(values) for name, values in columns.items()})

    def by_row() -> list[Any]:
        function = scalar.compile(expr, Environment(STORE))
        return [function(dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True)]

    def by_column(batch: Batch) -> Callable[[], list[Any]]:
        return lambda: compile_expression(expr, Runtime(STORE, context))(batch).values()

    expected = outcome(by_row)
    assert outcome(by_column(batch)) == expected
    assert outcome(by_column(plain)) == expected


def column(kinds: list[str], rows: int) -> st.SearchStrategy[list[Any]]:
    usual = st.sampled_from(kinds).flatmap(lambda kind: st.lists(KINDS[kind] | st.none(), min_size=rows, max_size=rows))
    dense = st.sampled_from(kinds).flatmap(lambda kind: st.lists(KINDS[kind], min_size=rows, max_size=rows))
    any_kind = st.sampled_from(sorted(KINDS)).flatmap(
        lambda kind: st.lists(KINDS[kind] | st.none(), min_size=rows, max_size=rows)
    )
    return st.one_of(usual, usual, dense, dense, any_kind)


def constant(kinds: list[str]) -> st.SearchStrategy[Any]:
    return st.sampled_from(kinds).flatmap(lambda kind: KINDS[kind] | st.none())


def literal(value: Any) -> x.Expr:
    if isinstance(value, list):
        return x.ListOf(tuple(literal(item) for item in value))
    if isinstance(value, dict):
        return x.MapOf(tuple((key, literal(item)) for key, item in value.items()))
    return x.Literal(value)


@st.composite
def calls(draw: st.DrawFn, name: str) -> tuple[x.Expr, dict[str, list[Any]]]:
    signature = SIGNATURES.get(name, [["integer", "float", "string", "boolean", "node", "list"]])
    rows = draw(st.integers(1, 6))
    columns = {"other": list(range(rows))}
    args: list[x.Expr] = []
    for index, kinds in enumerate(signature):
        plain = [kind for kind in kinds if not kind.startswith(("node", "relationship"))] or ["null"]
        if (draw(st.booleans()) and (index or name in TRUNCATIONS)) or draw(st.integers(0, 9)) == 0:
            args.append(literal(draw(constant([kind for kind in plain if kind != "mixed list"] or ["list"]))))
        else:
            columns[f"c{index}"] = draw(column(kinds, rows))
            args.append(x.Variable(f"c{index}"))
    while len(args) > OPTIONAL.get(name, len(args)) and draw(st.booleans()):
        args.pop()
    return x.Call(name, tuple(args)), columns


@pytest.mark.parametrize("name", sorted({*COLUMNAR, "coalesce"}))
def test_functions(name: str) -> None:
    @settings(max_examples=examples(60))
    @given(calls(name))
    def check(case: tuple[x.Expr, dict[str, list[Any]]]) -> None:
        assert_same(*case)

    check()


@settings(max_examples=examples(200))
@given(st.data(), st.sampled_from(["AND", "OR", "XOR"]), st.integers(2, 4))
def test_truth_tables(data: st.DataObject, op: Any, count: int) -> None:
    columns = {f"c{i}": data.draw(column(["boolean"], 4)) for i in range(count)}
    assert_same(x.Logical(op, tuple(x.Variable(name) for name in columns)), columns)


def in_microseconds(value: Any) -> Any:
    """Return a moment without nanoseconds, which a column can hold in coarser units."""
    match value:
        case LocalDateTime():
            return LocalDateTime.from_nanoseconds(value.nanoseconds // 1_000 * 1_000)
        case DateTime():
            return at_moment(value.utc // 1_000 * 1_000, in_zone(value))
    return value


def beside(value: Any) -> list[Any]:
    """Return values that a column in coarser units can't hold, or of another zone, and some beyond its range."""
    match value:
        case LocalDateTime():
            return [LocalDateTime.from_nanoseconds(value.nanoseconds + step) for step in (-1, 1, -(2**75), 2**75)]
        case DateTime():
            return [*(at_moment(value.utc + step, in_zone(value)) for step in (-1, 1)), at_moment(value.utc, 7200)]
    return []


@settings(max_examples=examples(600))
@given(st.data(), st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), st.sampled_from(TEMPORAL))
def test_comparisons_of_dates_and_times(data: st.DataObject, op: str, kind: str) -> None:
    columns = {"a": data.draw(column([kind], 5))}
    if data.draw(st.booleans()):
        columns["a"] = [in_microseconds(value) for value in columns["a"]]
    other = data.draw(st.sampled_from([kind, kind, kind, *TEMPORAL]))
    if data.draw(st.booleans()):
        near = [each for value in columns["a"] if value is not None for each in (value, *beside(value))]
        right: x.Expr = x.Literal(data.draw(st.sampled_from(near) | KINDS[other] if near else KINDS[other]))
    else:
        columns["b"] = data.draw(column([other], 5))
        right = x.Variable("b")
    args = (x.Variable("a"), right)
    assert_same(x.Call(op, args if data.draw(st.booleans()) else args[::-1]), columns)


@settings(max_examples=examples(100))
@given(st.data(), st.sampled_from(TEMPORAL))
def test_fields_of_dates_and_times(data: st.DataObject, kind: str) -> None:
    values = data.draw(st.lists(KINDS[kind] | st.none(), min_size=4, max_size=4))
    for name in {name for fields in FIELDS.values() for name in fields} | {"absent"}:
        assert_same(x.Property(x.Variable("a"), name), {"a": values})


@pytest.mark.parametrize("values", [
    [LocalDateTime("2026-11-28T18:40:01.5"), None, LocalDateTime("1969-12-31T23:59:59.999")],
    [Date("2024-02-29"), Date("2026-01-01"), None, Date("-0004-12-31")],
    [LocalTime("00:00"), LocalTime("23:59:59.999999999")],
    [at_moment(0, 0), at_moment(-1_000_000, 0)],
])  # fmt: skip
def test_dates_and_times_are_read_by_columns(values: list[Any]) -> None:
    """None of these is left to the row-wise evaluator."""
    column, present = held(values), [value for value in values if value is not None]
    for constant in present:
        for op in ("=", "<>", "<", "<=", ">", ">="):
            found = COLUMNAR[op](Runtime(STORE, ExecutionContext({})), column, ConstantColumn(constant, len(values)))
            assert found is not None
    zoned = ("timezone", "offset", "offsetMinutes", "offsetSeconds", "epochSeconds", "epochMillis")
    for name in (name for name in FIELDS[type(present[0])] if name not in zoned):
        assert property_of(STORE, column, name) is not None, name


@settings(max_examples=examples(200))
@given(st.data())
def test_comparison_chains(data: st.DataObject) -> None:
    columns = {f"c{i}": data.draw(column(["integer", "float"], 3)) for i in range(3)}
    ops = tuple(data.draw(st.sampled_from(["=", "<>", "<", "<=", ">", ">="])) for _ in range(2))
    assert_same(x.Comparison(ops, tuple(x.Variable(name) for name in columns)), columns)


@settings(max_examples=examples(200))
@given(st.data())
def test_case(data: st.DataObject) -> None:
    kinds = ["integer", "float", "string", "node", "null"]
    columns = {f"w{i}": data.draw(column(["boolean"], 4)) for i in range(2)}
    columns |= {f"r{i}": data.draw(column(kinds, 4)) for i in range(3)}
    whens = tuple((x.Variable(f"w{i}"), x.Variable(f"r{i}")) for i in range(2))
    assert_same(x.Case(whens, x.Variable("r2")), columns)


def test_unused_branches_do_not_fail() -> None:
    columns = {"a": [0, 2, None]}
    a = x.Variable("a")
    divided = x.Call("/", (x.Literal(6), a))
    zero = x.Call("=", (a, x.Literal(0)))
    assert_same(x.Case(((zero, x.Literal(-1)),), divided), columns)
    assert_same(x.Logical("OR", (zero, x.Call("=", (divided, x.Literal(3))))), columns)
    assert_same(divided, columns)


@settings(max_examples=examples(100))
@given(column(["node", "relationship"], 6), st.sampled_from(["i", "f", "s", "m", "l", "absent"]))
def test_properties(subjects: list[Any], key: str) -> None:
    assert_same(x.Property(x.Variable("n"), key), {"n": subjects})


LABELS = [
    LabelIs("A"),
    LabelIs("R"),
    LabelAny(),
    LabelNot(LabelIs("B")),
    LabelAnd((LabelIs("A"), LabelIs("B"))),
    LabelOr((LabelIs("C"), LabelIs("A"), LabelIs("S"))),
    LabelIs("absent"),
]


@settings(max_examples=examples(100))
@given(column(["node", "relationship"], 6), st.sampled_from(LABELS))
def test_labels(subjects: list[Any], labels: Any) -> None:
    assert_same(x.HasLabels(x.Variable("n"), labels), {"n": subjects})


@settings(max_examples=examples(100))
@given(st.data())
def test_lists_and_maps(data: st.DataObject) -> None:
    columns = {f"c{i}": data.draw(column(["integer", "string", "node", "list"], 3)) for i in range(2)}
    items = (*map(x.Variable, columns), x.Literal(1))
    assert_same(x.ListOf(items), columns)
    assert_same(x.MapOf((("a", items[0]), ("b", items[1]))), columns)
    assert_same(x.Call("size", (x.ListOf(items),)), columns)


HOPS = st.sampled_from([[], [0], [1], [2], [3], [0, 2], [2, 0], [1, 0], [0, 1, 1]])


@settings(max_examples=examples(100))
@given(st.data())
def test_paths(data: st.DataObject) -> None:
    """Through relationships and lists of them, whether or not they start where the path has come to."""
    rows = data.draw(st.integers(1, 4))
    columns: dict[str, list[Any]] = {"a": data.draw(column(["node"], rows))}
    for hop, end in (("r", "b"), ("s", "c"))[: data.draw(st.integers(0, 2))]:
        lists = HOPS.map(lambda ids: [RelationshipHandle(id) for id in ids])
        kind = data.draw(st.sampled_from([RELATIONSHIPS, RELATIONSHIPS | st.none(), lists, lists | st.none()]))
        columns[hop] = data.draw(st.lists(kind, min_size=rows, max_size=rows))
        columns[end] = data.draw(st.lists(NODES | st.none(), min_size=rows, max_size=rows))
    if all(isinstance(value, NodeHandle | None) for value in columns["a"]):
        assert_same(x.PathOf(tuple(columns)), consistent(columns))


def consistent(columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Let relationships lead from the node before them to the node behind, as in every match, where they can.

    A single one leads there from either end, for the node before it may be anything.
    """
    names = list(columns)
    for before, hop, behind in zip(names[::2], names[1::2], names[2::2], strict=False):
        for row, found in enumerate(columns[hop]):
            node = columns[before][row]
            if found is None or node is None or columns[behind][row] is None:
                continue
            for relationship in found if isinstance(found, list) else [found]:
                start, end = (int(ids[0]) for ids in STORE.endpoints(np.array([relationship.id])))
                node = NodeHandle(end if start == node.id else start)
            columns[behind][row] = node
    return columns


def test_rows_of_volatile_functions_differ() -> None:
    batch = Batch(50, {"a": from_values(list(range(50)))})
    column: Column = compile_expression(x.Call("rand", ()), Runtime(STORE, ExecutionContext({})))(batch)
    assert len(set(column.values())) > 1


def test_sliced_columns_read_their_own_rows() -> None:
    values = [None, 1, 2**53 + 1, -4, None, 7, 0, 2, 9, 11]
    whole = Batch(10, {"a": from_values(values), "t": from_values([value == 2 for value in values])})
    part = whole.slice(3, 5)
    runtime = Runtime(STORE, ExecutionContext({}))
    for expr in (
        x.Call("%", (x.Variable("a"), x.Literal(3))),
        x.Call("<", (x.Variable("a"), x.Literal(2.5))),
        x.Case(((x.Variable("t"), x.Literal("two")),), x.Variable("a")),
    ):
        function = scalar.compile(expr, runtime.environment)
        rows = [function({"a": value, "t": value == 2}) for value in values[3:8]]
        assert [shown(value) for value in compile_expression(expr, runtime)(part).values()] == list(map(shown, rows))
    assert np.array_equal(part.columns["a"].is_null(), [False, True, False, False, False])


@pytest.mark.parametrize("name", CONVERTED)
def test_numbers_that_do_not_fit(name: str) -> None:
    """What one row can't give is an error there, or null where that was asked for."""
    assert_same(x.Call(name, (x.Variable("a"),)), {"a": ["1", "1e308", "x", None, "9" * 30]})
