"""Conditions that join a part of a pattern to the rows that are there already, but aren't equations of values alone.

What is told of a condition is a way to find pairs for which it may be true; it is asked for each of these. OR has the
ways of all that it joins, AND those of one. A list's items are keys, a prefix and a difference are ranges.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TypeAlias

from qengine._frozen import frozen, replace
from qengine.optimizer.lower.equations import is_simple
from qengine.plan.expr import (
    Call,
    Case,
    Comparison,
    Expr,
    ListComprehension,
    ListOf,
    Literal,
    Logical,
    Quantifier,
    Variable,
)
from qengine.plan.physical import Between, SharedKeys
from qengine.plan.traverse import comparisons_in, free_variables, rewrite
from qengine.types import ANY, INTEGER, Kind

Way: TypeAlias = SharedKeys | Between

_MOST_WAYS = 16
_NUMBERS = (Kind.INTEGER, Kind.FLOAT, Kind.NUMBER)
_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "="}


@frozen
class Partners:
    """``ways``, any of which finds the pairs for which the conditions may be true.

    ``closed``: they find few, as they do by keys or between two bounds, not on one side of a bound. ``told``: the one
    way tells all that the conditions do.
    """

    ways: tuple[Way, ...]
    closed: bool
    told: bool = False

    @property
    def narrow(self) -> bool:
        """Whether they find what is between two bounds of rows with equal values: perhaps few of many."""
        way = self.ways[0]
        return isinstance(way, Between) and way.within is not None and None not in (way.low, way.high)


_ZERO = Literal(0, type=INTEGER)

EVERY_PAIR = Partners((Between(_ZERO, None, _ZERO, None),), False)
"""What is of use where pairs are only counted: of rows that are the same to a condition one is asked."""


def partners(conditions: Sequence[Expr], rows: Collection[str], part: Collection[str]) -> Partners | None:
    """Return how pairs of rows and of a part's are found for which all conditions may be true; None for all pairs."""
    return _Sides(frozenset(rows), frozenset(part)).of_all(conditions)


@frozen
class _Item:
    """A side of an equation. ``items``: any of a list's."""

    expr: Expr
    of_part: bool
    items: bool = False


@frozen
class _Sides:
    rows: frozenset[str]
    part: frozenset[str]

    def of_all(self, conditions: Sequence[Expr]) -> Partners | None:
        """Return the best that one of some conditions tells, or several of one value's bounds."""
        every = [each for condition in conditions for each in comparisons_in(condition)]
        parts = [each for each in every if not is_implied(each, every)]
        found = [each for part in parts if (each := self.of_one(part)) is not None]
        found += _merged([way for part in parts for way in self._bounds(part)])
        equations = [way for each in found for way in each if len(each) == 1 and isinstance(way, SharedKeys)]
        equations = [way for way in equations if not (way.left_items or way.right_items)]
        if equations:
            left, right = (tuple(each for side in sides for each in side) for sides in _sides(equations))
            within = SharedKeys(left, right)
            found.append((within,))
            found += [
                (replace(way, within=within),)
                for each in found
                for way in each
                if len(each) == 1 and isinstance(way, Between)
            ]
        if not found:
            return None
        best = min(reversed(found), key=_cost)  # of equations the one of all
        return Partners(best, _cost(best) < _OPEN, len(best) == 1 and _said(best[0]) == len(parts))

    def of_one(self, condition: Expr) -> tuple[Way, ...] | None:
        """Return the ways that a condition tells, the likely best first of those that will do; None for none."""
        match condition:
            case Logical(op="OR" | "XOR", args=args):  # one at least is true
                return self._any_of([(arg,) for arg in args])
            case Case(whens=whens, otherwise=last):
                return self._any_of([each for each in (*whens, (last,)) if not _is_never(each[-1])])
            case Comparison(ops=(">",), args=(Call(name="size", args=(ListComprehension() as of,)), Literal(value=0))):
                return None if of.condition is None else self._any(of.variable, of.source, of.condition)
            case Comparison(ops=(op,), args=(left, right)) if op in _TURNED:
                return self._compared(op, left, right)
            case Call(name="NOT", args=(Comparison(ops=("<>",), args=(left, right)),)):
                return self._compared("=", left, right)
            case Call(name="IN", args=(value, items)):
                return self._in(value, items)
            case Quantifier(quantifier="any", variable=name, source=source, condition=inner):
                return self._any(name, source, inner)
            case Call(name="STARTS WITH", args=(text, prefix)):
                return self._prefix(text, prefix)
            case Call(name="ENDS WITH", args=(text, suffix)):
                return self._prefix(*(Call("reverse", (each,), type=each.type) for each in (text, suffix)))
            case Call(name="coalesce", args=(inner, last)) if _is_never(last):
                return self._any_of([(inner,)])
        return None

    def _any_of(self, cases: Sequence[Sequence[Expr]]) -> tuple[Way, ...] | None:
        """Return what finds pairs for which all conditions of a case are true, of any case."""
        each = [self.of_all(case) for case in cases]
        ways = [way for found in each if found is not None for way in found.ways]
        return _different(ways) if ways and all(each) and len(ways) <= _MOST_WAYS else None

    def _side(self, expr: Expr, items: bool = False) -> _Item | None:
        """Return an expression as a value of one side; None if it reads both, or none."""
        reads = free_variables(expr)
        if not reads or not is_simple(expr) or not (reads <= self.rows or reads <= self.part):
            return None
        return _Item(expr, not reads <= self.rows, items)

    def _keys(self, one: _Item | None, other: _Item | None) -> tuple[Way, ...] | None:
        if one is None or other is None or one.of_part == other.of_part:
            return None
        left, right = (other, one) if one.of_part else (one, other)
        return (SharedKeys((left.expr,), (right.expr,), left.items, right.items),)

    def _compared(self, op: str, left: Expr, right: Expr) -> tuple[Way, ...] | None:
        one, other = self._side(left), self._side(right)
        if one is not None and other is not None:
            if op == "=":
                return self._keys(one, other)
            return next(((way,) for way in self._bounds(Comparison((op,), (left, right)))), None)
        for of, sign, bound in ((left, op, right), (right, _TURNED[op], left)):
            if free_variables(bound) or not is_simple(bound) or bound.type.kind not in _NUMBERS:
                continue
            match of:
                case Call(name="-", args=(minuend, subtrahend)):
                    return self._near(minuend, subtrahend, sign, bound)
                case Call(name="abs", args=(Call(name="-", args=(minuend, subtrahend)),)) if sign in ("<", "<=", "="):
                    low = Call("neg", (bound,), type=bound.type)
                    return self._difference(minuend, subtrahend, low, bound)
        return None

    def _bounds(self, condition: Expr) -> Iterator[Between]:
        """Yield a condition as a bound of the part's value, and of the rows'; or of a difference."""
        match condition:
            case Comparison(ops=(op,), args=(left, right)) if op in _TURNED and op != "=":
                one, other = self._side(left), self._side(right)
                if one is None or other is None:
                    yield from (way for way in self._compared(op, left, right) or () if isinstance(way, Between))
                elif one.of_part != other.of_part:
                    views = (one, op, other), (other, _TURNED[op], one)
                    yield from (_bound(*view) for view in (views if one.of_part else views[::-1]))

    def _near(self, minuend: Expr, subtrahend: Expr, op: str, bound: Expr) -> tuple[Way, ...] | None:
        low = bound if op[0] in "=>" else None
        high = bound if op[0] in "=<" else None
        return self._difference(minuend, subtrahend, low, high)

    def _difference(
        self, minuend: Expr, subtrahend: Expr, low: Expr | None, high: Expr | None
    ) -> tuple[Way, ...] | None:
        """Return that a difference of numbers lies between two bounds."""
        point, base = self._side(minuend), self._side(subtrahend)
        if point is None or base is None or point.of_part == base.of_part:
            return None
        return (Between(point.expr, base.expr, low, high, of_input=not point.of_part),)

    def _prefix(self, text: Expr, prefix: Expr) -> tuple[Way, ...] | None:
        point, low = self._side(text), self._side(prefix)
        if point is None or low is None or point.of_part == low.of_part:
            return None
        return (Between(point.expr, None, low.expr, None, of_input=not point.of_part, prefix=True),)

    def _in(self, value: Expr, items: Expr) -> tuple[Way, ...] | None:
        if isinstance(items, ListOf):
            each = [self._keys(self._side(value), self._side(item)) for item in items.items]
            if each and len(each) <= _MOST_WAYS and all(each):
                return _different([way for ways in each if ways for way in ways])
            if all(not free_variables(item) for item in items.items):
                near = [self._compared("=", value, item) for item in items.items]
                return tuple(way for ways in near if ways for way in ways) if near and all(near) else None
        return self._keys(self._side(value), self._side(items, items=True))

    def _any(self, name: str, source: Expr, inner: Expr) -> tuple[Way, ...] | None:
        """Return that any item of a list equals a value, or is in another list."""
        listed = self._side(source, items=True)
        match inner:
            case Comparison(ops=("=",), args=(one, other)):
                for item, value in ((one, other), (other, one)):
                    if isinstance(item, Variable) and item.name == name:
                        return self._keys(listed, self._side(value))
            case Call(name="IN", args=(Variable(name=item), items)) if item == name:
                return self._keys(listed, self._side(items, items=True))
        return None


def _different(ways: Sequence[Way]) -> tuple[Way, ...]:
    found: list[Way] = []
    for way in ways:
        if way not in found:
            found.append(way)
    return tuple(found)


def _is_never(expr: Expr) -> bool:
    return isinstance(expr, Literal) and (expr.value is False or expr.value is None)


def _sides(equations: Sequence[SharedKeys]) -> tuple[list[tuple[Expr, ...]], list[tuple[Expr, ...]]]:
    return [each.left for each in equations], [each.right for each in equations]


def _bound(point: _Item, op: str, bound: _Item) -> Between:
    strict = len(op) == 1
    if op[0] == "<":
        return Between(point.expr, None, None, bound.expr, (False, strict), not point.of_part)
    return Between(point.expr, None, bound.expr, None, (strict, False), not point.of_part)


def _same(one: Expr | None, other: Expr | None) -> bool:
    """Tell whether two expressions are one, whatever is known of their types."""
    return one == other if one is None or other is None else _untyped(one) == _untyped(other)


def _untyped(expr: Expr) -> Expr:
    return rewrite(expr, lambda each: replace(each, type=ANY))


def is_implied(condition: Expr, others: Sequence[Expr]) -> bool:
    """Tell whether two elements differ since something of one is less than the same of the other."""
    match condition:
        case Comparison(ops=("<>",), args=(Variable(name=one), Variable(name=other))):
            pass
        case _:
            return False
    for each in others:
        if isinstance(each, Comparison) and each.ops in (("<",), (">",)) and is_simple(each):
            left, right = each.args
            if {free_variables(left), free_variables(right)} == {frozenset((one,)), frozenset((other,))}:
                return _same(_renamed(left, one, other), _renamed(right, one, other))
    return False


def _renamed(expr: Expr, old: str, new: str) -> Expr:
    return rewrite(expr, lambda each: Variable(new) if isinstance(each, Variable) and each.name == old else each)


_OPEN = 4


def _cost(ways: Sequence[Way]) -> int:
    """Return how many pairs ways find, roughly: by keys the fewest, on one side of a bound the most."""
    return max(map(_found, ways))


def _found(way: Way) -> int:
    if isinstance(way, SharedKeys):
        return 2
    closed = way.prefix or (way.low is not None and way.high is not None)
    if way.within is not None:
        return 0 if closed else 1
    return 3 if closed else _OPEN


def _said(way: Way) -> int:
    """Return how many conditions a way says all of; 0 where it only tells where they may hold."""
    if isinstance(way, SharedKeys) or way.base is not None:
        return 0
    bounds = sum(each is not None for each in (way.low, way.high))
    return bounds + (0 if way.within is None else len(way.within.left))


def _merged(bounds: Sequence[Between]) -> list[tuple[Way, ...]]:
    """Return two bounds of a value, or of a difference, as one way."""
    found: list[tuple[Way, ...]] = []
    for one in bounds:
        for other in bounds:
            if one.low is None or one.high is not None or other.high is None or other.low is not None:
                continue
            if one.prefix or (one.base is None) != (other.base is None):
                continue
            if one.of_input == other.of_input and _same(one.point, other.point) and _same(one.base, other.base):
                found.append((replace(one, high=other.high, strict=(one.strict[0], other.strict[1])),))
    return found
