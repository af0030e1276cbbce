"""UNION, EXCEPT and INTERSECT of queries that give the same columns."""

from __future__ import annotations

from collections.abc import Sequence

from qengine.binder.binding import Binding
from qengine.plan.expr import AggregateCall, Call, Case, Comparison, Expr, Literal, Variable
from qengine.plan.logical import Aggregate, Filter, Operator, Project, Union, Unwind
from qengine.syntax import ast
from qengine.types import INTEGER, Type, list_of


def bind_set_operation(
    binding: Binding, body: ast.UnionQuery, inputs: Sequence[Operator], columns: Sequence[tuple[str, Type]]
) -> Operator:
    """Return the rows that the queries of a body have together.

    EXCEPT and INTERSECT take the queries from left to right, and rows as equal that DISTINCT does: rows of both sides
    are grouped, and the rows of each side counted in each group.

    Parameters
    ----------
    inputs
        The rows of each query, with these columns in this order.
    columns
        Their names and types.

    Raises
    ------
    SemanticError
        Where EXCEPT or INTERSECT has no columns to compare.
    """
    if body.operator == "UNION":
        return Union(tuple(inputs), body.all[0])
    if not columns:
        raise binding.error(
            "UnexpectedSyntax",
            f"{body.operator} compares columns, and these queries return none.",
            body.span,
            "End each with RETURN and what to compare.",
        )
    root = inputs[0]
    for other in inputs[1:]:
        root = _compared(binding, body, root, other, columns)
    return root


def _compared(
    binding: Binding, body: ast.UnionQuery, left: Operator, right: Operator, columns: Sequence[tuple[str, Type]]
) -> Operator:
    items = tuple((name, Variable(name, type=type)) for name, type in columns)
    sides = [Variable(binding.names.anonymous(), type=INTEGER) for _ in range(2)]
    counts = [Variable(binding.names.anonymous(), type=INTEGER) for _ in range(2)]
    marked = [
        Project(root, (*items, *((side.name, _integer(int(side is sides[place]))) for side in sides)))
        for place, root in enumerate((left, right))
    ]
    sums = (AggregateCall("sum", (side,), type=INTEGER) for side in sides)
    groups = Aggregate(
        Union(tuple(marked), True), items, tuple((count.name, each) for count, each in zip(counts, sums, strict=True))
    )
    of_left, of_right = counts
    if not body.all[0]:
        wanted = Comparison(("=" if body.operator == "EXCEPT" else ">",), (of_right, _integer(0)))
        return Project(Filter(Filter(groups, wanted), Comparison((">",), (of_left, _integer(0)))), items)
    times: Expr = Call("-", (of_left, of_right), type=INTEGER)
    if body.operator == "INTERSECT":
        times = Case(((Comparison(("<",), (of_left, of_right)), of_left),), of_right, type=INTEGER)
    every = Call("range", (_integer(1), times), type=list_of(INTEGER))
    return Project(Unwind(groups, every, binding.names.anonymous()), items)


def _integer(value: int) -> Literal:
    return Literal(value, type=INTEGER)
