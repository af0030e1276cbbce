"""What a predicate of a match says, and of which element."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from qengine._frozen import replace
from qengine.plan.expr import (
    Call,
    Comparison,
    Expr,
    HasLabels,
    ListOf,
    Literal,
    Logical,
    Parameter,
    Property,
    Variable,
)
from qengine.plan.pattern import LabelAnd, LabelExpr, LabelIs, LabelNot, LabelOr, QueryGraph
from qengine.plan.traverse import only_variable
from qengine.types import NODE, RELATIONSHIP


def is_cheap(expr: Expr) -> bool:
    """Tell whether an expression only looks a value up: it can't fail, and may as well be written twice."""
    match expr:
        case Variable() | Literal() | Parameter():
            return True
        case Property(subject=Variable(type=type)):
            return type in (NODE, RELATIONSHIP)
    return False


def both(one: LabelExpr | None, other: LabelExpr | None) -> LabelExpr | None:
    """Return the condition that both hold; None stands for no condition."""
    if one is None or other is None or one == other:
        return other if one is None else one
    return joined(LabelAnd, (one, other))


def label_condition(predicate: Expr) -> LabelExpr | None:
    """Return a condition on labels (or the type) alone as a label expression, None if it is more.

    ``n:A OR NOT n:B`` is ``A|!B``, ``type(r) IN ['S', 'T']`` is ``S|T``. Only for a predicate of one variable that is
    never null, as in a match.
    """
    match predicate:
        case HasLabels(subject=Variable(), labels=labels):
            return labels
        case (
            Comparison(ops=("=",), args=(Call(name="type", args=(Variable(),)), Literal(value=str(name))))
            | Comparison(ops=("=",), args=(Literal(value=str(name)), Call(name="type", args=(Variable(),))))
            | Call(name="IN", args=(Literal(value=str(name)), Call(name="labels", args=(Variable(),))))
        ):
            return LabelIs(name)
        case Call(name="IN", args=(Call(name="type", args=(Variable(),)), ListOf(items=items))) if items and all(
            isinstance(item, Literal) and isinstance(item.value, str) for item in items
        ):
            return joined(LabelOr, (LabelIs(item.value) for item in items if isinstance(item, Literal)))
        case Call(name="NOT", args=(arg,)):
            inner = label_condition(arg)
            return LabelNot(inner) if inner is not None else None
        case Logical(op="AND" | "OR" as op, args=args):
            parts = [label for label in map(label_condition, args) if label is not None]
            if len(parts) == len(args):
                return joined(LabelAnd if op == "AND" else LabelOr, parts)
    return None


def joined(make: Callable[[tuple[LabelExpr, ...]], LabelExpr], args: Iterable[LabelExpr]) -> LabelExpr:
    """Return one AND or OR of label expressions, nested ones of the same kind and repetitions taken out."""
    flat: dict[LabelExpr, None] = {}
    for arg in args:
        nested = arg.args if isinstance(arg, (LabelAnd, LabelOr)) and type(arg) is make else (arg,)
        flat.update(dict.fromkeys(nested))
    return next(iter(flat)) if len(flat) == 1 else make(tuple(flat))


def placed(graph: QueryGraph, condition: Expr) -> QueryGraph:
    """Return a query graph with a condition at the one element that it reads, or among its predicates.

    The condition can't fail, and if it reads a single variable that is never null.
    """
    name, labels = only_variable(condition), label_condition(condition)
    for place, node in enumerate(graph.nodes):
        if node.name == name:
            if labels is not None:
                node = replace(node, labels=both(node.labels, labels))
            else:
                node = replace(node, predicates=(*node.predicates, condition))
            return replace(graph, nodes=(*graph.nodes[:place], node, *graph.nodes[place + 1 :]))
    for place, edge in enumerate(graph.relationships):
        if edge.name == name and edge.hops is None:
            if labels is not None:
                edge = replace(edge, types=both(edge.types, labels))
            else:
                edge = replace(edge, predicates=(*edge.predicates, condition))
            others = graph.relationships
            return replace(graph, relationships=(*others[:place], edge, *others[place + 1 :]))
    return replace(graph, predicates=(condition, *graph.predicates))
