"""Which elements variables of an operator's rows may be, by the searches, walks, look-ups and scans below it."""

from __future__ import annotations

from collections.abc import Collection

from qengine.exec.common.element_columns import Elements, elements_of
from qengine.exec.common.runtime import Runtime
from qengine.plan import logical, physical
from qengine.plan.expr import Call, Expr, Variable
from qengine.plan.pattern import Direction
from qengine.plan.traverse import operators


def bound_elements(operator: logical.Operator, names: Collection[str], runtime: Runtime) -> dict[str, Elements] | None:
    """Return what each of some variables may be; None where that can't be told, or where one may be null.

    What binds one is looked for from the top on: below it the variable may be another one, or null.
    """
    found: dict[str, Elements] = {}
    wanted, ends = set(names), set[str]()
    for below in operators(operator):
        levels: list[physical.Level] = []
        match below:
            case physical.Search():
                levels = [level for level in below.levels if level.name in wanted]
            case physical.Reach(end=end) | physical.Walk(end=end):
                levels = [end] if end.name in wanted - found.keys() else []
            case physical.LookUp(name=name, labels=labels, relationship=False):
                levels = [physical.VertexLevel(name, labels)] if name in wanted else []
            case physical.RelationshipScan(name=name, types=types):
                levels = [physical.EdgeLevel(name, 0, 0, types, Direction.OUT)] if name in wanted else []
            case logical.Project(items=items):
                for name, expr in items:
                    if name not in wanted or (isinstance(expr, Variable) and expr.name == name):
                        continue
                    if (relationship := _has_end(expr)) is None:
                        return None
                    wanted.add(relationship)  # is there, so that its end is
                    ends.add(name)
                    levels.append(physical.VertexLevel(name))
            case logical.Aggregate(keys=keys, aggregates=aggregates):
                for name, expr in (*keys, *aggregates):
                    if name in wanted and not (isinstance(expr, Variable) and expr.name == name):
                        return None
            case physical.HashJoin() | physical.Eliminate() | logical.Filter() | logical.Unit():
                pass
            case _:
                return None
        for level in levels:
            elements = elements_of(level, runtime)
            if elements is not None and (level.name not in ends or level.name not in found):
                found[level.name] = elements
        if found.keys() >= wanted:
            return {name: found[name] for name in names}
    return None


def _has_end(expr: Expr) -> str | None:
    """Return the relationship of which an expression is an end; None for other expressions."""
    if isinstance(expr, Call) and expr.name in ("startnode", "endnode") and isinstance(expr.args[0], Variable):
        return expr.args[0].name
    return None
