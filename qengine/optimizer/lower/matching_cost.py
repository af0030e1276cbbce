"""About how long a lowered match takes, so that ways to match may be compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from qengine.catalog.view import CatalogView
from qengine.optimizer.joins import joining_cost
from qengine.optimizer.rows import estimated_rows
from qengine.plan.expr import Expr, OfNode
from qengine.plan.logical import Filter, Operator
from qengine.plan.physical import Eliminate, HashJoin, Reach, Search, Walk
from qengine.plan.text import inputs
from qengine.plan.traverse import preorder

_WALKED, _ROW = 400.0, 30.0  # nanoseconds for each row of a walk, and of other operators


def matching_cost(
    root: Operator,
    catalog: CatalogView,
    times: float = 1.0,
    given: Operator | None = None,
    outer: Operator | None = None,
) -> float:
    """Return about how many nanoseconds a match takes for all of the rows it is applied to.

    ``given``: the plan of these rows, which isn't counted. ``times``, ``outer``: as in ``estimated_rows``.
    """
    rows = estimated_rows(root, catalog, times, outer)
    of_nodes: dict[int, float] = {}
    total, waiting = 0.0, [root]
    while waiting:
        operator = waiting.pop()
        if operator is given:
            continue
        below = list(inputs(operator))
        total += _own_cost(operator, rows, rows[id(below[0])] if below else 0.0)
        for part in _of_nodes(operator):
            of_nodes[id(part.plan)] = part.cost
        waiting += below
    return total + sum(of_nodes.values())


def _own_cost(operator: Operator, rows: Mapping[int, float], applied: float) -> float:
    """Return what an operator takes beside its inputs, the first of which gives ``applied`` rows."""
    found = rows[id(operator)]
    match operator:
        case Search():
            return applied * (operator.cost or 0.0) + _ROW * found
        case Eliminate():
            return applied * operator.schedules[0].cost + _ROW * found
        case HashJoin():
            return joining_cost(applied, rows[id(operator.build)], found)
        case Walk() | Reach():
            return _WALKED * found
    return _ROW * found


def _of_nodes(operator: Operator) -> Iterator[OfNode]:
    exprs: tuple[Expr, ...] = ()
    match operator:
        case Search(levels=levels) | Eliminate(search=Search(levels=levels)):
            exprs = tuple(each for level in levels for each in level.predicates)
        case Filter(predicate=predicate):
            exprs = (predicate,)
    return (part for each in exprs for part in preorder(each) if isinstance(part, OfNode))
