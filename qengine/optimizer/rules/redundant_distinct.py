"""Leaves out a ``Distinct`` over rows that are different already.

Why: each row would be hashed and kept for nothing.
When: below it, with nothing between but operators that drop or sort rows, or a ``Project`` that keeps all columns that
make the rows different, stands another ``Distinct`` or an ``Aggregate``.
Wrong for: ``WITH DISTINCT a, b RETURN DISTINCT a``, whose projection makes rows alike.
"""

from __future__ import annotations

from qengine.optimizer.rules.tree import changes
from qengine.plan.expr import Variable
from qengine.plan.logical import Aggregate, Distinct, Filter, Limit, Operator, Project, Skip, Sort


@changes(Distinct)
def redundant_distinct(operator: Operator) -> Operator:
    """Apply the rule to one operator."""
    if isinstance(operator, Distinct) and _key(operator.input) is not None:
        return operator.input
    return operator


def _key(operator: Operator) -> frozenset[str] | None:
    """Return columns by which an operator's rows are different, None if they may be alike."""
    match operator:
        case Aggregate(keys=keys):
            return frozenset(name for name, _ in keys)
        case Distinct(input=Project(items=items)):
            return frozenset(name for name, _ in items)
        case Distinct() | Filter() | Limit() | Skip() | Sort():
            return _key(operator.input)
        case Project(items=items):
            below = _key(operator.input)
            kept = {expr.name: name for name, expr in items if isinstance(expr, Variable)}
            if below is not None and below <= kept.keys():
                return frozenset(kept[name] for name in below)
    return None
