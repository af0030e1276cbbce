"""How alike two vectors are, which are lists of numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from qengine.errors import ExecutionError
from qengine.exec.scalar.strict import strict
from qengine.exec.scalar.values import NUMBERS, wrong_argument

__all__ = ["VECTORS"]


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
    return (1 + math.fsum(a * b for a, b in zip(left, right, strict=True)) / lengths) / 2


@strict
def _euclidean(one: Any, other: Any) -> float:
    left, right = _pair("vector.similarity.euclidean()", one, other)
    return 1 / (1 + math.dist(left, right) ** 2)


VECTORS: dict[str, Callable[..., Any]] = {
    "vector.similarity.cosine": _cosine,
    "vector.similarity.euclidean": _euclidean,
}
