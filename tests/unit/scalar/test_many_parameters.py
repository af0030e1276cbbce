"""Long lists of parameters are converted as short ones are, whatever they hold."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
import pytest

from qengine.errors import ExecutionError
from qengine.exec.scalar import parameters
from qengine.exec.scalar.parameters import from_python
from qengine.temporal import Date


class Small(IntEnum):
    ONE = 1


class Name(str):
    __slots__ = ()


LISTS: list[list[Any]] = [
    [1, None, True, 2.5, "x"],
    [-(2**63), 2**63 - 1],
    [{"a": 1, "b": "x"}, {"a": None, "b": 2.5}],
    [{"a": 1}, {"b": 1}],
    [{"a": 1}, {}],
    [{"a": 1}, None],
    [{}, {}],
    [{"a": [1, {"b": 2}]}, {"a": [np.int64(3)]}],
    [{"a": np.float64(1.5)}, {"a": Small.ONE}],
    [{Name("a"): Name("x")}, {"a": "x"}],
    [np.int64(7), Small.ONE, Name("x")],
    [float("inf"), -0.0],
    [[], [1, "x"], None, [None]],
    [[[1], [2, "x"]], [[], None], [[{"a": 1}], [{"a": 2.5}]]],
    [[Date(2020, 1, 2), 1], (1, 2), [np.int64(7)]],
    [{"a": {"b": 1, "c": ["x"]}, "d": [1, 2]}, {"a": {"b": 2, "c": None}, "d": []}],
    [{"a": Date(2020, 1, 2), "b": [Small.ONE]}, {"a": "x", "b": (1, [2])}],
    [{"a": {"b": 1}}, {"a": {"c": 1}}],
    [{"a": {Name("b"): 1}}, {"a": {"b": Name("x")}}],
]


def exact(value: Any) -> Any:
    if type(value) is dict:
        return [(type(key), key, exact(item)) for key, item in value.items()]
    return [exact(item) for item in value] if type(value) is list else (type(value), repr(value))


@pytest.mark.parametrize("items", LISTS, ids=repr)
def test_long_lists_are_as_short_ones(items: list[Any]) -> None:
    long = items * 20
    assert len(long) >= parameters._MANY > len(items)
    assert exact(from_python(long, "p", [])) == exact(from_python(items, "p", [])) * 20


@pytest.mark.parametrize(
    "item", [2**63, {"a": 2**63}, {"a": b"x"}, {1: 2}, {"a": {1: 2}}, [[2**63]], [{"a": b"x"}], {"a": [b"x"]}], ids=repr
)
def test_what_is_no_value_is_refused_wherever_it_stands(item: Any) -> None:
    with pytest.raises(ExecutionError) as short:
        from_python([item], "p", [])
    plain: Any = {"a": 1} if isinstance(item, dict) else [1] if isinstance(item, list) else 1
    with pytest.raises(ExecutionError) as long:
        from_python([plain] * 50 + [item], "p", [])
    assert (long.value.code, long.value.message) == (short.value.code, short.value.message)


def test_what_was_given_may_be_changed_afterwards() -> None:
    def made() -> list[dict[str, Any]]:
        return [{"a": number, "b": [number], "c": {"d": [[number]]}} for number in range(50)]

    rows = made()
    found = from_python(rows, "p", [])
    rows[3]["a"] = "other"
    rows[4]["b"].append(1)
    rows[5]["c"]["d"][0].append(2)
    rows[6]["c"]["e"] = 3
    rows.pop()
    assert found == made()


@pytest.mark.parametrize("make", [lambda: [[], []], lambda: [{}, {}]], ids=["lists", "maps"])
def test_what_holds_itself_is_refused(make: Any) -> None:
    items = make() * 8
    for each in items:
        each.append(items) if isinstance(each, list) else each.update(a=items)
    with pytest.raises(ExecutionError, match="hold themselves"):
        from_python(items, "p", [])


def test_many_lists_of_many_items_are_lists_of_their_own() -> None:
    rows = [list(range(each, each + 500)) for each in range(100)]
    found = from_python(rows, "p", [])
    assert found == rows and all(one is not other for one, other in zip(found, rows, strict=True))
