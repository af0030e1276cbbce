"""Walks over bound expressions and plans: children, free variables, rewriting. Pure functions over immutable trees."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Any

from qengine._deadline import check_planning
from qengine._frozen import replace
from qengine.catalog.functions import lookup
from qengine.errors import Span
from qengine.plan.expr import (
    Call,
    Comparison,
    Expr,
    ListComprehension,
    Literal,
    Logical,
    OfNode,
    Parameter,
    PathOf,
    Quantifier,
    Reduce,
    Subquery,
    UserCall,
    Variable,
    list_of_items,
)
from qengine.plan.logical import Argument, Operator, Step, Union
from qengine.plan.pattern import QueryGraph
from qengine.types import ANY

TURNED = {"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<="}
"""What a comparison's operator is where its sides are exchanged."""

_POLLED = 1024  # nodes between two looks whether to stop


_FEW = 64  # parts of an expression that are remembered

_remember: Callable[[Expr, frozenset[str]], None] = Expr.variables.__set__  # type: ignore[attr-defined]
_remember_parts: Callable[[Expr, tuple[Expr, ...]], None] = Expr.parts.__set__  # type: ignore[attr-defined]
_remember_repeats: Callable[[Expr, bool], None] = Expr.repeats.__set__  # type: ignore[attr-defined]


def children(expr: Expr) -> list[Expr]:
    """Return the direct sub-expressions, in the order in which they are written. Subquery plans are not entered."""
    found: list[Expr] = []
    for name in expr.child_fields:
        value = getattr(expr, name)
        if type(value) is tuple:
            for item in value:
                if isinstance(item, Expr):
                    found.append(item)
                elif type(item) is tuple:
                    _gather(item, found)
        elif isinstance(value, Expr):
            found.append(value)
    return found


def _gather(items: tuple[Any, ...], found: list[Expr]) -> None:
    for item in items:
        if isinstance(item, Expr):
            found.append(item)
        elif isinstance(item, tuple):
            _gather(item, found)


def preorder(expr: Expr) -> Iterator[Expr]:
    """Return the expression and all below it, parents first; many are found only as they are asked for."""
    if (known := getattr(expr, "parts", None)) is not None:
        return chain((expr,), known)
    found = [expr]
    waiting = children(expr) if expr.child_fields else []
    waiting.reverse()
    while waiting:
        if len(found) == _FEW:
            return chain(found, _below(waiting))
        found.append(part := waiting.pop())
        if part.child_fields:
            waiting += reversed(children(part))
    _remember_parts(expr, tuple(found[1:]))  # not itself: that would be a circle
    return iter(found)


def _below(waiting: list[Expr]) -> Iterator[Expr]:
    seen = 0
    while waiting:
        expr = waiting.pop()
        yield expr
        seen += 1
        if not seen % _POLLED:
            check_planning()
        if expr.child_fields:
            waiting += reversed(children(expr))


def bound_names(expr: Expr) -> frozenset[str]:
    """Return the names that the expression itself binds for some of its children."""
    if isinstance(expr, (ListComprehension, Quantifier)):
        return frozenset((expr.variable,))
    if isinstance(expr, Reduce):
        return frozenset((expr.accumulator, expr.variable))
    return frozenset()


def free_variables(expr: Expr) -> frozenset[str]:
    """Return the names of the input columns that the expression reads.

    A comprehension's variable hides a column of the same name in the whole comprehension: binders give such
    variables names of their own, so the source never reads the hidden column.
    """
    known: frozenset[str] | None = getattr(expr, "variables", None)
    if known is not None:
        return known
    found: frozenset[str] = frozenset()
    if isinstance(expr, Variable):
        found = frozenset((expr.name,))
    elif isinstance(expr, PathOf):
        found = frozenset(expr.elements)
    elif isinstance(expr, Subquery):
        found = frozenset(expr.outer)
    elif expr.child_fields:
        for place, child in enumerate(children(expr), 1):
            if not place % _POLLED:
                check_planning()
            read = free_variables(child)
            found = found | read if found else read  # most read what one child reads: the set is theirs, too
        if bound := bound_names(expr):
            found -= bound
    _remember(expr, found)
    return found


def only_variable(expr: Expr) -> str | None:
    """Return the only variable that a condition reads, if its value depends on nothing else; None if it may."""
    names = free_variables(expr)
    return next(iter(names)) if len(names) == 1 and is_repeatable(expr) else None


def is_repeatable(expr: Expr) -> bool:
    """Tell whether an expression has no subquery and gives the same whenever and however often it is evaluated."""
    known: bool | None = getattr(expr, "repeats", None)
    if known is None:
        _remember_repeats(expr, known := _repeats(expr))
    return known


def _repeats(expr: Expr) -> bool:
    return not any(type(part) is Subquery or is_volatile(part) for part in preorder(expr))


def differs_each_time(expr: Expr) -> bool:
    """Tell whether an expression may give another value each time that it is evaluated, subqueries aside."""
    return not is_repeatable(expr) and any(map(is_volatile, preorder(expr)))


def is_volatile(part: Any) -> bool:
    """Tell whether a node of a plan is a function that may give another value each time, its arguments aside."""
    kind = type(part)
    if kind is Call:
        function = lookup(part.name)
        return function is not None and not function.deterministic
    return kind is UserCall and not part.function.deterministic


def rewrite(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """Return the expression with ``change`` applied to every node, children first."""
    return change(_with_children(expr, lambda child: rewrite(child, change)) if expr.child_fields else expr)


def substitute(expr: Expr, choose: Callable[[Expr], Expr | None]) -> Expr:
    """Return the expression with its topmost parts that ``choose`` has a replacement for replaced."""
    chosen = choose(expr)
    return chosen if chosen is not None else _with_children(expr, lambda child: substitute(child, choose))


def _with_children(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    changes: dict[str, Any] = {}
    for name in expr.child_fields:
        old = getattr(expr, name)
        if isinstance(old, Expr):
            new: Any = change(old)
        elif isinstance(old, tuple):
            new = _changed(old, change)
        else:
            continue
        if new is not old:
            changes[name] = new
    return replace(expr, **changes) if changes else expr


def _changed(items: tuple[Any, ...], change: Callable[[Expr], Expr]) -> tuple[Any, ...]:
    new: list[Any] = []
    for item in items:  # a loop, not a generator: deep expressions have to leave room on the stack
        if isinstance(item, Expr):
            new.append(change(item))
        else:
            new.append(_changed(item, change) if isinstance(item, tuple) else item)
        if not len(new) % _POLLED:
            check_planning()
    return items if all(a is b for a, b in zip(items, new, strict=True)) else tuple(new)


def conjuncts(expr: Expr) -> tuple[Expr, ...]:
    """Split nested ANDs into their operands."""
    if isinstance(expr, Logical) and expr.op == "AND":
        return tuple(part for arg in expr.args for part in conjuncts(arg))
    return (expr,)


def comparisons_in(condition: Expr) -> Iterator[Expr]:
    """Yield conditions that all hold where one does: chains of comparisons are cut."""
    for each in conjuncts(condition):
        if isinstance(each, Comparison) and len(each.ops) > 1:
            for op, left, right in zip(each.ops, each.args, each.args[1:], strict=False):
                yield replace(each, ops=(op,), args=(left, right))
        else:
            yield each


def conjunction(parts: tuple[Expr, ...]) -> Expr:
    """Join one or more conditions with AND."""
    return parts[0] if len(parts) == 1 else Logical("AND", parts)


def nodes_of(tree: Any) -> Iterator[Any]:
    """Yield a plan's nodes and those of patterns, steps, expressions and subqueries, parents first."""
    waiting = [tree]
    while waiting:
        each = waiting.pop()
        if type(each) is tuple:
            waiting += each
        elif (fields := getattr(each, "child_fields", None)) is not None:
            yield each
            waiting += [getattr(each, name) for name in fields]


def parameters(plan: Any) -> dict[str, Span | None]:
    """Return the parameters that a plan (any tree of plan nodes) reads, with the place of the first mention."""
    found: dict[str, Span | None] = {}
    todo = [plan]
    seen = 0
    while todo:
        node = todo.pop()
        seen += 1
        if not seen % _POLLED:
            check_planning()
        if type(node) is tuple:
            todo += node[::-1]
        elif type(node) is Parameter:
            found.setdefault(node.name, node.span)
        elif names := getattr(node, "child_fields", ()):  # the items of tuples may be no nodes
            for name in names[::-1]:
                if part := getattr(node, name):
                    todo.append(part)
    return found


def with_values(tree: Any, values: Mapping[str, Any]) -> Any:
    """Return any tree of plan nodes with literals in place of the parameters that have values."""
    if isinstance(tree, tuple):
        new = tuple(with_values(each, values) for each in tree)
        return tree if all(a is b for a, b in zip(tree, new, strict=True)) else new
    if isinstance(tree, Parameter) and tree.name in values:
        value = values[tree.name]
        if not isinstance(value, list):
            return Literal(value, type=tree.type, span=tree.span)
        return list_of_items(tuple(Literal(each, type=tree.type.item or ANY) for each in value), type=tree.type)
    olds = {name: getattr(tree, name) for name in getattr(tree, "child_fields", ())}
    news = {name: new for name, old in olds.items() if (new := with_values(old, values)) is not old}
    return replace(tree, **news) if news else tree


def rewrite_plan(plan: Operator, change: Callable[[Operator], Operator]) -> Operator:
    """Return a plan with ``change`` applied to every operator, inputs first, in the plans of subqueries too."""

    def inside(expr: Expr) -> Expr:
        if not isinstance(expr, (Subquery, OfNode)):
            return expr
        inner = rewrite_plan(expr.plan, change)
        return expr if inner is expr.plan else replace(expr, plan=inner)

    def changed(value: Any) -> Any:
        if isinstance(value, Operator):
            return rewrite_plan(value, change)
        if isinstance(value, Expr):
            nested = any(isinstance(part, (Subquery, OfNode)) for part in preorder(value))
            return rewrite(value, inside) if nested else value
        if isinstance(value, tuple):
            new = tuple(map(changed, value))
            return value if all(a is b for a, b in zip(value, new, strict=True)) else new
        if isinstance(value, QueryGraph):  # subqueries stand nowhere else in it
            predicates = changed(value.predicates)
            return value if predicates is value.predicates else replace(value, predicates=predicates)
        return with_changes(value)

    def with_changes(node: Any) -> Any:
        olds = {name: getattr(node, name) for name in getattr(node, "child_fields", ())}
        news = {name: new for name, old in olds.items() if (new := changed(old)) is not old}
        return replace(node, **news) if news else node

    return change(with_changes(plan))


def operators(plan: Operator) -> Iterator[Operator]:
    """Yield the operators of a plan, parents first, in steps of updates too; not those of subqueries in expressions."""
    waiting: list[Any] = [plan]
    while waiting:
        each = waiting.pop()
        if isinstance(each, Operator):
            yield each
        for name in reversed(each.child_fields):
            value = getattr(each, name)
            if isinstance(value, Operator):
                waiting.append(value)
            elif isinstance(value, tuple) and value and isinstance(value[0], (Operator, Step)):
                waiting += reversed(value)


def started(plan: Operator, leaf: Argument) -> Operator:
    """Return a subquery's plan with another leaf in the place of each ``Argument`` that it starts with."""
    if isinstance(plan, Argument):
        return leaf
    if isinstance(plan, Union):
        return replace(plan, inputs=tuple(started(each, leaf) for each in plan.inputs))
    return replace(plan, input=started(plan.input, leaf))  # type: ignore[attr-defined]
