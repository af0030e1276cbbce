"""Groups by expressions where they are read, instead of by columns of a ``Project`` below that hold them.

Why: ``WITH a.city AS city, b.age AS age RETURN city, avg(age)`` is ``RETURN a.city, avg(b.age)``: each key and argument
is of one variable then, so that rows are folded or summed out, and estimates know of which property a key is.
When: an ``Aggregate`` over a ``Project`` whose expressions give the same whenever they are evaluated; what isn't merely
looked up is read once above, so that it is evaluated once a row.
Wrong for: ``rand()``; an expression that nobody reads and that may fail; subqueries, which stay where they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from qengine._frozen import replace
from qengine.optimizer.rules.tree import changes
from qengine.plan.expr import Expr, PathOf, Variable
from qengine.plan.logical import Aggregate, Operator, Project
from qengine.plan.predicates import is_cheap
from qengine.plan.traverse import is_repeatable, preorder, substitute


@changes(Aggregate)
def inlined_keys(operator: Operator) -> Operator:
    """Apply the rule to one operator, whose input it has been applied to."""
    if not isinstance(operator, Aggregate) or not isinstance(operator.input, Project) or operator.weight is not None:
        return operator
    items = dict(operator.input.items)
    exprs: list[Expr] = [expr for _, expr in operator.keys]
    exprs += [call for _, call in operator.aggregates]
    parts = [part for expr in exprs for part in preorder(expr)]
    if not all(map(is_repeatable, (*items.values(), *exprs))) or any(isinstance(each, PathOf) for each in parts):
        return operator
    read = Counter(part.name for part in parts if isinstance(part, Variable) and part.name in items)
    if not all(is_cheap(expr) or read[name] == 1 for name, expr in items.items()):
        return operator
    keys = tuple((name, _inlined(expr, items)) for name, expr in operator.keys)
    aggregates = tuple((name, _inlined(call, items)) for name, call in operator.aggregates)
    return replace(operator, input=operator.input.input, keys=keys, aggregates=aggregates)


def _inlined(expr: Expr, items: Mapping[str, Expr]) -> Expr:
    return substitute(expr, lambda part: items.get(part.name) if isinstance(part, Variable) else None)
