"""Operators: arithmetic, comparison, strings, membership, indexing. Each is called by its symbol."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from qengine.errors import ExecutionError
from qengine.exec.memory import MemoryAccount
from qengine.exec.scalar.compare import equals, ordered
from qengine.exec.scalar.strict import strict
from qengine.exec.scalar.temporal import arithmetic as temporal
from qengine.exec.scalar.text import TEXTUAL, scalar_text
from qengine.exec.scalar.values import NUMBERS, PathHandle, checked, wrong_argument
from qengine.temporal import Duration, Temporal

_COMPARED = 1024  # items of a list that are compared between two looks at the clock


def _add(a: Any, b: Any) -> Any:
    kind, other = type(a), type(b)
    if kind is int and other is int:
        return checked(a + b)
    if a is None or b is None:
        return None
    if kind in NUMBERS and other in NUMBERS:
        return a + b
    if kind is list or other is list:
        return (a if kind is list else [a]) + (b if other is list else [b])
    if (kind is str and other in TEXTUAL) or (other is str and kind in TEXTUAL):
        return scalar_text(a) + scalar_text(b)
    moved = temporal.add(a, b)
    if moved is None:
        raise wrong_argument("+", "numbers, strings, lists or a duration", b if kind in TEXTUAL else a)
    return moved


def _subtract(a: Any, b: Any) -> Any:
    kind, other = type(a), type(b)
    if kind is int and other is int:
        return checked(a - b)
    if a is None or b is None:
        return None
    if isinstance(a, Temporal) and (moved := temporal.subtract(a, b)) is not None:
        return moved
    _numeric("-", a, b)
    return a - b


def _multiply(a: Any, b: Any) -> Any:
    kind, other = type(a), type(b)
    if kind is int and other is int:
        return checked(a * b)
    if a is None or b is None:
        return None
    if (scaled := temporal.multiply(a, b)) is not None:
        return scaled
    _numeric("*", a, b)
    return a * b


def _divide(a: Any, b: Any) -> Any:
    if a is None or b is None:
        return None
    if (part := temporal.divide(a, b)) is not None:
        return part
    _numeric("/", a, b)
    if type(a) is int and type(b) is int:
        if b == 0:
            raise _division_by_zero("/")
        quotient = abs(a) // abs(b)
        return checked(quotient if (a < 0) == (b < 0) else -quotient)
    return _float_division(a, b)


def _float_division(a: float, b: float) -> float:
    a, b = float(a), float(b)
    if b != 0:
        return a / b
    if a == 0 or math.isnan(a):
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def _remainder(a: Any, b: Any) -> Any:
    """Return ``a % b`` with the sign of ``a``."""
    if a is None or b is None:
        return None
    _numeric("%", a, b)
    if type(a) is int and type(b) is int:
        if b == 0:
            raise _division_by_zero("%")
        remainder = abs(a) % abs(b)
        return -remainder if a < 0 else remainder
    if b == 0 or math.isinf(a):
        return math.nan
    return math.fmod(a, b)


def _power(a: Any, b: Any) -> Any:
    if a is None or b is None:
        return None
    _numeric("^", a, b)
    base, exponent = float(a), float(b)
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return -math.inf if base < 0 and exponent % 2 == 1 else math.inf
    except ValueError:  # 0 to a negative power, or a negative base to a broken one
        if base != 0:
            return math.nan
        return math.copysign(math.inf, base) if exponent % 2 == 1 else math.inf


def _minus(a: Any) -> Any:
    if a is None:
        return None
    if type(a) is int:
        return checked(-a)
    if type(a) is Duration:
        return temporal.negate(a)
    _numeric("-", a)
    return -a


def _plus(a: Any) -> Any:
    if a is not None:
        _numeric("+", a)
    return a


def _numeric(name: str, *args: Any) -> None:
    for arg in args:
        if type(arg) not in NUMBERS:
            raise wrong_argument(name, "numbers", arg)


def _division_by_zero(name: str) -> ExecutionError:
    return ExecutionError(
        f"Integer division by zero in {name}.", code="DivisionByZero", hint="Dividing floats gives Infinity or NaN."
    )


def _not(a: Any) -> bool | None:
    """Return ``NOT a``."""
    if a is None:
        return None
    if type(a) is bool:
        return not a
    raise wrong_argument("NOT", "a boolean", a)


def _unequal(a: Any, b: Any) -> bool | None:
    same = equals(a, b)
    return None if same is None else not same


def _comparison(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool | None]:
    def result(a: Any, b: Any) -> bool | None:
        if type(a) is int and type(b) is int:
            return compare(a, b)
        return ordered(a, b, compare)

    return result


def _in(memory: MemoryAccount, item: Any, items: Any) -> bool | None:
    """Return ``item IN items``: null where only a comparison with a null could make it true."""
    if items is None:
        return None
    if type(items) is not list:
        raise wrong_argument("IN", "a list on its right", items)
    result: bool | None = False
    for begin in range(0, len(items), _COMPARED):
        compared = items[begin : begin + _COMPARED]
        memory.steps(len(compared))
        for candidate in compared:
            same = equals(item, candidate)
            if same:
                return True
            if same is None:
                result = None
    return result


def _starts_with(a: Any, b: Any) -> bool | None:
    return a.startswith(b) if type(a) is str and type(b) is str else None


def _ends_with(a: Any, b: Any) -> bool | None:
    return a.endswith(b) if type(a) is str and type(b) is str else None


def _contains(a: Any, b: Any) -> bool | None:
    return b in a if type(a) is str and type(b) is str else None


@strict
def _slice(items: Any, begin: Any, end: Any) -> Any:
    if type(items) is not list:
        raise wrong_argument("[..]", "a list", items)
    for bound in (begin, end):
        if type(bound) is not int:
            raise wrong_argument("[..]", "integers as bounds", bound)
    return items[begin:end]


def _entry(key: Any, value: Any) -> dict[str, Any]:
    if type(key) is not str:
        raise wrong_argument("[]", "a string as key", key, "MapElementAccessByNonString")
    return {key: value}


@strict
def _every(items: Any, begin: Any, end: Any, step: Any) -> Any:
    if type(step) is not int:
        raise wrong_argument("[::]", "an integer as step", step)
    return _slice(items, begin, end)[::step] if step > 0 else []


@strict
def _part(path: Any, begin: Any, end: Any) -> Any:
    if type(path) is not PathHandle:
        raise wrong_argument("path[..]", "a path", path)
    return PathHandle(path.nodes[begin : end + 1], path.relationships[begin:end])


def _concatenate(a: Any, b: Any) -> Any:
    if a is None or b is None:
        return None
    if type(a) is type(b) and type(a) in (str, list):
        return a + b
    raise wrong_argument("||", "two strings or two lists", b if type(a) in (str, list) else a)


def _is_null(a: Any) -> bool:
    """Return ``a IS NULL``."""
    return a is None


def _is_not_null(a: Any) -> bool:
    """Return ``a IS NOT NULL``."""
    return a is not None


OPERATORS: dict[str, Callable[..., Any]] = {
    "+": _add,
    "-": _subtract,
    "*": _multiply,
    "/": _divide,
    "%": _remainder,
    "^": _power,
    "neg": _minus,
    "pos": _plus,
    "=": equals,
    "<>": _unequal,
    "<": _comparison(operator.lt),
    "<=": _comparison(operator.le),
    ">": _comparison(operator.gt),
    ">=": _comparison(operator.ge),
    "NOT": _not,
    "STARTS WITH": _starts_with,
    "ENDS WITH": _ends_with,
    "CONTAINS": _contains,
    "IS NULL": _is_null,
    "IS NOT NULL": _is_not_null,
    "[..]": _slice,
    "{}": _entry,
    "[::]": _every,
    "path[..]": _part,
    "||": _concatenate,
}

MEMBERSHIP: dict[str, Callable[..., Any]] = {"IN": _in}
"""The operator; takes the ``MemoryAccount`` first."""
