"""Lowers an ``Aggregate`` that reads two nodes of a pattern, one of them few values, to sums for each of these values.

Of all vertices that agree in what is read of one node the embeddings are summed together, by the other node: one
elimination for each such class of vertices, whatever the pattern, instead of counts by all pairs of the two nodes.
"""

from __future__ import annotations

from collections.abc import Callable

from qengine._frozen import replace
from qengine.catalog.view import CatalogView
from qengine.optimizer.rows import estimated_rows
from qengine.plan.expr import Expr, Variable
from qengine.plan.folding import GATHERED, folded_variables
from qengine.plan.logical import Aggregate, Match
from qengine.plan.physical import AggregateByClasses, Eliminate
from qengine.plan.traverse import free_variables

_SETUP = 1e6
"""Nanoseconds of finding the classes, and of preparing a fold."""
_A_VERTEX = 6.0
"""Nanoseconds of giving a vertex a number for a class, and of folding what the other node's have counted for it."""
_TOGETHER = 2.0
"""Classes that are summed together, where they are many: their counts take as few bits."""
_MORE = 2.0
"""Times the classes that are expected, and still taken."""

Valued = Callable[[str, str, float], Eliminate | None]
"""Returns the elimination by one node that sums values of another one, in less than some nanoseconds."""


def by_classes(
    match: Match, lowered: Aggregate, valued: Valued, budget: float, catalog: CatalogView
) -> tuple[AggregateByClasses, float] | None:
    """Return what aggregates by classes of a node's vertices, and its cost; None where that is not below ``budget``.

    ``lowered``: the aggregate of the match, as it is lowered to rows.
    """
    names = folded_variables(lowered)
    nodes = {node.name: node for node in match.graph.nodes}
    if names is None or len(names) != 2 or not names <= nodes.keys():
        return None
    if any(call.name in GATHERED for _, call in lowered.aggregates):
        return None
    sides = []
    for name in names:
        read = _read(lowered, name)
        if not any(isinstance(expr, Variable) for expr in read):
            sides.append((_classes(lowered, read, catalog), name))
    if not sides:
        return None
    classes, name = min(sides)
    (other,) = names - {name}
    overhead = _SETUP + classes * _A_VERTEX * catalog.vertex_count
    if overhead >= budget:
        return None
    runs = min(classes, 1.0 + classes / _TOGETHER)
    program = valued(other, name, (budget - overhead) / max(runs, 1.0))
    schedule = None if program is None else program.schedule("cpu")
    if program is None or schedule is None or program.searches:
        return None
    cost = overhead + runs * schedule.cost
    if cost >= budget:
        return None
    most = int(_MORE * classes) + 1
    return AggregateByClasses(lowered, name, nodes[name].labels, other, nodes[other].labels, program, most), cost


def _read(aggregate: Aggregate, name: str) -> list[Expr]:
    """Return the keys and arguments that read a node."""
    exprs = [expr for _, expr in aggregate.keys]
    exprs += [arg for _, call in aggregate.aggregates for arg in call.args[:1]]
    return list(dict.fromkeys(expr for expr in exprs if free_variables(expr) == {name}))


def _classes(aggregate: Aggregate, read: list[Expr], catalog: CatalogView) -> float:
    """Return how many different rows some expressions are expected to have."""
    keys = tuple((str(place), expr) for place, expr in enumerate(read))
    groups = replace(aggregate, keys=keys, aggregates=())
    return estimated_rows(groups, catalog)[id(groups)]
