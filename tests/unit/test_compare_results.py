"""Results are compared as bags or in order, by what users would call the same."""

import math

import pytest

from qengine.testing.compare import canonical, difference
from qengine.types import Node, Path, Relationship

A, B = Node(0, ("A",), {"k": 1}), Node(1, (), {})
EDGE = Relationship(5, "R", 0, 1, {})


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (1, 1.0), (True, 1), (0, False), (None, 0), ("1", 1), ([1], [1.0]), ([1, 2], [2, 1]), ({"a": 1}, {"a": None}),
        (A, B), (A, Node(0, ("A",), {})), (A, Node(0, ("B",), {"k": 1})), (A, Node(2, ("A",), {"k": 1})),
        (EDGE, Relationship(5, "R", 1, 0, {})), (EDGE, Relationship(5, "S", 0, 1, {})),
        (Path((A, B), (EDGE,)), Path((B, A), (EDGE,))), (0.1, 0.1000001), (A, 0), ([A], A),
    ],
)  # fmt: skip
def test_what_differs(a, b):
    assert canonical(a) != canonical(b)
    assert difference([[a]], [[b]]) is not None


@pytest.mark.parametrize(
    ("a", "b"),
    [
        (math.nan, float("nan")), (0.0, -0.0), (0.1 + 0.2, 0.3), ([math.nan], [math.nan]), ((1, 2), [1, 2]),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}), (A, Node(0, ("A",), {"k": 1})), (math.inf, math.inf),
        (Path((A, B), (EDGE,)), Path((A, B), (Relationship(5, "R", 0, 1, {}),))),
    ],
)  # fmt: skip
def test_what_is_the_same(a, b):
    assert difference([[a]], [[b]]) is None


def test_bags_and_order():
    assert difference([[1], [2], [2]], [[2], [1], [2]]) is None
    assert "missing 1x" in difference([[1], [2], [2]], [[2], [1], [1]])
    assert "expected 1 rows, found 2" in difference([[1]], [[1], [1]])
    assert "row 0" in difference([[1], [2]], [[2], [1]], ordered=True)


def test_lists_as_bags():
    assert difference([[[1, [2, 3]]]], [[[[3, 2], 1]]], lists_ordered=False) is None
    assert difference([[[1, 1, 2]]], [[[1, 2, 2]]], lists_ordered=False) is not None
