"""Static types: which arguments a signature admits, and what it gives back. What isn't known is ``ANY``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from qengine._frozen import frozen
from qengine.catalog.coercions import usable_as
from qengine.catalog.functions import Function, Signature, Slot
from qengine.types import ANY, BOOLEAN, FLOAT, INTEGER, LIST, NULL, NUMBER, STRING, Kind, Type, list_of

_NUMERIC = (Kind.INTEGER, Kind.FLOAT, Kind.NUMBER)
_OPEN = (Kind.ANY, Kind.NULL)
_NAMED = {kind.value: Type(kind) for kind in Kind if kind not in (Kind.NULL, Kind.NUMBER)}
_LITERALS = {type(None): NULL, bool: BOOLEAN, int: INTEGER, float: FLOAT, str: STRING}


def literal_type(value: object) -> Type:
    """Return the type of a constant."""
    return _LITERALS[type(value)]


def may_be(type: Type, *kinds: Kind) -> bool:
    """Tell whether a value of this static type may turn out to be null or of one of the kinds."""
    return type.kind in _OPEN or type.kind in kinds


def accepts(wanted: Type, given: Type) -> bool:
    """Tell whether a value of static type ``given`` may be used where ``wanted`` is asked for."""
    if wanted.kind is Kind.ANY or given.kind in _OPEN:
        return True
    if wanted.kind is Kind.LIST and given.kind is Kind.LIST:
        return wanted.item is None or given.item is None or accepts(wanted.item, given.item)
    return wanted.kind in usable_as()[given.kind]


def join(types: Iterable[Type]) -> Type:
    """Return the narrowest type of a value that has one of the types; ``NULL`` of none."""
    return reduce(_join, types, NULL)


def _join(one: Type, other: Type) -> Type:
    if other in (one, NULL):
        return one
    if one == NULL:
        return other
    if one.kind in _NUMERIC and other.kind in _NUMERIC:
        return NUMBER
    if one.kind is other.kind is Kind.LIST:
        return list_type(_join(one.item or ANY, other.item or ANY))
    return ANY


def type_named(text: str) -> Type:
    """Return the static type of values of a type as ``CAST`` and ``IS ::`` name it."""
    name = text.removesuffix(" NOT NULL")
    if name.startswith("LIST<"):
        return list_type(type_named(name[len("LIST<") : -1]))
    kind = {"ZONED TIME": "TIME", "ZONED DATETIME": "DATETIME"}.get(name, name)
    return _NAMED.get(kind, ANY)


def list_type(item: Type) -> Type:
    """Return the type of lists whose items have a type, with an unknown one left out."""
    return LIST if item.kind in _OPEN else list_of(item)


def item_type(type: Type) -> Type:
    """Return the type of a list's items."""
    return type.item or ANY if type.kind is Kind.LIST else ANY


@frozen
class Mismatch:
    """No signature admits the arguments; ``place`` is the first wrong one of the closest signature."""

    place: int
    signature: Signature


def result_type(function: Function, arguments: Sequence[Type]) -> Type | Mismatch:
    """Return what a call gives back. The number of arguments must fit one signature."""
    worst: Mismatch | None = None
    results: list[Type] = []
    for signature in function.signatures:
        if not signature.admits(len(arguments)):
            continue
        wrong = _first_wrong(signature, arguments)
        if wrong is None:
            results.append(_result(signature, arguments))
            if not any(argument.kind in (*_OPEN, Kind.NUMBER) for argument in arguments):
                break  # all known: the first signature decides
        elif worst is None or wrong > worst.place:
            worst = Mismatch(wrong, signature)
    if results:
        return join(results)
    assert worst is not None
    return worst


def _first_wrong(signature: Signature, arguments: Sequence[Type]) -> int | None:
    for place, argument in enumerate(arguments):
        slot = _slot(signature, place)
        if not any(accepts(wanted, argument) for wanted in slot.types):
            return place
    return None


def _slot(signature: Signature, place: int) -> Slot:
    return signature.parameters[min(place, len(signature.parameters) - 1)]


def _result(signature: Signature, arguments: Sequence[Type]) -> Type:
    if not signature.result.generic:
        return join(signature.result.types)
    found = []
    for place, argument in enumerate(arguments):
        generic = _slot(signature, place).generic
        if generic == "T":
            found.append(argument)
        elif generic == "LIST<T>":
            found.append(item_type(argument))
    variable = join(found)
    variable = ANY if variable == NULL else variable
    return variable if signature.result.generic == "T" else list_type(variable)
