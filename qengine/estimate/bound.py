"""A certain upper bound of a count, from statistics: each level multiplies by the largest degree that leads to it."""

from __future__ import annotations

from typing import Any

from qengine.catalog.view import CatalogView, RelationshipTypeInfo
from qengine.plan.pattern import Direction, certain_label
from qengine.plan.physical import EdgeLevel, Search, Source, VertexLevel

__all__ = ["upper_bound"]


def upper_bound(store: Any, search: Search) -> float:
    """Return a number that the embeddings of ``search``, times its orbits, don't exceed.

    ``store``: a ``GraphStore``. The bound is |C(u)| of levels without a source, times the least of |C(u)| and the
    sources' largest degrees of the others (after Cai et al., SIGMOD 2019, without sketches).
    """
    bound = float(search.orbits)
    for level in search.levels:
        if isinstance(level, EdgeLevel):
            bound *= _multiplicity(store, level)
        else:
            candidates = sum(int(end) - int(begin) for begin, end in store.label_ranges(level.labels))
            degrees = [_largest_degree(store, search, level, source) for source in level.sources]
            bound *= min([candidates, *degrees])
    return bound


def _largest_degree(store: CatalogView, search: Search, level: VertexLevel, source: Source) -> int:
    origin = search.levels[source.level]
    assert isinstance(origin, VertexLevel)
    start, end = certain_label(origin.labels), certain_label(level.labels)
    total = 0
    for info in _types(store, source.types):
        ways: tuple[Direction, ...] = (source.direction,)
        if info.undirected:  # its statistics count both ways
            ways = (Direction.OUT,)
        elif source.direction is Direction.BOTH:
            ways = (Direction.OUT, Direction.IN)
        for way in ways:
            if way is Direction.OUT:
                total += store.edge_statistics(start, info.name, end).max_out
            else:
                total += store.edge_statistics(end, info.name, start).max_in
    return total


def _multiplicity(store: CatalogView, level: EdgeLevel) -> int:
    """Return how many relationships of the level two vertices can have at most."""
    total = 0
    for info in _types(store, level.types):
        ways = 2 if not info.undirected and level.direction is Direction.BOTH else 1
        total += ways * (store.edge_statistics(None, info.name, None).max_out if info.parallel else 1)
    return total


def _types(store: CatalogView, names: tuple[str, ...]) -> list[RelationshipTypeInfo]:
    found = [store.relationship_type(name) for name in names or store.relationship_types]
    return [info for info in found if info is not None]
