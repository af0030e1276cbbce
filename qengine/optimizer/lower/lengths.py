"""Lowers shortest paths of which nothing but the length is read: then no path is made."""

from __future__ import annotations

from collections.abc import Sequence

from qengine._frozen import replace
from qengine.plan.expr import Call, Expr, Literal, PathOf, Variable
from qengine.plan.logical import Filter, Limit, Operator, Project, Skip, Sort
from qengine.plan.physical import Shortest
from qengine.plan.traverse import free_variables, rewrite
from qengine.types import INTEGER

_LENGTHS = frozenset({"length", "size"})
_KNOWN = "@length "


def lengths_alone(root: Operator, exprs: Sequence[Expr]) -> tuple[Operator, tuple[Expr, ...]]:
    """Return an operator and all that is read of it, with shortest paths' lengths in the place of the paths."""
    if not _is_over_shortest(root):
        return root, tuple(exprs)
    read = frozenset[str]().union(*map(free_variables, exprs))
    for name in sorted(read):
        changed = [_of_length(expr, name) for expr in exprs]
        found = _with_length(root, name, read - {name}) if None not in changed else None
        if found is not None:
            return lengths_alone(found, [expr for expr in changed if expr is not None])
    return root, tuple(exprs)


def _is_over_shortest(operator: Operator) -> bool:
    """Tell whether there may be a path at all below an operator."""
    while isinstance(operator, Filter | Limit | Project | Skip | Sort):
        operator = operator.input
    return isinstance(operator, Shortest)


def _of_length(expr: Expr, name: str) -> Expr | None:
    """Return an expression that reads the length in column ``name``, None where it reads more of a path there."""

    def change(part: Expr) -> Expr:
        if isinstance(part, Call) and part.name in _LENGTHS and len(part.args) == 1:
            (path,) = part.args
            nodes = isinstance(path, Call) and path.name == "nodes"
            if isinstance(path, Call) and path.name in ("nodes", "relationships"):
                (path,) = path.args
            if nodes and isinstance(path, Variable) and path.name == name:
                known = Variable(_KNOWN + name, type=INTEGER)
                return Call("+", (known, Literal(1, type=INTEGER)), type=INTEGER, span=part.span)
            if isinstance(path, Variable) and path.name == name:
                return Variable(_KNOWN + name, type=INTEGER, span=part.span)
        return part

    changed = rewrite(expr, change)
    if name in free_variables(changed):
        return None
    length = Variable(name, type=INTEGER)
    return rewrite(changed, lambda part: length if isinstance(part, Variable) and part.name == _KNOWN + name else part)


def _with_length(operator: Operator, name: str, read: frozenset[str]) -> Operator | None:
    """Return an operator with the length of a path, or of its relationships, in their column.

    ``read``: the other columns that something above reads. None: there is no such path, or more of it is read.
    """
    match operator:
        case Shortest(relationships=relationships) if relationships == name:
            return replace(operator, relationships=None, hops=name)
        case Limit(input=below) | Skip(input=below):
            found = _with_length(below, name, read)
            return None if found is None else replace(operator, input=found)
        case Sort(input=below, keys=keys):
            by = [_of_length(each.expr, name) for each in keys]
            reads = frozenset[str]().union(*(free_variables(each.expr) for each in keys))
            found = None if None in by else _with_length(below, name, read | (reads - {name}))
            if found is None:
                return None
            new = tuple(replace(key, expr=expr) for key, expr in zip(keys, by, strict=True) if expr is not None)
            return replace(operator, input=found, keys=new)
        case Filter(input=below, predicate=predicate):
            condition = _of_length(predicate, name)
            found = _with_length(below, name, read | (free_variables(predicate) - {name}))
            return None if condition is None or found is None else Filter(found, condition)
        case Project(input=below, items=items):
            inner = _relationships(dict(items).get(name))
            if inner is None:
                return None
            kept = [(each, expr) for each, expr in items if each in read]
            needed = frozenset[str]().union(*(free_variables(expr) for _, expr in kept))
            found = None if inner in needed else _with_length(below, inner, needed)
            return None if found is None else Project(found, (*kept, (name, Variable(inner, type=INTEGER))))
    return None


def _relationships(expr: Expr | None) -> str | None:
    """Return the column of the relationships that make up a path, or a list of them in reverse."""
    match expr:
        case PathOf(elements=(_, name, _)) | Call(name="reverse", args=(Variable(name=name),)) | Variable(name=name):
            return name
    return None
