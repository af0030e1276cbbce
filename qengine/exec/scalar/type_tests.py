"""``x IS :: LIST<INTEGER NOT NULL> | STRING``: the text of types becomes a test once, and is kept."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from qengine._type_text import alternatives
from qengine.exec.scalar.values import type_of

_Test = Callable[[Any], bool]

_FORMS = frozenset(("NFC", "NFD", "NFKC", "NFKD"))
_UNSTORED = frozenset(("MAP", "NODE", "RELATIONSHIP", "PATH"))


def _is_type(value: Any, types: str) -> bool:
    return isinstance(types, str) and _test(types)(value)


@cache
def _test(types: str) -> _Test:
    tests = tuple(map(_single, alternatives(types)))
    return tests[0] if len(tests) == 1 else lambda value: any(test(value) for test in tests)


def _single(type: str) -> _Test:
    bare = type.removesuffix(" NOT NULL")
    admits_null = bare == type and type != "NOTHING"
    of_value = _of_value(bare)
    return lambda value: admits_null if value is None else of_value(value)


def _of_value(type: str) -> _Test:
    """Return the test of values that aren't null."""
    if type.startswith("LIST<"):
        item = _test(type[len("LIST<") : -1])
        return lambda value: isinstance(value, list) and all(map(item, value))
    if type == "PROPERTY VALUE":
        return _is_storable
    if type in ("ANY", "NOTHING", "NULL"):
        return lambda value: type == "ANY"
    return lambda value: type_of(value) == type


def _is_storable(value: Any) -> bool:
    if not isinstance(value, list):
        return type_of(value) not in _UNSTORED
    kinds = {type_of(item) for item in value}
    numbers = kinds <= {"INTEGER", "FLOAT"}
    return not kinds & {*_UNSTORED, "NULL", "LIST"} and (numbers or len(kinds) < 2)


def _is_normalized(value: Any, form: str) -> bool | None:
    import unicodedata

    if not isinstance(value, str) or not isinstance(form, str):
        return None
    return form in _FORMS and unicodedata.is_normalized(form, value)  # type: ignore[arg-type]


TYPE_TESTS: dict[str, Callable[..., Any]] = {"IS ::": _is_type, "IS NORMALIZED": _is_normalized}
