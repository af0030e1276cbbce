"""Operators and functions, one call a row: name, arguments, result (or the error's code)."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qengine._type_text import alternatives
from qengine.catalog.functions import functions
from qengine.errors import ExecutionError
from qengine.exec.memory import MemoryAccount
from qengine.exec.scalar import values
from qengine.exec.scalar.aggregates import AGGREGATES
from qengine.exec.scalar.functions import ACCOUNTED_FUNCTIONS, FUNCTIONS, GRAPH_FUNCTIONS
from qengine.exec.scalar.growth import GROWTH
from qengine.exec.scalar.text import number_text, parse_float
from qengine.exec.scalar.values import NodeHandle, PathHandle, RelationshipHandle
from qengine.spatial import Point
from qengine.temporal import Date, DateTime, Duration
from qengine.temporal.values import DAY, SECOND

NAN, INF = math.nan, math.inf
LARGEST, SMALLEST = 2**63 - 1, -(2**63)


class Fails(str):
    """The code of the expected error."""


OVERFLOW, ZERO, TYPE, VALUE, RANGE, NEGATIVE = map(
    Fails,
    ["IntegerOverflow", "DivisionByZero", "InvalidArgumentType", "InvalidArgumentValue", "NumberOutOfRange",
     "NegativeIntegerArgument"],
)  # fmt: skip

PATH = PathHandle(tuple(map(NodeHandle, range(3))), (RelationshipHandle(7), RelationshipHandle(8)))
CASES = [
    ("+", (1, 2), 3),
    ("+", (1, 2.5), 3.5),
    ("+", (LARGEST, 1), OVERFLOW),
    ("+", (LARGEST, 1.0), float(LARGEST)),
    ("+", ("a", "b"), "ab"),
    ("+", ("a", 1), "a1"),
    ("+", (1.0, "a"), "1.0a"),
    ("+", ([1], [2]), [1, 2]),
    ("+", ([1], 2), [1, 2]),
    ("+", (1, [2]), [1, 2]),
    ("+", ([1], None), None),
    ("+", (None, 1), None),
    ("+", (True, 1), TYPE),
    ("+", ("a", True), "atrue"),
    ("+", (False, "a"), "falsea"),
    ("+", ("a", {}), TYPE),
    ("+", ({}, {}), TYPE),
    ("-", (SMALLEST, 1), OVERFLOW),
    ("-", (5, 7.5), -2.5),
    ("-", ("a", 1), TYPE),
    ("-", (None, "a"), None),
    ("*", (LARGEST, 2), OVERFLOW),
    ("*", (3, 0.5), 1.5),
    ("/", (7, 2), 3),
    ("/", (-7, 2), -3),
    ("/", (7, -2), -3),
    ("/", (SMALLEST, -1), OVERFLOW),
    ("/", (1, 0), ZERO),
    ("/", (1, 0.0), INF),
    ("/", (-1.0, 0), -INF),
    ("/", (0.0, 0), NAN),
    ("/", (7, 2.0), 3.5),
    ("/", (NAN, 0.0), NAN),
    ("%", (7, 3), 1),
    ("%", (-7, 3), -1),
    ("%", (7, -3), 1),
    ("%", (1, 0), ZERO),
    ("%", (1.0, 0), NAN),
    ("%", (-7.5, 2), -1.5),
    ("%", (INF, 2), NAN),
    ("^", (2, 3), 8.0),
    ("^", (0, -1), INF),
    ("^", (-8.0, 0.5), NAN),
    ("^", (10.0, 400), INF),
    ("^", (-10.0, 401), -INF),
    ("neg", (SMALLEST,), OVERFLOW),
    ("neg", (1.5,), -1.5),
    ("neg", ("a",), TYPE),
    ("pos", (1,), 1),
    ("pos", ("a",), TYPE),
    ("=", (1, 1.0), True),
    ("<>", (1, None), None),
    ("<>", (NAN, NAN), True),
    ("<", (1, "a"), None),
    ("<=", (1, 1), True),
    (">", (2, 1.5), True),
    (">=", (NAN, NAN), False),
    ("NOT", (None,), None),
    ("NOT", (True,), False),
    ("NOT", (1,), TYPE),
    ("IN", (1, [1, None]), True),
    ("IN", (5, [1, None]), None),
    ("IN", (None, []), False),
    ("IN", (None, [1]), None),
    ("IN", (1, None), None),
    ("IN", ([1, 2], [[1, None]]), None),
    ("IN", ([1], [[1, None]]), False),
    ("IN", (1, "abc"), TYPE),
    ("STARTS WITH", ("abc", "ab"), True),
    ("STARTS WITH", (1, "ab"), None),
    ("ENDS WITH", ("abc", "bc"), True),
    ("ENDS WITH", ("abc", None), None),
    ("CONTAINS", ("abc", "x"), False),
    ("CONTAINS", ("abc", 1), None),
    ("=~", ("abc", "a.c"), True),
    ("IS ::", (1, "INTEGER"), True),
    ("IS ::", (None, "INTEGER"), True),
    ("IS ::", (None, "INTEGER NOT NULL"), False),
    ("IS ::", ([1, "a"], "LIST<INTEGER | STRING>"), True),
    ("IS ::", ([1, None], "LIST<INTEGER NOT NULL>"), False),
    ("IS NORMALIZED", ("\u00e9", "NFC"), True),
    ("IS NORMALIZED", ("e\u0301", "NFC"), False),
    ("IS NORMALIZED", (1, "NFC"), None),
    ("point.distance", (Point(0.0, 0.0), Point(3.0, 4.0)), 5.0),
    ("point.distance", (Point(0.0, 0.0), Point(3, 4, crs="wgs-84")), None),
    ("point.distance", (1, 2), TYPE),
    ("point.withinbbox", (Point(1.0, 1.0), Point(0.0, 0.0), Point(2.0, 1.0)), True),
    ("point.withinbbox", (Point(1.0, 1.5), Point(0.0, 0.0), Point(2.0, 1.0)), False),
    ("point.withinbbox", (Point(1.0, 1.0), None, Point(2.0, 1.0)), None),
    ("vector.similarity.cosine", ([1, 0], [0.0, 2.0]), 0.5),
    ("vector.similarity.cosine", ([1, 0], [1, 0, 0]), VALUE),
    ("vector.similarity.euclidean", ([1, 2], [1, 2]), 1.0),
    ("vector.similarity.euclidean", ([1, "a"], [1, 2]), TYPE),
    ("=~", ("abcd", "a.c"), False),
    ("=~", ("ABC", "(?i)abc"), True),
    ("=~", ("a\nc", "a.c"), False),
    ("=~", (1, "a"), None),
    ("=~", ("a", None), None),
    ("=~", ("a", "("), VALUE),
    ("IS NULL", (None,), True),
    ("IS NOT NULL", (None,), False),
    ("[..]", ([1, 2, 3], 1, 3), [2, 3]),
    ("[..]", ([1, 2, 3], -5, 5), [1, 2, 3]),
    ("[..]", ([1, 2, 3], 3, 1), []),
    ("[..]", ([1, 2, 3], -3, -1), [1, 2]),
    ("[..]", ([1, 2, 3], None, 1), None),
    ("[..]", ([1], 0.5, 1), TYPE),
    ("{}", ("k", None), {"k": None}),
    ("{}", ("k", [1]), {"k": [1]}),
    ("[::]", ([1, 2, 3, 4, 5], 1, 9, 2), [2, 4]),
    ("[::]", ([1, 2, 3, 4, 5], 0, -1, 3), [1, 4]),
    ("[::]", (None, 0, 1, 1), None),
    ("[::]", ([1], 0, 1, 0), []),
    ("||", ("a", "b"), "ab"),
    ("||", ([1], [2]), [1, 2]),
    ("||", ("a", 1), TYPE),
    ("||", ("a", None), None),
    ("toboolean", ("TRUE",), True),
    ("toboolean", (" tru ",), None),
    ("toboolean", (0,), False),
    ("toboolean", (1.0,), VALUE),
    ("toboolean", (None,), None),
    ("tointeger", ("1.7",), 1),
    ("tointeger", ("-1.7e1",), -17),
    ("tointeger", ("9223372036854775807",), LARGEST),
    ("tointeger", ("9223372036854775808",), OVERFLOW),
    ("tointeger", ("9" * 5000,), OVERFLOW),
    ("tointeger", ("1_0",), None),
    ("tointeger", ("foo",), None),
    ("tointeger", ("",), None),
    ("tointeger", (-2.9,), -2),
    ("tointeger", (1e300,), OVERFLOW),
    ("tointeger", (NAN,), VALUE),
    ("tointeger", (True,), 1),
    ("tointeger", (False,), 0),
    ("tointeger", ([],), VALUE),
    ("tofloat", ("5",), 5.0),
    ("tofloat", ("foo",), None),
    ("tofloat", (".5",), 0.5),
    ("tofloat", ("Infinity",), INF),
    ("tofloat", ("inf",), None),
    ("tofloat", ([],), VALUE),
    ("tostring", (1.0,), "1.0"),
    ("tostring", (True,), "true"),
    ("tostring", ([],), VALUE),
    ("tointegerornull", (True,), 1),
    ("tointegerornull", (1e300,), None),
    ("tofloatornull", ("1",), 1.0),
    ("tofloatornull", (True,), None),
    ("tobooleanornull", ([],), None),
    ("tostringornull", ({},), None),
    ("tointegerlist", (["1", 2.5, None, True],), [1, 2, None, 1]),
    ("tofloatlist", ([1, "x"],), [1.0, None]),
    ("tobooleanlist", (["true", 2.0],), [True, None]),
    ("tostringlist", ([1, "a", None],), ["1", "a", None]),
    ("tostringlist", (1,), TYPE),
    ("valuetype", (None,), "NULL"),
    ("valuetype", (1,), "INTEGER NOT NULL"),
    ("valuetype", ([1, "a"],), "LIST<STRING NOT NULL | INTEGER NOT NULL> NOT NULL"),
    ("valuetype", ([1, None],), "LIST<INTEGER> NOT NULL"),
    ("valuetype", ([],), "LIST<NOTHING> NOT NULL"),
    ("valuetype", ([[], [None]],), "LIST<LIST<NULL> NOT NULL> NOT NULL"),
    ("size", ([1, 2],), 2),
    ("size", ("\N{GRINNING FACE}e",), 2),
    ("size", (None,), None),
    ("size", ({},), TYPE),
    ("isempty", ("",), True),
    ("isempty", ({"a": 1},), False),
    ("isempty", (1,), TYPE),
    ("head", ([],), None),
    ("head", ([1, 2],), 1),
    ("last", ([1, 2],), 2),
    ("last", ([],), None),
    ("tail", ([1, 2],), [2]),
    ("tail", ([],), []),
    ("tail", ("ab",), TYPE),
    ("reverse", ("raksO",), "Oskar"),
    ("reverse", ([1, 2],), [2, 1]),
    ("range", (1, 3), [1, 2, 3]),
    ("range", (3, 1), []),
    ("range", (5, 1, -2), [5, 3, 1]),
    ("range", (1, 6, 2), [1, 3, 5]),
    ("range", (0, 0, -1), [0]),
    ("range", (1, 2, 0), RANGE),
    ("range", (1, 2.0), TYPE),
    ("range", (1, None), None),
    ("range", (SMALLEST, LARGEST), RANGE),
    ("range", (LARGEST, SMALLEST, -1), RANGE),
    ("range", (LARGEST, LARGEST), [LARGEST]),
    ("nullif", (1, 1.0), None),
    ("nullif", (1, 2), 1),
    ("nullif", (1, None), 1),
    ("abs", (-1,), 1),
    ("abs", (-1.5,), 1.5),
    ("abs", (SMALLEST,), OVERFLOW),
    ("abs", ("a",), TYPE),
    ("sign", (-0.5,), -1),
    ("sign", (0,), 0),
    ("isnan", (NAN,), True),
    ("isnan", (1,), False),
    ("ceil", (1.2,), 2.0),
    ("ceil", (3,), 3.0),
    ("ceil", (INF,), INF),
    ("floor", (-1.2,), -2.0),
    ("round", (2.5,), 3.0),
    ("round", (-2.5,), -2.0),
    ("round", (-2.5, 0), -2.0),
    ("round", (-2.5, 0, "HALF_UP"), -3.0),
    ("round", (0.49999999999999994,), 0.0),
    ("round", (NAN,), NAN),
    ("round", (1.249, 1), 1.2),
    ("round", (1.25, 1), 1.3),
    ("round", (-1.25, 1), -1.3),
    ("round", (1.25, 1, "HALF_DOWN"), 1.2),
    ("round", (1.35, 1, "HALF_EVEN"), 1.4),
    ("round", (1.21, 1, "up"), 1.3),
    ("round", (1.29, 1, "DOWN"), 1.2),
    ("round", (-1.21, 1, "FLOOR"), -1.3),
    ("round", (-1.29, 1, "CEILING"), -1.2),
    ("round", (1.5, 400), 1.5),
    ("round", (1.5, -1), NEGATIVE),
    ("round", (1.5, 1, "NEAR"), VALUE),
    ("round", (1.5, None), None),
    ("sqrt", (12.96,), 3.6),
    ("sqrt", (-1,), NAN),
    ("exp", (1000,), INF),
    ("log", (0,), -INF),
    ("log", (-1,), NAN),
    ("log10", (1000,), 3.0),
    ("e", (), math.e),
    ("pi", (), math.pi),
    ("sin", (0,), 0.0),
    ("cos", (0,), 1.0),
    ("tan", (0,), 0.0),
    ("cot", (math.pi / 4,), 1.0),
    ("cot", (0,), INF),
    ("sinh", (0,), 0.0),
    ("sinh", (1000,), INF),
    ("cosh", (0,), 1.0),
    ("tanh", (0,), 0.0),
    ("tanh", ("a",), TYPE),
    ("coth", (1,), 1 / math.tanh(1)),
    ("coth", (0,), NAN),
    ("asin", (1,), math.pi / 2),
    ("asin", (2,), NAN),
    ("acos", (1,), 0.0),
    ("atan", (1,), math.pi / 4),
    ("atan2", (1, -1), 3 * math.pi / 4),
    ("atan2", (1, "a"), TYPE),
    ("degrees", (math.pi,), 180.0),
    ("radians", (180,), math.pi),
    ("haversin", (math.pi,), 1.0),
    ("sin", (None,), None),
    ("sin", ("a",), TYPE),
    ("tolower", ("ABC",), "abc"),
    ("toupper", ("abc",), "ABC"),
    ("toupper", (None,), None),
    ("toupper", (1,), TYPE),
    ("trim", (" a ",), "a"),
    ("ltrim", (" a ",), "a "),
    ("rtrim", (" a ",), " a"),
    ("trim", ("xxayx", "xy"), "a"),
    ("trim", ("a", None), None),
    ("normalize", ("e\N{COMBINING ACUTE ACCENT}",), "\xe9"),
    ("normalize", ("\xe9", "nfd"), "e\N{COMBINING ACUTE ACCENT}"),
    ("normalize", ("a", "X"), VALUE),
    ("char_length", ("abc",), 3),
    ("substring", ("0123456789", 1), "123456789"),
    ("substring", ("hello", 1, 3), "ell"),
    ("substring", ("hello", 9), ""),
    ("substring", ("hello", -1), NEGATIVE),
    ("substring", ("hello", 0, -1), NEGATIVE),
    ("substring", (None, 1), None),
    ("substring", (1, 1), TYPE),
    ("left", ("hello", 2), "he"),
    ("left", ("hello", 9), "hello"),
    ("left", ("hello", -1), NEGATIVE),
    ("right", ("hello", 2), "lo"),
    ("right", ("hello", 0), ""),
    ("right", ("hello", 9), "hello"),
    ("replace", ("hello", "l", "L"), "heLLo"),
    ("replace", ("hello", None, "L"), None),
    ("split", ("a,b,c", ","), ["a", "b", "c"]),
    ("split", ("a,b;c", [",", ";"]), ["a", "b", "c"]),
    ("split", ("abc", ""), ["a", "b", "c"]),
    ("split", ("", ","), [""]),
    ("split", ("a", 1), TYPE),
    ("+", (Date.from_days(0), Duration(1, 1, DAY)), Date.from_days(33)),
    ("+", (Duration(1), Duration(0, 2)), Duration(1, 2)),
    ("+", (Date.from_days(0), Date.from_days(1)), TYPE),
    ("-", (Date.from_days(59), Duration(1)), Date.from_days(31)),
    ("-", (Duration(1), Date.from_days(0)), TYPE),
    ("*", (Duration(1, 1, 1), 2), Duration(2, 2, 2)),
    ("*", (0.5, Duration(0, 1)), Duration(0, 0, DAY // 2)),
    ("*", (Duration(2**62), 4), OVERFLOW),
    ("/", (Duration(0, 3), 2), Duration(0, 1, DAY // 2)),
    ("/", (Duration(0, 3), 0), ZERO),
    ("/", (Duration(0, 3), NAN), VALUE),
    ("neg", (Duration(1, -2, 3),), Duration(-1, 2, -3)),
    ("<", (Date.from_days(1), Date.from_days(2)), True),
    ("tostring", (Date.from_days(0),), "1970-01-01"),
    ("duration", ("P1.5D",), Duration(0, 1, DAY // 2)),
    ("duration", ({"hours": 1, "months": 2},), Duration(2, 0, 3600 * SECOND)),
    ("duration", ({"hour": 1},), VALUE),
    ("duration", (1,), TYPE),
    ("datetime.fromepoch", (1, 5), DateTime.from_utc(SECOND + 5)),
    ("datetime.fromepoch", (1.5, 5), TYPE),
    ("datetime.fromepochmillis", (1,), DateTime.from_utc(1_000_000)),
    ("datetime.fromepochmillis", (2**63 - 1,), DateTime.from_utc((2**63 - 1) * 1_000_000)),
    ("duration.between", (Date.from_days(0), Date.from_days(60)), Duration(2, 1)),
    ("duration.between", (Date.from_days(0), 1), TYPE),
    ("duration.inmonths", (Date.from_days(0), Date.from_days(60)), Duration(2)),
    ("duration.indays", (Date.from_days(0), Date.from_days(60)), Duration(0, 60)),
    ("duration.inseconds", (Date.from_days(0), Date.from_days(1)), Duration(0, 0, DAY)),
    ("coll.distinct", ([1, 1.0, None, None, "1"],), [1, None, "1"]),
    ("coll.distinct", (None,), None),
    ("coll.distinct", ("a",), TYPE),
    ("coll.flatten", ([1, [2, [3]]],), [1, 2, [3]]),
    ("coll.flatten", ([1, [2, [3]]], 2), [1, 2, 3]),
    ("coll.flatten", ([[1]], 0), [[1]]),
    ("coll.flatten", ([1], -1), VALUE),
    ("coll.indexof", ([1, 2.0, None], 2), 1),
    ("coll.indexof", ([1], "1"), -1),
    ("coll.insert", ([1, 3], 1, 2), [1, 2, 3]),
    ("coll.insert", ([1], 1, None), [1, None]),
    ("coll.insert", ([1], 2, 0), VALUE),
    ("coll.remove", ([1, 2], 0), [2]),
    ("coll.remove", ([], 0), VALUE),
    ("coll.remove", ([1], "a"), TYPE),
    ("coll.max", ([1, None, 2.5],), 2.5),
    ("coll.max", ([],), None),
    ("coll.min", ([3, 2],), 2),
    ("coll.sort", ([3, None, "a", 1],), ["a", 1, 3, None]),
    ("VALUE", ([1],), 1),
    ("VALUE", ([],), None),
    ("VALUE", ([1, 2],), VALUE),
    ("vector", ([1, 2.5], 2, "FLOAT"), [1.0, 2.5]),
    ("vector", ("[1, 2]", 2, "INTEGER8"), [1, 2]),
    ("vector", ([300], 1, "INTEGER8"), RANGE),
    ("vector", ([1], 2, "FLOAT"), VALUE),
    ("vector_dimension_count", ([1, 2],), 2),
    ("vector_distance", ([1, 2], [1, 4], "EUCLIDEAN"), 2.0),
    ("vector_distance", ([1], [1, 2], "EUCLIDEAN"), VALUE),
    ("vector_norm", ([3, 4], "EUCLIDEAN"), 5.0),
    ("path[..]", (PATH, 1, 2), PathHandle((NodeHandle(1), NodeHandle(2)), (RelationshipHandle(8),))),
    ("path[..]", (None, 0, 1), None),
    ("path[..]", ([], 0, 1), TYPE),
]


def called(name, *args):
    """Call a function as the evaluator does."""
    if name in GROWTH:
        GROWTH[name](*args)
    function = FUNCTIONS[name]
    return function(MemoryAccount(None), *args) if name in ACCOUNTED_FUNCTIONS else function(*args)


@pytest.mark.parametrize(("name", "args", "expected"), CASES)
def test_call(name, args, expected):
    if isinstance(expected, Fails):
        with pytest.raises(ExecutionError) as caught:
            called(name, *args)
        assert caught.value.code == expected
        return
    result = called(name, *args)
    assert type(result) is type(expected)
    if type(expected) is float:
        assert result == pytest.approx(expected, rel=1e-15, nan_ok=True)
    else:
        assert result == expected


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("+", ([1, 2], [3, 4]), [1, 2, 3, 4]),
        ("+", ([1, 2, 3, 4], 5), None),
        ("+", (0, [1, 2, 3, 4]), None),
        ("||", ([1, 2], [3, 4, 5]), None),
        ("range", (1, 4), [1, 2, 3, 4]),
        ("range", (1, 5), None),
        ("+", ("abcd", "efgh"), "abcdefgh"),
        ("+", ("abcd", "efghi"), None),
        ("+", (12345, "efgh"), None),
        ("||", ("abcd", "efghi"), None),
        ("replace", ("abac", "a", "xyz"), "xyzbxyzc"),
        ("replace", ("abac", "a", "wxyz"), None),
        ("replace", ("abac", "d", "x" * 9), "abac"),
    ],
)
def test_strings_and_lists_have_a_greatest_length(monkeypatch, name, args, expected):
    monkeypatch.setattr(values, "_LONGEST_STRING", 8)
    monkeypatch.setattr(values, "LONGEST_LIST", 4)
    if expected is not None:
        assert called(name, *args) == expected
        return
    with pytest.raises(ExecutionError, match=r"of more than [48] ") as caught:
        called(name, *args)
    assert caught.value.code == RANGE


def test_the_catalogue_names_exactly_the_functions():
    rows = {function.key for function in functions() if function.available and function.kind in ("scalar", "operator")}
    assert FUNCTIONS.keys() | {"coalesce"} == rows
    assert AGGREGATES.keys() == {function.key for function in functions() if function.kind == "aggregate"}


def test_each_value_function_has_a_case():
    assert {name for name, _, _ in CASES} == FUNCTIONS.keys() - GRAPH_FUNCTIONS.keys()


@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - GRAPH_FUNCTIONS.keys()))
def test_a_wrong_type_is_an_error_or_a_value_but_never_a_python_exception(name):
    arity = max(len(args) for known, args, _ in CASES if known == name)
    for odd in (None, True, 1, -3, 0.5, NAN, INF, "x", "(", [], [1], {}, NodeHandle(0)):
        for place in range(arity):
            for other in (None, 2, "y", [2]):
                args = [other] * arity
                args[place] = odd
                try:
                    called(name, *args)
                except ExecutionError as error:
                    assert error.code


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1, "1"),
        (1.0, "1.0"),
        (-0.0, "-0.0"),
        (0.001, "0.001"),
        (0.0001, "1.0E-4"),
        (-0.00025, "-2.5E-4"),
        (1234567.5, "1234567.5"),
        (1e7, "1.0E7"),
        (12345678.9, "1.23456789E7"),
        (1e16, "1.0E16"),
        (-1.5e300, "-1.5E300"),
        (5e-324, "5.0E-324"),
        (NAN, "NaN"),
        (-INF, "-Infinity"),
    ],
)
def test_number_text(number, text):
    assert number_text(number) == text


SINGLE = st.sampled_from([None, True, 1, 0.5, "x", {}, Date(2020, 1, 1), NodeHandle(0)])
NESTED = st.recursive(SINGLE, lambda items: st.lists(items, max_size=4), max_leaves=12)


@given(st.lists(NESTED, max_size=5))
def test_a_list_has_the_type_that_valuetype_says_and_each_alternative_is_needed(value):
    said = called("valuetype", value)
    assert called("IS ::", value, said)
    parts = alternatives(said.removeprefix("LIST<").removesuffix("> NOT NULL"))
    for part in parts if len(parts) > 1 else ():
        fewer = " | ".join(each for each in parts if each != part)
        assert not called("IS ::", value, f"LIST<{fewer}>"), said


@given(st.floats(allow_nan=False))
def test_number_text_reads_back(number):
    assert parse_float(number_text(number)) == number


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1).filter(bool))
def test_integer_division_and_remainder_belong_together(a, b):
    if (a, b) == (SMALLEST, -1):
        return
    quotient, remainder = FUNCTIONS["/"](a, b), FUNCTIONS["%"](a, b)
    assert quotient * b + remainder == a
    assert abs(remainder) < abs(b)
    assert remainder == 0 or (remainder < 0) == (a < 0)
