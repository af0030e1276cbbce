"""Groups and orders by the parts of lists and maps, and makes these of the parts of each group or row.

Why: ``RETURN [a.age, b.age] AS pair, count(*)`` would make and hash a list for each row. Lists and maps are the same
where their parts are, and numbers and strings are grouped by columns, or folded as rows are found. Lists of as many
items are ordered as by one item after the other. Different lists are as many as maps of their items, which are columns
of the items' types.
When: a key of an ``Aggregate``, a column that ``DISTINCT`` reads or that rows are ordered by, or what ``count(DISTINCT
…)`` counts, is written as a list, or but for orders as a map.
Wrong for: ``{x: 1, x: a.age}``, in which a part is no part of the map; keys that are all constants, for without any
there would be a group of no rows; orders by a list and by what is made of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from qengine._frozen import replace
from qengine.optimizer.rules.tree import changes
from qengine.plan.expr import AggregateCall, Expr, ListOf, MapOf, Variable
from qengine.plan.logical import Aggregate, Distinct, Operator, Project, Sort, SortKey
from qengine.plan.traverse import free_variables, is_repeatable
from qengine.types import MAP

_Named = tuple[tuple[str, Expr], ...]


@changes(Aggregate, Distinct, Sort, reading=(ListOf, MapOf))
def keys_in_parts(operator: Operator) -> Operator:
    """Apply the rule to one operator."""
    if isinstance(operator, Sort):
        return _sorted(operator)
    if isinstance(operator, Aggregate):
        operator = _counting_maps(operator)
        if (found := _parts(operator.keys)) is None:
            return operator
        keys, made = found
        aggregates = tuple((name, Variable(name, type=call.type)) for name, call in operator.aggregates)
        return Project(replace(operator, keys=keys), (*made, *aggregates))
    below = operator.input if isinstance(operator, Distinct) else None
    if isinstance(below, Project) and (found := _parts(below.items)) is not None:
        return Project(Distinct(replace(below, items=found[0])), found[1])
    return operator


def _counting_maps(operator: Aggregate) -> Aggregate:
    """Return an aggregate that counts different maps where it counted different lists of as many items."""
    if not any(map(_counts_lists, (call for _, call in operator.aggregates))):
        return operator
    aggregates = tuple(
        (name, replace(call, args=(_map_of(call.args[0]),)) if _counts_lists(call) else call)
        for name, call in operator.aggregates
    )
    return replace(operator, aggregates=aggregates)


def _counts_lists(call: AggregateCall) -> bool:
    return call.name == "count" and call.distinct and type(call.args[0]) is ListOf


def _map_of(expr: Expr) -> MapOf:
    assert isinstance(expr, ListOf)
    return MapOf(tuple((f"item{place}", item) for place, item in enumerate(expr.items)), type=MAP)


def _sorted(operator: Sort) -> Operator:
    """Return an order by lists as one by their items, which are put together above it."""
    below = operator.input
    items = dict(below.items) if isinstance(below, Project) else {}
    lists: dict[str, Expr] = {}
    for key in operator.keys:
        if isinstance(key.expr, Variable) and (expr := items.get(key.expr.name)) is not None and type(expr) is ListOf:
            lists[key.expr.name] = expr
    if not lists and not any(type(key.expr) is ListOf for key in operator.keys):
        return operator
    parts: list[tuple[str, Expr]] = []
    made = {name: _parted(name, expr, parts) for name, expr in lists.items()}
    keys = tuple(
        SortKey(item, key.ascending)
        for key in operator.keys
        for item in _items(made.get(key.expr.name, key.expr) if isinstance(key.expr, Variable) else key.expr)
    )
    if not keys or any(free_variables(key.expr) & lists.keys() for key in keys):
        return operator
    if not made:
        return replace(operator, keys=keys)
    assert isinstance(below, Project)
    kept = tuple((name, expr) for name, expr in below.items if name not in made)
    ordered = replace(operator, input=replace(below, items=(*kept, *parts)), keys=keys)
    return Project(ordered, tuple((name, made.get(name, Variable(name, type=expr.type))) for name, expr in below.items))


def _items(expr: Expr) -> Iterator[Expr]:
    """Yield the expressions by which rows are ordered as by one; none for constants."""
    if type(expr) is ListOf:
        for item in expr.items:
            yield from _items(item)
    elif free_variables(expr) or not is_repeatable(expr):
        yield expr


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
