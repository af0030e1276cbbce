"""Makes one look-up of several alternatives: ``n.x = 1 OR n.x = 2`` is ``n.x IN [1, 2]``.

Why: a column is read once, however many values there are, and estimators know what a list of values selects.
When: operands of one OR compare the same property with constants or parameters by ``=``. ``IN`` compares by ``=`` too,
so that null, missing values and values of other types give the same.
Wrong for: alternatives of different properties, and for ``<>`` or ``AND``; beside one that can fail, which isn't looked
at behind an alternative that holds.
"""

from __future__ import annotations

from qengine._frozen import replace
from qengine.optimizer.rules.tree import changes, with_expressions
from qengine.plan.expr import Call, Comparison, Expr, Literal, Logical, Parameter, Property, Variable, list_of_items
from qengine.plan.fallible import condition_can_fail
from qengine.plan.logical import Filter, Match, Operator, Project
from qengine.plan.traverse import rewrite
from qengine.types import BOOLEAN


@changes(Filter, Project, Match, reading=(Logical,))
def equalities_to_lists(operator: Operator) -> Operator:
    """Apply the rule to one operator's expressions."""
    return with_expressions(operator, lambda expr: rewrite(expr, _listed))


def _listed(expr: Expr) -> Expr:
    if not isinstance(expr, Logical) or expr.op != "OR" or any(map(condition_can_fail, expr.args)):
        return expr
    values: dict[Expr, list[Expr]] = {}
    for arg in expr.args:
        for subject, value in _equality(arg):
            values.setdefault(subject, []).append(value)
    args: list[Expr] = []
    for arg in expr.args:
        found = _equality(arg)
        if not found or len(values[found[0][0]]) == 1:
            args.append(arg)
        elif found[0][1] is values[found[0][0]][0]:  # the list stands where the first of them stood
            subject = found[0][0]
            alternatives = list_of_items(tuple(dict.fromkeys(values[subject])))
            args.append(Call("IN", (subject, alternatives), type=BOOLEAN, span=arg.span))
    if len(args) == len(expr.args):
        return expr
    return args[0] if len(args) == 1 else replace(expr, args=tuple(args))


def _equality(expr: Expr) -> list[tuple[Expr, Expr]]:
    """Return the property and the value that a condition compares, nothing if it isn't of that form."""
    match expr:
        case Comparison(ops=("=",), args=(Property(subject=Variable()) as subject, Literal() | Parameter() as value)):
            return [(subject, value)]
        case Comparison(ops=("=",), args=(Literal() | Parameter() as value, Property(subject=Variable()) as subject)):
            return [(subject, value)]
    return []
