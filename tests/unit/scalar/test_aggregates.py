"""Aggregates over lists of values."""

import math

import pytest

from qengine.errors import ExecutionError
from qengine.exec.scalar.aggregates import accumulator
from qengine.plan.expr import AggregateCall, Variable

X = Variable("x")


def aggregate(name, values, *, distinct=False, share=None, times=1):
    args = (X,) if share is None else (X, Variable("share"))
    state = accumulator(AggregateCall(name, args, distinct=distinct))
    for value in values:
        state.add((value,) if share is None else (value, share), times)
    return state.result()


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("count", [1, None, "a"], 2),
        ("count", [], 0),
        ("sum", [1, 2, None], 3),
        ("sum", [1, 2.5], 3.5),
        ("sum", [None], 0),
        ("sum", [2**63 - 1, 1, -1], 2**63 - 1),
        ("avg", [1, 2], 1.5),
        ("avg", [2**62, 2**62], float(2**62)),
        ("avg", [None], None),
        ("min", [1, "a", None, [1, 2], 0.2, "b"], [1, 2]),
        ("max", [1, "a", None, [1, 2], 0.2, "b"], 1),
        ("max", [1, math.nan, 2], math.nan),
        ("min", [None], None),
        ("max", [[1], [2], [2, 1]], [2, 1]),
        ("collect", [1, None, 1], [1, 1]),
        ("collect", [], []),
        ("stdev", [2, 4, 4, 4, 5, 5, 7, 9], 2.138089935299395),
        ("stdevp", [2, 4, 4, 4, 5, 5, 7, 9], 2.0),
        ("stdev", [1], 0.0),
        ("stdevp", [None], 0.0),
    ],
)
def test_aggregates(name, values, expected):
    result = aggregate(name, values)
    assert type(result) is type(expected)
    assert result == expected or (math.isnan(result) and math.isnan(expected))


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("count", [1, 1.0, None, True], 2),
        ("sum", [1, 1.0, 2], 3),
        ("avg", [1, 1, 3], 2.0),
        ("collect", [1, 1.0, math.nan, math.nan, None, [1], [1.0]], 3),
    ],
)
def test_distinct(name, values, expected):
    result = aggregate(name, values, distinct=True)
    assert (len(result) if name == "collect" else result) == expected


@pytest.mark.parametrize(
    ("name", "share", "expected"),
    [
        ("percentiledisc", 0.0, 10.0),
        ("percentiledisc", 0.5, 20.0),
        ("percentiledisc", 1.0, 30.0),
        ("percentiledisc", 1, 30.0),
        ("percentilecont", 0.0, 10.0),
        ("percentilecont", 0.25, 15.0),
        ("percentilecont", 0.5, 20.0),
        ("percentilecont", 1.0, 30.0),
    ],
)
def test_percentiles(name, share, expected):
    assert aggregate(name, [30.0, None, 10.0, 20.0], share=share) == expected
    assert aggregate(name, [], share=share) is None


def test_count_of_rows():
    state = accumulator(AggregateCall("count", ()))
    state.add(())
    state.add((), 3)
    assert state.result() == 4


@pytest.mark.parametrize("name", ["count", "sum", "avg", "collect", "stdev", "stdevp", "min"])
def test_a_weight_is_as_good_as_repetition(name):
    assert aggregate(name, [1, 2.5, None], times=3) == aggregate(name, [1, 1, 1, 2.5, 2.5, 2.5, None])


def test_a_weight_does_not_count_for_distinct():
    assert aggregate("sum", [1, 2], distinct=True, times=3) == 3


@pytest.mark.parametrize(
    ("name", "values", "share", "code"),
    [
        ("sum", [2**63 - 1, 1], None, "IntegerOverflow"),
        ("sum", ["a"], None, "InvalidArgumentType"),
        ("sum", [True], None, "InvalidArgumentType"),
        ("avg", [[]], None, "InvalidArgumentType"),
        ("stdev", ["a"], None, "InvalidArgumentType"),
        ("percentilecont", ["a"], 0.5, "InvalidArgumentType"),
        ("percentilecont", [1], 1.1, "NumberOutOfRange"),
        ("percentilecont", [None], -1, "NumberOutOfRange"),
        ("percentiledisc", [1], math.nan, "NumberOutOfRange"),
        ("percentiledisc", [1], "a", "InvalidArgumentType"),
    ],
)
def test_errors(name, values, share, code):
    with pytest.raises(ExecutionError) as caught:
        aggregate(name, values, share=share)
    assert caught.value.code == code
