"""AND, OR and XOR of three-valued operands, and coalesce: evaluated from left to right as far as needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from qengine.exec.scalar.environment import Row

_Truth = Callable[[Row], bool | None]


def compile_and(args: Sequence[_Truth]) -> _Truth:
    """Return the conjunction: false if any is, else null if any is, else true."""
    return _unless(args, False)


def compile_or(args: Sequence[_Truth]) -> _Truth:
    """Return the disjunction: true if any is, else null if any is, else false."""
    return _unless(args, True)


def _unless(args: Sequence[_Truth], decisive: bool) -> _Truth:
    def junction(row: Row) -> bool | None:
        result: bool | None = not decisive
        for arg in args:
            value = arg(row)
            if value is decisive:
                return decisive
            if value is None:
                result = None
        return result

    return junction


def compile_xor(args: Sequence[_Truth]) -> _Truth:
    """Return the exclusive disjunction: null if any is, else whether an odd number are true."""

    def exclusive(row: Row) -> bool | None:
        result = False
        for arg in args:
            value = arg(row)
            if value is None:
                return None
            result ^= value
        return result

    return exclusive


def compile_coalesce(args: Sequence[Callable[[Row], Any]]) -> Callable[[Row], Any]:
    """Return the first value that isn't null."""

    def first(row: Row) -> Any:
        for arg in args:
            value = arg(row)
            if value is not None:
                return value
        return None

    return first
