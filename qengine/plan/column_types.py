"""The types of a plan's columns, as far as analysis knows them."""

from __future__ import annotations

from qengine.plan.logical import Aggregate, Distinct, Filter, Limit, Operator, Project, Skip, Sort, Union
from qengine.types import Type


def column_types(root: Operator) -> dict[str, Type]:
    """Return the types of the columns that an operator emits; of some operators none are known."""
    match root:
        case Project(items=items):
            return {name: expr.type for name, expr in items}
        case Aggregate(keys=keys, aggregates=aggregates):
            return {name: expr.type for name, expr in (*keys, *aggregates)}
        case Filter(input=rows) | Distinct(input=rows) | Sort(input=rows) | Skip(input=rows) | Limit(input=rows):
            return column_types(rows)
        case Union(inputs=inputs):
            first, *others = map(column_types, inputs)
            return {name: kind for name, kind in first.items() if all(each.get(name) == kind for each in others)}
    return {}
