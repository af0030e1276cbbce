"""Ranges whose bounds are parameters, and lists that are: how many elements they give is told when a statement runs.

A plan for values that nobody knows scans, or begins elsewhere, where few elements are left and an index finds them; it
looks up what a short list has, one by one. So ranges and lists are noted while a statement is planned, and it is
planned again for each magnitude of what they give that comes up: summaries of the properties' values tell it in some
microseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import field
from typing import Any, Generic, TypeVar

from qengine._frozen import frozen, record
from qengine.catalog.values import ValueSummary
from qengine.catalog.view import CatalogView
from qengine.optimizer.peeking import known_lengths, known_values, peeking
from qengine.optimizer.value_shares import UNKNOWN, ValueRange, known_value
from qengine.plan.expr import Call, Comparison, Expr, Literal, Parameter, Property, Variable
from qengine.plan.pattern import LabelExpr
from qengine.plan.traverse import conjuncts, preorder

_Plan = TypeVar("_Plan")

LEAST = 1024
"""Elements from which on it matters how many are left."""

MOST = 16
"""Plans of a statement for different magnitudes; values of others run by the plan for any."""

TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}
ITEMS = 10.0
"""Items that a list is expected to have of which nothing is known."""

_SHORT = 16
"""Magnitude up to which a list is like one of ``ITEMS``."""

_NONE = -1
_LAST = chr(0x10FFFF)
_NOTED: ContextVar[Noted | None] = ContextVar("ranges and lists that are parameters", default=None)


@frozen
class OpenRange:
    """Bounds of one property, each with its operator, and summaries of its values among the elements that have them."""

    bounds: tuple[tuple[str, Expr], ...]
    summaries: tuple[ValueSummary, ...]

    def names(self) -> frozenset[str]:
        """Return the parameters that it reads."""
        parts = (part for _, bound in self.bounds for part in preorder(bound))
        return frozenset(part.name for part in parts if isinstance(part, Parameter))

    def magnitude(self, values: Mapping[str, Any]) -> int:
        """Return the same number for values of the parameters that leave as many elements, to a power of four.

        None at all isn't like a few.
        """
        within = ValueRange()
        for op, bound in self.bounds:
            for each, value in as_bounds(op, known_value(bound, values)):
                within.cut(each, value)
        rows = sum(found.count * within.share(found) for found in self.summaries)
        return int(rows).bit_length() // 2 if rows > 0.0 else _NONE


@record
class Noted:
    """Ranges and lists for whose magnitudes a statement has plans, each once; lists by their parameters' names."""

    ranges: dict[OpenRange, None] = field(default_factory=dict)
    lists: dict[str, None] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.ranges or self.lists)


class ByValues(Generic[_Plan]):
    """Plans of one statement, or part of one, for values of the parameters on which ranges and lists depend.

    ``names``: the parameters of ranges. Any number of threads may ask.
    """

    def __init__(self, noted: Noted) -> None:
        self.noted = noted
        self.names = frozenset[str]().union(*(each.names() for each in noted.ranges))
        self._plans: dict[tuple[int, ...], _Plan] = {}

    def of(
        self, params: Mapping[str, Any], values: Mapping[str, Any], any_values: _Plan, make: Callable[[], _Plan]
    ) -> _Plan:
        """Return the plan for what ranges leave, and for the lengths of lists.

        Parameters
        ----------
        params
            The parameters as they are given.
        values
            Those of ``names`` as the language has them.
        any_values
            The plan where a value isn't known, where lists are short, and where others have plans.
        make
            Plans while estimates look at the values.
        """
        lengths = {name: _magnitude(params.get(name)) for name in self.noted.lists}
        key = (*(each.magnitude(values) for each in self.noted.ranges), *lengths.values())
        found = self._plans.get(key)
        if found is None:
            is_any = not self.names and max(lengths.values(), default=0) <= _SHORT
            if is_any or len(values) < len(self.names) or len(self._plans) >= MOST:
                return any_values
            with peeking(values, lengths):
                found = make()
            self._plans[key] = found
        return found


def _magnitude(listed: Any) -> int:
    """Return the length of a list as a power of 16."""
    length = len(listed) if isinstance(listed, Sized) and not isinstance(listed, str | Mapping) else 1
    return int(16 ** (length.bit_length() // 4))


def expected_length(name: str) -> float:
    """Return how long the list that is a parameter is expected to be, and note it where nobody knows."""
    if (length := known_lengths().get(name)) is not None:
        return float(length)
    if (noted := _NOTED.get()) is not None:
        noted.lists[name] = None
    return ITEMS


def as_bounds(op: str, value: Any) -> tuple[tuple[str, Any], ...]:
    """Return a condition on a property as bounds: a prefix is two."""
    if op != "STARTS WITH":
        return ((op, value),)
    return ((">=", value), ("<", value + _LAST)) if isinstance(value, str) else ((">=", value),)


@contextmanager
def noting() -> Iterator[Noted]:
    """Note the ranges whose bounds are parameters, and the lists that are, for which estimates ask meanwhile."""
    noted = Noted()
    token = _NOTED.set(noted)
    try:
        yield noted
    finally:
        _NOTED.reset(token)


def note_open(predicates: Sequence[Expr], catalog: CatalogView, entity: str, owners: LabelExpr | None) -> None:
    """Note ranges and lists among conditions on one element, where somebody asks for it; ranges of many of these."""
    noted = _NOTED.get()
    if noted is None:
        return
    ranges: dict[str, list[tuple[str, Expr]]] = {}
    for predicate in (part for each in predicates for part in conjuncts(each)):
        match predicate:
            case Call(name="IN", args=(_, Parameter(name=name))) if name not in known_values():
                expected_length(name)  # it may be remembered of another statement
        for key, op, bound in bounds_of(predicate) or ():
            ranges.setdefault(key, []).append((op, bound))
    for key, found in ranges.items():
        if any(known_value(bound, {}) is UNKNOWN for _, bound in found):
            summaries = tuple(catalog.value_summaries(entity, key, owners) or ())
            if sum(each.count for each in summaries) >= LEAST and all(each.distinct is not None for each in summaries):
                noted.ranges[OpenRange(tuple(found), summaries)] = None


def bounds_of(predicate: Expr) -> list[tuple[str, str, Expr]] | None:
    """Return the property, the operator and the bound of each part of a chain of comparisons, or of a prefix.

    None for another predicate.
    """
    match predicate:
        case Call(name="STARTS WITH", args=(Property(subject=Variable(), key=key), Literal() | Parameter() as text)):
            return [(key, "STARTS WITH", text)]
        case Comparison(ops=ops, args=args) if set(ops) <= TURNED.keys():
            found: list[tuple[str, str, Expr]] = []
            for op, left, right in zip(ops, args, args[1:], strict=False):
                match left, right:
                    case Property(subject=Variable(), key=key), Literal() | Parameter() | Call():
                        found.append((key, op, right))
                    case Literal() | Parameter() | Call(), Property(subject=Variable(), key=key):
                        found.append((key, TURNED[op], left))
                    case _:
                        return None
            return found
    return None
