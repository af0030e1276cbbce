"""Computes the constant parts of expressions, and what AND and OR leave to be looked at behind constants.

Only where the executors would compute the same: an integer overflow is left to fail when run, and so are divisions by
zero; floats are folded as far as results are finite and not zero, whose sign counts.
"""

from __future__ import annotations

import math
import operator as op
from collections.abc import Callable
from typing import Any

from qengine._frozen import replace
from qengine.plan.expr import Call, Comparison, Expr, Literal, Logical
from qengine.plan.fallible import fails_somewhere
from qengine.plan.traverse import preorder, rewrite
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
_COMPUTED = frozenset((Logical, Call, Comparison))
TRUE, FALSE = Literal(True, type=BOOLEAN), Literal(False, type=BOOLEAN)


def fold(expr: Expr) -> Expr:
    """Return an expression with its constant parts computed."""
    return rewrite(expr, _fold) if any(map(_is_due, preorder(expr))) else expr


def _is_due(expr: Expr) -> bool:
    """Tell whether there is something to compute, though not in what is below: operands that are constants."""
    if type(expr) not in _COMPUTED:
        return False
    constant = (isinstance(arg, Literal) for arg in expr.args)  # type: ignore[attr-defined]
    return any(constant) if type(expr) is Logical else all(constant)


def _fold(expr: Expr) -> Expr:
    if type(expr) not in _COMPUTED:
        return expr
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
    """Leave out what decides nothing (true in AND, false in OR), and what stands behind the one that decides.

    That alone is the whole, unless what stands before it may fail.
    """
    neutral, deciding = (TRUE, FALSE) if expr.op == "AND" else (FALSE, TRUE)
    args = expr.args
    if deciding in args:
        args = args[: args.index(deciding) + 1]
        if not any(arg.type != BOOLEAN or fails_somewhere(arg) for arg in args):
            return deciding
    kept = tuple(arg for arg in args if arg != neutral)
    if len(kept) == len(expr.args) or (len(kept) == 1 and kept[0].type != BOOLEAN):
        return expr
    if not kept:
        return neutral
    return kept[0] if len(kept) == 1 else replace(expr, args=kept)
