"""Long lists of parameters are converted as short ones are, whatever they hold."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
import pytest

from qengine.errors import ExecutionError
from qengine.exec.scalar import parameters
from qengine.exec.scalar.parameters import from_python


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


@pytest.mark.parametrize("item", [2**63, {"a": 2**63}, {"a": b"x"}, {1: 2}, {"a": {1: 2}}], ids=repr)
def test_what_is_no_value_is_refused_wherever_it_stands(item: Any) -> None:
    with pytest.raises(ExecutionError) as short:
        from_python([item], "p", [])
    plain = {"a": 1} if isinstance(item, dict) else 1
    with pytest.raises(ExecutionError) as long:
        from_python([plain] * 50 + [item], "p", [])
    assert (long.value.code, long.value.message) == (short.value.code, short.value.message)


def test_what_was_given_may_be_changed_afterwards() -> None:
    rows = [{"a": number} for number in range(50)]
    found = from_python(rows, "p", [])
    rows[3]["a"] = "other"
    rows.pop()
    assert found == [{"a": number} for number in range(50)]
