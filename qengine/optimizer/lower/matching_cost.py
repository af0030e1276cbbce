"""About how long a lowered match takes, so that ways to match may be compared."""

from __future__ import annotations

from collections.abc import Iterator

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

    def cost(operator: Operator) -> float:
        if operator is given:
            return 0.0
        below = list(inputs(operator))
        total = sum(map(cost, below))
        applied = rows[id(below[0])] if below else 0.0
        for part in _of_nodes(operator):
            of_nodes[id(part.plan)] = part.cost
        match operator:
            case Search():
                return total + applied * (operator.cost or 0.0) + _ROW * rows[id(operator)]
            case Eliminate():
                return total + applied * operator.schedules[0].cost + _ROW * rows[id(operator)]
            case HashJoin():
                return total + joining_cost(applied, rows[id(operator.build)], rows[id(operator)])
            case Walk() | Reach():
                return total + _WALKED * rows[id(operator)]
        return total + _ROW * rows[id(operator)]

    return cost(root) + sum(of_nodes.values())


def _of_nodes(operator: Operator) -> Iterator[OfNode]:
    exprs: tuple[Expr, ...] = ()
    match operator:
        case Search(levels=levels) | Eliminate(search=Search(levels=levels)):
            exprs = tuple(each for level in levels for each in level.predicates)
        case Filter(predicate=predicate):
            exprs = (predicate,)
    return (part for each in exprs for part in preorder(each) if isinstance(part, OfNode))
