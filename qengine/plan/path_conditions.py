"""Conditions on all relationships or nodes of a walk, read as conditions on each of them.

``all(x IN r WHERE c)`` holds where ``c`` is true for each ``x``, ``none(x IN r WHERE c)`` and ``NOT any(…)`` where it
is false for each; if ``c`` is null for one, neither is true.
"""

from __future__ import annotations

from typing import Literal

from qengine._frozen import frozen, replace
from qengine.plan.expr import Call, Expr, Quantifier, Variable
from qengine.plan.traverse import conjuncts, only_variable, substitute
from qengine.types import BOOLEAN, NODE, RELATIONSHIP


@frozen
class EachCondition:
    """``condition`` is true for each of the ``of`` (nodes or relationships) of the list or path ``source``.

    ``source``: the name of a list of relationships, or of a path where ``of`` is asked of it by name.
    """

    of: Literal["nodes", "relationships"]
    source: str
    variable: str
    condition: Expr

    def on(self, name: str) -> tuple[Expr, ...]:
        """Return the condition as conjuncts that speak of an element called ``name``."""
        element = Variable(name, type=NODE if self.of == "nodes" else RELATIONSHIP)

        def renamed(expr: Expr) -> Expr | None:
            return element if isinstance(expr, Variable) and expr.name == self.variable else None

        return conjuncts(substitute(self.condition, renamed))


def each_condition(predicate: Expr) -> EachCondition | None:
    """Read a condition as one on each node or relationship of a list or path, None if it is none.

    Conditions that compare with other variables are none: they can't be looked up by element alone.
    """
    if isinstance(predicate, Call) and predicate.name == "NOT":
        (inner,) = predicate.args
        if not isinstance(inner, Quantifier) or inner.quantifier != "any":
            return None
        predicate = replace(inner, quantifier="none")
    if not isinstance(predicate, Quantifier) or predicate.quantifier not in ("all", "none"):
        return None
    condition = predicate.condition
    if only_variable(condition) != predicate.variable:
        return None
    if predicate.quantifier == "none":
        condition = Call("NOT", (condition,), type=BOOLEAN, span=condition.span)
    match predicate.source:
        case Variable(name=name):
            return EachCondition("relationships", name, predicate.variable, condition)
        case Call(name="relationships", args=(Variable(name=name),)):
            return EachCondition("relationships", name, predicate.variable, condition)
        case Call(name="nodes", args=(Variable(name=name),)):
            return EachCondition("nodes", name, predicate.variable, condition)
    return None
