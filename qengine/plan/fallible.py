"""Which expressions can fail at run time: what can't may be evaluated on rows that are thrown away later.

``10 / n.x`` fails where ``n.x`` is 0. A query sees that error only if a row that satisfies everything else has
such a value; so a condition that can fail waits until everything else holds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from qengine.catalog.functions import Signature, lookup
from qengine.errors import QengineError
from qengine.plan.expr import (
    AggregateCall,
    Call,
    Case,
    Expr,
    HasLabels,
    ListComprehension,
    Literal,
    Logical,
    MapProjection,
    Parameter,
    Property,
    Quantifier,
    Reduce,
    Subquery,
    UserCall,
)
from qengine.plan.logical import Argument, Distinct, Filter, Limit, Match, Operator, Project, Skip, Sort
from qengine.plan.traverse import preorder
from qengine.types import Kind, Type

_ENTITIES = (Kind.NODE, Kind.RELATIONSHIP)
_NUMBERS = (Kind.INTEGER, Kind.FLOAT, Kind.NUMBER)
_INSTANTS = {
    Kind.DATE: "Date",
    Kind.TIME: "Time",
    Kind.LOCAL_TIME: "LocalTime",
    Kind.DATETIME: "DateTime",
    Kind.LOCAL_DATETIME: "LocalDateTime",
    Kind.DURATION: "Duration",
}
"""The classes of temporal values, in ``qengine.temporal.values``."""
WRITTEN = {
    "date": "parse_date",
    "time": "parse_time",
    "localtime": "parse_local_time",
    "datetime": "parse_date_time",
    "localdatetime": "parse_local_date_time",
}
"""What reads the text that functions make values of, in ``qengine.temporal``."""
_HARMLESS = (Match, Argument, Filter, Project, Distinct, Sort, Limit, Skip)


def condition_can_fail(expr: Expr) -> bool:
    """Tell whether evaluating a condition may raise an error; a condition that is no boolean is one."""
    return not _is(expr.type, Kind.BOOLEAN) or can_fail(expr)


def can_fail(expr: Expr) -> bool:
    """Tell whether evaluating an expression may raise an error for some row, as far as types and constants tell."""
    if not fails_somewhere(expr):
        return False
    from qengine.plan.constants import fold  # which asks for ``fails_somewhere``

    return fails_somewhere(fold(expr))


def fails_somewhere(expr: Expr) -> bool:
    """Tell whether a part of an expression may fail, needed or not."""
    known: bool | None = getattr(expr, "fails", None)
    if known is None:
        known = any(type(part) in _FALLIBLE and _fails_itself(part) for part in preorder(expr))
        _remember(expr, known)
    return known


_remember: Callable[[Expr, bool], None] = Expr.fails.__set__  # type: ignore[attr-defined]


_FALLIBLE = frozenset(
    (Property, HasLabels, MapProjection, Logical, Case, ListComprehension, Quantifier, Reduce, Call, Subquery)
) | {AggregateCall, UserCall}
"""What ``_fails_itself`` looks at; it is asked for every part of every condition, again and again."""


def _fails_itself(expr: Expr) -> bool:
    """Tell whether an expression may fail although its parts don't."""
    match expr:
        case Property(subject=subject, key=key):
            return not (_is(subject.type, *_ENTITIES, Kind.MAP) or _is_field(subject.type.kind, key))
        case HasLabels(subject=subject):
            return not _is(subject.type, *_ENTITIES)
        case MapProjection(subject=subject):
            return not _is(subject.type, *_ENTITIES, Kind.MAP)
        case Logical(args=args):
            return not all(_is(arg.type, Kind.BOOLEAN) for arg in args)
        case Case(whens=whens):
            return not all(_is(condition.type, Kind.BOOLEAN) for condition, _ in whens)
        case ListComprehension(source=source, condition=condition):
            return not _is(source.type, Kind.LIST) or not (condition is None or _is(condition.type, Kind.BOOLEAN))
        case Quantifier(source=source, condition=condition):
            return not (_is(source.type, Kind.LIST) and _is(condition.type, Kind.BOOLEAN))
        case Reduce(source=source, condition=condition):
            return not _is(source.type, Kind.LIST) or not (condition is None or _is(condition.type, Kind.BOOLEAN))
        case Call():
            return _call_fails(expr)
        case Subquery(plan=plan):
            return _plan_fails(plan)
        case AggregateCall() | UserCall():
            return True
    return False


def _is(given: Type, *kinds: Kind) -> bool:
    """Tell whether every value of a static type is null or of one of the kinds."""
    return given.kind is Kind.NULL or given.kind in kinds


def _call_fails(call: Call) -> bool:
    types = [arg.type for arg in call.args]
    if call.name in ("+", "-", "*", "/", "%", "^", "neg", "pos") and all(_is(type, *_NUMBERS) for type in types):
        return _arithmetic_fails(call, types)
    if call.name == "+":
        return not (any(_is(type, Kind.LIST) for type in types) or all(_is(type, Kind.STRING) for type in types))
    if call.name in WRITTEN and len(call.args) == 1:
        text = call.args[0]
        if isinstance(text, Parameter):
            return not text.checked
        return not (isinstance(text, Literal) and isinstance(text.value, str) and is_read(call.name, text.value))
    function = lookup(call.name)
    return function is None or not function.total or not any(_fits(each, types) for each in function.signatures)


def _is_field(kind: Kind, key: str) -> bool:
    """Tell whether the values of a static type are temporal ones with a field of this name."""
    if kind not in _INSTANTS:
        return False
    from qengine.temporal import values  # which few statements need

    return key in values.FIELDS[getattr(values, _INSTANTS[kind])]


@lru_cache(256)
def is_read(name: str, text: str) -> bool:
    """Tell whether a function makes a value of a text, as it does at any time then."""
    from qengine import temporal

    try:
        getattr(temporal, WRITTEN[name])(text)
    except QengineError:
        return False
    return True


def _arithmetic_fails(call: Call, types: list[Type]) -> bool:
    """Tell whether numbers may overflow or be divided by zero; floats never fail."""
    if call.name in ("^", "pos") or any(_is(type, Kind.FLOAT) for type in types):
        return False
    if call.name in ("/", "%"):
        divisor = call.args[1]
        return not (isinstance(divisor, Literal) and divisor.value not in (0, -1))
    return True


def _fits(signature: Signature, types: list[Type]) -> bool:
    """Tell whether the signature surely admits the arguments: none may turn out to have another type."""
    if not signature.admits(len(types)):
        return False
    for place, given in enumerate(types):
        slot = signature.parameters[min(place, len(signature.parameters) - 1)]
        if not any(_surely(given, wanted) for wanted in slot.types):
            return False
    return True


def _surely(given: Type, wanted: Type) -> bool:
    if wanted.kind is Kind.ANY or given.kind is Kind.NULL:
        return True
    if wanted.kind is Kind.NUMBER:
        return given.kind in _NUMBERS
    if given.kind is not wanted.kind:
        return False
    return wanted.item is None or (given.item is not None and _surely(given.item, wanted.item))


def _plan_fails(plan: Any) -> bool:
    """Tell whether running a subquery's plan may fail: it can't if it only matches, filters, projects and orders."""
    if isinstance(plan, Expr):
        return can_fail(plan)
    if isinstance(plan, tuple):
        return any(map(_plan_fails, plan))
    if isinstance(plan, Operator) and not isinstance(plan, _HARMLESS):
        return True
    if isinstance(plan, Filter) and condition_can_fail(plan.predicate):
        return True
    if isinstance(plan, Limit | Skip) and not _is_number_of_rows(plan.count):
        return True
    return any(_plan_fails(getattr(plan, name)) for name in getattr(plan, "child_fields", ()))


def _is_number_of_rows(count: Expr) -> bool:
    return isinstance(count, Literal) and type(count.value) is int and count.value >= 0
