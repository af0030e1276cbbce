"""Comparisons of values whose types have nothing in common: never equal, in no order."""

from __future__ import annotations

from qengine._frozen import frozen
from qengine.errors import Span
from qengine.types import Kind, Type, indefinite

_NUMBERS = (Kind.INTEGER, Kind.FLOAT, Kind.NUMBER)
_OPEN = (Kind.ANY, Kind.NULL)


@frozen
class ComparedParameter:
    """A parameter that is compared with properties of a type, as ``n.born < $day``."""

    name: str
    op: str
    type: Type
    span: Span | None


def apart(left: Type, op: str, right: Type) -> str | None:
    """Return what is said of a comparison of values of two types that can't come true, None for any other."""
    one, other = left.kind, right.kind
    if one is other or one in _OPEN or other in _OPEN or (one in _NUMBERS and other in _NUMBERS):
        return None
    outcome = {"=": "never equal", "<>": "always different"}.get(op, "in no order, which gives null")
    first = indefinite(left)
    return f"{first[0].upper()}{first[1:]} and {indefinite(right)} are {outcome}."
