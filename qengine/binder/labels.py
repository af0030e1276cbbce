"""Binds label expressions, and warns of labels and types that the graph doesn't have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from qengine.binder.binding import LABEL, RELATIONSHIP_TYPE, Binding
from qengine.binder.calls import bind_operator
from qengine.plan.expr import Call, Expr, HasLabels, Logical
from qengine.plan.pattern import LabelAnd, LabelAny, LabelExpr, LabelIs, LabelNot, LabelOr
from qengine.plan.predicates import joined
from qengine.syntax import ast
from qengine.types import BOOLEAN, NODE, RELATIONSHIP, Type

if TYPE_CHECKING:
    from qengine.binder.expressions import ExpressionBinder


def label_kinds(subject: Type) -> tuple[str, ...]:
    """Return what a name may be in a label expression on a value of this static type."""
    if subject == NODE:
        return (LABEL,)
    if subject == RELATIONSHIP:
        return (RELATIONSHIP_TYPE,)
    return (LABEL, RELATIONSHIP_TYPE)


def bind_labels(binding: Binding, labels: ast.LabelExpression, kinds: Sequence[str]) -> LabelExpr:
    """Return the label expression of the plan for one of the syntax tree."""
    match labels:
        case ast.LabelName(name=name):
            binding.check_label(name, labels.span, kinds)
            return LabelIs(name)
        case ast.LabelWildcard():
            return LabelAny()
        case ast.LabelConjunction(args=args):
            return joined(LabelAnd, (bind_labels(binding, arg, kinds) for arg in args))
        case ast.LabelDisjunction(args=args):
            return joined(LabelOr, (bind_labels(binding, arg, kinds) for arg in args))
        case ast.LabelNegation(arg=arg):
            return LabelNot(bind_labels(binding, arg, kinds))
    raise TypeError(f"no label expression: {labels!r}")


def is_dynamic(labels: ast.LabelExpression) -> bool:
    """Tell whether a label expression names some labels by an expression."""
    match labels:
        case ast.LabelName():
            return False
        case ast.LabelDynamic():
            return True
        case ast.LabelConjunction(args=args) | ast.LabelDisjunction(args=args):
            return any(map(is_dynamic, args))
        case ast.LabelNegation(arg=arg):
            return is_dynamic(arg)
    return False


def bind_dynamic(binder: ExpressionBinder, subject: Expr, labels: ast.LabelExpression) -> Expr:
    """Return the condition that an element satisfies a label expression which names some labels by an expression."""
    match labels:
        case ast.LabelDynamic(expression=expression, any=any):
            args = (subject, binder.value(expression))
            return bind_operator(binder.binding, "$any" if any else "$all", args, labels.span)
        case ast.LabelConjunction(args=args):
            return Logical("AND", tuple(bind_dynamic(binder, subject, arg) for arg in args))
        case ast.LabelDisjunction(args=args):
            return Logical("OR", tuple(bind_dynamic(binder, subject, arg) for arg in args))
        case ast.LabelNegation(arg=arg):
            return Call("NOT", (bind_dynamic(binder, subject, arg),), type=BOOLEAN)
    return HasLabels(subject, bind_labels(binder.binding, labels, label_kinds(subject.type)), span=labels.span)
