"""What a search is expected to take on a GPU, by the constants ``[search]`` of ``catalog/cost/gpu.toml``."""

from __future__ import annotations

from collections.abc import Sequence

from qengine.catalog.costs import costs
from qengine.plan.count_shapes import Component, View, kernels_of
from qengine.plan.pattern import Direction
from qengine.plan.physical import Level, VertexLevel

__all__ = ["device_search_cost"]


def device_search_cost(
    levels: Sequence[Level], shapes: Sequence[Component[View]], cost: float | None, rows: float | None
) -> float:
    """Return the nanoseconds that a search takes on a GPU.

    Parameters
    ----------
    levels, shapes, cost, rows
        As in ``Search``: ``cost`` is that on one core. Rows count where vertices must differ that no list keeps apart:
        what is below them is then counted anew for each.
    """
    found = costs("gpu", "search")
    if shapes:
        return found["shaped"] + (cost or 0.0) / min(found[kernel] for kernel in kernels_of(shapes))
    return found["start"] + (cost or 0.0) / found["cores"] + _differs(levels) * found["row"] * (rows or 0.0)


def _differs(levels: Sequence[Level]) -> bool:
    """Tell whether two vertices must differ that are linked by no relationship, and to no vertex in the same way."""
    lists: list[set[tuple[int, tuple[str, ...], Direction]]] = [set() for _ in levels]
    linked: set[frozenset[int]] = set()
    for place, level in enumerate(levels):
        for source in level.sources if isinstance(level, VertexLevel) else ():
            lists[place].add((source.level, source.types, source.direction))
            lists[source.level].add((place, source.types, source.direction.reversed()))
            linked.add(frozenset((place, source.level)))
    pairs = ((place, other) for place, level in enumerate(levels) for other in level.different)
    return any(frozenset(pair) not in linked and not lists[pair[0]] & lists[pair[1]] for pair in pairs)
