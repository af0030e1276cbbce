"""Evaluates subqueries of a projection for the rows that ``LIMIT`` leaves alone.

Why: ``RETURN a, COUNT { … } AS n ORDER BY a.x LIMIT 10`` would count for every ``a``.
When: a projection has subqueries that can't fail; above it stand ``Limit`` and ``Skip``, or a ``Sort`` whose limit is
known and whose keys don't read them.
Wrong for: what differs each time that it is evaluated; what the query would fail by; columns named like a variable that
a subquery reads.
"""

from __future__ import annotations

from collections.abc import Mapping

from qengine._frozen import replace
from qengine.optimizer.rules.tree import changes, nodes_in
from qengine.plan.expr import Expr, Subquery, Variable
from qengine.plan.fallible import can_fail
from qengine.plan.logical import Limit, Operator, Project, Skip, Sort
from qengine.plan.traverse import free_variables, is_volatile, preorder


@changes(Limit, Sort, reading=(Subquery,))
def late_subqueries(operator: Operator) -> Operator:
    """Apply the rule to one operator."""
    if isinstance(operator, Sort) and operator.limit is not None and isinstance(operator.input, Project):
        read = frozenset().union(*(free_variables(key.expr) for key in operator.keys))
        return _above(operator, operator.input, read)
    if isinstance(operator, Limit):
        below = operator.input.input if isinstance(operator.input, Skip) else operator.input
        if isinstance(below, Project):
            return _above(operator, below, frozenset())
    return operator


def _above(operator: Operator, project: Project, read: frozenset[str]) -> Operator:
    """Return an operator with the subqueries of the projection below it above it, but for columns that it reads."""
    late = {name: expr for name, expr in project.items if name not in read and _can_wait(expr)}
    carried = frozenset[str]().union(*map(free_variables, late.values()))
    items = dict(project.items)
    if not late or not all(_is_itself(name, items) for name in carried):
        return operator
    kept = {name: expr for name, expr in project.items if name not in late}
    below = replace(project, items=(*kept.items(), *((name, Variable(name)) for name in sorted(carried - kept.keys()))))
    named = ((name, late.get(name, Variable(name, type=expr.type))) for name, expr in project.items)
    return Project(_over(operator, project, below), tuple(named))


def _over(operator: Operator, project: Project, below: Project) -> Operator:
    """Return operators over another projection."""
    return below if operator is project else replace(operator, input=_over(operator.input, project, below))  # type: ignore[attr-defined]


def _can_wait(expr: Expr) -> bool:
    found = any(isinstance(part, Subquery) for part in preorder(expr))
    return found and not can_fail(expr) and not any(map(is_volatile, nodes_in(expr)))


def _is_itself(name: str, items: Mapping[str, Expr]) -> bool:
    """Tell whether a variable can be carried through a projection under its name."""
    expr = items.get(name)
    return expr is None or (isinstance(expr, Variable) and expr.name == name)
