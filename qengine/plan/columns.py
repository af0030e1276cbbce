"""The columns of a logical plan's operators."""

from __future__ import annotations

from qengine.plan.logical import (
    Aggregate,
    Argument,
    LoadCsv,
    Match,
    Operator,
    ProcedureCall,
    Project,
    Step,
    Union,
    Unit,
    Unwind,
)
from qengine.plan.updates import CallSubquery, Create, Merge, Update


def columns_of(operator: Operator) -> tuple[str, ...]:
    """Return the names of the columns that a logical operator emits, in order."""
    added: list[tuple[str, ...]] = []
    names: tuple[str, ...] | None = None
    while names is None:
        match operator:
            case Unit():
                names = ()
            case Argument(columns=names):
                pass
            case Project(items=items):
                names = tuple(name for name, _ in items)
            case Aggregate(keys=keys, aggregates=aggregates):
                names = tuple(name for name, _ in (*keys, *aggregates))
            case Union(inputs=(first, *_)):
                operator = first
            case Match(input=below, graph=graph):
                added.append(graph.variables())
                operator = below
            case Unwind(input=below, name=name):
                added.append((name,))
                operator = below
            case LoadCsv(input=below):
                added.append(operator.added)
                operator = below
            case ProcedureCall(input=below, outputs=outputs):
                added.append(tuple(name for _, name in outputs))
                operator = below
            case Update(input=below, steps=steps):
                added.append(tuple(name for step in steps for name in columns_added(step)))
                operator = below
            case _:
                operator = operator.input  # type: ignore[attr-defined]
    return names + tuple(name for group in reversed(added) for name in group)


def columns_added(step: Step) -> tuple[str, ...]:
    """Return the names of the columns that a step adds, in order."""
    match step:
        case Create(elements=elements):
            return tuple(element.name for element in elements)
        case Merge(graph=graph):
            return graph.variables()
        case CallSubquery(columns=columns, report=report):
            return columns if report is None else (*columns, report)
    return ()
