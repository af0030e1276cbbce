"""Computes what is constant in conditions, and simplifies AND and OR by it.

Why: a condition that is always true costs nothing, one that is never true makes its match empty (``contradictions``),
and ``n.age > 60 + 5`` compares a column with a number.
When: operands are literals of one type, or numbers, and the result is a value: an integer overflow is left to fail
when run, and so are divisions by zero; floats are folded as far as results are finite and not zero, whose sign counts.
Wrong for: values of different types, whose comparison is left to the executors; powers, whose last bit may differ.
"""

from __future__ import annotations

import math
import operator as op
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import Any

from qengine.plan.expr import Call, Comparison, Expr, Literal, Logical
from qengine.plan.fallible import condition_can_fail
from qengine.plan.logical import Filter, Match, Operator
from qengine.plan.predicates import placed
from qengine.plan.traverse import conjuncts, rewrite
from qengine.types import BOOLEAN

_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {"+": op.add, "-": op.sub, "*": op.mul}
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": op.eq,
    "<>": op.ne,
    "<": op.lt,
    "<=": op.le,
    ">": op.gt,
    ">=": op.ge,
}
_NUMBERS = (int, float)


def fold_constants(operator: Operator) -> Operator:
    """Apply the rule to one operator; a filter that is always true goes."""
    if isinstance(operator, Filter):
        predicate = fold(operator.predicate)
        if predicate == TRUE:
            return operator.input
        return operator if predicate is operator.predicate else replace(operator, predicate=predicate)
    if isinstance(operator, Match):
        graph = operator.graph
        nodes = tuple(_folded(node) if node.predicates else node for node in graph.nodes)
        relationships = tuple(_folded(edge) if edge.predicates else edge for edge in graph.relationships)
        predicates = _conditions(graph.predicates)
        if (
            predicates is not graph.predicates
            or any(new is not old for new, old in zip(nodes, graph.nodes, strict=True))
            or any(new is not old for new, old in zip(relationships, graph.relationships, strict=True))
        ):
            early = [each for each in predicates if not condition_can_fail(each)]
            late = tuple(each for each in predicates if each not in early)
            graph = replace(graph, nodes=nodes, relationships=relationships, predicates=late)
            return replace(operator, graph=reduce(placed, reversed(early), graph))
    return operator


TRUE, FALSE = Literal(True, type=BOOLEAN), Literal(False, type=BOOLEAN)


def fold(expr: Expr) -> Expr:
    """Return an expression with its constant parts computed."""
    return rewrite(expr, _fold)


def _folded(element: Any) -> Any:
    predicates = _conditions(element.predicates)
    return element if predicates is element.predicates else replace(element, predicates=predicates)


def _conditions(predicates: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """Return conjuncts without those that are true; null counts as false, as nothing else is kept."""
    if not predicates:
        return predicates
    kept: list[Expr] = []
    changed = False
    for predicate in predicates:
        folded = fold(predicate)
        if isinstance(folded, Literal) and folded.value is None:
            folded = FALSE
        changed = changed or folded is not predicate
        if folded != TRUE:
            kept += conjuncts(folded)
    return tuple(kept) if changed or len(kept) != len(predicates) else predicates


def _fold(expr: Expr) -> Expr:
    match expr:
        case Logical(op="AND" | "OR"):
            return _logical(expr)
        case Call(name="NOT", args=(Literal(value=bool(value)),)):
            return FALSE if value else TRUE
        case Call(name="neg", args=(Literal(value=value),)) if type(value) in _NUMBERS:
            return _literal(expr, -value)
        case Call(name=name, args=(Literal(value=left), Literal(value=right))):
            return _literal(expr, _computed(name, left, right))
        case Comparison(ops=(name,), args=(Literal(value=left), Literal(value=right))) if (
            type(left) in _NUMBERS and type(right) in _NUMBERS
        ) or (type(left) is str and type(right) is str):
            return TRUE if COMPARE[name](left, right) else FALSE
    return expr


def _computed(name: str, left: Any, right: Any) -> Any:
    """Return what an operator gives for two constants, None where that is left to the executors."""
    kinds = {type(left), type(right)}
    if kinds == {str} and name == "+":
        return left + right
    if not kinds.issubset(_NUMBERS):
        return None
    if name in _ARITHMETIC:
        return _ARITHMETIC[name](left, right)
    if name == "/" and right != 0:
        return left / right if float in kinds else abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
    if name == "%" and right != 0:
        return math.fmod(left, right) if float in kinds else abs(left) % abs(right) * (-1 if left < 0 else 1)
    return None


def _literal(expr: Expr, value: Any) -> Expr:
    """Return a value in the place of an expression, the expression where the value doesn't fit its type."""
    if type(value) is int and not -(2**63) <= value < 2**63:
        return expr
    if value is None or (type(value) is float and not (math.isfinite(value) and value)):
        return expr
    return Literal(value, type=expr.type, span=expr.span)


def _logical(expr: Logical) -> Expr:
    """Leave out what decides nothing (true in AND, false in OR); what decides alone is the whole."""
    neutral, deciding = (TRUE, FALSE) if expr.op == "AND" else (FALSE, TRUE)
    if deciding in expr.args:
        return deciding
    kept = tuple(arg for arg in expr.args if arg != neutral)
    if len(kept) == len(expr.args) or (len(kept) == 1 and kept[0].type != BOOLEAN):
        return expr
    if not kept:
        return neutral
    return kept[0] if len(kept) == 1 else replace(expr, args=kept)
