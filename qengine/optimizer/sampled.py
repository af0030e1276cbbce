"""Conditions evaluated on a sample of nodes or relationships: for which of its rows they are true.

What is evaluated are comparisons, chained or not, of properties, fields of dates and times, constants, arithmetic on
these and functions of texts, tests of texts, IN, IS NULL, and what AND, OR and NOT make of these, by the rules of
three-valued logic.
"""

from __future__ import annotations

import operator as op
import re
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any, TypeVar

import numpy as np

from qengine.catalog.view import Sample, SampledColumn
from qengine.optimizer.memory import memory
from qengine.optimizer.value_shares import UNKNOWN, known_value
from qengine.plan.expr import Call, Comparison, Expr, ListOf, Logical, Property, Variable
from qengine.plan.traverse import TURNED, free_variables
from qengine.types import INTEGER

_Told = TypeVar("_Told")

Rows = Mapping[str, tuple[Sample, str]]
"""Of each variable the sample that its values are in, and which element of it; all samples have as many rows."""

_OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_TESTS = ("STARTS WITH", "ENDS WITH", "CONTAINS", "=~")
COMPARED: Mapping[str, Callable[[Any, Any], Any]] = {
    "=": op.eq, "<>": op.ne, "<": op.lt, "<=": op.le, ">": op.gt, ">=": op.ge,
}  # fmt: skip
_ARITHMETIC: Mapping[str, Callable[..., Any]] = {
    "+": op.add, "-": op.sub, "*": op.mul, "/": np.divide, "%": np.fmod, "neg": op.neg, "abs": np.abs,
    "floor": np.floor, "ceil": np.ceil, "sqrt": np.sqrt, "sign": np.sign,
}  # fmt: skip
_OF_TEXTS: Mapping[str, Callable[..., Any]] = {
    "toupper": str.upper, "upper": str.upper, "tolower": str.lower, "lower": str.lower, "size": len,
    "left": lambda text, count: text[:count], "reverse": lambda text: text[::-1],
    "substring": lambda text, start, count=None: text[start:] if count is None else text[start : start + count],
}  # fmt: skip


class _NotEvaluated(Exception):
    """A condition is of another kind, or has a parameter that isn't known."""


def holding(predicate: Expr, rows: Rows, values: Mapping[str, Any]) -> Any:
    """Return for which rows a condition is true, None where that can't be evaluated.

    ``values``: of parameters that are known. The result is an array of truth values, one a row; it isn't changed, for
    other ways that a statement is planned in are told the same.
    """
    return _once("holding", (predicate,), rows, values, lambda: _Evaluation(rows, values).told(predicate))


def _once(
    of: str, parts: Sequence[Expr], rows: Rows, values: Mapping[str, Any], told: Callable[[], _Told]
) -> _Told | None:
    """Return what rows of samples tell of some expressions, found once a statement; None where they don't."""
    remembered = memory(of)
    samples = [(name, id(sample), element) for name, (sample, element) in rows.items()]
    key = *map(id, parts), *samples, id(values) if values else 0
    if (known := remembered.get(key)) is None:
        try:
            found = told()
        except _NotEvaluated:
            found = None
        known = remembered[key] = found, tuple(parts), dict(rows), values
    answer: _Told | None = known[0]
    return answer


def conjunction(predicates: Sequence[Expr], rows: Rows, values: Mapping[str, Any]) -> tuple[Any, list[Expr]]:
    """Return for which rows all conditions that can be evaluated are true (None: none), and which these are."""
    every: Any = None
    evaluated = []
    for predicate in predicates:
        mask = holding(predicate, rows, values)
        if mask is not None:
            every = mask if every is None else every & mask
            evaluated.append(predicate)
    return every, evaluated


def how_many(mask: Any) -> int:
    """Return for how many rows something is true."""
    return int(np.count_nonzero(mask))


def codes_of_values(keys: Sequence[Expr], rows: Rows, values: Mapping[str, Any]) -> Any:
    """Return a number (int64) for each row, the same where some expressions have the same values.

    None where an expression can't be evaluated.
    """
    return _once("codes", keys, rows, values, lambda: _codes(keys, rows, values))


def _codes(keys: Sequence[Expr], rows: Rows, values: Mapping[str, Any]) -> Any:
    codes: Any = None
    evaluation = _Evaluation(rows, values)
    for key in keys:
        found = evaluation.ids(key) if isinstance(key, Variable) else evaluation.operand(key)
        if _is_column(found):
            found = found.codes
        if isinstance(found, np.ndarray):  # no constant
            each = np.unique(found, return_inverse=True)[1]
            if codes is not None:
                each = np.unique(codes * (each.max(initial=0) + 1) + each, return_inverse=True)[1]
            codes = each
    return np.zeros(next(iter(rows.values()))[0].size, np.int64) if codes is None else codes


def joint_share(
    predicates: Sequence[Expr], sample: Sample, element: str, alone: float, values: Mapping[str, Any]
) -> float:
    """Return the share of a sample's elements that satisfy conditions, each on one of them.

    ``alone``: the share if they were independent, which it is where the conditions can't be evaluated.
    """
    every: Any = None
    for predicate in predicates:
        names = free_variables(predicate)
        mask = holding(predicate, dict.fromkeys(names, (sample, element)), values)
        if mask is None:
            return alone
        every = mask if every is None else every & mask
    if every is None:
        return alone
    return min(1.0, alone * times_as_many(how_many(every), alone * sample.size))


def counted_share(
    predicates: Sequence[Expr], sample: Sample, element: str, alone: float, values: Mapping[str, Any]
) -> float:
    """Return the share of elements, all of which are in a sample, that satisfy conditions; ``alone``: as above."""
    names = frozenset[str]().union(*map(free_variables, predicates))
    mask, known = conjunction(predicates, dict.fromkeys(names, (sample, element)), values)
    return how_many(mask) / sample.size if mask is not None and len(known) == len(predicates) else alone


def times_as_many(seen: float, expected: float) -> float:
    """Return how many times as many there are as expected, where so many were seen in a sample.

    Where none was seen that is 1 / (1 + expected), the mean of a gamma distribution of shape 1 after no arrival; what
    was seen has c times its weight after c of them: few may be chance, but a prior that is far off mustn't decide.
    """
    if expected <= 0.0:
        return 1.0
    return (seen * seen / expected + 1.0 / (1.0 + expected)) / (seen + 1.0)


class _Evaluation:
    def __init__(self, rows: Rows, values: Mapping[str, Any]) -> None:
        self.rows = rows
        self.values = values

    def told(self, expr: Expr, true: bool = True) -> Any:
        """Return of which rows a condition is true, or of which it is false: of the others it is null."""
        match expr:
            case Comparison(ops=ops, args=args):
                sides = zip(ops, args, args[1:], strict=False)
                each = [self.compared(name if true else _OPPOSITE[name], *pair) for name, *pair in sides]
                return reduce(op.and_ if true else op.or_, each)
            case Logical(op="AND" | "OR" as name, args=args):
                return reduce(op.and_ if (name == "AND") == true else op.or_, [self.told(arg, true) for arg in args])
            case Call(name="NOT", args=(arg,)):
                return self.told(arg, not true)
            case Call(name="IS NULL" | "IS NOT NULL" as name, args=(Property() as arg,)):
                missing = self.column(arg).missing
                return missing if (name == "IS NULL") == true else ~missing
            case Property():
                return _known(self.column(expr).compare("=", true))
            case Call(args=(arg, other)):
                column = self.operand(arg)
                if not _is_column(column):
                    raise _NotEvaluated
                found = self.among(column, other) if expr.name == "IN" else self.text(expr.name, column, other)
                return found if true else ~found & ~column.missing
        raise _NotEvaluated

    def compared(self, name: str, left: Expr, right: Expr) -> Any:
        one, other = self.operand(left), self.operand(right)
        if _is_column(one) and not isinstance(other, np.ndarray):
            return _known(one.against(name, other) if _is_column(other) else one.compare(name, other))
        if _is_column(other) and not isinstance(one, np.ndarray):
            return _known(other.compare(TURNED[name], one))
        left_numbers, right_numbers = _numbers(one), _numbers(other)
        found = COMPARED[name](left_numbers, right_numbers)
        if name == "<>":
            found = found & ~np.isnan(left_numbers) & ~np.isnan(right_numbers)
        return _known(found if isinstance(found, np.ndarray) else None)

    def among(self, column: SampledColumn, items: Expr) -> Any:
        values = list(map(self.constant, items.items)) if isinstance(items, ListOf) else self.constant(items)
        if not isinstance(values, list):
            raise _NotEvaluated
        found = np.zeros(len(column.missing), np.bool_)
        for value in values:
            if value is None:
                raise _NotEvaluated
            same = column.compare("=", value, keep=False)
            found = found if same is None else found | same
        return found

    def text(self, name: str, column: SampledColumn, other: Expr) -> Any:
        text = self.constant(other)
        if name not in _TESTS or not isinstance(text, str):
            raise _NotEvaluated
        tested = _tested(name, text)
        return column.where(lambda values: tested(values) if values and isinstance(values[0], str) else None)

    def operand(self, expr: Expr) -> Any:
        """Return a column, an array of numbers, or a constant."""
        if isinstance(expr, Property):
            return self.column(expr)
        if isinstance(expr, Call) and expr.name in _ARITHMETIC:
            with np.errstate(all="ignore"):
                found = _ARITHMETIC[expr.name](*(_numbers(self.operand(arg)) for arg in expr.args))
                whole = expr.name == "/" and all(arg.type == INTEGER for arg in expr.args)
                return np.trunc(found) if whole else found
        if isinstance(expr, Call) and expr.name in _OF_TEXTS and expr.args:
            return self.of_texts(_OF_TEXTS[expr.name], *expr.args)
        if isinstance(expr, Call) and expr.name == "tostring":
            return self.as_texts(*expr.args)
        return self.constant(expr)

    def as_texts(self, expr: Expr) -> SampledColumn:
        """Return what ``toString`` makes of whole numbers, truth values and texts."""
        column = self.operand(expr)
        if not _is_column(column) or not all(type(each) in (bool, int, str) for each in column.values):
            raise _NotEvaluated
        found: SampledColumn = column.mapped(lambda each: str(each).lower() if isinstance(each, bool) else str(each))
        return found

    def of_texts(self, function: Callable[..., Any], text: Expr, *args: Expr) -> SampledColumn:
        """Return a function of a column of texts, with other arguments that are not negative numbers."""
        column, given = self.operand(text), [self.constant(arg) for arg in args]
        whole = all(type(each) is int and each >= 0 for each in given)
        if not whole or not _is_column(column) or not all(isinstance(each, str) for each in column.values):
            raise _NotEvaluated
        found: SampledColumn = column.mapped(lambda each: function(each, *given))
        return found

    def ids(self, expr: Variable) -> Any:
        """Return who an element is: int64."""
        if expr.name not in self.rows:
            raise _NotEvaluated
        sample, element = self.rows[expr.name]
        return sample.ids(element, slice(None))

    def column(self, expr: Property) -> SampledColumn:
        if isinstance(expr.subject, Property):
            found = self.column(expr.subject).field(expr.key)
            if found is not None:
                return found
        elif isinstance(expr.subject, Variable) and expr.subject.name in self.rows:
            sample, element = self.rows[expr.subject.name]
            column = sample.column(element, expr.key)
            if column is not None:
                return column
        raise _NotEvaluated

    def constant(self, expr: Expr) -> Any:
        value = known_value(expr, self.values)
        if value is None or value is UNKNOWN:
            raise _NotEvaluated
        return value


def _known(found: Any) -> Any:
    if found is None:
        raise _NotEvaluated
    return found


def _is_column(value: Any) -> bool:
    return hasattr(type(value), "codes")  # not of the value: the codes would be made


def _numbers(value: Any) -> Any:
    if _is_column(value):
        value = value.numbers
    if isinstance(value, bool) or not isinstance(value, int | float | np.ndarray):
        raise _NotEvaluated
    return value


def _tested(name: str, text: str) -> Callable[[Sequence[str]], list[bool]]:
    """Return what tells of each of some strings whether a test of it holds."""
    match name:
        case "STARTS WITH":
            return lambda values: [value.startswith(text) for value in values]
        case "ENDS WITH":
            return lambda values: [value.endswith(text) for value in values]
        case "CONTAINS":
            return lambda values: [text in value for value in values]
    try:
        pattern = re.compile(text)
    except (re.error, RecursionError, OverflowError):
        raise _NotEvaluated from None
    return lambda values: [pattern.fullmatch(value) is not None for value in values]
