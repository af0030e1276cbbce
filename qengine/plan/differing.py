"""Searches that may admit other elements each time that they run."""

from __future__ import annotations

from qengine.catalog.functions import lookup
from qengine.plan.expr import Call, Expr, Literal, OfNode, Parameter, UserCall
from qengine.plan.physical import Search
from qengine.plan.traverse import preorder

__all__ = ["differs"]

_CONSTANTS = frozenset({"date", "datetime", "duration", "localdatetime", "localtime", "time"})
"""Functions whose calls with literals are constants."""


def differs(search: Search) -> bool:
    """Tell whether predicates may admit other vertices in another execution: by parameters, chance or the clock."""
    parts = (part for level in search.levels for predicate in level.predicates for part in preorder(predicate))
    return any(isinstance(part, Parameter | OfNode | UserCall) or _is_function(part) for part in parts)


def _is_function(part: Expr) -> bool:
    if not isinstance(part, Call):
        return False
    if part.name in _CONSTANTS and part.args and all(isinstance(arg, Literal) for arg in part.args):
        return False
    called = lookup(part.name)
    return called is not None and called.kind != "operator"
