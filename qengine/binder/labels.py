"""Binds label expressions, and warns of labels and types that the graph doesn't have."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from qengine.binder.binding import LABEL, RELATIONSHIP_TYPE, Binding
from qengine.plan.expr import Call, Expr, HasLabels, Logical, Variable
from qengine.plan.pattern import LabelAnd, LabelAny, LabelExpr, LabelIs, LabelNot, LabelOr
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
            return _joined(LabelAnd, (bind_labels(binding, arg, kinds) for arg in args))
        case ast.LabelDisjunction(args=args):
            return _joined(LabelOr, (bind_labels(binding, arg, kinds) for arg in args))
        case ast.LabelNegation(arg=arg):
            return LabelNot(bind_labels(binding, arg, kinds))
    raise TypeError(f"no label expression: {labels!r}")


def both(one: LabelExpr | None, other: LabelExpr | None) -> LabelExpr | None:
    """Return the condition that both hold; None stands for no condition."""
    if one is None or other is None or one == other:
        return other if one is None else one
    return _joined(LabelAnd, (one, other))


def label_condition(predicate: Expr) -> LabelExpr | None:
    """Return a condition on labels alone as a label expression: ``n:A OR NOT n:B`` is ``A|!B``; None if it is more.

    Only for a predicate of one variable that is never null, as in a match.
    """
    match predicate:
        case HasLabels(subject=Variable(), labels=labels):
            return labels
        case Call(name="NOT", args=(arg,)):
            inner = label_condition(arg)
            return LabelNot(inner) if inner is not None else None
        case Logical(op="AND" | "OR" as op, args=args):
            parts = [label for label in map(label_condition, args) if label is not None]
            if len(parts) == len(args):
                return _joined(LabelAnd if op == "AND" else LabelOr, parts)
    return None


def _joined(make: Callable[[tuple[LabelExpr, ...]], LabelExpr], args: Iterable[LabelExpr]) -> LabelExpr:
    flat: dict[LabelExpr, None] = {}
    for arg in args:
        nested = arg.args if isinstance(arg, LabelAnd | LabelOr) and type(arg) is make else (arg,)
        flat.update(dict.fromkeys(nested))
    return next(iter(flat)) if len(flat) == 1 else make(tuple(flat))
