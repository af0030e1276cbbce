"""Static types: what can stand for what, and what calls give."""

from __future__ import annotations

import pytest

from qengine.binder.inference import Mismatch, accepts, join, result_type
from qengine.catalog.coercions import usable_as
from qengine.catalog.functions import lookup
from qengine.types import (
    ANY,
    BOOLEAN,
    FLOAT,
    INTEGER,
    LIST,
    NODE,
    NULL,
    NUMBER,
    STRING,
    Kind,
    Type,
    list_of,
)


def test_every_type_is_in_the_catalogue() -> None:
    assert set(usable_as()) == set(Kind)


@pytest.mark.parametrize(
    ("wanted", "given", "answer"),
    [
        (FLOAT, INTEGER, True),
        (INTEGER, FLOAT, False),
        (INTEGER, NUMBER, True),
        (NUMBER, FLOAT, True),
        (STRING, INTEGER, False),
        (STRING, ANY, True),
        (STRING, NULL, True),
        (ANY, NODE, True),
        (LIST, list_of(STRING), True),
        (list_of(STRING), LIST, True),
        (list_of(STRING), list_of(INTEGER), False),
        (list_of(FLOAT), list_of(INTEGER), True),
        (NODE, BOOLEAN, False),
    ],
)
def test_accepts(wanted: Type, given: Type, answer: bool) -> None:
    assert accepts(wanted, given) is answer


@pytest.mark.parametrize(
    ("types", "joined"),
    [
        ([], NULL),
        ([NULL, STRING], STRING),
        ([INTEGER, FLOAT], NUMBER),
        ([INTEGER, STRING], ANY),
        ([ANY, INTEGER], ANY),
        ([list_of(INTEGER), list_of(FLOAT)], list_of(NUMBER)),
        ([list_of(INTEGER), list_of(STRING)], LIST),
        ([LIST, list_of(STRING)], LIST),
    ],
)
def test_join(types: list[Type], joined: Type) -> None:
    assert join(types) == joined


@pytest.mark.parametrize(
    ("name", "arguments", "result"),
    [
        ("+", [INTEGER, INTEGER], INTEGER),
        ("+", [INTEGER, NUMBER], NUMBER),
        ("+", [ANY, INTEGER], ANY),
        ("-", [ANY, FLOAT], FLOAT),
        ("+", [LIST, STRING], LIST),
        ("+", [list_of(STRING), STRING], list_of(STRING)),
        ("abs", [ANY], NUMBER),
        ("abs", [FLOAT], FLOAT),
        ("coalesce", [NULL, INTEGER, INTEGER], INTEGER),
        ("coalesce", [NULL], ANY),
        ("reverse", [list_of(NODE)], list_of(NODE)),
        ("collect", [INTEGER], list_of(INTEGER)),
        ("sum", [ANY], ANY),  # numbers or durations
    ],
)
def test_result_type(name: str, arguments: list[Type], result: Type) -> None:
    function = lookup(name)
    assert function is not None
    assert result_type(function, arguments) == result


def test_the_closest_signature_names_the_wrong_argument() -> None:
    function = lookup("substring")
    assert function is not None
    mismatch = result_type(function, [STRING, STRING, INTEGER])
    assert isinstance(mismatch, Mismatch)
    assert mismatch.place == 1
