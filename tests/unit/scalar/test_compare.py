"""Equality, comparability, orderability and equivalence of values."""

import math
import operator
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qengine.exec.scalar.compare import equals, group_key, less, order_key, ordered
from qengine.exec.scalar.values import NodeHandle, PathHandle, RelationshipHandle

NAN = math.nan
BIG = 2**53
PATH = PathHandle((NodeHandle(1), NodeHandle(2)), (RelationshipHandle(7),))

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.sampled_from([0, 1, 1.0, 0.0, -0.0, BIG, BIG + 1, float(BIG), "", "a", "ab"]),
    st.text(max_size=3),
    st.integers(0, 3).map(NodeHandle),
    st.integers(0, 3).map(RelationshipHandle),
    st.just(PATH),
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (1, 1, True),
        (1, 1.0, True),
        (BIG + 1, float(BIG), False),
        (BIG, float(BIG), True),
        (2**63 - 1, float(2**63), False),
        (True, 1, False),
        ("1", 1, False),
        (None, None, None),
        (None, 1, None),
        (NAN, NAN, False),
        (NAN, "a", False),
        (0.0, -0.0, True),
        ([1, 2], [1], False),
        ([None], [1], None),
        (["a"], [1], False),
        ([[1]], [[1], [None]], False),
        ([[1], [2]], [[1], [None]], None),
        ([[1], [2, 3]], [[1], [None]], False),
        ([1, 2], [None, "foo"], False),
        ([1, 2], [None, 2], None),
        ([], [], True),
        ([1], {"a": 1}, False),
        ({"a": 1}, {"a": 1.0}, True),
        ({"a": 1}, {"b": 1}, False),
        ({"a": None}, {"a": 1}, None),
        ({"a": None, "b": 1}, {"a": None, "b": 2}, False),
        (NodeHandle(1), NodeHandle(1), True),
        (NodeHandle(1), NodeHandle(2), False),
        (NodeHandle(1), RelationshipHandle(1), False),
        (PATH, PathHandle(PATH.nodes, PATH.relationships), True),
    ],
)
def test_equality(a, b, expected):
    assert equals(a, b) is expected
    assert equals(b, a) is expected


@pytest.mark.parametrize(
    ("a", "symbol", "b", "expected"),
    [
        (1, "<", 2.5, True),
        (BIG, "<", float(BIG), False),
        (float(BIG), "<", BIG + 1, True),
        ("a", "<", "b", True),
        (False, "<", True, True),
        (1, "<", "a", None),
        (None, "<", 1, None),
        (None, "<=", None, None),
        (NAN, "<=", NAN, False),
        (NAN, ">", 1, False),
        (NAN, "<", "a", None),
        ([1, 0], ">=", [1], True),
        ([1, None], ">=", [1], True),
        ([1, 2], ">=", [1, None], None),
        ([1, "a"], ">=", [1, None], None),
        ([1, 2], ">=", [3, None], False),
        ([1], "<=", [1.0], True),
        ([1, 2], "<", [1, "a"], None),
        ({"a": 1}, "<", {"a": 2}, None),
        (NodeHandle(1), "<", NodeHandle(2), None),
        (PATH, "<=", PATH, None),
    ],
)
def test_comparability(a, symbol, b, expected):
    compare = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
    mirror = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
    assert ordered(a, b, compare[symbol]) is expected
    assert ordered(b, a, compare[mirror[symbol]]) is expected


def test_order_of_types():
    ascending = [
        {"a": "map"}, NodeHandle(9), RelationshipHandle(0), ["list"], PATH, "text", False, True, -math.inf, 1.5, 2,
        math.inf, NAN, None,
    ]  # fmt: skip
    chance = random.Random(1)
    for _ in range(50):
        shuffled = chance.sample(ascending, len(ascending))
        assert [repr(v) for v in sorted(shuffled, key=order_key)] == [repr(v) for v in ascending]


def test_order_of_lists():
    ascending = [[], ["a"], ["a", 1], [1], [1, "a"], [1, None], [None, 1], [None, 2]]
    descending = ascending[::-1]
    assert sorted(descending, key=order_key) == ascending


@given(values, values, values)
def test_order_is_total_and_transitive(a, b, c):
    x, y, z = order_key(a), order_key(b), order_key(c)
    assert (x < y) + (x > y) + (x == y) == 1
    if x <= y <= z:
        assert x <= z


@given(values, values)
def test_order_agrees_with_comparison_and_equality(a, b):
    if less(a, b):
        assert order_key(a) < order_key(b)
    if equals(a, b):
        assert order_key(a) == order_key(b)


@given(values, values)
def test_grouping_agrees_with_equality_and_order(a, b):
    same = group_key(a) == group_key(b)
    if equals(a, b):
        assert same
        assert hash(group_key(a)) == hash(group_key(b))
    assert same == (order_key(a) == order_key(b))


@given(values)
def test_every_value_is_equivalent_to_itself(a):
    assert group_key(a) == group_key(a)


def test_grouping_tells_types_apart_and_joins_numbers():
    assert len({group_key(v) for v in [1, True, "1", [1], [True], None, False, 0, NodeHandle(1), {"a": 1}]}) == 10
    assert group_key(1) == group_key(1.0)
    assert group_key([NAN, None]) == group_key([float("nan"), None])
    assert group_key([["a"]]) != group_key(["a"])
