"""Binds label expressions, and warns of labels and types that the graph doesn't have."""

from __future__ import annotations

from collections.abc import Iterable

from qengine.binder.binding import LABEL, RELATIONSHIP_TYPE, Binding
from qengine.plan.pattern import LabelAnd, LabelAny, LabelExpr, LabelIs, LabelNot, LabelOr
from qengine.plan.predicates import joined
from qengine.syntax import ast
from qengine.types import NODE, RELATIONSHIP, Type


def label_kinds(subject: Type) -> tuple[str, ...]:
    """Return what a name may be in a label expression on a value of this static type."""
    if subject == NODE:
        return (LABEL,)
    if subject == RELATIONSHIP:
        return (RELATIONSHIP_TYPE,)
    return (LABEL, RELATIONSHIP_TYPE)


def bind_labels(binding: Binding, labels: ast.LabelExpression, kinds: Iterable[str]) -> LabelExpr:
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
