"""Takes subqueries out of expressions: each becomes an ``Attach`` below, and a column in the expression."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

from qengine.catalog.view import CatalogView
from qengine.optimizer.intervals import expected_rows
from qengine.optimizer.lower.comprehensions import unscoped
from qengine.optimizer.lower.demand import Demand, Duplicates, Reads
from qengine.optimizer.rules import rewritten
from qengine.plan.columns import columns_of
from qengine.plan.expr import Expr, Subquery, Variable
from qengine.plan.logical import Operator
from qengine.plan.physical import Attach
from qengine.plan.traverse import preorder, rewrite


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
        lowered = lower(rewritten(expr.plan), Demand(wanted, duplicates, rows.high, rows.low, Reads.FEW), catalog)
        name = next(each for each in fresh if each not in names)
        state = Attach(state, lowered.root, expr.kind, name, expr.outer, lowered.weight)
        names.append(name)
        return Variable(name, type=expr.type, span=expr.span)

    changed = tuple([rewrite(unscoped(expr), change) for expr in exprs])
    return state, tuple(names), changed


def lower_part(part: Operator, wanted: frozenset[str], catalog: CatalogView) -> Operator:
    """Return the lowered form of a plan whose every row is read, as that of a quantified path's repetition."""
    from qengine.optimizer.lower.tail import lower

    return lower(rewritten(part), Demand(wanted), catalog).root
