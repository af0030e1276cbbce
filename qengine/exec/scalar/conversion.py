"""Functions that convert between types, and that tell a value's type."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from qengine._type_text import union_text
from qengine.errors import ExecutionError
from qengine.exec.scalar.strict import strict
from qengine.exec.scalar.text import TEXTUAL, number_text, parse_float, parse_integer, scalar_text
from qengine.exec.scalar.values import NUMBERS, checked, type_of, wrong_argument

_BAD_VALUE = "InvalidArgumentValue"


@strict
def _to_boolean(value: Any) -> bool | None:
    kind = type(value)
    if kind is bool:
        return bool(value)
    if kind is str:
        return {"true": True, "false": False}.get(value.lower())
    if kind is int:
        return bool(value != 0)
    raise wrong_argument("toBoolean()", "a boolean, string or integer", value, _BAD_VALUE)


@strict
def _to_integer(value: Any) -> int | None:
    kind = type(value)
    if kind is int or kind is bool:
        return int(value)
    if kind is float:
        if math.isfinite(value):
            return checked(int(value))
        raise ExecutionError(f"{number_text(value)} is no integer.", code=_BAD_VALUE)
    if kind is str:
        return parse_integer(value)
    raise wrong_argument("toInteger()", "a number, boolean or string", value, _BAD_VALUE)


@strict
def _to_float(value: Any) -> float | None:
    kind = type(value)
    if kind in NUMBERS:
        return float(value)
    if kind is str:
        return parse_float(value)
    raise wrong_argument("toFloat()", "a number or string", value, _BAD_VALUE)


@strict
def _to_string(value: Any) -> str:
    if type(value) in TEXTUAL:
        return scalar_text(value)
    raise wrong_argument("toString()", "a string, number, boolean, point or temporal value", value, _BAD_VALUE)


def _or_null(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def converted(value: Any) -> Any:
        try:
            return convert(value)
        except ExecutionError:
            return None

    return converted


def _each(name: str, convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    or_null = _or_null(convert)

    @strict
    def converted(items: Any) -> list[Any]:
        if type(items) is not list:
            raise wrong_argument(f"{name}()", "a list", items)
        return [or_null(item) for item in items]

    return converted


def _value_type(value: Any) -> str:
    """Return the type of a value as text, for example ``LIST<INTEGER NOT NULL> NOT NULL``."""
    if value is None:
        return "NULL"
    if type(value) is not list:
        return f"{type_of(value)} NOT NULL"
    inner = {_value_type(item) for item in value}
    nullable = "NULL" in inner
    named = [name.removesuffix(" NOT NULL") if nullable else name for name in inner - {"NULL"}]
    return f"LIST<{union_text(named or ['NULL' if nullable else 'NOTHING'])}> NOT NULL"


CONVERSIONS: dict[str, Callable[..., Any]] = {
    "toboolean": _to_boolean,
    "tointeger": _to_integer,
    "tofloat": _to_float,
    "tostring": _to_string,
    "tobooleanornull": _or_null(_to_boolean),
    "tointegerornull": _or_null(_to_integer),
    "tofloatornull": _or_null(_to_float),
    "tostringornull": _or_null(_to_string),
    "tobooleanlist": _each("toBooleanList", _to_boolean),
    "tointegerlist": _each("toIntegerList", _to_integer),
    "tofloatlist": _each("toFloatList", _to_float),
    "tostringlist": _each("toStringList", _to_string),
    "valuetype": _value_type,
}
