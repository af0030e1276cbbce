"""Asks whether there is a row, where a subquery's count is only compared with nothing.

Why: ``COUNT {…} > 0`` counts every match, ``EXISTS {…}`` stops at the first.
When: the count stands against a constant that it reaches with the first row or never: ``> 0``, ``>= 1``, ``<> 0``, and
``= 0``, ``< 1``, ``<= 0`` for none; either way round.
Wrong for: ``COUNT {…} > 1``, which needs a second row.
"""

from __future__ import annotations

from qengine._frozen import replace
from qengine.optimizer.rules.tree import changes, with_expressions
from qengine.plan.expr import Call, Comparison, Expr, Literal, Subquery
from qengine.plan.logical import Filter, Match, Operator, Project
from qengine.plan.traverse import rewrite
from qengine.types import BOOLEAN

_SOME = {(">", 0), (">=", 1), ("<>", 0)}
_NONE = {("=", 0), ("<", 1), ("<=", 0)}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>"}


@changes(Filter, Project, Match, reading=(Subquery,))
def counts_to_existence(operator: Operator) -> Operator:
    """Apply the rule to one operator's expressions."""
    return with_expressions(operator, lambda expr: rewrite(expr, _asked))


def _asked(expr: Expr) -> Expr:
    match expr:
        case Comparison(ops=(op,), args=(Subquery(kind="count") as counted, Literal(value=value))):
            pass
        case Comparison(ops=(turned,), args=(Literal(value=value), Subquery(kind="count") as counted)):
            op = _TURNED[turned]
        case _:
            return expr
    if type(value) is not int or (op, value) not in _SOME | _NONE:
        return expr
    exists = replace(counted, kind="exists", type=BOOLEAN, span=expr.span)
    return exists if (op, value) in _SOME else Call("NOT", (exists,), type=BOOLEAN, span=expr.span)
