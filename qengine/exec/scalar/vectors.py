"""Vectors, which are lists of numbers: how they are made, their lengths, and how near two of them are."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Mapping
from typing import Any

from qengine.errors import ExecutionError
from qengine.exec.scalar.mathematics import float_sum
from qengine.exec.scalar.strict import strict
from qengine.exec.scalar.values import NUMBERS, wrong_argument


def _pair(name: str, one: Any, other: Any) -> tuple[list[float], list[float]]:
    """Return two lists of numbers as floats, of which there are as many."""
    for vector in (one, other):
        if type(vector) is not list or not vector or any(type(number) not in NUMBERS for number in vector):
            raise wrong_argument(name, "lists of numbers that aren't empty", vector)
    if len(one) != len(other):
        message = f"{name} got vectors of {len(one)} and {len(other)} dimensions."
        raise ExecutionError(message, code="InvalidArgumentValue")
    return list(map(float, one)), list(map(float, other))


@strict
def _cosine(one: Any, other: Any) -> float:
    name = "vector.similarity.cosine()"
    left, right = _pair(name, one, other)
    lengths = math.hypot(*left) * math.hypot(*right)
    if not lengths or not math.isfinite(lengths):
        raise ExecutionError(f"{name} needs vectors of a finite length above 0.", code="InvalidArgumentValue")
    return (1 + _dot(left, right) / lengths) / 2


@strict
def _euclidean(one: Any, other: Any) -> float:
    left, right = _pair("vector.similarity.euclidean()", one, other)
    return 1 / (1 + _squared(left, right))


_BITS = {"INTEGER8": 8, "INT8": 8, "INTEGER16": 16, "INT16": 16, "INTEGER32": 32, "INT32": 32}
_BITS |= dict.fromkeys(("INTEGER", "INT", "INTEGER64", "INT64"), 64)
_FLOATS = {"FLOAT": "d", "FLOAT64": "d", "FLOAT32": "f"}


@strict
def _vector(numbers: Any, dimension: Any, kind: Any) -> list[Any]:
    if type(numbers) is str:
        try:
            numbers = json.loads(numbers)
        except ValueError:
            raise wrong_argument("vector()", "a list of numbers", numbers, "InvalidArgumentValue") from None
    if type(numbers) is not list or any(type(number) not in NUMBERS for number in numbers):
        raise wrong_argument("vector()", "a list of numbers", numbers)
    if type(dimension) is not int or len(numbers) != dimension:
        message = f"vector() got {len(numbers)} numbers for {dimension} dimensions."
        raise ExecutionError(message, code="InvalidArgumentValue")
    kind = str(kind).upper()
    if kind not in _FLOATS and kind not in _BITS:
        hint = "Write FLOAT, FLOAT32, INTEGER, INTEGER32, INTEGER16 or INTEGER8."
        raise ExecutionError(f"vector() has no numbers of type {kind}.", code="InvalidArgumentValue", hint=hint)
    try:
        return _floats(numbers, _FLOATS[kind]) if kind in _FLOATS else [_integer(each, _BITS[kind]) for each in numbers]
    except (OverflowError, ValueError):
        raise ExecutionError(f"A number of a vector doesn't fit {kind}.", code="NumberOutOfRange") from None


def _floats(numbers: list[Any], code: str) -> list[float]:
    form = f"<{len(numbers)}{code}"
    return list(struct.unpack(form, struct.pack(form, *numbers)))


def _integer(number: Any, bits: int) -> int:
    found = int(number)
    if not -(1 << bits - 1) <= found < 1 << bits - 1:
        raise OverflowError
    return found


@strict
def _dimension_count(vector: Any) -> int:
    if type(vector) is not list:
        raise wrong_argument("vector_dimension_count()", "a list of numbers", vector)
    return len(vector)


@strict
def _norm(vector: Any, metric: Any) -> float:
    numbers, _ = _pair("vector_norm()", vector, vector)
    return float(_metric("vector_norm()", metric, _NORMS)(numbers))


@strict
def _distance(one: Any, other: Any, metric: Any) -> float:
    left, right = _pair("vector_distance()", one, other)
    return float(_metric("vector_distance()", metric, _DISTANCES)(left, right))


def _metric(name: str, metric: Any, known: Mapping[str, Callable[..., float]]) -> Callable[..., float]:
    found = known.get(metric.upper()) if type(metric) is str else None
    if found is None:
        hint = f"Metrics are {', '.join(known)}."
        raise ExecutionError(f"{name} has no such metric.", code="InvalidArgumentValue", hint=hint)
    return found


def _manhattan(left: list[float], right: list[float]) -> float:
    return float_sum([abs(a - b) for a, b in zip(left, right, strict=True)])


def _squared(left: list[float], right: list[float]) -> float:
    distance = math.dist(left, right)
    return distance * distance


def _dot(left: list[float], right: list[float]) -> float:
    return float_sum([a * b for a, b in zip(left, right, strict=True)])


_NORMS: dict[str, Callable[..., float]] = {
    "EUCLIDEAN": lambda vector: math.hypot(*vector),
    "MANHATTAN": lambda vector: float_sum([*map(abs, vector)]),
}
_DISTANCES: dict[str, Callable[..., float]] = {
    "EUCLIDEAN": math.dist,
    "EUCLIDEAN_SQUARED": _squared,
    "MANHATTAN": _manhattan,
    "COSINE": lambda left, right: 2 - 2 * _cosine(left, right),
    "DOT": lambda left, right: -_dot(left, right),
    "HAMMING": lambda left, right: sum(a != b for a, b in zip(left, right, strict=True)),
}

VECTORS: dict[str, Callable[..., Any]] = {
    "vector": _vector,
    "vector_dimension_count": _dimension_count,
    "vector_distance": _distance,
    "vector_norm": _norm,
    "vector.similarity.cosine": _cosine,
    "vector.similarity.euclidean": _euclidean,
}
