"""``CAST(value AS type)``: the text of a type becomes a conversion once, and is kept."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from qengine.errors import ExecutionError
from qengine.exec.scalar.conversion import CONVERSIONS
from qengine.exec.scalar.environment import Environment
from qengine.exec.scalar.temporal.functions import CLOCK_FUNCTIONS, TEMPORAL_FUNCTIONS
from qengine.exec.scalar.values import kind_of

_Cast = Callable[[Environment, Any], Any]

_CONVERSIONS = {"BOOLEAN": "toboolean", "INTEGER": "tointeger", "FLOAT": "tofloat", "STRING": "tostring"}
_INSTANTS = {
    "DATE": "date", "LOCAL TIME": "localtime", "ZONED TIME": "time", "LOCAL DATETIME": "localdatetime",
    "ZONED DATETIME": "datetime",
}  # fmt: skip
_KINDS = {"ZONED TIME": "TIME", "ZONED DATETIME": "DATETIME"}


def _cast(env: Environment, value: Any, type: str) -> Any:
    return _conversion(type)(env, value)


@cache
def _conversion(type: str) -> _Cast:
    """Return the conversion to a type; what can't be converted is an error, unlike ``toInteger`` and its like."""
    bare = type.removesuffix(" NOT NULL")
    convert = _of_value(bare)

    def converted(env: Environment, value: Any) -> Any:
        result = None if value is None else convert(env, value)
        if (result is None and (value is not None or bare != type)) or (bare == "NOTHING"):
            raise ExecutionError(
                f"A value of type {kind_of(value)} can't be cast to {type}.",
                code="InvalidArgumentValue",
                hint="toIntegerOrNull() and its like give null instead.",
            )
        return result

    return converted


def _of_value(type: str) -> _Cast:
    """Return the conversion of values that aren't null; None is what it gives for those that have no such form."""
    if type.startswith("LIST<"):
        each = _conversion(type[len("LIST<") : -1])
        return lambda env, value: [each(env, item) for item in value] if isinstance(value, list) else None
    if type in _CONVERSIONS:
        plain = CONVERSIONS[_CONVERSIONS[type]]
        return lambda env, value: plain(value)
    if type in _INSTANTS:
        construct = CLOCK_FUNCTIONS[_INSTANTS[type]]
        return lambda env, value: construct(env, value) if not isinstance(value, dict) else None
    if type == "DURATION":
        duration = TEMPORAL_FUNCTIONS["duration"]
        return lambda env, value: duration(value) if not isinstance(value, dict) else None
    if type in ("ANY", "PROPERTY VALUE"):
        return lambda env, value: value
    kind = _KINDS.get(type, type)
    return lambda env, value: value if kind_of(value) == kind else None


CASTS: dict[str, Callable[..., Any]] = {"CAST": _cast}
