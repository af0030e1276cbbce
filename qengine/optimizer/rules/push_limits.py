"""Limits the input of an ``OPTIONAL MATCH`` below a ``Limit``: it gives at least a row for each of its input.

Why: it would be looked for in as many rows as a batch has.
When: between the two stand only ``Project`` and ``Skip``, whose rows are added.
Wrong for: ``MATCH`` and ``UNWIND``, which drop rows; ``Sort`` and ``Distinct``, which need all.
"""

from __future__ import annotations

from qengine._frozen import replace
from qengine.optimizer.rules.top_k import added
from qengine.optimizer.rules.tree import changes
from qengine.plan.expr import Expr
from qengine.plan.logical import Limit, Match, Operator, Project, Skip


@changes(Limit)
def push_limits(operator: Operator) -> Operator:
    """Apply the rule to one operator."""
    if not isinstance(operator, Limit):
        return operator
    below = _push(operator.input, operator.count)
    return operator if below is operator.input else replace(operator, input=below)


def _push(operator: Operator, count: Expr) -> Operator:
    match operator:
        case Project():
            below = _push(operator.input, count)
        case Skip():
            below = _push(operator.input, added(operator.count, count))
        case Match(optional=True):
            below = Limit(_push(operator.input, count), count)
        case _:
            return operator
    return operator if below is operator.input else replace(operator, input=below)
