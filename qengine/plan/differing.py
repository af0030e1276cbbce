"""Searches that may admit other elements each time that they run."""

from __future__ import annotations

from qengine.catalog.functions import lookup
from qengine.plan.expr import Call, Expr, Literal, OfNode, Parameter, UserCall
from qengine.plan.physical import Level, Search
from qengine.plan.traverse import preorder

_CONSTANTS = frozenset({"date", "datetime", "duration", "localdatetime", "localtime", "time"})
"""Functions whose calls with literals are constants."""


_OF_EXECUTION = _CONSTANTS | {"timestamp", "file", "linenumber"}
"""What the names of functions begin with that may ask the clock, or for the line of a file that is loaded."""


def differs(search: Search) -> bool:
    """Tell whether predicates may admit other vertices in another execution: by parameters, chance or the clock."""
    return any(map(level_differs, search.levels))


def level_differs(level: Level) -> bool:
    """Tell the same of one level."""
    parts = (part for predicate in level.predicates for part in preorder(predicate))
    return any(isinstance(part, Parameter | OfNode | UserCall) or _may_differ(part) for part in parts)


def _may_differ(part: Expr) -> bool:
    called = lookup(part.name) if isinstance(part, Call) else None
    if called is None:
        return False
    if called.name in _CONSTANTS and part.args and all(isinstance(arg, Literal) for arg in part.args):  # type: ignore[attr-defined]
        return False
    return not called.deterministic or called.name.split(".")[0] in _OF_EXECUTION
