"""Takes subqueries out of expressions: each becomes an ``Attach`` below, and a column in the expression."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

from qengine._frozen import replace
from qengine.catalog.view import CatalogView
from qengine.errors import Unsupported
from qengine.optimizer.intervals import expected_rows
from qengine.optimizer.lower.demand import Demand, Duplicates, Reads
from qengine.optimizer.rules import rewritten
from qengine.plan.columns import columns_of
from qengine.plan.expr import (
    Call,
    Case,
    Expr,
    ListComprehension,
    ListOf,
    Literal,
    Quantifier,
    Reduce,
    Subquery,
    Variable,
)
from qengine.plan.logical import Argument, Operator, Project, Unwind
from qengine.plan.physical import Attach
from qengine.plan.traverse import free_variables, preorder, rewrite, substitute
from qengine.types import ANY, BOOLEAN, INTEGER, LIST, NULL, Type

_Comprehension = ListComprehension | Quantifier | Reduce
_PER_ITEM = {ListComprehension: ("condition", "result"), Quantifier: ("condition",), Reduce: ("step", "condition")}


def unscoped(expr: Expr) -> Expr:
    """Return an equal expression in which no subquery reads a comprehension's variable.

    Raises
    ------
    Unsupported
        Where a subquery reads the accumulator of reduce(): it is known only item after item.
    """
    return rewrite(expr, lambda each: _unscoped(each) if isinstance(each, _Comprehension) else each)


def _unscoped(expr: _Comprehension) -> Expr:
    parts: dict[str, Expr] = {name: getattr(expr, name) for name in _PER_ITEM[type(expr)] if getattr(expr, name)}
    inside = (each for part in parts.values() for each in preorder(part) if isinstance(each, Subquery))
    subqueries = [each for each in dict.fromkeys(inside) if expr.variable in each.outer]
    if isinstance(expr, Reduce):
        _refuse_accumulator(expr)
    if not subqueries:
        return expr
    item = Variable(f"{expr.variable}@item", type=LIST)

    def chosen(each: Expr) -> Expr | None:
        if isinstance(each, Variable) and each.name == expr.variable:
            return _place(item, 0, each.type)
        if isinstance(each, Subquery) and each in subqueries:
            return _place(item, 1 + subqueries.index(each), each.type)
        return None

    changes: dict[str, Any] = {name: substitute(part, chosen) for name, part in parts.items()}
    if isinstance(expr, ListComprehension) and expr.result is None:
        changes["result"] = _place(item, 0, expr.type.item or ANY)
    return replace(expr, variable=item.name, source=_with_values(expr, subqueries), **changes)


def _with_values(expr: _Comprehension, subqueries: Sequence[Subquery]) -> Expr:
    """Return the list with each item beside what the subqueries give for it; null for a null list."""
    outer = dict.fromkeys(name for each in subqueries for name in each.outer if name != expr.variable)
    outer.update(dict.fromkeys(sorted(free_variables(expr.source))))
    values = ListOf((Variable(expr.variable), *subqueries))
    items = Unwind(Argument(tuple(outer)), expr.source, expr.variable)
    collected = Subquery("collect", Project(items, ((f"{expr.variable}@values", values),)), tuple(outer), type=LIST)
    absent = Call("IS NULL", (expr.source,), type=BOOLEAN)
    return Case(((absent, Literal(None, type=NULL)),), collected, type=LIST, span=expr.source.span)


def _place(item: Expr, index: int, type: Type) -> Expr:
    return Call("[]", (item, Literal(index, type=INTEGER)), type=type)


def _refuse_accumulator(expr: Reduce) -> None:
    parts = (expr.step,) if expr.condition is None else (expr.step, expr.condition)
    for each in (each for part in parts for each in preorder(part)):
        if isinstance(each, Subquery) and expr.accumulator in each.outer:
            raise Unsupported(
                "A subquery over the accumulator of reduce() isn't built.",
                span=each.span,
                hint="Read the accumulator outside the subquery.",
            )


def attach_subqueries(
    root: Operator, columns: tuple[str, ...], exprs: Sequence[Expr], catalog: CatalogView
) -> tuple[Operator, tuple[str, ...], tuple[Expr, ...]]:
    """Return the input with a column for each subquery of ``exprs``, its columns, and the expressions without them."""
    if not any(type(part) is Subquery for expr in exprs for part in preorder(expr)):
        return root, columns, tuple(exprs)
    from qengine.optimizer.lower.tail import lower

    state = root
    names = list(columns)
    fresh = (f"@subquery{i}" for i in count(len(columns)))

    def change(expr: Expr) -> Expr:
        nonlocal state
        if not isinstance(expr, Subquery):
            return expr
        duplicates = {"exists": Duplicates.IGNORE, "count": Duplicates.COUNT}.get(expr.kind, Duplicates.KEEP)
        wanted = frozenset(columns_of(expr.plan)) if expr.kind == "collect" else frozenset()
        rows = expected_rows(state, catalog)
        demand = Demand(wanted, duplicates, rows.high, rows.low, Reads.FEW)
        lowered = lower(rewritten(expr.plan), demand, catalog)
        name = next(each for each in fresh if each not in names)
        state = Attach(state, lowered.root, expr.kind, name, expr.outer, lowered.weight)
        names.append(name)
        return Variable(name, type=expr.type, span=expr.span)

    changed = tuple([rewrite(unscoped(expr), change) for expr in exprs])
    return state, tuple(names), changed


def lower_part(part: Operator, wanted: frozenset[str], catalog: CatalogView, times: float = 1.0) -> Operator:
    """Return the lowered form of a plan whose every row is read, as that of a quantified path's repetition.

    ``times``: about how many rows its ``Argument`` stands for.
    """
    from qengine.optimizer.lower.tail import lower

    return lower(rewritten(part), Demand(wanted, times=times, least=times), catalog).root
