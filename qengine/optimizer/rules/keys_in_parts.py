"""Groups by the parts of lists and maps, and makes these of the parts of each group.

Why: ``RETURN [a.age, b.age] AS pair, count(*)`` would make and hash a list for each row. Lists and maps are the same
where their parts are, and numbers and strings are grouped by columns, or folded as rows are found.
When: a key of an ``Aggregate``, or a column that ``DISTINCT`` reads, is written as a list or a map.
Wrong for: ``{x: 1, x: a.age}``, in which a part is no part of the map; keys that are all constants, for without any
there would be a group of no rows.
"""

from __future__ import annotations

from qengine._frozen import replace
from qengine.optimizer.rules.tree import changes
from qengine.plan.expr import Expr, ListOf, MapOf, Variable
from qengine.plan.logical import Aggregate, Distinct, Operator, Project
from qengine.plan.traverse import free_variables, is_repeatable

_Named = tuple[tuple[str, Expr], ...]


@changes(Aggregate, Distinct, reading=(ListOf, MapOf))
def keys_in_parts(operator: Operator) -> Operator:
    """Apply the rule to one operator."""
    if isinstance(operator, Aggregate) and (found := _parts(operator.keys)) is not None:
        keys, made = found
        aggregates = tuple((name, Variable(name, type=call.type)) for name, call in operator.aggregates)
        return Project(replace(operator, keys=keys), (*made, *aggregates))
    below = operator.input if isinstance(operator, Distinct) else None
    if isinstance(below, Project) and (found := _parts(below.items)) is not None:
        return Project(Distinct(replace(below, items=found[0])), found[1])
    return operator


def _parts(named: _Named) -> tuple[_Named, _Named] | None:
    """Return named expressions with lists and maps in parts, and what makes these of them; None where none is one."""
    if not any(map(_is_made, (expr for _, expr in named))):
        return None
    parts: list[tuple[str, Expr]] = []
    made = tuple((name, _parted(name, expr, parts)) for name, expr in named)
    return (tuple(parts), made) if parts else None


def _parted(name: str, expr: Expr, parts: list[tuple[str, Expr]]) -> Expr:
    """Return an expression of its parts, which are added to ``parts`` under names of their own."""
    if _is_made(expr):
        if isinstance(expr, MapOf):
            entries = ((key, _parted(f"@{name}.{key}", each, parts)) for key, each in expr.entries)
            return replace(expr, entries=tuple(entries))
        assert isinstance(expr, ListOf)
        items = (_parted(f"@{name} {place}", each, parts) for place, each in enumerate(expr.items))
        return replace(expr, items=tuple(items))
    if not free_variables(expr) and is_repeatable(expr):
        return expr
    parts.append((name, expr))
    return Variable(name, type=expr.type)


def _is_made(expr: Expr) -> bool:
    """Tell whether an expression is a list or a map of some expressions, all of which it has."""
    if isinstance(expr, MapOf):
        return len(dict(expr.entries)) == len(expr.entries)
    return type(expr) is ListOf
