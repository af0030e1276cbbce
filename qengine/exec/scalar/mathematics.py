"""Functions of numbers. Where mathematics has no answer the result is NaN, as floats have it."""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable, Sequence
from typing import Any

from qengine.errors import ExecutionError
from qengine.exec.scalar.strict import strict
from qengine.exec.scalar.values import NUMBERS, checked, wrong_argument


def _of_float(name: str, function: Callable[[float], float]) -> Callable[[Any], Any]:
    def result(value: Any) -> float | None:
        if value is None:
            return None
        if type(value) not in NUMBERS:
            raise wrong_argument(f"{name}()", "a number", value)
        try:
            return function(float(value))
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return result


def _log(base: Callable[[float], float]) -> Callable[[float], float]:
    return lambda x: -math.inf if x == 0 else base(x)


def _cotangent(x: float) -> float:
    tangent = math.tan(x)
    return math.copysign(math.inf, x) if tangent == 0 else 1 / tangent


def _hyperbolic_sine(x: float) -> float:
    return math.copysign(math.inf, x) if abs(x) > 711 else math.sinh(x)


def _whole(function: Callable[[float], int]) -> Callable[[float], float]:
    return lambda x: float(function(x)) if math.isfinite(x) else x


@strict
def _abs(value: Any) -> Any:
    if type(value) is int:
        return checked(abs(value))
    if type(value) is float:
        return abs(value)
    raise wrong_argument("abs()", "a number", value)


@strict
def _sign(value: Any) -> Any:
    if type(value) not in NUMBERS:
        raise wrong_argument("sign()", "a number", value)
    return (value > 0) - (value < 0)


@strict
def _is_nan(value: Any) -> bool:
    if type(value) not in NUMBERS:
        raise wrong_argument("isNaN()", "a number", value)
    return math.isnan(value)


@strict
def _atan2(y: Any, x: Any) -> float:
    for value in (y, x):
        if type(value) not in NUMBERS:
            raise wrong_argument("atan2()", "numbers", value)
    return math.atan2(y, x)


_ROUNDINGS = {
    "UP": decimal.ROUND_UP,
    "DOWN": decimal.ROUND_DOWN,
    "CEILING": decimal.ROUND_CEILING,
    "FLOOR": decimal.ROUND_FLOOR,
    "HALF_UP": decimal.ROUND_HALF_UP,
    "HALF_DOWN": decimal.ROUND_HALF_DOWN,
    "HALF_EVEN": decimal.ROUND_HALF_EVEN,
}
_EXACT = decimal.Context(prec=800, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
_FINEST = 340  # no float has a digit behind this place that rounding could change


@strict
def _round(value: Any, precision: Any, mode: Any = "HALF_UP") -> float:
    """Round to ``precision`` decimals by ``mode``, seen from the number's shortest notation."""
    if type(value) not in NUMBERS:
        raise wrong_argument("round()", "a number", value)
    if type(precision) is not int:
        raise wrong_argument("round()", "an integer as precision", precision)
    if precision < 0:
        raise ExecutionError(f"round() got the negative precision {precision}.", code="NegativeIntegerArgument")
    if type(mode) is not str or mode.upper() not in _ROUNDINGS:
        raise ExecutionError(f"round() knows no mode {mode!r}: {', '.join(_ROUNDINGS)}.", code="InvalidArgumentValue")
    number = float(value)
    if not math.isfinite(number):
        return number
    place = decimal.Decimal(1).scaleb(-min(precision, _FINEST))
    rounded = decimal.Decimal(repr(number)).quantize(place, rounding=_ROUNDINGS[mode.upper()], context=_EXACT)
    return float(rounded)


@strict
def _round_ties_upward(value: Any) -> float:
    """Round to a whole number, 0.5 towards positive infinity."""
    if type(value) not in NUMBERS:
        raise wrong_argument("round()", "a number", value)
    number = float(value)
    if not math.isfinite(number):
        return number
    below = math.floor(number)
    return float(below + 1 if number - below >= 0.5 else below)


def _any_round(value: Any, *details: Any) -> Any:
    return _round(value, *details) if details not in ((), (0,)) else _round_ties_upward(value)


def float_sum(numbers: Sequence[float]) -> float:
    """Return the sum of floats, rounded once: infinite where it is too large, NaN of both infinities."""
    try:
        return math.fsum(numbers)
    except (OverflowError, ValueError):
        return sum(numbers)


def _e() -> float:
    return math.e


def _pi() -> float:
    return math.pi


MATHEMATICS: dict[str, Callable[..., Any]] = {
    "abs": _abs,
    "sign": _sign,
    "isnan": _is_nan,
    "ceil": _of_float("ceil", _whole(math.ceil)),
    "floor": _of_float("floor", _whole(math.floor)),
    "round": _any_round,
    "sqrt": _of_float("sqrt", math.sqrt),
    "exp": _of_float("exp", math.exp),
    "log": _of_float("log", _log(math.log)),
    "log10": _of_float("log10", _log(math.log10)),
    "e": _e,
    "pi": _pi,
    "sin": _of_float("sin", math.sin),
    "cos": _of_float("cos", math.cos),
    "tan": _of_float("tan", math.tan),
    "cot": _of_float("cot", _cotangent),
    "sinh": _of_float("sinh", _hyperbolic_sine),
    "cosh": _of_float("cosh", math.cosh),
    "tanh": _of_float("tanh", math.tanh),
    "coth": _of_float("coth", lambda x: 1 / math.tanh(x) if x else math.nan),
    "asin": _of_float("asin", math.asin),
    "acos": _of_float("acos", math.acos),
    "atan": _of_float("atan", math.atan),
    "atan2": _atan2,
    "degrees": _of_float("degrees", math.degrees),
    "radians": _of_float("radians", math.radians),
    "haversin": _of_float("haversin", lambda x: (1 - math.cos(x)) / 2),
}
