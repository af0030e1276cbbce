"""How often at most a sampled embedding counts, by what it goes through afterwards: for upper bounds of counts."""

from __future__ import annotations

from math import inf, prod

from qengine.catalog.view import CatalogView
from qengine.estimate.bound import bound_of_seeds
from qengine.estimate.target import Target
from qengine.exec.common.operator_cache import PerOperatorCache
from qengine.exec.view import ExecView
from qengine.plan.logical import Argument, Filter, Limit, Operator, Project
from qengine.plan.pattern import Direction
from qengine.plan.physical import Attach, LookUp, Optional, Search, Walk

__all__ = ["times_at_most"]

_LONGEST = 64  # hops of a walk that is bounded

_times: PerOperatorCache[float] = PerOperatorCache()


def times_at_most(target: Target, store: ExecView) -> float:
    """Return how often an embedding of a target's search counts at most; infinity where that isn't known."""
    tail = target.tail
    return 1.0 if tail is None else _times.get(store, tail, lambda: (_of_plan(tail, store), True))


def _of_plan(operator: Operator, store: ExecView) -> float:
    """Return the rows, times what each counts for, that a plan over an ``Argument`` has at most for a row of that."""
    if isinstance(operator, Argument):
        return 1.0
    match operator:
        case Filter() | Project() | Limit() | Attach():
            times = 1.0
        case Optional(inner=inner):
            times = max(1.0, _of_plan(inner, store))
        case Search():
            times = bound_of_seeds(store, operator)
        case LookUp(relationship=True):
            times = inf if operator.many else 1.0
        case LookUp(labels=labels):
            times = sum(float(high) - float(low) for low, high in store.label_ranges(labels).tolist())
        case Walk() if operator.maximum is not None and operator.maximum <= _LONGEST:
            degree = _greatest_degree(operator, store)
            times = sum(degree**hops for hops in range(operator.minimum, operator.maximum + 1))
        case _:
            return inf
    return prod((times, _of_plan(operator.input, store)))


def _greatest_degree(walk: Walk, store: CatalogView) -> float:
    """Return how many relationships of a walk a vertex has at most."""
    degree = 0.0
    for name in walk.types or store.relationship_types:
        info = store.relationship_type(name)
        if info is None:
            continue
        found = store.edge_statistics(None, name, None)
        if info.undirected or walk.direction is not Direction.IN:
            degree += found.max_out
        if not info.undirected and walk.direction is not Direction.OUT:
            degree += found.max_in
    return degree
