"""Which values that steps set, or look for, the engine evaluates ahead, for all rows, with what is read before them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from qengine._frozen import frozen
from qengine.exec.scalar.entities import ENTITIES
from qengine.plan import expr as x
from qengine.plan import updates as up
from qengine.plan.expr import Call, Expr, MapOf, Parameter, Property, Variable
from qengine.plan.read_set import keys_read
from qengine.plan.traverse import differs_each_time, free_variables, is_repeatable, nodes_of, preorder

SIMPLE = (x.Literal, x.Parameter, x.Variable, x.Property, x.Call, x.Logical, x.Comparison, x.Case, x.ListOf, x.MapOf)
"""Expressions that read nothing but what is in them: properties are of what they are of."""


@frozen
class Ahead:
    """A value that is evaluated ahead, as column ``name``.

    ``apart``: it reads what the step sets, of its own subject: only where no subject comes twice it is what rows see.
    """

    name: str
    expr: Expr
    apart: bool


def values_ahead(steps: tuple[up.Step, ...]) -> Mapping[int, Ahead]:
    """Return the values by ``id`` of their expressions: those that nothing which steps do can change.

    A step reads what those before it have done, and a row what the step has done for rows before it.
    """
    found: dict[int, Ahead] = {}
    changed: set[str] = set()
    made: set[str] = set()
    only_properties = True  # were changed by the steps before
    often = Counter(id(expr) for step in steps for _, expr in _values(step))
    for step in steps:
        values = tuple(_values(step))
        settings = {key for key, _ in values if key}
        later = _set_later(step) if isinstance(step, up.Merge) else set()
        if later is None:
            break
        if isinstance(step, up.Create | up.Merge):
            made.update(each.name for each in step.elements)
        changed |= later
        replaces = isinstance(step, up.SetProperties) and step.replace
        subject = step.subject.name if isinstance(step, up.SetProperty | up.SetProperties) and settings else ""  # type: ignore[attr-defined]
        only_properties &= isinstance(step, up.SetProperty | up.SetProperties | up.RemoveProperty) and not replaces
        for _, expr in values:
            reads = reads_of(expr)
            if reads is None and only_properties and often[id(expr)] == 1:
                keys = keys_below(expr)
                if keys is not None and keys.isdisjoint(changed | settings):
                    found[id(expr)] = Ahead(f"value {len(found)}", expr, apart=False)
            if reads is None or often[id(expr)] > 1 or any(key in changed for _, key in reads):
                continue
            if not made.isdisjoint(free_variables(expr)):
                continue
            own = [name for name, key in reads if key in settings or replaces]
            if reads and all(name == subject for name in own):
                found[id(expr)] = Ahead(f"value {len(found)}", expr, apart=bool(own))
        if isinstance(step, up.RemoveProperty):
            changed.add(step.key)
        elif settings and not replaces:
            changed.update(settings)
        elif not isinstance(step, up.SetLabels | up.Create | up.Merge):
            break
    return found


def _set_later(step: up.Merge) -> set[str] | None:
    """Return which properties a MERGE sets of what it finds or has made; None where that isn't known."""
    found: set[str] = set()
    for each in (*step.on_create, *step.on_match):
        match each:
            case up.SetProperty(key=key):
                found.add(key)
            case up.SetProperties(value=MapOf(entries=entries), replace=False):
                found.update(key for key, _ in entries)
            case up.SetLabels():
                pass
            case _:
                return None
    return found


def _values(step: up.Step) -> Iterator[tuple[str, Expr]]:
    """Give what a step evaluates; what its text sets properties to with their keys, else without."""
    match step:
        case up.SetProperty(subject=Variable(), key=key, value=value):
            yield key, value
        case up.SetProperties(subject=Variable(), value=MapOf(entries=entries)):
            yield from entries
        case up.SetLabels(subject=Variable(), dynamic=dynamic):
            yield from (("", each) for each in dynamic)
        case up.ForEach(items=items):
            yield "", items
        case up.Create(elements=elements) | up.Merge(elements=elements):
            for each in elements:
                if isinstance(each.properties, MapOf):
                    yield from (("", value) for _, value in each.properties.entries)


def keys_below(expr: Expr) -> frozenset[str] | None:
    """Return which properties an expression with subqueries reads, anywhere; None where that isn't known."""
    calls = (each for each in nodes_of(expr) if isinstance(each, Call))
    has_subquery = any(isinstance(each, x.Subquery) for each in preorder(expr))
    return keys_read(expr) if has_subquery and not any(map(differs_each_time, calls)) else None


def reads_of(expr: Expr) -> list[tuple[str, str]] | None:
    """Return which properties of which variables an expression reads; None where it reads anything else of a graph."""
    found = []
    for each in preorder(expr):
        if not isinstance(each, SIMPLE) or (isinstance(each, Call) and each.name in ENTITIES):
            return None
        if isinstance(each, Property):
            if not isinstance(each.subject, Variable | Parameter):
                return None
            if isinstance(each.subject, Variable):
                found.append((each.subject.name, each.key))
    return found if is_repeatable(expr) else None
